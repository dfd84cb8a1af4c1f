//! File pointers and views of the mounted rank (MPI 5.0 sections 14.3, 14.4.2 to 14.4.4).

use crate::access::HomeAction;
use crate::asked::{AccessStart, Transfer};
use crate::check::{self, bad_argument, is_alone, not_negative};
use crate::direction::Direction;
use crate::meeting::seek;
use crate::state::{OpenFiles, Split};
use crate::view::{NewView, View};
use objects::Objects;
use objects::abi::{
    MPI_DISPLACEMENT_CURRENT, MPI_MODE_RDONLY, MPI_MODE_SEQUENTIAL, MPI_SEEK_CUR, MPI_SEEK_END, MPI_SEEK_SET,
};
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use p2p::handle;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Checks that `whence` is one of three.
fn check_whence(whence: i32) -> Result {
    if matches!(whence, MPI_SEEK_SET | MPI_SEEK_CUR | MPI_SEEK_END) {
        return Ok(());
    }
    Err(bad_argument(format!("whence {whence} is none: use MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END")))
}

impl OpenFiles {
    /// Returns the end of the file as the mounted rank's view has it, in etypes; of one with `size` bytes, if
    /// that is given.
    fn end(&mut self, messages: &Messages, objects: &Objects, file: u32, size: Option<u64>) -> Result<u64> {
        let size = size.map_or_else(|| self.host(objects, file)?.size(), Ok)?;
        Ok(self.part(file, messages.me()).view.etypes_before(size))
    }

    /// Moves the individual pointer behind what is accessed there; returns where it was.
    pub fn advance(&mut self, messages: &Messages, transfer: &Transfer) -> u64 {
        let pointer = &mut self.part_mut(transfer.file, messages.me()).pointer;
        let before = *pointer;
        *pointer += transfer.etypes;
        before
    }

    /// Moves the shared pointer by so many etypes: where it was, or the handle of a request to wait for,
    /// which answers it.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`.
    pub fn advance_shared(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        file: u32,
        etypes: u64,
    ) -> std::result::Result<u64, usize> {
        if is_alone(objects, file) {
            let shared = &mut self.home(objects, file).shared;
            let before = *shared;
            *shared += etypes;
            return Ok(before);
        }
        let me = messages.me();
        let index = self.make_operation(messages, file);
        let leaves = messages.departures().inject(me);
        self.ask(messages, objects, (file, me), HomeAction::Advance(etypes), index, leaves);
        Err(handle::of_cold(self.operations[index].request))
    }

    /// Checks that a file has positions: it was not opened with `MPI_MODE_SEQUENTIAL`.
    ///
    /// # Errors
    /// `MPI_ERR_UNSUPPORTED_OPERATION`.
    pub fn may_seek(&self, objects: &Objects, file: u32) -> Result {
        check::not_sequential(objects.files.at(file))
    }

    /// Returns what the operation that the mounted rank finished last answered.
    pub fn answer_of_last(&self) -> u64 {
        self.answer
    }

    /// Implements `MPI_File_seek`; `size` are the bytes in the file, if the host is not to be asked.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_OPERATION`.
    pub fn seek(
        &mut self,
        messages: &Messages,
        objects: &Objects,
        handle: usize,
        (offset, whence): (i64, i32),
        size: Option<u64>,
    ) -> Result {
        let file = objects.files.index(&objects.comms, handle)?;
        check::not_sequential(objects.files.at(file))?;
        check_whence(whence)?;
        let end = if whence == MPI_SEEK_END { self.end(messages, objects, file, size)? } else { 0 };
        let part = self.part_mut(file, messages.me());
        part.pointer = seek(offset, whence, part.pointer, end)?;
        Ok(())
    }

    /// Returns what the mounted rank brings to `MPI_File_seek_shared`; `size` as for [`OpenFiles::seek`].
    ///
    /// # Errors
    /// `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_OPERATION`; what the host says.
    pub fn seek_shared(
        &mut self,
        messages: &Messages,
        objects: &Objects,
        file: u32,
        (offset, whence): (i64, i32),
        size: Option<u64>,
    ) -> Result<crate::Meet> {
        self.may_seek(objects, file)?;
        check_whence(whence)?;
        let end = if whence == MPI_SEEK_END { self.end(messages, objects, file, size)? } else { 0 };
        Ok(crate::Meet::SeekShared(offset, whence, end))
    }

    /// Implements `MPI_File_get_position`. Returns etypes.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`, `MPI_ERR_UNSUPPORTED_OPERATION`.
    pub fn position(&self, messages: &Messages, objects: &Objects, handle: usize) -> Result<u64> {
        let file = objects.files.index(&objects.comms, handle)?;
        check::not_sequential(objects.files.at(file))?;
        Ok(self.part(file, messages.me()).pointer)
    }

    /// Implements `MPI_File_get_byte_offset`. Returns the byte of the file at which an etype of the view
    /// lies.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_OPERATION`.
    pub fn byte_offset(
        &self,
        messages: &Messages,
        objects: &Objects,
        handle: usize,
        offset: i64,
    ) -> Result<u64> {
        let file = objects.files.index(&objects.comms, handle)?;
        check::not_sequential(objects.files.at(file))?;
        let offset = not_negative("offset", offset)?;
        let view = &self.part(file, messages.me()).view;
        Ok(view.place(offset.saturating_mul(view.unit)))
    }

