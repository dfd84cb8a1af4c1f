! The simulator's own functions from Fortran.
program extension
  use mpi
  implicit none
  integer, external :: xsim_compute, xsim_rank, xsim_size, xsim_running, xsim_region_begin, xsim_region_end
  double precision, external :: xsim_time
  double precision :: before
  integer :: rank, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  if (xsim_running() /= 1 .or. xsim_rank() /= rank .or. xsim_size() < 1) stop 3
  before = xsim_time()
  if (xsim_compute(0.5d0) /= 0 .or. abs(xsim_time() - before - 0.5d0) > 1d-12) stop 4
  if (xsim_compute(-0.5d0) /= -1) stop 5
  if (xsim_region_begin('solve  ') /= 0) stop 6
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (xsim_region_end('solve') /= 0) stop 7
  if (rank == 0) print '(a)', "done"
  call MPI_Finalize(ierr)
end program
