//! Parameters as recorders are told of them: a function's parameters, as the table has them, and how an entry
//! point's arguments come.

use recorder::Class;

/// The kind of a parameter, for recorders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A number of no other kind.
    Integer,
    /// A count, displacement, extent or length.
    Count,
    /// A truth value.
    Logical,
    /// A rank or a root.
    Rank,
    /// A tag.
    Tag,
    /// A communicator.
    Comm,
    /// A datatype.
    Datatype,
    /// Another object.
    Handle(Class),
    /// A status.
    Status,
    /// A choice buffer.
    Buffer,
    /// Ranges of ranks: three integers each.
    Ranges,
    /// Any other address.
    Address,
    /// Text.
    Text,
    /// An argument of `main`.
    Main,
}

/// The access of a function to what a parameter names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "as in the table")]
pub enum ArgumentIntent {
    In,
    Out,
    InOut,
}

/// The number of elements of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// It is no array.
    One,
    /// As many as another parameter says.
    Of(usize),
    /// One for each rank that the communicator's messages can go to.
    Peers,
    /// As many as peers at the root; elsewhere the argument says nothing.
    PeersAtRoot,
    /// One for each member of the (local) group.
    Members,
    /// One for each neighbour that sends to this rank.
    Sources,
    /// One for each neighbour that this rank sends to.
    Destinations,
    /// One for each neighbour that sends to this rank, at most as many as another parameter says.
    SourcesWithin(usize),
    /// One for each neighbour that this rank sends to, at most as many as another parameter says.
    DestinationsWithin(usize),
    /// One for each dimension of the communicator's grid.
    Dimensions,
    /// As many as the last element of another parameter says.
    Last(usize),
    /// As many as the elements of another parameter say together.
    Sum(usize),
    /// Nobody can tell.
    Unknown,
}

/// One parameter of a function, as the table has it.
#[derive(Clone, Copy, Debug)]
pub struct RecordedParameter {
    /// The standard's name.
    pub name: &'static str,
    /// The parameter's kind.
    pub kind: Kind,
    /// In, out or both.
    pub direction: ArgumentIntent,
    /// The length of an array.
    pub length: Length,
    /// `true` if a number takes 64 bits, in the plain variant and in the one of large counts.
    pub wide: [bool; 2],
    /// `true` if only the variant of large counts has it.
    pub large_only: bool,
    /// `true` if MPI reads it at the root alone.
    pub at_root: bool,
}

include!(concat!(env!("OUT_DIR"), "/recording.rs"));

/// The form in which an entry point's arguments come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArgumentForm {
    /// In the variant of large counts.
    pub large: bool,
    /// By reference, handles as integers, texts with their lengths behind all others.
    pub fortran: bool,
    /// Fortran, with buffers and texts in descriptors.
    pub descriptors: bool,
}

impl ArgumentForm {
    /// Returns the form of arguments as C passes them.
    pub const fn c(large: bool) -> ArgumentForm {
        ArgumentForm { large, fortran: false, descriptors: false }
    }
    /// Returns the form of arguments as Fortran passes them.
    pub const fn fortran(large: bool, descriptors: bool) -> ArgumentForm {
        ArgumentForm { large, fortran: true, descriptors }
    }
}
