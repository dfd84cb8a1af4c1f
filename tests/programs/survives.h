/* What programs share whose ranks fail while the others go on (-xsim-ft): the test says who fails and
 * when. */
#ifndef SURVIVES_H
#define SURVIVES_H

#include "check.h"
#include <xsim.h>

static inline void say(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Error_class(code, &class);
    MPI_Error_string(class, text, &length);
    if (strchr(text, ':'))
        *strchr(text, ':') = 0;
    printf("%d %s %s at %.0f ns\n", rank, what, text, xsim_time() * 1e9);
}

static inline void returns(MPI_Comm comm) { MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); }

static inline void until(double time) { xsim_compute(time - xsim_time()); }

/* The failed rank of a case computes until then. */
static inline void fails(void)
{
    xsim_compute(1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!"a rank that has failed goes on");
}

#endif
