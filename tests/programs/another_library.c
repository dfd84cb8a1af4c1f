/* A library of the user's that tests/programs/another.c and spawn_another.c may both need, or one of them
 * alone. */
int library_steps = 5;

int library_step(void) { return ++library_steps; }
