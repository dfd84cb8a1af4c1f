//! The predefined error classes: values of the standard ABI, names, and one sentence each.

use super::ErrorClass;
use crate::abi;

macro_rules! classes {
    ($($name:ident $mpi:ident $text:literal;)*) => {
        impl ErrorClass {
            $(#[doc = concat!("`", stringify!($mpi), "`: ", $text)]
            pub const $name: ErrorClass = ErrorClass(abi::$mpi);)*
        }
        /// Every predefined class: value, MPI name, sentence; ascending by value.
        pub const PREDEFINED: &[(ErrorClass, &str, &str)] =
            &[$((ErrorClass(abi::$mpi), stringify!($mpi), $text),)*];
    };
}

classes! {
    SUCCESS MPI_SUCCESS "No error.";
    BUFFER MPI_ERR_BUFFER "The buffer address is not valid here.";
    COUNT MPI_ERR_COUNT "The count argument is not valid.";
    TYPE MPI_ERR_TYPE "The datatype argument is not valid, freed, or not committed.";
    TAG MPI_ERR_TAG "The tag argument is not valid.";
    COMM MPI_ERR_COMM "The communicator is not valid.";
    RANK MPI_ERR_RANK "The rank is outside the communicator.";
    REQUEST MPI_ERR_REQUEST "The request handle is not valid.";
    ROOT MPI_ERR_ROOT "The root is not a rank of the communicator.";
    GROUP MPI_ERR_GROUP "The group is not valid.";
    OP MPI_ERR_OP "The reduction operation is not valid, or not defined for the datatype.";
    TOPOLOGY MPI_ERR_TOPOLOGY "The communicator has no topology of this kind.";
    DIMS MPI_ERR_DIMS "The dimensions are not valid.";
    ARG MPI_ERR_ARG "An argument is not valid.";
    UNKNOWN MPI_ERR_UNKNOWN "Something failed for an unknown reason.";
    TRUNCATE MPI_ERR_TRUNCATE "The message is longer than the receive buffer.";
    OTHER MPI_ERR_OTHER "An error that no other class describes.";
    INTERN MPI_ERR_INTERN "The library is at fault: an internal invariant does not hold.";
    PENDING MPI_ERR_PENDING "The request is not complete: another one of the list failed.";
    IN_STATUS MPI_ERR_IN_STATUS "The error is in the MPI_ERROR field of a status.";
    ACCESS MPI_ERR_ACCESS "The file may not be accessed this way.";
    AMODE MPI_ERR_AMODE "The file access mode is not valid.";
    ASSERT MPI_ERR_ASSERT "The assertion argument is not valid.";
    BAD_FILE MPI_ERR_BAD_FILE "The file name is not valid.";
    BASE MPI_ERR_BASE "The base address of the window is not valid.";
    CONVERSION MPI_ERR_CONVERSION "A data conversion function failed.";
    DISP MPI_ERR_DISP "The displacement is not valid.";
    DUP_DATAREP MPI_ERR_DUP_DATAREP "A data representation of this name exists already.";
    FILE_EXISTS MPI_ERR_FILE_EXISTS "The file exists already.";
    FILE_IN_USE MPI_ERR_FILE_IN_USE "The file is open and cannot be changed.";
    FILE MPI_ERR_FILE "The file handle is not valid.";
    INFO_KEY MPI_ERR_INFO_KEY "The info key is empty or too long.";
    INFO_NOKEY MPI_ERR_INFO_NOKEY "The info object has no such key.";
    INFO_VALUE MPI_ERR_INFO_VALUE "The info value is empty or too long.";
    INFO MPI_ERR_INFO "The info object is not valid.";
    IO MPI_ERR_IO "Input or output failed.";
    KEYVAL MPI_ERR_KEYVAL "The attribute key is not valid.";
    LOCKTYPE MPI_ERR_LOCKTYPE "The lock type is not valid.";
    NAME MPI_ERR_NAME "No service is published under this name.";
    NO_MEM MPI_ERR_NO_MEM "There is not enough memory.";
    NOT_SAME MPI_ERR_NOT_SAME "The ranks gave different arguments where all must agree.";
    NO_SPACE MPI_ERR_NO_SPACE "There is not enough space on the device.";
    NO_SUCH_FILE MPI_ERR_NO_SUCH_FILE "The file does not exist.";
    PORT MPI_ERR_PORT "The port name is not valid.";
    QUOTA MPI_ERR_QUOTA "The quota is exceeded.";
    READ_ONLY MPI_ERR_READ_ONLY "The file or file system is read-only.";
    RMA_ATTACH MPI_ERR_RMA_ATTACH "The memory cannot be attached to the window.";
    RMA_CONFLICT MPI_ERR_RMA_CONFLICT "Accesses to the window conflict.";
    RMA_RANGE MPI_ERR_RMA_RANGE "The target memory is outside the window.";
    RMA_SHARED MPI_ERR_RMA_SHARED "The memory cannot be shared.";
    RMA_SYNC MPI_ERR_RMA_SYNC "The window is not synchronised as this call needs.";
    SERVICE MPI_ERR_SERVICE "The service name is not published.";
    SIZE MPI_ERR_SIZE "The size argument is not valid.";
    SPAWN MPI_ERR_SPAWN "The processes could not be started.";
    UNSUPPORTED_DATAREP MPI_ERR_UNSUPPORTED_DATAREP "The data representation is not supported.";
    UNSUPPORTED_OPERATION MPI_ERR_UNSUPPORTED_OPERATION "The operation is not supported.";
    WIN MPI_ERR_WIN "The window is not valid.";
    RMA_FLAVOR MPI_ERR_RMA_FLAVOR "The window was made by another kind of call than this one needs.";
    PROC_ABORTED MPI_ERR_PROC_ABORTED "A process that takes part has aborted.";
    VALUE_TOO_LARGE MPI_ERR_VALUE_TOO_LARGE "The value does not fit the argument that returns it; call the \
        large-count variant.";
    SESSION MPI_ERR_SESSION "The session is not valid.";
    ERRHANDLER MPI_ERR_ERRHANDLER "The error handler is not valid.";
    ABI MPI_ERR_ABI "The binary interface does not allow this.";
    PROC_FAILED MPIX_ERR_PROC_FAILED "A process that takes part has failed.";
    PROC_FAILED_PENDING MPIX_ERR_PROC_FAILED_PENDING "A process that may be the source has failed: the \
        request is still active.";
    REVOKED MPIX_ERR_REVOKED "The communicator is revoked.";
    T_CANNOT_INIT MPI_T_ERR_CANNOT_INIT "The tool interface cannot be initialised.";
    T_NOT_ACCESSIBLE MPI_T_ERR_NOT_ACCESSIBLE "The tool interface cannot be used at this time.";
    T_NOT_INITIALIZED MPI_T_ERR_NOT_INITIALIZED "The tool interface is not initialised.";
    T_NOT_SUPPORTED MPI_T_ERR_NOT_SUPPORTED "The tool interface does not support this.";
    T_MEMORY MPI_T_ERR_MEMORY "The tool interface is out of memory.";
    T_INVALID MPI_T_ERR_INVALID "An argument to the tool interface is not valid.";
    T_INVALID_INDEX MPI_T_ERR_INVALID_INDEX "The index of the tool interface is not valid.";
    T_INVALID_ITEM MPI_T_ERR_INVALID_ITEM "The item index of the tool interface is not valid.";
    T_INVALID_SESSION MPI_T_ERR_INVALID_SESSION "The session of the tool interface is not valid.";
    T_INVALID_HANDLE MPI_T_ERR_INVALID_HANDLE "The handle of the tool interface is not valid.";
    T_INVALID_NAME MPI_T_ERR_INVALID_NAME "No variable or category has this name.";
    T_OUT_OF_HANDLES MPI_T_ERR_OUT_OF_HANDLES "No further handle of the tool interface can be made.";
    T_OUT_OF_SESSIONS MPI_T_ERR_OUT_OF_SESSIONS "No further session of the tool interface can be made.";
    T_CVAR_SET_NOT_NOW MPI_T_ERR_CVAR_SET_NOT_NOW "The control variable cannot be set at this time.";
    T_CVAR_SET_NEVER MPI_T_ERR_CVAR_SET_NEVER "The control variable cannot be set.";
    T_PVAR_NO_WRITE MPI_T_ERR_PVAR_NO_WRITE "The performance variable cannot be written.";
    T_PVAR_NO_STARTSTOP MPI_T_ERR_PVAR_NO_STARTSTOP "The performance variable cannot be started or stopped.";
    T_PVAR_NO_ATOMIC MPI_T_ERR_PVAR_NO_ATOMIC "The performance variable cannot be read and reset at once.";
}

impl ErrorClass {
    /// `MPI_ERR_LASTCODE`: every predefined class and code is at most this.
    pub const LAST: ErrorClass = ErrorClass(abi::MPI_ERR_LASTCODE);

    /// The MPI name and the sentence of a predefined class.
    // O(log classes): the table ascends, as the ABI numbers them.
    pub fn describe(self) -> Option<(&'static str, &'static str)> {
        let found = PREDEFINED.binary_search_by_key(&self, |row| row.0).ok()?;
        Some((PREDEFINED[found].1, PREDEFINED[found].2))
    }
}
