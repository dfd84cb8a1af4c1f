//! The way of what is asked to a file's home, what is done there in turn, and the way back.

use crate::CHAPTER;
use crate::access::{HomeAction, HomeReply, HomeRequest, WORD};
use crate::state::OpenFiles;
use crate::storage::PLACE;
use crate::transfer;
use crate::write::WRITE;
use engine::Time;
use objects::Objects;
use p2p::Messages;
use p2p::chapter::arrivals::Arrival;
use p2p::fabric::Departure;
use p2p::flight::Flight;
use p2p::remote::shared::Way;

/// Direction of a message on a shared network, the first word of a flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
enum HomeLeg {
    There,
    Back,
}

impl OpenFiles {
    /// Sends a request of a rank of the process to a file's home, for an operation (none if no rank waits for
    /// it).
    pub(crate) fn ask(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        (file, origin): (u32, u32),
        action: HomeAction,
        operation: u32,
        leaves: Time,
    ) {
        let home = action.place(objects.files.at(file).home);
        let sequence = self.number(messages, origin);
        let bytes = action.bytes();
        let served = matches!(action, HomeAction::Serve(_));
        let mut access = HomeRequest { file, origin, arrival: Time::MAX, sequence, action, operation };
        if served {
            return self.ask_servers(messages, objects, access, leaves);
        }
        access.action.count(messages, bytes);
        let way = match messages.fabric().way(origin, home, bytes, leaves) {
            Way::Arrives(_) => Way::Arrives(OpenFiles::arrival(messages, (origin, home), bytes, leaves)),
            way => way,
        };
        if !messages.ranks().is_local(home) {
            return self.tell_access(messages, objects, &access, way);
        }
        match way {
            Way::Arrives(at) => {
                access.arrival = at;
                self.arrive(messages, objects, access);
            }
            Way::Leaves(at, bytes) => {
                let index = self.accesses.insert(access);
                messages.departures().launch(
                    Departure::Own,
                    origin,
                    home,
                    (bytes, at),
                    Flight::Chapter { chapter: CHAPTER, words: [HomeLeg::There as u32, index, 0, 0] },
                );
            }
        }
    }

    /// Returns when what a rank asks is at home.
    // What the home's own rank asks is no earlier than what another could: who is decided together must be
    // known by then.
    pub(crate) fn arrival(messages: &Messages, (origin, home): (u32, u32), bytes: u64, leaves: Time) -> Time {
        leaves + messages.fabric().latency(origin, home, bytes).max(messages.fabric().lookahead(true))
    }

    /// Delivers something asked at home: it is there, or will be at its arrival.
    pub(crate) fn arrive(&mut self, messages: &mut Messages, objects: &Objects, access: HomeRequest) {
        match access.action {
            HomeAction::Meet(number, meet) => self.enter(messages, objects, access, number, meet),
            _ => self.wait_for_turn(messages, objects, access),
        }
    }

    /// Serves the first request that waits at a home, before which nothing comes, and what follows before
    /// `until`.
    pub(crate) fn serve(&mut self, messages: &mut Messages, objects: &Objects, rank: u32, until: Time) {
        let mut next = self.arrivals.take(rank);
        while let Some(turn) = next {
            if turn.what & WRITE == 0 {
                let access = self.accesses.remove(turn.what).expect("it waits at home");
                self.perform(messages, objects, access, turn.time);
            } else {
                self.place(messages, objects, rank, turn);
            }
            next = self.arrivals.take_before(rank, until);
        }
    }

    /// A short write of a rank of the process has its turn: where it goes.
    // What `perform` and `answer` do for the shared pointer, without anything being put together for it.
    fn place(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        home: u32,
        Arrival { time, origin, what, .. }: Arrival<u32>,
    ) {
        let index = what & !WRITE;
        let write = &self.writes[index];
        let (file, etypes) = (write.file, u64::from(write.etypes));
        let shared = &mut self.home(objects, file).shared;
        let before = *shared;
        *shared += etypes;
        messages.ranks_mut().profile_mut().internal_message(WORD);
        let back = time + messages.fabric().latency(home, origin, WORD);
        self.placed(messages, objects, index, before, back);
    }

