/* What the test library offers to programs. */
#include <stdio.h>
#include <stdlib.h>
#ifdef __cplusplus
extern "C" {
#endif
int rank_(void);
int size_(void);
void yield_(void);
#ifdef __cplusplus
}
#endif
/* A check that names its line and rank. */
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "rank %d: line %d: %s\n", rank_(), __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)
