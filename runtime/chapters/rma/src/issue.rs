//! Beginning of an access: from the arguments of a call to a message on its way.

use crate::CHAPTER;
use crate::access::{Back, Held, NIL, TargetAction, Turn};
use crate::atomic::{Bytes, Combine, INLINE_BYTES, few};
use crate::check::unsynchronized;
use crate::origin::{Channel, Hold, ReplyBuffer, WindowPair};
use crate::place::TargetMemory;
use crate::serve::FlightKind;
use crate::state::Rma;
use crate::wait::WaitToken;
use engine::Time;
use objects::Objects;
use objects::datatype::Datatype;
use objects::error::{ErrorClass, Failure, Result};
use objects::op::{Op, Predefined};
use objects::win::Flavor;
use p2p::Messages;
use p2p::fabric::Departure;
use p2p::flight::Flight;
use p2p::handle::{self, REQUEST_SENT};
use p2p::point_to_point::{Buffer, view};
use p2p::request::{Body, PROC_NULL};
use p2p::view::BufferView;
use rank::Addr;

/// The operation on the target's memory; handles of operations and datatypes.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// `MPI_Put`.
    Put,
    /// `MPI_Get`.
    Get,
    /// `MPI_Accumulate`.
    Accumulate(usize),
    /// `MPI_Get_accumulate`, `MPI_Fetch_and_op`; the memory for what was there.
    GetAccumulate(usize, Buffer),
    /// `MPI_Compare_and_swap`: where the value is to compare with, and memory for what was there.
    CompareAndSwap(Addr, Addr),
}

/// The target's memory as calls name it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// In the window's group.
    pub rank: i32,
    /// In the target's displacement units; of a dynamic window an address.
    pub displacement: i64,
    /// Elements.
    pub count: i64,
    /// Their handle.
    pub datatype: usize,
}

impl Target {
    /// Returns the bytes before it in a window with this displacement unit. Fails with `MPI_ERR_DISP`.
    pub(crate) fn offset(&self, unit: i64) -> Result<i64> {
        self.displacement.checked_mul(unit).filter(|_| self.displacement >= 0).ok_or_else(|| {
            let text = format!("target_disp {} is no place in a window: use 0 or more", self.displacement);
            Failure::new(ErrorClass::DISP, text)
        })
    }
}

/// The arguments of an access, as a call names them.
#[derive(Clone, Copy, Debug)]
pub struct RmaArguments {
    /// The window's handle.
    pub win: usize,
    /// The operation on the target's memory.
    pub operation: Operation,
    /// The origin's memory.
    pub buffer: Buffer,
    /// The target's.
    pub target: Target,
    /// `true` if the program wants to complete it by a request.
    pub wants_request: bool,
}

/// The epoch by which a rank may access a target.
#[derive(Clone, Copy)]
pub(crate) struct AccessEpoch {
    pub(crate) hold: Hold,
    /// The order in which the access is served.
    turn: Turn,
    /// The channel to the target, if there is one yet.
    channel: Option<u32>,
}

impl AccessEpoch {
    /// Checks that an access may have a request, if one is wanted. Fails with `MPI_ERR_RMA_SYNC`.
    pub(crate) fn may_have_request(&self, wants_request: bool) -> Result {
        if wants_request && self.hold == Hold::None {
            return Err(unsynchronized(
                "a request-based access is for epochs of MPI_Win_lock and MPI_Win_lock_all; use the form \
                 without a request, or lock the target",
            ));
        }
        Ok(())
    }
}

