//! Questions and answers as bytes, between processes.

use crate::CHAPTER;
use crate::ask::{Answer, Ask, Command, IntercommSide, PortAction, Reply};
use crate::port::PortName;
use crate::spawn::{Birth, Start};
use crate::state::Dynamic;
use engine::Time;
use engine::record::{Put, Take};
use objects::Objects;
use objects::error::{ErrorClass, Failure};
use p2p::Messages;
use p2p::fabric::Departure;
use p2p::remote::group::{put_group, put_list, take_group, take_list};
use p2p::remote::shared::Way;
use p2p::remote::stream::Kind;

/// Kind of a record about dynamic processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum DynamicRecordKind {
    Ask,
    Answer,
    Birth,
}

fn put_side(side: &IntercommSide, out: &mut Vec<u8>) {
    put_group(&side.group, out);
    out.u32(side.context);
}

fn take_side(from: &mut Take) -> IntercommSide {
    IntercommSide { group: take_group(from), context: from.u32() }
}

fn put_port(name: PortName, out: &mut Vec<u8>) {
    out.u32(name.owner);
    out.u32(name.number);
}

fn take_port(from: &mut Take) -> PortName {
    PortName { owner: from.u32(), number: from.u32() }
}

fn put_arguments(arguments: &[Box<[u8]>], out: &mut Vec<u8>) {
    out.u32(arguments.len() as u32);
    arguments.iter().for_each(|text| out.bytes(text));
}

fn take_arguments(from: &mut Take) -> Box<[Box<[u8]>]> {
    (0..from.u32()).map(|_| from.bytes().into()).collect()
}

fn put_command(command: &Command, out: &mut Vec<u8>) {
    out.bytes(&command.program);
    out.bytes(&command.directory);
    put_arguments(&command.arguments, out);
    put_list(&command.numbers, out);
}

fn take_command(from: &mut Take) -> Command {
    Command {
        program: from.bytes().into(),
        directory: from.bytes().into(),
        arguments: take_arguments(from),
        numbers: take_list(from),
    }
}

fn put_birth(birth: &Birth, out: &mut Vec<u8>) {
    out.u32(birth.first);
    put_list(&birth.counts, out);
    for Start { program, arguments } in &birth.starts {
        out.bytes(program);
        put_arguments(arguments, out);
    }
    put_side(&birth.parents, out);
    out.u32(birth.world);
    out.u64(birth.at.as_ps());
}

fn take_birth(from: &mut Take) -> Birth {
    let (first, counts) = (from.u32(), take_list(from));
    let starts = counts
        .iter()
        .map(|_| Start { program: from.bytes().into(), arguments: take_arguments(from) })
        .collect();
    Birth {
        first,
        counts: counts.into(),
        starts,
        parents: take_side(from),
        world: from.u32(),
        at: Time::from_ps(from.u64()),
    }
}

fn take_text(from: &mut Take) -> Box<str> {
    String::from_utf8_lossy(from.bytes()).into()
}

fn put_ask(ask: &Ask, out: &mut Vec<u8>) {
    out.u64(ask.arrival.as_ps());
    [ask.place, ask.origin, ask.sequence, ask.operation].into_iter().for_each(|word| out.u32(word));
    let texts: [&str; 2] = match &ask.action {
        PortAction::Accept(name, side) | PortAction::Connect(name, side) => {
            out.u8(if matches!(ask.action, PortAction::Accept(..)) { 0 } else { 1 });
            put_port(*name, out);
            return put_side(side, out);
        }
        PortAction::Close(name) => {
            out.u8(2);
            return put_port(*name, out);
        }
        PortAction::Join(socket, side) => {
            out.u8(3);
            out.bytes(socket.as_bytes());
            return put_side(side, out);
        }
        PortAction::Publish(name, port) => {
            out.u8(4);
            [name, port]
        }
        PortAction::Unpublish(name, port) => {
            out.u8(5);
            [name, port]
        }
        PortAction::Look(name) => {
            out.u8(6);
            return out.bytes(name.as_bytes());
        }
        PortAction::Spawn(commands, side, world) => {
            out.u8(7);
            out.u32(commands.len() as u32);
            commands.iter().for_each(|command| put_command(command, out));
            put_side(side, out);
            return out.u32(*world);
        }
    };
    texts.iter().for_each(|text| out.bytes(text.as_bytes()));
}

fn take_ask(from: &mut Take) -> Ask {
    let arrival = Time::from_ps(from.u64());
    let (place, origin, sequence, operation) = (from.u32(), from.u32(), from.u32(), from.u32());
    let action = match from.u8() {
        0 => PortAction::Accept(take_port(from), take_side(from)),
        1 => PortAction::Connect(take_port(from), take_side(from)),
        2 => PortAction::Close(take_port(from)),
        3 => PortAction::Join(take_text(from), take_side(from)),
        4 => PortAction::Publish(take_text(from), take_text(from)),
        5 => PortAction::Unpublish(take_text(from), take_text(from)),
        6 => PortAction::Look(take_text(from)),
        _ => PortAction::Spawn(
            (0..from.u32()).map(|_| take_command(from)).collect(),
            take_side(from),
            from.u32(),
        ),
    };
    Ask { place, origin, arrival, sequence, action, operation }
}

