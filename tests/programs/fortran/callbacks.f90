! Callbacks through the abstract interfaces of mpi_f08.
module callbacks
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  implicit none
  integer :: copied = 0, deleted = 0, failed = 0
contains
  subroutine greatest(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) stop 7
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = max(a, b)
  end subroutine

  subroutine greatest_large(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer :: few
    few = int(len)
    call greatest(invec, inoutvec, few, datatype)
  end subroutine

  subroutine copy(comm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    if (comm /= MPI_COMM_WORLD) stop 8
    copied = copied + 1
    attribute_val_out = attribute_val_in * extra_state
    flag = attribute_val_in > 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine remove(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deleted = deleted + int(attribute_val)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine handler(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm == MPI_COMM_SELF) failed = error_code
  end subroutine
end module

program program_of_callbacks
  use callbacks
  implicit none
  type(MPI_Op) :: op
  type(MPI_Comm) :: dup
  type(MPI_Errhandler) :: errors
  integer :: rank, ranks, key, value(2), class, code
  integer(MPI_ADDRESS_KIND) :: attribute
  logical :: flag

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)

  call MPI_Op_create(greatest, .true., op)
  value = [rank, -rank]
  call MPI_Allreduce(MPI_IN_PLACE, value, 2, MPI_INTEGER, op, MPI_COMM_WORLD)
  call check(all(value == [ranks - 1, 0]), 1)
  call MPI_Op_free(op)
  call check(op == MPI_OP_NULL, 2)
  call MPI_Op_create_c(greatest_large, .true., op)
  value = [rank, -rank]
  call MPI_Allreduce(MPI_IN_PLACE, value, 2_MPI_COUNT_KIND, MPI_INTEGER, op, MPI_COMM_WORLD)
  call check(all(value == [ranks - 1, 0]), 3)

  call MPI_Comm_create_keyval(copy, remove, key, 3_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 2_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup)
  call MPI_Comm_get_attr(dup, key, attribute, flag)
  call check(flag .and. attribute == 6 .and. copied == 1, 4)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 1_MPI_ADDRESS_KIND)
  call check(deleted == 2, 5)
  call MPI_Comm_free(dup)
  call check(deleted == 8, 6)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup)
  call MPI_Comm_get_attr(dup, key, attribute, flag)
  call check(.not. flag, 7)

  call MPI_Comm_create_errhandler(handler, errors)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, errors)
  call MPI_Send(rank, -1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, code)
  call MPI_Error_class(code, class)
  call check(class == MPI_ERR_COUNT .and. failed == code, 8)
  if (rank == 0) print '(a)', "done"
  call MPI_Finalize()
contains
  subroutine check(holds, number)
    logical, intent(in) :: holds
    integer, intent(in) :: number
    if (.not. holds) then
      print *, "check", number
      call MPI_Abort(MPI_COMM_WORLD, 3)
    end if
  end subroutine
end program
