C     The mpif.h interface: callbacks, attributes, logicals, texts,
C     indices from one, arguments left out.
      program old
      implicit none
      include 'mpif.h'
      integer rank, n, ierr, key, dup, comm, op, value, length, cart
      integer dims(2), coords(2), requests(3), index, many, list(3)
      integer status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 3)
      integer info, class, i, source, dest, handler
      integer(kind=MPI_ADDRESS_KIND) attribute, extra
      logical flag, periods(2)
      character*(MPI_MAX_PROCESSOR_NAME) name
      character*12 text
      common /counts/ copied, deleted, failed
      integer copied, deleted, failed
      external copy, remove, multiply, handle
      call MPI_INIT(ierr)
      call check('init', ierr .eq. MPI_SUCCESS)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)

      extra = 42
      call MPI_COMM_CREATE_KEYVAL(copy, remove, key, extra, ierr)
      call MPI_COMM_CREATE_KEYVAL(MPI_COMM_DUP_FN,
     &     MPI_COMM_NULL_DELETE_FN, dup, extra, ierr)
      attribute = -5 - rank
      call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, key, attribute, ierr)
      call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, dup, attribute, ierr)
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
      call MPI_COMM_GET_ATTR(comm, key, attribute, flag, ierr)
      call check('copied', flag .and. attribute .eq. 37 - rank)
      call MPI_COMM_GET_ATTR(comm, dup, attribute, flag, ierr)
      call check('duplicated', flag .and. attribute .eq. -5 - rank)
      call MPI_COMM_GET_ATTR(comm, MPI_TAG_UB, attribute, flag, ierr)
      call check('tag', flag .and. attribute .ge. 32767)
      call MPI_ATTR_GET(comm, MPI_TAG_UB, value, flag, ierr)
      call check('old tag', flag .and. value .ge. 32767)
      call MPI_COMM_FREE(comm, ierr)
      call check('null', comm .eq. MPI_COMM_NULL)
      call check('counts', copied .eq. 1 .and. deleted .eq. 1)

      call MPI_OP_CREATE(multiply, .true., op, ierr)
      value = 2
      call MPI_ALLREDUCE(MPI_IN_PLACE, value, 1, MPI_INTEGER, op,
     &     MPI_COMM_WORLD, ierr)
      call check('product', value .eq. 2**n)
      call MPI_OP_FREE(op, ierr)

      dims(1) = 0
      dims(2) = 1
      call MPI_DIMS_CREATE(n, 2, dims, ierr)
      periods(1) = .true.
      periods(2) = .false.
      call MPI_CART_CREATE(MPI_COMM_WORLD, 2, dims, periods, .false.,
     &     cart, ierr)
      periods(1) = .false.
      periods(2) = .true.
      call MPI_CART_GET(cart, 2, dims, periods, coords, ierr)
      call check('periods', periods(1) .and. .not. periods(2))
      call check('dims', dims(1) .eq. n .and. coords(1) .eq. rank)
      call MPI_CART_SHIFT(cart, 0, 1, source, dest, ierr)
      call check('shift', dest .eq. mod(rank + 1, n))

      requests(1) = MPI_REQUEST_NULL
      call MPI_IRECV(value, 1, MPI_INTEGER, source, 5, cart,
     &     requests(2), ierr)
      requests(3) = MPI_REQUEST_NULL
      call MPI_SEND(rank, 1, MPI_INTEGER, dest, 5, cart, ierr)
      call MPI_WAITANY(3, requests, index, status, ierr)
      call check('index', index .eq. 2 .and. value .eq. source)
      call check('source', status(MPI_SOURCE) .eq. source)
      call check('status tag', status(MPI_TAG) .eq. 5)
      call MPI_GET_COUNT(status, MPI_INTEGER, many, ierr)
      call check('count', many .eq. 1)
      call MPI_WAITANY(3, requests, index, MPI_STATUS_IGNORE, ierr)
      call check('undefined', index .eq. MPI_UNDEFINED)
      do i = 1, 3
        call MPI_IRECV(list(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF,
     &       requests(i), ierr)
      end do
      call check('handles differ', requests(1) .ne. requests(2))
      call MPI_COMM_FREE(cart, ierr)
      do i = 1, 3
        call MPI_CANCEL(requests(i), ierr)
      end do
      call MPI_WAITALL(3, requests, statuses, ierr)
      call MPI_TEST_CANCELLED(statuses(1, 3), flag, ierr)
      call check('cancelled', flag)

      call MPI_GET_PROCESSOR_NAME(name, length, ierr)
      call check('name', len_trim(name) .eq. length .and. length .gt. 0)
      call MPI_INFO_CREATE(info, ierr)
      call MPI_INFO_SET(info, '  key ', ' some value  ', ierr)
      text = '????????????'
      call MPI_INFO_GET(info, 'key', 12, text, flag, ierr)
      call check('value', flag .and. text .eq. 'some value')
      text = '????????????'
      call MPI_INFO_GET(info, 'other', 12, text, flag, ierr)
      call check('untouched', .not. flag .and. text .eq. '????????????')
      length = 4
      call MPI_INFO_GET_STRING(info, 'key', length, text, flag, ierr)
      call check('cut', flag .and. length .eq. 10 .and.
     &     text .eq. 'some')
      call MPI_INFO_FREE(info, ierr)

      call MPI_COMM_CREATE_ERRHANDLER(handle, handler, ierr)
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, handler, ierr)
      call MPI_SEND(value, 1, MPI_INTEGER, n + 7, 0, MPI_COMM_WORLD,
     &     ierr)
      call MPI_ERROR_CLASS(ierr, class, i)
      call check('rank error', class .eq. MPI_ERR_RANK)
      call check('handler', failed .eq. 1)
      if (rank .eq. 0) print '(a)', 'done'
      call MPI_FINALIZE(ierr)
      end

      subroutine check(what, holds)
      include 'mpif.h'
      character*(*) what
      logical holds
      integer ierr
      if (.not. holds) then
        print *, what
        call MPI_ABORT(MPI_COMM_WORLD, 3, ierr)
      end if
      end

      subroutine copy(comm, key, extra, in, out, flag, ierr)
      include 'mpif.h'
      integer comm, key, ierr
      integer(kind=MPI_ADDRESS_KIND) extra, in, out
      logical flag
      common /counts/ copied, deleted, failed
      integer copied, deleted, failed
      copied = copied + 1
      out = in + extra
      flag = .true.
      ierr = MPI_SUCCESS
      end

      subroutine remove(comm, key, value, extra, ierr)
      include 'mpif.h'
      integer comm, key, ierr
      integer(kind=MPI_ADDRESS_KIND) extra, value
      common /counts/ copied, deleted, failed
      integer copied, deleted, failed
      if (extra .eq. 42) deleted = deleted + 1
      ierr = MPI_SUCCESS
      end

      subroutine multiply(a, b, n, datatype)
      include 'mpif.h'
      integer n, datatype, a(n), b(n), i
      if (datatype .ne. MPI_INTEGER) stop 'datatype'
      do i = 1, n
        b(i) = a(i) * b(i)
      end do
      end

      subroutine handle(comm, code)
      include 'mpif.h'
      integer comm, code
      common /counts/ copied, deleted, failed
      integer copied, deleted, failed
      if (comm .eq. MPI_COMM_WORLD) failed = failed + 1
      end
