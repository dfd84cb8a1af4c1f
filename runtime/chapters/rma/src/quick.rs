//! The beginning of a short access in an epoch of locks, as fine-grained programs make them by the million:
//! the general way (`issue.rs`) without what it does not need.

use crate::access::{TargetAction, Turn, Waiting};
use crate::atomic::{INLINE_BYTES, few};
use crate::came::{Act, Came};
use crate::issue::{Operation, RmaArguments, Target, action, pair};
use crate::origin::Hold;
use crate::short::{Does, Short};
use crate::state::Rma;
use objects::Objects;
use objects::win::Flavor;
use p2p::Messages;
use p2p::chapter::arrivals::Arrival;
use p2p::point_to_point::FIRST_MEMORY;
use rank::{Addr, memory};

impl Rma {
    /// Issues a short access without a request, whose data is one piece, alike on both sides. Its rank has a
    /// lock of the target that others may share, and has accessed the target before if it locked all. Returns
    /// `None`, with nothing done, for any other access and for an erroneous one: the general path reports the
    /// error.
    #[inline(always)]
    pub fn issue_short(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        asked: &RmaArguments,
    ) -> Option<()> {
        let &RmaArguments { win, operation, buffer: (buffer, count, kind), target, wants_request } = asked;
        if wants_request || (count, kind) != (target.count, target.datatype) || messages.fabric().is_shared()
        {
            return None;
        }
        let pair = pair(messages, objects, win, target.rank)?;
        let datatype = objects.types.usable(pair.me, kind).ok()?;
        let bytes = u64::try_from(count).ok().and_then(|count| datatype.size.checked_mul(count))?;
        let short = bytes != 0 && bytes <= INLINE_BYTES as u64 && datatype.contiguous;
        if !short || buffer.offset(datatype.true_lb).0 < FIRST_MEMORY {
            return None;
        }
        let at = place(objects, pair.win, target, bytes)?;
        let action = match operation {
            Operation::Put => TargetAction::Put,
            Operation::Get => TargetAction::Get,
            Operation::Accumulate(_) => action(messages, objects, operation, datatype, target).ok()?,
            Operation::GetAccumulate(..) | Operation::CompareAndSwap(..) => return None,
        };
        let channel = self.channel_again(self.origins.find((pair.win, pair.me))?, pair.to)?;
        // Who may not have the target's lock yet does not know when its accesses are answered: they wait
        // there with its request.
        let (hold, is_local, fetches) =
            (self.channels[channel].hold, messages.ranks().is_local(pair.to), action == TargetAction::Get);
        if !matches!(
            (hold, is_local, fetches),
            (Hold::Shared | Hold::Unchecked, true, _)
                | (Hold::Shared | Hold::Unchecked | Hold::Lazy, false, false)
        ) {
            return None;
        }
        if !is_local {
            let back = self.count(channel, hold, (action, Turn::Ordered));
            let mut access = self.begin(pair, action, Turn::Ordered, back);
            (access.place.at, access.place.bytes, access.data) = (at, bytes, few(buffer, bytes as usize));
            self.send(messages, objects, channel, access);
            return Some(());
        }
        let (does, there, back) = match action {
            TargetAction::Get => (Does::Get, 0, bytes),
            TargetAction::Accumulate(combine) => (Does::Accumulate(combine), bytes, 0),
            _ => (Does::Put, bytes, 0),
        };
        let (data, wanted) =
            if fetches { ([0; 2], buffer) } else { (memory::load_short(buffer, bytes as usize), Addr::NULL) };
        if fetches {
            messages.ranks_mut().profile_mut().message(bytes);
        }
        let (leaves, sequence) = self.leave(messages, pair.me, there);
        let (there, back) = (
            messages.fabric().latency(pair.me, pair.to, there),
            messages.fabric().latency(pair.to, pair.me, back),
        );
        let state = &mut self.channels[channel];
        let time = state.latest.max(leaves + there);
        let came = Came { at: time + back, after: Act { at: leaves, by: pair.me } };
        state.latest = time;
        state.done = state.done.or_later(came);
        state.outstanding += 1;
        state.ordered = true;
        let origin = self.origins.at_mut(state.origin);
        let before = state.uses(channel, origin.flushes, fetches, &mut self.data);
        origin.done = origin.done.or_later(came);
        origin.outstanding += 1;
        if fetches {
            self.fetches(channel, Some(came), before);
        }
        let what =
            Waiting::Short(Short { at, wanted, data, win: pair.win, channel, bytes: bytes as u8, does });
        self.arrivals.push(messages, pair.to, Arrival { time, origin: pair.me, sequence, what });
        Some(())
    }

    /// The channel of the origin of this index to a target, if there is one.
    // Programs access the same targets in the same order again and again: what followed the last time is
    // tried before the table.
    #[inline(always)]
    fn channel_again(&mut self, origin: u32, to: u32) -> Option<u32> {
        let last = self.origins.at_mut(origin).last;
        let is_it = |index: u32| {
            self.channels
                .get(index)
                .filter(|channel| channel.origin == origin && channel.target == to)
                .is_some()
        };
        if is_it(last) {
            return Some(last);
        }
        let next = self.channels.get(last).map_or(last, |channel| channel.next);
        let found = if is_it(next) { next } else { self.look_up(origin, last, to)? };
        self.origins.at_mut(origin).last = found;
        Some(found)
    }

    #[inline(never)]
    fn look_up(&mut self, origin: u32, last: u32, to: u32) -> Option<u32> {
        let found = *self.origins.at_mut(origin).channels.get(&to)?;
        if let Some(channel) = self.channels.get_mut(last).filter(|channel| channel.origin == origin) {
            channel.next = found;
        }
        Some(found)
    }
}

/// Returns where so many bytes are, from the beginning of the target's memory, if they are in the window.
#[inline(always)]
fn place(objects: &Objects, win: u32, target: Target, bytes: u64) -> Option<i64> {
    let win = objects.wins.at(win);
    if win.flavor == Flavor::Dynamic {
        return None;
    }
    let at = target.displacement.checked_mul(win.units.get(target.rank as u32))?;
    let size = win.exposed[target.rank as usize].size;
    (target.displacement >= 0 && bytes <= size && at as u64 <= size - bytes).then_some(at)
}
