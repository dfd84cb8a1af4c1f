! Array sections through mpi_f08: what lies apart in memory arrives in array element order.
program sections
  use mpi_f08
  implicit none
  integer :: rank, n, next, before, i, a(10, 10), b(5), c(4, 4), whole(10)
  complex :: z(6), w(3)
  real :: parts(6)
  type(MPI_Request) :: r(2)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  next = mod(rank + 1, n)
  before = mod(rank + n - 1, n)
  a = reshape([(i, i=1, 100)], [10, 10]) + 1000 * rank

  ! A blocking send of a strided column, received into a reversed array.
  b = 0
  call MPI_Sendrecv(a(1:9:2, 3), 5, MPI_INTEGER, next, 0, b(5:1:-1), 5, MPI_INTEGER, before, 0, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check("sendrecv", all(b == [29, 27, 25, 23, 21] + 1000 * before))

  ! Nonblocking: the section itself is described, nothing is copied early.
  b = 0
  call MPI_Irecv(b(5:1:-1), 5, MPI_INTEGER, before, 1, MPI_COMM_WORLD, r(1))
  call MPI_Isend(a(2, 1:10:2), 5, MPI_INTEGER, next, 1, MPI_COMM_WORLD, r(2))
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
  call check("isend", all(b == [82, 62, 42, 22, 2] + 1000 * before))
  call check("requests are null", r(1) == MPI_REQUEST_NULL .and. r(2) == MPI_REQUEST_NULL)

  ! A block with holes in two dimensions, of which only a part is sent.
  c = 0
  call MPI_Irecv(c(1:4:2, 1:4:2), 4, MPI_INTEGER, before, 2, MPI_COMM_WORLD, r(1))
  call MPI_Isend(a(1:10:3, 2:10:4), 4, MPI_INTEGER, next, 2, MPI_COMM_WORLD, r(2))
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
  call check("two dimensions", all(reshape(c(1:4:2, 1:4:2), [4]) == [11, 14, 17, 20] + 1000 * before))
  call check("holes stay", all(c(2:4:2, :) == 0) .and. all(c(:, 2:4:2) == 0))

  ! An element may be several of the datatype.
  z = [(cmplx(i, -i), i=1, 6)]
  w = 0
  call MPI_Irecv(w, 6, MPI_REAL, before, 3, MPI_COMM_WORLD, r(1))
  call MPI_Isend(z(1:6:2), 6, MPI_REAL, next, 3, MPI_COMM_WORLD, r(2))
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
  call check("complex as reals", all(w == [cmplx(1, -1), cmplx(3, -3), cmplx(5, -5)]))

  ! Collectives.
  whole = 0
  if (rank == 0) whole = [(i, i=1, 10)]
  call MPI_Bcast(whole(2:10:2), 5, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call check("bcast", all(whole(2:10:2) == [2, 4, 6, 8, 10]))
  call check("bcast leaves the rest", rank == 0 .or. all(whole(1:9:2) == 0))
  parts = 1
  call MPI_Allreduce(MPI_IN_PLACE, parts(1:6:2), 3, MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
  call check("allreduce in place", all(parts == [real(n), 1., real(n), 1., real(n), 1.]))

  ! A section of extent one, an empty one, a scalar.
  b = rank
  call MPI_Bcast(b(2:2), 1_MPI_COUNT_KIND, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call MPI_Bcast(b(3:2), 0, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call MPI_Bcast(b(4), 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call check("small", all(b == [rank, 0, rank, 0, rank]))
  if (rank == 0) print '(a)', "done"
  call MPI_Finalize()
contains
  subroutine check(what, holds)
    character(len=*), intent(in) :: what
    logical, intent(in) :: holds
    if (.not. holds) then
      print '(a, i0, 2a)', "rank ", rank, ": ", what
      call MPI_Abort(MPI_COMM_WORLD, 3)
    end if
  end subroutine
end program
