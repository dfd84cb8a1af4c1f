//! Messages that a rank sends and receives in a row: with one look at the world for all of them, and nothing
//! put together that only other calls need.

use super::series::{Ran, run};
use super::volley::{Fired, fire};
use super::{Blocked, Machine, Machines, buffer_of};
use crate::call::{Awaited, Message, Requests, Wait, What};
use crate::requests::{Lists, NONE};
use crate::workload::{Caller, Known, Workload, handle_of};
use engine::{Span, Time};
use mpi::World;
use mpi::batch::Batching;
use mpi::call::failure::Stop;
use mpi::departures::let_others_run;
use mpi::error::Result;
use mpi::handle::{self, REQUEST_SENT};
use mpi::node::NIL;
use mpi::ranks::effort::Course;

/// Work that is left for a call after it has started a message.
pub(super) enum Started {
    /// Nothing: the call is over.
    Done,
    /// The sender may have to wait for this request, or let others run.
    Sent(usize),
    /// A receive has to come together with its message.
    Awaits(u32),
    /// So much waits for other processes that its sender goes on later.
    StepsBack,
}

/// The reason why a row ended.
pub(super) enum Row {
    /// The rank's next call is none of it; whether it made any.
    Over(bool),
    /// The rank ends, with this status.
    Stops(i32),
    /// A call of this function, entered then, is not over.
    Halts(u16, Time, Started),
    /// A call of this function, entered then, waits for all of these.
    Waits(u16, Time, Requests),
    /// The rank waits, and what it is blocked in is noted down.
    Blocks,
    /// The end of a volley, of which all is noted down, has to be looked at.
    Looks,
}

/// Returns a rank's place for its open requests, which it gets if it has none.
#[inline]
pub(super) fn open_of<'l>(lists: &'l mut Lists, list: &mut u32) -> &'l mut crate::requests::Open {
    if *list == NONE {
        *list = lists.take();
    }
    lists.get(*list)
}

impl<W: Workload> Machines<'_, W> {
    /// Makes the calls that the rank tells as messages ([`Workload::series`], [`Workload::message`]) and as
    /// waits for its requests ([`Workload::wait`]), as long as each is over at once.
    #[inline]
    pub(super) fn row(&mut self, rank: u32) -> Result<Row> {
        let mut guard = self.mpi.world();
        let world = &mut *guard;
        let machine = &mut self.machines[rank as usize];
        let made = machine.comms.as_ref().map_or(&[][..], |comms| comms.as_slice());
        let mut any = false;
        loop {
            let fired = match machine.list {
                NONE if self.workload.has_volley(&machine.cursor) => {
                    fire(world, &mut self.workload, &mut self.told, (&mut machine.cursor, made))
                }
                _ => Fired::Nothing,
            };
            match fired {
                Fired::Nothing => {}
                Fired::Over => {
                    any = true;
                    continue;
                }
                Fired::Waits(function, entered, word) => {
                    (machine.entered, machine.function) = (entered, function);
                    (machine.blocked, machine.word) = (Blocked::Volley, word);
                    return Ok(Row::Blocks);
                }
                Fired::Looks(function, entered, word) => {
                    (machine.entered, machine.function, machine.word) = (entered, function, word);
                    return Ok(Row::Looks);
                }
            }
            let caller = Caller {
                rank,
                clock: world.messages.clock(rank),
                knows: Known::Made(&world.objects.comms, made),
                first: 0,
            };
            if let Some(series) = self.workload.series(&caller, &machine.cursor) {
                let of = (&mut machine.cursor, &mut machine.list, made);
                match run(world, &mut self.workload, &mut self.lists, of, &series) {
                    Ran::On(true) => {
                        any = true;
                        continue;
                    }
                    Ran::On(false) => {}
                    Ran::Stops(status) => return Ok(Row::Stops(status)),
                    Ran::Halts(entered) => {
                        return Ok(Row::Halts(series.function, entered, Started::Sent(REQUEST_SENT)));
                    }
                }
            }
            let caller = Caller {
                rank,
                clock: world.messages.clock(rank),
                knows: Known::Made(&world.objects.comms, made),
                first: 0,
            };
            if let Some((computed, function, message)) = self.workload.message(&caller, &mut machine.cursor) {
                let (entered, stops) = enter(world, computed, function, message.course());
                if let Some(status) = stops {
                    return Ok(Row::Stops(status));
                }
                match start(world, &mut self.lists, (&mut machine.list, made), message)? {
                    Started::Done => {}
                    Started::Sent(REQUEST_SENT)
                        if !let_others_run(world.messages.ranks(), world.messages.peers()) => {}
                    halted => return Ok(Row::Halts(function, entered, halted)),
                }
                world.messages.ranks_mut().leave_call(function, entered);
            } else if let Some((computed, function, awaited)) =
                self.workload.wait(&caller, &mut machine.cursor)
            {
                let (entered, stops) = enter(world, computed, function, Course::Ends);
                if let Some(status) = stops {
                    return Ok(Row::Stops(status));
                }
                match wait_for_all(world, &mut self.lists, &mut machine.list, awaited)? {
                    Waited::Over => world.messages.ranks_mut().leave_call(function, entered),
                    Waited::Blocks(blocked) => {
                        (machine.entered, machine.function) = (entered, function);
                        (machine.blocked, machine.word) = (blocked, 0);
                        return Ok(Row::Blocks);
                    }
                    Waited::Looks(requests) => return Ok(Row::Waits(function, entered, requests)),
                };
            } else {
                return Ok(Row::Over(any));
            }
            any = true;
        }
    }

    /// Ends a wait for all requests of a rank. Returns `false`, with nothing done, if it has to look at them.
    #[inline]
    pub(super) fn end_all(&mut self, rank: u32) -> bool {
        let mut world = self.mpi.world();
        if !world.settle_all_ignored() {
            return false;
        }
        let Machine { list, function, entered, .. } = &mut self.machines[rank as usize];
        if self.lists.clear(*list) {
            *list = NONE;
        }
        world.messages.ranks_mut().leave_call(*function, *entered);
        if let Some(listening) = &mut self.listening {
            listening.returned(&mut world);
        }
        true
    }

    /// Returns what is left of the first half of a call: what its rank is blocked in, if it is not over.
    pub(super) fn halt(&self, started: Started) -> Result<Option<(Blocked, usize)>> {
        Ok(match started {
            Started::Done => None,
            Started::Sent(request) => self.mpi.begin_pause(request)?.map(|waited| (Blocked::Send, waited)),
            Started::Awaits(node) => Some((Blocked::Receive, node as usize)),
            Started::StepsBack => {
                self.mpi.world().step_back();
                Some((Blocked::Send, REQUEST_SENT))
            }
        })
    }
}

