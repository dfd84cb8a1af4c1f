! The calls for failures of ranks from Fortran, in a run in which nobody fails.
program failures
    use mpi_f08
    implicit none
    type(MPI_Comm) :: comm, shrunk
    type(MPI_Group) :: failed
    type(MPI_Request) :: request
    integer :: rank, size, members, acknowledged, bits, ierror
    logical :: revoked

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)

    bits = ior(4, merge(1, 2, rank == 0))
    call MPIX_Comm_agree(comm, bits, ierror)
    if (ierror /= MPI_SUCCESS .or. iand(bits, 4) /= 4 .or. (size > 1 .and. bits /= 4)) error stop 2
    bits = 7
    call MPIX_Comm_iagree(comm, bits, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (bits /= 7) error stop 3

    call MPIX_Comm_get_failed(comm, failed)
    call MPI_Group_size(failed, members)
    call MPIX_Comm_ack_failed(comm, 5, acknowledged)
    if (members /= 0 .or. acknowledged /= 0) error stop 4
    call MPIX_Comm_failure_ack(comm)
    call MPIX_Comm_failure_get_acked(comm, failed)
    if (failed /= MPI_GROUP_EMPTY) error stop 5

    call MPIX_Comm_is_revoked(comm, revoked)
    if (revoked) error stop 6
    ! All are done with the communicator before one revokes it.
    call MPI_Barrier(comm)
    if (rank == 0) call MPIX_Comm_revoke(comm)
    call MPI_Barrier(comm, ierror)
    if (ierror /= MPIX_ERR_REVOKED .and. size > 1) error stop 7
    call MPIX_Comm_shrink(comm, shrunk)
    call MPI_Comm_size(shrunk, members)
    if (members /= size) error stop 8
    call MPI_Barrier(shrunk)
    call MPI_Comm_free(shrunk)
    call MPI_Comm_free(comm)
    call MPI_Finalize()
    if (rank == 0) print '(a)', 'done'
end program
