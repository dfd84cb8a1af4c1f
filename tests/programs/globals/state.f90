! Every kind of state that Fortran has: a rank changes all of it before each call and finds it again behind
! it.
module state
  use mpi
  implicit none
  integer, allocatable, save :: values(:)
  integer, save :: counter = 3
  integer, target, save :: aimed = 1
  integer, pointer, save :: pointing => aimed
  type node
    integer :: value = 2
    type(node), pointer :: next => null()
  end type
  type(node), target, save :: first
  character(len=20), save :: text = 'initial'
  procedure(integer), pointer, save :: function_of => null()
contains
  integer function even()
    even = 0
  end function
  integer function odd()
    odd = 1
  end function
end module

block data initial
  integer :: number, filled(4)
  common /initialised/ number, filled
  data number /11/, filled /4 * 12/
end block data

subroutine change_and(rank, step, check)
  use state
  implicit none
  integer, intent(in) :: rank, step
  logical, intent(in) :: check
  integer, save :: calls = 0
  real(8) :: x, y(9000)
  common /block/ x, y
  integer :: number, filled(4)
  common /initialised/ number, filled
  integer :: both(2), at, k
  integer, save :: at_entry(2)
  real(8) :: overlaid
  equivalence (both, overlaid)
  save both
  integer :: data_of(5)
  data data_of /5 * 6/
  if (.not. check) then
    calls = calls + 1
    x = x + rank
    y(mod(step, 9000) + 1) = rank
    number = number + rank
    filled(3) = rank
    overlaid = dble(rank) + dble(step)
    at_entry = both
    data_of(2) = 6 + rank
    counter = counter + rank
    pointing = pointing + rank
    first%next => first
    first%next%value = first%value + rank
    write(text, '(a,i0)') 'rank ', rank
    function_of => even
    if (mod(rank, 2) == 1) function_of => odd
    if (.not. allocated(values)) allocate(values(400 + rank))
    at = mod(step, 400) + 1
    values(at) = step * rank
    return
  end if
  if (calls /= step) error stop 'SAVE is shared'
  if (x /= dble(step) * rank .or. y(mod(step, 9000) + 1) /= rank) error stop 'COMMON is shared'
  if (number /= 11 + step * rank .or. any(filled /= [12, 12, rank, 12])) &
    error stop 'initialised COMMON is shared'
  if (any(both /= at_entry)) error stop 'EQUIVALENCE is shared'
  if (any(data_of /= [6, 6 + rank, 6, 6, 6])) error stop 'DATA is shared'
  if (counter /= 3 + step * rank) error stop 'the module variable is shared'
  if (aimed /= 1 + step * rank .or. .not. associated(pointing, aimed)) error stop 'the pointer is shared'
  if (first%value /= 2 + step * rank .or. .not. associated(first%next, first)) &
    error stop 'the structure is shared'
  if (function_of() /= mod(rank, 2)) error stop 'the procedure pointer is shared'
  write(text(15:20), '(i0)') rank
  if (text(1:5) /= 'rank ' .or. text(6:6) /= text(15:15)) error stop 'the text is shared'
  if (size(values) /= 400 + rank) error stop 'the allocatable is shared'
  do k = max(1, step - 399), step
    if (values(mod(k, 400) + 1) /= k * rank) error stop 'what the allocatable holds is shared'
  end do
end subroutine

program main
  use state
  implicit none
  integer :: rank, ranks, ierror, step, lap, left, right, got, total, request
  external :: change_and
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  step = 0
  do lap = 1, 20
    call before()
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call behind()
    call before()
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 1, got, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, ierror)
    call behind()
    if (got /= left) error stop 'not what the neighbour sent'
    call before()
    call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, request, ierror)
    call behind()
    call before()
    call MPI_Send(rank, 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, ierror)
    call behind()
    call before()
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call behind()
    if (got /= right) error stop 'not what the other neighbour sent'
    call before()
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call behind()
    ! Into a module array, which is in place only while its rank is.
    call before()
    call MPI_Bcast(counter, 0, MPI_INTEGER, mod(lap, ranks), MPI_COMM_WORLD, ierror)
    call behind()
  end do
  if (total /= ranks * (ranks - 1) / 2) error stop 'a wrong sum'
  call MPI_Finalize(ierror)
  print '(a)', 'ok'
contains
  subroutine before()
    step = step + 1
    call change_and(rank, step, .false.)
  end subroutine
  subroutine behind()
    call change_and(rank, step, .true.)
  end subroutine
end program
