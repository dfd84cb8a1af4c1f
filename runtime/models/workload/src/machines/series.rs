//! Messages that are alike: what they have in common is looked up once for all of them, and they are held
//! until the rank's next call of another kind (`message/batch.rs`), as a program's are.

use super::row::open_of;
use crate::call::{Partners, Series, Start, Starts};
use crate::requests::Lists;
use crate::workload::{Caller, Known, Workload, handle_of};
use engine::{Span, Time};
use mpi::World;
use mpi::call::failure::Stop;
use mpi::comm::Consecutive;
use mpi::departures::let_others_run;
use mpi::envelope::Envelope;
use mpi::handle::{self, REQUEST_SENT};
use mpi::volley;

/// The reason why a series ended.
pub(super) enum Ran {
    /// The rank's next call is none of it, or has to be made by itself; whether it made any.
    On(bool),
    /// The rank ends, with this status.
    Stops(i32),
    /// A send, entered then, is to let others run before it is over.
    Halts(Time),
}

/// Makes the calls of a series of the mounted rank, which is there in its calls, has this list of open
/// requests, and has made these communicators. Those that are more than plain messages within the process,
/// and wrong ones, are left to be made by themselves.
// Out of line, so that what is made one by one keeps its registers.
#[inline(never)]
pub(super) fn run<W: Workload>(
    world: &mut World,
    workload: &mut W,
    lists: &mut Lists,
    (cursor, list, made): (&mut W::Cursor, &mut u32, &[usize]),
    series: &Series,
) -> Ran {
    let messages = &world.messages;
    let is_plain = match series.starts {
        Starts::Sends => {
            messages.fabric().sends_plainly() && !let_others_run(messages.ranks(), messages.peers())
        }
        Starts::Isends => messages.fabric().sends_plainly() && !messages.peers().are_crowded(),
        Starts::Irecvs => messages.requests().receives_plainly(),
    };
    let Some(comm) = world.objects.comms.consecutive(handle_of(made, series.comm)).filter(|_| is_plain)
    else {
        return Ran::On(false);
    };
    let Some(limit) = world.enter_calls(series.function) else { return Ran::On(false) };
    let (rank, mut entered) = (world.messages.me(), world.messages.clock(world.messages.me()));
    let partners = partners(world, &comm, series.starts);
    let mut open = (series.starts != Starts::Sends).then(|| open_of(lists, list));
    let mut calls = 0;
    let ran = loop {
        if calls == series.calls {
            break Ran::On(true);
        }
        let caller =
            Caller { rank, clock: entered, knows: Known::Made(&world.objects.comms, made), first: 0 };
        let Some((computed, Start { peer, tag, bytes, number })) = workload.start(&caller, cursor, &partners)
        else {
            break Ran::On(calls > 0);
        };
        if computed != Span::ZERO {
            world.messages.ranks_mut().charge(rank, computed);
            entered = world.messages.clock(rank);
        }
        if entered >= limit
            && let Some(Stop::Ends(status)) = world.must_stop()
        {
            world.messages.flush_batch();
            break Ran::Stops(status);
        }
        calls += 1;
        let messages = &mut world.messages;
        let request = if series.starts == Starts::Irecvs {
            handle::of_node(volley::batch_receive(messages, Envelope::new(comm.context, peer, tag), bytes))
        } else {
            volley::batch_send(
                messages,
                comm.first + peer,
                &Envelope::new(comm.context, comm.me, tag),
                bytes,
            );
            REQUEST_SENT
        };
        match &mut open {
            Some(open) => open.put(number, request),
            None if let_others_run(messages.ranks(), messages.peers()) => {
                // Its end is told by who sees to the others.
                calls -= 1;
                break Ran::Halts(entered);
            }
            None => {}
        }
    };
    world.messages.ranks_mut().profile_mut().calls_at_once(series.function, u64::from(calls));
    ran
}

/// Returns whom plain messages may be with: sends go to ranks of this process.
#[inline(always)]
pub(super) fn partners(world: &World, comm: &Consecutive, starts: Starts) -> Partners {
    let Consecutive { me, size, first, .. } = *comm;
    if starts == Starts::Irecvs {
        return Partners { me, size, first: 0, count: size };
    }
    let begin = world.messages.ranks().first().clamp(first, first + size);
    let end = (world.messages.ranks().first() + world.messages.ranks().local()).clamp(begin, first + size);
    Partners { me, size, first: begin - first, count: end - begin }
}
