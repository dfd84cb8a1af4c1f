//! Signatures of MPI's functions in C, from the function table.

/// The access of a function to what a parameter names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterIntent {
    In,
    Out,
    InOut,
}

/// The kind of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterKind {
    /// A count, a displacement, a truth value or another number.
    Number,
    Rank,
    Tag,
    /// The weight of an edge; an array of them may be a constant.
    Weight,
    Handle,
    Status,
    Buffer,
    Text,
    /// `argc` and `argv`.
    Main,
    /// A function of the program, by the name of its type.
    Function(&'static str),
    /// An address that says nothing without the program.
    Other,
}

/// A parameter of an MPI function.
#[derive(Debug)]
pub struct SignatureParameter {
    /// The standard's name.
    pub name: &'static str,
    pub kind: ParameterKind,
    pub direction: ParameterIntent,
    pub is_array: bool,
    /// It is there in the large-count variant alone.
    pub large_only: bool,
    /// The C type of one value in the plain and in the large-count variant.
    pub types: [&'static str; 2],
}

/// The signature of an MPI function.
#[derive(Debug)]
pub struct FunctionSignature {
    pub name: &'static str,
    /// There is a large-count variant.
    pub has_large: bool,
    pub parameters: &'static [SignatureParameter],
}

include!(concat!(env!("OUT_DIR"), "/signatures.rs"));

impl FunctionSignature {
    /// Returns the signature of a function by its name; `None` if there is none. O(log functions).
    pub fn of(name: &str) -> Option<&'static FunctionSignature> {
        SIGNATURES.binary_search_by(|known| known.name.cmp(name)).ok().map(|at| &SIGNATURES[at])
    }
}

/// Returns the name of a constant whose name begins so, by its value in the standard ABI, which traces have.
pub fn constant(prefix: &str, value: i64) -> Option<&'static str> {
    CONSTANTS.iter().find(|(name, known)| *known == value && name.starts_with(prefix)).map(|(name, _)| *name)
}
