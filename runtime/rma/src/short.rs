//! Short accesses in an epoch of locks, which fine-grained programs make by the million: the general way (`issue.rs`) without what they do not need.

use crate::access::{Action, NIL, Turn};
use crate::atomic::Bytes;
use crate::issue::{Asked, Operation, SHORT, Target, action, pair};
use crate::origin::{Hold, Reply};
use crate::place::Place;
use crate::state::Rma;
use message::Messages;
use message::p2p::FIRST_MEMORY;
use message::view::BufferView;
use objects::Objects;
use objects::win::Flavor;

impl Rma {
    /// Issues an access without a request whose data is one piece of a few bytes, alike on both sides, to a target of which its rank has a lock that others may
    /// share, and that it has accessed before if it locked all. `None` and nothing done if it is another one, a wrong one too: the general way tells what is wrong.
    #[inline]
    pub(crate) fn issue_short(&mut self, messages: &mut Messages, objects: &Objects, asked: &Asked) -> Option<()> {
        let &Asked { win, operation, buffer: (buffer, count, kind), target, wants_request } = asked;
        if wants_request || (count, kind) != (target.count, target.datatype) {
            return None;
        }
        let pair = pair(messages, objects, win, target.rank)?;
        let datatype = objects.types.usable(pair.me, kind).ok()?;
        let bytes = u64::try_from(count).ok().and_then(|count| datatype.size.checked_mul(count))?;
        let short = bytes != 0 && bytes <= SHORT as u64 && datatype.contiguous;
        if !short || buffer.offset(datatype.true_lb).0 < FIRST_MEMORY {
            return None;
        }
        let at = place(objects, pair.win, target, bytes)?;
        let action = match operation {
            Operation::Put => Action::Put,
            Operation::Get => Action::Get,
            Operation::Accumulate(_) => action(messages, objects, operation, datatype, target).ok()?,
            Operation::GetAccumulate(..) | Operation::CompareAndSwap(..) => return None,
        };
        let origin = self.origins.get((pair.win, pair.me))?;
        let channel = *origin.channels.get(&pair.to)?;
        let hold = self.channels[channel].hold;
        if !matches!(hold, Hold::Shared | Hold::Lazy | Hold::Unchecked) {
            return None;
        }
        let mut back = self.count(channel, hold, (action, Turn::Ordered));
        let mut data = Bytes::new();
        if action == Action::Get {
            let view = BufferView { buffer, layout: None, bytes };
            back.reply = self.replies.insert(Reply { win: pair.win, origin: pair.me, view, data: None, request: NIL });
            self.origins.get_mut((pair.win, pair.me))?.replies.push(back.reply);
            messages.profile.message(bytes);
        } else {
            let mut piece = [0; SHORT];
            rank::memory::read(buffer, &mut piece[..bytes as usize]);
            data = Bytes::from_buf_and_len(piece, bytes as usize);
        }
        let mut access = self.begin(pair, action, Turn::Ordered, back);
        (access.place, access.data) = (Place { at, bytes, blocks: None }, data);
        self.send(messages, objects, channel, access);
        Some(())
    }
}

/// Where so many bytes are, from the beginning of the target's memory, if they are in the window.
#[inline]
fn place(objects: &Objects, win: u32, target: Target, bytes: u64) -> Option<i64> {
    let win = objects.wins.at(win);
    if win.flavor == Flavor::Dynamic {
        return None;
    }
    let at = target.displacement.checked_mul(win.units.get(target.rank as u32))?;
    let size = win.exposed[target.rank as usize].size;
    (target.displacement >= 0 && bytes <= size && at as u64 <= size - bytes).then_some(at)
}
