//! Ports of ranks without a program.

use super::{Begun, DONE, Machines};
use crate::ports::PortCall;
use crate::stage::{CallStage, PortStage};
use crate::workload::Workload;
use mpi::error::Result;

impl<W: Workload> Machines<'_, W> {
    pub(super) fn begin_port(&mut self, rank: u32, call: PortCall) -> Result<Begun> {
        match call {
            PortCall::Open => {
                self.mpi.open_port();
                DONE
            }
            PortCall::Close(name) => {
                self.mpi.close_port(&name)?;
                DONE
            }
            PortCall::Name(asks) => {
                let request = self.mpi.begin_name_request(&asks);
                self.ask_port(rank, request, PortStage::Name(request))
            }
            PortCall::Meet(comm, root, asks) => {
                let comm = self.comm(rank, comm);
                let asked = self.mpi.begin_meeting(comm, root, &asks).inspect_err(|_| {
                    if self.failing.contains(&rank) {
                        self.mpi.refuse_collective(comm);
                    }
                })?;
                match asked {
                    Some(Ok(request)) => self.ask_port(rank, request, PortStage::Meet(comm, request)),
                    asked => {
                        let met = asked.map(|asked| self.mpi.end_meeting(asked));
                        let made = self.mpi.begin_comm_with_met(comm, met)?;
                        self.making(rank, made)
                    }
                }
            }
        }
    }

    /// Waits for the answer to a question.
    fn ask_port(&mut self, rank: u32, request: usize, stage: PortStage) -> Result<Begun> {
        let waits = self.mpi.begin_wait(request)?;
        self.stage(rank, CallStage::Port(stage), 0, waits)
    }

    pub(super) fn answered(&mut self, rank: u32, stage: PortStage) -> Result<Begun> {
        match stage {
            PortStage::Name(request) => {
                self.mpi.end_name_request(request)?;
                DONE
            }
            PortStage::Meet(comm, request) => {
                let met = self.mpi.end_meeting(Ok(request));
                let made = self.mpi.begin_comm_with_met(comm, Some(met))?;
                self.making(rank, made)
            }
        }
    }
}
