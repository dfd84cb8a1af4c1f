//! Completion of operations: what an answer does to them, and what happens when their rank completes them.

use crate::access::HomeReply;
use crate::asked::status;
use crate::buffering::ROUND;
use crate::operation::Then;
use crate::state::OpenFiles;
use crate::transfer;
use crate::write::WRITE;
use engine::Time;
use objects::Objects;
use objects::error::{FailureScope, Result};
use p2p::Messages;
use p2p::request::Status;

impl OpenFiles {
    /// Takes the answer to an operation, which is back at its rank's process.
    pub(crate) fn answered(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        answer: HomeReply,
        at: Time,
    ) {
        if index & ROUND != 0 {
            return self.answer_round(messages, objects, index & !ROUND, at);
        }
        if index & WRITE != 0 {
            return self.placed(messages, objects, index & !WRITE, answer.value, at);
        }
        if self.is_broken(index) || self.exchanged(messages, objects, index, &answer, at) {
            return;
        }
        let Some(operation) = self.operations.get_mut(index) else { return };
        let (file, rank) = (operation.file, operation.rank);
        operation.answer.add(answer);
        let next = if operation.answer.failure.is_none() { operation.next.pop() } else { None };
        match next {
            Some(action) => self.ask(messages, objects, (file, rank), action, index, at),
            None => self.over(messages, index, at),
        }
    }

    /// Moves what a complete operation read into the program's memory; its rank is mounted.
    pub(crate) fn deliver_operation(&mut self, objects: &Objects, index: u32) {
        let Some(operation) = self.operations.get_mut(index) else { return };
        let then = std::mem::replace(&mut operation.then, Then::Nothing);
        if operation.answer.failure.is_some() || matches!(then, Then::Nothing | Then::Convert) {
            return;
        }
        let (file, rank) = (operation.file, operation.rank);
        let data = std::mem::take(&mut operation.answer.data);
        let Some((transfer, from)) = operation.transfer.take() else { return };
        // A program that is wrong has closed the file meanwhile: then the host's file is missing too.
        let moved = match self.parts.get(&(file, rank)).map(|part| part.view.clone()) {
            Some(view) if then == Then::Unpack => Ok(transfer::unpack(&view, &transfer.memory, data)),
            Some(view) => self
                .host(objects, file)
                .and_then(|host| transfer::load(&host, &view, (from, transfer.bytes), &transfer.memory)),
            None => self.host(objects, file).map(|_| 0),
        };
        let operation = &mut self.operations[index];
        match moved {
            Ok(bytes) => operation.bytes = bytes,
            Err(failure) => operation.answer.failure = Some(failure),
        }
    }

    /// Completes an operation of the mounted rank. Returns its status.
    ///
    /// # Errors
    /// What it failed with.
    pub(crate) fn finish_operation(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
    ) -> Result<Status> {
        let scope = self.operations.get(index).map(|operation| FailureScope::File(operation.file));
        self.take_broken(messages, index).map_err(|failure| failure.within(scope))?;
        self.deliver_operation(objects, index);
        let Some(operation) = self.operations.remove(index) else { return Ok(Status::EMPTY) };
        self.answer = operation.answer.value;
        operation.answer.failure.map_or(Ok(status(operation.bytes)), |failure| Err(failure.within(scope)))
    }
}