impl Rma {
    /// The mounted rank's access: the handle of a request if one is wanted, which only epochs of locks may.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`, `MPI_ERR_RANK`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`, `MPI_ERR_OP`,
    /// `MPI_ERR_DISP`, `MPI_ERR_RMA_RANGE`, `MPI_ERR_RMA_SYNC`.
    // Everything that can be wrong is found here, at the origin and in its call: a target has nobody whom it
    // could tell.
    pub fn issue(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        asked: &RmaArguments,
    ) -> Result<usize> {
        let &RmaArguments { win, operation, buffer, target, wants_request } = asked;
        let index = objects.wins.index(&objects.comms, win)?;
        if target.rank == PROC_NULL {
            return Ok(REQUEST_SENT);
        }
        let (_, _, to) = objects.comms.partner(objects.wins.at(index).comm, target.rank, "target_rank")?;
        let pair = WindowPair { win: index, me: messages.me(), to };
        let datatype = objects.types.usable(pair.me, target.datatype)?;
        let action = action(messages, objects, operation, datatype, target)?;
        // The payload is taken out at once. So an origin may change its buffer whenever MPI lets it, and
        // local completion costs nothing.
        let data = payload(objects, operation, action, buffer)?;
        let result = result(objects, operation, buffer)?;
        let place = self.place(messages, objects, pair, target, datatype)?;
        fits(&data, result.as_ref(), &place, operation)?;
        let way = self.way(messages, objects, pair, action)?;
        way.may_have_request(wants_request)?;
        Ok(self.send_access(messages, objects, pair, (action, way), place, (data, result), wants_request))
    }

    /// Finds the target's memory, if it is in the window.
    fn place(
        &self,
        messages: &Messages,
        objects: &Objects,
        pair: WindowPair,
        target: Target,
        datatype: &Datatype,
    ) -> Result<TargetMemory> {
        let Ok(count) = u64::try_from(target.count) else {
            return Err(Failure::new(
                ErrorClass::COUNT,
                format!("target_count {} is negative", target.count),
            ));
        };
        let bytes = datatype.bytes(count)?;
        let win = objects.wins.at(pair.win);
        // Nothing is known of memory that another process's rank attached: its own process would have to be
        // asked, and MPI makes that an error of the program.
        if win.flavor == Flavor::Dynamic {
            let place = TargetMemory::of(target.displacement, count, datatype, bytes);
            return self.is_attached(messages, pair, &place).map(|()| place);
        }
        let unit = win.units.get(target.rank as u32);
        let size = win.exposed[target.rank as usize].size;
        let place = TargetMemory::of(target.offset(unit)?, count, datatype, bytes);
        match place.span() {
            Some((first, last)) if first < 0 || last as u64 > size => {
                Err(outside(target, unit, size, (first, last)))
            }
            _ => Ok(place),
        }
    }

    /// Checks that an access to a dynamic window touches attached memory alone. The memory of a target in
    /// another process is not checked. Fails with `MPI_ERR_RMA_RANGE`.
    fn is_attached(&self, messages: &Messages, pair: WindowPair, place: &TargetMemory) -> Result {
        let Some((first, last)) = place.span().filter(|_| messages.ranks().is_local(pair.to)) else {
            return Ok(());
        };
        let list = self.attached.get(&(pair.win, pair.to)).map_or(&[][..], |list| list);
        if place.is_within(list) {
            return Ok(());
        }
        Err(Failure::new(
            ErrorClass::RMA_RANGE,
            format!(
                "the target has not attached the {} bytes from {first:#x} on: attach them with \
                 MPI_Win_attach",
                last - first
            ),
        ))
    }

