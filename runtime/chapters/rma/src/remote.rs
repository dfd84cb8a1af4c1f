//! Records to other processes about accesses: an access, an answer, the end of an epoch between fences, and
//! `MPI_Win_post`. A window is known by the context of its communicator. No rank acts because of a record
//! before the time that goes with it.

use crate::CHAPTER;
use crate::access::{Back, NIL, PendingAccess, TargetAction, Turn};
use crate::atomic::{Bytes, Combine};
use crate::came::Act;
use crate::place::TargetMemory;
use crate::serve::comm_index;
use crate::state::Rma;
use engine::Time;
use engine::record::{Put, Take};
use objects::Objects;
use p2p::Messages;
use p2p::fabric::Departure;
use p2p::remote::shared::Way;
use p2p::remote::stream::Kind;

/// Kind of a record about accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum AccessRecordKind {
    /// An access, to its target's process.
    Access,
    /// An answer, to its origin's.
    Answer,
    /// All members of a process have ended an epoch between fences.
    Closed,
    /// A rank has exposed its memory to another.
    Post,
    /// A shared network carries an access to a target between fences.
    Coming,
}

impl AccessRecordKind {
    fn kind(self) -> Kind {
        Kind::Chapter(CHAPTER, self as u8)
    }
}

fn put_action(action: TargetAction, out: &mut Vec<u8>) {
    let (code, more) = match action {
        TargetAction::Put => (0, [0; 3]),
        TargetAction::Get => (1, [0; 3]),
        TargetAction::Accumulate(combine) => (2, combine.code()),
        TargetAction::Fetch(combine) => (3, combine.code()),
        TargetAction::CompareAndSwap => (4, [0; 3]),
        TargetAction::Lock { exclusive } => (5, [u8::from(exclusive), 0, 0]),
        TargetAction::Unlock { exclusive } => (6, [u8::from(exclusive), 0, 0]),
        TargetAction::Complete => (7, [0; 3]),
    };
    out.u8(code);
    more.into_iter().for_each(|byte| out.u8(byte));
}

fn take_action(from: &mut Take) -> TargetAction {
    let code = from.u8();
    let more = [from.u8(), from.u8(), from.u8()];
    match code {
        0 => TargetAction::Put,
        1 => TargetAction::Get,
        2 => TargetAction::Accumulate(Combine::of(more)),
        3 => TargetAction::Fetch(Combine::of(more)),
        4 => TargetAction::CompareAndSwap,
        5 => TargetAction::Lock { exclusive: more[0] != 0 },
        6 => TargetAction::Unlock { exclusive: more[0] != 0 },
        _ => TargetAction::Complete,
    }
}

fn put_place(place: &TargetMemory, out: &mut Vec<u8>) {
    out.u64(place.at as u64);
    out.u64(place.bytes);
    let blocks = place.blocks.as_deref().unwrap_or_default();
    out.u64(blocks.len() as u64);
    for &(offset, length) in blocks {
        out.u64(offset as u64);
        out.u64(length);
    }
}

fn take_place(from: &mut Take) -> TargetMemory {
    let (at, bytes, count) = (from.u64() as i64, from.u64(), from.u64());
    let blocks: Vec<(i64, u64)> = (0..count).map(|_| (from.u64() as i64, from.u64())).collect();
    TargetMemory { at, bytes, blocks: (count != 0).then(|| blocks.into()) }
}

/// An access but for its window, in bytes.
// The place comes laid out and the operation as a code: a target's process needs no object of the origin's.
pub(crate) fn put_access(access: &PendingAccess, out: &mut Vec<u8>) {
    [access.origin, access.target, access.sequence, access.back.channel, access.back.reply]
        .into_iter()
        .for_each(|word| out.u32(word));
    out.u64(access.arrival.as_ps());
    access.after.put(out);
    let (turn, epoch) = match access.turn {
        Turn::AtOnce => (0, 0),
        Turn::Ordered => (1, 0),
        Turn::Acquires => (2, 0),
        Turn::Fence(epoch) => (3, epoch),
    };
    out.u8(turn);
    out.u32(epoch);
    put_action(access.action, out);
    put_place(&access.place, out);
    out.extend_from_slice(&access.data);
}

pub(crate) fn take_access(win: u32, from: &mut Take) -> PendingAccess {
    let (origin, target, sequence) = (from.u32(), from.u32(), from.u32());
    let back = Back { channel: from.u32(), reply: from.u32() };
    let arrival = Time::from_ps(from.u64());
    let after = Act::take(from);
    let (turn, epoch) = (from.u8(), from.u32());
    let turn = match turn {
        0 => Turn::AtOnce,
        1 => Turn::Ordered,
        2 => Turn::Acquires,
        _ => Turn::Fence(epoch),
    };
    let (action, place) = (take_action(from), take_place(from));
    let data = Bytes::from_slice(from.0);
    PendingAccess {
        win,
        origin,
        target,
        after,
        arrival,
        sequence,
        action,
        turn,
        place,
        data,
        back,
        ..PendingAccess::default()
    }
}

