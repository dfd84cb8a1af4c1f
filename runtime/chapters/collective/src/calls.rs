//! Records of the collective calls on each communicator: whose call is the next one, and to which instance it
//! belongs.

use engine::Time;
use rustc_hash::FxHashMap;
use schedule::segments::Segments;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::rc::Rc;

/// A call of a communicator, as a member counts them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CallId {
    /// The number among all calls but those of persistent collectives.
    Call(u32),
    /// A start of a persistent collective: its number among their initializations, and how often it was
    /// started before.
    Start(u32, u32),
}

/// A communicator's persistent collectives.
#[derive(Default)]
pub(crate) struct PersistentCollectives {
    /// Number of persistent collectives that a member has made, by member.
    pub(super) made: FxHashMap<u32, u32>,
    /// The instances of those that are started, by number.
    pub(super) open: FxHashMap<(u32, u32), u32>,
}

impl PersistentCollectives {
    /// Returns the instance of a start, if a member has made it.
    pub(super) fn instance(&self, number: u32, times: u32) -> Option<u32> {
        self.open.get(&(number, times)).copied()
    }
}

/// A member whose call was refused.
#[derive(Clone, Copy)]
pub(crate) struct Refusal {
    pub(super) member: u32,
    /// The rank in `MPI_COMM_WORLD`, its clock, and when its interface is free.
    pub(super) rank: u32,
    pub(super) clock: Time,
    pub(super) nic_free: Time,
}

/// The collective calls on one communicator; both sides of an intercommunicator have one such record.
#[derive(Default)]
pub(crate) struct Calls {
    /// Calls so far, by member from `from` on. Made at the first call, so that communicators for messages
    /// alone cost nothing a member.
    made: Vec<u32>,
    from: u32,
    /// Instances of the calls from number `first` on; none where all members have left.
    // From the first call that is not over on: O(calls under way) memory however many there were, and any of
    // them is found by its number.
    instances: VecDeque<Option<u32>>,
    first: u32,
    /// The persistent collectives, if there are any.
    persistent: Option<Box<PersistentCollectives>>,
    /// Members that were refused a call, by the call's number, while no member has entered the call.
    #[allow(clippy::box_collection, reason = "each communicator has this, and few ever need it")]
    // A tree and not a table of hashes: reports list it, and their order must not be the host's.
    refused: Option<Box<BTreeMap<u32, Vec<Refusal>>>>,
    /// Ranks that were refused calls that all members of this process were refused: members elsewhere may
    /// wait for them.
    all_refused: BTreeSet<u32>,
}

