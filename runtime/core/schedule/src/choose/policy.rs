//! Policies by which a user chooses the algorithms of collectives.

use crate::Kind;
use crate::Shape;
use crate::algorithm::Parameters;
use std::fmt;
use std::rc::Rc;

/// A published decision table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Base {
    /// MPICH's main branch by sizes alone: without what its ch4 device decides for nodes of several ranks.
    #[default]
    Mpich,
    /// MPICH 3.0 to 3.2.
    Mpich32,
    /// MPICH 3.3.
    Mpich33,
    /// MPICH 3.4 to 5.0: the ch4 device, then the sizes.
    Mpich4,
    /// Open MPI's main branch.
    OpenMpi,
    /// Open MPI 3.0 to 4.0.
    OpenMpi31,
    /// Open MPI 4.1.
    OpenMpi41,
    /// Open MPI 5.0: the han component, then the tables of 4.1.
    OpenMpi5,
    /// The linear algorithms: a root that talks to one member after the other.
    Linear,
}

impl Base {
    /// Every table with its name in `-xsim-coll`; several names may be one table.
    pub const NAMES: [(&'static str, Base); 10] = [
        ("mpich", Base::Mpich),
        ("openmpi", Base::OpenMpi),
        ("linear", Base::Linear),
        ("mpich-3.2", Base::Mpich32),
        ("mpich-3.3", Base::Mpich33),
        ("mpich-4", Base::Mpich4),
        ("openmpi-3.1", Base::OpenMpi31),
        ("openmpi-4.0", Base::OpenMpi31),
        ("openmpi-4.1", Base::OpenMpi41),
        ("openmpi-5", Base::OpenMpi5),
    ];
}

/// The user's own choice for one collective, within limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChoiceRule {
    /// Collective that it is for.
    pub kind: Kind,
    /// For which [`Shape::bytes`], both ends included.
    pub bytes: std::ops::RangeInclusive<u64>,
    /// For how many members, both ends included.
    pub ranks: std::ops::RangeInclusive<u32>,
    /// An algorithm of that kind, as in `ALL` in `algorithm.rs`.
    pub algorithm: &'static str,
    /// Parameters for it.
    pub parameters: Parameters,
}

impl ChoiceRule {
    pub(super) fn applies(&self, shape: &Shape) -> bool {
        self.kind == shape.kind && self.bytes.contains(&shape.bytes) && self.ranks.contains(&shape.size)
    }
}

/// The policy by which algorithms are chosen: the first rule that applies and whose algorithm supports the
/// shape (a ring reduces only with operations that commute, Bruck's alltoall has equal blocks), else the
/// table.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Policy {
    /// The table.
    pub base: Base,
    /// The rules, the first that applies first.
    // Shared: policies are copied into every world and thread of a sweep.
    pub rules: Rc<[ChoiceRule]>,
}

/// The reason why a policy's text is refused: a sentence for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyError(pub(super) String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PolicyError {}

impl From<Base> for Policy {
    fn from(base: Base) -> Policy {
        Policy { base, rules: Rc::from([]) }
    }
}
