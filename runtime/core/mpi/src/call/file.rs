//! The calls of files (MPI 5.0 chapter 14), as begin and end: what blocks. What a call means is the crate
//! `file`.

mod make;
mod stages;

pub use stages::{FileAnswer, OpenedSize};

use crate::world::{Mpi, World};
use collective::agreement::{Contribution, Opened};
use collective::mode::Mode;
use file::{AccessArguments, AccessStart, Conversion, Direction, Meet, NewView, OpenFiles, Transfer};
use objects::Objects;
use objects::abi::MPI_DISPLACEMENT_CURRENT;
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use p2p::point_to_point::Buffer;
use p2p::request::Status;
use std::borrow::Cow;
use std::rc::Rc;

/// Bytes that each member contributes to the agreement on a file: the context of its communicator, and the
/// access mode.
const FILE_BYTES: u64 = 16;

/// The bit of the word between the halves of a call that waits for a short write and not for a request, whose
/// handle has not so many bits.
pub(crate) const SHORT_WRITE: u64 = 1 << 63;

/// Position of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pointer {
    /// To an offset, in etypes.
    At(i64),
    /// To the rank's own pointer, which moves on.
    Individual,
    /// To the pointer that all share, which moves on.
    Shared,
    /// To the shared pointer, one rank after the other: a collective call.
    Ordered,
}

/// An access as a call names it.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The file's handle.
    pub file: usize,
    /// Direction of the data.
    pub direction: Direction,
    /// Position of the access.
    pub pointer: Pointer,
    /// `true` if all members call.
    pub collective: bool,
    /// The program's memory.
    pub buffer: Buffer,
}

impl Mpi {
    /// Returns what a call of files goes through, while nothing else has the world.
    #[inline(always)]
    pub fn files<T>(&self, call: impl FnOnce(&mut OpenFiles, &mut Messages, &Objects) -> T) -> T {
        let World { objects, messages, chapters, .. } = &mut *self.world();
        call(&mut chapters.files, messages, objects)
    }

    /// Implements `MPI_File_open`. Returns the handle.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`, `MPI_ERR_AMODE`, `MPI_ERR_NOT_SAME` for modes that differ, and what the host says to
    /// the first member.
    pub fn open_file(&self, comm: usize, name: &str, amode: i32) -> Result<usize> {
        let contribution = self.file(
            comm,
            |first| match first {
                true => file::create(name, amode).map(Some),
                false => Ok(None),
            },
            amode,
        )?;
        let (_, handle) = self.agree(comm, FILE_BYTES, contribution, make::open, Mode::Blocking)?;
        self.files(|files, messages, objects| files.opened(messages, objects, handle)).map(|()| handle)
    }

    /// Returns what the mounted rank brings to the agreement on a file: the first member what it has
    /// `opened`.
    fn file<'n>(
        &self,
        comm: usize,
        opened: impl FnOnce(bool) -> Result<Option<(Cow<'n, str>, u64)>>,
        amode: i32,
    ) -> Result<Contribution> {
        self.may_meet(|_| Some(comm))?;
        let first = {
            let world = self.world();
            let communicator = world.objects.comms.get(comm)?;
            if communicator.is_inter() {
                return Err(Failure::new(
                    ErrorClass::COMM,
                    "a file is opened on an intracommunicator, and this is an intercommunicator",
                ));
            }
            communicator.is_self || communicator.rank(world.messages.me()) == 0
        };
        let opened: Opened = opened(first)
            .map(|opened| opened.map(|(name, size)| (Box::from(name), size)).unwrap_or_default())
            .map_err(|failure| (failure.class.0, failure.text.into()));
        // What is done to a file is told to others without its home's doing.
        self.world().messages.fabric_mut().expect_handshakes();
        Ok(Contribution::File(amode, Rc::new(opened)))
    }

    /// Checks that the mounted rank may wait for the other members of a file: not if one is known to have
    /// failed.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED`.
    fn may_meet_members(&self, handle: usize) -> Result {
        self.may_meet(|objects| Some(objects.files.get(&objects.comms, handle).ok()?.comm))
    }

    /// Implements `MPI_File_close`, which waits for all members unless it is known that one has failed: then
    /// the file is given back, in whatever state.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`, `MPI_ERR_OTHER`; what the host says of deleting the file, if it is to be;
    /// `MPIX_ERR_PROC_FAILED`, with the file given back.
    pub fn close_file(&self, handle: usize) -> Result {
        if let Err(failure) = self.may_meet_members(handle) {
            return self.abandon_file(handle, failure);
        }
        let comm = self.files(|files, messages, objects| files.may_close(messages, objects, handle))?;
        match self.barrier(comm, Mode::Blocking) {
            Err(failure) if failure.class == ErrorClass::PROC_FAILED => {
                return self.abandon_file(handle, failure);
            }
            met => met?,
        };
        self.give_file_back(handle)
    }