/// The outcome of [`wait_for_all`].
enum Waited {
    /// It is over, but for the end of its call.
    Over,
    Blocks(Blocked),
    /// These have to be looked at one by one.
    Looks(Requests),
}

/// The mounted rank, which has this list of open requests, waits for some of them.
// Out of line, so that messages keep their registers.
#[inline(never)]
fn wait_for_all(world: &mut World, lists: &mut Lists, list: &mut u32, awaited: &Awaited) -> Result<Waited> {
    let requests = match *list {
        NONE => None,
        list => lists.get(list).whole(awaited),
    };
    let Some(requests) = requests else { return Ok(Waited::Looks(Requests::These(awaited.numbers.clone()))) };
    let waited = world.begin_wait_all(requests, false)?;
    Ok(match waited {
        _ if waited.waits && waited.all_ignored => Waited::Blocks(Blocked::All),
        _ if waited.waits => Waited::Blocks(Blocked::Complete(Wait::All)),
        _ if waited.all_ignored && world.settle_all_ignored() => {
            if lists.clear(*list) {
                *list = NONE;
            }
            Waited::Over
        }
        _ => Waited::Looks(Requests::All),
    })
}

/// Lets the mounted rank compute so long and enter a call. Returns when, and with which status it ends there,
/// if it does.
#[inline(always)]
fn enter(world: &mut World, computed: Span, function: u16, course: Course) -> (Time, Option<i32>) {
    let me = world.messages.me();
    world.messages.ranks_mut().charge(me, computed);
    let (entered, ordinary) = world.enter_call(function, course);
    if !ordinary && let Some(Stop::Ends(status)) = world.must_stop() {
        world.messages.flush_batch();
        return (entered, Some(status));
    }
    (entered, None)
}

/// Sends or receives a message of the mounted rank, which has this list of open requests and has made these
/// communicators.
#[inline(always)]
pub(super) fn start(
    world: &mut World,
    lists: &mut Lists,
    (list, made): (&mut u32, &[usize]),
    message: Message,
) -> Result<Started> {
    let World { messages, objects, .. } = world;
    let Message { what, envelope } = message;
    let (buffer, peer) =
        (buffer_of(envelope.bytes), (envelope.peer, envelope.tag, handle_of(made, envelope.comm)));
    Ok(match what {
        What::Send(mode) => {
            Started::Sent(messages.start_send(objects, mode, buffer, peer, Batching::Never)?)
        }
        What::Isend(mode, number) => {
            let request = messages.start_send(objects, mode, buffer, peer, Batching::UntilComplete)?;
            open_of(lists, list).put(number, request);
            if messages.peers().are_crowded() { Started::StepsBack } else { Started::Done }
        }
        What::Recv => match messages.receive_plain(objects, buffer, peer) {
            Some(NIL) => Started::Done,
            Some(node) => Started::Awaits(node),
            None => {
                let (never, (source, tag, comm)) = (Batching::Never, peer);
                let (at, count, datatype) = buffer;
                let node =
                    messages.start_any_receive(objects, never, at, count, datatype, source, tag, comm)?;
                messages.complete_or_wait(node)?.map_or(Started::Done, Started::Awaits)
            }
        },
        What::Irecv(number) => {
            let node = messages.start_receive(objects, buffer, peer, Batching::UntilComplete)?;
            open_of(lists, list).put(number, handle::of_node(node));
            Started::Done
        }
    })
}
