//! Late senders that turn out to be messages in wrong order (Scalasca's "late sender, wrong order"): while a
//! rank waited for a message it had not received one that had left before. That shows when it receives that
//! one, so that late senders are kept until then.

use engine::{Span, Time};
use recorder::waiting::WaitState;

/// Late senders of a rank that are kept.
// A bound, as whether an older message still comes is not known before the run ends, and a rank may wait
// millions of times. What is received in another order than it was sent in is rarely received more than some
// calls later.
const KEPT: usize = 4;

/// A call that waited for a late sender; of none `lost_ps` is 0.
#[derive(Clone, Copy, Default)]
struct LateSenderWait {
    lost_ps: u64,
    /// The time at which the message left that it waited for.
    sent_ps: u64,
    place: u32,
    by: u32,
}

/// A wait, now that its state is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassifiedWait {
    /// The number of the call site and function of the wait.
    pub place: u32,
    pub state: WaitState,
    pub lost: Span,
    pub rank: u32,
    pub by: u32,
}

/// The last late senders of a process's ranks: 96 bytes for each rank up to the highest that has had any.
#[derive(Default)]
pub struct Order {
    first: u32,
    /// The latest first.
    late: Vec<[LateSenderWait; KEPT]>,
}

impl LateSenderWait {
    fn settled(self, state: WaitState, rank: u32) -> Option<ClassifiedWait> {
        let LateSenderWait { lost_ps, place, by, .. } = self;
        (lost_ps > 0).then_some(ClassifiedWait { place, state, lost: Span::from_ps(lost_ps), rank, by })
    }
}

impl Order {
    /// Creates the record of late senders for the ranks from `first` on.
    pub fn new(first: u32) -> Order {
        Order { first, late: Vec::new() }
    }

    /// Settles the waits of a rank for messages that left after `sent`, since a call of it has received one
    /// that left then, and none that left before. `tell` is given these waits. O(1).
    #[inline]
    pub fn received(&mut self, rank: u32, sent: Time, mut tell: impl FnMut(ClassifiedWait)) {
        let Some(late) = self.late.get_mut((rank - self.first) as usize) else { return };
        for late in late.iter_mut().filter(|late| late.sent_ps > sent.as_ps()) {
            late.settled(WaitState::WrongOrder, rank).into_iter().for_each(&mut tell);
            *late = LateSenderWait::default();
        }
    }

    /// Keeps that a call of a rank lost `lost` to rank `by`, whose message left at `sent`. Returns the wait
    /// that is no longer kept because of that, if there is any. O(1).
    pub fn waited(
        &mut self,
        rank: u32,
        place: u32,
        sent: Time,
        (lost, by): (Span, u32),
    ) -> Option<ClassifiedWait> {
        let at = (rank - self.first) as usize;
        if self.late.len() <= at {
            self.late.resize(at + 1, Default::default());
        }
        let late = &mut self.late[at];
        let oldest = late[KEPT - 1];
        late.copy_within(..KEPT - 1, 1);
        late[0] = LateSenderWait { lost_ps: lost.as_ps(), sent_ps: sent.as_ps(), place, by };
        oldest.settled(WaitState::LateSender, rank)
    }

    /// Takes out all that are kept, at the end of the run: nothing older came.
    pub fn end(&mut self) -> impl Iterator<Item = ClassifiedWait> {
        let ranks = (self.first..).zip(std::mem::take(&mut self.late));
        ranks.flat_map(|(rank, late)| {
            late.into_iter().filter_map(move |late| late.settled(WaitState::LateSender, rank))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what waits of rank 7 at the places 0, 1, ... for messages sent at these times turn out to be,
    /// once one sent at `older` was received.
    fn settled(waits: &[u64], older: u64) -> Vec<(u32, WaitState)> {
        let mut order = Order::new(7);
        let mut all = Vec::new();
        for (place, &sent) in (0..).zip(waits) {
            all.extend(order.waited(7, place, Time::from_ps(sent), (Span::from_ps(3), 9)));
        }
        order.received(7, Time::from_ps(older), |one| all.push(one));
        all.extend(order.end());
        assert!(all.iter().all(|one| (one.rank, one.by, one.lost.as_ps()) == (7, 9, 3)), "{all:?}");
        all.iter().map(|one| (one.place, one.state)).collect()
    }

    #[test]
    fn waits_for_what_was_sent_later_than_what_is_received_later_were_in_wrong_order() {
        use WaitState::{LateSender, WrongOrder};
        assert_eq!(settled(&[50, 20], 10), [(1, WrongOrder), (0, WrongOrder)]);
        assert_eq!(
            settled(&[50, 20], 20),
            [(0, WrongOrder), (1, LateSender)],
            "two that left at once have no order"
        );
        assert_eq!(settled(&[50, 20], 60), [(1, LateSender), (0, LateSender)]);
        assert_eq!(settled(&[50; 5], 10)[0], (0, LateSender), "four are kept");
        Order::new(7).received(8, Time::ZERO, |_| panic!("nobody waited"));
    }
}