    /// Gives a file back for the mounted rank after all members have met.
    fn give_file_back(&self, handle: usize) -> Result {
        let world = &mut *self.world();
        let World { objects, messages, chapters, .. } = world;
        let index = objects.files.index(&objects.comms, handle)?;
        let comm = objects.files.at(index).comm;
        let context = objects.comms.get(comm)?.context;
        let deleted = chapters.files.give_back(messages, objects, index);
        objects.files.forget(messages.me(), handle);
        if objects.comms.release(comm)? {
            objects.files.remove(index, context);
            chapters.files.forget(index);
            world.forget_freed();
        }
        deleted
    }

    /// Gives a file back for the mounted rank after a member has failed. It is not deleted, whatever its
    /// mode: others may not know yet.
    fn abandon_file(&self, handle: usize, failure: Box<Failure>) -> Result {
        let World { objects, messages, chapters, .. } = &mut *self.world();
        let index = objects.files.index(&objects.comms, handle)?;
        let comm = objects.files.at(index).comm;
        chapters.files.abandon(messages, objects, index);
        objects.files.forget(messages.me(), handle);
        objects.comms.release(comm)?;
        Err(failure)
    }

    /// Lets all members meet, each with its part, which may fail before. Returns the answer of the meeting.
    ///
    /// # Errors
    /// What `part` fails with, which the others learn of; what the meeting fails with;
    /// `MPIX_ERR_PROC_FAILED`.
    pub fn meet(
        &self,
        handle: usize,
        part: impl FnOnce(&mut OpenFiles, &mut Messages, &Objects, u32) -> Result<Meet>,
    ) -> Result<u64> {
        self.answer_of(self.begin_meet(handle, part)?)
    }

    /// Begins [`Mpi::meet`]; returns its answer, or the request for it.
    ///
    /// # Errors
    /// As [`Mpi::meet`].
    pub fn begin_meet(
        &self,
        handle: usize,
        part: impl FnOnce(&mut OpenFiles, &mut Messages, &Objects, u32) -> Result<Meet>,
    ) -> Result<std::result::Result<u64, usize>> {
        self.may_meet_members(handle)?;
        self.files(|files, messages, objects| {
            let file = objects.files.index(&objects.comms, handle)?;
            match part(files, messages, objects, file) {
                Ok(meet) => files.meet(messages, objects, file, meet),
                Err(failure) => {
                    files.refuse(messages, objects, handle);
                    Err(failure)
                }
            }
        })
    }

    /// Returns what is known at once, or what the request for it answers.
    fn answer_of(&self, met: std::result::Result<u64, usize>) -> Result<u64> {
        match met {
            Ok(answer) => Ok(answer),
            Err(request) => {
                self.wait(request)?;
                Ok(self.files(|files, _, _| files.answer_of_last()))
            }
        }
    }

    /// Implements `MPI_File_set_view`.
    ///
    /// # Errors
    /// As `OpenFiles::new_view`; `MPI_ERR_NOT_SAME` where etypes' extents or representations differ.
    pub fn set_view(&self, handle: usize, new: &NewView) -> Result {
        let mut made = None;
        let conversion = self.files(|files, messages, _| files.conversion_named(messages, new.datarep));
        let mut asked = self.ask_extents(conversion, &[new.etype, new.filetype]).map(|_| ());
        let shared = self.meet(handle, |files, messages, objects, file| {
            std::mem::replace(&mut asked, Ok(()))?;
            let (view, meet) = files.new_view(messages, objects, file, new)?;
            made = Some((file, view));
            Ok(meet)
        })?;
        if let Some((file, view)) = made {
            let goes_on = (new.disp == MPI_DISPLACEMENT_CURRENT).then_some(shared);
            self.files(|files, messages, _| files.set_view(messages, file, view, goes_on));
        }
        Ok(())
    }

    /// Asks the program how long predefined datatypes in these are in the file, if its representation
    /// converts.
    ///
    /// # Errors
    /// `MPI_ERR_CONVERSION`.
    pub fn ask_extents(
        &self,
        conversion: Option<Rc<Conversion>>,
        datatypes: &[usize],
    ) -> Result<Option<Rc<Conversion>>> {
        if let Some(conversion) = &conversion {
            let unknown = self
                .files(|_, messages, objects| OpenFiles::unknown(messages, objects, conversion, datatypes));
            conversion.ask(&unknown)?;
        }
        Ok(conversion)
    }

    /// Returns what the program has to do for an access before it begins: none, unless its representation
    /// converts.
    fn conversion(&self, access: &Access) -> Result<Option<Rc<Conversion>>> {
        let conversion =
            self.files(|files, messages, objects| files.conversion_of(messages, objects, access.file))?;
        self.ask_extents(conversion, &[access.buffer.2])
    }

    /// Implements `MPI_File_set_atomicity`.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`, `MPI_ERR_NOT_SAME`.
    pub fn set_atomicity(&self, handle: usize, atomic: bool) -> Result {
        self.meet(handle, |_, _, _, _| Ok(Meet::SetAtomicity(atomic)))?;
        self.files(|files, messages, objects| {
            let file = objects.files.index(&objects.comms, handle)?;
            files.set_atomic(messages, file, atomic);
            Ok(())
        })
    }

