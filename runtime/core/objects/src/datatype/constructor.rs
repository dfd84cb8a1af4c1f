//! The constructors of MPI 5.0 section 5.1, as data: what envelope and contents return.

use super::Datatype;
use crate::abi;
use crate::error::{ErrorClass, Failure, Result};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

/// A datatype as an argument of a constructor; equal where it is the same object.
// By identity, so that comparing two constructors is O(their own arguments), and a deep type is not walked.
#[derive(Clone, Debug)]
pub struct Old(pub Rc<Datatype>);

impl From<&Rc<Datatype>> for Old {
    fn from(datatype: &Rc<Datatype>) -> Old {
        Old(datatype.clone())
    }
}
impl From<Rc<Datatype>> for Old {
    fn from(datatype: Rc<Datatype>) -> Old {
        Old(datatype)
    }
}
impl Deref for Old {
    type Target = Datatype;
    fn deref(&self) -> &Datatype {
        &self.0
    }
}
impl PartialEq for Old {
    fn eq(&self, other: &Old) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Old {}
impl Hash for Old {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (Rc::as_ptr(&self.0) as usize).hash(state);
    }
}

/// Array order, with the standard ABI's values (`MPI_ORDER_C`, `MPI_ORDER_FORTRAN`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(i32)]
pub enum Order {
    /// The last dimension is contiguous.
    C = abi::MPI_ORDER_C,
    /// The first dimension is contiguous.
    Fortran = abi::MPI_ORDER_FORTRAN,
}

impl Order {
    /// Builds it from the ABI's value.
    pub fn from_abi(value: i32) -> Result<Order> {
        match value {
            abi::MPI_ORDER_C => Ok(Order::C),
            abi::MPI_ORDER_FORTRAN => Ok(Order::Fortran),
            _ => Err(arg(format!("order is {value}; pass MPI_ORDER_C or MPI_ORDER_FORTRAN"))),
        }
    }
}

/// Distribution of one dimension over processes, with the standard ABI's values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(i32)]
pub enum Distribution {
    /// `MPI_DISTRIBUTE_NONE`: not distributed.
    None = abi::MPI_DISTRIBUTE_NONE,
    /// `MPI_DISTRIBUTE_BLOCK`
    Block = abi::MPI_DISTRIBUTE_BLOCK,
    /// `MPI_DISTRIBUTE_CYCLIC`
    Cyclic = abi::MPI_DISTRIBUTE_CYCLIC,
}

/// `MPI_DISTRIBUTE_DFLT_DARG`
pub const DISTRIBUTE_DFLT_DARG: i64 = abi::MPI_DISTRIBUTE_DFLT_DARG as i64;

impl Distribution {
    /// Builds it from the ABI's value.
    pub fn from_abi(value: i32) -> Result<Distribution> {
        match value {
            abi::MPI_DISTRIBUTE_NONE => Ok(Distribution::None),
            abi::MPI_DISTRIBUTE_BLOCK => Ok(Distribution::Block),
            abi::MPI_DISTRIBUTE_CYCLIC => Ok(Distribution::Cyclic),
            _ => Err(arg(format!(
                "distribution is {value}; pass MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC or \
                 MPI_DISTRIBUTE_NONE"
            ))),
        }
    }
}

/// The call that made a datatype. Counts and lengths are those the program passed; `large` says that it
/// called the `_c` variant, which decides how contents are returned. Two are equal if the same call with the
/// same arguments made both, with datatypes compared by identity.
// The arguments are kept as they were passed: envelope and contents return them, and equal calls are found by
// them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are the arguments of the MPI constructors, by their names there")]
pub enum Constructor {
    /// A predefined type, by handle.
    Named(usize),
    Dup {
        old: Old,
    },
    Contiguous {
        count: i64,
        old: Old,
        large: bool,
    },
    Vector {
        count: i64,
        blocklength: i64,
        stride: i64,
        old: Old,
        large: bool,
    },
    Hvector {
        count: i64,
        blocklength: i64,
        stride: i64,
        old: Old,
        large: bool,
    },
    Indexed {
        blocklengths: Box<[i64]>,
        displacements: Box<[i64]>,
        old: Old,
        large: bool,
    },
    Hindexed {
        blocklengths: Box<[i64]>,
        displacements: Box<[i64]>,
        old: Old,
        large: bool,
    },
    IndexedBlock {
        blocklength: i64,
        displacements: Box<[i64]>,
        old: Old,
        large: bool,
    },
    HindexedBlock {
        blocklength: i64,
        displacements: Box<[i64]>,
        old: Old,
        large: bool,
    },
    Struct {
        blocklengths: Box<[i64]>,
        displacements: Box<[i64]>,
        types: Box<[Old]>,
        large: bool,
    },
    Subarray {
        sizes: Box<[i64]>,
        subsizes: Box<[i64]>,
        starts: Box<[i64]>,
        order: Order,
        old: Old,
        large: bool,
    },
    Darray(Box<Darray>),
    Resized {
        lb: i64,
        extent: i64,
        old: Old,
        large: bool,
    },
    F90Real {
        precision: i32,
        range: i32,
    },
    F90Complex {
        precision: i32,
        range: i32,
    },
    F90Integer {
        range: i32,
    },
    ValueIndex {
        value: Old,
        index: Old,
    },
}

