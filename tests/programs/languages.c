/* What C programs see of other languages, of the ABI and of the tool interface. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                     \
    do {                                                                \
        if (!(what)) {                                                  \
            printf("line %d: %s\n", __LINE__, #what);                   \
            exit(3);                                                    \
        }                                                               \
    } while (0)

static void handles(void)
{
    MPI_Comm dup;
    MPI_Request request = MPI_REQUEST_NULL;

    CHECK(MPI_Comm_c2f(MPI_COMM_WORLD) == 0x101 && MPI_Comm_f2c(0x101) == MPI_COMM_WORLD);
    CHECK(MPI_Type_toint(MPI_INT) == 0x209 && MPI_Type_fromint(0x209) == MPI_INT);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(request)) == MPI_REQUEST_NULL);
    MPI_Fint (*message)(MPI_Message) = PMPI_Message_c2f;
    CHECK(PMPI_Message_f2c(message(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Type_c2f(MPI_INT) == PMPI_Type_c2f(MPI_INT) && MPI_Type_f2c(MPI_Type_c2f(MPI_INT)) == MPI_INT);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    CHECK(MPI_Comm_toint(dup) > 0x1000 && MPI_Comm_fromint(MPI_Comm_toint(dup)) == dup);
    MPI_Comm_free(&dup);
}

static void statuses(void)
{
    MPI_Status status, back;
    MPI_Fint fortran[8];
    MPI_F08_status f08;
    int count, value = 5, got;

    MPI_Sendrecv(&value, 1, MPI_INT, 0, 9, &got, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &status);
    CHECK(MPI_Status_c2f(&status, fortran) == MPI_SUCCESS && fortran[0] == 0 && fortran[1] == 9);
    CHECK(MPI_Status_f2f08(fortran, &f08) == MPI_SUCCESS && f08.MPI_TAG == 9);
    CHECK(MPI_Status_f082c(&f08, &back) == MPI_SUCCESS);
    MPI_Get_count(&back, MPI_INT, &count);
    CHECK(count == 1 && got == 5);
    CHECK(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &back) == MPI_ERR_ARG);
    CHECK(MPI_Status_c2f08(&status, MPI_F08_STATUS_IGNORE) == MPI_ERR_ARG);
}

static void abi(void)
{
    int major, minor, length = 8, flag;
    unsigned char yes[4], no[4];
    char value[8];
    MPI_Info info;

    MPI_Abi_get_version(&major, &minor);
    CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
    MPI_Abi_get_info(&info);
    MPI_Info_get_string(info, "mpi_count_size", &length, value, &flag);
    CHECK(flag && strcmp(value, "8") == 0);
    MPI_Info_free(&info);
    length = 8;
    MPI_Abi_get_fortran_info(&info);
    MPI_Info_get_string(info, "mpi_real16_supported", &length, value, &flag);
    CHECK(flag && strcmp(value, "true") == 0);
    MPI_Info_free(&info);
    CHECK(MPI_Abi_get_fortran_booleans(4, yes, no, &flag) == MPI_SUCCESS);
    CHECK(flag && yes[0] == 1 && yes[1] == 0 && no[0] == 0);
}

static void abi_is_set(void)
{
    unsigned char yes[4] = {1}, no[4] = {0};

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Abi_set_fortran_booleans(4, yes, no) == MPI_ERR_ABI);
}

int main(int argc, char **argv)
{
    abi();
    MPI_Init(&argc, &argv);
    abi_is_set();
    handles();
    statuses();
    MPI_Finalize();
    puts("done");
    return 0;
}
