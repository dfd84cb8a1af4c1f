! Partitioned communication from Fortran: a ring whose buffers are 6 partitions on one side and 2 on the
! other.
program partitioned
    use mpi_f08
    implicit none
    integer, parameter :: all = 12
    integer, asynchronous :: out(all), in(all)
    integer :: rank, size, next, before, i, k, ierror
    integer(kind=MPI_COUNT_KIND) :: two = 2, six = 6
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: statuses(2)
    logical :: flag

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    next = mod(rank + 1, size)
    before = mod(rank + size - 1, size)
    call MPI_Psend_init(out, 6, two, MPI_INTEGER, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    call MPI_Precv_init(in, 2, six, MPI_INTEGER, before, 3, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    do k = 1, 3
        out = [(100 * rank + 10 * k + i, i = 1, all)]
        in = 0
        call MPI_Startall(2, requests)
        call MPI_Pready(4, requests(1))
        call MPI_Pready_range(0, 2, requests(1))
        call MPI_Pready_list(2, [5, 3], requests(1))
        flag = .false.
        do while (.not. flag)
            call MPI_Parrived(requests(2), 1, flag)
        end do
        call MPI_Waitall(2, requests, statuses)
        if (any(in /= [(100 * before + 10 * k + i, i = 1, all)]) .or. statuses(2)%MPI_SOURCE /= before) then
            print *, 'rank', rank, 'got', in
            call MPI_Abort(MPI_COMM_WORLD, 1)
        end if
    end do
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Pready(0, requests(1), ierror)
    if (ierror /= MPI_ERR_REQUEST) call MPI_Abort(MPI_COMM_WORLD, 2)
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    if (rank == 0) print '(a)', 'done'
    call MPI_Finalize()
end program
