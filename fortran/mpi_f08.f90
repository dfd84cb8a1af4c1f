! Module mpi_f08: handles have types, ierror is optional, choice buffers are descriptors, so that
! array sections work (MPI 5.0 section 19.1.2). The constants and the interfaces are generated
! from cabi/table. No object file goes with the module: everything it names is in the library.
module mpi_f08
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

  type, bind(c) :: MPI_Comm
    integer(c_int) :: MPI_VAL
  end type MPI_Comm

  type, bind(c) :: MPI_Datatype
    integer(c_int) :: MPI_VAL
  end type MPI_Datatype

  type, bind(c) :: MPI_Errhandler
    integer(c_int) :: MPI_VAL
  end type MPI_Errhandler

  type, bind(c) :: MPI_File
    integer(c_int) :: MPI_VAL
  end type MPI_File

  type, bind(c) :: MPI_Group
    integer(c_int) :: MPI_VAL
  end type MPI_Group

  type, bind(c) :: MPI_Info
    integer(c_int) :: MPI_VAL
  end type MPI_Info

  type, bind(c) :: MPI_Message
    integer(c_int) :: MPI_VAL
  end type MPI_Message

  type, bind(c) :: MPI_Op
    integer(c_int) :: MPI_VAL
  end type MPI_Op

  type, bind(c) :: MPI_Request
    integer(c_int) :: MPI_VAL
  end type MPI_Request

  type, bind(c) :: MPI_Session
    integer(c_int) :: MPI_VAL
  end type MPI_Session

  type, bind(c) :: MPI_Win
    integer(c_int) :: MPI_VAL
  end type MPI_Win

  type, bind(c) :: MPI_Status
    integer(c_int) :: MPI_SOURCE, MPI_TAG, MPI_ERROR
    integer(c_int), private :: MPI_internal(5)
  end type MPI_Status

  ! Sections that are not contiguous work in all calls but the nonblocking collectives and
  ! the one-sided windows themselves; the standard's answer is for all or none.
  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.
  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true.

  include 'mpi_f08_constants.inc'

  ! Variables of which only the address counts; the library has the same common blocks.
  integer :: MPI_BOTTOM
  integer :: MPI_IN_PLACE
  integer :: MPI_BUFFER_AUTOMATIC
  type(MPI_Status) :: MPI_STATUS_IGNORE
  type(MPI_Status) :: MPI_STATUSES_IGNORE(1)
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

  include 'mpi_f08_callbacks.inc'

  interface operator(==)
    logical function xsim_comm_eq(a, b)
      import :: MPI_Comm
      type(MPI_Comm), intent(in) :: a, b
    end function xsim_comm_eq
    logical function xsim_datatype_eq(a, b)
      import :: MPI_Datatype
      type(MPI_Datatype), intent(in) :: a, b
    end function xsim_datatype_eq
    logical function xsim_errhandler_eq(a, b)
      import :: MPI_Errhandler
      type(MPI_Errhandler), intent(in) :: a, b
    end function xsim_errhandler_eq
    logical function xsim_file_eq(a, b)
      import :: MPI_File
      type(MPI_File), intent(in) :: a, b
    end function xsim_file_eq
    logical function xsim_group_eq(a, b)
      import :: MPI_Group
      type(MPI_Group), intent(in) :: a, b
    end function xsim_group_eq
    logical function xsim_info_eq(a, b)
      import :: MPI_Info
      type(MPI_Info), intent(in) :: a, b
    end function xsim_info_eq
    logical function xsim_message_eq(a, b)
      import :: MPI_Message
      type(MPI_Message), intent(in) :: a, b
    end function xsim_message_eq
    logical function xsim_op_eq(a, b)
      import :: MPI_Op
      type(MPI_Op), intent(in) :: a, b
    end function xsim_op_eq
    logical function xsim_request_eq(a, b)
      import :: MPI_Request
      type(MPI_Request), intent(in) :: a, b
    end function xsim_request_eq
    logical function xsim_session_eq(a, b)
      import :: MPI_Session
      type(MPI_Session), intent(in) :: a, b
    end function xsim_session_eq
    logical function xsim_win_eq(a, b)
      import :: MPI_Win
      type(MPI_Win), intent(in) :: a, b
    end function xsim_win_eq
  end interface

  interface operator(/=)
    logical function xsim_comm_ne(a, b)
      import :: MPI_Comm
      type(MPI_Comm), intent(in) :: a, b
    end function xsim_comm_ne
    logical function xsim_datatype_ne(a, b)
      import :: MPI_Datatype
      type(MPI_Datatype), intent(in) :: a, b
    end function xsim_datatype_ne
    logical function xsim_errhandler_ne(a, b)
      import :: MPI_Errhandler
      type(MPI_Errhandler), intent(in) :: a, b
    end function xsim_errhandler_ne
    logical function xsim_file_ne(a, b)
      import :: MPI_File
      type(MPI_File), intent(in) :: a, b
    end function xsim_file_ne
    logical function xsim_group_ne(a, b)
      import :: MPI_Group
      type(MPI_Group), intent(in) :: a, b
    end function xsim_group_ne
    logical function xsim_info_ne(a, b)
      import :: MPI_Info
      type(MPI_Info), intent(in) :: a, b
    end function xsim_info_ne
    logical function xsim_message_ne(a, b)
      import :: MPI_Message
      type(MPI_Message), intent(in) :: a, b
    end function xsim_message_ne
    logical function xsim_op_ne(a, b)
      import :: MPI_Op
      type(MPI_Op), intent(in) :: a, b
    end function xsim_op_ne
    logical function xsim_request_ne(a, b)
      import :: MPI_Request
      type(MPI_Request), intent(in) :: a, b
    end function xsim_request_ne
    logical function xsim_session_ne(a, b)
      import :: MPI_Session
      type(MPI_Session), intent(in) :: a, b
    end function xsim_session_ne
    logical function xsim_win_ne(a, b)
      import :: MPI_Win
      type(MPI_Win), intent(in) :: a, b
    end function xsim_win_ne
  end interface

  interface MPI_Sizeof
    subroutine MPI_Sizeof_any(x, size, ierror) bind(c, name="xsim_sizeof_")
      import :: c_int
      type(*), dimension(..), intent(in) :: x
      integer(c_int), intent(out) :: size
      integer(c_int), optional, intent(out) :: ierror
    end subroutine MPI_Sizeof_any
  end interface

  interface PMPI_Sizeof
    subroutine PMPI_Sizeof_any(x, size, ierror) bind(c, name="xsim_sizeof_")
      import :: c_int
      type(*), dimension(..), intent(in) :: x
      integer(c_int), intent(out) :: size
      integer(c_int), optional, intent(out) :: ierror
    end subroutine PMPI_Sizeof_any
  end interface

  interface
    subroutine MPI_F_sync_reg(buf) bind(c, name="mpi_f_sync_reg_")
      type(*), dimension(..), asynchronous :: buf
    end subroutine MPI_F_sync_reg
    subroutine MPI_Status_f2f08(f_status, f08_status, ierror)
      import :: MPI_STATUS_SIZE, MPI_Status
      integer, intent(in) :: f_status(MPI_STATUS_SIZE)
      type(MPI_Status), intent(out) :: f08_status
      integer, optional, intent(out) :: ierror
    end subroutine MPI_Status_f2f08
    subroutine MPI_Status_f082f(f08_status, f_status, ierror)
      import :: MPI_STATUS_SIZE, MPI_Status
      type(MPI_Status), intent(in) :: f08_status
      integer, intent(out) :: f_status(MPI_STATUS_SIZE)
      integer, optional, intent(out) :: ierror
    end subroutine MPI_Status_f082f
  end interface

  include 'mpi_f08_interfaces.inc'
end module mpi_f08
