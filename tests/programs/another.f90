! What tests/programs/spawn_another.c spawns: a Fortran program, with common blocks, units and saved variables
! of its own. Arguments as another.c's.
module kept
    implicit none
    integer :: counter = 40
    real :: table(3000) = 1.0
end module

program another
    use mpi
    use kept
    implicit none
    integer :: rank, size, parent, err, out(3), sum, unit
    character(len=32) :: word
    integer :: shared
    common /block/ shared
    call MPI_Init(err)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
    call MPI_Comm_size(MPI_COMM_WORLD, size, err)
    call MPI_Comm_get_parent(parent, err)
    if (parent == MPI_COMM_NULL .or. counter /= 40 .or. any(table /= 1.0)) call MPI_Abort(MPI_COMM_WORLD, 3, &
      err)
    counter = rank
    table(3000) = rank
    shared = 10 * rank
    ! The program's own MPI_IN_PLACE and MPI_STATUS_IGNORE.
    sum = rank
    call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, err)
    call MPI_Barrier(MPI_COMM_WORLD, err)
    if (sum /= rank) call MPI_Abort(MPI_COMM_WORLD, 4, err)
    call MPI_Sendrecv(size, 1, MPI_INTEGER, 0, 0, sum, 1, MPI_INTEGER, 0, 0, &
        MPI_COMM_SELF, MPI_STATUS_IGNORE, err)
    if (sum /= size) call MPI_Abort(MPI_COMM_WORLD, 5, err)
    open(newunit=unit, status='scratch', form='formatted')
    write(unit, *) rank
    call MPI_Barrier(MPI_COMM_WORLD, err)
    rewind(unit)
    read(unit, *) sum
    close(unit)
    if (sum /= rank .or. counter /= rank .or. table(3000) /= rank .or. shared /= 10 * rank) &
      call MPI_Abort(MPI_COMM_WORLD, 6, err)
    call get_command_argument(2, word)
    read(word, *) out(1)
    if (out(1) == 0) out(1) = 7
    out(2) = rank
    out(3) = size
    call MPI_Send(out, 3, MPI_INTEGER, 0, 5, parent, err)
    call MPI_Barrier(parent, err)
    call MPI_Comm_disconnect(parent, err)
    print '(a,i0,a,i0,a,i0)', 'another ', rank, ' of ', size, ': ', out(1)
    call MPI_Finalize(err)
end program
