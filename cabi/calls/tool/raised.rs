//! When events are raised: where a rank enters an MPI function and where it leaves it, outside of both, so
//! that a function that is told may call MPI. What that calls raises nothing.

use super::event::{CURRENT, EventType, INSTANCE, RaisedEvent, told};
use super::locked;
use crate::alone;
use crate::args::Handle;
use crate::callback;
use crate::constants::MPI_T_CB_REQUIRE_NONE;
use crate::function::Function;
use engine::{Span, Time};
use rank::Addr;
use std::sync::Mutex;

/// A call whose return raises an event.
#[derive(Clone, Copy)]
struct RaisedCall {
    rank: u32,
    function: Function,
    entered: Time,
    waited: Span,
    /// Messages and their bytes.
    sent: (u64, u64),
    /// Address of the call's argument registers on the stack.
    frame: usize,
}

/// Calls under way, the innermost of a rank last.
static UNDER: Mutex<Vec<RaisedCall>> = Mutex::new(Vec::new());

/// Returns a rank's clock, how long it has waited, and what it has sent.
fn now(rank: u32) -> (Time, Span, (u64, u64)) {
    let world = alone::mpi().world();
    let messages = &world.messages;
    let sent = messages.watch().sent_by(rank);
    (messages.clock(rank), messages.ranks().profile().rank(rank).wait, (sent.messages, sent.bytes))
}

fn raise(rank: u32, event: EventType, values: [u64; 3], at: Time) {
    for (registration, callback) in told(rank, event) {
        *locked(&CURRENT) = Some(RaisedEvent { event, values, at: at.as_ps() });
        callback::event(
            callback.function,
            Handle(INSTANCE),
            Handle(registration),
            MPI_T_CB_REQUIRE_NONE,
            Addr(callback.user_data),
        );
        *locked(&CURRENT) = None;
    }
}

fn is_told() -> bool {
    locked(&CURRENT).is_some()
}

/// The mounted rank enters a function, whose words are there on its stack.
pub fn entered(function: Function, frame: usize) {
    if is_told() {
        return;
    }
    let rank = alone::mpi().world().messages.me();
    let (entered, waited, sent) = now(rank);
    raise(rank, EventType::Entered, [function as u64, 0, 0], entered);
    let mut under = locked(&UNDER);
    // Their frames are gone: they were left by an exception or a jump.
    under.retain(|other| other.rank != rank || other.frame > frame);
    under.push(RaisedCall { rank, function, entered, waited, sent, frame });
}

/// Raises the events of the mounted rank's call, which has returned.
pub fn left(code: i32) {
    if is_told() {
        return;
    }
    let rank = alone::mpi().world().messages.me();
    let under = {
        let mut under = locked(&UNDER);
        under.iter().rposition(|under| under.rank == rank).map(|at| under.remove(at))
    };
    let Some(RaisedCall { function, entered, waited, sent, .. }) = under else { return };
    let (at, waits, sends) = now(rank);
    let function = function as u64;
    raise(rank, EventType::Left, [function, u64::from(code as u32), entered.as_ps()], at);
    if waits > waited {
        raise(rank, EventType::Waited, [function, (waits - waited).as_ps(), 0], at);
    }
    if sends.0 > sent.0 {
        raise(rank, EventType::Sent, [function, sends.0 - sent.0, sends.1 - sent.1], at);
    }
}
