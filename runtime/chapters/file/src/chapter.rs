//! Files as a chapter of MPI: what the main loop, requests, other processes and a deadlock's report ask of
//! them.

use crate::reading::PendingRead;
use crate::state::OpenFiles;
use engine::Time;
use engine::record::{Put, Take};
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::chapter::id::Token;
use p2p::chapter::{Chapter, Errand, Explanation, Wait, ranks_text};
use p2p::request::Status;
use rustc_hash::FxHashSet;
use std::any::Any;

impl Chapter for OpenFiles {
    #[inline]
    fn has_work(&self) -> bool {
        !self.landed.is_empty() || !self.readings.is_empty()
    }
    fn work(&mut self, messages: &mut Messages, objects: &Objects) -> Option<Box<dyn Errand>> {
        self.land_all(messages, objects);
        self.next_reading(messages, objects)
    }
    fn done(&mut self, messages: &mut Messages, _: &Objects, errand: Box<dyn Errand>) {
        let Ok(reading) = (errand as Box<dyn Any>).downcast::<PendingRead>() else {
            unreachable!("an errand comes back to the chapter that gave it")
        };
        self.has_read(messages, &reading);
    }
    fn deliver(&mut self, objects: &Objects, [index, _]: Token) {
        self.deliver_operation(objects, index);
    }
    fn finish(&mut self, messages: &mut Messages, objects: &Objects, [index, _]: Token) -> Result<Status> {
        self.finish_operation(messages, objects, index)
    }
    fn needs_comm(&self, comm: u32) -> bool {
        self.abandoned.contains(&comm)
    }
    fn landed(&mut self, words: [u32; 4], at: Time) {
        self.landed.push((words, at));
    }
    fn record(&mut self, messages: &mut Messages, objects: &mut Objects, _: u32, kind: u8, record: Take) {
        self.receive_record(messages, objects, kind, record);
    }
    #[inline]
    fn first_open(&self, rank: u32) -> Option<(Time, u32)> {
        self.arrivals.first(rank)
    }
    fn decide(&mut self, messages: &mut Messages, objects: &mut Objects, rank: u32, until: Time) {
        self.serve(messages, objects, rank, until);
    }
    fn wait_of(&self, _: &Messages, objects: &Objects, rank: u32, token: Option<Token>) -> Option<Wait> {
        let [index, _] = token?;
        let file = self.operations.get(index)?.file;
        let number = self.parts.get(&(file, rank))?.meetings;
        let text = match self.missing(objects, file, number) {
            Some(missing) => missing,
            None => format!("the other members of file \"{}\"", objects.files.alive(file)?.name),
        };
        Some(Wait { text, name: Some(name(objects, file, number)?) })
    }
    fn open(&self, _: &Messages, objects: &Objects) -> Vec<u8> {
        let mut out = Vec::new();
        let mut files: Vec<u32> = self.homes.keys().copied().collect();
        files.sort_unstable();
        for file in files {
            for &number in self.homes[&file].meetings.keys() {
                if let (Some(name), Some(missing)) =
                    (name(objects, file, number), self.missing(objects, file, number))
                {
                    out.bytes(&name);
                    out.bytes(missing.as_bytes());
                }
            }
        }
        out
    }
    fn explain(&self, told: &[Vec<u8>]) -> Explanation {
        Explanation::of_pairs(told)
    }
}

/// Returns what a meeting is called on all processes.
fn name(objects: &Objects, file: u32, number: u32) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    name.u32(objects.files.comm(&objects.comms, file)?.context);
    name.u32(number);
    Some(name)
}

impl OpenFiles {
    /// Returns who has not come to a meeting, if this process is its file's home.
    fn missing(&self, objects: &Objects, file: u32, number: u32) -> Option<String> {
        let meeting = self.homes.get(&file)?.meetings.get(&number)?;
        let comm = objects.files.comm(&objects.comms, file)?;
        let here: FxHashSet<u32> = meeting.here().collect();
        let mut missing: Vec<u32> = comm.group.iter().filter(|rank| !here.contains(rank)).collect();
        missing.sort_unstable();
        Some(format!("{} to call on file \"{}\"", ranks_text(&missing), objects.files.alive(file)?.name))
    }
}
