//! What processes agree on when none of them can go on: safe time, deadlock, the end.
//!
//! A process that has nothing to run reports to process 0: how many chunks it has sent to and taken from each process, and
//! the least item that it could decide. When the last reports of all processes tell that every chunk sent was taken, nothing
//! is under way and nobody runs: had a process gone on after its report, a chunk must have woken it that its report does not
//! count. Process 0 then decides what one process would (`World::decide`), and tells all.
//!
//! An agreement costs far more than a decision. So a process goes on deciding alone ([`Lease`]) as long as no other can interfere: the others
//! act only later, or because of what this one sends them.

use crate::progress::Next;
use crate::remote::record::{Put, Take};
use crate::undecided::Fruitless;
use crate::world::World;
use engine::{Span, Time};
use std::cell::Cell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Control messages, by their first byte.
const REPORT: u8 = 0;
const DECISION: u8 = 1;
pub(crate) const GATHER: u8 = 2;
pub(crate) const RELEASE: u8 = 3;

/// Looks in vain at the streams before a process reports.
const PATIENCE: u32 = 2;
/// Looks in vain before it sleeps between them.
const AWAKE: u32 = 64;
/// The first and the longest sleep.
const SLEEP: (Duration, Duration) = (Duration::from_micros(10), Duration::from_millis(1));

/// Yielding that takes longer gave the processor to a program that computes.
const SLICE: Duration = Duration::from_micros(50);
/// Looks that sleep after that.
const CROWDED_LOOKS: u32 = 2_000;

/// What a process that cannot go on tells.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Report {
    round: u64,
    sent: Vec<u64>,
    taken: Vec<u64>,
    /// The least open item: time, rank, source.
    least: Option<(Time, u32, u32)>,
    /// The least time at which a rank goes on after one of its items is decided.
    effect: Option<Time>,
    /// Whether members of a collective are held.
    held: bool,
    /// The parked rank that may be sent on: clock, rank, and how often it will poll.
    poller: Option<(Time, u32, u32)>,
    messages: u64,
    /// Whether all its ranks have ended.
    ended: bool,
    aborting: bool,
    /// Whether a rank of it ever waited for a match, or met a message whose sender does.
    handshakes: bool,
}

/// What orders items: time, rank, source.
type Key = (Time, u32, u32);

/// What process 0 decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// Decide what is safe. No rank of another process acts before this time, unless because of what this process sends; in what
    /// [`decide`] answers, no rank of any.
    Before(Time),
    /// Decide this rank's first item alone; and what comes before this item, the first of the other processes.
    One(u32, Key),
    /// Start the collectives whose members are held.
    Held,
    /// Forget the time of the last `Before`.
    Forget,
    /// Send this parked rank on.
    Release(u32),
    /// The run is over.
    Done,
    /// Nothing can go on.
    Deadlock,
}

/// How far a process may decide alone: before anything that it sent to another since can make a rank there act.
#[derive(Clone, Copy, Debug)]
struct Lease {
    /// No rank of another process acts before this.
    other: Time,
    /// Without lookahead: their first item, which comes after all before it.
    until: Option<Key>,
}

impl Decision {
    fn put(self, out: &mut Vec<u8>) {
        let (kind, value, key) = match self {
            Decision::Before(time) => (0, time.as_ps(), Key::default()),
            Decision::One(rank, until) => (1, rank.into(), until),
            Decision::Held => (2, 0, Key::default()),
            Decision::Forget => (3, 0, Key::default()),
            Decision::Release(rank) => (4, rank.into(), Key::default()),
            Decision::Done => (5, 0, Key::default()),
            Decision::Deadlock => (6, 0, Key::default()),
        };
        out.u8(kind);
        out.u64(value);
        put_times(&[Some(key)], out);
    }
    fn take(from: &mut Take) -> Decision {
        let (kind, value) = (from.u8(), from.u64());
        let key = take_time(from).unwrap_or_default();
        match kind {
            0 => Decision::Before(Time::from_ps(value)),
            1 => Decision::One(value as u32, key),
            2 => Decision::Held,
            3 => Decision::Forget,
            4 => Decision::Release(value as u32),
            5 => Decision::Done,
            _ => Decision::Deadlock,
        }
    }
    /// What process `to` is told.
    fn for_process(self, to: usize, reports: &[Report]) -> Decision {
        let others = || reports.iter().enumerate().filter(|(process, _)| *process != to).map(|(_, report)| report);
        match self {
            Decision::Before(_) => Decision::Before(others().filter_map(|report| report.effect).min().unwrap_or(Time::MAX)),
            decision => decision,
        }
    }
}

