! Commands and arguments of spawned programs lose blanks at both ends (MPI 5.0 section 11.8.2); what is inside
! stays.
program spawned
    use mpi_f08
    implicit none
    character(len=12), parameter :: given(4) = [character(len=12) :: '  -gridfile', ' ocean one', 'plain', &
      '   ']
    character(len=300) :: command
    character(len=40) :: argument
    character(len=12) :: rows(2, 4)
    type(MPI_Comm) :: parent, children
    integer :: i

    call MPI_Init()
    call MPI_Comm_get_parent(parent)
    if (parent == MPI_COMM_NULL) then
        call get_command_argument(0, command)
        command = '  ' // command(:298)
        call MPI_Comm_spawn(command, given, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, children, MPI_ERRCODES_IGNORE)
        call MPI_Comm_disconnect(children)
        do i = 1, 2
            rows(i, :) = given
        end do
        call MPI_Comm_spawn_multiple(2, [command, command], rows, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, &
          MPI_COMM_SELF, &
            children, MPI_ERRCODES_IGNORE)
    else
        children = parent
        do i = 1, command_argument_count()
            call get_command_argument(i, argument)
            if (argument /= adjustl(given(i))) error stop 'an argument differs'
        end do
        if (command_argument_count() /= 3) error stop 'there are three arguments'
        print '(a)', 'three arguments'
    end if
    call MPI_Comm_disconnect(children)
    call MPI_Finalize()
end program
