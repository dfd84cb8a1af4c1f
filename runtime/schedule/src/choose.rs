//! Which algorithm a collective uses: the published decision tables of MPICH and Open MPI, the linear algorithms, or the
//! user's own rules. `docs/collectives.md` has the tables and the ways to override them.

mod mpich;
mod openmpi;
mod parse;

use std::fmt;
use std::rc::Rc;

use crate::algorithm::{self, Algorithm, Parameters};
use crate::{Kind, Schedule, Shape};

/// A published decision table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Base {
    /// MPICH's.
    #[default]
    Mpich,
    /// Open MPI's.
    OpenMpi,
    /// The linear algorithms: a root that talks to one member after the other.
    Linear,
}

impl Base {
    /// Every table with its name in `-xsim-coll`.
    pub const NAMES: [(&'static str, Base); 3] = [("mpich", Base::Mpich), ("openmpi", Base::OpenMpi), ("linear", Base::Linear)];

    fn pick(self, shape: &Shape) -> Pick {
        match self {
            Base::Mpich => mpich::pick(shape),
            Base::OpenMpi => openmpi::pick(shape),
            Base::Linear => linear(shape),
        }
    }
}

/// The user's own choice for one collective, within limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Which collective.
    pub kind: Kind,
    /// For which [`Shape::bytes`], both ends included.
    pub bytes: std::ops::RangeInclusive<u64>,
    /// For how many members, both ends included.
    pub ranks: std::ops::RangeInclusive<u32>,
    /// An algorithm of that kind, as in [`algorithm::ALL`].
    pub algorithm: &'static str,
    /// What to tell it.
    pub parameters: Parameters,
}

impl Rule {
    fn applies(&self, shape: &Shape) -> bool {
        self.kind == shape.kind && self.bytes.contains(&shape.bytes) && self.ranks.contains(&shape.size)
    }
}

/// How algorithms are chosen: the first rule that applies and whose algorithm supports the shape (a ring reduces only with
/// operations that commute, Bruck's alltoall has equal blocks), else the table.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Policy {
    /// The table.
    pub base: Base,
    /// The rules, the first that applies first.
    pub rules: Rc<[Rule]>,
}

/// Why a policy's text is refused: a sentence for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyError(String);

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

/// An algorithm's name and parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pick {
    name: &'static str,
    parameters: Parameters,
}

impl From<&'static str> for Pick {
    fn from(name: &'static str) -> Pick {
        Pick { name, parameters: Parameters::default() }
    }
}

fn linear(shape: &Shape) -> Pick {
    match shape.kind {
        Kind::Neighbor => "direct".into(),
        Kind::Agree => "dissemination".into(),
        _ => "linear".into(),
    }
}

fn supporting(shape: &Shape, pick: Pick) -> Option<(&'static Algorithm, Parameters)> {
    let algorithm = algorithm::find(shape.kind, pick.name)?;
    (algorithm.supports)(shape).then_some((algorithm, pick.parameters))
}

/// The schedule for a collective of `shape` under `policy`. Cheap (a search through the table's rows and one allocation or a
/// few), but worth keeping for as long as the shape stays the same.
pub fn choose(shape: &Shape, policy: &Policy) -> Rc<dyn Schedule> {
    let rules = policy.rules.iter().filter(|rule| rule.applies(shape));
    let picks = rules.map(|rule| Pick { name: rule.algorithm, parameters: rule.parameters });
    let mut candidates = picks.chain([policy.base.pick(shape)]).filter_map(|pick| supporting(shape, pick));
    let (algorithm, parameters) = candidates.next().unwrap_or_else(|| {
        let first = algorithm::of(shape.kind).next().expect("every kind has an algorithm");
        (first, Parameters::default())
    });
    algorithm.schedule(shape, &parameters)
}

#[cfg(test)]
mod tests;
