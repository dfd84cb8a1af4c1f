//! The predefined error classes: values of the standard ABI, names, and one sentence each.

use super::ErrorClass;

macro_rules! classes {
    ($($name:ident = $value:literal, $mpi:literal, $text:literal;)*) => {
        impl ErrorClass {
            $(#[doc = concat!("`", $mpi, "`: ", $text)]
            pub const $name: ErrorClass = ErrorClass($value);)*
        }
        /// Every predefined class: value, MPI name, sentence; ascending by value.
        pub const PREDEFINED: &[(ErrorClass, &str, &str)] = &[$((ErrorClass($value), $mpi, $text),)*];
    };
}

classes! {
    SUCCESS = 0, "MPI_SUCCESS", "No error.";
    BUFFER = 1, "MPI_ERR_BUFFER", "The buffer address is not valid here.";
    COUNT = 2, "MPI_ERR_COUNT", "The count argument is not valid.";
    TYPE = 3, "MPI_ERR_TYPE", "The datatype argument is not valid, freed, or not committed.";
    TAG = 4, "MPI_ERR_TAG", "The tag argument is not valid.";
    COMM = 5, "MPI_ERR_COMM", "The communicator is not valid.";
    RANK = 6, "MPI_ERR_RANK", "The rank is outside the communicator.";
    REQUEST = 7, "MPI_ERR_REQUEST", "The request handle is not valid.";
    ROOT = 8, "MPI_ERR_ROOT", "The root is not a rank of the communicator.";
    GROUP = 9, "MPI_ERR_GROUP", "The group is not valid.";
    OP = 10, "MPI_ERR_OP", "The reduction operation is not valid, or not defined for the datatype.";
    TOPOLOGY = 11, "MPI_ERR_TOPOLOGY", "The communicator has no topology of this kind.";
    DIMS = 12, "MPI_ERR_DIMS", "The dimensions are not valid.";
    ARG = 13, "MPI_ERR_ARG", "An argument is not valid.";
    UNKNOWN = 14, "MPI_ERR_UNKNOWN", "Something failed for an unknown reason.";
    TRUNCATE = 15, "MPI_ERR_TRUNCATE", "The message is longer than the receive buffer.";
    OTHER = 16, "MPI_ERR_OTHER", "An error that no other class describes.";
    INTERN = 17, "MPI_ERR_INTERN", "The library is at fault: an internal invariant does not hold.";
    PENDING = 18, "MPI_ERR_PENDING", "The request is not complete: another one of the list failed.";
    IN_STATUS = 19, "MPI_ERR_IN_STATUS", "The error is in the MPI_ERROR field of a status.";
    ACCESS = 20, "MPI_ERR_ACCESS", "The file may not be accessed this way.";
    AMODE = 21, "MPI_ERR_AMODE", "The file access mode is not valid.";
    ASSERT = 22, "MPI_ERR_ASSERT", "The assertion argument is not valid.";
    BAD_FILE = 23, "MPI_ERR_BAD_FILE", "The file name is not valid.";
    BASE = 24, "MPI_ERR_BASE", "The base address of the window is not valid.";
    CONVERSION = 25, "MPI_ERR_CONVERSION", "A data conversion function failed.";
    DISP = 26, "MPI_ERR_DISP", "The displacement is not valid.";
    DUP_DATAREP = 27, "MPI_ERR_DUP_DATAREP", "A data representation of this name exists already.";
    FILE_EXISTS = 28, "MPI_ERR_FILE_EXISTS", "The file exists already.";
    FILE_IN_USE = 29, "MPI_ERR_FILE_IN_USE", "The file is open and cannot be changed.";
    FILE = 30, "MPI_ERR_FILE", "The file handle is not valid.";
    INFO_KEY = 31, "MPI_ERR_INFO_KEY", "The info key is empty or too long.";
    INFO_NOKEY = 32, "MPI_ERR_INFO_NOKEY", "The info object has no such key.";
    INFO_VALUE = 33, "MPI_ERR_INFO_VALUE", "The info value is empty or too long.";
    INFO = 34, "MPI_ERR_INFO", "The info object is not valid.";
    IO = 35, "MPI_ERR_IO", "Input or output failed.";
    KEYVAL = 36, "MPI_ERR_KEYVAL", "The attribute key is not valid.";
    LOCKTYPE = 37, "MPI_ERR_LOCKTYPE", "The lock type is not valid.";
    NAME = 38, "MPI_ERR_NAME", "No service is published under this name.";
    NO_MEM = 39, "MPI_ERR_NO_MEM", "There is not enough memory.";
    NOT_SAME = 40, "MPI_ERR_NOT_SAME", "The ranks gave different arguments where all must agree.";
    NO_SPACE = 41, "MPI_ERR_NO_SPACE", "There is not enough space on the device.";
    NO_SUCH_FILE = 42, "MPI_ERR_NO_SUCH_FILE", "The file does not exist.";
    PORT = 43, "MPI_ERR_PORT", "The port name is not valid.";
    QUOTA = 44, "MPI_ERR_QUOTA", "The quota is exceeded.";
    READ_ONLY = 45, "MPI_ERR_READ_ONLY", "The file or file system is read-only.";
    RMA_ATTACH = 46, "MPI_ERR_RMA_ATTACH", "The memory cannot be attached to the window.";
    RMA_CONFLICT = 47, "MPI_ERR_RMA_CONFLICT", "Accesses to the window conflict.";
    RMA_RANGE = 48, "MPI_ERR_RMA_RANGE", "The target memory is outside the window.";
    RMA_SHARED = 49, "MPI_ERR_RMA_SHARED", "The memory cannot be shared.";
    RMA_SYNC = 50, "MPI_ERR_RMA_SYNC", "The window is not synchronised as this call needs.";
    SERVICE = 51, "MPI_ERR_SERVICE", "The service name is not published.";
    SIZE = 52, "MPI_ERR_SIZE", "The size argument is not valid.";
    SPAWN = 53, "MPI_ERR_SPAWN", "The processes could not be started.";
    UNSUPPORTED_DATAREP = 54, "MPI_ERR_UNSUPPORTED_DATAREP", "The data representation is not supported.";
    UNSUPPORTED_OPERATION = 55, "MPI_ERR_UNSUPPORTED_OPERATION", "The operation is not supported.";
    WIN = 56, "MPI_ERR_WIN", "The window is not valid.";
    RMA_FLAVOR = 57, "MPI_ERR_RMA_FLAVOR", "The window was made by another kind of call than this one needs.";
    PROC_ABORTED = 58, "MPI_ERR_PROC_ABORTED", "A process that takes part has aborted.";
    VALUE_TOO_LARGE = 59, "MPI_ERR_VALUE_TOO_LARGE", "The value does not fit the argument that returns it; call the large-count variant.";
    SESSION = 60, "MPI_ERR_SESSION", "The session is not valid.";
    ERRHANDLER = 61, "MPI_ERR_ERRHANDLER", "The error handler is not valid.";
    ABI = 62, "MPI_ERR_ABI", "The binary interface does not allow this.";
    T_CANNOT_INIT = 1001, "MPI_T_ERR_CANNOT_INIT", "The tool interface cannot be initialised.";
    T_NOT_ACCESSIBLE = 1002, "MPI_T_ERR_NOT_ACCESSIBLE", "The tool interface cannot be used at this time.";
    T_NOT_INITIALIZED = 1003, "MPI_T_ERR_NOT_INITIALIZED", "The tool interface is not initialised.";
    T_NOT_SUPPORTED = 1004, "MPI_T_ERR_NOT_SUPPORTED", "The tool interface does not support this.";
    T_MEMORY = 1005, "MPI_T_ERR_MEMORY", "The tool interface is out of memory.";
    T_INVALID = 1006, "MPI_T_ERR_INVALID", "An argument to the tool interface is not valid.";
    T_INVALID_INDEX = 1007, "MPI_T_ERR_INVALID_INDEX", "The index of the tool interface is not valid.";
    T_INVALID_ITEM = 1008, "MPI_T_ERR_INVALID_ITEM", "The item index of the tool interface is not valid.";
    T_INVALID_SESSION = 1009, "MPI_T_ERR_INVALID_SESSION", "The session of the tool interface is not valid.";
    T_INVALID_HANDLE = 1010, "MPI_T_ERR_INVALID_HANDLE", "The handle of the tool interface is not valid.";
    T_INVALID_NAME = 1011, "MPI_T_ERR_INVALID_NAME", "No variable or category has this name.";
    T_OUT_OF_HANDLES = 1012, "MPI_T_ERR_OUT_OF_HANDLES", "No further handle of the tool interface can be made.";
    T_OUT_OF_SESSIONS = 1013, "MPI_T_ERR_OUT_OF_SESSIONS", "No further session of the tool interface can be made.";
    T_CVAR_SET_NOT_NOW = 1014, "MPI_T_ERR_CVAR_SET_NOT_NOW", "The control variable cannot be set at this time.";
    T_CVAR_SET_NEVER = 1015, "MPI_T_ERR_CVAR_SET_NEVER", "The control variable cannot be set.";
    T_PVAR_NO_WRITE = 1016, "MPI_T_ERR_PVAR_NO_WRITE", "The performance variable cannot be written.";
    T_PVAR_NO_STARTSTOP = 1017, "MPI_T_ERR_PVAR_NO_STARTSTOP", "The performance variable cannot be started or stopped.";
    T_PVAR_NO_ATOMIC = 1018, "MPI_T_ERR_PVAR_NO_ATOMIC", "The performance variable cannot be read and reset at once.";
}

impl ErrorClass {
    /// `MPI_ERR_LASTCODE`: every predefined class and code is at most this.
    pub const LAST: ErrorClass = ErrorClass(16383);

    /// The MPI name and the sentence of a predefined class.
    pub fn describe(self) -> Option<(&'static str, &'static str)> {
        let found = PREDEFINED.binary_search_by_key(&self, |row| row.0).ok()?;
        Some((PREDEFINED[found].1, PREDEFINED[found].2))
    }
}
