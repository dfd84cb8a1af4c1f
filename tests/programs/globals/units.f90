! Fortran's standard units, opened as files or closed by each rank, and files that are opened by their unit's
! number alone.
program units
  use mpi
  use iso_fortran_env
  implicit none
  integer :: error, rank, status, number, again, failures = 0
  character(20) :: mode, name
  logical :: opened
  namelist /values/ number, again

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call get_command_argument(1, mode)
  write (name, '(a,i0)') 'unit.', rank
  select case (mode)
  case ('input')
    call make(name, rank)
    open (5, file=name, status='old', iostat=status)
    call holds(status == 0)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    read (5, *, iostat=status) number
    call holds(status == 0 .and. number == rank + 100)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    read (*, *, iostat=status) number
    call holds(status == 0 .and. number == rank + 200)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    read (5, values, iostat=status)
    call holds(status == 0 .and. number == 7 .and. again == rank)
    close (5)
  case ('one')
    if (rank == 0) call make('one', 0)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    open (input_unit, file='one', action='read', iostat=status)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    read (input_unit, *, iostat=status) number
    call holds(status == 0 .and. number == 100)
  case ('output')
    open (output_unit, file=name)
    open (error_unit, file=trim(name)//'.error')
    write (*, '(a,i0)') 'first of ', rank
    call MPI_Barrier(MPI_COMM_WORLD, error)
    write (6, '(a,i0)') 'second of ', rank
    write (0, '(a,i0)') 'error of ', rank
    call MPI_Barrier(MPI_COMM_WORLD, error)
    close (6)
    close (0)
    call finds(name, 'first of ')
    call finds(trim(name)//'.error', 'error of ')
  case ('quiet')
    if (rank /= 0) open (unit=6, file='/dev/null')
    call MPI_Barrier(MPI_COMM_WORLD, error)
    print '(a,i0,a)', 'rank ', rank, ' prints'
  case ('closed')
    if (rank /= 0) close (6)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    print '(a,i0,a)', 'rank ', rank, ' prints'
    call MPI_Barrier(MPI_COMM_WORLD, error)
    inquire (file='fort.6', exist=opened)
    call holds(opened)
  case ('scratch')
    open (5, status='scratch')
    write (5, *) rank
    call MPI_Barrier(MPI_COMM_WORLD, error)
    rewind (5)
    read (5, *, iostat=status) number
    call holds(status == 0 .and. number == rank)
  case ('standard')
    ! The first rank alone has lines on standard input, whoever reads first.
    if (rank == 0) call MPI_Barrier(MPI_COMM_WORLD, error)
    read (*, *, iostat=status) number
    if (rank /= 0) call MPI_Barrier(MPI_COMM_WORLD, error)
    call holds(merge(status == 0 .and. number == 42, status < 0, rank == 0))
  end select
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
  if (failures > 0) error stop 1

contains
  subroutine holds(condition)
    logical, intent(in) :: condition
    if (condition) return
    failures = failures + 1
    open (newunit=again, file='/dev/stderr')
    write (again, *) 'rank', rank, 'fails: ', mode, status, number
  end subroutine

  subroutine make(file, base)
    character(*), intent(in) :: file
    integer, intent(in) :: base
    integer :: unit
    open (newunit=unit, file=file)
    write (unit, *) base + 100
    write (unit, *) base + 200
    write (unit, '(a,i0,a)') '&values number=7, again=', base, ' /'
    close (unit)
  end subroutine

  subroutine finds(file, text)
    character(*), intent(in) :: file, text
    character(80) :: line, want
    integer :: unit
    open (newunit=unit, file=file, status='old', iostat=status)
    if (status == 0) read (unit, '(a)', iostat=status) line
    close (unit)
    write (want, '(a,i0)') text, rank
    call holds(status == 0 .and. line == want)
  end subroutine
end program
