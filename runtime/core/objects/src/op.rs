//! Reduction operations (MPI 5.0 section 6.9): the predefined ones on packed buffers, and the
//! program's own.

mod kernel;
mod registry;

pub use kernel::{Kernel, kernel};
pub use registry::Ops;

use crate::abi;
use crate::datatype::{Datatype, Element, Kind};
use crate::error::{ErrorClass, Failure, Result};
use std::fmt;
use std::rc::Rc;

macro_rules! predefined {
    ($($name:ident $mpi:ident;)*) => {
        /// A predefined operation; the discriminant is the standard ABI's handle.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Predefined {
            $(#[doc = concat!("`", stringify!($mpi), "`")] $name = abi::$mpi as u8,)*
        }
        impl Predefined {
            /// All of them.
            pub const ALL: &[Predefined] = &[$(Predefined::$name,)*];
            /// Returns the MPI name.
            pub const fn name(self) -> &'static str {
                match self { $(Predefined::$name => stringify!($mpi),)* }
            }
        }
    };
}

predefined! {
    Sum MPI_SUM;
    Min MPI_MIN;
    Max MPI_MAX;
    Prod MPI_PROD;
    Band MPI_BAND;
    Bor MPI_BOR;
    Bxor MPI_BXOR;
    Land MPI_LAND;
    Lor MPI_LOR;
    Lxor MPI_LXOR;
    Minloc MPI_MINLOC;
    Maxloc MPI_MAXLOC;
    Replace MPI_REPLACE;
    NoOp MPI_NO_OP;
}

/// `MPI_OP_NULL`
pub const OP_NULL: usize = abi::MPI_OP_NULL;

impl Predefined {
    /// Returns the handle of the standard ABI.
    pub const fn handle(self) -> usize {
        self as usize
    }

    /// Returns `true` if it takes elements that MPI defines it not for: arithmetic and logic on characters
    /// and bytes, as other implementations allow.
    pub fn is_lenient_on(self, element: Element) -> bool {
        let bits = matches!(self, Predefined::Band | Predefined::Bor | Predefined::Bxor);
        match element {
            _ if matches!(self, Predefined::Replace | Predefined::NoOp) => false,
            Element::One(Kind::Char) => true,
            Element::One(Kind::Byte) => !bits,
            _ => false,
        }
    }

    /// Returns what one element of `datatype` is to this operation, and how to combine packed buffers of
    /// them.
    ///
    /// # Errors
    /// `MPI_ERR_OP` where the table of MPI 5.0 section 6.9.2 has no such combination; `type_name`
    /// says what the datatype is called, if it is asked for an error's text.
    pub fn on(self, datatype: &Datatype, type_name: impl Fn() -> String) -> Result<(Element, Kernel)> {
        let Some(element) = datatype.element else {
            return Err(Failure::new(
                ErrorClass::OP,
                format!(
                    "{} works on predefined datatypes, and {} mixes several; make an operation with \
                     MPI_Op_create",
                    self.name(),
                    type_name()
                ),
            ));
        };
        kernel(self, element).map(|kernel| (element, kernel)).ok_or_else(|| {
            let way_out = match element {
                Element::One(_) if matches!(self, Predefined::Maxloc | Predefined::Minloc) => {
                    "use a pair type such as MPI_DOUBLE_INT"
                }
                _ => "use another operation or make one with MPI_Op_create",
            };
            let noun = match element {
                Element::One(kind) => kind.noun(),
                Element::Pair(..) => "pairs",
            };
            Failure::new(
                ErrorClass::OP,
                format!("{} is not defined for {noun} of type {}; {way_out}", self.name(), type_name()),
            )
        })
    }
}

/// The program's reduction function. Arguments: the addresses of invec and inoutvec, length, datatype handle.
// A closure, because C, Fortran and large counts are called in different ways, of which this crate knows
// nothing.
pub type UserFunction = Rc<dyn Fn(usize, usize, i64, usize)>;

/// An operation of `MPI_Op_create`; it runs only while the rank that gave it is mounted.
pub struct User {
    /// `true` if the program declared it commutative.
    pub commute: bool,
    /// The function's address, by which equal operations of several ranks are found.
    // By address and not by the closure: ranks of one image pass the same function, and share one operation
    // for it.
    pub function: usize,
    /// `true` if it came through `MPI_Op_create_c`, and takes an `MPI_Count *`.
    pub large: bool,
    /// Calls the function.
    pub call: UserFunction,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "User({:#x}, commute: {})", self.function, self.commute)
    }
}

/// A reduction operation.
#[derive(Debug)]
pub enum Op {
    /// See [`Predefined`].
    Predefined(Predefined),
    /// See [`User`].
    User(User),
}

impl Op {
    /// Implements `MPI_Op_commutative`.
    pub fn commutative(&self) -> bool {
        match self {
            Op::Predefined(_) => true,
            Op::User(user) => user.commute,
        }
    }
}
