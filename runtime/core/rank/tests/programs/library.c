/* A shared library of the program's own, with state. */
#include "ranks.h"
int library_value = 3;
static int calls;
static __thread int local = 4;
int library_count(void) { return ++calls; }
int library_local(void) { return local += rank_(); }
int *library_pointer(void) { static int *p = &library_value; return p; }
