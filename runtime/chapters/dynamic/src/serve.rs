//! The way of a question to its place, what is done there in turn, and the way of the answer.

use crate::CHAPTER;
use crate::ask::{Answer, Ask, IntercommSide, NOBODY, PortAction, Reply};
use crate::broken::fault_of;
use crate::port::{PortName, PortWaiter};
use crate::state::Dynamic;
use engine::Time;
use objects::Objects;
use objects::error::{ErrorClass, Failure};
use p2p::Messages;
use p2p::fabric::Departure;
use p2p::flight::Flight;
use p2p::remote::shared::Way;
use std::collections::hash_map::Entry;

/// The direction of a flight on a shared network, encoded in its first word: a question or its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
enum QuestionLeg {
    There,
    Back,
}

/// To whom an answer goes, and from where.
#[derive(Clone, Copy)]
struct Addressee {
    place: u32,
    origin: u32,
    operation: u32,
}

impl Dynamic {
    /// Sends a question.
    pub(crate) fn send(&mut self, messages: &mut Messages, mut ask: Ask, leaves: Time) {
        let (origin, place, bytes) = (ask.origin, ask.place, ask.action.bytes());
        messages.ranks_mut().profile_mut().message(bytes);
        let way = match messages.fabric().way(origin, place, bytes, leaves) {
            // What the place's own rank asks is no earlier than what another could: who is served together
            // must be known by then.
            Way::Arrives(at) => Way::Arrives(at.max(leaves + messages.fabric().lookahead(true))),
            way => way,
        };
        if !messages.ranks().is_local(place) {
            return Dynamic::tell_ask(messages, &ask, way);
        }
        match way {
            Way::Arrives(at) => {
                ask.arrival = at;
                self.arrive(messages, ask);
            }
            Way::Leaves(at, bytes) => {
                let index = self.asks.insert(ask);
                messages.departures().launch(
                    Departure::Own,
                    origin,
                    place,
                    (bytes, at),
                    Flight::Chapter { chapter: CHAPTER, words: [QuestionLeg::There as u32, index, 0, 0] },
                );
            }
        }
    }

    /// Queues a question where it is served, until nothing comes before it.
    pub(crate) fn arrive(&mut self, messages: &mut Messages, ask: Ask) {
        let place = ask.place;
        let index = self.asks.insert(ask);
        self.arrivals.push(messages, place, self.asks[index].turn(index));
    }

    /// Serves the first question of a rank, before which nothing comes, and what follows before `until`.
    pub(crate) fn serve(&mut self, messages: &mut Messages, objects: &mut Objects, rank: u32, until: Time) {
        let mut next = self.arrivals.take(rank);
        while let Some(turn) = next {
            let ask = self.asks.remove(turn.what).expect("it waits here");
            self.perform(messages, objects, ask, turn.time);
            next = self.arrivals.take_next(messages, rank, until);
        }
    }

    fn perform(&mut self, messages: &mut Messages, objects: &mut Objects, ask: Ask, at: Time) {
        let Ask { place, origin, operation, action, .. } = ask;
        let to = Addressee { place, origin, operation };
        match action {
            PortAction::Accept(name, side) => {
                self.call_at(messages, name, PortWaiter { origin, operation, side }, true, at)
            }
            PortAction::Connect(name, side) => {
                self.call_at(messages, name, PortWaiter { origin, operation, side }, false, at)
            }
            PortAction::Close(name) => {
                let Some(port) = self.ports.remove(&name) else { return };
                for caller in port.accepting.into_iter().chain(port.connecting) {
                    self.answer(messages, caller.addressee(place), Err(name.not_open()), at);
                }
            }
            PortAction::Join(socket, side) => {
                let caller = PortWaiter { origin, operation, side };
                match self.ends.remove(&socket) {
                    Some(first) => match fault_of(messages, &first.side.group, None, at) {
                        Some(fault) => self.answer(messages, to, Err(fault.failure()), at),
                        None => self.introduce(messages, place, first, caller, at),
                    },
                    None => drop(self.ends.insert(socket, caller)),
                }
            }
            PortAction::Publish(name, port) => {
                let answer = match self.names.entry(name) {
                    Entry::Occupied(known) => Err(known_already(known.key(), known.get())),
                    Entry::Vacant(free) => {
                        free.insert(port);
                        Ok(Reply::Done)
                    }
                };
                self.answer(messages, to, answer, at);
            }
            PortAction::Unpublish(name, port) => {
                let answer = if self.names.get(&name) == Some(&port) {
                    self.names.remove(&name);
                    Ok(Reply::Done)
                } else {
                    Err(Failure::new(
                        ErrorClass::SERVICE,
                        format!("no service '{name}' is published with port '{port}'"),
                    ))
                };
                self.answer(messages, to, answer, at);
            }
            PortAction::Look(name) => {
                let answer = self
                    .names
                    .get(&name)
                    .map(|port| Reply::Port(port.clone()))
                    .ok_or_else(|| not_published(&name));
                self.answer(messages, to, answer, at);
            }
            PortAction::Spawn(commands, side, world) => {
                if let Some(fault) = fault_of(messages, &side.group, None, at) {
                    return self.answer(messages, to, Err(fault.failure()), at);
                }
                let (answer, at) = match self.spawn_all(messages, objects, &commands, &side, world, at) {
                    Ok((reply, begin)) => (Ok(reply), begin),
                    Err(failure) => (Err(failure), at),
                };
                self.answer(messages, to, answer, at);
            }
        }
    }

