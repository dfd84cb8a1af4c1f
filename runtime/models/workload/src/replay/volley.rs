//! Volleys of a trace: messages that are started one after the other and then waited for, put together once
//! for all ranks that make them.

use super::position::{Lead, Position, Step};
use super::ready::{Ready, Waiting};
use crate::call::{Start, Starts, Volley};
use mpi::volley::MAX_MESSAGES;
use std::rc::Rc;
use trace::trace::Cell;

/// No volley.
const NONE: u32 = u32::MAX;

/// One of them.
pub(super) struct Planned {
    pub(super) volley: Rc<Volley>,
    /// With whom its messages are, and which are sends.
    pub(super) others: Box<[(Cell, bool)]>,
    /// The way behind each of its calls.
    pub(super) path: Box<[Lead]>,
}

impl Planned {
    /// The way behind all of it.
    // Straight, since its last call is behind all others, or in the loop's next turn as some of them are.
    #[inline(always)]
    pub(super) fn behind(&self) -> Lead {
        self.path.last().copied().unwrap_or(Lead::NOWHERE)
    }
}

/// All of a trace.
#[derive(Default)]
pub(super) struct Volleys {
    all: Vec<Planned>,
    /// By the step at which a rank is: [`NONE`] where none begins.
    at: Vec<u32>,
}

impl Volleys {
    /// Finds the volleys among the steps. O(steps).
    pub(super) fn new(steps: &[Step], ready: &[Option<Ready>], waits: &[Option<Waiting>]) -> Volleys {
        let mut volleys = Volleys { all: Vec::new(), at: vec![NONE; steps.len()] };
        let call = |step: usize| {
            if let Some(Step::Call(call)) = steps.get(step) { Some(*call as usize) } else { None }
        };
        let starts = |step: usize| {
            call(step).and_then(|call| ready[call].as_ref()).is_some_and(|ready| ready.starts().is_some())
        };
        for step in 0..steps.len() {
            // From the first of its messages on: whoever comes to another one has made some of them by
            // themselves, and these are open.
            if step.checked_sub(1).is_some_and(starts) {
                continue;
            }
            if let Some(planned) = from(steps, ready, waits, step) {
                volleys.at[step] = volleys.all.len() as u32;
                volleys.all.push(planned);
            }
        }
        for (end, step) in steps.iter().enumerate() {
            if let Step::Turn(begin) = step {
                volleys.at[end] = volleys.at[*begin as usize];
            }
        }
        volleys
    }

    /// Returns `true` if one may begin where a rank is.
    #[inline(always)]
    pub(super) fn any_at(&self, position: &Position) -> bool {
        self.at[position.step as usize] != NONE
    }

    /// Returns the volley that begins where a rank is, if the rank has a turn left where one ends.
    #[inline(always)]
    pub(super) fn at(&self, position: &Position) -> Option<&Planned> {
        self.begun(position).filter(|planned| planned.behind().way(position).is_some())
    }

    /// Returns the volley that begins where a rank is.
    #[inline(always)]
    pub(super) fn begun(&self, position: &Position) -> Option<&Planned> {
        self.all.get(self.at[position.step as usize] as usize)
    }

    /// Gives functions other numbers: by their own.
    pub(super) fn number_functions(&mut self, numbers: &[u16]) {
        for planned in &mut self.all {
            let volley = Rc::make_mut(&mut planned.volley);
            volley.function = numbers[usize::from(volley.function)];
            for (function, ..) in &mut volley.rows {
                *function = numbers[usize::from(*function)];
            }
        }
    }
}

/// Returns the volley that begins at a step, if one does; it may reach over the end of its loop into the next
/// round.
fn from(steps: &[Step], ready: &[Option<Ready>], waits: &[Option<Waiting>], begin: usize) -> Option<Planned> {
    let (mut starts, mut rows, mut others, mut path) =
        (Vec::new(), Vec::<(u16, Starts, u32)>::new(), Vec::new(), Vec::new());
    let mut comm = None;
    let mut add = |ready: &Ready, what: Starts| {
        match rows.last_mut() {
            Some((function, starts, count)) if (*function, *starts) == (ready.function, what) => *count += 1,
            _ => rows.push((ready.function, what, 1)),
        }
        starts.push(ready.start(0));
        others.push((ready.rank, what != Starts::Irecvs));
        *comm.get_or_insert(ready.comm) == ready.comm && starts.len() <= MAX_MESSAGES
    };
    let (mut at, mut goes_round) = (begin, false);
    let (function, requests) = loop {
        let call = match steps[at] {
            Step::Call(call) => call,
            // Once: a volley has an end.
            Step::Turn(first) if first as usize <= begin && !goes_round => {
                (at, goes_round) = (first as usize, true);
                continue;
            }
            _ => return None,
        };
        at += 1;
        path.push(Lead::to(call, at as u32));
        let (ready, waits) = (ready[call as usize].as_ref(), waits[call as usize].as_ref());
        match (ready, waits) {
            (Some(ready), _) => match ready.starts() {
                Some(what) if add(ready, what) => {}
                None if ready.receives() && add(ready, Starts::Irecvs) => break (ready.function, None),
                _ => return None,
            },
            (None, Some(wait)) => {
                break (
                    wait.function,
                    Some(wait.awaited.counts_up.then_some(wait.awaited.numbers.len() as u32)?),
                );
            }
            (None, None) => return None,
        }
    };
    let mut numbers: Vec<u32> = numbers(&rows, &starts).collect();
    if requests.is_none() {
        numbers.pop();
    }
    numbers.sort_unstable();
    let is_whole = numbers.iter().copied().eq(0..requests.unwrap_or(0));
    let sends = others.iter().filter(|(_, sent)| *sent).count() as u16;
    let volley = Volley { starts: starts.into(), rows: rows.into(), comm: comm?, sends, function, requests };
    // One receive alone is made as fast by itself.
    (is_whole && path.len() > 1).then(|| Planned {
        volley: Rc::new(volley),
        others: others.into(),
        path: path.into(),
    })
}

/// Returns the numbers of the requests that these make.
fn numbers(rows: &[(u16, Starts, u32)], starts: &[Start]) -> impl Iterator<Item = u32> {
    let what = rows.iter().flat_map(|&(_, what, count)| (0..count).map(move |_| what));
    what.zip(starts).filter(|(what, _)| *what != Starts::Sends).map(|(_, start)| start.number)
}
