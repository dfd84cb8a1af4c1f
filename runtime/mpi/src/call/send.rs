//! The calls that send (MPI 5.0 sections 3.2 to 3.4, 3.7), and when their sender steps back.

use crate::error::Result;
use crate::handle::REQUEST_SENT;
use crate::held::Row;
use crate::p2p::{Buffer, Peer, SendMode};
use crate::world::Mpi;
use message::p2p::send::BURST;

/// Elements from which on a message may be a long one.
const MANY: i64 = 16384;

impl Mpi {
    /// `MPI_Send` and its modes.
    // Always: entering the call, the plain message and leaving then look at the world once.
    #[inline(always)]
    pub fn send(&self, mode: SendMode, buffer: Buffer, to: Peer) -> Result {
        if buffer.1 >= MANY {
            return self.send_many(mode, buffer, to);
        }
        let mut guard = self.world();
        let world = &mut *guard;
        let row = if world.messages.again { Row::Call } else { Row::Alone };
        let request = world.messages.start_send(&world.objects, mode, buffer, to, row)?;
        if request == REQUEST_SENT && !world.messages.crowded && world.messages.ranks[world.messages.current as usize].burst <= BURST {
            return Ok(());
        }
        drop(guard);
        self.pause_after_send(request)
    }

    /// A send of many elements: where they are long, its receiver may take them before they are copied.
    #[inline(never)]
    pub(crate) fn send_many(&self, mode: SendMode, buffer: Buffer, to: Peer) -> Result {
        let mut guard = self.world();
        let world = &mut *guard;
        let request = world.messages.start_send(&world.objects, mode, buffer, to, Row::Request)?;
        world.messages.release();
        drop(guard);
        self.pause_after_send(request)
    }

    /// A sender that waits for its match, or lets its receivers run.
    #[inline(never)]
    pub(crate) fn pause_after_send(&self, request: usize) -> Result {
        if request != REQUEST_SENT {
            return self.wait(request).map(|_| ());
        }
        let mut world = self.world();
        if world.messages.crowded {
            drop(world);
            self.step_back();
        } else if world.messages.ranks[world.messages.current as usize].burst > BURST && !world.messages.ready.is_empty() {
            let me = world.messages.current;
            world.messages.ranks[me as usize].burst = 0;
            drop(world);
            self.step_back();
        }
        Ok(())
    }

    /// `MPI_Isend` and its modes: the request's handle.
    #[inline(always)]
    pub fn isend(&self, mode: SendMode, buffer: Buffer, to: Peer) -> Result<usize> {
        let mut guard = self.world();
        let world = &mut *guard;
        let request = world.messages.start_send(&world.objects, mode, buffer, to, Row::Request)?;
        if world.messages.crowded {
            drop(guard);
            self.step_back();
        }
        Ok(request)
    }

    /// Lets others run, because too much waits for other processes or for the rank's receivers.
    #[cold]
    pub(crate) fn step_back(&self) {
        let mut world = self.world();
        world.messages.release();
        let (me, clock) = (world.messages.current, world.messages.clock(world.messages.current));
        world.messages.ready.lag(me, clock);
        drop(world);
        self.block();
    }
}
