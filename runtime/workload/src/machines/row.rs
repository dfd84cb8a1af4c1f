//! Messages that a rank sends and receives in a row: with one look at the world for all of them, and nothing put together that only other calls need.

use super::{Blocked, Machines, buffer_of};
use crate::call::{Message, What};
use crate::requests::{Lists, NONE};
use crate::workload::{Caller, Known, Workload, handle_of};
use engine::Time;
use mpi::World;
use mpi::batch::Batching;
use mpi::call::failure::Stop;
use mpi::error::Result;
use mpi::handle::{self, REQUEST_SENT};
use mpi::node::NIL;

/// What comes behind the start of a message.
pub(super) enum Started {
    /// Nothing: the call is over.
    Done,
    /// Its sender may have to wait for this request, or let others run.
    Sent(usize),
    /// A receive has to come together with its message.
    Awaits(u32),
    /// So much waits for other processes that its sender goes on later.
    StepsBack,
}

/// Why a row ended.
pub(super) enum Row {
    /// The rank's next call is none of it; whether it made any.
    Over(bool),
    /// The rank ends, with this status.
    Stops(i32),
    /// A call of this function, entered then, is not over.
    Halts(u16, Time, Started),
}

/// A rank's place for its open requests, which it gets if it has none.
#[inline]
pub(super) fn open_of<'l>(lists: &'l mut Lists, list: &mut u32) -> &'l mut crate::requests::Open {
    if *list == NONE {
        *list = lists.take();
    }
    lists.get(*list)
}

impl<W: Workload> Machines<'_, W> {
    /// Makes the calls that the rank tells as messages ([`Workload::message`]), as long as each is over at once.
    #[inline]
    pub(super) fn row(&mut self, rank: u32) -> Result<Row> {
        let mut guard = self.mpi.world();
        let world = &mut *guard;
        let machine = &mut self.machines[rank as usize];
        let made = machine.comms.as_ref().map_or(&[][..], |comms| comms.as_slice());
        let mut any = false;
        loop {
            let caller = Caller { rank, clock: world.messages.clock(rank), knows: Known::Made(&world.objects.comms, made), first: 0 };
            let Some((computed, function, message)) = self.workload.message(&caller, &mut machine.cursor) else {
                return Ok(Row::Over(any));
            };
            any = true;
            world.messages.compute(rank, computed);
            let (entered, ordinary) = world.enter_call(function, message.course());
            if !ordinary && let Some(Stop::Ends(status)) = world.must_stop() {
                return Ok(Row::Stops(status));
            }
            match start(world, &mut self.lists, (&mut machine.list, made), message)? {
                Started::Done => {}
                Started::Sent(REQUEST_SENT) if !world.messages.lets_others_run() => {}
                halted => return Ok(Row::Halts(function, entered, halted)),
            }
            world.messages.leave_call(function, entered);
        }
    }

    /// What is left of the first half of a call: what its rank is blocked in, if it is not over.
    pub(super) fn halt(&self, started: Started) -> Result<Option<(Blocked, usize)>> {
        Ok(match started {
            Started::Done => None,
            Started::Sent(request) => self.mpi.begin_pause(request)?.map(|waited| (Blocked::Send, waited)),
            Started::Awaits(node) => Some((Blocked::Receive, node as usize)),
            Started::StepsBack => {
                self.mpi.world().messages.step_back();
                Some((Blocked::Send, REQUEST_SENT))
            }
        })
    }
}

/// Sends or receives a message of the mounted rank, which has this list of open requests and has made these communicators.
#[inline(always)]
pub(super) fn start(world: &mut World, lists: &mut Lists, (list, made): (&mut u32, &[usize]), message: Message) -> Result<Started> {
    let World { messages, objects, .. } = world;
    let Message { what, envelope } = message;
    let (buffer, peer) = (buffer_of(envelope.bytes), (envelope.peer, envelope.tag, handle_of(made, envelope.comm)));
    Ok(match what {
        What::Send(mode) => Started::Sent(messages.start_send(objects, mode, buffer, peer, Batching::Never)?),
        What::Isend(mode, number) => {
            let request = messages.start_send(objects, mode, buffer, peer, Batching::UntilComplete)?;
            open_of(lists, list).put(number, request);
            if messages.crowded { Started::StepsBack } else { Started::Done }
        }
        What::Recv => match messages.begin_receive(objects, buffer, peer)? {
            NIL => Started::Done,
            node => Started::Awaits(node),
        },
        What::Irecv(number) => {
            let node = messages.start_receive(objects, buffer, peer, Batching::UntilComplete)?;
            open_of(lists, list).put(number, handle::of_node(node));
            Started::Done
        }
    })
}