fn put_times(list: &[Option<(Time, u32, u32)>], out: &mut Vec<u8>) {
    for entry in list {
        out.u8(u8::from(entry.is_some()));
        let (time, rank, source) = entry.unwrap_or_default();
        out.u64(time.as_ps());
        out.u32(rank);
        out.u32(source);
    }
}

fn take_time(from: &mut Take) -> Option<(Time, u32, u32)> {
    let is = from.u8() != 0;
    let entry = (Time::from_ps(from.u64()), from.u32(), from.u32());
    is.then_some(entry)
}

impl Report {
    fn put(&self, out: &mut Vec<u8>) {
        out.u64(self.round);
        self.sent.iter().chain(&self.taken).for_each(|&count| out.u64(count));
        put_times(&[self.least, self.effect.map(|time| (time, 0, 0)), self.poller], out);
        out.u64(self.messages);
        out.u8(u8::from(self.held) | u8::from(self.ended) << 1 | u8::from(self.aborting) << 2 | u8::from(self.handshakes) << 3);
    }
    fn take(from: &mut Take, processes: u32) -> Report {
        let round = from.u64();
        let sent = (0..processes).map(|_| from.u64()).collect();
        let taken = (0..processes).map(|_| from.u64()).collect();
        let (least, effect, poller) = (take_time(from), take_time(from), take_time(from));
        let messages = from.u64();
        let flags = from.u8();
        Report {
            round,
            sent,
            taken,
            least,
            effect: effect.map(|entry| entry.0),
            poller,
            messages,
            held: flags & 1 != 0,
            ended: flags & 2 != 0,
            aborting: flags & 4 != 0,
            handshakes: flags & 8 != 0,
        }
    }
}

/// One process's part in agreements.
pub(crate) struct Agreeing {
    round: u64,
    reported: bool,
    decisions: VecDeque<Decision>,
    /// On process 0: the last report of each process in this round.
    reports: Vec<Option<Report>>,
    lease: Option<Lease>,
    /// On process 0: whether all have forgotten what was safe after the last `Before`.
    forgotten: bool,
    /// On process 0.
    fruitless: Fruitless,
    /// Agreements so far.
    pub(crate) rounds: u64,
}

/// What one process would do if it had all items: see [`World::decide`].
fn decide(reports: &[Report], lookahead: Span) -> Option<Decision> {
    if reports.iter().all(|report| report.ended) {
        return Some(Decision::Done);
    }
    if reports.iter().any(|report| report.held) {
        return Some(Decision::Held);
    }
    if let (Some(least), Some(effect)) =
        (reports.iter().filter_map(|report| report.least).min(), reports.iter().filter_map(|report| report.effect).min())
    {
        if least.0 < effect.saturating_add(lookahead) {
            return Some(Decision::Before(effect));
        }
        let others = reports.iter().filter_map(|report| report.least).filter(|other| *other != least);
        return Some(Decision::One(least.1, others.min().unwrap_or((Time::MAX, u32::MAX, u32::MAX))));
    }
    reports.iter().any(|report| report.aborting).then_some(Decision::Done)
}

fn all_taken(reports: &[Report]) -> bool {
    let processes = reports.len();
    (0..processes).all(|from| (0..processes).all(|to| reports[from].sent[to] == reports[to].taken[from]))
}

impl Agreeing {
    pub(crate) fn new(processes: u32) -> Agreeing {
        Agreeing {
            round: 0,
            reported: false,
            decisions: VecDeque::new(),
            reports: vec![None; processes as usize],
            lease: None,
            forgotten: true,
            fruitless: Fruitless::default(),
            rounds: 0,
        }
    }

    fn note(&mut self, process: u32, report: Report) {
        if report.round == self.round {
            self.reports[process as usize] = Some(report);
        }
    }

