! Calls through both Fortran interfaces, for the log. Runs on two ranks.
program logged
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(2)
  integer :: me, values(4), got(2), which
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  values = me
  call MPI_Irecv(got, 2, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(values(1:4:2), 2, MPI_INTEGER, 1 - me, 7, MPI_COMM_WORLD, requests(2))
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
  requests(2) = MPI_REQUEST_NULL
  call MPI_Waitany(2, requests, which, MPI_STATUS_IGNORE)
  call MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  call MPI_Comm_set_name(MPI_COMM_WORLD, 'both  ')
  call old(me)
  call MPI_Finalize()
contains
  subroutine old(me)
    integer, intent(in) :: me
    call by_header(me)
  end subroutine
end program

subroutine by_header(me)
  implicit none
  include 'mpif.h'
  integer :: me, x, code
  x = me
  if (me == 0) call MPI_SEND(x, 1, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, code)
  if (me == 1) call MPI_RECV(x, 1, MPI_INTEGER, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
end subroutine
