! 64 KiB of COMMON, of which each rank writes a line; all meet once.
program main
  use mpi
  implicit none
  integer :: rank, ranks, ierror
  real(8) :: values(8192)
  common /block/ values
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  values(4096) = rank
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
end program
