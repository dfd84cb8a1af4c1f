/* The C half of attributes.f90: what C reads of attributes that Fortran set, and the other way round. */
#include <mpi.h>
#include <stdint.h>

static int kept = 17;
/* What the copy and the delete function of the key were given. */
static int64_t copied, deleted;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    copied = *(int64_t *)in;
    *(void **)out = &kept;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    deleted = value == (void *)&kept ? -17 : *(int64_t *)value;
    return MPI_SUCCESS;
}

void c_key_(int *key)
{
    MPI_Comm_create_keyval(copy, delete, key, 0);
}

void c_calls_(int64_t *of_copy, int64_t *of_delete)
{
    *of_copy = copied;
    *of_delete = deleted;
}

/* Sets a pointer, and tells it. */
void c_set_(MPI_Fint *comm, int *key, int64_t *address)
{
    MPI_Comm_set_attr(MPI_Comm_f2c(*comm), *key, &kept);
    *address = (intptr_t)&kept;
}

/* What the attribute points to: an integer of address kind, and an int. */
void c_get_(MPI_Fint *comm, int *key, int64_t *wide, int *narrow)
{
    void *value;
    int found;
    MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *key, &value, &found);
    *wide = found ? *(int64_t *)value : 0;
    *narrow = found ? *(int *)value : 0;
}

/* Whether the attribute is the pointer that c_set sets. */
void c_same_(MPI_Fint *comm, int *key, int *same)
{
    void *value;
    int found;
    MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *key, &value, &found);
    *same = found && value == (void *)&kept && *(int *)value == 17;
}

void c_type_(MPI_Fint *type, int *key, int64_t *wide)
{
    void *value;
    int found;
    MPI_Type_get_attr(MPI_Type_f2c(*type), *key, &value, &found);
    *wide = found ? *(int64_t *)value : 0;
}
