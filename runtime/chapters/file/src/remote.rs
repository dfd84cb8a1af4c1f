//! Records to other processes about files: what is asked of a home, and its answers. A file is known by the
//! context of its communicator; the home's process makes it before all others, so that nothing comes too
//! early.

use crate::CHAPTER;
use crate::access::{HomeAction, HomeReply, HomeRequest, Pieces};
use crate::direction::Direction;
use crate::exchange::RoundTransfer;
use crate::hints::Hints;
use crate::meet::Meet;
use crate::state::OpenFiles;
use crate::storage::PLACE;
use engine::Time;
use engine::record::{Put, Take};
use objects::Objects;
use objects::error::{ErrorClass, Failure};
use p2p::Messages;
use p2p::fabric::Departure;
use p2p::remote::shared::Way;
use p2p::remote::stream::Kind;

/// Kind of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum FileRecordKind {
    Access,
    Answer,
    Load,
}

fn put_meet(meet: Meet, out: &mut Vec<u8>) {
    let (code, words) = match meet {
        Meet::Refused => (0, [0; 4]),
        Meet::Access => (1, [0; 4]),
        Meet::Ordered(etypes) => (2, [etypes, 0, 0, 0]),
        Meet::SetSize(size) => (3, [size, 0, 0, 0]),
        Meet::Preallocate(size) => (4, [size, 0, 0, 0]),
        Meet::SetView(alike) => (5, [alike, 0, 0, 0]),
        Meet::SetAtomicity(atomic) => (6, [u64::from(atomic), 0, 0, 0]),
        Meet::Sync => (7, [0; 4]),
        Meet::SeekShared(offset, whence, end) => (8, [offset as u64, whence as u64, end, 0]),
        Meet::Span(first, end, hints) => (9, [first, end, hints.word(), hints.buffer]),
    };
    out.u8(code);
    words.into_iter().for_each(|word| out.u64(word));
}

fn take_meet(from: &mut Take) -> Meet {
    let code = from.u8();
    let words = [from.u64(), from.u64(), from.u64(), from.u64()];
    match code {
        0 => Meet::Refused,
        1 => Meet::Access,
        2 => Meet::Ordered(words[0]),
        3 => Meet::SetSize(words[0]),
        4 => Meet::Preallocate(words[0]),
        5 => Meet::SetView(words[0]),
        6 => Meet::SetAtomicity(words[0] != 0),
        7 => Meet::Sync,
        9 => Meet::Span(words[0], words[1], Hints::from_words(words[2], words[3])),
        _ => Meet::SeekShared(words[0] as i64, words[1] as i32, words[2]),
    }
}

fn put_pieces(pieces: &Pieces, out: &mut Vec<u8>) {
    out.u64(pieces.len() as u64);
    for &(at, len) in pieces {
        out.u64(at);
        out.u64(len);
    }
}

fn take_pieces(from: &mut Take) -> Pieces {
    (0..from.u64()).map(|_| (from.u64(), from.u64())).collect()
}

fn put_loads(loads: &[(u32, u64)], out: &mut Vec<u8>) {
    out.u64(loads.len() as u64);
    for &(server, bytes) in loads {
        out.u32(server);
        out.u64(bytes);
    }
}

fn take_loads(from: &mut Take) -> Box<[(u32, u64)]> {
    (0..from.u64()).map(|_| (from.u32(), from.u64())).collect()
}

/// Encodes an access without its file and its arrival.
fn put_access(access: &HomeRequest, out: &mut Vec<u8>) {
    [access.origin, access.sequence, access.operation].into_iter().for_each(|word| out.u32(word));
    match &access.action {
        HomeAction::Advance(etypes) => {
            out.u8(0);
            out.u64(*etypes);
        }
        HomeAction::Read(pieces) => {
            out.u8(1);
            put_pieces(pieces, out);
        }
        HomeAction::Write(pieces, data) => {
            out.u8(2);
            put_pieces(pieces, out);
            out.bytes(data);
        }
        HomeAction::Meet(number, meet) => {
            out.u8(3);
            out.u32(*number);
            put_meet(*meet, out);
        }
        HomeAction::Serve(loads) => {
            out.u8(4);
            put_loads(loads, out);
        }
        HomeAction::Part(part) => {
            let RoundTransfer { meeting, aggregator, rank, round, members, direction, bytes, ref loads } =
                **part;
            out.u8(5);
            [meeting, aggregator, rank, round, members].into_iter().for_each(|word| out.u32(word));
            out.u8((direction == Direction::Write).into());
            out.u64(bytes);
            put_loads(loads, out);
        }
        HomeAction::Met(_) => unreachable!("made at home"),
    }
}