impl Calls {
    /// Returns how many calls a member has made.
    #[inline]
    pub(crate) fn of(&self, member: u32) -> u32 {
        self.made.get(member.wrapping_sub(self.from) as usize).copied().unwrap_or(0)
    }
    /// Returns how many calls a member has made, to count one more; none before the first call of any.
    #[inline]
    pub(crate) fn of_mut(&mut self, member: u32) -> Option<&mut u32> {
        self.made.get_mut(member.wrapping_sub(self.from) as usize)
    }
    /// Returns the instance of a call, if a member has made it.
    fn instance(&self, call: CallId) -> Option<u32> {
        match call {
            CallId::Call(call) => self.instances.get((call - self.first) as usize).copied().flatten(),
            CallId::Start(number, times) => self.persistent.as_ref()?.instance(number, times),
        }
    }
    /// Returns the number of the call that an instance is of, if it is none of a persistent collective.
    pub(crate) fn number(&self, instance: u32) -> Option<u32> {
        (self.first..)
            .zip(&self.instances)
            .find(|(_, known)| **known == Some(instance))
            .map(|(number, _)| number)
    }
    /// Returns `true` if members may have made calls.
    pub(crate) fn has_begun(&self) -> bool {
        !self.made.is_empty()
    }
    /// Returns `true` if any call is under way.
    fn are_open(&self) -> bool {
        self.instances.iter().any(Option::is_some)
            || self.persistent.as_ref().is_some_and(|persistent| !persistent.open.is_empty())
    }
    /// Records that a member's next call belongs to `instance`; `here` are the members that can call on this
    /// process.
    pub(crate) fn enter(&mut self, member: u32, here: Range<u32>, instance: u32) {
        let position = self.count(member, here);
        self.instances[position] = Some(instance);
    }
    /// A member makes its next call: the place of that among the calls under way.
    // Room for all members at the first call: a member then costs four bytes a communicator, and counting is
    // one addition.
    fn count(&mut self, member: u32, here: Range<u32>) -> usize {
        if !self.has_begun() {
            (self.from, self.made) = (here.start, vec![0; here.len()]);
        }
        let call = &mut self.made[(member - self.from) as usize];
        let position = (*call - self.first) as usize;
        *call += 1;
        if self.instances.len() <= position {
            self.instances.resize(position + 1, None);
        }
        position
    }
    /// Records that a member is refused its next call, which counts as made; `unheard`, if nobody has entered
    /// the call yet.
    pub(super) fn refuse(&mut self, member: u32, here: Range<u32>, unheard: Option<Refusal>) {
        let call = self.of(member);
        self.count(member, here);
        if let Some(refusal) = unheard {
            self.refused.get_or_insert_default().entry(call).or_default().push(refusal);
        }
        self.forget_first();
    }
    /// Returns `true` if members were refused a call that nobody has entered.
    #[inline]
    pub(super) fn was_refused(&self, call: u32) -> bool {
        self.refused.as_ref().is_some_and(|refused| refused.contains_key(&call))
    }
    /// Takes the members that were refused a call, as a member enters it, and returns them.
    pub(super) fn take_refused(&mut self, call: u32) -> Vec<Refusal> {
        self.refused.as_mut().and_then(|refused| refused.remove(&call)).unwrap_or_default()
    }
    /// Returns the ranks that were refused calls which nobody on this process has entered, in order.
    pub(crate) fn refused_ranks(&self) -> BTreeSet<u32> {
        let open =
            self.refused.iter().flat_map(|refused| refused.values().flatten().map(|refusal| refusal.rank));
        open.chain(self.all_refused.iter().copied()).collect()
    }
    /// Records that all members have left `instance`.
    pub(crate) fn leave(&mut self, instance: u32) {
        if let Some(place) = self.instances.iter_mut().find(|place| **place == Some(instance)) {
            *place = None;
        }
        self.forget_first();
    }
    /// Forgets the first calls that are over.
    // A place in the list is empty once its instance is over, since members pass through the calls in order;
    // or while nobody has made the call but members who were refused it. When all were, it is over too.
    fn forget_first(&mut self) {
        while self.instances.front() == Some(&None) {
            if let Some(refused) = &mut self.refused
                && let Some(refusals) = refused.get(&self.first)
            {
                if refusals.len() < self.made.len() {
                    return;
                }
                self.all_refused.extend(refusals.iter().map(|refusal| refusal.rank));
                refused.remove(&self.first);
            }
            self.instances.pop_front();
            self.first += 1;
        }
    }
    /// Returns its persistent collectives, if there are any.
    pub(crate) fn persistent(&mut self) -> Option<&mut PersistentCollectives> {
        self.persistent.as_deref_mut()
    }
    /// Returns its persistent collectives, made if there are none.
    pub(crate) fn make_persistent(&mut self) -> &mut PersistentCollectives {
        self.persistent.get_or_insert_default()
    }
}

/// The calls on all communicators, by the communicator's index; a freed one's index is used again.
#[derive(Default)]
pub(crate) struct CallTable {
    calls: Vec<Calls>,
    /// Members on each process, by communicator, once they were looked up. The inner `None`: the members'
    /// world ranks do not ascend.
    // O(members) to find out, and asked by every call of a communicator that spreads over processes. "Not in
    // rows" is an answer, too, and kept.
    segments: RefCell<Vec<Option<Option<Rc<Segments>>>>>,
}