fn put_answer(answer: &Answer, out: &mut Vec<u8>) {
    match answer {
        Ok(Reply::Done) => out.u8(0),
        Ok(Reply::Port(name)) => {
            out.u8(1);
            out.bytes(name.as_bytes());
        }
        Ok(Reply::Met(side)) => {
            out.u8(2);
            put_side(side, out);
        }
        Ok(Reply::Spawned(side, counts)) => {
            out.u8(4);
            put_side(side, out);
            put_list(counts, out);
        }
        Err(failure) => {
            out.u8(3);
            out.i32(failure.class.0);
            out.bytes(failure.text.as_bytes());
        }
    }
}

fn take_answer(from: &mut Take) -> Answer {
    match from.u8() {
        0 => Ok(Reply::Done),
        1 => Ok(Reply::Port(take_text(from))),
        2 => Ok(Reply::Met(take_side(from))),
        4 => Ok(Reply::Spawned(take_side(from), take_list(from).into())),
        _ => Err(Failure::new(ErrorClass(from.i32()), take_text(from))),
    }
}

impl Dynamic {
    /// Sends a question to a rank of another process.
    #[cold]
    pub(crate) fn tell_ask(messages: &mut Messages, ask: &Ask, way: Way) {
        let mut body = Vec::new();
        put_ask(ask, &mut body);
        messages.departures().send_on_way(
            Departure::Own,
            (ask.origin, ask.place),
            Kind::Chapter(CHAPTER, DynamicRecordKind::Ask as u8),
            way,
            body,
        );
    }

    /// Sends an answer to a rank of another process.
    #[cold]
    pub(crate) fn tell_answer(
        messages: &mut Messages,
        (from, to): (u32, u32),
        operation: u32,
        answer: &Answer,
        way: Way,
    ) {
        let mut body = Vec::new();
        body.u64(0);
        body.u32(operation);
        put_answer(answer, &mut body);
        messages.departures().send_on_way(
            Departure::Answer,
            (from, to),
            Kind::Chapter(CHAPTER, DynamicRecordKind::Answer as u8),
            way,
            body,
        );
    }

    /// Notifies every other process of ranks that begin: those that have some, to run them; all, how many
    /// there are.
    #[cold]
    pub(crate) fn tell_birth(&mut self, messages: &mut Messages, birth: &Birth) {
        let mut body = Vec::new();
        put_birth(birth, &mut body);
        for process in messages.peers_mut().others().streams.others() {
            messages.peers_mut().send_record(
                process,
                Kind::Chapter(CHAPTER, DynamicRecordKind::Birth as u8),
                birth.at,
                &body,
            );
        }
    }

    /// Handles a record of another process.
    pub(crate) fn told(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        kind: u8,
        mut record: Take,
    ) {
        if kind == DynamicRecordKind::Birth as u8 {
            return self.begin_ranks(messages, objects, &take_birth(&mut record));
        }
        if kind == DynamicRecordKind::Answer as u8 {
            let (at, operation) = (Time::from_ps(record.u64()), record.u32());
            return self.answered(messages, operation, take_answer(&mut record), at);
        }
        self.arrive(messages, take_ask(&mut record));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use objects::group::Group;

    #[test]
    fn what_is_asked_and_answered_survives_its_way() {
        let side = || IntercommSide { group: Group::from_ranks(vec![4, 1, 9]), context: 6 };
        let name = PortName { owner: 3, number: 2 };
        let text = |text: &str| Box::<str>::from(text);
        let actions = [
            PortAction::Accept(name, side()),
            PortAction::Connect(name, side()),
            PortAction::Close(name),
            PortAction::Join(text("s"), side()),
            PortAction::Publish(text("a"), text("b")),
            PortAction::Unpublish(text("a"), text("")),
            PortAction::Look(text("a")),
            PortAction::Spawn(
                [Command {
                    program: [47].into(),
                    directory: [46].into(),
                    arguments: [[65, 66].into(), [].into()].into(),
                    numbers: [4, 2].into(),
                }]
                .into(),
                side(),
                8,
            ),
        ];
        for action in actions {
            let ask =
                Ask { place: 1, origin: 2, arrival: Time::from_ps(3), sequence: 4, action, operation: 5 };
            let mut bytes = Vec::new();
            put_ask(&ask, &mut bytes);
            let mut from = Take(&bytes);
            assert_eq!(format!("{:?}", take_ask(&mut from)), format!("{ask:?}"));
            assert!(from.is_empty());
        }
        for answer in [
            Ok(Reply::Done),
            Ok(Reply::Port(text("p"))),
            Ok(Reply::Met(side())),
            Ok(Reply::Spawned(side(), [1, 2].into())),
            Err(name.not_open()),
        ] {
            let mut bytes = Vec::new();
            put_answer(&answer, &mut bytes);
            let mut from = Take(&bytes);
            assert_eq!(format!("{:?}", take_answer(&mut from)), format!("{answer:?}"));
            assert!(from.is_empty());
        }
    }
}
