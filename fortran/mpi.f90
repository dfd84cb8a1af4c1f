! Module mpi: handles are integers, choice buffers are plain addresses (MPI 5.0 section 19.1.4).
! The constants and the interfaces are generated from cabi/table. No object file goes with
! the module: everything it names is in the library.
module mpi
  use, intrinsic :: iso_c_binding, only: c_ptr, c_int, c_int64_t, c_intptr_t, c_char
  implicit none
  public
  private :: c_ptr, c_int, c_int64_t, c_intptr_t, c_char

  integer, parameter :: MPI_ADDRESS_KIND = c_intptr_t
  integer, parameter :: MPI_COUNT_KIND = c_int64_t
  integer, parameter :: MPI_OFFSET_KIND = c_int64_t
  integer, parameter :: MPI_INTEGER_KIND = c_int
  integer(MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1

  ! Where a status as an array of integers has its fields.
  integer, parameter :: MPI_STATUS_SIZE = 8
  integer, parameter :: MPI_SOURCE = 1
  integer, parameter :: MPI_TAG = 2
  integer, parameter :: MPI_ERROR = 3

  ! A section that is not contiguous is copied by the compiler, which is too early for a nonblocking call.
  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.
  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.

  include 'mpi_constants.inc'

  ! Variables of which only the address counts; the library has the same common blocks.
  integer :: MPI_BOTTOM
  integer :: MPI_IN_PLACE
  integer :: MPI_BUFFER_AUTOMATIC
  integer :: MPI_STATUS_IGNORE(MPI_STATUS_SIZE)
  integer :: MPI_STATUSES_IGNORE(MPI_STATUS_SIZE, 1)
  integer :: MPI_ERRCODES_IGNORE(1)
  integer :: MPI_UNWEIGHTED(1)
  integer :: MPI_WEIGHTS_EMPTY(1)
  character(len=1) :: MPI_ARGV_NULL(1)
  character(len=1) :: MPI_ARGVS_NULL(1, 1)
  common /xsim_bottom/ MPI_BOTTOM
  common /xsim_in_place/ MPI_IN_PLACE
  common /xsim_buffer_automatic/ MPI_BUFFER_AUTOMATIC
  common /xsim_status_ignore/ MPI_STATUS_IGNORE
  common /xsim_statuses_ignore/ MPI_STATUSES_IGNORE
  common /xsim_errcodes_ignore/ MPI_ERRCODES_IGNORE
  common /xsim_unweighted/ MPI_UNWEIGHTED
  common /xsim_weights_empty/ MPI_WEIGHTS_EMPTY
  common /xsim_argv_null/ MPI_ARGV_NULL
  common /xsim_argvs_null/ MPI_ARGVS_NULL

  external :: MPI_CONVERSION_FN_NULL

  interface MPI_Sizeof
    subroutine MPI_Sizeof_any(x, size, ierror) bind(c, name="xsim_sizeof_")
      import :: c_int
      type(*), dimension(..), intent(in) :: x
      integer(c_int), intent(out) :: size
      integer(c_int), intent(out) :: ierror
    end subroutine MPI_Sizeof_any
  end interface

  interface PMPI_Sizeof
    subroutine PMPI_Sizeof_any(x, size, ierror) bind(c, name="xsim_sizeof_")
      import :: c_int
      type(*), dimension(..), intent(in) :: x
      integer(c_int), intent(out) :: size
      integer(c_int), intent(out) :: ierror
    end subroutine PMPI_Sizeof_any
  end interface

  include 'mpi_interfaces.inc'
end module mpi
