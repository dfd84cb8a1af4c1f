//! Beginning of an access: from the arguments of a call to data moved, or to a request to the file's home.

use crate::access::HomeAction;
use crate::asked::{AccessArguments, AccessStart, Transfer};
use crate::check;
use crate::check::is_alone;
use crate::direction::Direction;
use crate::exchange::MemberExchange;
use crate::hints::Hints;
use crate::host::HostFile;
use crate::meet::Meet;
use crate::operation::Then;
use crate::state::OpenFiles;
use crate::transfer::{self, UserBuffer};
use crate::view::View;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use p2p::handle;
use p2p::point_to_point;
use std::rc::Rc;

/// Work that remains for an access.
pub(crate) struct AccessPlan {
    /// Actions to request, the first last.
    pub(crate) steps: Vec<HomeAction>,
    pub(crate) then: Then,
    /// Bytes of memory that were moved, or will have been.
    pub(crate) bytes: u64,
    /// The reason why data was not moved.
    pub(crate) failure: Option<Box<Failure>>,
}

/// Returns a member's part in a collective access to these bytes of a view. O(log) but for a view's last
/// byte.
fn span(view: &View, (from, bytes): (u64, u64), hints: Hints) -> Meet {
    match bytes.checked_sub(1) {
        Some(last) => Meet::Span(view.place(from), view.place(from + last) + 1, hints),
        None => Meet::Span(0, 0, hints),
    }
}

impl OpenFiles {
    /// Checks that the access mode of a file allows an access. Returns the file's index.
    pub(crate) fn allows(&self, objects: &Objects, asked: AccessArguments) -> Result<u32> {
        let file = objects.files.index(&objects.comms, asked.file)?;
        let object = objects.files.at(file);
        check::direction(object, asked.direction)?;
        if !asked.by_shared {
            check::not_sequential(object)?;
        }
        Ok(file)
    }

    /// Looks at all that an access is asked for with but its place.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`; `MPI_ERR_ACCESS`,
    /// `MPI_ERR_READ_ONLY`, `MPI_ERR_UNSUPPORTED_OPERATION` by the access mode; `MPI_ERR_IO` for what is no
    /// multiple of the etype, or data where the view has none.
    pub fn prepare(
        &self,
        messages: &Messages,
        objects: &Objects,
        asked: AccessArguments,
    ) -> Result<Transfer> {
        let file = self.allows(objects, asked)?;
        let view_of = &self.part(file, messages.me()).view;
        let extent = point_to_point::view(objects, asked.buffer)?;
        let (buffer, count, datatype) = asked.buffer;
        let named = (buffer.0, datatype);
        let datatype = objects.types.usable(messages.me(), datatype)?.clone();
        let memory = UserBuffer { extent, datatype, count: count as u64 };
        self.transfer(file, view_of, objects, asked, (memory, named))
    }

    /// Returns the access of a rank with this view, whose memory is known.
    pub(crate) fn transfer(
        &self,
        file: u32,
        view_of: &View,
        objects: &Objects,
        asked: AccessArguments,
        (memory, named): (UserBuffer, (usize, usize)),
    ) -> Result<Transfer> {
        let bytes = view_of.representation.in_file_bytes(objects, &memory.datatype, memory.count)?;
        if !bytes.is_multiple_of(view_of.unit) {
            let text = format!(
                "the access is of {bytes} bytes, which is no multiple of the etype's {}: access whole etypes",
                view_of.unit
            );
            return Err(Failure::new(ErrorClass::IO, text));
        }
        if bytes != 0 && view_of.is_empty() {
            let text = format!(
                "the access is of {bytes} bytes, but the filetype of the view has none: set another view, or \
                 access nothing"
            );
            return Err(Failure::new(ErrorClass::IO, text));
        }
        Ok(Transfer {
            file,
            handle: asked.file,
            direction: asked.direction,
            memory,
            bytes,
            etypes: bytes / view_of.unit,
            named,
            converted: None,
            atomic: false,
            found: None,
        })
    }

