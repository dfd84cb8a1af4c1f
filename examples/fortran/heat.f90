! Heat on a square plate, by Jacobi's method on a grid of ranks, through module mpi_f08. The rows of a
! column-major array lie apart in memory: they travel as array sections, without a datatype or a copy.
!
!     xsim run -n 16 examples/fortran/heat.f90
!
! Expect, whatever the number of ranks (1, 4, 16, 64 or 256):
!     after 100 steps the mean is 0.135390 and a step changes a cell by at most 0.002325
module plate
  use mpi_f08
  implicit none
  integer, parameter :: dp = kind(1d0), cells = 32, steps = 100
  ! Each rank's own, like all module variables on virtual ranks.
  real(dp), allocatable :: now(:, :), next(:, :)
  type(MPI_Comm) :: grid
  integer :: side, n, west, east, north, south
contains
  subroutine set_up
    integer :: ranks
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    side = nint(sqrt(real(ranks)))
    if (side * side /= ranks .or. mod(cells, side) /= 0) then
      print '(a, i0, a)', "the plate does not divide among ", ranks, " ranks; take 1, 4, 16, 64 or 256"
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
    n = cells / side
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [side, side], [.false., .false.], .true., grid)
    call MPI_Cart_shift(grid, 0, 1, north, south)
    call MPI_Cart_shift(grid, 1, 1, west, east)
    allocate (now(0:n + 1, 0:n + 1), next(0:n + 1, 0:n + 1))
    now = 0
    ! The plate's western edge is held at one degree.
    if (west == MPI_PROC_NULL) now(:, 0) = 1
    next = now
  end subroutine

  subroutine exchange
    type(MPI_Request) :: requests(8)
    call MPI_Irecv(now(0, 1:n), n, MPI_DOUBLE_PRECISION, north, 1, grid, requests(1))
    call MPI_Irecv(now(n + 1, 1:n), n, MPI_DOUBLE_PRECISION, south, 2, grid, requests(2))
    call MPI_Irecv(now(1:n, 0), n, MPI_DOUBLE_PRECISION, west, 3, grid, requests(3))
    call MPI_Irecv(now(1:n, n + 1), n, MPI_DOUBLE_PRECISION, east, 4, grid, requests(4))
    call MPI_Isend(now(n, 1:n), n, MPI_DOUBLE_PRECISION, south, 1, grid, requests(5))
    call MPI_Isend(now(1, 1:n), n, MPI_DOUBLE_PRECISION, north, 2, grid, requests(6))
    call MPI_Isend(now(1:n, n), n, MPI_DOUBLE_PRECISION, east, 3, grid, requests(7))
    call MPI_Isend(now(1:n, 1), n, MPI_DOUBLE_PRECISION, west, 4, grid, requests(8))
    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
  end subroutine
end module

program heat
  use plate
  implicit none
  integer :: step, rank
  real(dp) :: change, total

  call MPI_Init()
  call set_up
  do step = 1, steps
    call exchange
    next(1:n, 1:n) = (now(0:n - 1, 1:n) + now(2:n + 1, 1:n) + now(1:n, 0:n - 1) + now(1:n, 2:n + 1)) / 4
    change = maxval(abs(next(1:n, 1:n) - now(1:n, 1:n)))
    now(1:n, 1:n) = next(1:n, 1:n)
  end do
  total = sum(now(1:n, 1:n))
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid)
  call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid)
  call MPI_Comm_rank(grid, rank)
  if (rank == 0) print '(a, i0, 2(a, f8.6))', "after ", steps, " steps the mean is ", total / cells**2, &
    " and a step changes a cell by at most ", change
  call MPI_Finalize()
end program
