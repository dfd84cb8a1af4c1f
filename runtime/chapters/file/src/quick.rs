//! Beginning of a blocking write of a few bytes at the shared pointer: logs are nothing else.
//!
//! What all accesses are, a request, an operation and what that asks one after the other, is as much work as
//! everything else that is done for so few bytes. So they are kept with what is asked, their rank waits for
//! the answer alone, and the bytes go to the file once their place is known (`short.rs`). When that is, what
//! it is a message of and who comes first is as it is for all others.

use crate::access::{HomeAction, HomeRequest, WORD};
use crate::check::{self, is_alone};
use crate::direction::Direction;
use crate::state::OpenFiles;
use crate::transfer::STACK_BYTES;
use crate::write::{WRITE, Write};
use engine::Time;
use objects::Objects;
use p2p::Messages;
use p2p::chapter::arrivals::Arrival;
use p2p::point_to_point::{Buffer, FIRST_MEMORY};
use p2p::remote::shared::Way;
use rank::memory;
use smallvec::SmallVec;

impl OpenFiles {
    /// Begins the mounted rank's write. Returns its number, for [`OpenFiles::end_short`] when the rank is
    /// woken. Returns `None`, with nothing done, if it is none of a few bytes to successive bytes of the
    /// file, or can fail.
    ///
    /// A process of one rank may have several threads that wait, and ranks that fail may do so in the call:
    /// they go the general way.
    pub fn begin_short(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        handle: usize,
        (buffer, count, datatype): Buffer,
    ) -> Option<u32> {
        if messages.fabric().is_shared()
            || messages.faults().is_some()
            || messages.fabric().wire().storage.is_some()
            || messages.ranks().local() == 1
        {
            return None;
        }
        let bytes = objects.types.plain_size(datatype)?.checked_mul(u64::try_from(count).ok()?)?;
        if bytes == 0 || bytes > STACK_BYTES as u64 || buffer.0 < FIRST_MEMORY {
            return None;
        }
        let (me, file) = (messages.me(), objects.files.index(&objects.comms, handle).ok()?);
        let part = self.parts.get(&(file, me))?;
        let (disp, unit) = (part.view.successive()?, part.view.unit);
        let object = objects.files.at(file);
        let fits = unit == 1 || bytes.is_multiple_of(unit);
        if part.atomic
            || !fits
            || is_alone(objects, file)
            || check::direction(object, Direction::Write).is_err()
        {
            return None;
        }
        let mut data = SmallVec::from_elem(0, bytes as usize);
        memory::read(buffer, &mut data);
        // What is longer than the bytes does not divide them.
        let (home, unit, etypes) = (object.home, unit as u32, if unit == 1 { bytes } else { bytes / unit });
        let index = self.writes.insert(Write {
            file,
            rank: me,
            disp,
            unit,
            etypes: etypes as u32,
            done: Time::ZERO,
            data,
        });
        let leaves = messages.departures().inject(me);
        let sequence = self.number(messages, me);
        messages.ranks_mut().profile_mut().internal_message(WORD);
        let arrival = OpenFiles::arrival(messages, (me, home), WORD, leaves);
        let number = index | WRITE;
        if messages.ranks().is_local(home) {
            self.arrivals.push(messages, home, Arrival { time: arrival, origin: me, sequence, what: number });
        } else {
            let access = HomeRequest {
                file,
                origin: me,
                arrival,
                sequence,
                action: HomeAction::Advance(etypes),
                operation: number,
            };
            self.tell_access(messages, objects, &access, Way::Arrives(arrival));
        }
        messages.ranks_mut().strand_mut().block(1);
        Some(index)
    }
}
