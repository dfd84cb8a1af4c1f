/* A counter of each rank: in a library that several programs need (another_library.c, with -DLIBRARY), or in
 * the program itself. */
#ifdef LIBRARY
int library_step(void);
#else
static int library_step(void)
{
    static int steps = 5;
    return ++steps;
}
#endif
