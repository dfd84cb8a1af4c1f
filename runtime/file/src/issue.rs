//! How an access begins: from the arguments of a call to data moved, or to what is asked of the file's home.

use crate::CHAPTER;
use crate::access::{Action, Answer};
use crate::asked::{Asked, Direction, Started, Transfer};
use crate::check;
use crate::check::is_alone;
use crate::meet::Meet;
use crate::operation::{Operation, Then};
use crate::state::Files;
use crate::transfer::{self, Memory};
use crate::view::View;
use engine::Time;
use message::Messages;
use message::handle;
use message::p2p;
use message::request::Body;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};

/// What is to be done for an access beside what is done already.
struct Plan {
    /// What is asked, the first last.
    steps: Vec<Action>,
    then: Then,
    /// Bytes of memory that were moved, or will have been.
    bytes: u64,
    /// Why data was not moved.
    failure: Option<Box<Failure>>,
}

impl Files {
    /// Looks at all that an access is asked for with but its place.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`; `MPI_ERR_ACCESS`, `MPI_ERR_READ_ONLY`, `MPI_ERR_UNSUPPORTED_OPERATION` by the access
    /// mode; `MPI_ERR_IO` for what is no multiple of the etype, or data where the view has none.
    pub fn prepare(&self, messages: &Messages, objects: &Objects, asked: Asked) -> Result<Transfer> {
        let file = objects.files.index(&objects.comms, asked.file)?;
        let object = objects.files.at(file);
        check::direction(object, asked.direction)?;
        if !asked.by_shared {
            check::not_sequential(object)?;
        }
        let view_of = &self.part(file, messages.current).view;
        let extent = p2p::view(objects, asked.buffer)?;
        let (_, count, datatype) = asked.buffer;
        let datatype = objects.types.usable(messages.current, datatype)?.clone();
        let memory = Memory { extent, datatype, count: count as u64 };
        let bytes = view_of.representation.in_file_bytes(&memory.datatype, memory.count);
        if !bytes.is_multiple_of(view_of.unit) {
            let text = format!("the access is of {bytes} bytes, which is no multiple of the etype's {}: access whole etypes", view_of.unit);
            return Err(Failure::new(ErrorClass::IO, text));
        }
        if bytes != 0 && view_of.is_empty() {
            let text =
                format!("the access is of {bytes} bytes, but the filetype of the view has none: set another view, or access nothing");
            return Err(Failure::new(ErrorClass::IO, text));
        }
        Ok(Transfer { file, direction: asked.direction, memory, bytes, etypes: bytes / view_of.unit })
    }

    /// The mounted rank's access begins at an offset, in etypes; `collective` where the other members' do too.
    ///
    /// Data that goes to the file does so now, and what comes from it once all have met: so a collective read finds what was written by a collective write before it.
    ///
    /// # Errors
    /// What the host says, unless others wait for this rank; `MPI_ERR_CONVERSION`.
    pub fn start(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        transfer: Transfer,
        offset: u64,
        collective: bool,
    ) -> Result<Started> {
        let (file, me) = (transfer.file, messages.current);
        let part = self.part(file, me);
        let view = part.view.clone();
        let alone = is_alone(objects, file);
        let (atomic, collective) = (part.atomic && !alone, collective && !alone);
        let from = offset.saturating_mul(view.unit);
        let load = self.load_of(messages, objects, file, &view, (from, transfer.bytes));
        let Plan { mut steps, then, bytes, failure } = self.plan(objects, &view, &transfer, (from, atomic, collective))?;
        // What is asked first is last: all members, then the file's home, then the servers.
        steps.splice(0..0, load);
        if collective {
            steps.push(self.part_in(file, me, Meet::Access));
        } else if let Some(failure) = failure {
            return Err(failure);
        } else if steps.is_empty() {
            return Ok(Started::Done(bytes));
        }
        let index = self.make_operation(messages, file);
        let operation = &mut self.operations[index];
        (operation.then, operation.bytes, operation.transfer) = (then, bytes, Some((transfer, from)));
        operation.answer.failure = failure;
        let (request, first) = (operation.request, steps.pop().expect("an access that is not done asks for something"));
        operation.next = steps;
        // The servers are asked beside the network, which costs the rank nothing.
        let leaves = if matches!(first, Action::Serve(_)) { messages.clock(me) } else { messages.inject(me) };
        self.ask(messages, objects, (file, me), first, index, leaves);
        Ok(Started::Waits(handle::of_cold(request)))
    }

    /// Moves the data of an access now where that is its time, and says what else is to be done for it.
    fn plan(&mut self, objects: &Objects, view: &View, transfer: &Transfer, (from, atomic, collective): (u64, bool, bool)) -> Result<Plan> {
        let mut plan = Plan { steps: Vec::new(), then: Then::Nothing, bytes: transfer.memory.extent.bytes, failure: None };
        let pieces = || transfer::pieces(view, from, transfer.bytes);
        match (transfer.direction, atomic) {
            (Direction::Write, false) => {
                plan.failure =
                    self.host(objects, transfer.file).and_then(|host| transfer::store(&host, view, from, &transfer.memory)).err();
            }
            (Direction::Write, true) => match transfer::pack(view, &transfer.memory) {
                Ok(data) => plan.steps.push(Action::Write(pieces(), data)),
                Err(failure) => plan.failure = Some(failure),
            },
            (Direction::Read, false) if collective => plan.then = Then::Load,
            (Direction::Read, false) => plan.bytes = transfer::load(&*self.host(objects, transfer.file)?, view, from, &transfer.memory)?,
            (Direction::Read, true) => {
                plan.steps.push(Action::Read(pieces()));
                plan.then = Then::Unpack;
            }
        }
        Ok(plan)
    }

    /// An operation of the mounted rank, with a request.
    pub(crate) fn make_operation(&mut self, messages: &mut Messages, file: u32) -> u32 {
        let rank = messages.current;
        let (answer, then) = (Answer::default(), Then::Nothing);
        let index = self.operations.insert(Operation { file, rank, request: 0, next: Vec::new(), then, transfer: None, bytes: 0, answer });
        self.operations[index].request = messages.make_request(rank, Body::Chapter { chapter: CHAPTER, token: [index, 0] });
        index
    }

    /// The handle of a request for what is done already, with so many bytes, as a nonblocking call needs one.
    pub fn done_request(&mut self, messages: &mut Messages, file: u32, bytes: u64) -> usize {
        let index = self.make_operation(messages, file);
        let operation = &mut self.operations[index];
        operation.bytes = bytes;
        let request = operation.request;
        messages.requests[request].done = Some(Time::ZERO);
        handle::of_cold(request)
    }
}
