! Module mpi: datatypes for Fortran kinds, sizes, statuses between their forms, memory by pointer.
program types
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi
  implicit none
  integer, parameter :: quad = selected_real_kind(15, 300), big = selected_int_kind(15)
  integer :: ierr, datatype, same, size, rank, mine(2)
  integer(MPI_ADDRESS_KIND) :: lower, extent, at, base
  real(quad) :: x
  integer(big) :: k
  complex(quad) :: z
  character :: letter
  type(c_ptr) :: memory
  integer, pointer :: numbers(:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Sizeof(x, size, ierr)
  call check("sizeof real", size == 8)
  z = 0
  call MPI_Sizeof([z, z], size, ierr)
  call check("sizeof complex", size == 16)
  call MPI_Sizeof(letter, size, ierr)
  call check("sizeof character", size == 1)
  call MPI_Type_create_f90_real(15, 300, datatype, ierr)
  call MPI_Type_size(datatype, size, ierr)
  call check("f90 real", size == 8)
  call MPI_Type_create_f90_integer(15, datatype, ierr)
  call MPI_Type_size(datatype, size, ierr)
  call check("f90 integer", size == 8)
  call MPI_Type_create_f90_complex(15, 300, datatype, ierr)
  call MPI_Type_get_extent(datatype, lower, extent, ierr)
  call check("f90 complex", lower == 0 .and. extent == 16)
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, datatype, ierr)
  call MPI_Type_size(datatype, same, ierr)
  call check("match size", same == 8)
  k = 7
  if (rank /= 0) k = 0
  call MPI_Type_create_f90_integer(15, datatype, ierr)
  call MPI_Bcast(k, 1, datatype, 0, MPI_COMM_WORLD, ierr)
  call check("broadcast of an f90 integer", k == 7)

  call MPI_Get_address(mine(1), base, ierr)
  call MPI_Get_address(mine(2), at, ierr)
  call check("addresses", MPI_Aint_diff(at, base) == 4 .and. MPI_Aint_add(base, 4_MPI_ADDRESS_KIND) == at)
  mine = rank
  call MPI_Type_create_hindexed_block(1, 1, [at], MPI_INTEGER, datatype, ierr)
  call MPI_Type_commit(datatype, ierr)
  call MPI_Bcast(MPI_BOTTOM, 1, datatype, 0, MPI_COMM_WORLD, ierr)
  call check("bottom", mine(1) == rank .and. mine(2) == 0)

  call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory, ierr)
  call c_f_pointer(memory, numbers, [10])
  numbers = rank
  call MPI_Free_mem(numbers, ierr)
  if (rank == 0) print '(a)', "done"
  call MPI_Finalize(ierr)
contains
  subroutine check(what, holds)
    character(len=*), intent(in) :: what
    logical, intent(in) :: holds
    if (.not. holds) then
      print '(a)', what
      call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    end if
  end subroutine
end program