    /// By which epoch the rank may access the target, and when that is served.
    // Epochs of the origin before those of fences: who has both (a fence that began no epoch, then a lock)
    // means the later.
    pub(crate) fn way(
        &self,
        messages: &Messages,
        objects: &Objects,
        pair: WindowPair,
        action: TargetAction,
    ) -> Result<AccessEpoch> {
        let mut channel = None;
        if let Some(origin) = self.origins.get((pair.win, pair.me)) {
            channel = origin.channels.get(&pair.to).copied();
            let state = channel.map(|channel| &self.channels[channel]);
            if let Some(Channel { hold, .. }) = state.filter(|state| state.hold != Hold::None) {
                return Ok(AccessEpoch {
                    hold: *hold,
                    turn: if *hold == Hold::Exclusive { Turn::AtOnce } else { Turn::Ordered },
                    channel,
                });
            }
            if let Some(hold) = origin.locked_all {
                return Ok(AccessEpoch {
                    hold,
                    turn: if hold == Hold::Lazy { Turn::Acquires } else { Turn::Ordered },
                    channel,
                });
            }
            if let Some(started) = &origin.started {
                if started.binary_search(&pair.to).is_err() {
                    return Err(unsynchronized(
                        "the target is not in the group of MPI_Win_start: start the epoch with a group that \
                         has it",
                    ));
                }
                // Once one access to a target waits for its order, those behind it do so too: accesses of one
                // origin to one target keep theirs.
                let ordered = action.is_atomic() || state.is_some_and(|state| state.ordered);
                return Ok(AccessEpoch {
                    hold: Hold::None,
                    turn: if ordered { Turn::Ordered } else { Turn::AtOnce },
                    channel,
                });
            }
            if origin.locked != 0 {
                return Err(unsynchronized(
                    "this target is not locked, though another one is: call MPI_Win_lock for it, or \
                     MPI_Win_lock_all",
                ));
            }
        }
        let member = objects.comms.get(objects.wins.at(pair.win).comm)?.rank(messages.me());
        match self.fences.get(&pair.win).and_then(|fence| fence.epoch_of(member)) {
            Some(epoch) => Ok(AccessEpoch { hold: Hold::None, turn: Turn::Fence(epoch), channel }),
            None => Err(unsynchronized(
                "the window is in no access epoch: call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or \
                 MPI_Win_lock_all first",
            )),
        }
    }

    /// Returns the channel to a target, made if there is none.
    pub(crate) fn channel(&mut self, pair: WindowPair, hold: Hold) -> u32 {
        let channels = &mut self.channels;
        let origin = self.origins.make((pair.win, pair.me));
        let made = || channels.insert(Channel::new(pair.to, origin, hold));
        *self.origins.at_mut(origin).channels.entry(pair.to).or_insert_with(made)
    }

    /// Sends the access. Returns what the program knows it by.
    #[allow(clippy::too_many_arguments, reason = "what an access is made of")]
    pub(crate) fn send_access(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        pair: WindowPair,
        (action, AccessEpoch { hold, turn, channel }): (TargetAction, AccessEpoch),
        place: TargetMemory,
        (data, result): (Bytes, Option<BufferView>),
        wants_request: bool,
    ) -> usize {
        let channel = channel.unwrap_or_else(|| self.channel(pair, hold));
        let mut back = self.count(channel, hold, (action, turn));
        let mut request = REQUEST_SENT;
        if let Some(view) = result {
            let reply = ReplyBuffer { win: pair.win, origin: pair.me, view, data: None, request: NIL };
            back.reply = self.replies.insert(reply);
            if wants_request {
                let token = [back.reply, WaitToken::Reply as u32];
                let index = messages.requests_mut().make(pair.me, Body::Chapter { chapter: CHAPTER, token });
                self.replies[back.reply].request = index;
                request = handle::of_cold(index);
            }
            let origin = self.origins.get_mut((pair.win, pair.me)).expect("its channel was made");
            origin.replies.push(back.reply);
            origin.unanswered += u32::from(hold == Hold::None);
            messages.ranks_mut().profile_mut().message(place.bytes);
        }
        let mut access = self.begin(pair, action, turn, back);
        (access.place, access.data) = (place, data);
        self.send(messages, objects, channel, access);
        request
    }

    /// Counts one more access under way to a target. Returns what counts its answer, if there is one.
    #[inline]
    pub(crate) fn count(&mut self, channel: u32, hold: Hold, (action, turn): (TargetAction, Turn)) -> Back {
        let state = &mut self.channels[channel];
        let origin = self.origins.at_mut(state.origin);
        let before = state.uses(channel, origin.flushes, action.fetches(), &mut self.data);
        state.ordered |= turn == Turn::Ordered;
        // Every access of a lock's epoch is answered, so that a flush knows when it is done at the target;
        // of other epochs only data comes back.
        if hold == Hold::None {
            return Back::NONE;
        }
        state.outstanding += 1;
        origin.outstanding += 1;
        if action.fetches() {
            self.fetches(channel, None, before);
        }
        Back { channel, ..Back::NONE }
    }

