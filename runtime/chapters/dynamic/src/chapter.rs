//! Dynamic processes as a chapter of MPI: what the main loop, requests, other processes and a deadlock's
//! report ask of them.

use crate::state::Dynamic;
use engine::Time;
use engine::record::Take;
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::chapter::id::Token;
use p2p::chapter::{Chapter, Errand, Explanation, Wait};
use p2p::request::Status;

impl Chapter for Dynamic {
    #[inline]
    fn has_work(&self) -> bool {
        !self.landed.is_empty()
    }
    fn work(&mut self, messages: &mut Messages, _: &Objects) -> Option<Box<dyn Errand>> {
        self.land_all(messages);
        None
    }
    fn deliver(&mut self, _: &Objects, _: Token) {}
    fn finish(&mut self, messages: &mut Messages, _: &Objects, [index, _]: Token) -> Result<Status> {
        self.take_broken(messages, index)?;
        let answer = self.operations.remove(index).and_then(|operation| operation.answer);
        self.reply = answer.unwrap_or(Ok(crate::ask::Reply::Done))?;
        Ok(Status::EMPTY)
    }
    fn landed(&mut self, words: [u32; 4], at: Time) {
        self.landed.push((words, at));
    }
    fn record(&mut self, messages: &mut Messages, objects: &mut Objects, _: u32, kind: u8, record: Take) {
        self.told(messages, objects, kind, record);
    }
    #[inline]
    fn first_open(&self, rank: u32) -> Option<(Time, u32)> {
        self.arrivals.first(rank)
    }
    fn decide(&mut self, messages: &mut Messages, objects: &mut Objects, rank: u32, until: Time) {
        self.serve(messages, objects, rank, until);
    }
    fn wait_of(&self, _: &Messages, _: &Objects, _: u32, token: Option<Token>) -> Option<Wait> {
        let [index, _] = token?;
        Some(Wait { text: self.operations.get(index)?.waits.clone(), name: None })
    }
    fn open(&self, _: &Messages, _: &Objects) -> Vec<u8> {
        Vec::new()
    }
    fn explain(&self, _: &[Vec<u8>]) -> Explanation {
        Explanation::default()
    }
}
