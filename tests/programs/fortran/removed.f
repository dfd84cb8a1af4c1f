C     What MPI 3.0 removed, as programs of the 1990s call it.
      program removed
      implicit none
      include 'mpif.h'
      integer lengths(2), displacements(2), types(2), pair, strided
      integer extent, lower, upper, ierr, rank, n, handler, i
      integer status(MPI_STATUS_SIZE), got(4), source, next
      common /block/ counts(2), values(2)
      integer counts
      double precision values
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
      lengths(1) = 2
      lengths(2) = 2
      displacements(1) = 0
      displacements(2) = 8
      types(1) = MPI_INTEGER
      types(2) = MPI_DOUBLE_PRECISION
      call MPI_TYPE_STRUCT(2, lengths, displacements, types, pair, ierr)
      call MPI_TYPE_COMMIT(pair, ierr)
      call MPI_TYPE_EXTENT(pair, extent, ierr)
      call MPI_TYPE_LB(pair, lower, ierr)
      call MPI_TYPE_UB(pair, upper, ierr)
      if (extent .ne. 24 .or. lower .ne. 0 .or. upper .ne. 24) stop 3
      if (rank .eq. 0) then
        counts(1) = 4
        counts(2) = 5
        values(1) = 1.5d0
        values(2) = 2.5d0
      end if
      call MPI_BCAST(counts, 1, pair, 0, MPI_COMM_WORLD, ierr)
      if (counts(2) .ne. 5 .or. values(2) .ne. 2.5d0) stop 4
      call MPI_TYPE_HVECTOR(2, 1, 8, MPI_INTEGER, strided, ierr)
      call MPI_TYPE_COMMIT(strided, ierr)
      do i = 1, 4
        got(i) = -i
      end do
      next = mod(rank + 1, n)
      source = mod(rank + n - 1, n)
      call MPI_SENDRECV(counts, 2, MPI_INTEGER, next, 0, got, 1,
     &     strided, source, 0, MPI_COMM_WORLD, status, ierr)
      if (got(1) .ne. 4 .or. got(2) .ne. -2 .or. got(3) .ne. 5) stop 5
      call MPI_ERRHANDLER_SET(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
      call MPI_ERRHANDLER_GET(MPI_COMM_WORLD, handler, ierr)
      if (handler .ne. MPI_ERRORS_RETURN) stop 6
      if (rank .eq. 0) print '(a)', 'done'
      call MPI_FINALIZE(ierr)
      end
