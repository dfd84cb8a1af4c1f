//! Messages between processes about agreements: who comes in, to the process that keeps them, and what comes
//! of it, to the others.

use crate::CHAPTER;
use crate::agreement::{Agreements, Subject};
use crate::members::{Members, Survivors};
use crate::round::{AgreementKey, AgreementOutcome, AgreementResult, Entry};
use engine::Time;
use engine::record::{Put, Take};
use objects::Objects;
use objects::handle::COMM_NULL;
use p2p::Messages;
use p2p::remote::stream::Kind;

/// The kinds of records.
const ENTRY: u8 = 0;
const OUTCOME: u8 = 1;

fn subject_of(byte: u8) -> Subject {
    if byte == Subject::Flag as u8 { Subject::Flag } else { Subject::Survivors }
}

impl Agreements {
    /// A rank of this process comes into a round that another process keeps.
    // With the members the first time: their communicator may not have been made there yet.
    pub(crate) fn tell_entry(
        &mut self,
        messages: &mut Messages,
        keeper: u32,
        key: AgreementKey,
        subject: Subject,
        entry: Entry,
        members: &Members,
    ) {
        let mut body = Vec::new();
        key.put(&mut body);
        body.u8(subject as u8);
        body.u32(entry.rank);
        body.u64(entry.clock.as_ps());
        body.i32(entry.flag);
        body.u32(entry.acknowledged);
        body.u32(entry.part);
        if self.introduced.insert(key.context) {
            members.put(&mut body);
        }
        messages.peers_mut().others().streams.put(keeper, Kind::Chapter(CHAPTER, ENTRY), &body);
    }

    fn entry_arrived(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        process: u32,
        mut record: Take,
    ) {
        let key = AgreementKey::take(&mut record);
        let subject = subject_of(record.u8());
        let (rank, clock) = (record.u32(), Time::from_ps(record.u64()));
        let (flag, acknowledged, part) = (record.i32(), record.u32(), record.u32());
        if !record.is_empty() {
            self.members.entry(key.context).or_insert(Members::take(&mut record));
        }
        let Some(member) = self.members.get(&key.context).and_then(|members| members.group.rank_of(rank))
        else {
            return;
        };
        let entry = Entry { rank, clock, flag, acknowledged, process, part };
        self.entered(messages, objects, key, subject, (member, entry));
    }

    /// Tells the other processes with members what came of a round; the new communicator, if any, has this
    /// context.
    pub(crate) fn tell_outcome(&self, messages: &mut Messages, settled: &AgreementOutcome, context: u32) {
        let Some(remote) = messages.peers_mut().remote_mut() else { return };
        let mut processes: Vec<u32> = settled.leaving.iter().map(|left| left.process).collect();
        processes.sort_unstable();
        processes.dedup();
        for process in processes.into_iter().filter(|&process| process != remote.me) {
            let mut body = Vec::new();
            body.u8(settled.subject as u8);
            settled.flags.into_iter().for_each(|flag| body.i32(flag));
            body.u32(settled.failed.unwrap_or(u32::MAX));
            if settled.subject == Subject::Survivors {
                body.u32(context);
                settled.survivors.put(&mut body);
            }
            for left in settled.leaving.iter().filter(|left| left.process == process) {
                body.u32(left.part);
                body.u64(left.at.as_ps());
            }
            remote.streams.put(process, Kind::Chapter(CHAPTER, OUTCOME), &body);
        }
    }

    // All processes with survivors make the communicator in the context that the keeper has drawn.
    fn outcome_arrived(&mut self, messages: &mut Messages, objects: &mut Objects, mut record: Take) {
        let subject = subject_of(record.u8());
        let (flags, failed) = ([record.i32(), record.i32()], record.u32());
        let comms = match subject {
            Subject::Flag => [COMM_NULL; 2],
            Subject::Survivors => {
                let before = objects.comms.continue_contexts(Some(record.u32()));
                let comms = Survivors::take(&mut record).make(objects);
                objects.comms.restore_contexts(before);
                comms
            }
        };
        let outcome = AgreementResult { flags, failed: (failed != u32::MAX).then_some(failed), comms };
        while !record.is_empty() {
            let (part, at) = (record.u32(), Time::from_ps(record.u64()));
            self.finish(messages, part, outcome, at);
        }
    }

    /// Handles a record of this chapter, from `process`.
    pub(crate) fn record_arrived(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        process: u32,
        kind: u8,
        record: Take,
    ) {
        match kind {
            ENTRY => self.entry_arrived(messages, objects, process, record),
            _ => self.outcome_arrived(messages, objects, record),
        }
    }
}