    /// On process 0: the decision and what each process is told, if all have reported that they cannot go on.
    fn conclude(&mut self, lookahead: impl FnOnce(bool) -> Span) -> Option<(Decision, Vec<Decision>)> {
        if self.reports.iter().any(Option::is_none) {
            return None;
        }
        let reports: Vec<Report> = self.reports.iter().flatten().cloned().collect();
        if !all_taken(&reports) {
            return None;
        }
        let lookahead = lookahead(reports.iter().any(|report| report.handshakes));
        let decision = decide(&reports, lookahead).unwrap_or_else(|| self.release(&reports));
        if matches!(decision, Decision::Before(_)) {
            self.forgotten = false;
        }
        self.reports.fill(None);
        let told = (0..reports.len()).map(|process| decision.for_process(process, &reports)).collect();
        Some((decision, told))
    }

    /// Nothing can be decided: a polling rank goes on, or all wait for ever.
    fn release(&mut self, reports: &[Report]) -> Decision {
        let Some((_, rank, polls)) = reports.iter().filter_map(|report| report.poller).min() else { return Decision::Deadlock };
        if !self.forgotten {
            // Such a rank may act before the time that was safe: all must have forgotten it first.
            self.forgotten = true;
            return Decision::Forget;
        }
        let messages = reports.iter().map(|report| report.messages).sum();
        if self.fruitless.has_hope(messages, polls) { Decision::Release(rank) } else { Decision::Deadlock }
    }
}

impl World {
    pub(crate) fn control_arrived(&mut self, from: u32, data: Vec<u8>) {
        let processes = self.messages.others().streams.processes();
        let agreeing = &mut self.order.agreeing;
        let mut record = Take(&data);
        match record.u8() {
            REPORT => agreeing.note(from, Report::take(&mut record, processes)),
            DECISION => {
                agreeing.round = record.u64();
                agreeing.reported = false;
                agreeing.decisions.push_back(Decision::take(&mut record));
            }
            _ => self.run.gathered.push_back((from, data)),
        }
    }

    /// No rank of this process can run: waits until one can, or the run is over.
    #[cold]
    pub(crate) fn wait_for_others(&mut self) -> Option<Next> {
        self.order.agreeing.reported = false;
        if self.decide_safe() {
            return None;
        }
        if self.messages.is_flooded()
            && !self.messages.crowded
            && let Some(rank) = self.messages.ready.next_lagging()
        {
            self.messages.ready.wake(rank);
            return None;
        }
        let mut vain = 0;
        loop {
            let (news, empty) = self.exchange(true);
            if self.has_work() {
                return None;
            }
            if !self.messages.crowded
                && let Some(rank) = self.messages.ready.next_lagging()
            {
                self.messages.ready.wake(rank);
                return None;
            }
            if news {
                self.order.agreeing.reported = false;
                vain = 0;
                if self.decide_safe() {
                    return None;
                }
            }
            if self.go_on_alone() {
                return None;
            }
            if let Some(decision) = self.order.agreeing.decisions.pop_front() {
                vain = 0;
                match self.follow(decision) {
                    Some(next) => return Some(next),
                    None if self.has_work() => return None,
                    None => {}
                }
            }
            if empty && vain >= PATIENCE && !self.order.agreeing.reported {
                self.report();
            }
            self.conclude();
            vain += 1;
            pause(vain);
        }
    }

    /// Decides what no other process can interfere with, once all have agreed and as long as nothing is sent to them; false if there is nothing.
    fn go_on_alone(&mut self) -> bool {
        let Some(Lease { other, until }) = self.order.agreeing.lease else { return false };
        if !self.collectives.holds() {
            let soonest = self.messages.others().streams.soonest();
            let until = until.map(|until| until.min((soonest, 0, 0)));
            if self.decide_before_others(other.min(soonest)) || until.is_some_and(|until| self.decide_first_before(until)) {
                return true;
            }
        }
        self.order.agreeing.lease = None;
        false
    }

    /// Whether a rank can go on.
    fn has_work(&mut self) -> bool {
        self.refresh();
        !self.messages.ready.is_empty() || self.collectives.has_work() || !self.messages.orphans.is_empty()
    }

    fn report(&mut self) {
        let (first, effect) = self.outlook();
        let poller = self.least_poller();
        let (held, ended, aborting) = (self.collectives.holds(), self.run.ended == self.messages.local, self.run.abort.is_some());
        let messages = self.messages.profile.messages();
        let (sent, taken) = self.messages.others().streams.counts();
        let me = self.messages.others().me;
        let agreeing = &mut self.order.agreeing;
        let report = Report {
            round: agreeing.round,
            sent,
            taken,
            least: first.map(|item| (item.time, item.rank, item.source)),
            effect,
            held,
            poller,
            messages,
            ended,
            aborting,
            handshakes: self.messages.handshakes,
        };
        agreeing.reported = true;
        if me == 0 {
            agreeing.note(0, report);
            return;
        }
        let mut data = vec![REPORT];
        report.put(&mut data);
        self.tell(0, data);
    }

