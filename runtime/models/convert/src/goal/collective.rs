//! A collective as the messages of one member, round by round, by the algorithm that a run would take.

use crate::script::Group;
use mpi::collective::Reducing;
use mpi::datatype::predefined;
use mpi::schedule::choose::{Policy, choose};
use mpi::schedule::{Blocks, Kind, Member, Shape, Step, StepMessage};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use workload::Collective;

/// Expands collectives.
pub struct Expansion<'o> {
    policy: &'o Policy,
    /// Bytes of an element of the standard's datatypes, by handle.
    sizes: FxHashMap<usize, u64>,
}

impl<'o> Expansion<'o> {
    /// Returns the expansion that follows a policy.
    pub fn new(policy: &'o Policy) -> Expansion<'o> {
        Expansion {
            policy,
            sizes: predefined::all().map(|(handle, datatype)| (handle, datatype.size)).collect(),
        }
    }

    /// Returns the rounds of member `me`, without those in which it has nothing to do.
    pub fn rounds(&self, collective: &Collective, group: &Group, me: u32) -> Vec<Vec<StepMessage>> {
        let &Collective { kind, root, bytes, ref blocks, reduction, .. } = collective;
        let size = group.size();
        let (element, commutative, predefined) = match reduction {
            None => (1, true, true),
            Some(Reducing::Predefined { datatype, .. }) => {
                (self.sizes.get(&datatype).copied().unwrap_or(1).max(1), true, true)
            }
            Some(Reducing::Function { commutative, element }) => (element.max(1), commutative, false),
        };
        let root = root.and_then(|root| u32::try_from(root).ok()).unwrap_or(0);
        let irregular = blocks.is_some();
        let shape =
            Shape { root, irregular, commutative, predefined, ..Shape::regular(kind, size, bytes, element) };
        let block = if kind == Kind::ReduceScatter { bytes / u64::from(size.max(1)) } else { bytes };
        let (send, receive) = blocks.clone().unwrap_or((Blocks::Uniform(block), Blocks::Uniform(block)));
        let nobody: Rc<[u32]> = Rc::new([]);
        let member = Member { rank: me, send, receive, sources: nobody.clone(), destinations: nobody };
        let schedule = choose(&shape, self.policy);
        let (mut rounds, mut steps) = (Vec::new(), Vec::new());
        for round in 0..schedule.rounds() {
            steps.clear();
            schedule.round(&member, round, &mut steps);
            // Reductions and copies take no time here.
            let messages: Vec<StepMessage> = steps.iter().filter_map(Step::message).collect();
            if !messages.is_empty() {
                rounds.push(messages);
            }
        }
        rounds
    }
}
