//! Partitioned communication of ranks without a program.

use super::{Begun, DONE, Machines, buffer_of};
use crate::partitioned::{PartitionedAction, PartitionedCall};
use crate::stage::CallStage;
use crate::workload::Workload;
use mpi::error::Result;
use mpi::handle::REQUEST_NULL;
use mpi::partitioned::Init;

impl<W: Workload> Machines<'_, W> {
    pub(super) fn begin_partitioned(
        &mut self,
        rank: u32,
        PartitionedCall { request, does }: PartitionedCall,
    ) -> Result<Begun> {
        let mpi = self.mpi;
        let (PartitionedAction::Sends(partitions, envelope)
        | PartitionedAction::Receives(partitions, envelope)) = &does
        else {
            let handle = self.list(rank).handles.get(request as usize).copied().unwrap_or(REQUEST_NULL);
            match does {
                PartitionedAction::Ready(partitions) => {
                    mpi.begin_partitions_ready(handle, partitions.iter().copied())?;
                }
                PartitionedAction::Range(first, last) => mpi.begin_partitions_ready(handle, first..=last)?,
                PartitionedAction::Arrived(partition) => {
                    let Some((look, waits)) = mpi.begin_arrived(handle, partition)? else { return DONE };
                    return self.stage(rank, CallStage::Arrived(Box::new(look)), 0, waits);
                }
                PartitionedAction::Sends(..) | PartitionedAction::Receives(..) => {
                    unreachable!("they are made below")
                }
            }
            return DONE;
        };
        let buffer = buffer_of(envelope.bytes);
        let peer = (envelope.peer, envelope.tag, self.comm(rank, envelope.comm));
        let init = Init { partitions: *partitions, buffer, peer };
        let handle = match does {
            PartitionedAction::Sends(..) => mpi.init_partitioned_send(init)?,
            _ => mpi.init_partitioned_receive(init)?,
        };
        self.open(rank, request, handle)
    }
}
