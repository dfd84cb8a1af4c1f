//! Operations under way: what becomes of them when their answer comes, and when their rank completes them.

use crate::access::{Action, Answer};
use crate::issue::Transfer;
use crate::state::Files;
use crate::transfer;
use engine::Time;
use message::Messages;
use message::request::Status;
use objects::Objects;
use objects::error::{Failure, Result};

/// What is left to be done when the rank completes its operation, whose memory is reached then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    Nothing,
    /// Reads the host's file.
    Load,
    /// Unpacks what the answer brought.
    Unpack,
}

/// An operation of a rank of this process.
pub(crate) struct Operation {
    pub(crate) file: u32,
    /// World rank.
    pub(crate) rank: u32,
    /// The program's request for it.
    pub(crate) request: u32,
    /// What is asked once all members have met.
    pub(crate) next: Option<Action>,
    pub(crate) then: Then,
    /// The memory and the place in the view.
    pub(crate) transfer: Option<(Transfer, u64)>,
    /// Bytes of memory that were moved.
    pub(crate) bytes: u64,
    pub(crate) answer: Answer,
}

impl Files {
    /// The answer to an operation is back at its rank's process.
    pub(crate) fn answered(&mut self, messages: &mut Messages, objects: &Objects, index: u32, answer: Answer, at: Time) {
        let Some(operation) = self.operations.get_mut(index) else { return };
        let (file, rank, request) = (operation.file, operation.rank, operation.request);
        let next = operation.next.take().filter(|_| answer.failure.is_none() && operation.answer.failure.is_none());
        if answer.failure.is_some() && operation.answer.failure.is_none() || operation.answer.failure.is_none() {
            operation.answer = answer;
        }
        match next {
            Some(action) => self.ask(messages, objects, (file, rank), action, index, at),
            None => messages.finish_request(request, at),
        }
    }

    /// Moves what a complete operation read into the program's memory; its rank is mounted.
    pub(crate) fn deliver_operation(&mut self, objects: &Objects, index: u32) {
        let Some(operation) = self.operations.get_mut(index) else { return };
        let then = std::mem::replace(&mut operation.then, Then::Nothing);
        if operation.answer.failure.is_some() || then == Then::Nothing {
            return;
        }
        let (file, rank) = (operation.file, operation.rank);
        let data = std::mem::take(&mut operation.answer.data);
        let Some((transfer, from)) = operation.transfer.take() else { return };
        let view = self.part(file, rank).view.clone();
        let moved = match then {
            Then::Unpack => Ok(transfer::unpack(&view, &transfer.memory, data)),
            _ => self.host(objects, file).and_then(|host| transfer::load(&host, &view, from, &transfer.memory)),
        };
        let operation = &mut self.operations[index];
        match moved {
            Ok(bytes) => operation.bytes = bytes,
            Err(failure) => operation.answer.failure = Some(failure),
        }
    }

    /// The mounted rank completes an operation: its status.
    ///
    /// # Errors
    /// What it failed with.
    pub(crate) fn finish_operation(&mut self, objects: &Objects, index: u32) -> Result<Status> {
        self.deliver_operation(objects, index);
        let Some(operation) = self.operations.remove(index) else { return Ok(Status::EMPTY) };
        self.answer = operation.answer.value;
        operation.answer.failure.map_or(Ok(status(operation.bytes)), Err)
    }

    /// What fails an operation that has begun: its rank learns of it when it completes it, as the others wait for it.
    pub(crate) fn fail(&mut self, index: u32, failure: Box<Failure>) {
        self.operations[index].answer = Answer::failed(failure);
    }
}

/// The status of an access to a file: how many bytes of memory it moved, and nothing else (MPI 5.0 section 14.4.1).
pub(crate) fn status(bytes: u64) -> Status {
    Status { bytes, ..Status::EMPTY }
}