    /// Implements `MPI_File_get_position_shared`. Returns etypes.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`, `MPI_ERR_UNSUPPORTED_OPERATION`.
    pub fn shared_position(&self, handle: usize) -> Result<u64> {
        let asked = self.files(|files, messages, objects| {
            let file = objects.files.index(&objects.comms, handle)?;
            files.may_seek(objects, file)?;
            Result::Ok(files.advance_shared(messages, objects, file, 0))
        })?;
        self.answer_of(asked)
    }

    /// Begins an access of the mounted rank; what has to be known of the shared pointer is waited for here.
    ///
    /// # Errors
    /// As `OpenFiles::prepare` and `OpenFiles::start`; `MPIX_ERR_PROC_FAILED` of a collective access.
    pub fn start_access(&self, access: Access) -> Result<AccessStart> {
        let by_shared = matches!(access.pointer, Pointer::Shared | Pointer::Ordered);
        let asked = AccessArguments {
            file: access.file,
            direction: access.direction,
            buffer: access.buffer,
            by_shared,
        };
        let together = access.collective || access.pointer == Pointer::Ordered;
        if together {
            self.may_meet_members(access.file)?;
        }
        let conversion = self.conversion(&access);
        let encode = |prepared: &mut Transfer| -> Result {
            if let (Ok(Some(conversion)), Direction::Write) = (&conversion, access.direction) {
                prepared
                    .convert(conversion.encode((access.buffer.0.0, access.buffer.2), prepared.elements())?);
            }
            Ok(())
        };
        let mut prepared = self.files(|files, messages, objects| {
            let prepared = match access.pointer {
                _ if conversion.is_err() => Err(conversion.as_ref().err().cloned().expect("asked")),
                Pointer::At(offset) if offset < 0 => {
                    Err(Failure::new(ErrorClass::ARG, format!("offset {offset} is negative: use 0 or more")))
                }
                _ if together => files
                    .is_not_split(messages, objects, access.file)
                    .and_then(|()| files.prepare(messages, objects, asked)),
                _ => files.prepare(messages, objects, asked),
            };
            if together && prepared.is_err() {
                files.refuse(messages, objects, access.file);
            }
            prepared
        })?;
        if let Err(failure) = encode(&mut prepared) {
            if together {
                self.files(|files, messages, objects| files.refuse(messages, objects, access.file));
            }
            return Err(failure);
        }
        let offset = match access.pointer {
            Pointer::At(offset) => offset as u64,
            Pointer::Individual => self.files(|files, messages, _| files.advance(messages, &prepared)),
            Pointer::Shared => {
                let asked = self.files(|files, messages, objects| {
                    files.advance_shared(messages, objects, prepared.file(), prepared.etypes())
                });
                self.answer_of(asked)?
            }
            Pointer::Ordered => self.meet(access.file, |_, _, _, _| Ok(Meet::Ordered(prepared.etypes())))?,
        };
        self.files(|files, messages, objects| {
            files.start(messages, objects, prepared, offset, access.collective)
        })
    }

    /// Begins a blocking access; returns its status, or the request to wait for.
    ///
    /// # Errors
    /// As [`Mpi::start_access`].
    pub fn begin_access(&self, access: Access) -> Result<std::result::Result<Status, usize>> {
        let started = self.start_access(access)?;
        self.begin_end_of(started)
    }

    /// Ends a blocking access, by the word of the first half; returns its status.
    ///
    /// # Errors
    /// What it failed with.
    pub fn end_access(&self, word: u64) -> Result<Status> {
        if word & SHORT_WRITE != 0 {
            return self.files(|files, messages, objects| files.end_short(messages, objects, word as u32));
        }
        Ok(self.end_wait(word as usize)?.0)
    }

    /// Returns what an access that has begun needs to be over: nothing, or that its request is waited for.
    ///
    /// # Errors
    /// What it failed with.
    pub fn begin_end_of(&self, started: AccessStart) -> Result<std::result::Result<Status, usize>> {
        match started {
            AccessStart::Done(_) => Ok(Ok(started.status().expect("it is done"))),
            AccessStart::Waits(request) if self.begin_wait(request)? => Ok(Err(request)),
            AccessStart::Waits(request) => Ok(Ok(self.end_wait(request)?.0)),
        }
    }

    /// Starts a nonblocking access; returns the handle of its request.
    ///
    /// # Errors
    /// As [`Mpi::start_access`].
    pub fn request_access(&self, access: Access) -> Result<usize> {
        self.request_of(self.start_access(access)?, access.file)
    }

    /// Begins a split collective, as its first half.
    ///
    /// # Errors
    /// As [`Mpi::start_access`].
    pub fn begin_split(&self, name: &'static str, access: Access) -> Result {
        let started = self.start_access(access)?;
        self.files(|files, messages, objects| {
            let file = objects.files.index(&objects.comms, access.file)?;
            files.begin_split(messages, file, name, started);
            Ok(())
        })
    }
}
