//! Calls of files in stages, for ranks that have no stack to wait on, in runs without payloads.

use super::{FILE_BYTES, Pointer, make};
use crate::world::Mpi;
use collective::mode::{ENDED, Mode};
use file::{AccessStart, FileLength, Meet, NewView, Transfer};
use objects::abi::MPI_DISPLACEMENT_CURRENT;
use objects::error::{ErrorClass, Failure, Result};
use rank::Addr;

/// Bytes in a file, or the class of the error with which it cannot be opened.
pub type OpenedSize = std::result::Result<u64, i32>;

/// A number that a call waits for, or the request that answers it.
pub type FileAnswer = std::result::Result<u64, usize>;

impl Mpi {
    /// Begins `MPI_File_open` of a file that is nowhere, and has so many bytes or cannot be opened. Returns a
    /// word for [`Mpi::end_open`], and whether the rank has to wait until then.
    ///
    /// # Errors
    /// As [`Mpi::open_file`].
    pub fn begin_open(&self, comm: usize, name: &str, amode: i32, size: OpenedSize) -> Result<(usize, bool)> {
        let contribution = self.file(
            comm,
            |_| {
                let size = size.map_err(|class| {
                    Failure::new(ErrorClass(class), "the file could not be opened in the recording")
                })?;
                Ok(Some((file::name_of(name, amode)?, size)))
            },
            amode,
        )?;
        self.begin_agreement(comm, FILE_BYTES, contribution, make::open)
    }

    /// Ends [`Mpi::begin_open`]; returns the handle.
    ///
    /// # Errors
    /// What the members agreed on.
    pub fn end_open(&self, word: usize) -> Result<usize> {
        let handle = self.end_agreement(word)?;
        self.files(|files, messages, objects| files.opened(messages, objects, handle)).map(|()| handle)
    }

    /// Begins `MPI_File_close`; returns a word for [`Mpi::end_close`].
    ///
    /// # Errors
    /// As [`Mpi::close_file`].
    pub fn begin_close(&self, handle: usize) -> Result<usize> {
        let comm = self.files(|files, messages, objects| files.may_close(messages, objects, handle))?;
        Ok(self.barrier(comm, Mode::Entering)?.unwrap_or(ENDED))
    }

    /// Ends [`Mpi::begin_close`], once the rank goes on.
    ///
    /// # Errors
    /// What the barrier failed with.
    pub fn end_close(&self, word: usize, handle: usize) -> Result {
        if word != ENDED {
            self.end_collective(word, Addr::NULL)?;
        }
        self.give_file_back(handle)
    }

    /// Returns what an answered request of a file answers, once the rank goes on.
    ///
    /// # Errors
    /// What it failed with.
    pub fn end_answer(&self, request: usize) -> Result<u64> {
        self.end_wait(request)?;
        Ok(self.files(|files, _, _| files.answer_of_last()))
    }

    /// Begins `MPI_File_set_view`, which [`Mpi::end_view`] ends with its answer.
    ///
    /// # Errors
    /// As [`Mpi::set_view`].
    pub fn begin_view(&self, handle: usize, new: &NewView) -> Result<FileAnswer> {
        self.begin_meet(handle, |files, messages, objects, file| {
            files.new_view(messages, objects, file, new).map(|(_, meet)| meet)
        })
    }

    /// Ends [`Mpi::begin_view`].
    ///
    /// # Errors
    /// As [`Mpi::set_view`].
    pub fn end_view(&self, handle: usize, new: &NewView, shared: u64) -> Result {
        self.files(|files, messages, objects| {
            let file = objects.files.index(&objects.comms, handle)?;
            let (view, _) = files.new_view(messages, objects, file, new)?;
            let goes_on = (new.disp == MPI_DISPLACEMENT_CURRENT).then_some(shared);
            files.set_view(messages, file, view, goes_on);
            Ok(())
        })
    }

    /// Begins `MPI_File_set_atomicity`, which [`Mpi::end_atomicity`] ends.
    ///
    /// # Errors
    /// As [`Mpi::set_atomicity`].
    pub fn begin_atomicity(&self, handle: usize, atomic: bool) -> Result<FileAnswer> {
        self.begin_meet(handle, |_, _, _, _| Ok(Meet::SetAtomicity(atomic)))
    }

    /// Ends [`Mpi::begin_atomicity`].
    ///
    /// # Errors
    /// `MPI_ERR_FILE`.
    pub fn end_atomicity(&self, handle: usize, atomic: bool) -> Result {
        self.files(|files, messages, objects| {
            let file = objects.files.index(&objects.comms, handle)?;
            files.set_atomic(messages, file, atomic);
            Ok(())
        })
    }

    /// Begins `MPI_File_get_position_shared`: the position, or the request for it.
    ///
    /// # Errors
    /// As [`Mpi::shared_position`].
    pub fn begin_shared_position(&self, handle: usize) -> Result<FileAnswer> {
        self.files(|files, messages, objects| {
            let file = objects.files.index(&objects.comms, handle)?;
            files.may_seek(objects, file)?;
            Ok(files.advance_shared(messages, objects, file, 0))
        })
    }

    /// Looks at an access, and asks for its place: that, in etypes, or the request for it.
    ///
    /// # Errors
    /// As [`Mpi::start_access`].
    pub fn place_length(
        &self,
        asked: &FileLength,
        pointer: Pointer,
        collective: bool,
    ) -> Result<(Transfer, FileAnswer)> {
        let together = collective || pointer == Pointer::Ordered;
        if together {
            self.may_meet_members(asked.file)?;
        }
        let transfer = self.files(|files, messages, objects| {
            let may_begin = if together { files.is_not_split(messages, objects, asked.file) } else { Ok(()) };
            let prepared = may_begin.and_then(|()| files.prepare_length(messages, objects, asked));
            if together && prepared.is_err() {
                files.refuse(messages, objects, asked.file);
            }
            prepared
        })?;
        let place = match pointer {
            Pointer::At(offset) => Ok(u64::try_from(offset).map_err(|_| {
                Failure::new(ErrorClass::ARG, format!("offset {offset} is negative: use 0 or more"))
            })?),
            Pointer::Individual => Ok(self.files(|files, messages, _| files.advance(messages, &transfer))),
            Pointer::Shared => self.files(|files, messages, objects| {
                files.advance_shared(messages, objects, transfer.file(), transfer.etypes())
            }),
            Pointer::Ordered => {
                self.begin_meet(asked.file, |_, _, _, _| Ok(Meet::Ordered(transfer.etypes())))?
            }
        };
        Ok((transfer, place))
    }

    /// Starts an access whose place is known.
    ///
    /// # Errors
    /// As [`Mpi::start_access`].
    pub fn start_length(&self, transfer: Transfer, place: u64, collective: bool) -> Result<AccessStart> {
        self.files(|files, messages, objects| files.start(messages, objects, transfer, place, collective))
    }

    /// Returns the handle of a request for an access that has begun.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`.
    pub fn request_of(&self, started: AccessStart, handle: usize) -> Result<usize> {
        match started {
            AccessStart::Waits(request) => Ok(request),
            AccessStart::Done(bytes) => self.files(|files, messages, objects| {
                let file = objects.files.index(&objects.comms, handle)?;
                Ok(files.done_request(messages, file, bytes))
            }),
        }
    }
}