    fn perform(&mut self, messages: &mut Messages, objects: &Objects, access: HomeRequest, at: Time) {
        let file = access.file;
        if let HomeAction::Part(part) = &access.action {
            let part = part.clone();
            return self.aggregate(messages, objects, access, &part, at);
        }
        let answer = match &access.action {
            HomeAction::Met(number) => return self.met(messages, objects, file, *number, at),
            HomeAction::Meet(..) | HomeAction::Part(_) => {
                unreachable!("a member's part waits for the others'")
            }
            HomeAction::Serve(loads) => {
                let done = self.serve_load(messages, loads, at);
                return self.give(
                    messages,
                    objects,
                    PLACE,
                    &access,
                    HomeReply::default(),
                    Way::Arrives(done),
                );
            }
            HomeAction::Advance(etypes) => {
                let shared = &mut self.home(objects, file).shared;
                let before = *shared;
                *shared += etypes;
                HomeReply::of(before)
            }
            HomeAction::Read(pieces) if !messages.payloads().are_carried() => {
                HomeReply::of(pieces.iter().map(|piece| piece.1).sum())
            }
            HomeAction::Write(..) if !messages.payloads().are_carried() => HomeReply::default(),
            HomeAction::Read(pieces) => {
                match self.host(objects, file).and_then(|host| transfer::read(&host, pieces)) {
                    Ok(data) => HomeReply { value: data.len() as u64, data, ..HomeReply::default() },
                    Err(failure) => HomeReply::failed(failure),
                }
            }
            HomeAction::Write(pieces, data) => {
                match self.host(objects, file).and_then(|host| transfer::write(&host, pieces, data)) {
                    Ok(()) => HomeReply::default(),
                    Err(failure) => HomeReply::failed(failure),
                }
            }
        };
        self.answer(messages, objects, &access, answer, at);
    }

    /// Sends an answer from home at `at`.
    pub(crate) fn answer(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        access: &HomeRequest,
        answer: HomeReply,
        at: Time,
    ) {
        if access.operation == u32::MAX {
            return;
        }
        let (home, to) = (access.action.place(objects.files.at(access.file).home), access.origin);
        let bytes = answer.bytes(&access.action);
        if bytes != 0 {
            access.action.count(messages, bytes);
        }
        let way = messages.fabric().way(home, to, bytes, at);
        self.give(messages, objects, home, access, answer, way);
    }

    /// Hands an answer back to its origin.
    fn give(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        home: u32,
        access: &HomeRequest,
        answer: HomeReply,
        way: Way,
    ) {
        let &HomeRequest { origin, operation, .. } = access;
        if !messages.ranks().is_local(origin) {
            return self.tell_answer(messages, (home, origin), operation, &answer, way);
        }
        match way {
            Way::Arrives(at) => self.answered(messages, objects, operation, answer, at),
            Way::Leaves(at, bytes) => {
                let index = self.answers.insert((operation, answer));
                messages.departures().launch(
                    Departure::Answer,
                    home,
                    origin,
                    (bytes, at),
                    Flight::Chapter { chapter: CHAPTER, words: [HomeLeg::Back as u32, index, 0, 0] },
                );
            }
        }
    }

    /// Handles the messages that a shared network has delivered: accesses arrive, answers complete their
    /// steps.
    pub(crate) fn land_all(&mut self, messages: &mut Messages, objects: &Objects) {
        for ([leg, index, ..], at) in std::mem::take(&mut self.landed) {
            if leg == HomeLeg::There as u32 {
                let mut access = self.accesses.remove(index).expect("it was launched");
                access.arrival = at;
                self.arrive(messages, objects, access);
            } else {
                let (operation, answer) = self.answers.remove(index).expect("it was launched");
                self.answered(messages, objects, operation, answer, at);
            }
        }
    }
}