    /// Begins the mounted rank's access at an offset, in etypes; `collective` where the other members' do
    /// too.
    ///
    /// Data that goes to the file does so now, and what comes from it once all have met: so a collective read
    /// finds what was written by a collective write before it.
    ///
    /// # Errors
    /// What the host says, unless others wait for this rank; `MPI_ERR_CONVERSION`.
    pub fn start(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        mut transfer: Transfer,
        offset: u64,
        collective: bool,
    ) -> Result<AccessStart> {
        let (file, me) = (transfer.file, messages.me());
        let part = self.part(file, me);
        let view = part.view.clone();
        let alone = is_alone(objects, file);
        let (atomic, collective) = (part.atomic && !alone, collective && !alone);
        transfer.atomic = atomic;
        let from = offset.saturating_mul(view.unit);
        let load = self.load_of(messages, objects, file, &view, (from, transfer.bytes));
        let AccessPlan { mut steps, then, bytes, failure } =
            self.plan(messages, objects, &view, &transfer, (from, atomic, collective))?;
        // What is asked first is last: all members, then the file's home, then the servers.
        let mut exchange = None;
        steps.splice(0..0, load);
        if collective {
            let meet = match messages.fabric().wire().storage {
                Some(_) if !atomic => {
                    let hints = Hints::of(&objects.files.info(me, transfer.handle, &[])?, transfer.direction);
                    span(&view, (from, transfer.bytes), hints)
                }
                _ => Meet::Access,
            };
            steps.push(self.part_in(file, me, meet));
            exchange = (meet != Meet::Access).then(|| MemberExchange::new(self.part(file, me).meetings));
        } else if let Some(failure) = failure {
            return Err(failure);
        } else if steps.is_empty() && then != Then::Convert {
            return Ok(AccessStart::Done(bytes));
        }
        let index = self.make_operation(messages, file);
        let operation = &mut self.operations[index];
        (operation.then, operation.bytes, operation.transfer) = (then, bytes, Some((transfer, from)));
        operation.answer.failure = failure;
        (operation.together, operation.exchange) = (collective, exchange);
        let (request, first) = (operation.request, steps.pop());
        operation.next = steps;
        let Some(first) = first else {
            self.over(messages, index, messages.clock(me));
            return Ok(AccessStart::Waits(handle::of_cold(request)));
        };
        // The servers are asked beside the network, which costs the rank nothing.
        let leaves = if matches!(first, HomeAction::Serve(_)) {
            messages.clock(me)
        } else {
            messages.departures().inject(me)
        };
        self.ask(messages, objects, (file, me), first, index, leaves);
        Ok(AccessStart::Waits(handle::of_cold(request)))
    }

    /// Moves the data of an access now where that is its time, and says what else is to be done for it.
    fn plan(
        &mut self,
        messages: &Messages,
        objects: &Objects,
        view: &View,
        transfer: &Transfer,
        (from, atomic, collective): (u64, bool, bool),
    ) -> Result<AccessPlan> {
        if !messages.payloads().are_carried() {
            return Ok(AccessPlan::of_length(view, transfer, (from, atomic)));
        }
        let mut plan = AccessPlan {
            steps: Vec::new(),
            then: Then::Nothing,
            bytes: transfer.memory.extent.bytes,
            failure: None,
        };
        let pieces = || transfer::pieces(view, from, transfer.bytes);
        let converts =
            view.representation.conversion().is_some_and(|conversion| conversion.functions.read.is_some());
        match (transfer.direction, atomic) {
            (Direction::Write, false) => {
                let store = |host: Rc<HostFile>| match &transfer.converted {
                    Some(bytes) => transfer::write(&host, &pieces(), bytes),
                    None => transfer::store(&host, view, from, &transfer.memory).map(|_| ()),
                };
                plan.failure = self.host(objects, transfer.file).and_then(store).err();
            }
            (Direction::Write, true) => {
                match transfer.converted.clone().map_or_else(|| transfer::pack(view, &transfer.memory), Ok) {
                    Ok(data) => plan.steps.push(HomeAction::Write(pieces(), data)),
                    Err(failure) => plan.failure = Some(failure),
                }
            }
            (Direction::Read, false) if converts => plan.then = Then::Convert,
            (Direction::Read, false) if collective => plan.then = Then::Load,
            (Direction::Read, false) => {
                plan.bytes = transfer::load(
                    &*self.host(objects, transfer.file)?,
                    view,
                    (from, transfer.bytes),
                    &transfer.memory,
                )?
            }
            (Direction::Read, true) => {
                plan.steps.push(HomeAction::Read(pieces()));
                plan.then = if converts { Then::Convert } else { Then::Unpack };
            }
        }
        Ok(plan)
    }
}
