//! The part of a profile that is about the whole run: how busy links were, and how long other algorithms
//! would have taken for its collectives.

use crate::World;
use engine::Time;
use recorder::CallProfile;
use recorder::call_profile::LinkUseSeries;
use recorder::collective::Unknown;

/// Messages that are looked at to find out, in all: a second of the host or two.
const LOOKS: u64 = 1 << 27;
/// And for one kind of calls.
const LOOKS_OF_ONE: u64 = 1 << 25;
/// Kinds of calls that are looked at.
const KINDS: usize = 100;

impl World {
    /// Returns the profile with what is known when the run is over.
    pub fn complete(&self, mut profile: CallProfile) -> CallProfile {
        let links = self.messages.fabric().wire().link_series(self.end_of_run());
        profile.series.links =
            links.map(|links| LinkUseSeries { bin_ps: links.bin_ps, mean: links.mean, most: links.most });
        self.compare_algorithms(&mut profile);
        profile
    }

    /// Returns what packets and links did in all of the run, on the process that has a network of packets.
    /// O(links + ranks).
    pub fn network_report(&self) -> Option<network::NetworkReport> {
        self.messages.fabric().wire().report(self.end_of_run(), self.messages.ranks().size())
    }

    /// Returns the greatest clock of all ranks, on process 0 and when the run is over.
    fn end_of_run(&self) -> Time {
        self.run.end.max(self.messages.ranks().latest())
    }

    /// Finds out how long the algorithms of its collectives take whose members enter at one time. Kinds come
    /// in the order of the profile, those that took most first, until all messages that may be looked at have
    /// been.
    fn compare_algorithms(&self, profile: &mut CallProfile) {
        let (messages, collectives) = (&self.messages, &self.chapters.collectives);
        let mut left = LOOKS;
        let mut known = Vec::new();
        for cost in &mut profile.collectives {
            let Some(example) = cost.example.take() else { continue };
            // What took no time takes none by any algorithm: nothing was sent, or the network is ideal.
            if cost.time_ps == 0 && cost.kind.algorithm == "local" {
                continue;
            }
            if messages.fabric().wire().is_shared() || cost.kind.irregular {
                cost.unknown = Some(if messages.fabric().wire().is_shared() {
                    Unknown::Shared
                } else {
                    Unknown::Blocks
                });
                continue;
            }
            // Of one kind that is called from several places, once.
            let kind = (cost.kind.clone(), example);
            if let Some((_, (takes, all))) = known.iter().find(|(other, _)| *other == kind) {
                (cost.takes_ps, cost.unknown) = (Clone::clone(takes), unknown(*all));
                continue;
            }
            if known.len() == KINDS {
                cost.unknown = Some(Unknown::Messages);
                continue;
            }
            let mut looks = left.min(LOOKS_OF_ONE);
            let before = looks;
            let (takes, all) = collectives.durations(messages, &kind.0, &kind.1, &mut looks);
            left -= before - looks;
            (cost.takes_ps, cost.unknown) = (takes.clone(), unknown(all));
            known.push((kind, (takes, all)));
        }
    }
}

fn unknown(all: bool) -> Option<Unknown> {
    (!all).then_some(Unknown::Messages)
}
