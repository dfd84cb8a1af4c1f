//! The choice of a collective's algorithm: the published decision tables of MPICH and Open MPI, the linear
//! algorithms, or the user's own rules. `docs/reference/collectives.md` has the tables and the ways to
//! override them.

mod mpich;
mod openmpi;
mod parse;
mod pick;
mod policy;

use std::rc::Rc;

use crate::algorithm::{self, Algorithm, Parameters};
use crate::{Kind, Schedule, Shape};
use pick::Pick;

pub use policy::{Base, ChoiceRule, Policy, PolicyError};

fn look_up(base: Base, shape: &Shape) -> Pick {
    match base {
        Base::Mpich => mpich::pick(shape),
        Base::Mpich32 => mpich::smp_3_2(shape),
        Base::Mpich33 => mpich::smp_3_3(shape),
        Base::Mpich4 => mpich::device(shape),
        Base::OpenMpi => openmpi::pick(shape),
        Base::OpenMpi31 => openmpi::pick_3_1(shape),
        Base::OpenMpi41 => openmpi::pick_4_1(shape),
        Base::OpenMpi5 => openmpi::pick_5(shape),
        Base::Linear => linear(shape),
    }
}

fn linear(shape: &Shape) -> Pick {
    match shape.kind {
        Kind::Neighbor => "direct".into(),
        Kind::Agree => "dissemination".into(),
        _ => "linear".into(),
    }
}

// A choice that does not fit the shape is passed over silently: one rule serves commutative and other
// operations alike.
fn supporting(shape: &Shape, pick: Pick) -> Option<(&'static Algorithm, Parameters)> {
    let algorithm = algorithm::find(shape.kind, pick.name)?;
    (algorithm.supports)(shape).then_some((algorithm, pick.parameters))
}

/// The schedule for a collective of `shape` under `policy`. Cheap (a search through the table's rows and one
/// allocation or a few), but worth keeping for as long as the shape stays the same.
// Rules before the table, and the first row of the kind last, which fits everything: there always is an
// algorithm.
pub fn choose(shape: &Shape, policy: &Policy) -> Rc<dyn Schedule> {
    let rules = policy.rules.iter().filter(|rule| rule.applies(shape));
    let picks = rules.map(|rule| Pick { name: rule.algorithm, parameters: rule.parameters });
    let mut candidates =
        picks.chain([look_up(policy.base, shape)]).filter_map(|pick| supporting(shape, pick));
    let (algorithm, parameters) = candidates.next().unwrap_or_else(|| {
        let first = algorithm::of(shape.kind).next().expect("every kind has an algorithm");
        (first, Parameters::default())
    });
    algorithm.schedule(shape, &parameters)
}

/// Returns the schedules of all algorithms that can do a collective of `shape`, in the table's order, each
/// with its own parameters.
pub fn possible(shape: &Shape) -> impl Iterator<Item = Rc<dyn Schedule>> + '_ {
    algorithm::of(shape.kind)
        .filter(|algorithm| (algorithm.supports)(shape))
        .map(|algorithm| algorithm.schedule(shape, &Parameters::default()))
}

#[cfg(test)]
mod tests;
