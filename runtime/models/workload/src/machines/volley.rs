//! Volleys: messages that are started in a row and then waited for, as one (`message/volley.rs`), where all
//! of them are plain and within the process. All others are made by themselves.

use super::series::partners;
use super::{Answer, Machine, Machines};
use crate::call::{Start, Starts, Volley, Wait};
use crate::workload::{Caller, Known, Workload, handle_of};
use engine::{Span, Time};
use mpi::World;
use mpi::comm::Consecutive;
use mpi::envelope::Envelope;
use mpi::error::Result;
use mpi::handle::{self, REQUEST_NULL};
use mpi::volley::{self, MAX_MESSAGES};

/// The value instead of a number of requests for a batched exchange without requests: it ends with an
/// `MPI_Recv`.
const RECEIVES: usize = usize::MAX;

/// Data of a batched exchange that the workload fills in before the exchange is made.
pub(super) struct Told {
    /// With whom its messages are: the other rank, of sends among all.
    others: [u32; MAX_MESSAGES],
    /// Computation of the rank before each call of the exchange.
    computed: Vec<Span>,
}

impl Default for Told {
    fn default() -> Told {
        Told { others: [0; MAX_MESSAGES], computed: Vec::new() }
    }
}

/// The outcome of an attempt to make a rank's next calls as one batched exchange.
pub(super) enum Fired {
    /// They are no volley, or not one that can be made as such: nothing has happened.
    Nothing,
    Over,
    /// The last call, of this function and entered then, waits, with this word for its end.
    Waits(u16, Time, usize),
    /// A volley like [`Fired::Waits`], but its rank may have to see something when the wait is over.
    Looks(u16, Time, usize),
}

/// Makes the volley at which the mounted rank is, if there is one.
// Out of line, so that what is made one by one keeps its registers.
#[inline(never)]
pub(super) fn fire<W: Workload>(
    world: &mut World,
    workload: &mut W,
    Told { others, computed }: &mut Told,
    (cursor, made): (&mut W::Cursor, &[usize]),
) -> Fired {
    let mut comm = None;
    let with = |number| {
        let known = world
            .objects
            .comms
            .consecutive(handle_of(made, number))
            .filter(|_| volley::is_possible(&world.messages))?;
        comm = Some(known);
        Some([partners(world, &known, Starts::Sends), partners(world, &known, Starts::Irecvs)])
    };
    let Some(volley) = workload.volley(cursor, with, others) else { return Fired::Nothing };
    // Nobody has aborted, so that no call of the volley is one too many.
    let Some(comm) = comm.filter(|_| world.enter_calls(volley.function) == Some(Time::MAX)) else {
        return Fired::Nothing;
    };
    let (rank, clock) = (world.messages.me(), world.messages.clock(world.messages.me()));
    let others = &others[..volley.starts.len()];
    if volley.sends > 1 {
        receivers(&volley.rows, others)
            .for_each(|others| volley::prefetch_ranks(&world.messages, comm.first, others));
    }
    let caller = Caller { rank, clock, knows: Known::Made(&world.objects.comms, made), first: 0 };
    workload.fire(&caller, cursor, computed);
    volley::begin(&mut world.messages);
    if volley.sends > 1 {
        receivers(&volley.rows, others)
            .for_each(|others| volley::prefetch_receives(&world.messages, comm.first, others));
        if world.messages.ranks().exceed_cache() {
            approach(world, &volley, comm, others);
        }
    }
    let entered = make_calls(world, &volley, comm, others, computed);
    let (waits, is_far) = volley::end(&mut world.messages, volley.sends);
    if is_far && let Some(others) = receivers(&volley.rows, others).last() {
        let last: Vec<u32> = others.iter().map(|other| comm.first + other).collect();
        volley::end_burst(&mut world.messages, &last);
    }
    if !waits && world.settle_all_ignored() {
        world.messages.ranks_mut().leave_call(volley.function, entered);
        return Fired::Over;
    }
    let word = volley.requests.map_or(RECEIVES, |requests| requests as usize);
    if waits {
        Fired::Waits(volley.function, entered, word)
    } else {
        Fired::Looks(volley.function, entered, word)
    }
}

