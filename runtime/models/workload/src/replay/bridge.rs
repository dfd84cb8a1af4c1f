//! Intercommunicators of a recording, as a replay has them.

use super::arguments::{Arguments, Comm, Refused};
use super::{Cursor, Refusal, Replay};
use crate::bridge::{BridgeCall, Bridging};
use crate::call::Call;
use crate::workload::Caller;
use trace::template::Peer;
use trace::trace::Cell;

/// A call that makes or merges an intercommunicator, with its arguments.
#[derive(Debug)]
pub(super) enum RecordedBridge {
    /// The local communicator, and that of the leaders, which one that does not lead may not have.
    Create { local: Comm, peer: Option<Comm>, leaders: [Cell; 2], tag: Cell },
    /// The new communicator, and a number for the string that both groups pass.
    FromGroups { made: Cell, leaders: [Cell; 2], tag: u32 },
    /// A communicator, and whether its own group comes last.
    Merge { comm: Comm, high: Cell },
}

/// Returns what a function is that makes or merges an intercommunicator; `None` of another.
pub(super) fn bridge(call: &Arguments, name: &str) -> Result<Option<RecordedBridge>, Refused> {
    let leaders = || Ok::<_, Refused>([call.known("local_leader")?, call.known("remote_leader")?]);
    Ok(Some(match name {
        "Intercomm_create" => RecordedBridge::Create {
            local: call.comm("local_comm")?,
            peer: call.comm("peer_comm").ok(),
            leaders: leaders()?,
            tag: call.known("tag")?,
        },
        "Intercomm_create_from_groups" => {
            let made = call.made("newintercomm")?.ok_or("the rank is in no group of it")?;
            let tag = call.text_index("stringtag").ok_or("its argument stringtag is not in the trace")?;
            RecordedBridge::FromGroups { made, leaders: leaders()?, tag }
        }
        "Intercomm_merge" => {
            RecordedBridge::Merge { comm: call.comm("intercomm")?, high: call.known("high")? }
        }
        _ => return Ok(None),
    }))
}

impl Replay<'_> {
    /// Returns a call that makes or merges an intercommunicator.
    pub(super) fn bridging(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        bridge: &RecordedBridge,
    ) -> Result<Call, Refusal> {
        let number = |cell: Cell| self.number(cursor, cell);
        let call = match bridge {
            RecordedBridge::Create { local, peer, leaders, tag } => {
                let local = self.comm(caller, cursor, *local)?;
                let [local_leader, remote_leader] = self.leaders(caller, cursor, local, *leaders)?;
                let leads = self
                    .standing(caller, local)
                    .is_some_and(|me| i64::from(me.rank) == i64::from(local_leader));
                // Of the others nobody reads it.
                let peer = match peer.filter(|_| leads) {
                    Some(peer) => self.comm(caller, cursor, peer)?,
                    None if leads => return Err("its leader has no communicator with the other one".into()),
                    None => Call::SELF,
                };
                let tag = number(*tag) as i32;
                BridgeCall::Create(Bridging { local, local_leader, peer, remote_leader, tag })
            }
            RecordedBridge::FromGroups { made, leaders, tag } => {
                let members = self.members(caller, cursor, *made)?;
                let (.., remote, me) = self.instance(caller, cursor, *made)?;
                let [local_leader, remote_leader] = leaders.map(|leader| Peer::of(number(leader)).rank(me));
                let others = self.plan.groups.get(&remote).map_or(&[][..], |others| others);
                let remote_leader = match usize::try_from(remote_leader).ok().and_then(|at| others.get(at)) {
                    Some(&leader) => leader as i32,
                    None if i64::from(me.rank) == i64::from(local_leader) => {
                        return Err("the trace does not say who leads the other group".into());
                    }
                    None => 0,
                };
                let (local, peer, tag) = (Call::WORLD, Call::WORLD, *tag as i32);
                let bridging = Bridging { local, local_leader, peer, remote_leader, tag };
                BridgeCall::FromGroups(members, bridging)
            }
            RecordedBridge::Merge { comm, high } => {
                BridgeCall::Merge(self.comm(caller, cursor, *comm)?, number(*high) != 0)
            }
        };
        Ok(Call::Bridge(Box::new(call)))
    }

    fn leaders(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        local: u32,
        leaders: [Cell; 2],
    ) -> Result<[i32; 2], Refusal> {
        let [local_leader, remote_leader] =
            leaders.map(|leader| self.rank(caller, local, self.number(cursor, leader)));
        Ok([local_leader?, remote_leader?])
    }
}