    /// Lets a message of the mounted rank with so many bytes leave now; returns when that is, and the
    /// message's number among the rank's.
    #[inline(always)]
    pub(crate) fn leave(&mut self, messages: &mut Messages, me: u32, bytes: u64) -> (Time, u32) {
        let leaves = messages.departures().inject(me);
        messages.ranks_mut().profile_mut().message(bytes);
        if self.issued.is_empty() {
            self.issued = vec![0; messages.ranks().local() as usize];
        }
        let issued = &mut self.issued[(me - messages.ranks().first()) as usize];
        *issued += 1;
        (leaves, *issued)
    }

    /// Sends a message of the mounted rank to a target now. Returns its arrival, if that is known.
    #[inline]
    pub(crate) fn send(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        channel: u32,
        mut access: Held,
    ) -> Option<Time> {
        let (me, to, bytes) = (access.origin, access.target, access.brings());
        let (leaves, sequence) = self.leave(messages, me, bytes);
        (access.sequence, access.after.at) = (sequence, leaves);
        if messages.fabric().is_shared() {
            let index = self.accesses.insert(access);
            self.take_off(messages, objects, index);
            messages.departures().launch(
                Departure::Own,
                me,
                to,
                (bytes, leaves),
                Flight::Chapter { chapter: CHAPTER, words: [FlightKind::There as u32, index, 0, 0] },
            );
            return None;
        }
        let state = &mut self.channels[channel];
        // A short access never overtakes a long one before it: MPI orders accumulates of one origin (MPI 5.0
        // section 12.7.2), and all are kept so.
        let arrival = state.latest.max(leaves + messages.fabric().latency(me, to, bytes));
        state.latest = arrival;
        access.arrival = arrival;
        if messages.ranks().is_local(to) {
            self.arrive(messages, objects, access);
        } else {
            self.tell_access(messages, objects, &access);
        }
        Some(arrival)
    }
}

/// The mounted rank and its target, if the window is one of a communicator that the rank used last, and they
/// are right.
// Who has a rank in the window's communicator has the window.
#[inline]
pub(crate) fn pair(messages: &Messages, objects: &Objects, win: usize, rank: i32) -> Option<WindowPair> {
    let (index, object) = objects.wins.known(win)?;
    let (_, member, to) = objects.comms.known_partner(object.comm, rank)?;
    (object.owner.is_none() && member != u32::MAX).then_some(WindowPair { win: index, me: messages.me(), to })
}

/// Returns the failure of an access to bytes that are not in the window.
#[cold]
pub(crate) fn outside(target: Target, unit: i64, size: u64, (first, last): (i64, i64)) -> Box<Failure> {
    let text = format!(
        "the access is to bytes {first} to {} of rank {}'s window, which has {size} (displacement {} by \
         {unit} bytes)",
        last - 1,
        target.rank,
        target.displacement
    );
    Failure::new(ErrorClass::RMA_RANGE, text)
}

