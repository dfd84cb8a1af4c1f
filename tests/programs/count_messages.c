/*
 * Linked into a program: at its end rank 0 prints how many messages all ranks have sent in which way, and how
 * many bytes, and how often they called each collective: for implementations that print no report.
 */
#include <mpi.h>
#include <stdio.h>

enum { MESSAGES, BYTES, ALLREDUCES, BARRIERS, KINDS };
static long long counted[KINDS];

static void sent(int count, MPI_Datatype datatype)
{
    int size;
    PMPI_Type_size(datatype, &size);
    counted[MESSAGES]++;
    counted[BYTES] += (long long)count * size;
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    if (to != MPI_PROC_NULL)
        sent(count, datatype);
    return PMPI_Isend(buffer, count, datatype, to, tag, comm, request);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm)
{
    if (to != MPI_PROC_NULL)
        sent(count, datatype);
    return PMPI_Send(buffer, count, datatype, to, tag, comm);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    counted[ALLREDUCES]++;
    return PMPI_Allreduce(in, out, count, datatype, op, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    counted[BARRIERS]++;
    return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
    long long all[KINDS];
    int rank;
    PMPI_Reduce(counted, all, KINDS, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("messages %lld bytes %lld allreduces %lld barriers %lld\n", all[MESSAGES], all[BYTES],
               all[ALLREDUCES], all[BARRIERS]);
    return PMPI_Finalize();
}
