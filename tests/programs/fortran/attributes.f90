! Attributes set in one language and read in the other (MPI 5.0 section 19.3.7); attributes_in_c.c is the
! other language.
module functions
  use mpi
  implicit none
  integer(MPI_ADDRESS_KIND) :: copied = 0, deleted = 0
contains
  subroutine copy(comm, key, extra, given, made, flag, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: extra, given, made
    logical :: flag
    copied = given
    made = 99
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine remove(comm, key, given, extra, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: given, extra
    deleted = given
    ierror = MPI_SUCCESS
  end subroutine
end module

program attributes
  use mpi
  use functions
  implicit none
  integer(MPI_ADDRESS_KIND), parameter :: large = -2_MPI_ADDRESS_KIND**40, nothing = 0
  integer :: rank, comm, other, key, c, old, type_key, narrow, same, ierror, passed = 0
  integer(MPI_ADDRESS_KIND) :: value, address, wide, of_copy, of_delete
  logical :: found

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
  call MPI_Comm_create_keyval(copy, remove, key, nothing, ierror)
  call c_key(c)

  ! Set in Fortran: C gets a pointer to the integer, which lasts.
  call MPI_Comm_set_attr(comm, key, large - rank, ierror)
  call c_get(comm, key, wide, narrow)
  call check(wide == large - rank)
  call MPI_Comm_get_attr(comm, key, value, found, ierror)
  call check(found .and. value == large - rank)
  ! Set in C: Fortran gets the address.
  call c_set(comm, key, address)
  call check(deleted == large - rank)
  call MPI_Comm_get_attr(comm, key, value, found, ierror)
  call check(found .and. value == address)
  call c_same(comm, key, same)
  call check(same == 1)
  ! Functions are given what their language reads, and what they make is of their language.
  call MPI_Comm_dup(comm, other, ierror)
  call check(copied == address)
  call c_get(other, key, wide, narrow)
  call check(wide == 99)
  call MPI_Comm_free(other, ierror)
  call check(deleted == 99)
  call MPI_Comm_delete_attr(comm, key, ierror)
  call check(deleted == address)
  call MPI_Comm_set_attr(comm, c, 5 + large, ierror)
  call MPI_Comm_dup(comm, other, ierror)
  call c_calls(of_copy, of_delete)
  call check(of_copy == 5 + large)
  call c_same(other, c, same)
  call check(same == 1)
  call MPI_Comm_free(other, ierror)
  call c_calls(of_copy, of_delete)
  call check(of_delete == -17)
  call MPI_Comm_delete_attr(comm, c, ierror)
  call c_calls(of_copy, of_delete)
  call check(of_delete == 5 + large)

  ! The deprecated calls: an INTEGER, which C reads as an int.
  call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, old, 0, ierror)
  call MPI_Attr_put(comm, old, -7 - rank, ierror)
  call c_get(comm, old, wide, narrow)
  call check(narrow == -7 - rank)
  call MPI_Attr_get(comm, old, narrow, found, ierror)
  call check(found .and. narrow == -7 - rank)
  call MPI_Comm_get_attr(comm, old, value, found, ierror)
  call check(found .and. value == -7 - rank)
  call MPI_Comm_dup(comm, other, ierror)
  call MPI_Comm_get_attr(other, old, value, found, ierror)
  call check(found .and. value == -7 - rank)
  call MPI_Comm_free(other, ierror)
  call c_set(comm, old, address)
  call MPI_Attr_get(comm, old, narrow, found, ierror)
  call check(found .and. narrow == transfer(address, narrow))
  call MPI_Comm_dup(comm, other, ierror)
  call c_same(other, old, same)
  call check(same == 1)
  call MPI_Comm_free(other, ierror)

  ! Predefined ones are as if set in Fortran.
  call c_get(MPI_COMM_WORLD, MPI_TAG_UB, wide, narrow)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, found, ierror)
  call check(found .and. value == narrow .and. narrow >= 32767)

  call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, type_key, nothing, ierror)
  call MPI_Type_set_attr(MPI_INTEGER, type_key, large, ierror)
  call c_type(MPI_INTEGER, type_key, wide)
  call check(wide == large)
  call MPI_Type_delete_attr(MPI_INTEGER, type_key, ierror)

  call MPI_Comm_free(comm, ierror)
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a)', 'done'
contains
  subroutine check(condition)
    logical, intent(in) :: condition
    integer :: abort_error
    passed = passed + 1
    if (.not. condition) then
      print *, 'rank', rank, 'check', passed, 'failed'
      call MPI_Abort(MPI_COMM_WORLD, 9, abort_error)
    end if
  end subroutine
end program
