C     Every rank greets and passes its number on, through mpif.h. The COMMON
C     block is each rank's own, although all ranks share one process.
C
C         xsim run -n 4 examples/fortran/hello.f
C
C     Expect a line from each rank, in no particular order, and the sum:
C         rank 2 of 4 heard of 1
C         sum of what was heard 6
      program hello
      implicit none
      include 'mpif.h'
      integer rank, ranks, heard
      common /mine/ rank, ranks, heard
      integer sum, next, before, ierr
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      next = mod(rank + 1, ranks)
      before = mod(rank + ranks - 1, ranks)
      call MPI_SENDRECV(rank, 1, MPI_INTEGER, next, 0,
     &     heard, 1, MPI_INTEGER, before, 0,
     &     MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call greet
      call MPI_REDUCE(heard, sum, 1, MPI_INTEGER, MPI_SUM, 0,
     &     MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print '(a, i0)', 'sum of what was heard ', sum
      call MPI_FINALIZE(ierr)
      end

      subroutine greet
      integer rank, ranks, heard
      common /mine/ rank, ranks, heard
      print '(3(a, i0))', 'rank ', rank, ' of ', ranks, ' heard of ',
     &     heard
      end