    /// Sends a control message.
    pub(crate) fn tell(&mut self, process: u32, data: Vec<u8>) {
        if let Err(why) = self.messages.others().streams.control(process, data) {
            self.messages.broken(&why);
        }
    }

    /// On process 0: decides, if all have reported that they cannot go on.
    fn conclude(&mut self) {
        if self.messages.others().me != 0 {
            return;
        }
        let World { messages, order, .. } = self;
        let agreeing = &mut order.agreeing;
        let Some((_, told)) = agreeing.conclude(|handshakes| messages.lookahead(handshakes)) else { return };
        agreeing.round += 1;
        agreeing.rounds += 1;
        agreeing.reported = false;
        agreeing.decisions.push_back(told[0]);
        let round = agreeing.round;
        for (process, decision) in told.into_iter().enumerate().skip(1) {
            let mut data = vec![DECISION];
            data.u64(round);
            decision.put(&mut data);
            self.tell(process as u32, data);
        }
    }

    fn follow(&mut self, decision: Decision) -> Option<Next> {
        self.messages.others().streams.forget_effects();
        self.order.agreeing.lease = match decision {
            Decision::Before(other) => Some(Lease { other, until: None }),
            Decision::One(rank, until) if self.messages.is_local(rank) => Some(Lease { other: Time::ZERO, until: Some(until) }),
            _ => None,
        };
        match decision {
            Decision::Before(other) => {
                self.decide_before_others(other);
            }
            Decision::One(rank, _) if self.messages.is_local(rank) => self.decide_first(),
            Decision::Release(rank) if self.messages.is_local(rank) => self.send_poller_on(rank),
            Decision::One(..) => {}
            Decision::Release(_) | Decision::Forget => self.forget_safe(),
            Decision::Held => {
                self.collectives.epoch += 1;
                self.collectives.start_held(&mut self.messages, &self.objects);
            }
            Decision::Done => return Some(Next::Done),
            Decision::Deadlock => return Some(Next::Deadlock),
        }
        None
    }
}

thread_local! {
    /// Looks during which the processor is taken to be wanted by others.
    static CROWDED: Cell<u32> = const { Cell::new(0) };
}

