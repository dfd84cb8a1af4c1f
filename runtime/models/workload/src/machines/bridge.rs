//! Intercommunicators of ranks without a program.

use super::{Begun, Machines};
use crate::bridge::{BridgeCall, Bridging};
use crate::stage::{BridgeStage, CallStage, LocalSide};
use crate::workload::Workload;
use mpi::comm::bridge::LeadersMeeting;
use mpi::error::Result;
use mpi::group::Group;
use mpi::handle::COMM_WORLD;

impl<W: Workload> Machines<'_, W> {
    pub(super) fn begin_bridging(&mut self, rank: u32, call: BridgeCall) -> Result<Begun> {
        match call {
            BridgeCall::Create(bridging) => {
                let (local, peer) = (self.comm(rank, bridging.local), self.comm(rank, bridging.peer));
                self.meet_leader(rank, (local, false), peer, &bridging)
            }
            BridgeCall::FromGroups(members, bridging) => {
                let group = Group::from_ranks(members.to_vec());
                let (word, waits) = self.mpi.begin_comm_create_group(None, group, bridging.tag)?;
                self.bridge(rank, BridgeStage::Local(bridging), word, waits)
            }
            BridgeCall::Merge(comm, high) => {
                let made = self.mpi.begin_intercomm_merge(self.comm(rank, comm), high)?;
                self.making(rank, made)
            }
        }
    }

    fn bridge(&mut self, rank: u32, stage: BridgeStage, word: usize, waits: bool) -> Result<Begun> {
        self.stage(rank, CallStage::Bridge(Box::new(stage)), word, waits)
    }

    pub(super) fn go_on_bridging(&mut self, rank: u32, stage: BridgeStage, word: usize) -> Result<Begun> {
        match stage {
            BridgeStage::Local(bridging) => {
                let local = self.mpi.end_comm(word)?;
                self.meet_leader(rank, (local, true), COMM_WORLD, &bridging)
            }
            BridgeStage::Receives(local, meeting) => {
                self.mpi.end_receive(word as u32)?;
                self.received_from_leader(rank, local, meeting)
            }
            BridgeStage::Sends(local, meeting) => self.sent_to_leader(rank, local, meeting),
            BridgeStage::Agrees((local, is_own)) => {
                let made = self.made(rank, word);
                if is_own {
                    self.mpi.release_comm(local)?;
                }
                made.map(Begun::Done)
            }
        }
    }

    fn meet_leader(
        &mut self,
        rank: u32,
        local: LocalSide,
        peer: usize,
        &Bridging { local_leader, remote_leader, tag, .. }: &Bridging,
    ) -> Result<Begun> {
        let meeting = self.mpi.begin_intercomm_create(local.0, local_leader, peer, remote_leader, tag)?;
        let Some(meeting) = meeting else { return self.agree(rank, local, None) };
        match self.mpi.begin_leaders_receive(&meeting)? {
            Some(node) => self.bridge(rank, BridgeStage::Receives(local, meeting), node as usize, true),
            None => self.received_from_leader(rank, local, meeting),
        }
    }

    fn received_from_leader(
        &mut self,
        rank: u32,
        local: LocalSide,
        meeting: LeadersMeeting,
    ) -> Result<Begun> {
        let waits = self.mpi.begin_wait(meeting.request)?;
        self.bridge(rank, BridgeStage::Sends(local, meeting), 0, waits)
    }

    fn sent_to_leader(&mut self, rank: u32, local: LocalSide, meeting: LeadersMeeting) -> Result<Begun> {
        self.mpi.end_wait(meeting.request)?;
        self.agree(rank, local, Some(meeting))
    }

    fn agree(&mut self, rank: u32, local: LocalSide, meeting: Option<LeadersMeeting>) -> Result<Begun> {
        let (word, waits) = self.mpi.begin_bridge(local.0, meeting)?;
        self.bridge(rank, BridgeStage::Agrees(local), word, waits)
    }
}
