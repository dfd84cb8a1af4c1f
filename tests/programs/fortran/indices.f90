! Two receives of which one is complete before the other, found by each call that tells indices: in Fortran
! these count from 1.
program indices
  use mpi
  implicit none
  integer, parameter :: world = MPI_COMM_WORLD
  integer :: rank, error, index, done, which
  integer :: requests(2), found(2), numbers(2), statuses(MPI_STATUS_SIZE, 2), one(MPI_STATUS_SIZE)
  logical :: flag

  call MPI_Init(error)
  call MPI_Comm_rank(world, rank, error)
  do which = 1, 4
    if (rank == 0) then
      call MPI_Irecv(numbers(1), 1, MPI_INTEGER, 1, 7, world, requests(1), error)
      call MPI_Irecv(numbers(2), 1, MPI_INTEGER, 1, 8, world, requests(2), error)
      call ask()
      if (index /= 1) call MPI_Abort(world, 1, error)
      call MPI_Send(numbers, 1, MPI_INTEGER, 1, 9, world, error)
      call ask()
      if (index /= 2) call MPI_Abort(world, 2, error)
    else
      call MPI_Send(which, 1, MPI_INTEGER, 0, 7, world, error)
      call MPI_Recv(numbers, 1, MPI_INTEGER, 0, 9, world, one, error)
      call MPI_Send(which, 1, MPI_INTEGER, 0, 8, world, error)
    end if
  end do
  call MPI_Finalize(error)

contains
  ! Waits for one of the requests, in the way of this turn.
  subroutine ask()
    done = 0
    flag = .false.
    select case (which)
    case (1)
      call MPI_Waitany(2, requests, index, one, error)
    case (2)
      call MPI_Waitsome(2, requests, done, found, statuses, error)
      index = found(1)
    case (3)
      do while (.not. flag)
        call MPI_Testany(2, requests, index, flag, one, error)
      end do
    case (4)
      do while (done == 0)
        call MPI_Testsome(2, requests, done, found, statuses, error)
      end do
      index = found(1)
    end select
  end subroutine ask
end program indices
