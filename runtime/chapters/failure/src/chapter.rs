//! Agreements as a chapter of MPI: what the main loop, requests, other processes and a deadlock's report ask
//! of them.

use crate::agreement::Agreements;
use crate::round::AgreementKey;
use engine::Time;
use engine::record::{Put, Take};
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::chapter::id::Token;
use p2p::chapter::{Chapter, Errand, Explanation, Wait};
use p2p::request::Status;

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
    fn finish(&mut self, messages: &mut Messages, _: &Objects, token: Token) -> Result<Status> {
        self.leave(messages, token).map(|()| Status::EMPTY)
    }
    fn landed(&mut self, _: [u32; 4], _: Time) {
        unreachable!("there is no fault tolerance on a network of packets")
    }
    fn record(&mut self, messages: &mut Messages, objects: &mut Objects, from: u32, kind: u8, record: Take) {
        self.record_arrived(messages, objects, from, kind, record);
    }
    fn wait_of(&self, messages: &Messages, _: &Objects, _: u32, token: Option<Token>) -> Option<Wait> {
        let [part, _] = token?;
        let (text, name) = self.waits(messages, part)?;
        Some(Wait { text, name: Some(name) })
    }
    fn open(&self, messages: &Messages, _: &Objects) -> Vec<u8> {
        let mut open: Vec<AgreementKey> = self.rounds.keys().copied().collect();
        open.sort_unstable();
        let mut out = Vec::new();
        for key in open {
            if let Some(text) = self.missing(messages, key) {
                out.bytes(&key.bytes());
                out.bytes(text.as_bytes());
            }
        }
        out
    }
    fn explain(&self, told: &[Vec<u8>]) -> Explanation {
        Explanation::of_pairs(told)
    }
}
