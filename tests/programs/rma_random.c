/* Random accesses to windows against a plain model of all windows, which each rank keeps for itself: every
 * rank draws what all ranks do.
 *
 * Of each epoch, each long of a window is either put by one access, got, or added to by any: then what it
 * holds does not depend on the order. Epochs are those of fences, of groups, and of locks of all with a
 * barrier behind. Prints a digest of all that was read, and with a second argument the rank's clock. */
#include "check.h"

enum { LONGS = 48, ACCESSES = 16 };

static unsigned long long state;
static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

static long *model, *added, *memory, global[LONGS];
static char *use;
static unsigned long long digest = 1469598103934665603ull;
static void note(long value) { digest = (digest ^ (unsigned long long)value) * 1099511628211ull; }

/* One access of `origin`: drawn by all, made by one. */
typedef struct { int kind, target, at, count, stride; long value; } Access;

static int is_free(const Access *a, char as)
{
    for (int i = 0; i < a->count; i++) {
        char now = use[a->target * LONGS + a->at + i * a->stride];
        if (now && !(now == as && as != 'p'))
            return 0;
    }
    return 1;
}

static void epoch(int how, MPI_Win win, MPI_Group all)
{
    static long sent[ACCESSES][LONGS], got[ACCESSES][LONGS];
    static Access mine[ACCESSES];
    int count = 0;
    memset(use, 0, (size_t)size * LONGS);
    memcpy(added, model, sizeof(long) * size * LONGS);
    if (how == 0) MPI_Win_fence(0, win);
    if (how == 1) { MPI_Win_post(all, 0, win); MPI_Win_start(all, 0, win); }
    if (how == 2) { MPI_Barrier(MPI_COMM_WORLD); MPI_Win_lock_all(0, win); }
    for (int origin = 0; origin < size; origin++)
        for (int number = 0; number < ACCESSES; number++) {
            Access a = {(int)draw(3), (int)draw(size), 0, 0, 0, (long)draw(1000)};
            a.stride = 1 + draw(3);
            a.count = 1 + draw(draw(2) ? 2 : 6);
            a.at = draw(LONGS - (a.count - 1) * a.stride);
            char as = "pga"[a.kind];
            if (!is_free(&a, as)) continue;
            for (int i = 0; i < a.count; i++) {
                int place = a.target * LONGS + a.at + i * a.stride;
                use[place] = as;
                if (a.kind == 0) added[place] = a.value + i;
                if (a.kind == 2) added[place] += a.value + i;
            }
            if (origin != rank) continue;
            /* Of what lies side by side, some is accessed as it is in the origin's memory: what is short then
             * is issued in a way of its own. */
            MPI_Datatype type = MPI_LONG;
            int pieces = a.stride > 1 || a.value % 3 == 0, n = pieces ? 1 : a.count;
            if (pieces) {
                MPI_Type_vector(a.count, 1, a.stride, MPI_LONG, &type);
                MPI_Type_commit(&type);
            }
            for (int i = 0; i < a.count; i++) sent[count][i] = a.value + i;
            if (a.kind == 0) MPI_Put(sent[count], a.count, MPI_LONG, a.target, a.at, n, type, win);
            if (a.kind == 1) MPI_Get(got[count], a.count, MPI_LONG, a.target, a.at, n, type, win);
            if (a.kind == 2)
                MPI_Accumulate(sent[count], a.count, MPI_LONG, a.target, a.at, n, type, MPI_SUM, win);
            if (pieces) MPI_Type_free(&type);
            /* A rank knows that it has a target's lock once an access to it was answered. */
            if (how == 2 && a.value % 2 == 1) MPI_Win_flush(a.target, win);
            if (how == 2 && a.value % 4 == 2) MPI_Win_flush_all(win);
            mine[count++] = a;
        }
    if (how == 0) MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (how == 1) { MPI_Win_complete(win); MPI_Win_wait(win); }
    if (how == 2) { MPI_Win_unlock_all(win); MPI_Barrier(MPI_COMM_WORLD); }
    for (int n = 0; n < count; n++)
        for (int i = 0; mine[n].kind == 1 && i < mine[n].count; i++) {
            CHECK(got[n][i] == model[mine[n].target * LONGS + mine[n].at + i * mine[n].stride]);
            note(got[n][i]);
        }
    memcpy(model, added, sizeof(long) * size * LONGS);
    /* A rank reads its own memory only until others may access it again. */
    for (int i = 0; i < LONGS; i++) {
        CHECK(memory[i] == model[rank * LONGS + i]);
        note(memory[i]);
    }
    if (how == 2) MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    model = calloc(size * LONGS, sizeof(long));
    added = calloc(size * LONGS, sizeof(long));
    use = calloc(size * LONGS, 1);
    long stack[LONGS] = {0};
    MPI_Win win;
    int where = draw(3);
    memory = where == 0 ? global : where == 1 ? stack : calloc(LONGS, sizeof(long));
    MPI_Win_create(memory, LONGS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Group all;
    MPI_Win_get_group(win, &all);
    for (int turn = 0; turn < 12; turn++)
        epoch(draw(3), win, all);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
    printf("rank %d digest %016llx", rank, digest);
    if (argc > 2) printf(" at %.0f", MPI_Wtime() * 1e12);
    printf("\n");
    MPI_Finalize();
    return 0;
}
