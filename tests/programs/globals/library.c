/* The program's own shared library. */
int library_value = 3;
static int calls;
static __thread int local = 4;
static int targets[2] = {5, 6};
static int *pointer = &targets[1];

int library_calls(void) { return ++calls; }
int *library_local(void) { return &local; }
int *library_pointer(void) { return pointer; }
