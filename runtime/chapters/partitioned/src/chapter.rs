//! Partitioned communication as a chapter of MPI: what the main loop, requests, other processes and a
//! deadlock's report ask of it.

use crate::end::{End, NIL};
use crate::part::PartitionTransfer;
use crate::state::Partitioned;
use engine::Time;
use engine::record::Take;
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::chapter::id::Token as Words;
use p2p::chapter::{Chapter, Errand, Explanation, Wait};
use p2p::request::Status;

/// The meaning of a request's second word; the first is the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransferToken {
    /// All partitions are ready.
    Send,
    /// All have come.
    Receive,
    /// This one has come.
    Look(u32),
}

impl TransferToken {
    pub(crate) fn word(self) -> u32 {
        match self {
            TransferToken::Send => 0,
            TransferToken::Receive => 1,
            TransferToken::Look(partition) => 2 + partition,
        }
    }
    fn of(word: u32) -> TransferToken {
        match word {
            0 => TransferToken::Send,
            1 => TransferToken::Receive,
            _ => TransferToken::Look(word - 2),
        }
    }
}

impl Chapter for Partitioned {
    #[inline]
    fn has_work(&self) -> bool {
        !self.landed.is_empty()
    }
    fn work(&mut self, messages: &mut Messages, _: &Objects) -> Option<Box<dyn Errand>> {
        for (index, at) in std::mem::take(&mut self.landed) {
            let part = self.flying.remove(index).expect("it was launched");
            self.land(messages, PartitionTransfer { arrival: at, ..part });
        }
        None
    }
    fn deliver(&mut self, _: &Objects, [number, _]: Words) {
        self.settle(number);
    }
    fn reach(&mut self, messages: &mut Messages, [number, word]: Words, done: Time) {
        let me = messages.me();
        let overhead = messages.fabric().wire().overheads.receive;
        let look = match TransferToken::of(word) {
            TransferToken::Receive
                if messages.fabric().wire().has_overheads && !self.broken.contains_key(&number) =>
            {
                None
            }
            TransferToken::Look(partition) if messages.fabric().wire().has_overheads => Some(partition),
            _ => return messages.ranks_mut().advance(me, done),
        };
        let clock = self.clock_after(number, look, overhead, messages.clock(me));
        messages.ranks_mut().advance(me, clock);
    }
    fn finish(&mut self, messages: &mut Messages, _: &Objects, [number, word]: Words) -> Result<Status> {
        match TransferToken::of(word) {
            TransferToken::Send => {
                if let Some(end) = self.ends.get_mut(number) {
                    end.common_mut().request = NIL;
                    end.common_mut().round += 1;
                }
                Ok(Status::EMPTY)
            }
            TransferToken::Receive => {
                self.take_broken(messages, number)?;
                self.received(messages, number)
            }
            TransferToken::Look(partition) => {
                self.looked(number, partition);
                Ok(Status::EMPTY)
            }
        }
    }
    fn may_free(&self, messages: &Messages, number: u32) -> Result {
        self.may_free_end(messages, number)
    }
    fn freed(&mut self, number: u32) {
        self.free_end(number);
    }
    fn landed(&mut self, [index, ..]: [u32; 4], at: Time) {
        self.landed.push((index, at));
    }
    fn record(&mut self, messages: &mut Messages, _: &mut Objects, _: u32, _: u8, record: Take) {
        self.land(messages, PartitionTransfer::of(record));
    }
    fn wait_of(&self, _: &Messages, _: &Objects, _: u32, token: Option<Words>) -> Option<Wait> {
        let [number, _] = token?;
        let text = match self.ends.get(number)? {
            End::Send(sender) => {
                format!(
                    "{} of the {} partitions of its send were not made ready with MPI_Pready",
                    sender.left, sender.common.partitions
                )
            }
            End::Receive(receiver) => {
                let channel = receiver.common.channel;
                let from = format!("rank {} of the communicator with tag {}", channel.source, channel.tag);
                match self.rounds.get(&(channel, receiver.common.round)).and_then(|round| round.missing()) {
                    Some((missing, of)) => format!("{missing} of the {of} partitions of {from}"),
                    None => format!("the partitions of {from}"),
                }
            }
        };
        Some(Wait { text, name: None })
    }
    fn open(&self, _: &Messages, _: &Objects) -> Vec<u8> {
        Vec::new()
    }
    fn explain(&self, _: &[Vec<u8>]) -> Explanation {
        Explanation::default()
    }
}
