/* A call that must return an error of this class. */
#ifndef FAILS_H
#define FAILS_H

#include "check.h"

#define FAILS(class_, call) \
    do { \
        int code_ = (call), found_ = -1; \
        MPI_Error_class(code_, &found_); \
        if (found_ != (class_)) { \
            fprintf(stderr, "rank %d, %s:%d: %s: class %d, not %s\n", rank, __FILE__, __LINE__, #call, \
                    found_, #class_); \
            MPI_Abort(MPI_COMM_WORLD, 99); \
        } \
    } while (0)

#endif
