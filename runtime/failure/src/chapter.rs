//! Agreements as a chapter of MPI: what the main loop, requests, other processes and a deadlock's report ask of them.

use crate::agreement::Agreements;
use engine::Time;
use engine::record::Take;
use message::Messages;
use message::chapter::id::Token;
use message::chapter::{Chapter, Errand, Explanation, Wait};
use message::request::Status;
use objects::Objects;
use objects::error::Result;

// An agreement is over when its last member comes in or fails: nothing of it is an open decision.
impl Chapter for Agreements {
    #[inline]
    fn has_work(&self) -> bool {
        false
    }
    fn work(&mut self, _: &mut Messages, _: &Objects) -> Option<Box<dyn Errand>> {
        None
    }
    fn deliver(&mut self, _: &Objects, _: Token) {}
    fn finish(&mut self, _: &mut Messages, _: &Objects, token: Token) -> Result<Status> {
        self.leave(token).map(|()| Status::EMPTY)
    }
    fn landed(&mut self, _: [u32; 4], _: Time) {
        unreachable!("there is no fault tolerance on a network of packets")
    }
    fn record(&mut self, _: &mut Messages, _: &mut Objects, _: u32, _: u8, _: Take) {
        unreachable!("there is no fault tolerance on several processes")
    }
    fn forget_comm(&mut self, comm: u32) {
        self.forget(comm);
    }
    fn wait_of(&self, messages: &Messages, objects: &Objects, _: u32, token: Option<Token>) -> Option<Wait> {
        let [index, _] = token?;
        Some(Wait { text: self.waits(messages, objects, index)?, name: None })
    }
    fn open(&self, _: &Messages, _: &Objects) -> Vec<u8> {
        Vec::new()
    }
    fn explain(&self, _: &[Vec<u8>]) -> Explanation {
        Explanation::default()
    }
}