/// The arguments of `MPI_Type_create_darray`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are the arguments of the MPI constructor, by their names there")]
pub struct Darray {
    pub size: i64,
    pub rank: i64,
    pub gsizes: Box<[i64]>,
    pub distribs: Box<[Distribution]>,
    pub dargs: Box<[i64]>,
    pub psizes: Box<[i64]>,
    pub order: Order,
    pub old: Old,
    pub large: bool,
}

/// Answer of `MPI_Type_get_envelope_c`: how many of each kind of argument, and the combiner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the arguments of the MPI function, by their names there")]
pub struct Envelope {
    pub integers: u64,
    pub addresses: u64,
    pub large_counts: u64,
    pub datatypes: u64,
    /// `MPI_COMBINER_*` of the standard ABI.
    pub combiner: i32,
}

/// Answer of `MPI_Type_get_contents_c`.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the fields are the arguments of the MPI function, by their names there")]
pub struct Contents {
    pub integers: Vec<i32>,
    pub addresses: Vec<i64>,
    pub large_counts: Vec<i64>,
    pub datatypes: Vec<Old>,
}

pub(super) fn arg(text: impl Into<String>) -> Box<Failure> {
    Failure::new(ErrorClass::ARG, text)
}

impl Constructor {
    /// Returns the datatype arguments.
    pub fn datatypes(&self) -> &[Old] {
        use Constructor::*;
        match self {
            Named(_) | F90Real { .. } | F90Complex { .. } | F90Integer { .. } | ValueIndex { .. } => &[],
            Struct { types, .. } => types,
            Darray(darray) => std::slice::from_ref(&darray.old),
            Dup { old }
            | Contiguous { old, .. }
            | Vector { old, .. }
            | Hvector { old, .. }
            | Indexed { old, .. }
            | Hindexed { old, .. }
            | IndexedBlock { old, .. }
            | HindexedBlock { old, .. }
            | Subarray { old, .. }
            | Resized { old, .. } => std::slice::from_ref(old),
        }
    }

    /// Returns this call with other datatypes, which `f` gives for each argument; none of a type that is not
    /// made of others.
    ///
    /// # Errors
    /// What `f` fails with.
    pub fn try_map(
        &self,
        f: &mut dyn FnMut(&Rc<Datatype>) -> Result<Rc<Datatype>>,
    ) -> Result<Option<Constructor>> {
        use Constructor::*;
        let mut made = self.clone();
        match &mut made {
            Named(_) | F90Real { .. } | F90Complex { .. } | F90Integer { .. } | ValueIndex { .. } => {
                return Ok(None);
            }
            Struct { types, .. } => {
                for old in types.iter_mut() {
                    *old = f(&old.0)?.into();
                }
            }
            Darray(darray) => darray.old = f(&darray.old.0)?.into(),
            Dup { old }
            | Contiguous { old, .. }
            | Vector { old, .. }
            | Hvector { old, .. }
            | Indexed { old, .. }
            | Hindexed { old, .. }
            | IndexedBlock { old, .. }
            | HindexedBlock { old, .. }
            | Subarray { old, .. }
            | Resized { old, .. } => *old = f(&old.0)?.into(),
        }
        Ok(Some(made))
    }

    /// Returns `MPI_COMBINER_*`, with the standard ABI's value.
    pub fn combiner(&self) -> i32 {
        use Constructor::*;
        match self {
            Named(_) => abi::MPI_COMBINER_NAMED,
            Dup { .. } => abi::MPI_COMBINER_DUP,
            Contiguous { .. } => abi::MPI_COMBINER_CONTIGUOUS,
            Vector { .. } => abi::MPI_COMBINER_VECTOR,
            Hvector { .. } => abi::MPI_COMBINER_HVECTOR,
            Indexed { .. } => abi::MPI_COMBINER_INDEXED,
            Hindexed { .. } => abi::MPI_COMBINER_HINDEXED,
            IndexedBlock { .. } => abi::MPI_COMBINER_INDEXED_BLOCK,
            HindexedBlock { .. } => abi::MPI_COMBINER_HINDEXED_BLOCK,
            Struct { .. } => abi::MPI_COMBINER_STRUCT,
            Subarray { .. } => abi::MPI_COMBINER_SUBARRAY,
            Darray(_) => abi::MPI_COMBINER_DARRAY,
            F90Real { .. } => abi::MPI_COMBINER_F90_REAL,
            F90Complex { .. } => abi::MPI_COMBINER_F90_COMPLEX,
            F90Integer { .. } => abi::MPI_COMBINER_F90_INTEGER,
            Resized { .. } => abi::MPI_COMBINER_RESIZED,
            ValueIndex { .. } => abi::MPI_COMBINER_VALUE_INDEX,
        }
    }

