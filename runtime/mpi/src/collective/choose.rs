//! Which algorithm a collective uses: the published decision tables of MPICH and Open MPI, the linear algorithms, or the
//! user's own rules.

mod mpich;

use std::rc::Rc;

use super::algorithm::{self, Parameters};
use super::schedule::{Kind, Schedule, Shape};

/// An algorithm's name and parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pick {
    /// As in [`algorithm::ALL`].
    pub name: &'static str,
    /// Segment and fanout.
    pub parameters: Parameters,
}

impl From<&'static str> for Pick {
    fn from(name: &'static str) -> Pick {
        Pick { name, parameters: Parameters::default() }
    }
}

/// A published decision table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Base {
    /// MPICH's.
    #[default]
    Mpich,
    /// The linear algorithms: what a textbook does first.
    Linear,
}

/// How algorithms are chosen.
#[derive(Clone, Default, Debug)]
pub struct Policy {
    /// The table.
    pub base: Base,
}

impl Base {
    fn pick(self, shape: &Shape) -> Pick {
        match self {
            Base::Mpich => mpich::pick(shape),
            Base::Linear => linear(shape),
        }
    }
}

fn linear(shape: &Shape) -> Pick {
    match shape.kind {
        Kind::Neighbor => "direct".into(),
        Kind::Agree => "dissemination".into(),
        _ => "linear".into(),
    }
}

/// The schedule for a collective of `shape` under `policy`. Cheap (a few comparisons and one allocation), but worth keeping
/// for as long as the shape stays the same.
pub fn choose(shape: &Shape, policy: &Policy) -> Rc<dyn Schedule> {
    let pick = policy.base.pick(shape);
    let chosen = algorithm::find(shape.kind, pick.name).filter(|algorithm| (algorithm.supports)(shape));
    let chosen = chosen.or_else(|| algorithm::of(shape.kind).next()).expect("every kind has an algorithm");
    chosen.schedule(shape, &pick.parameters)
}
