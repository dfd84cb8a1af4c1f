//! How an access begins: from the arguments of a call to data moved, or to what is asked of the file's home.

use crate::CHAPTER;
use crate::access::{Action, Answer};
use crate::check;
use crate::meeting::Meet;
use crate::operation::{Operation, Then, status};
use crate::state::Files;
use crate::transfer::{self, Memory};
use engine::Time;
use message::Messages;
use message::handle;
use message::p2p::{Buffer, view};
use message::request::{Body, Status};
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To the program's memory.
    Read,
    /// To the file.
    Write,
}

/// An access as a call names it.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The file's handle.
    pub file: usize,
    /// Which way data goes.
    pub direction: Direction,
    /// The program's memory.
    pub buffer: Buffer,
    /// Whether the file's own pointers say where: a sequential file has no others.
    pub by_shared: bool,
}

/// An access that may begin.
#[derive(Clone)]
pub struct Transfer {
    pub(crate) file: u32,
    pub(crate) direction: Direction,
    pub(crate) memory: Memory,
    /// Bytes in the file.
    bytes: u64,
    /// Etypes of the view.
    pub(crate) etypes: u64,
}

impl Transfer {
    /// The index of its file.
    pub fn file(&self) -> u32 {
        self.file
    }
    /// How far it moves a pointer, in etypes.
    pub fn etypes(&self) -> u64 {
        self.etypes
    }
}

/// An access that has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// All is done: so many bytes of memory were moved.
    Done(u64),
    /// The handle of the request that completes it.
    Waits(usize),
}

impl Started {
    /// The status of an access that is done.
    pub fn status(self) -> Option<Status> {
        match self {
            Started::Done(bytes) => Some(status(bytes)),
            Started::Waits(_) => None,
        }
    }
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
        let extent = view(objects, asked.buffer)?;
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
        if !atomic && !collective {
            let host = self.host(objects, file)?;
            return Ok(Started::Done(match transfer.direction {
                Direction::Write => transfer::store(&host, &view, from, &transfer.memory)?,
                Direction::Read => transfer::load(&host, &view, from, &transfer.memory)?,
            }));
        }
        let index = self.make_operation(messages, file);
        let mut written = Ok(transfer.memory.extent.bytes);
        let mut next = None;
        let mut then = Then::Nothing;
        match (transfer.direction, atomic) {
            (Direction::Write, false) => {
                written = self.host(objects, file).and_then(|host| transfer::store(&host, &view, from, &transfer.memory));
            }
            (Direction::Write, true) => match transfer::pack(&view, &transfer.memory) {
                Ok(data) => next = Some(Action::Write(transfer::pieces(&view, from, transfer.bytes), data)),
                Err(failure) => written = Err(failure),
            },
            (Direction::Read, false) => then = Then::Load,
            (Direction::Read, true) => {
                next = Some(Action::Read(transfer::pieces(&view, from, transfer.bytes)));
                then = Then::Unpack;
            }
        }
        let operation = &mut self.operations[index];
        operation.then = then;
        operation.transfer = Some((transfer, from));
        match written {
            Ok(bytes) => operation.bytes = bytes,
            Err(failure) if collective => self.fail(index, failure),
            Err(failure) => {
                let request = operation.request;
                self.operations.remove(index);
                messages.requests.remove(request);
                return Err(failure);
            }
        }
        let request = self.operations[index].request;
        let leaves = messages.inject(me);
        if collective {
            self.operations[index].next = next;
            let action = self.part_in(file, me, Meet::Access);
            self.ask(messages, objects, (file, me), action, index, leaves);
        } else if let Some(action) = next {
            self.ask(messages, objects, (file, me), action, index, leaves);
        }
        Ok(Started::Waits(handle::of_cold(request)))
    }

    /// An operation of the mounted rank, with a request.
    pub(crate) fn make_operation(&mut self, messages: &mut Messages, file: u32) -> u32 {
        let rank = messages.current;
        let (answer, then) = (Answer::default(), Then::Nothing);
        let index = self.operations.insert(Operation { file, rank, request: 0, next: None, then, transfer: None, bytes: 0, answer });
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

/// Whether nobody but one rank has the file open.
pub(crate) fn is_alone(objects: &Objects, file: u32) -> bool {
    objects.files.at(file).owner.is_some() || objects.files.comm(&objects.comms, file).is_some_and(|comm| comm.size() == 1)
}