/// Returns what a window is known by on all processes.
pub(crate) fn context(objects: &Objects, win: u32) -> u32 {
    objects.comms.at(comm_index(objects.wins.at(win))).context
}

impl Rma {
    /// Sends an access of the mounted rank to a rank of another process.
    #[cold]
    pub(crate) fn tell_access(&mut self, messages: &mut Messages, objects: &Objects, access: &PendingAccess) {
        let mut body = Vec::with_capacity(92 + access.data.len());
        body.u32(context(objects, access.win));
        put_access(access, &mut body);
        let process = messages.peers_mut().others().blocks.process(access.target);
        messages.peers_mut().send_record(process, AccessRecordKind::Access.kind(), access.arrival, &body);
    }

    /// Sends an answer to another process's rank.
    #[cold]
    pub(crate) fn tell_answer(
        messages: &mut Messages,
        (from, to): (u32, u32),
        back: Back,
        (data, after): (&[u8], Act),
        way: Way,
    ) {
        let mut body = Vec::with_capacity(28 + data.len());
        body.u64(0);
        body.u32(back.channel);
        body.u32(back.reply);
        after.put(&mut body);
        body.extend_from_slice(data);
        messages.departures().send_on_way(
            Departure::Answer,
            (from, to),
            AccessRecordKind::Answer.kind(),
            way,
            body,
        );
    }

    /// Tells another process that an epoch between fences is over for all members of this one.
    #[cold]
    pub(crate) fn tell_closed(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: u32,
        process: u32,
        epoch: u32,
    ) {
        let mut body = Vec::new();
        body.u32(context(objects, win));
        body.u32(epoch);
        // Nobody acts by it before the fence's barrier, whose messages have times of their own.
        messages.peers_mut().send_record(process, AccessRecordKind::Closed.kind(), Time::MAX, &body);
    }

    /// Tells a target's process that a shared network carries something to it, of an epoch between fences,
    /// before it learns that the epoch has ended.
    #[cold]
    pub(crate) fn tell_coming(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        (win, target): (u32, u32),
        epoch: u32,
    ) {
        let mut body = Vec::new();
        [context(objects, win), target, epoch].into_iter().for_each(|word| body.u32(word));
        let process = messages.peers_mut().others().blocks.process(target);
        messages.peers_mut().send_record(process, AccessRecordKind::Coming.kind(), Time::MAX, &body);
    }

    /// Tells a rank of another process that the mounted one has exposed its memory.
    #[cold]
    pub(crate) fn tell_post(
        messages: &mut Messages,
        objects: &Objects,
        win: u32,
        to: u32,
        after: Act,
        way: Way,
    ) {
        let mut body = Vec::new();
        body.u64(0);
        [context(objects, win), to].into_iter().for_each(|word| body.u32(word));
        after.put(&mut body);
        messages.departures().send_on_way(
            Departure::Own,
            (after.by, to),
            AccessRecordKind::Post.kind(),
            way,
            body,
        );
    }
}

const _: () = assert!(NIL == u32::MAX, "what is not there is told as such");

#[cfg(test)]
mod tests {
    use super::*;
    use objects::datatype::{Element, Kind as Basic};
    use objects::op::Predefined;

    #[test]
    fn an_access_survives_its_way() {
        let combine = Combine { op: Predefined::Sum, element: Element::One(Basic::I32) };
        let actions = [
            TargetAction::Put,
            TargetAction::Get,
            TargetAction::Accumulate(combine),
            TargetAction::Fetch(combine),
            TargetAction::CompareAndSwap,
            TargetAction::Lock { exclusive: true },
            TargetAction::Unlock { exclusive: false },
            TargetAction::Complete,
        ];
        let turns = [Turn::AtOnce, Turn::Ordered, Turn::Acquires, Turn::Fence(7)];
        for (action, turn) in actions.into_iter().flat_map(|action| turns.map(|turn| (action, turn))) {
            let place = TargetMemory { at: -8, bytes: 5, blocks: Some(Box::new([(4, 2), (-1, 3)])) };
            let back = Back { channel: 3, reply: NIL };
            let data = Bytes::from_slice(&[1, 2, 3, 4, 5]);
            let access = PendingAccess {
                win: 9,
                origin: 1,
                target: 2,
                after: Act { at: Time::from_ps(70), by: 6 },
                arrival: Time::from_ps(77),
                sequence: 4,
                action,
                turn,
                place,
                data,
                back,
                void: false,
            };
            let mut bytes = Vec::new();
            put_access(&access, &mut bytes);
            assert_eq!(format!("{:?}", take_access(9, &mut Take(&bytes))), format!("{access:?}"));
        }
    }
}
