! COMMON, SAVE, module and allocatable state, unit numbers and output of each rank.
module state
  implicit none
  real(8), allocatable :: values(:)
  integer :: counter = 3
  integer, target :: aimed = 1
  integer, pointer :: pointing => aimed
  interface
    integer(4) function rank_of() bind(C, name="rank_")
    end function
    subroutine yield() bind(C, name="yield_")
    end subroutine
  end interface
end module

subroutine work(step)
  use state
  implicit none
  integer, intent(in) :: step
  integer, save :: calls = 0
  integer :: rank, word
  real(8) :: x, y(5000)
  integer :: both(2)
  real(8) :: overlaid
  equivalence (both, overlaid)
  save both
  common /block/ x, y
  rank = rank_of()
  calls = calls + 1
  x = x + rank
  y(step) = rank
  counter = counter + rank
  pointing = pointing + rank
  if (.not. allocated(values)) allocate(values(200 + rank))
  values(step) = step * rank
  overlaid = rank
  word = both(2)
  write(*, '(a,i0,a,i0)') 'rank ', rank, ' step ', step
  call yield()
  if (calls /= step) error stop 'SAVE is shared'
  if (x /= dble(step * rank) .or. y(step) /= rank) error stop 'COMMON is shared'
  if (counter /= 3 + step * rank .or. aimed /= 1 + step * rank) error stop 'the module is shared'
  if (size(values) /= 200 + rank .or. values(step) /= step * rank) error stop 'the allocatable is shared'
  if (both(2) /= word) error stop 'EQUIVALENCE is shared'
end subroutine

program main
  use state
  implicit none
  integer :: step, rank
  character(len=300) :: directory
  character(len=1) :: digit
  rank = rank_of()
  do step = 1, 100
    call work(step)
  end do
  call get_command_argument(1, directory)
  write(digit, '(i1)') rank
  open(10, file=trim(directory)//'/unit.'//digit, status='replace')
  write(10, '(a,i0)') ' first ', rank
  call yield()
  write(10, '(a,i0)') ' again ', rank
  call yield()
  if (rank /= 2) close(10)
  call numbers
  print '(a,i0)', 'done ', rank
  if (rank == 1) stop 3
end program

subroutine numbers
  use state
  implicit none
  integer :: length
  integer, allocatable :: seed(:)
  real(8) :: begun(4), again(4), x
  integer :: k
  ! Unseeded: from the rank's own number, not from a neighbour's sequence.
  call random_number(begun)
  call random_seed()
  do k = 1, 4
    call yield()
    call random_number(x)
    if (x /= begun(k)) error stop 'random_seed() does not begin again'
  end do
  call random_seed(size=length)
  allocate(seed(length))
  seed = 1234 + rank_of()
  call random_seed(put=seed)
  call random_number(begun)
  call yield()
  call random_seed(put=seed)
  do k = 1, 4
    call random_number(again(k))
    call yield()
  end do
  if (any(again /= begun)) error stop 'random_number is shared'
end subroutine
