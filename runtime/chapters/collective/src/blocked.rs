//! Ranks that are blocked in collectives.

use crate::agent::AgentState;
use crate::instance::{CollectiveInstance, Collectives};
use crate::membership::{InstanceScope, membership};
use objects::Objects;

impl Collectives {
    /// Returns the instance that a rank is blocked in (for reports).
    // O(instances * members), for reports alone: no rank keeps what it is blocked in, which would cost every
    // rank a word.
    pub(crate) fn waiting_instance(&self, objects: &Objects, rank: u32) -> Option<u32> {
        let waits =
            |instance: &CollectiveInstance| match (&instance.gathering, &instance.place) {
                (Some(gathering), InstanceScope::Comm(comm)) => {
                    let member = objects.comms.at(*comm).group.rank_of(rank);
                    instance.signature.blocking
                        && !gathering.is_complete()
                        && member.is_some_and(|member| gathering.has(member))
                }
                _ => instance.agents.iter().flatten().any(|agent| {
                    agent.rank == rank && !agent.is_by_itself() && agent.stage != AgentState::Done
                }),
            };
        self.instances.iter().find(|(_, instance)| waits(instance)).map(|(index, _)| index)
    }

    /// Returns what the mounted rank is blocked in besides these: instance and member number. O(instances *
    /// members).
    // For a rank of which several threads are blocked: only then must it be known again who it was.
    pub fn blocked_member(&self, objects: &Objects, rank: u32, besides: &[(u32, u32)]) -> Option<(u32, u32)> {
        let member_of = |instance: &CollectiveInstance| match (&instance.gathering, &instance.place) {
            (Some(_), InstanceScope::Comm(comm)) => {
                instance.signature.blocking.then(|| membership(objects, *comm).1)
            }
            _ => {
                let mut agents = (0..).zip(&instance.agents);
                agents.find_map(|(member, agent)| {
                    agent
                        .as_ref()
                        .is_some_and(|agent| agent.rank == rank && !agent.is_by_itself())
                        .then_some(member)
                })
            }
        };
        self.instances.iter().find_map(|(index, instance)| {
            let member = member_of(instance)?;
            let is_blocked = instance.is_in(member)
                && !self.is_through(index, member)
                && !besides.contains(&(index, member));
            is_blocked.then_some((index, member))
        })
    }

    /// Returns `true` if a member that was blocked goes on: it is through, or leaves because another has
    /// failed.
    pub fn is_member_through(&self, index: u32, member: u32) -> bool {
        self.broken.contains_key(&(index, member)) || self.is_through(index, member)
    }
}
