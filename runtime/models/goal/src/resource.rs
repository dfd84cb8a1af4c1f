//! Processors and interfaces: until when each is busy, and what waits for it.

use engine::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Work that takes a processor or an interface. Operations count over all ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ReadyElement {
    /// A computation.
    Calculation(u32),
    /// A send.
    Send(u32),
    /// The message of a send at its receiver, and the receive that it has met, if any.
    Message(u32, Option<u32>),
}

/// A processor or an interface.
#[derive(Default)]
pub struct BusyResource {
    /// Time from which on it is free.
    pub free: Time,
    /// Elements that wait for it, the least number first.
    parked: BinaryHeap<Reverse<(u64, ReadyElement)>>,
    /// The wake that counts, of those that were scheduled.
    wake: Option<(Time, u64)>,
}

impl BusyResource {
    /// Adds an element, with its number. Returns the wake to schedule, if another one is needed.
    pub fn park(&mut self, number: u64, element: ReadyElement) -> Option<(Time, u64)> {
        self.parked.push(Reverse((number, element)));
        self.next_wake(Time::ZERO)
    }

    /// Returns the wake to schedule for the first element, unless one that is as early is scheduled.
    pub fn next_wake(&mut self, now: Time) -> Option<(Time, u64)> {
        let Reverse((number, _)) = self.parked.peek()?;
        let wake = (self.free.max(now), *number);
        if self.wake.is_some_and(|known| known <= wake) {
            return None;
        }
        self.wake = Some(wake);
        self.wake
    }

    /// Returns the element that may begin at a wake. A wake that was replaced, or for which the resource is
    /// busy, has none.
    pub fn woken(&mut self, now: Time, number: u64) -> Option<ReadyElement> {
        if self.wake != Some((now, number)) {
            return None;
        }
        self.wake = None;
        if self.free > now || self.parked.peek().is_none_or(|Reverse((first, _))| *first != number) {
            return None;
        }
        self.parked.pop().map(|Reverse((_, element))| element)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_is_woken_first_and_replaced_wakes_do_nothing() {
        let mut resource = BusyResource { free: Time::from_ps(9), ..BusyResource::default() };
        assert_eq!(resource.park(5, ReadyElement::Send(0)), Some((Time::from_ps(9), 5)));
        assert_eq!(resource.park(7, ReadyElement::Send(1)), None);
        assert_eq!(resource.park(3, ReadyElement::Send(2)), Some((Time::from_ps(9), 3)));
        assert_eq!(resource.woken(Time::from_ps(9), 5), None);
        assert_eq!(resource.woken(Time::from_ps(9), 3), Some(ReadyElement::Send(2)));
        resource.free = Time::from_ps(12);
        assert_eq!(resource.next_wake(Time::from_ps(9)), Some((Time::from_ps(12), 5)));
        resource.free = Time::from_ps(20);
        assert_eq!(resource.woken(Time::from_ps(12), 5), None);
        assert_eq!(resource.next_wake(Time::from_ps(12)), Some((Time::from_ps(20), 5)));
    }
}