/// Returns what the operation of a call does, on elements of the target's datatype.
#[inline]
pub(crate) fn action(
    messages: &Messages,
    objects: &Objects,
    operation: Operation,
    datatype: &Datatype,
    target: Target,
) -> Result<TargetAction> {
    let combine = |op: usize| -> Result<Combine> {
        let operation = objects.ops.get(messages.me(), op)?;
        let Op::Predefined(op) = &**operation else {
            return Err(Failure::new(
                ErrorClass::OP,
                "an operation of the program's own works in collectives alone; use a predefined one",
            ));
        };
        // On whatever the elements are, these two do nothing with them, and no other does where there are
        // none.
        let element = match (op, datatype.element) {
            (Predefined::Replace | Predefined::NoOp, element) => element.unwrap_or(BYTES),
            // An access of nothing is no error, whatever the operation would be on.
            _ if datatype.size == 0 || target.count == 0 => {
                return Ok(Combine { op: Predefined::Replace, element: BYTES });
            }
            _ => op.on(datatype, || objects.types.describe(messages.me(), target.datatype))?.0,
        };
        Ok(Combine { op: *op, element })
    };
    match operation {
        Operation::Put => Ok(TargetAction::Put),
        Operation::Get => Ok(TargetAction::Get),
        Operation::GetAccumulate(op, _) => Ok(TargetAction::Fetch(combine(op)?)),
        Operation::Accumulate(op) => match combine(op)? {
            Combine { op: Predefined::NoOp, .. } => Err(Failure::new(
                ErrorClass::OP,
                "MPI_NO_OP does nothing in an accumulate; use it with MPI_Get_accumulate or MPI_Fetch_and_op",
            )),
            combine => Ok(TargetAction::Accumulate(combine)),
        },
        Operation::CompareAndSwap(..) => match datatype.element {
            Some(objects::datatype::Element::One(kind))
                if datatype.is_predefined() && kind.is_comparable() =>
            {
                Ok(TargetAction::CompareAndSwap)
            }
            _ => Err(Failure::new(
                ErrorClass::TYPE,
                "MPI_Compare_and_swap takes predefined integers, logicals and bytes alone; pass one of these \
                 datatypes",
            )),
        },
    }
}

/// Elements that nobody looks into.
pub(crate) const BYTES: objects::datatype::Element =
    objects::datatype::Element::One(objects::datatype::Kind::Byte);

/// Returns what the origin brings.
fn payload(objects: &Objects, operation: Operation, action: TargetAction, buffer: Buffer) -> Result<Bytes> {
    match operation {
        Operation::Put | Operation::Accumulate(_) => Ok(pack(&view(objects, buffer)?)),
        // With `MPI_NO_OP` the origin's buffer has no meaning (MPI 5.0 section 12.3.4), and may be no memory.
        Operation::GetAccumulate(..)
            if matches!(action, TargetAction::Fetch(Combine { op: Predefined::NoOp, .. })) =>
        {
            Ok(Bytes::new())
        }
        Operation::GetAccumulate(..) => Ok(pack(&view(objects, buffer)?)),
        Operation::CompareAndSwap(compare, _) => {
            let mut data = pack(&view(objects, (compare, 1, buffer.2))?);
            data.extend_from_slice(&pack(&view(objects, buffer)?));
            Ok(data)
        }
        Operation::Get => Ok(Bytes::new()),
    }
}

fn pack(view: &BufferView) -> Bytes {
    if view.layout.is_none() && view.bytes <= INLINE_BYTES as u64 {
        return few(view.buffer, view.bytes as usize);
    }
    let mut data = Vec::new();
    view.append_to(&mut data);
    Bytes::from_vec(data)
}

/// Returns where an answer goes.
fn result(objects: &Objects, operation: Operation, buffer: Buffer) -> Result<Option<BufferView>> {
    Ok(match operation {
        Operation::Put | Operation::Accumulate(_) => None,
        Operation::Get => Some(view(objects, buffer)?),
        Operation::GetAccumulate(_, result) => Some(view(objects, result)?),
        Operation::CompareAndSwap(_, result) => Some(view(objects, (result, 1, buffer.2))?),
    })
}

/// Checks that the origin's buffer has as many bytes as the access. A compare-and-swap always fits. Fails
/// with `MPI_ERR_TYPE`.
fn fits(data: &Bytes, result: Option<&BufferView>, place: &TargetMemory, operation: Operation) -> Result {
    let mine = match (result, operation) {
        (_, Operation::CompareAndSwap(..)) => return Ok(()),
        (Some(view), _) if data.is_empty() || data.len() as u64 == view.bytes => view.bytes,
        _ => data.len() as u64,
    };
    if mine == place.bytes { Ok(()) } else { Err(unlike(mine, place.bytes)) }
}

/// Returns the failure of an access whose two sides are not alike.
#[cold]
fn unlike(mine: u64, others: u64) -> Box<Failure> {
    Failure::new(
        ErrorClass::TYPE,
        format!(
            "the origin's buffer has {mine} bytes of data, the target's {others}: count and datatype must \
             give the same elements"
        ),
    )
}
