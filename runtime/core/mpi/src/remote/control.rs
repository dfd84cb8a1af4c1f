//! Records that processes exchange on the control channel when none of them can go on, and their encoding.

use crate::order::key::Key;
use crate::order::poller::Poller;
use crate::remote::record::{Put, Take};
use engine::Time;

/// Control messages, by their first byte.
pub(crate) const REPORT: u8 = 0;
pub(crate) const VERDICT: u8 = 1;
pub(crate) const GATHER: u8 = 2;
pub(crate) const RELEASE: u8 = 3;
pub(crate) const WELCOME: u8 = 4;
pub(crate) const GONE: u8 = 5;
/// Request to vote that a report stands, with the vote's number; 0 releases the voter.
pub(crate) const VOTE_REQUEST: u8 = 6;
/// The vote that a report stands, with its number.
pub(crate) const VOTE: u8 = 7;

/// Report of a process that cannot go on, sent to process 0.
// All that `World::next` asks of one process, in some hundred bytes: process 0 decides from these alone.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Report {
    /// Number of verdicts that it has followed.
    pub(crate) followed: u64,
    /// Chunks sent to each process so far.
    pub(crate) sent: Vec<u64>,
    /// Chunks taken from each process so far.
    pub(crate) taken: Vec<u64>,
    /// The first open decision.
    pub(crate) least: Option<Key>,
    /// The least time at which a rank goes on after one of its decisions is made.
    pub(crate) effect: Option<Time>,
    /// `true` if members of a collective are held.
    pub(crate) held: bool,
    /// The parked rank that may be sent on.
    pub(crate) poller: Option<Poller>,
    /// Messages of its ranks so far.
    pub(crate) messages: u64,
    /// `true` if all its ranks have ended.
    pub(crate) ended: bool,
    pub(crate) aborting: bool,
    /// `true` if it may leave before the run is over.
    pub(crate) through: bool,
    /// `true` if a rank of it ever waited for a match, or met a message whose sender does.
    pub(crate) handshakes: bool,
    /// `true` if a thread of it may still call, whatever its rank waits for.
    pub(crate) outside: bool,
}

/// Instruction of process 0 to a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Decide what is safe: no rank of another process acts before this time, unless because of what this
    /// process sends.
    Before(Time),
    /// Make the first decision alone; and what comes before this one, the first of the other processes.
    First(Key),
    /// Let the shared network, which is yours, go on: all decisions are at this time or later.
    Network(Time),
    /// Start the collectives whose members are held.
    Held,
    /// Forget the time of the last `Before`.
    Forget,
    /// Send this parked rank on, if it is yours; forget the time of the last `Before`.
    Release(u32),
    /// The run is over.
    Done,
    /// It is over for this process, whose ranks have ended, and which nobody needs any more.
    Leave,
    /// Nothing can go on.
    Deadlock,
}

// One form for all, a byte and a key: a verdict is told once an agreement, and costs a message however long
// it is.
impl Verdict {
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        let (kind, key) = match self {
            Verdict::Before(time) => (0, Key { time, ..Key::default() }),
            Verdict::First(until) => (1, until),
            Verdict::Held => (2, Key::default()),
            Verdict::Forget => (3, Key::default()),
            Verdict::Release(rank) => (4, Key { rank, ..Key::default() }),
            Verdict::Done => (5, Key::default()),
            Verdict::Deadlock => (6, Key::default()),
            Verdict::Leave => (7, Key::default()),
            Verdict::Network(time) => (8, Key { time, ..Key::default() }),
        };
        out.u8(kind);
        put_key(Some(key), out);
    }
    pub(crate) fn take(from: &mut Take) -> Verdict {
        let (kind, key) = (from.u8(), take_key(from).unwrap_or_default());
        match kind {
            0 => Verdict::Before(key.time),
            1 => Verdict::First(key),
            2 => Verdict::Held,
            3 => Verdict::Forget,
            4 => Verdict::Release(key.rank),
            5 => Verdict::Done,
            7 => Verdict::Leave,
            8 => Verdict::Network(key.time),
            _ => Verdict::Deadlock,
        }
    }
}

/// Writes a key, or that there is none.
fn put_key(key: Option<Key>, out: &mut Vec<u8>) {
    let Key { time, rest, rank, source } = key.unwrap_or_default();
    out.u8(u8::from(key.is_some()) | u8::from(rest) << 1);
    out.u64(time.as_ps());
    out.u32(rank);
    out.u32(source);
}

fn take_key(from: &mut Take) -> Option<Key> {
    let flags = from.u8();
    let key =
        Key { time: Time::from_ps(from.u64()), rest: flags & 2 != 0, rank: from.u32(), source: from.u32() };
    (flags & 1 != 0).then_some(key)
}

impl Report {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.u64(self.followed);
        self.sent.iter().chain(&self.taken).for_each(|&count| out.u64(count));
        put_key(self.least, out);
        put_key(self.effect.map(|time| Key { time, ..Key::default() }), out);
        put_key(
            self.poller.map(|Poller { clock, rank, polls }| Key {
                time: clock,
                rank,
                source: polls,
                ..Key::default()
            }),
            out,
        );
        out.u64(self.messages);
        let flags = [self.held, self.ended, self.aborting, self.handshakes, self.outside, self.through];
        out.u8((0..).zip(flags).map(|(bit, flag)| u8::from(flag) << bit).sum());
    }
    pub(crate) fn take(from: &mut Take, processes: u32) -> Report {
        let followed = from.u64();
        let sent = (0..processes).map(|_| from.u64()).collect();
        let taken = (0..processes).map(|_| from.u64()).collect();
        let (least, effect, poller) = (take_key(from), take_key(from), take_key(from));
        let messages = from.u64();
        let flags = from.u8();
        Report {
            followed,
            sent,
            taken,
            least,
            effect: effect.map(|key| key.time),
            poller: poller.map(|Key { time, rank, source, .. }| Poller { clock: time, rank, polls: source }),
            messages,
            held: flags & 1 != 0,
            ended: flags & 2 != 0,
            aborting: flags & 4 != 0,
            handshakes: flags & 8 != 0,
            outside: flags & 16 != 0,
            through: flags & 32 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_and_decisions_survive_their_way() {
        let report = Report {
            followed: 7,
            sent: vec![1, 2],
            taken: vec![3, 4],
            least: Some(Key { time: Time::from_ps(5), rest: true, rank: 6, source: 7 }),
            effect: Some(Time::MAX),
            held: true,
            poller: Some(Poller { clock: Time::from_ps(1), rank: 2, polls: 3 }),
            messages: 9,
            ended: false,
            aborting: true,
            handshakes: true,
            outside: true,
            through: true,
        };
        let mut bytes = Vec::new();
        report.put(&mut bytes);
        assert_eq!(Report::take(&mut Take(&bytes), 2), report);
        for verdict in [
            Verdict::Before(Time::MAX),
            Verdict::First(Key { time: Time::from_ps(8), rest: true, rank: 9, source: u32::MAX }),
            Verdict::Held,
            Verdict::Forget,
            Verdict::Release(4),
            Verdict::Done,
            Verdict::Deadlock,
            Verdict::Leave,
            Verdict::Network(Time::from_ps(3)),
        ] {
            let mut bytes = Vec::new();
            verdict.put(&mut bytes);
            assert_eq!(Verdict::take(&mut Take(&bytes)), verdict);
        }
    }
}
