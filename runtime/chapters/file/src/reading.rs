//! Work of the program's own functions for accesses to files: reads whose bytes they convert, and datatypes
//! that they are asked about.

use crate::access::HomeReply;
use crate::asked::Transfer;
use crate::conversion::{Conversion, Convert, failed};
use crate::operation::Then;
use crate::state::OpenFiles;
use crate::transfer;
use engine::Time;
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::chapter::Errand;
use p2p::node::NIL;
use std::rc::Rc;

/// A read whose bytes are there, and are to be converted while its rank is mounted.
pub(crate) struct PendingRead {
    rank: u32,
    /// The operation, and when it is over.
    index: u32,
    at: Time,
    read: Convert,
    /// The program's memory, its datatype's handle, and how many elements there are.
    memory: (usize, usize, u64),
    bytes: Vec<u8>,
    /// Bytes of memory that these are.
    converted: u64,
    code: i32,
}

impl Errand for PendingRead {
    fn run(&mut self, mounted: &mut dyn FnMut(u32, &mut dyn FnMut())) {
        let (buffer, datatype, elements) = self.memory;
        let bytes = self.bytes.as_mut_ptr() as usize;
        mounted(self.rank, &mut || self.code = (self.read)(buffer, datatype, elements, bytes));
    }
}

/// Returns how many elements and bytes of memory so many bytes in the file are, of a transfer's datatype:
/// whole elements where all are alike, else whole instances.
fn elements(transfer: &Transfer, bytes: u64) -> (u64, u64) {
    let datatype = &transfer.memory.datatype;
    let instance = transfer.bytes / transfer.memory.count.max(1);
    let pieces = if datatype.element.is_some() { datatype.element_count.max(1) } else { 1 };
    let whole = (bytes * pieces).checked_div(instance).unwrap_or(0);
    (whole * (datatype.element_count / pieces), whole * (datatype.size / pieces))
}

impl OpenFiles {
    /// Returns the representation of the view of a mounted rank's file, if it converts by functions of the
    /// program.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`.
    pub fn conversion_of(
        &self,
        messages: &Messages,
        objects: &Objects,
        handle: usize,
    ) -> Result<Option<Rc<Conversion>>> {
        let file = objects.files.index(&objects.comms, handle)?;
        Ok(self.part(file, messages.me()).view.representation.conversion().cloned())
    }

    /// Returns the mounted rank's representation of this name, if it converts by functions of the program.
    pub fn conversion_named(&self, messages: &Messages, name: &str) -> Option<Rc<Conversion>> {
        self.representation(messages, name).ok()?.conversion().cloned()
    }

    /// Returns the predefined datatypes that the program is to be asked about before these datatypes of the
    /// mounted rank are used in the representation; those that are none are found later.
    pub fn unknown(
        messages: &Messages,
        objects: &Objects,
        conversion: &Conversion,
        datatypes: &[usize],
    ) -> Vec<usize> {
        let mut unknown = Vec::new();
        for datatype in datatypes.iter().filter_map(|&handle| objects.types.held(messages.me(), handle).ok())
        {
            conversion.unknown(datatype, &mut unknown);
        }
        unknown
    }

    /// Ends an operation that has all that it waits for at `at`, unless its bytes are to be converted first.
    pub(crate) fn over(&mut self, messages: &mut Messages, index: u32, at: Time) {
        let operation = &self.operations[index];
        if operation.then == Then::Convert && operation.answer.failure.is_none() {
            self.readings.push_back((index, at));
        } else {
            messages.finish_request(operation.request, at);
        }
    }

    /// Takes the next read that is to be converted.
    pub(crate) fn next_reading(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
    ) -> Option<Box<dyn Errand>> {
        while let Some((index, at)) = self.readings.pop_front() {
            match self.reading(objects, index, at) {
                Ok(Some(reading)) => return Some(Box::new(reading)),
                Ok(None) => {}
                Err(failure) => self.read(messages, index, at, Err(failure)),
            }
        }
        None
    }

    fn reading(&mut self, objects: &Objects, index: u32, at: Time) -> Result<Option<PendingRead>> {
        let Some(operation) = self.operations.get_mut(index) else { return Ok(None) };
        let (file, rank, brought) =
            (operation.file, operation.rank, std::mem::take(&mut operation.answer.data));
        let Some((transfer, from)) = operation.transfer.take() else { return Ok(None) };
        // A program that is wrong has closed the file meanwhile.
        let Some(view) = self.parts.get(&(file, rank)).map(|part| part.view.clone()) else { return Ok(None) };
        let Some(read) =
            view.representation.conversion().and_then(|conversion| conversion.functions.read.clone())
        else {
            return Ok(None);
        };
        let bytes = match transfer.atomic {
            true => brought,
            false => {
                transfer::read(&*self.host(objects, file)?, &transfer::pieces(&view, from, transfer.bytes))?
            }
        };
        let (elements, converted) = elements(&transfer, bytes.len() as u64);
        let (buffer, datatype) = transfer.named;
        Ok(Some(PendingRead {
            rank,
            index,
            at,
            read,
            memory: (buffer, datatype, elements),
            bytes,
            converted,
            code: 0,
        }))
    }

    /// Completes a read that has been converted.
    pub(crate) fn has_read(&mut self, messages: &mut Messages, reading: &PendingRead) {
        let done = if reading.code == 0 { Ok(reading.converted) } else { Err(failed("read", reading.code)) };
        self.read(messages, reading.index, reading.at, done);
    }

    fn read(&mut self, messages: &mut Messages, index: u32, at: Time, done: Result<u64>) {
        let Some(operation) = self.operations.get_mut(index) else { return };
        if operation.request == NIL {
            return;
        }
        operation.then = Then::Nothing;
        match done {
            Ok(bytes) => operation.bytes = bytes,
            Err(failure) => operation.answer.add(HomeReply::failed(failure)),
        }
        messages.finish_request(operation.request, at);
    }
}
