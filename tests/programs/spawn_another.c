/* Programs that spawn other ones. Arguments: the case, then the programs. */
#include "another_library.h"
#include "check.h"

static char **programs;
static int programs_given;
int counter = 7;
static double own[300] = {1};

static void meet(MPI_Comm inter, int children, int first, int second, int split)
{
    if (rank == 0)
        for (int i = 0; i < children; i++) {
            int in[3];
            MPI_Recv(in, 3, MPI_INT, i, 5, inter, MPI_STATUS_IGNORE);
            CHECK(in[0] == (i < split ? first : second) && in[1] == i && in[2] == children);
        }
    MPI_Barrier(inter);
    MPI_Comm_disconnect(&inter);
}

static char *six[] = {"-n", "6", "-m", "0", "last", NULL}, *seven[] = {"-m", "0", "-n", "7", "last", NULL};

/* One other program; then the same again. */
static void one(void)
{
    for (int round = 0; round < 2; round++) {
        MPI_Comm inter;
        int codes[3] = {9, 9, 9};
        counter = 100 + rank;
        own[299] = rank;
        MPI_Comm_spawn(programs[0], six, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
        CHECK(codes[0] == MPI_SUCCESS && codes[2] == MPI_SUCCESS);
        meet(inter, 3, 6, 6, 3);
        CHECK(library_step() == 6 + round);
        CHECK(counter == 100 + rank && own[299] == rank && own[0] == 1);
    }
}

/* Two programs in one world. */
static void several(void)
{
    MPI_Comm inter;
    int codes[4] = {9, 9, 9, 9}, counts[] = {1, 3};
    char *commands[] = {programs[0], programs[1]}, **arguments[] = {six, seven};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    counter = 200 + rank;
    MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &inter, codes);
    CHECK(codes[0] == MPI_SUCCESS && codes[3] == MPI_SUCCESS);
    meet(inter, 4, 6, 7, 1);
    CHECK(counter == 200 + rank);
}

/* What cannot be spawned: the class, and all is as it was. */
static void unsuitable(void)
{
    MPI_Comm inter;
    int codes[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < programs_given; i++) {
        int class, code = MPI_Comm_spawn(programs[i], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                         &inter, codes);
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_SPAWN && inter == MPI_COMM_NULL && (rank != 0 || codes[1] == MPI_ERR_SPAWN));
    }
}

/* As by default: the run ends. */
static void refused(void)
{
    MPI_Comm inter;
    MPI_Comm_spawn(programs[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
}

static const Case cases[] = {
    {"one", one}, {"several", several}, {"unsuitable", unsuitable}, {"refused", refused}};

int main(int argc, char **argv)
{
    programs = argv + 2;
    programs_given = argc - 2;
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
