! Many sections of a three-dimensional array, each sent blocking and nonblocking and received
! into another section of the same shape; Fortran's own assignment is what it is compared with.
program random_sections
  use mpi_f08
  implicit none
  integer, parameter :: side = 7, rounds = 300
  integer :: a(side, side, side), got(side, side, side), want(side, side, side)
  integer :: from(3), to(3), by(3), first(3), step(3), n(3), round, d, total, part, i
  integer :: state = 12345
  type(MPI_Request) :: r(2)

  call MPI_Init()
  a = reshape([(i, i=1, side**3)], [side, side, side])
  do round = 1, rounds
    do d = 1, 3
      ! n elements with some stride, forwards or backwards, somewhere along each side.
      by(d) = 1 + choose(3)
      n(d) = 1 + choose((side - 1) / by(d) + 1)
      from(d) = 1 + choose(side - (n(d) - 1) * by(d))
      to(d) = from(d) + (n(d) - 1) * by(d)
      step(d) = 1 + choose((side - 1) / max(n(d) - 1, 1))
      step(d) = min(step(d), 3)
      first(d) = 1 + choose(side - (n(d) - 1) * step(d))
      if (choose(2) == 1) then
        i = from(d)
        from(d) = to(d)
        to(d) = i
        by(d) = -by(d)
      end if
    end do
    total = product(n)
    want = 0
    want(first(1):first(1) + (n(1) - 1) * step(1):step(1), first(2):first(2) + (n(2) - 1) * step(2):step(2), &
      first(3):first(3) + (n(3) - 1) * step(3):step(3)) = a(from(1):to(1):by(1), from(2):to(2):by(2), &
      from(3):to(3):by(3))

    got = 0
    call MPI_Irecv(got(first(1):first(1) + (n(1) - 1) * step(1):step(1), &
      first(2):first(2) + (n(2) - 1) * step(2):step(2), &
      first(3):first(3) + (n(3) - 1) * step(3):step(3)), total, MPI_INTEGER, 0, 1, MPI_COMM_SELF, r(1))
    call MPI_Isend(a(from(1):to(1):by(1), from(2):to(2):by(2), from(3):to(3):by(3)), total, MPI_INTEGER, 0, &
      1, MPI_COMM_SELF, r(2))
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
    if (any(got /= want)) call wrong("nonblocking")

    got = 0
    call MPI_Sendrecv(a(from(1):to(1):by(1), from(2):to(2):by(2), from(3):to(3):by(3)), total, MPI_INTEGER, &
      0, 2, &
      got(first(1):first(1) + (n(1) - 1) * step(1):step(1), &
      first(2):first(2) + (n(2) - 1) * step(2):step(2), &
      first(3):first(3) + (n(3) - 1) * step(3):step(3)), total, MPI_INTEGER, 0, 2, MPI_COMM_SELF, &
      MPI_STATUS_IGNORE)
    if (any(got /= want)) call wrong("blocking")

    ! Only a part of the section.
    part = 1 + choose(total)
    got = 0
    call MPI_Irecv(got, total, MPI_INTEGER, 0, 3, MPI_COMM_SELF, r(1))
    call MPI_Isend(a(from(1):to(1):by(1), from(2):to(2):by(2), from(3):to(3):by(3)), part, MPI_INTEGER, 0, &
      3, MPI_COMM_SELF, r(2))
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
    want = reshape(a(from(1):to(1):by(1), from(2):to(2):by(2), from(3):to(3):by(3)), [side, side, side], &
      pad=[0])
    i = count(reshape(got, [side**3]) == reshape(want, [side**3]) .or. [(d > part, d=1, side**3)])
    if (i /= side**3 .or. count(got /= 0) /= part) call wrong("part")
  end do
  print '(a)', "done"
  call MPI_Finalize()
contains
  ! A number from 0 up to and without `limit`, the same in every run.
  integer function choose(limit)
    integer, intent(in) :: limit
    state = int(iand(state * 1103515245_8 + 12345_8, int(huge(state), 8)))
    choose = mod(state / 65536, limit)
  end function

  subroutine wrong(what)
    character(len=*), intent(in) :: what
    print '(2a, i0, 5(a, 3i3))', what, " round ", round, " from", from, " to", to, " by", by, " first", &
      first, " step", step
    call MPI_Abort(MPI_COMM_WORLD, 3)
  end subroutine
end program
