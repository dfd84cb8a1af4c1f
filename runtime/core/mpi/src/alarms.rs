//! Alarms: what ranks get to know of failures and revocations, and when. They are decisions that are made as
//! receives for any source are.
//!
//! A failure happens when nothing can come before it, to a rank that is blocked or has got to that time.
//! Everybody knows a delay later: each rank then ends with an error what it waits for and cannot get. So a
//! rank that runs on without waiting for anything hears of it when it waits, as it would of a message.

use crate::remote::record::{Put, Take};
use crate::remote::stream::Kind;
use crate::world::{Phase, World};
use engine::Time;
use p2p::faults::{Failed, ending};

impl World {
    /// Lets a rank look at what it has to at `at`: it stops, or gets to know of others.
    pub(crate) fn ring(&mut self, rank: u32, at: Time) {
        let Some(faults) = self.messages.faults_mut() else { return };
        let doom = faults.doom_of(rank).filter(|&doom| doom <= at);
        faults.take_alarms(rank, at);
        if let Some(doom) = doom {
            return self.rank_fails(Failed { rank, at: doom });
        }
        if self.messages.ranks()[rank].phase == Phase::Ended {
            return;
        }
        let World { messages, objects, .. } = self;
        if ending::fail_receives(messages, objects, rank, at) {
            self.rematch(rank, at);
        }
        let World { messages, chapters, objects, .. } = self;
        ending::take_from_receives(messages, rank, at);
        ending::fail_sends(messages, rank, at);
        chapters.collectives.break_off(messages, objects, rank, at);
        chapters.partitioned.break_off(messages, objects, rank, at);
        chapters.rma.break_off(messages, objects, rank, at);
        chapters.files.break_off(messages, objects, rank, at);
        chapters.dynamic.break_off(messages, rank, at);
        self.answer_parked(rank, at);
    }

    /// Answers a rank that polls without anything else: what it asks may fail now.
    fn answer_parked(&mut self, rank: u32, at: Time) {
        if self.order.polls.get(&rank).is_some_and(crate::order::question::Poll::is_parked) {
            self.messages.ranks_mut().advance(rank, at);
            self.answer(rank);
        }
    }

    /// Lets a rank fail: nobody wakes it any more, and all others get to know.
    fn rank_fails(&mut self, failed: Failed) {
        let Failed { rank, at } = failed;
        if self.messages.ranks()[rank].phase != Phase::Ended {
            self.run.ended += 1;
        }
        self.messages.ranks_mut()[rank].phase = Phase::Ended;
        self.order.polls.remove(&rank);
        self.order.histories.remove(&rank);
        if let Some(faults) = self.messages.faults_mut() {
            faults.forget(rank);
        }
        self.note_failed(failed);
        ending::bury(&mut self.messages, rank, at);
        self.tell_failed(failed);
        let World { messages, chapters, objects, .. } = self;
        chapters.failures.failed(messages, objects, rank);
    }

    /// Notes that a rank has failed, here or on another process: the ranks of this one get to know.
    fn note_failed(&mut self, failed: Failed) {
        self.run.limit = self.run.limit.min(failed.at);
        let messages = &mut self.messages;
        let Some(faults) = messages.faults_mut() else { return };
        faults.note_failed(failed);
        let known = faults.known(&failed);
        for other in messages.ranks().own_started() {
            if messages.ranks()[other].phase != Phase::Ended {
                messages.failures().alarm(other, known);
            }
        }
    }

    /// Tells the other processes that a rank of this one has failed, and which collective calls it had
    /// entered by then.
    // Nobody acts because of it before it is known. The stream brings before it all that the rank had sent.
    fn tell_failed(&mut self, failed: Failed) {
        let World { messages, chapters, objects, .. } = self;
        if !messages.peers().exist() {
            return;
        }
        let Some(faults) = messages.faults() else { return };
        let known = faults.known(&failed);
        let mut body = Vec::new();
        body.u32(failed.rank);
        body.u64(failed.at.as_ps());
        chapters.collectives.put_entered(messages, objects, failed.rank, &mut body);
        let remote = messages.peers_mut().others();
        for process in (0..remote.streams.processes()).filter(|&process| process != remote.me) {
            remote.streams.begin(process, Kind::Failed, known, body.len()).extend_from_slice(&body);
            remote.streams.end();
        }
    }

    /// Takes the news that a rank of another process has failed.
    pub(crate) fn failure_arrived(&mut self, mut record: Take) {
        let failed = Failed { rank: record.u32(), at: Time::from_ps(record.u64()) };
        self.note_failed(failed);
        let World { messages, chapters, objects, .. } = self;
        chapters.collectives.take_entered(failed.rank, &mut record);
        chapters.failures.failed(messages, objects, failed.rank);
    }

    /// Returns who has failed while the others went on, in a sentence.
    pub(crate) fn failed_ranks(&self) -> Option<String> {
        let failed = self.messages.faults()?.failed();
        let first = failed.first()?;
        let ranks = if failed.len() == 1 { "1 rank has" } else { &format!("{} ranks have", failed.len()) };
        Some(format!(
            "{ranks} failed, the first of them rank {} at {}; the others went on",
            first.rank, first.at
        ))
    }

    /// Records that the mounted rank, which ends without having finalized MPI, has failed to the others.
    /// Returns `false`, with nothing done, in a run that does not tolerate failures.
    pub(crate) fn ends_as_failed(&mut self, rank: u32) -> bool {
        if !self.run.tolerant {
            return false;
        }
        // Who ends because another has aborted the run has not failed.
        let clock = self.messages.clock(rank);
        if self.run.abort.as_ref().is_none_or(|abort| abort.at > clock) {
            self.messages.failures().doom(rank, clock);
        }
        true
    }
}
