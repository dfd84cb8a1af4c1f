/* What the calls in main.c refer to. */
#ifndef UTIL_H
#define UTIL_H

#include "main.h"
#include <mpi.h>
#include <stddef.h>

/* The calling rank and how many there are, once started() was called. */
extern int rank, ranks;

/*
 * A number for each rank, or an array of numbers for each, as text:
 *
 *     "5 5 7"             5 for ranks 0 and 1, 7 for rank 2
 *     "2x(1 3x(0)) 4"     1 0 0 0 1 0 0 0 4
 *     "d 10 3x(1)"        differences, each to the number before: 10 11 12 13
 *     "5 5 7; 3: 1 2 3"   four numbers for each rank: 5 1 1 1 for rank 0
 *     "r 16x(4)"          the same sixteen numbers for all
 *     "t 3 ..."           for each rank one number, or array, for each of three turns of a loop, side by side
 *
 * Of ranks on a square, row by row, a column may be told by their places x and y in it and the turn:
 *
 *     "g 4 3 (1,1,-1%4: 9 3x(5)) (0,1,0%4: d 0 3x(2))"
 *
 * is for squares of side 4 and 3 turns. Each number is a sum of what tables say: the first has 9 5 5 5 for x
 * + y - turn modulo 4 from 0 on, the second 0 2 4 6 for y modulo 4. A table of two places, "(1,0,0%4 0,1,0%4:
 * ...)", has a row for each number of the first.
 *
 * It is read when a rank first asks for its own.
 */
struct vector {
    const char *text;
    void *known;
    /* Numbers of a turn. */
    long length;
};
#define VECTOR(text) { (text), NULL, 0 }
long value(struct vector *vector);
const int *ints(struct vector *vector);
const MPI_Aint *aints(struct vector *vector);
const MPI_Count *counts(struct vector *vector);

/* The same in a turn, from 0. */
long value_in(struct vector *vector, long turn);
const int *ints_in(struct vector *vector, long turn);
const MPI_Aint *aints_in(struct vector *vector, long turn);
const MPI_Count *counts_in(struct vector *vector, long turn);

/* Negative numbers of a vector stand for MPI's constants: -1 any source, -2 any tag, -3 no process, -4 root,
 * -32766 undefined. */
int constant(long number);

/* The communicators that calls have made, by number; 0 is MPI_COMM_WORLD. */
enum { WORLD = 0 };
extern MPI_Comm comms[];

/* Datatypes and other objects, by number. */
extern MPI_Datatype types[];
extern MPI_Op ops[];
extern MPI_Group groups[];
extern MPI_Info infos[];
extern MPI_Errhandler errhandlers[];
extern MPI_Message messages[];

/* The rank so far behind the calling one, round a communicator. */
int peer(int comm, long distance);

/* The key of attributes that had this number in the recording, and where it is. */
int key_of(long number);
int *made_key(long number);

/* For functions of the program: attributes are copied and forgotten, and after an error the call returns. */
int copy_comm(MPI_Comm comm, int key, void *state, void *value, void *copy, int *copied);
int copy_type(MPI_Datatype type, int key, void *state, void *value, void *copy, int *copied);
int forget_comm(MPI_Comm comm, int key, void *attribute, void *state);
int forget_type(MPI_Datatype type, int key, void *attribute, void *state);
void go_on(MPI_Comm *comm, int *code, ...);

/* Requests, by number; the first is none. A number is free again when its request is complete. */
extern MPI_Request requests[];

/* Requests that do not lie side by side, for a call: first pick(), and put_back() behind it. */
extern MPI_Request picked[];
void pick(int count, const int *numbers);
void put_back(void);

/*
 * A call completed `done` of the requests from `first` on, those in `indices`; when the benchmark was made it
 * had completed those in `wanted`. Answers whether more have to complete. What completed instead of another
 * takes its number, so that what is asked for later is there.
 */
int unsettled(MPI_Request *first, int done, const int *indices, int count, const int *wanted);

/* Memory for messages of the request of this number, 0 for calls that block: to send from, and to receive
 * into. */
void *out(int request, size_t bytes);
void *in(int request, size_t bytes);
/* For MPI_Buffer_attach. */
void *attached(size_t bytes);
/* Bytes of so many elements of a datatype that calls have made. */
size_t span(size_t count, MPI_Datatype type);
/* What was probed, by message, and as many elements as are received of it: a probe for any source may find
 * another. */
extern MPI_Status probed[];
MPI_Count probed_count(MPI_Count recorded, int message, MPI_Datatype type);
/* Bytes up to the end of blocks, each of elements of its own datatype, so many bytes behind the beginning. */
size_t spans(int blocks, const int *lengths, const MPI_Aint *places, const MPI_Datatype *of);

/* What calls answer and nobody reads. */
enum { SCALARS = 8, ARRAYS = 4 };
extern int flag, done, answer[], answers[][ANSWERS], indices[];
extern MPI_Aint answer_aint[];
extern MPI_Count answer_count[];
extern MPI_Offset answer_offset[];
extern MPI_Comm no_comm;
extern void *address;
extern char text[];
extern MPI_Status statuses[];
/* MPI_STATUSES_IGNORE, which some compilers warn of: a constant that is no address. */
extern MPI_Status *no_statuses;
/* That of the latest message from this source and with this tag. */
MPI_Status *status_of(int source, int tag);

/* A reduction of any datatype: leaves what is there. */
void combine(void *in, void *inout, int *length, MPI_Datatype *type);

/* How ranks compute on the way from one call to another: how many pass, and seconds: the least, mean and
 * greatest that was seen; from `first`, a power of two in picoseconds, how many were below each power of two.
 * Those that pass and are in none of `bins` compute nothing. */
struct path {
    int from, to;
    double passages, least, mean, most;
    /* Times lie in that part of their bin, round its middle, and then so much nearer to the mean, which gives
     * them the deviation that was seen. */
    double within, shrink;
    int first;
    const char *bins;
    /* The mean of each rank, in picoseconds, if these are known; without bins it is what a rank computes each
     * time. */
    struct vector *of_rank;
    /* Percent of the passages in which all ranks draw the same. */
    int shared;
    /* The first passages of each rank, if their times are others. */
    int firsts;
    const struct path *first_times;
};

/* Says what is computed, sorted by `to`. */
void paths_are(const struct path *paths, int count);
/* Computes what comes before the call at this place, as long as some rank did that came from the same place;
 * which, is drawn, the same in each run. */
void compute(int place);
/* Computes what comes before the next call, as long as this rank did; times.c has it, and reads the times
 * when MPI is initialized. */
void compute_next(void);
void read_times(void);
/* Computes for so many seconds. */
void spend(double seconds);
/* MPI is initialized. */
void started(void);

/* With -DCOUNT: the calls of each function, all ranks together, are printed by rank 0 at the end. */
void counted(int function);
void print_counts(const char *const *names, int functions);

#endif
