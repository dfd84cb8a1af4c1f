! Where a section cannot be described, the call says so.
program refused
  use mpi_f08
  implicit none
  integer :: a(10), b(10), code, class
  type(MPI_Request) :: request

  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  a = 1
  call MPI_Iallreduce(a(1:10:2), b, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, code)
  call MPI_Error_class(code, class)
  if (class /= MPI_ERR_BUFFER) stop 4
  call MPI_Isend(a(1:10:2), 2, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, request, code)
  call MPI_Error_class(code, class)
  if (class /= MPI_ERR_TYPE) stop 5
  print '(a)', "done"
  call MPI_Finalize()
end program
