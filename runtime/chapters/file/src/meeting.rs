//! Operations that all members of a file do together. Each sends its part to the file's home; once all are
//! there it is done, and each is told (one message there, one back). Members know their meetings by number,
//! so that one may be ahead of others.

use crate::access::{HomeAction, HomeReply, HomeRequest};
use crate::check::{bad_argument, is_alone, other};
use crate::meet::Meet;
use crate::state::OpenFiles;
use engine::Time;
use objects::Objects;
use objects::abi::{MPI_SEEK_CUR, MPI_SEEK_SET};
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use p2p::handle;

impl OpenFiles {
    /// Makes the mounted rank's part in the next meeting of a file.
    pub(crate) fn part_in(&mut self, file: u32, rank: u32, meet: Meet) -> HomeAction {
        let part = self.part_mut(file, rank);
        part.meetings += 1;
        HomeAction::Meet(part.meetings, meet)
    }

    /// Enters the mounted rank into a meeting. Returns the handle of a request to wait for, or, to a rank
    /// that is alone, the answer at once.
    ///
    /// # Errors
    /// What the meeting fails with.
    pub fn meet(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        file: u32,
        meet: Meet,
    ) -> Result<std::result::Result<u64, usize>> {
        let me = messages.me();
        if is_alone(objects, file) {
            let answers = self.hold(messages, objects, file, &[meet]);
            return answers.map(|values| Ok(values.first().copied().unwrap_or_default()));
        }
        let index = self.make_operation(messages, file);
        self.operations[index].together = true;
        let action = self.part_in(file, me, meet);
        let leaves = messages.departures().inject(me);
        self.ask(messages, objects, (file, me), action, index, leaves);
        Ok(Err(handle::of_cold(self.operations[index].request)))
    }

    /// Lets the others not wait for the mounted rank, whose collective call on a file has failed before it
    /// met them.
    #[cold]
    pub fn refuse(&mut self, messages: &mut Messages, objects: &Objects, handle: usize) {
        let Ok(file) = objects.files.index(&objects.comms, handle) else { return };
        if is_alone(objects, file) {
            return;
        }
        let me = messages.me();
        let action = self.part_in(file, me, Meet::Refused);
        let leaves = messages.departures().inject(me);
        // Nobody waits for the answer.
        self.ask(messages, objects, (file, me), action, u32::MAX, leaves);
    }

    /// Takes a member's part, which is at home.
    pub(crate) fn enter(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        access: HomeRequest,
        number: u32,
        meet: Meet,
    ) {
        let file = access.file;
        let Some(comm) = objects.files.comm(&objects.comms, file) else { return };
        let size = comm.size() as usize;
        let meeting = self.home(objects, file).meetings.entry(number).or_default();
        meeting.parts.push((access, meet));
        if meeting.parts.len() < size {
            return;
        }
        // It has its turn when the last member's part does.
        let (last, _) =
            meeting.parts.iter().max_by_key(|(access, _)| access.turn(0)).expect("a file has members");
        let met = HomeRequest { action: HomeAction::Met(number), ..last.clone() };
        self.wait_for_turn(messages, objects, met);
    }

    /// Sends each member what comes of a meeting: all members' parts are there.
    pub(crate) fn met(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        file: u32,
        number: u32,
        at: Time,
    ) {
        let Some(meeting) = self.homes.get_mut(&file).and_then(|home| home.meetings.remove(&number)) else {
            return;
        };
        let Some(comm) = objects.files.comm(&objects.comms, file) else { return };
        let mut parts = meeting.parts;
        parts.sort_by_key(|(access, _)| comm.rank(access.origin));
        let meets: Vec<Meet> = parts.iter().map(|(_, meet)| *meet).collect();
        let answers = match meets.iter().position(|meet| *meet == Meet::Refused) {
            Some(member) => Err(other(format!(
                "the call of rank {member} of the file's group was refused: its own error says why"
            ))),
            None => self.hold(messages, objects, file, &meets),
        };
        let mut plans =
            if answers.is_ok() { self.divide(messages, objects, file, &meets) } else { Vec::new() };
        for (member, (access, _)) in parts.into_iter().enumerate() {
            let answer = match &answers {
                Ok(_) if !plans.is_empty() => std::mem::take(&mut plans[member]),
                Ok(values) => {
                    HomeReply::of(values.get(member).or(values.first()).copied().unwrap_or_default())
                }
                Err(failure) => HomeReply::failed(failure.clone()),
            };
            self.answer(messages, objects, &access, answer, at);
        }
    }

    /// Returns what members do together, by their parts in the order of ranks: what each is told, or one for
    /// all.
    fn hold(
        &mut self,
        messages: &Messages,
        objects: &Objects,
        file: u32,
        meets: &[Meet],
    ) -> Result<Vec<u64>> {
        let first = meets[0];
        if let Some(member) = meets.iter().position(|meet| meet.alike() != first.alike()) {
            return Err(Failure::new(
                ErrorClass::NOT_SAME,
                format!(
                    "rank {member} of the file's group calls something else than rank 0, or with other \
                     arguments: all must call alike"
                ),
            ));
        }
        match first {
            Meet::Ordered(_) => {
                let shared = &mut self.home(objects, file).shared;
                let place = |meet: &Meet| {
                    let place = *shared;
                    if let Meet::Ordered(etypes) = meet {
                        *shared += etypes;
                    }
                    place
                };
                return Ok(meets.iter().map(place).collect());
            }
            Meet::SetSize(_) | Meet::Preallocate(_) if !messages.payloads().are_carried() => {}
            Meet::SetSize(size) => self.host(objects, file)?.set_size(size)?,
            Meet::Preallocate(size) => {
                let host = self.host(objects, file)?;
                if host.size()? < size {
                    host.set_size(size)?;
                }
            }
            // Where it was: a sequential file goes on from there.
            Meet::SetView(_) => return Ok(vec![std::mem::take(&mut self.home(objects, file).shared)]),
            Meet::SeekShared(offset, whence, end) => {
                let home = self.home(objects, file);
                home.shared = seek(offset, whence, home.shared, end)?;
            }
            Meet::Access | Meet::Span(..) | Meet::SetAtomicity(_) | Meet::Sync | Meet::Refused => {}
        }
        Ok(Vec::new())
    }
}

/// Returns where a pointer at `now` goes, in etypes; the file ends at `end`.
///
/// # Errors
/// `MPI_ERR_ARG` before the beginning of the view.
pub(crate) fn seek(offset: i64, whence: i32, now: u64, end: u64) -> Result<u64> {
    let base = match whence {
        MPI_SEEK_SET => 0,
        MPI_SEEK_CUR => now,
        _ => end,
    };
    base.checked_add_signed(offset).ok_or_else(|| {
        bad_argument(format!("offset {offset} from etype {base} is before the beginning of the view"))
    })
}
