! Calls of each kind, by module mpi and mpi_f08: recorded under mpirun and on virtual ranks, they give equal
! traces.
module steps
    implicit none
    integer, parameter :: times = 4, many = 6
contains
    subroutine by_mpi()
        use mpi
        integer :: rank, ranks, code, next, before, k, step, grid, row, pairs, parts, position, one
        integer :: requests(2 * many), statuses(mpi_status_size, 2 * many), status(mpi_status_size)
        integer :: got(many), given(many), counts(64)
        integer :: indices(2 * many), outcount
        logical :: flag, periods(1)
        character(len = 64) :: text
        double precision :: total, own, buffer(100)
        call mpi_comm_rank(mpi_comm_world, rank, code)
        call mpi_comm_size(mpi_comm_world, ranks, code)
        next = mod(rank + 1, ranks)
        before = mod(rank + ranks - 1, ranks)
        do step = 1, times
            do k = 1, many
                given(k) = k
                call mpi_irecv(got(k), 1, mpi_integer, before, k, mpi_comm_world, requests(k), code)
            end do
            do k = 1, many
                call mpi_isend(given(k), 1, mpi_integer, next, k, mpi_comm_world, one, code)
                requests(many + k) = one
            end do
            call mpi_waitall(2 * many, requests, statuses, code)
        end do
        call mpi_sendrecv(given, many, mpi_integer, next, 1, &
            got, many, mpi_integer, before, mpi_any_tag, mpi_comm_world, status, code)
        call mpi_get_count(status, mpi_integer, k, code)
        call mpi_sendrecv_replace(got, many, mpi_integer, next, 2, before, 2, mpi_comm_world, &
          mpi_status_ignore, code)
        call mpi_send_init(given, many, mpi_integer, next, 3, mpi_comm_world, requests(1), code)
        call mpi_recv_init(got, many, mpi_integer, before, 3, mpi_comm_world, requests(2), code)
        do step = 1, times
            call mpi_startall(2, requests, code)
            call mpi_wait(requests(2), status, code)
            call mpi_wait(requests(1), mpi_status_ignore, code)
        end do
        call mpi_request_free(requests(1), code)
        call mpi_request_free(requests(2), code)
        own = rank
        call mpi_allreduce(own, total, 1, mpi_double_precision, mpi_sum, mpi_comm_world, code)
        call mpi_allreduce(mpi_in_place, own, 1, mpi_double_precision, mpi_max, mpi_comm_world, code)
        call mpi_bcast(buffer, 10, mpi_double_precision, 0, mpi_comm_world, code)
        counts = 0
        call mpi_allgather(rank, 1, mpi_integer, counts, 1, mpi_integer, mpi_comm_world, code)
        call mpi_comm_split(mpi_comm_world, mod(rank, 2), rank, row, code)
        call mpi_barrier(row, code)
        call mpi_comm_set_name(row, 'row', code)
        call mpi_comm_get_name(row, text, k, code)
        call mpi_comm_free(row, code)
        periods = .true.
        call mpi_cart_create(mpi_comm_world, 1, (/ ranks /), periods, .false., grid, code)
        call mpi_cart_shift(grid, 0, 1, before, next, code)
        call mpi_comm_free(grid, code)
        call mpi_type_vector(4, 1, 2, mpi_double_precision, pairs, code)
        call mpi_type_commit(pairs, code)
        call mpi_isend(buffer, 1, pairs, next, 4, mpi_comm_world, requests(1), code)
        call mpi_recv(buffer(20), 4, mpi_double_precision, before, 4, mpi_comm_world, mpi_status_ignore, code)
        call mpi_wait(requests(1), mpi_status_ignore, code)
        call mpi_type_free(pairs, code)
        call mpi_barrier(mpi_comm_world, code)
        call mpi_iprobe(mpi_any_source, 99, mpi_comm_world, flag, status, code)
        call mpi_pack_size(2, mpi_integer, mpi_comm_world, parts, code)
        position = 0
        call mpi_pack(given, 2, mpi_integer, buffer, 800, position, mpi_comm_world, code)
        requests = mpi_request_null
        call mpi_waitsome(2, requests, outcount, indices, mpi_statuses_ignore, code)
    end subroutine

    subroutine by_mpi_f08()
        use mpi_f08
        integer :: rank, ranks, next, before, step, given(3), got(3)
        type(mpi_request) :: requests(2)
        type(mpi_status) :: status
        type(mpi_comm) :: copy
        call mpi_comm_dup(mpi_comm_world, copy)
        call mpi_comm_rank(copy, rank)
        call mpi_comm_size(copy, ranks)
        next = mod(rank + 1, ranks)
        before = mod(rank + ranks - 1, ranks)
        given = rank
        do step = 1, times
            call mpi_irecv(got, 3, mpi_integer, before, 5, copy, requests(1))
            call mpi_isend(given, 3, mpi_integer, next, 5, copy, requests(2))
            call mpi_waitall(2, requests, mpi_statuses_ignore)
        end do
        call mpi_sendrecv(given, 3, mpi_integer, next, 6, got, 3, mpi_integer, before, 6, copy, status)
        call mpi_reduce(given, got, 3, mpi_integer, mpi_sum, 0, copy)
        call mpi_comm_free(copy)
    end subroutine
end module

program recorded
    use mpi
    use steps
    implicit none
    integer :: code
    call mpi_init(code)
    call by_mpi()
    call by_mpi_f08()
    call mpi_finalize(code)
end program