    /// Implements `MPI_Type_get_envelope_c`.
    pub fn envelope(&self) -> Envelope {
        let contents = self.contents();
        Envelope {
            integers: contents.integers.len() as u64,
            addresses: contents.addresses.len() as u64,
            large_counts: contents.large_counts.len() as u64,
            datatypes: contents.datatypes.len() as u64,
            combiner: self.combiner(),
        }
    }

    /// Implements `MPI_Type_get_contents_c`. Returns the arguments in the order of MPI 5.0 section 5.1.13;
    /// empty for a predefined type, which has none.
    pub fn contents(&self) -> Contents {
        use Constructor::*;
        let mut out = Fields::default();
        out.contents.datatypes = self.datatypes().to_vec();
        match self {
            Named(_) | Dup { .. } => {}
            Contiguous { count, large, .. } => out.counts(*large, &[*count]),
            Vector { count, blocklength, stride, large, .. } => {
                out.counts(*large, &[*count, *blocklength, *stride])
            }
            Hvector { count, blocklength, stride, large, .. } => {
                out.counts(*large, &[*count, *blocklength]);
                out.addresses(*large, &[*stride]);
            }
            Indexed { blocklengths, displacements, large, .. } => {
                out.counts(*large, &[blocklengths.len() as i64]);
                out.counts(*large, blocklengths);
                out.counts(*large, displacements);
            }
            Hindexed { blocklengths, displacements, large, .. }
            | Struct { blocklengths, displacements, large, .. } => {
                out.counts(*large, &[blocklengths.len() as i64]);
                out.counts(*large, blocklengths);
                out.addresses(*large, displacements);
            }
            IndexedBlock { blocklength, displacements, large, .. } => {
                out.counts(*large, &[displacements.len() as i64, *blocklength]);
                out.counts(*large, displacements);
            }
            HindexedBlock { blocklength, displacements, large, .. } => {
                out.counts(*large, &[displacements.len() as i64, *blocklength]);
                out.addresses(*large, displacements);
            }
            Subarray { sizes, subsizes, starts, order, large, .. } => {
                out.counts(false, &[sizes.len() as i64]);
                out.counts(*large, sizes);
                out.counts(*large, subsizes);
                out.counts(*large, starts);
                out.counts(false, &[i64::from(*order as i32)]);
            }
            Darray(darray) => {
                out.counts(false, &[darray.size, darray.rank, darray.gsizes.len() as i64]);
                out.counts(darray.large, &darray.gsizes);
                out.contents.integers.extend(darray.distribs.iter().map(|&distribution| distribution as i32));
                out.counts(false, &darray.dargs);
                out.counts(false, &darray.psizes);
                out.counts(false, &[i64::from(darray.order as i32)]);
            }
            Resized { lb, extent, large, .. } => out.addresses(*large, &[*lb, *extent]),
            F90Real { precision, range } | F90Complex { precision, range } => {
                out.contents.integers.extend([*precision, *range])
            }
            F90Integer { range } => out.contents.integers.push(*range),
            ValueIndex { value, index } => out.contents.datatypes.extend([value.clone(), index.clone()]),
        }
        out.contents
    }

    /// Returns a hash of the call and its arguments.
    pub fn structure_hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// Returns what the function that makes such datatypes is called behind `MPI_Type_`, for messages; `None` of
/// a predefined one.
pub fn combiner_name(combiner: i32) -> Option<&'static str> {
    Some(match combiner {
        abi::MPI_COMBINER_DUP => "dup",
        abi::MPI_COMBINER_CONTIGUOUS => "contiguous",
        abi::MPI_COMBINER_VECTOR => "vector",
        abi::MPI_COMBINER_HVECTOR => "create_hvector",
        abi::MPI_COMBINER_INDEXED => "indexed",
        abi::MPI_COMBINER_HINDEXED => "create_hindexed",
        abi::MPI_COMBINER_INDEXED_BLOCK => "create_indexed_block",
        abi::MPI_COMBINER_HINDEXED_BLOCK => "create_hindexed_block",
        abi::MPI_COMBINER_STRUCT => "create_struct",
        abi::MPI_COMBINER_SUBARRAY => "create_subarray",
        abi::MPI_COMBINER_DARRAY => "create_darray",
        abi::MPI_COMBINER_F90_REAL => "create_f90_real",
        abi::MPI_COMBINER_F90_COMPLEX => "create_f90_complex",
        abi::MPI_COMBINER_F90_INTEGER => "create_f90_integer",
        abi::MPI_COMBINER_RESIZED => "create_resized",
        _ => return None,
    })
}

/// Collects contents: `int` variants split values in integers and addresses, `_c` variants
/// return both as large counts.
// What a large-count call passed comes back in large counts (MPI 5.0 section 5.1.13), wherever it stood.
#[derive(Default)]
struct Fields {
    contents: Contents,
}

impl Fields {
    fn counts(&mut self, large: bool, values: &[i64]) {
        if large {
            self.contents.large_counts.extend_from_slice(values);
        } else {
            self.contents.integers.extend(values.iter().map(|&value| value as i32));
        }
    }
    fn addresses(&mut self, large: bool, values: &[i64]) {
        if large { &mut self.contents.large_counts } else { &mut self.contents.addresses }
            .extend_from_slice(values);
    }
}
