//! Outcome of a receive in the recording: its call does not have it, the one that completed it does.

use super::operation::{Completed, Operation, Slots};
use super::{Cursor, Replay};

/// The recorded result of a receive.
pub(super) struct Outcome {
    /// The source as [`trace::template::Peer`] has it, without a communicator.
    pub(super) source: i64,
    pub(super) tag: i32,
    /// Bytes that were received or read.
    pub(super) bytes: i64,
    pub(super) is_cancelled: bool,
}

impl Replay<'_> {
    /// Returns what came of the request that the cursor's call started; `None` if it was never completed.
    /// O(calls up to then).
    pub(super) fn outcome(&self, cursor: &Cursor, slot: u32) -> Option<Outcome> {
        let mut ahead = cursor.clone();
        while let Some(call) = self.plan.next(&mut ahead.position, &self.columns) {
            let cursor = &ahead;
            let operation = match &self.plan.operations[call as usize] {
                Operation::Failed(of) => of,
                operation => operation,
            };
            match operation {
                Operation::Complete { flag, requests, completed, statuses } => {
                    if self.is_vain(cursor, *flag) {
                        continue;
                    }
                    let is_it = |index: usize| match requests {
                        Slots::Same(slots) => slots.get(index) == Some(&slot),
                        Slots::Each(cells) => cells
                            .get(index)
                            .is_some_and(|cell| cell.is_some_and(|cell| self.slot(cursor, cell) == slot)),
                    };
                    let index = |cell| usize::try_from(self.number(cursor, cell)).unwrap_or(usize::MAX);
                    let place = match completed {
                        Completed::All => (0..requests.len()).find(|&at| is_it(at)),
                        Completed::One(one) => is_it(index(*one)).then_some(0),
                        // Nobody knows what it was then.
                        Completed::Any => None,
                        Completed::Some(some) => some.iter().position(|&one| is_it(index(one))),
                    };
                    let Some(place) = place else { continue };
                    let status = (*statuses.get(place)?)?;
                    let number = |cell| self.number(cursor, cell);
                    return Some(Outcome {
                        source: number(status.source),
                        tag: number(status.tag) as i32,
                        bytes: number(status.bytes),
                        is_cancelled: number(status.is_cancelled) != 0,
                    });
                }
                Operation::FreeRequest { request: Some(request) } if self.slot(cursor, *request) == slot => {
                    return None;
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the bytes that the second half of a split access to this file reports. O(calls up to then).
    pub(super) fn end_of_split(&self, cursor: &Cursor, file: u32) -> Option<i64> {
        let mut ahead = cursor.clone();
        while let Some(call) = self.plan.next(&mut ahead.position, &self.columns) {
            if let Operation::File(call) = &self.plan.operations[call as usize]
                && let Some((other, status)) = call.end_of_split()
                && self.slot(&ahead, other) == file
            {
                return Some(self.number(&ahead, status?.bytes));
            }
        }
        None
    }
}