    /// Returns the mounted rank's view.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`.
    pub fn view(&self, messages: &Messages, objects: &Objects, handle: usize) -> Result<Rc<View>> {
        let file = objects.files.index(&objects.comms, handle)?;
        Ok(self.part(file, messages.me()).view.clone())
    }

    /// Makes the view that `MPI_File_set_view` asks for, without what `MPI_DISPLACEMENT_CURRENT` adds, and
    /// what the mounted rank brings to the meeting of all.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE`, `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_DATAREP`, `MPI_ERR_OTHER`.
    pub fn new_view(
        &self,
        messages: &Messages,
        objects: &Objects,
        file: u32,
        new: &NewView,
    ) -> Result<(View, crate::Meet)> {
        let me = messages.me();
        let part = self.part(file, me);
        part.is_not_split()?;
        let object = objects.files.at(file);
        let goes_on = new.disp == MPI_DISPLACEMENT_CURRENT;
        if goes_on && object.amode & MPI_MODE_SEQUENTIAL == 0 {
            return Err(bad_argument(
                "MPI_DISPLACEMENT_CURRENT is for files opened with MPI_MODE_SEQUENTIAL: give the \
                 displacement in bytes",
            ));
        }
        let disp = if goes_on { 0 } else { not_negative("disp", new.disp)? };
        let (etype, filetype) =
            (objects.types.usable(me, new.etype)?.clone(), objects.types.usable(me, new.filetype)?.clone());
        let representation = self.representation(messages, new.datarep)?;
        let writes = object.amode & MPI_MODE_RDONLY == 0;
        let view = View::new(objects, disp, etype, filetype, representation, writes)?;
        // Etypes' extents and the representation must be alike (MPI 5.0 section 14.3).
        let mut hasher = rustc_hash::FxHasher::default();
        (view.etype.extent(), view.representation.name()).hash(&mut hasher);
        Ok((view, crate::Meet::SetView(hasher.finish())))
    }

    /// Sets the mounted rank's view; its pointers are at the view's beginning. With `goes_on` that is where
    /// the shared pointer, which the meeting answered, was in the view before (MPI 5.0 section 14.3).
    pub fn set_view(&mut self, messages: &Messages, file: u32, mut view: View, goes_on: Option<u64>) {
        let part = self.part_mut(file, messages.me());
        if let Some(shared) = goes_on {
            view.disp = part.view.place(shared.saturating_mul(part.view.unit));
        }
        (part.view, part.pointer) = (Rc::new(view), 0);
    }

    /// Returns `true` if accesses of the mounted rank are atomic.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`.
    pub fn is_atomic(&self, messages: &Messages, objects: &Objects, handle: usize) -> Result<bool> {
        let file = objects.files.index(&objects.comms, handle)?;
        Ok(self.part(file, messages.me()).atomic)
    }

    /// Accesses of the mounted rank are atomic from now on, or no more.
    pub fn set_atomic(&mut self, messages: &Messages, file: u32, atomic: bool) {
        self.part_mut(file, messages.me()).atomic = atomic;
    }

    /// Implements `MPI_File_get_size`.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`; what the host says.
    pub fn size(&mut self, objects: &Objects, handle: usize) -> Result<u64> {
        let file = objects.files.index(&objects.comms, handle)?;
        self.host(objects, file)?.size()
    }

    /// Checks that the mounted rank may set a file's size, and returns that size.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`, `MPI_ERR_READ_ONLY`, `MPI_ERR_UNSUPPORTED_OPERATION`, `MPI_ERR_OTHER`.
    pub fn may_resize(&self, messages: &Messages, objects: &Objects, file: u32, size: i64) -> Result<u64> {
        let object = objects.files.at(file);
        check::direction(object, Direction::Write)?;
        check::not_sequential(object)?;
        self.part(file, messages.me()).is_not_split()?;
        not_negative("size", size)
    }

    /// Records that the mounted rank has begun a split collective.
    pub fn begin_split(&mut self, messages: &Messages, file: u32, name: &'static str, started: AccessStart) {
        self.part_mut(file, messages.me()).split = Some(Split { name, started });
    }

    /// Checks that the mounted rank may begin a collective access: it is not between the halves of a split
    /// one.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`, `MPI_ERR_OTHER`.
    pub fn is_not_split(&self, messages: &Messages, objects: &Objects, handle: usize) -> Result {
        let file = objects.files.index(&objects.comms, handle)?;
        self.part(file, messages.me()).is_not_split()
    }

    /// Ends a split collective of the mounted rank. Returns how that goes on.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`; `MPI_ERR_OTHER` if it did not begin this one.
    pub fn end_split(
        &mut self,
        messages: &Messages,
        objects: &Objects,
        handle: usize,
        name: &str,
    ) -> Result<AccessStart> {
        let file = objects.files.index(&objects.comms, handle)?;
        let split = &mut self.part_mut(file, messages.me()).split;
        match split.take_if(|split| split.name == name) {
            Some(split) => Ok(split.started),
            None => Err(Failure::new(
                ErrorClass::OTHER,
                format!("{name}_begin has not begun on this file: call it before {name}_end"),
            )),
        }
    }
}
