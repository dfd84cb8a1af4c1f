! Files from Fortran: views, pointers, requests, sections of arrays, error codes.
program files
  use mpi_f08
  implicit none
  integer :: rank, ranks, i, next, ierror, bytes, number(1), row(10), matrix(4, 6), got(10)
  integer(MPI_OFFSET_KIND) :: place, disp
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  type(MPI_Datatype) :: etype, filetype, tile
  type(MPI_Errhandler) :: handler
  character(100) :: name
  character(MPI_MAX_DATAREP_STRING) :: representation
  logical :: atomic

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  number = getpid()
  call MPI_Bcast(number, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  write (name, '(a,i0)') '/tmp/xsim-fortran-files-', number(1)

  call MPI_File_open(MPI_COMM_WORLD, '/missing/file', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
  call check(ierror == MPI_ERR_NO_SUCH_FILE .and. file == MPI_FILE_NULL)
  ! The name is padded with blanks, which are none of it.
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
    MPI_INFO_NULL, file)
  call MPI_File_get_errhandler(file, handler)
  call check(handler == MPI_ERRORS_RETURN)

  row = [(100 * rank + i, i = 1, 10)]
  next = mod(rank + 1, ranks)
  call MPI_File_write_at(file, int(40 * rank, MPI_OFFSET_KIND), row, 10, MPI_INTEGER, status)
  call MPI_Get_count(status, MPI_INTEGER, bytes)
  call check(bytes == 10)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_iread_at(file, int(40 * next, MPI_OFFSET_KIND), got, 10, MPI_INTEGER, request)
  call MPI_Wait(request, status)
  call check(all(got == [(100 * next + i, i = 1, 10)]))

  ! Each rank has every ranks-th integer; what it reads goes to a row of a matrix.
  call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, int(4 * ranks, MPI_ADDRESS_KIND), tile)
  call MPI_Type_commit(tile)
  call MPI_File_set_view(file, int(4 * rank, MPI_OFFSET_KIND), MPI_INTEGER, tile, 'native', MPI_INFO_NULL)
  call MPI_File_get_view(file, disp, etype, filetype, representation)
  call check(disp == 4 * rank .and. etype == MPI_INTEGER .and. representation == 'native')
  matrix = 0
  call MPI_File_read_all(file, matrix(2, 1:6), 6, MPI_INTEGER, status)
  do i = 1, 6
    place = rank + (i - 1) * ranks
    call check(matrix(2, i) == 100 * int(place / 10) + int(mod(place, 10_MPI_OFFSET_KIND)) + 1)
  end do
  call check(all(matrix(1, :) == 0) .and. all(matrix(3:4, :) == 0))
  call MPI_File_get_position(file, place)
  call check(place == 6)
  call MPI_Type_free(filetype)
  call MPI_Type_free(tile)

  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
  call MPI_File_write_ordered_begin(file, row, 1, MPI_INTEGER)
  call MPI_File_write_ordered_end(file, row, status)
  call MPI_File_get_position_shared(file, place)
  call check(place == ranks)
  call MPI_File_set_atomicity(file, .true.)
  call MPI_File_get_atomicity(file, atomic)
  call check(atomic)
  call MPI_File_read_at(file, int(next, MPI_OFFSET_KIND), got, 1, MPI_INTEGER, status)
  call check(got(1) == 100 * next + 1)
  call MPI_File_seek(file, -1_MPI_OFFSET_KIND, MPI_SEEK_SET, ierror)
  call check(ierror == MPI_ERR_ARG)
  call MPI_File_close(file)
  call check(file == MPI_FILE_NULL)
  if (rank == 0) print '(a)', 'done'
  call MPI_Finalize()
contains
  subroutine check(holds)
    logical, intent(in) :: holds
    if (.not. holds) call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