pub(crate) fn take_access(file: u32, arrival: Time, from: &mut Take) -> HomeRequest {
    let (origin, sequence, operation) = (from.u32(), from.u32(), from.u32());
    let action = match from.u8() {
        0 => HomeAction::Advance(from.u64()),
        1 => HomeAction::Read(take_pieces(from)),
        2 => HomeAction::Write(take_pieces(from), from.bytes().to_vec()),
        4 => HomeAction::Serve(take_loads(from)),
        5 => {
            let [meeting, aggregator, rank, round, members] = std::array::from_fn(|_| from.u32());
            let direction = if from.u8() != 0 { Direction::Write } else { Direction::Read };
            let (bytes, loads) = (from.u64(), take_loads(from));
            HomeAction::Part(Box::new(RoundTransfer {
                meeting,
                aggregator,
                rank,
                round,
                members,
                direction,
                bytes,
                loads,
            }))
        }
        _ => HomeAction::Meet(from.u32(), take_meet(from)),
    };
    HomeRequest { file, origin, arrival, sequence, action, operation }
}

fn put_answer(answer: &HomeReply, out: &mut Vec<u8>) {
    out.u64(answer.value);
    out.bytes(&answer.data);
    out.u8(u8::from(answer.failure.is_some()));
    if let Some(failure) = &answer.failure {
        out.i32(failure.class.0);
        out.bytes(failure.text.as_bytes());
    }
}

pub(crate) fn take_answer(from: &mut Take) -> HomeReply {
    let (value, data) = (from.u64(), from.bytes().to_vec());
    let failure =
        (from.u8() != 0).then(|| Failure::new(ErrorClass(from.i32()), String::from_utf8_lossy(from.bytes())));
    HomeReply { value, data, failure }
}

impl OpenFiles {
    /// Asks something of a home on another process.
    #[cold]
    pub(crate) fn tell_access(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        access: &HomeRequest,
        way: Way,
    ) {
        // Servers belong to no file, and their process may not know it.
        let (told, to) = match access.action {
            HomeAction::Serve(_) => (FileRecordKind::Load, PLACE),
            _ => (FileRecordKind::Access, access.action.place(objects.files.at(access.file).home)),
        };
        let mut body = Vec::new();
        body.u64(0);
        body.u32(objects.files.comm(&objects.comms, access.file).map_or(u32::MAX, |comm| comm.context));
        put_access(access, &mut body);
        messages.departures().send_on_way(
            Departure::Own,
            (access.origin, to),
            Kind::Chapter(CHAPTER, told as u8),
            way,
            body,
        );
    }

    /// Sends an answer to a rank of another process.
    #[cold]
    pub(crate) fn tell_answer(
        &mut self,
        messages: &mut Messages,
        (from, to): (u32, u32),
        operation: u32,
        answer: &HomeReply,
        way: Way,
    ) {
        let mut body = Vec::new();
        body.u64(0);
        body.u32(operation);
        put_answer(answer, &mut body);
        messages.departures().send_on_way(
            Departure::Answer,
            (from, to),
            Kind::Chapter(CHAPTER, FileRecordKind::Answer as u8),
            way,
            body,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_and_answered_survives_its_way() {
        let pieces: Pieces = Box::new([(3, 4), (1 << 40, 9)]);
        let meets = [
            Meet::Refused,
            Meet::Access,
            Meet::Ordered(7),
            Meet::SetSize(8),
            Meet::Preallocate(9),
            Meet::SetView(10),
            Meet::SetAtomicity(true),
            Meet::Sync,
            Meet::SeekShared(-5, 402, 11),
            Meet::Span(13, 14, Hints { nodes: 15, ..Hints::default() }),
        ];
        let loads: Box<[(u32, u64)]> = Box::new([(2, 5), (3, 6)]);
        let part = RoundTransfer {
            meeting: 1,
            aggregator: 2,
            rank: 3,
            round: 4,
            members: 5,
            direction: Direction::Write,
            bytes: 11,
            loads,
        };
        let actions = [
            HomeAction::Advance(6),
            HomeAction::Read(pieces.clone()),
            HomeAction::Write(pieces, vec![1, 2, 3]),
            HomeAction::Serve(Box::new([(2, 5)])),
            HomeAction::Part(Box::new(part)),
        ];
        for action in actions.into_iter().chain(meets.map(|meet| HomeAction::Meet(12, meet))) {
            let access = HomeRequest {
                file: 1,
                origin: 2,
                arrival: Time::from_ps(3),
                sequence: 4,
                action,
                operation: 5,
            };
            let mut bytes = Vec::new();
            put_access(&access, &mut bytes);
            assert_eq!(take_access(1, access.arrival, &mut Take(&bytes)), access);
        }
        for failure in [None, Some(Failure::new(ErrorClass::NO_SPACE, "full"))] {
            let answer = HomeReply { value: 1, data: vec![4, 5], failure };
            let mut bytes = Vec::new();
            put_answer(&answer, &mut bytes);
            assert_eq!(take_answer(&mut Take(&bytes)), answer);
        }
    }
}