/// Makes its calls, the last one but for its end: when that was entered.
#[inline(always)]
fn make_calls(
    world: &mut World,
    volley: &Volley,
    comm: Consecutive,
    others: &[u32],
    computed: &[Span],
) -> Time {
    let Consecutive { context, me, first, .. } = comm;
    let rank = world.messages.me();
    let mut clock = world.messages.clock(rank);
    let (mut messages, mut computed) = (volley.starts.iter().zip(others), computed.iter());
    for &(function, what, count) in &volley.rows {
        world.messages.ranks_mut()[rank].strand.set_function(function);
        for (&Start { tag, bytes, number, .. }, &other) in messages.by_ref().take(count as usize) {
            if let Some(&computed) = computed.next() {
                world.messages.ranks_mut().charge(rank, computed);
                clock = world.messages.clock(rank);
            }
            if what == Starts::Irecvs {
                volley::receive(&mut world.messages, &Envelope::new(context, other, tag), bytes, number);
            } else {
                volley::send(
                    &mut world.messages,
                    first + other,
                    &Envelope::new(context, me, tag),
                    bytes,
                    clock,
                );
            }
        }
        // The last call is counted as it ends, with the time that it took.
        if function != volley.function {
            world.messages.ranks_mut().profile_mut().calls_at_once(function, u64::from(count));
        }
    }
    if let Some(&computed) = computed.next() {
        world.messages.ranks_mut().charge(rank, computed);
        clock = world.messages.clock(rank);
    }
    world.messages.ranks_mut()[rank].strand.set_function(volley.function);
    clock
}

/// Asks for what its messages will meet.
#[inline(never)]
fn approach(
    world: &World,
    volley: &Volley,
    Consecutive { context, me, first, .. }: Consecutive,
    others: &[u32],
) {
    let mut messages = volley.starts.iter().zip(others);
    for &(_, what, count) in &volley.rows {
        for (start, &other) in messages.by_ref().take(count as usize) {
            match what {
                Starts::Irecvs => {
                    volley::prefetch_other(&world.messages, None, &Envelope::new(context, other, start.tag))
                }
                _ => volley::prefetch_other(
                    &world.messages,
                    Some(first + other),
                    &Envelope::new(context, me, start.tag),
                ),
            }
        }
    }
}

/// Returns to whom a volley sends, row by row.
#[inline(always)]
fn receivers<'o>(rows: &[(u16, Starts, u32)], others: &'o [u32]) -> impl Iterator<Item = &'o [u32]> {
    let mut at = 0;
    rows.iter().filter_map(move |&(_, what, count)| {
        let row = at..at + count as usize;
        at = row.end;
        (what != Starts::Irecvs).then(|| &others[row])
    })
}

impl<W: Workload> Machines<'_, W> {
    /// Ends the last call of a volley.
    #[inline]
    pub(super) fn end_volley(&mut self, rank: u32) -> Result<Answer> {
        let mut world = self.mpi.world();
        if !world.settle_all_ignored() {
            drop(world);
            return self.end_unsettled_volley(rank);
        }
        let Machine { function, entered, .. } = self.machines[rank as usize];
        world.messages.ranks_mut().leave_call(function, entered);
        Ok(Answer::Done)
    }

    /// Ends as [`Machines::end_volley`] does a volley of which the rank may have to see something: as if it
    /// had been made call by call.
    #[cold]
    pub(super) fn end_unsettled_volley(&mut self, rank: u32) -> Result<Answer> {
        let Machine { word, .. } = self.machines[rank as usize];
        let unsettled = {
            let mut world = self.mpi.world();
            world.messages.completing().settle_arrived();
            volley::unsettled(&mut world.messages)
        };
        if word == RECEIVES {
            for (_, node) in unsettled {
                self.mpi.end_receive(node)?;
            }
        } else {
            let handles = &mut self.list(rank).handles;
            handles.resize(word, REQUEST_NULL);
            unsettled.into_iter().for_each(|(number, node)| handles[number as usize] = handle::of_node(node));
            self.end_completing(rank, Wait::All, false)?;
        }
        self.leave(rank);
        Ok(Answer::Done)
    }
}
