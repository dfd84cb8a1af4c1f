//! Delays: for each wait state the call that came late, and whether its rank computed before it (the first
//! step of what `costs` hands on).
//!
//! Waits are taken in the order of when the late ones acted, last first. So all ranks' steps are read three
//! times: for those that wait, for those that are late, and for what others wait for. O(steps x log ranks).

use super::costs::DelayAttribution;
use super::steps::{CallStep, Cursor, NOTHING, StepsReader, acts};
use recorder::critical_path::{Delay, DelayCost};
use recorder::waiting::WaitState;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// The key of a delay: wait state, place that waits, place that is late.
type Key = (u8, u32, u32);

#[derive(Default)]
struct DelaySum {
    calls: u64,
    lost: u128,
    compute: u128,
}

/// Finds all delays by their places, and what they cost where they began.
pub fn delays(
    reader: &mut StepsReader,
    names: &[&(String, String)],
) -> io::Result<(Vec<Delay>, Vec<DelayCost>)> {
    let mut late: Vec<Cursor> = reader.ranks().map(|rank| reader.cursor(rank)).collect::<io::Result<_>>()?;
    let mut waiting: Vec<Waiting> =
        late.iter().map(|cursor| Waiting { cursor: cursor.clone(), oldest: NOTHING }).collect();
    let mut handed_on = DelayAttribution::new(late.iter().cloned());
    let mut heap = BinaryHeap::new();
    for rank in reader.ranks() {
        if let Some(step) = waiting[rank as usize].loss(reader)? {
            heap.push((step.acted, rank));
        }
    }
    let mut costs: FxHashMap<Key, DelaySum> = FxHashMap::default();
    while let Some((_, rank)) = heap.pop() {
        let waiting = &mut waiting[rank as usize];
        let Some(step) = waiting.loss(reader)? else { continue };
        waiting.pass(&step);
        handed_on.wait(reader, rank)?;
        if let Some(next) = waiting.loss(reader)? {
            heap.push((next.acted, rank));
        }
        let Some((place, computed)) = culprit(reader, &mut late[step.by as usize], &step)? else { continue };
        let cost = costs.entry((step.state, step.place, place)).or_default();
        cost.calls += 1;
        cost.lost += u128::from(step.lost);
        cost.compute += u128::from(computed.min(step.lost));
    }
    let delay = |((state, place, by), cost): (Key, DelaySum)| {
        let ((site, function), (by_site, by_function)) =
            (names[place as usize].clone(), names[by as usize].clone());
        let state = WaitState::ALL[state as usize];
        Delay {
            state,
            site,
            function,
            by_site,
            by_function,
            calls: cost.calls,
            lost_ps: cost.lost,
            compute_ps: cost.compute,
        }
    };
    let mut all: Vec<Delay> = costs.into_iter().map(delay).collect();
    all.sort_by(|a, b| {
        let names = |delay: &Delay| {
            (
                delay.state,
                delay.site.clone(),
                delay.function.clone(),
                delay.by_site.clone(),
                delay.by_function.clone(),
            )
        };
        (Reverse(a.lost_ps), names(a)).cmp(&(Reverse(b.lost_ps), names(b)))
    });
    Ok((all, handed_on.end(reader, names)?))
}

/// A position in a rank's waits, which are read from the last to the first.
struct Waiting {
    cursor: Cursor,
    /// The time at which the first to leave left of the messages that it received in the steps that are
    /// passed, which are later ones.
    oldest: u64,
}

impl Waiting {
    fn pass(&mut self, step: &CallStep) {
        self.oldest = self.oldest.min(step.oldest);
        self.cursor.pass();
    }

    /// Returns the last step that lost anything, of those that are not passed.
    fn loss(&mut self, reader: &mut StepsReader) -> io::Result<Option<CallStep>> {
        while let Some(step) = reader.last(&mut self.cursor)? {
            if step.lost > 0 {
                // What the rank received later had left before: backwards that is known in time.
                let disordered = step.state == WaitState::LateSender as u8 && self.oldest < step.acted;
                return Ok(Some(if disordered {
                    CallStep { state: WaitState::WrongOrder as u8, ..step }
                } else {
                    step
                }));
            }
            self.pass(&step);
        }
        Ok(None)
    }
}

/// The place of the call with which a rank acted too late for `wait`, and how long it had computed when it
/// came there.
// The first call that was entered at that instant and does what was waited for: calls that take no time are
// many at one instant. If there is none, the one within which the rank acted; if that does nothing of the
// kind (a persistent request, a function of the program's), the first at that instant.
fn culprit(reader: &mut StepsReader, cursor: &mut Cursor, wait: &CallStep) -> io::Result<Option<(u32, u64)>> {
    let wanted = match WaitState::ALL[wait.state as usize] {
        WaitState::LateSender | WaitState::WrongOrder => acts::SENDS,
        WaitState::LateReceiver => acts::RECEIVES,
        WaitState::LatePost => acts::EXPOSES,
        WaitState::EarlyWait => acts::COMPLETES,
        WaitState::LockContention => acts::UNLOCKS,
        WaitState::WaitAtBarrier
        | WaitState::WaitAtNxn
        | WaitState::LateBroadcast
        | WaitState::EarlyReduce
        | WaitState::WaitAtFence => acts::GATHERS,
    };
    while reader.last(cursor)?.is_some_and(|step| step.entered > wait.acted) {
        cursor.pass();
    }
    // Others may ask for the same instant: what is passed from here on is passed for this question alone.
    let mut look = cursor.clone();
    let (mut at_once, mut within, mut other): (Option<CallStep>, Option<CallStep>, Option<CallStep>) =
        (None, None, None);
    let mut before = 0;
    while let Some(step) = reader.last(&mut look)? {
        let acts = step.acts & wanted != 0;
        if step.entered == wait.acted {
            (at_once, other) = if acts { (Some(step), other) } else { (at_once, Some(step)) };
        } else if at_once.is_none() && within.is_none() && step.left >= wait.acted && acts {
            within = Some(step);
        } else {
            before = step.left;
            break;
        }
        look.pass();
    }
    Ok(at_once.or(within).or(other).map(|found| (found.place, found.entered.saturating_sub(before))))
}