    /// Handles a call at a port: the caller meets the first that waits for it, or waits. A caller that is
    /// lost to others knows that by itself.
    fn call_at(
        &mut self,
        messages: &mut Messages,
        name: PortName,
        caller: PortWaiter,
        accepts: bool,
        at: Time,
    ) {
        let is_lost =
            |caller: &PortWaiter| fault_of(messages, &caller.side.group, Some(name.owner), at).is_some();
        if is_lost(&caller) {
            return;
        }
        let Some(port) = self.ports.get_mut(&name) else {
            return self.answer(messages, caller.addressee(name.owner), Err(name.not_open()), at);
        };
        let (mine, theirs) = if accepts {
            (&mut port.accepting, &mut port.connecting)
        } else {
            (&mut port.connecting, &mut port.accepting)
        };
        let other = std::iter::from_fn(|| theirs.pop_front()).find(|other| !is_lost(other));
        match other {
            None => mine.push_back(caller),
            Some(other) if accepts => self.introduce(messages, name.owner, caller, other, at),
            Some(other) => self.introduce(messages, name.owner, other, caller, at),
        }
    }

    /// Introduces two sides that have met: each gets to know the other, and both take the context of the
    /// first.
    fn introduce(
        &mut self,
        messages: &mut Messages,
        place: u32,
        first: PortWaiter,
        second: PortWaiter,
        at: Time,
    ) {
        let context = first.side.context;
        let (one, other) = (first.addressee(place), second.addressee(place));
        self.answer(messages, one, Ok(Reply::Met(IntercommSide { group: second.side.group, context })), at);
        self.answer(messages, other, Ok(Reply::Met(IntercommSide { group: first.side.group, context })), at);
    }

    /// Sends an answer at `at`.
    fn answer(&mut self, messages: &mut Messages, to: Addressee, answer: Answer, at: Time) {
        let Addressee { place, origin, operation } = to;
        if operation == NOBODY {
            return;
        }
        let bytes = answer.as_ref().map_or(0, Reply::bytes);
        messages.ranks_mut().profile_mut().message(bytes);
        let way = messages.fabric().way(place, origin, bytes, at);
        if !messages.ranks().is_local(origin) {
            return Dynamic::tell_answer(messages, (place, origin), operation, &answer, way);
        }
        match way {
            Way::Arrives(at) => self.answered(messages, operation, answer, at),
            Way::Leaves(at, bytes) => {
                let index = self.answers.insert((operation, answer));
                messages.departures().launch(
                    Departure::Answer,
                    place,
                    origin,
                    (bytes, at),
                    Flight::Chapter { chapter: CHAPTER, words: [QuestionLeg::Back as u32, index, 0, 0] },
                );
            }
        }
    }

    /// Queues the questions that a shared network has delivered, and takes the answers.
    pub(crate) fn land_all(&mut self, messages: &mut Messages) {
        for ([leg, index, ..], at) in std::mem::take(&mut self.landed) {
            if leg == QuestionLeg::There as u32 {
                let mut ask = self.asks.remove(index).expect("it was launched");
                ask.arrival = at;
                self.arrive(messages, ask);
            } else {
                let (operation, answer) = self.answers.remove(index).expect("it was launched");
                self.answered(messages, operation, answer, at);
            }
        }
    }
}

impl PortWaiter {
    fn addressee(&self, place: u32) -> Addressee {
        Addressee { place, origin: self.origin, operation: self.operation }
    }
}

fn known_already(name: &str, port: &str) -> Box<Failure> {
    let text = format!("service '{name}' is published already, with port '{port}': unpublish it first");
    Failure::new(ErrorClass::SERVICE, text)
}

fn not_published(name: &str) -> Box<Failure> {
    let text = format!(
        "no service '{name}' is published at this time: let its server publish it before others look for it"
    );
    Failure::new(ErrorClass::NAME, text)
}
