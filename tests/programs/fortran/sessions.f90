! Sessions from Fortran, without MPI_Init.
program sessions
    use mpi_f08
    implicit none
    type(MPI_Session) :: session
    type(MPI_Group) :: group
    type(MPI_Comm) :: comm
    type(MPI_Info) :: info
    type(MPI_Errhandler) :: handler
    character(len=MPI_MAX_PSET_NAME_LEN) :: name, value
    integer :: rank, size, sum, count, length, i, ierror
    logical :: flag, found

    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    call MPI_Initialized(flag)
    if (flag .or. session == MPI_SESSION_NULL) error stop 2
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, count)
    found = .false.
    do i = 0, count - 1
        length = len(name)
        call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name)
        found = found .or. name == 'mpi://WORLD'
    end do
    if (.not. found) error stop 3
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
    call MPI_Comm_create_from_group(group, 'fortran', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm)
    call MPI_Group_free(group)
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, size)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, comm)
    if (sum /= size * (size - 1) / 2) error stop 4
    call MPI_Session_get_pset_info(session, 'mpi://WORLD', info)
    length = len(value)
    call MPI_Info_get_string(info, 'mpi_size', length, value, flag)
    read (value, *) count
    if (.not. flag .or. count /= size) error stop 5
    call MPI_Info_free(info)
    call MPI_Session_get_errhandler(session, handler)
    if (handler /= MPI_ERRORS_RETURN) error stop 6
    call MPI_Session_get_pset_info(session, 'mpi://nobody', info, ierror)
    if (ierror /= MPI_ERR_ARG) error stop 7
    call MPI_Comm_free(comm)
    call MPI_Session_finalize(session)
    if (session /= MPI_SESSION_NULL) error stop 8
    if (rank == 0) print '(a)', 'done'
end program
