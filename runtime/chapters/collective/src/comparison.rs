//! Times that the algorithms of a collective would take, each by itself, on the machine of the run.

use crate::instance::Collectives;
use crate::planes::{Between, overheads};
use engine::EndOfTime;
use objects::group::Group;
use p2p::Messages;
use recorder::collective::{CollectiveKind, CollectiveUse, Example};
use schedule::choose::{choose, possible};
use schedule::time::duration;
use schedule::{Kind, Shape};
use std::collections::BTreeMap;

impl Collectives {
    /// Returns the kinds of collective calls of this process, from number 1 on
    /// ([`FoundOut::collective`](p2p::waits::FoundOut::collective)), each with what is known of its calls.
    pub fn kinds(&self) -> Vec<(CollectiveKind, CollectiveUse)> {
        self.taken.kinds()
    }

    /// Returns how long such a call takes whose members enter at one time, by each algorithm that can do it,
    /// in picoseconds; and whether all of them are among the answers. Looks at `looks` messages at most, and
    /// takes those off that it has looked at. Blocks are equal, and messages have the network for themselves.
    // An algorithm that takes longer than there is time is left out as one with too many messages is.
    pub fn durations(
        &self,
        messages: &Messages,
        kind: &CollectiveKind,
        example: &Example,
        looks: &mut u64,
    ) -> (BTreeMap<String, u64>, bool) {
        let Some(collective) = Kind::ALL.into_iter().find(|known| known.name() == kind.collective) else {
            return (BTreeMap::new(), false);
        };
        let ranks: Vec<u32> = example.members().collect();
        debug_assert_eq!(ranks.len(), kind.members as usize, "a kind has as many members as its example");
        let shape = Shape {
            root: example.root,
            commutative: kind.commutative,
            node: Group::from_ranks(ranks.clone()).on_node(messages.fabric().wire().node),
            predefined: example.predefined,
            ..Shape::regular(collective, kind.members, example.bytes, example.element)
        };
        let costs = Between { wire: messages.fabric().wire(), rank_of: |member: u32| ranks[member as usize] };
        let (mut takes, mut all) = (BTreeMap::new(), true);
        for schedule in std::iter::once(choose(&shape, &self.policy)).chain(possible(&shape)) {
            if takes.contains_key(schedule.name()) {
                continue;
            }
            let found = EndOfTime::catch(|| {
                duration(&schedule, shape.size, &shape, &costs, overheads(messages.fabric().wire()), *looks)
            });
            let known = found.ok().and_then(|found| {
                *looks -= found.looks;
                found.ps.filter(|&ps| ps < 1 << 63)
            });
            match known {
                Some(ps) => drop(takes.insert(schedule.name().to_owned(), ps)),
                None => all = false,
            }
        }
        (takes, all)
    }
}
