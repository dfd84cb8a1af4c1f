//! What is kept of the collective calls on each communicator: whose call is the next one, and to which instance it belongs.

use crate::collective::call_id::{CallId, Persistent};
use crate::collective::instance::Collectives;
use crate::remote::segments::Segments;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

/// The collective calls on one communicator; both sides of an intercommunicator have one such record.
#[derive(Default)]
pub(crate) struct Calls {
    /// Calls so far, by member from `from` on. Made at the first call, so that communicators for messages alone cost nothing a member.
    made: Vec<u32>,
    from: u32,
    /// Instances of the calls from number `first` on; none where all members have left.
    instances: VecDeque<Option<u32>>,
    first: u32,
    /// Its persistent collectives, if there are any.
    persistent: Option<Box<Persistent>>,
}

impl Calls {
    /// How many calls a member has made.
    #[inline]
    pub(crate) fn of(&self, member: u32) -> u32 {
        self.made.get(member.wrapping_sub(self.from) as usize).copied().unwrap_or(0)
    }
    /// How many calls a member has made, to count one more; none before the first call of any.
    #[inline]
    pub(crate) fn of_mut(&mut self, member: u32) -> Option<&mut u32> {
        self.made.get_mut(member.wrapping_sub(self.from) as usize)
    }
    /// The instance of a turn, if a member has made it.
    fn instance(&self, turn: CallId) -> Option<u32> {
        match turn {
            CallId::Call(call) => self.instances.get((call - self.first) as usize).copied().flatten(),
            CallId::Start(number, times) => self.persistent.as_ref()?.instance(number, times),
        }
    }
    /// Whether members may have made calls.
    pub(crate) fn has_begun(&self) -> bool {
        !self.made.is_empty()
    }
    /// A member's next call belongs to `instance`; `here` are the members that can call on this process.
    pub(crate) fn enter(&mut self, member: u32, here: Range<u32>, instance: u32) {
        if !self.has_begun() {
            (self.from, self.made) = (here.start, vec![0; here.len()]);
        }
        let call = &mut self.made[(member - self.from) as usize];
        let position = (*call - self.first) as usize;
        *call += 1;
        if self.instances.len() <= position {
            self.instances.resize(position + 1, None);
        }
        self.instances[position] = Some(instance);
    }
    /// All members have left `instance`.
    pub(crate) fn leave(&mut self, instance: u32) {
        if let Some(place) = self.instances.iter_mut().find(|place| **place == Some(instance)) {
            *place = None;
        }
        // A place in the list is empty only once its instance is over: members pass through the calls in order.
        while self.instances.front() == Some(&None) {
            self.instances.pop_front();
            self.first += 1;
        }
    }
    /// Its persistent collectives, if there are any.
    pub(crate) fn persistent(&mut self) -> Option<&mut Persistent> {
        self.persistent.as_deref_mut()
    }
    /// Its persistent collectives, of which there will be some.
    pub(crate) fn make_persistent(&mut self) -> &mut Persistent {
        self.persistent.get_or_insert_default()
    }
}

/// The calls on all communicators, by the communicator's index; a freed one's index is used again.
#[derive(Default)]
pub(crate) struct CallTable {
    calls: Vec<Calls>,
    /// Which members each process has, where they were asked for, if they are a row on each.
    segments: RefCell<Vec<Option<Option<Rc<Segments>>>>>,
}

impl CallTable {
    /// The calls on a communicator, if there were any.
    #[inline]
    pub(crate) fn get(&self, comm: u32) -> Option<&Calls> {
        self.calls.get(comm as usize)
    }
    /// The calls on a communicator, if there were any.
    #[inline]
    pub(crate) fn get_mut(&mut self, comm: u32) -> Option<&mut Calls> {
        self.calls.get_mut(comm as usize)
    }
    /// The calls on a communicator, to add to them.
    pub(crate) fn make(&mut self, comm: u32) -> &mut Calls {
        if self.calls.len() <= comm as usize {
            self.calls.resize_with(comm as usize + 1, Calls::default);
        }
        &mut self.calls[comm as usize]
    }
    /// How many calls a member has made on a communicator.
    #[inline]
    pub(crate) fn of(&self, comm: u32, member: u32) -> u32 {
        self.get(comm).map_or(0, |calls| calls.of(member))
    }
    /// The instance of a turn, if a member has made it.
    pub(crate) fn instance(&self, comm: u32, turn: CallId) -> Option<u32> {
        self.get(comm)?.instance(turn)
    }
    /// Where the members of a communicator are; `find` says so once.
    pub(crate) fn segments(&self, comm: u32, find: impl FnOnce() -> Option<Segments>) -> Option<Rc<Segments>> {
        let mut segments = self.segments.borrow_mut();
        if segments.len() <= comm as usize {
            segments.resize(comm as usize + 1, None);
        }
        segments[comm as usize].get_or_insert_with(|| find().map(Rc::new)).clone()
    }
}

impl Collectives {
    /// The communicator with this index is no more; the next one with it starts anew.
    pub(crate) fn forget_calls(&mut self, comm: u32) {
        if let Some(calls) = self.calls.get_mut(comm) {
            *calls = Calls::default();
        }
        if let Some(segments) = self.calls.segments.get_mut().get_mut(comm as usize) {
            *segments = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Members pass through the calls each in its own pace; an instance is over when the last member leaves.
        #[test]
        fn a_members_next_call_meets_the_instance_of_those_before_it(order in prop::collection::vec(0u32..4, 0..80), from in 0u32..3) {
            let mut table = CallTable::default();
            let mut made = [0u32; 4];
            let mut instances: Vec<(u32, u32)> = Vec::new();
            for member in order {
                let call = made[member as usize];
                prop_assert_eq!(table.of(2, from + member), call);
                let known = instances.get(call as usize).filter(|(_, entered)| *entered < 4).map(|(instance, _)| *instance);
                prop_assert_eq!(table.instance(2, CallId::Call(call)), known);
                let instance = known.unwrap_or(100 + call);
                table.make(2).enter(from + member, from..from + 4, instance);
                made[member as usize] += 1;
                if known.is_none() { instances.push((instance, 0)); }
                instances[call as usize].1 += 1;
                if instances[call as usize].1 == 4 { table.make(2).leave(instance); }
            }
            prop_assert_eq!(table.of(1, 0), 0);
        }
    }

    #[test]
    fn a_freed_communicators_index_starts_anew() {
        let mut collectives = Collectives::default();
        collectives.calls.make(3).enter(0, 0..2, 7);
        collectives.calls.make(3).make_persistent();
        collectives.forget_calls(3);
        collectives.forget_calls(9);
        assert!(!collectives.calls.make(3).has_begun());
        assert_eq!(collectives.calls.instance(3, CallId::Call(0)), None);
        assert!(collectives.calls.make(3).persistent().is_none());
    }
}