impl CallTable {
    /// Returns the calls on a communicator, if there were any.
    #[inline]
    pub(crate) fn get(&self, comm: u32) -> Option<&Calls> {
        self.calls.get(comm as usize)
    }
    /// Returns the calls on a communicator, if there were any.
    #[inline]
    pub(crate) fn get_mut(&mut self, comm: u32) -> Option<&mut Calls> {
        self.calls.get_mut(comm as usize)
    }
    /// Returns the communicators with calls that members were refused and no rank of this process has
    /// entered.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (u32, &Calls)> {
        (0..).zip(&self.calls).filter(|(_, calls)| calls.refused.is_some())
    }
    /// Returns the calls on a communicator, to add to them.
    pub(crate) fn make(&mut self, comm: u32) -> &mut Calls {
        if self.calls.len() <= comm as usize {
            self.calls.resize_with(comm as usize + 1, Calls::default);
        }
        &mut self.calls[comm as usize]
    }
    /// Returns the communicators on which members have made calls.
    pub(crate) fn begun(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.calls).filter(|(_, calls)| calls.has_begun()).map(|(comm, _)| comm)
    }
    /// Returns how many calls a member has made on a communicator.
    #[inline]
    pub(crate) fn of(&self, comm: u32, member: u32) -> u32 {
        self.get(comm).map_or(0, |calls| calls.of(member))
    }
    /// Returns the instance of a call, if a member has made it.
    pub(crate) fn instance(&self, comm: u32, call: CallId) -> Option<u32> {
        self.get(comm)?.instance(call)
    }
    /// Returns `true` if any call on a communicator is under way.
    pub(crate) fn are_open(&self, comm: u32) -> bool {
        self.get(comm).is_some_and(Calls::are_open)
    }
    /// Records that the communicator with this index is no more; the next one with it starts anew.
    pub(crate) fn forget(&mut self, comm: u32) {
        if let Some(calls) = self.get_mut(comm) {
            *calls = Calls::default();
        }
        if let Some(segments) = self.segments.get_mut().get_mut(comm as usize) {
            *segments = None;
        }
    }
    /// Returns where the members of a communicator are; `find` says so once.
    pub(crate) fn segments(
        &self,
        comm: u32,
        find: impl FnOnce() -> Option<Segments>,
    ) -> Option<Rc<Segments>> {
        let mut segments = self.segments.borrow_mut();
        if segments.len() <= comm as usize {
            segments.resize(comm as usize + 1, None);
        }
        segments[comm as usize].get_or_insert_with(|| find().map(Rc::new)).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Members pass through the calls each in its own pace; an instance is over when the last member
        // leaves.
        #[test]
        fn a_members_next_call_meets_the_instance_of_those_before_it(
            order in prop::collection::vec(0u32..4, 0..80),
            from in 0u32..3,
        ) {
            let mut table = CallTable::default();
            let mut made = [0u32; 4];
            let mut instances: Vec<(u32, u32)> = Vec::new();
            for member in order {
                let call = made[member as usize];
                prop_assert_eq!(table.of(2, from + member), call);
                let known = instances
                    .get(call as usize)
                    .filter(|(_, entered)| *entered < 4)
                    .map(|(instance, _)| *instance);
                prop_assert_eq!(table.instance(2, CallId::Call(call)), known);
                let instance = known.unwrap_or(100 + call);
                table.make(2).enter(from + member, from..from + 4, instance);
                made[member as usize] += 1;
                if known.is_none() {
                    instances.push((instance, 0));
                }
                instances[call as usize].1 += 1;
                if instances[call as usize].1 == 4 {
                    table.make(2).leave(instance);
                }
            }
            prop_assert_eq!(table.of(1, 0), 0);
        }
    }

    fn refusal(rank: u32) -> Refusal {
        Refusal { member: rank, rank, clock: Time::ZERO, nic_free: Time::ZERO }
    }

    #[test]
    fn a_refused_call_counts_and_is_over_when_all_are_past_it() {
        let mut calls = Calls::default();
        for call in 0..3 {
            for member in [1, 0] {
                assert_eq!(calls.of(member), call);
                calls.refuse(member, 0..2, Some(refusal(member)));
            }
            assert!(!calls.was_refused(call));
        }
        assert_eq!((calls.first, calls.instances.len()), (3, 0));
        calls.refuse(1, 0..2, Some(refusal(7)));
        calls.refuse(1, 0..2, Some(refusal(7)));
        assert!(calls.was_refused(3) && calls.refused_ranks().into_iter().eq([0, 1, 7]));
        assert_eq!(calls.take_refused(3).len(), 1);
        calls.enter(0, 0..2, 55);
        assert_eq!(calls.instance(CallId::Call(3)), Some(55));
        calls.leave(55);
        assert_eq!((calls.first, calls.instance(CallId::Call(4))), (4, None));
        calls.take_refused(4);
        calls.enter(0, 0..2, 56);
        assert_eq!(calls.instance(CallId::Call(4)), Some(56));
    }

    #[test]
    fn a_freed_communicators_index_starts_anew() {
        let mut table = CallTable::default();
        table.make(3).enter(0, 0..2, 7);
        table.make(3).make_persistent();
        table.forget(3);
        table.forget(9);
        assert!(!table.make(3).has_begun());
        assert_eq!(table.instance(3, CallId::Call(0)), None);
        assert!(table.make(3).persistent().is_none());
    }
}
