! Pi as the integral of 4 / (1 + x**2) from 0 to 1 by the midpoint rule, through module mpi.
!
!     xsim run -n 64 examples/fortran/pi.f90
!
! Expect, whatever the number of ranks:
!     pi is 3.14159265 with 100000 intervals
program pi
  use mpi
  implicit none
  integer, parameter :: dp = kind(1d0)
  integer :: rank, ranks, ierr, i, intervals
  real(dp) :: width, x, part, whole

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  intervals = 0
  if (rank == 0) intervals = 100000
  call MPI_Bcast(intervals, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  width = 1 / real(intervals, dp)
  part = 0
  do i = rank + 1, intervals, ranks
    x = width * (i - 0.5_dp)
    part = part + 4 / (1 + x * x)
  end do
  part = part * width
  call MPI_Reduce(part, whole, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a, f10.8, a, i0, a)', "pi is ", whole, " with ", intervals, " intervals"
  call MPI_Finalize(ierr)
end program