/// Waits a little between two looks, longer the more of them were in vain.
///
/// Who yields to a program that computes waits for all of that one's slice, milliseconds; who sleeps has the processor back
/// when it wakes. So where yielding took that long, the next looks sleep.
pub(crate) fn pause(vain: u32) {
    let crowded = CROWDED.get();
    if crowded != 0 {
        CROWDED.set(crowded - 1);
    } else if vain < AWAKE {
        let before = Instant::now();
        std::thread::yield_now();
        if before.elapsed() > SLICE {
            CROWDED.set(CROWDED_LOOKS);
            // The least that the system knows: else it adds 50 us to each sleep. Without it, sleeps are longer, no more.
            let _ = std::fs::write("/proc/self/timerslack_ns", "1");
        }
        return;
    }
    std::thread::sleep((SLEEP.0 * (1 << (vain.saturating_sub(AWAKE) / 8).min(10))).min(SLEEP.1));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conclude(agreeing: &mut Agreeing, lookahead: Span) -> Option<Decision> {
        agreeing.conclude(|_| lookahead).map(|(decision, _)| decision)
    }
    fn idle(sent: &[u64], taken: &[u64]) -> Report {
        Report { sent: sent.to_vec(), taken: taken.to_vec(), ..Report::default() }
    }
    fn item(time: u64, clock: u64, rank: u32) -> Report {
        let (least, effect) = (Time::from_ps(time), Time::from_ps(time.max(clock)));
        Report { least: Some((least, rank, 0)), effect: Some(effect), ..idle(&[0, 0], &[0, 0]) }
    }

    #[test]
    fn nothing_is_concluded_while_a_chunk_is_under_way() {
        let mut agreeing = Agreeing::new(2);
        agreeing.note(0, idle(&[0, 1], &[0, 0]));
        assert_eq!(conclude(&mut agreeing, Span::ZERO), None);
        // Process 1 reported before it took the chunk, or took one that process 0's report does not count.
        for taken in [0, 2] {
            agreeing.note(1, idle(&[0, 0], &[taken, 0]));
            assert_eq!(conclude(&mut agreeing, Span::ZERO), None);
        }
        agreeing.note(1, idle(&[0, 0], &[1, 0]));
        assert_eq!(conclude(&mut agreeing, Span::ZERO), Some(Decision::Deadlock));
    }

    #[test]
    fn a_report_of_an_earlier_round_counts_no_more() {
        let mut agreeing = Agreeing::new(1);
        agreeing.round = 3;
        agreeing.note(0, Report { round: 2, ended: true, ..idle(&[0], &[0]) });
        assert_eq!(conclude(&mut agreeing, Span::ZERO), None);
    }

    #[test]
    fn items_before_the_least_effect_and_the_lookahead_are_decided() {
        let lookahead = Span::from_ps(10);
        assert_eq!(decide(&[item(5, 20, 0), item(7, 7, 1)], lookahead), Some(Decision::Before(Time::from_ps(7))));
        // Without lookahead one rank may reach another at once: the least alone, ties by rank.
        let next = (Time::from_ps(7), 1, 0);
        assert_eq!(decide(&[item(7, 7, 1), item(7, 7, 0)], Span::ZERO), Some(Decision::One(0, next)));
        assert_eq!(decide(&[item(5, 20, 3), item(7, 7, 1)], Span::ZERO), Some(Decision::Before(Time::from_ps(7))));
    }

    #[test]
    fn each_process_is_told_when_the_others_act() {
        let reports = [item(5, 20, 0), item(7, 7, 1), item(9, 9, 2)];
        let told = |process| decide(&reports, Span::from_ps(10)).map(|decision| decision.for_process(process, &reports));
        assert_eq!(told(0), Some(Decision::Before(Time::from_ps(7))));
        assert_eq!(told(1), Some(Decision::Before(Time::from_ps(9))));
        assert_eq!(told(2), Some(Decision::Before(Time::from_ps(7))));
        let alone = [item(5, 5, 0)];
        assert_eq!(Decision::Before(Time::from_ps(5)).for_process(0, &alone), Decision::Before(Time::MAX));
    }

    #[test]
    fn a_polling_rank_goes_on_only_after_all_have_forgotten_what_was_safe() {
        let mut agreeing = Agreeing::new(1);
        let poller = || Report { poller: Some((Time::from_ps(3), 9, 4_000_000)), ..idle(&[0], &[0]) };
        let busy = Report { least: Some((Time::ZERO, 1, 0)), effect: Some(Time::ZERO), ..idle(&[0], &[0]) };
        agreeing.note(0, busy);
        assert_eq!(conclude(&mut agreeing, Span::from_ps(1)), Some(Decision::Before(Time::ZERO)));
        agreeing.note(0, poller());
        assert_eq!(conclude(&mut agreeing, Span::ZERO), Some(Decision::Forget));
        for _ in 0..2 {
            agreeing.note(0, poller());
            assert_eq!(conclude(&mut agreeing, Span::ZERO), Some(Decision::Release(9)));
        }
        agreeing.note(0, poller());
        assert_eq!(conclude(&mut agreeing, Span::ZERO), Some(Decision::Deadlock));
    }

    #[test]
    fn reports_and_decisions_survive_their_way() {
        let report = Report {
            round: 7,
            sent: vec![1, 2],
            taken: vec![3, 4],
            least: Some((Time::from_ps(5), 6, 7)),
            effect: Some(Time::MAX),
            held: true,
            poller: Some((Time::from_ps(1), 2, 3)),
            messages: 9,
            ended: false,
            aborting: true,
            handshakes: true,
        };
        let mut bytes = Vec::new();
        report.put(&mut bytes);
        assert_eq!(Report::take(&mut Take(&bytes), 2), report);
        for decision in [
            Decision::Before(Time::MAX),
            Decision::One(3, (Time::from_ps(8), 9, u32::MAX)),
            Decision::Release(4),
            Decision::Held,
            Decision::Forget,
        ] {
            let mut bytes = Vec::new();
            decision.put(&mut bytes);
            assert_eq!(Decision::take(&mut Take(&bytes)), decision);
        }
    }
}
