//! Process 0's part in agreements: who has reported what, and what follows from it.

use crate::order::key::Key;
use crate::order::poller::{Fruitless, Poller};
use crate::remote::control::{Report, Verdict};
use engine::{Span, Time};

/// A request of process 0 to a process of which a thread may call at any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VoteRequest {
    /// Vote in the vote of this number once the last report stands, and let no thread in until the release or
    /// a verdict.
    Stands(u64),
    /// The voter is released: it may let threads in.
    Release,
}

/// A vote that reports stand.
// A thread that comes in changes what its process can do without a chunk that others could count. So such a
// process votes before a conclusion, and lets no thread in from its vote to the verdict, as in a two-phase
// commit.
#[derive(Default)]
struct Vote {
    number: u64,
    /// Processes that were requested to vote, each with `true` once it has; empty if no vote is held.
    asked: Vec<(u32, bool)>,
    /// `true` if nothing follows from the reports as they stand.
    is_fruitless: bool,
    /// Requests that have not been sent.
    requests: Vec<(u32, VoteRequest)>,
}

impl Vote {
    /// Ends the vote: releases the voters, except those that are sent a verdict.
    fn end(&mut self, told: &[(u32, Verdict)]) {
        for (process, _) in self.asked.drain(..) {
            if told.iter().all(|&(other, _)| other != process) {
                self.requests.push((process, VoteRequest::Release));
            }
        }
    }

    /// Returns `true` if all of these processes have voted; requests their votes if no vote is held.
    fn is_sure(&mut self, doubtful: Vec<u32>) -> bool {
        if self.asked.is_empty() {
            self.number += 1;
            let number = self.number;
            self.requests.extend(doubtful.iter().map(|&process| (process, VoteRequest::Stands(number))));
            self.asked = doubtful.into_iter().map(|process| (process, false)).collect();
        }
        self.asked.iter().all(|&(_, stands)| stands)
    }
}

/// The last reports of all processes.
///
/// A process that is told a verdict goes on, so its report counts no more; it reports anew with one more
/// verdict followed. Those of the others stand: whatever makes one of them go on is a chunk that its report
/// does not count.
// Reports stand until a verdict is told to their process, which costs no message to those whom it does not
// concern.
pub(crate) struct Arbiter {
    /// Last report of each process, and the number of verdicts sent to it.
    processes: Vec<(Option<Report>, u64)>,
    /// `true` if the process has not been started or has left, by process.
    away: Vec<bool>,
    /// `true` if all have forgotten what was safe after the last [`Verdict::Before`].
    forgotten: bool,
    fruitless: Fruitless,
    vote: Vote,
}

impl Arbiter {
    /// Creates the state for `processes` processes, of which the first `there` have started.
    pub(crate) fn new(processes: u32, there: u32) -> Arbiter {
        let nobody = || Report { ended: true, ..Report::default() };
        let away: Vec<bool> = (0..processes).map(|process| process >= there).collect();
        let processes = away.iter().map(|&away| (away.then(nobody), 0)).collect();
        Arbiter { processes, away, forgotten: true, fruitless: Fruitless::default(), vote: Vote::default() }
    }

    /// Admits a process that has been started.
    pub(crate) fn admit(&mut self, process: u32) {
        self.away[process as usize] = false;
        self.processes[process as usize] = (None, 0);
    }

    /// Records that a process has reported; what it wrote before it knew of the last verdict for it is out of
    /// date.
    pub(crate) fn note(&mut self, process: u32, report: Report) {
        let (last, told) = &mut self.processes[process as usize];
        if report.followed == *told {
            *last = Some(report);
            self.has_changed();
        }
    }

    /// Ends the vote and forgets what followed from the reports: one of them has changed.
    fn has_changed(&mut self) {
        self.vote.is_fruitless = false;
        self.vote.end(&[]);
    }

    /// Counts the vote of a process in the vote of this number.
    pub(crate) fn voted(&mut self, process: u32, number: u64) {
        if number == self.vote.number {
            self.vote
                .asked
                .iter_mut()
                .filter(|(asked, _)| *asked == process)
                .for_each(|asked| asked.1 = true);
        }
    }

    /// Returns `true` during a vote, while process 0 lets no thread in either.
    pub(crate) fn votes(&self) -> bool {
        !self.vote.asked.is_empty()
    }

    /// Takes the requests that are to be sent, by process.
    pub(crate) fn take_vote_requests(&mut self) -> Vec<(u32, VoteRequest)> {
        std::mem::take(&mut self.vote.requests)
    }

    /// Voids the last report of a process: a thread has come in since, and what it did may have changed what
    /// the process can do.
    pub(crate) fn void(&mut self, process: u32) {
        self.processes[process as usize].0 = None;
        self.has_changed();
    }

    /// Returns what is to be told to which process, once all have reported that they cannot go on and nothing
    /// is under way; until then nothing. `lookahead` is asked whether anybody waits for matches; process 0's
    /// shared network, if it has one, acts at `network`.
    ///
    /// O(processes^2).
    pub(crate) fn conclude(
        &mut self,
        network: Time,
        lookahead: impl FnOnce(bool) -> Span,
    ) -> Vec<(u32, Verdict)> {
        let reports: Option<Vec<&Report>> =
            self.processes.iter().map(|(report, _)| report.as_ref()).collect();
        let Some(reports) = reports.filter(|reports| all_taken(reports, &self.away)) else {
            return Vec::new();
        };
        let through: Vec<u32> = (0..)
            .zip(&reports)
            .filter(|(process, report)| report.through && !self.away[*process as usize])
            .map(|(process, _)| process)
            .collect();
        if !through.is_empty() {
            through.iter().for_each(|&process| self.away[process as usize] = true);
            return through.into_iter().map(|process| (process, Verdict::Leave)).collect();
        }
        let doubtful = (1..)
            .zip(&reports[1..])
            .filter(|(process, report)| report.outside && !self.away[*process as usize])
            .map(|(process, _)| process)
            .collect();
        if self.vote.is_fruitless || !self.vote.is_sure(doubtful) {
            return Vec::new();
        }
        let lookahead = lookahead(reports.iter().any(|report| report.handshakes));
        let told = decide(&reports, network, lookahead).unwrap_or_else(|| {
            match release(&reports, &mut self.forgotten, &mut self.fruitless) {
                // A thread that computes, or does nothing, is not known to MPI: while one may call, nobody
                // waits for ever.
                Verdict::Deadlock if reports.iter().any(|report| report.outside) => Vec::new(),
                hope => to_all(&reports, |_| hope),
            }
        });
        self.vote.is_fruitless = told.is_empty();
        self.vote.end(&told);
        for (process, verdict) in &told {
            if self.away[*process as usize] {
                continue;
            }
            let (report, count) = &mut self.processes[*process as usize];
            *report = None;
            *count += 1;
            self.forgotten &= !matches!(verdict, Verdict::Before(_));
        }
        told.into_iter().filter(|(process, _)| !self.away[*process as usize]).collect()
    }
}

// Both counts are of chunks, each by its own process: no clock and no marker is needed.
fn all_taken(reports: &[&Report], away: &[bool]) -> bool {
    let there = || (0..reports.len()).filter(|&process| !away[process]);
    there().all(|from| there().all(|to| reports[from].sent[to] == reports[to].taken[from]))
}

fn to_all(reports: &[&Report], verdict: impl Fn(usize) -> Verdict) -> Vec<(u32, Verdict)> {
    (0..reports.len()).map(|process| (process as u32, verdict(process))).collect()
}

/// Returns what one process would do if it had all decisions: see
/// [`World::decide`](crate::world::World::decide).
// The order of these questions is that of one process's loop (`World::next`): the end, held collectives, open
// decisions before anything of a shared network, that; then an abort.
fn decide(reports: &[&Report], network: Time, lookahead: Span) -> Option<Vec<(u32, Verdict)>> {
    if reports.iter().all(|report| report.ended) {
        return Some(to_all(reports, |_| Verdict::Done));
    }
    if reports.iter().any(|report| report.held) {
        return Some(to_all(reports, |_| Verdict::Held));
    }
    let of_others = |me: usize| {
        reports.iter().enumerate().filter(move |(process, _)| *process != me).map(|(_, report)| report)
    };
    let least = reports
        .iter()
        .enumerate()
        .filter_map(|(process, report)| report.least.map(|key| (key, process)))
        .min();
    let effect = reports.iter().filter_map(|report| report.effect).min();
    if let (Some((least, owner)), Some(effect)) = (least, effect)
        && (least.time < network || network == Time::MAX)
    {
        if least.time < effect.min(network).saturating_add(lookahead) {
            // Each process is told of the others only: what it does itself it sees by itself.
            let others_act = |me| of_others(me).filter_map(|report| report.effect).min().unwrap_or(Time::MAX);
            return Some(to_all(reports, |process| Verdict::Before(others_act(process).min(network))));
        }
        let until = of_others(owner).filter_map(|report| report.least).min().unwrap_or(Key::LAST);
        return Some(vec![(
            owner as u32,
            Verdict::First(if network == Time::MAX { until } else { until.min(Key::at(network)) }),
        )]);
    }
    if network != Time::MAX {
        return Some(vec![(0, Verdict::Network(least.map_or(Time::MAX, |(least, _)| least.time)))]);
    }
    reports.iter().any(|report| report.aborting).then(|| to_all(reports, |_| Verdict::Done))
}

/// Nothing can be decided: a polling rank goes on, or all wait for ever.
// In two steps, because others may have decided on what was safe: all forget it before the one rank goes on.
fn release(reports: &[&Report], forgotten: &mut bool, fruitless: &mut Fruitless) -> Verdict {
    let Some(Poller { rank, polls, .. }) = reports.iter().filter_map(|report| report.poller).min() else {
        return Verdict::Deadlock;
    };
    if !*forgotten {
        // Such a rank may act before the time that was safe: all must have forgotten it first.
        *forgotten = true;
        return Verdict::Forget;
    }
    let messages = reports.iter().map(|report| report.messages).sum();
    // What a thread polls for may be what another one computes.
    let hope = fruitless.has_hope(messages, polls) || reports.iter().any(|report| report.outside);
    if hope { Verdict::Release(rank) } else { Verdict::Deadlock }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(sent: &[u64], taken: &[u64]) -> Report {
        Report { sent: sent.to_vec(), taken: taken.to_vec(), ..Report::default() }
    }
    /// Returns the report of one of `processes`. Its first decision, of `rank`, is at `time`, and takes
    /// effect at the later of `time` and `clock`.
    fn of(processes: usize, (time, rank): (u64, u32), clock: u64) -> Report {
        let (time, effect) = (Time::from_ps(time), Time::from_ps(time.max(clock)));
        let none = vec![0; processes];
        Report {
            least: Some(Key { time, rest: true, rank, source: 0 }),
            effect: Some(effect),
            ..idle(&none, &none)
        }
    }
    /// Returns what is told once these have come from all.
    fn told(reports: &[Report], lookahead: u64) -> Vec<(u32, Verdict)> {
        let mut arbiter = Arbiter::new(reports.len() as u32, reports.len() as u32);
        for (process, report) in reports.iter().enumerate() {
            arbiter.note(process as u32, report.clone());
        }
        arbiter.conclude(Time::MAX, |_| Span::from_ps(lookahead))
    }
    fn before(times: &[u64]) -> Vec<(u32, Verdict)> {
        times
            .iter()
            .enumerate()
            .map(|(process, &time)| (process as u32, Verdict::Before(Time::from_ps(time))))
            .collect()
    }

    #[test]
    fn nothing_is_concluded_while_a_chunk_is_under_way() {
        let mut arbiter = Arbiter::new(2, 2);
        arbiter.note(0, idle(&[0, 1], &[0, 0]));
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), []);
        // Process 1 reported before it took the chunk, or took one that process 0's report does not count.
        for taken in [0, 2] {
            arbiter.note(1, idle(&[0, 0], &[taken, 0]));
            assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), []);
        }
        arbiter.note(1, idle(&[0, 0], &[1, 0]));
        assert_eq!(
            arbiter.conclude(Time::MAX, |_| Span::ZERO),
            [(0, Verdict::Deadlock), (1, Verdict::Deadlock)]
        );
    }

    #[test]
    fn processes_come_and_leave() {
        let mut arbiter = Arbiter::new(3, 1);
        arbiter.note(0, idle(&[0; 3], &[0; 3]));
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), [(0, Verdict::Deadlock)]);
        // Once it is there, nothing is concluded without it.
        arbiter.admit(1);
        arbiter.note(0, Report { followed: 1, ..idle(&[0, 1, 0], &[0, 0, 0]) });
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), []);
        arbiter.note(1, Report { ended: true, through: true, ..idle(&[0; 3], &[1, 0, 0]) });
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), [(1, Verdict::Leave)]);
        // What is sent to it now is nobody's, and the others are told what follows.
        arbiter.note(0, Report { followed: 1, ended: true, ..idle(&[0, 2, 0], &[0, 0, 0]) });
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), [(0, Verdict::Done)]);
    }

    #[test]
    fn a_report_from_before_the_last_decision_for_its_process_counts_no_more() {
        let mut arbiter = Arbiter::new(1, 1);
        arbiter.note(0, of(1, (5, 0), 5));
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), [(0, Verdict::First(Key::LAST))]);
        arbiter.note(0, Report { ended: true, ..idle(&[0], &[0]) });
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), []);
        arbiter.note(0, Report { followed: 1, ended: true, ..idle(&[0], &[0]) });
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), [(0, Verdict::Done)]);
    }

    #[test]
    fn who_may_let_threads_in_is_asked_before_anything_is_concluded() {
        let outside = |report: Report| Report { outside: true, ..report };
        let mut arbiter = Arbiter::new(3, 3);
        arbiter.note(0, of(3, (5, 0), 5));
        arbiter.note(1, outside(of(3, (7, 1), 7)));
        arbiter.note(2, of(3, (9, 2), 9));
        let conclude = |arbiter: &mut Arbiter| {
            let told = arbiter.conclude(Time::MAX, |_| Span::ZERO);
            (told, arbiter.take_vote_requests())
        };
        assert_eq!(conclude(&mut arbiter), (vec![], vec![(1, VoteRequest::Stands(1))]));
        assert_eq!(conclude(&mut arbiter), (vec![], vec![]));
        // A thread came in there first, and brought an earlier decision.
        arbiter.note(1, outside(of(3, (4, 1), 4)));
        assert!(!arbiter.votes());
        arbiter.voted(1, 1);
        let again = vec![(1, VoteRequest::Release), (1, VoteRequest::Stands(2))];
        assert_eq!(conclude(&mut arbiter), (vec![], again));
        arbiter.voted(1, 2);
        let until = Key { time: Time::from_ps(5), rest: true, rank: 0, source: 0 };
        assert_eq!(conclude(&mut arbiter), (vec![(1, Verdict::First(until))], vec![]));
        assert!(!arbiter.votes());
    }

    #[test]
    fn who_was_asked_and_is_told_nothing_may_let_threads_in_again() {
        let mut arbiter = Arbiter::new(2, 2);
        arbiter.note(0, of(2, (5, 0), 5));
        arbiter.note(1, Report { outside: true, ..of(2, (7, 1), 7) });
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), []);
        arbiter.voted(1, 1);
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO).len(), 1);
        let requests = vec![(1, VoteRequest::Stands(1)), (1, VoteRequest::Release)];
        assert_eq!(arbiter.take_vote_requests(), requests);
        // Nothing follows while threads may call: nobody is asked twice.
        let mut arbiter = Arbiter::new(2, 2);
        arbiter.note(0, idle(&[0; 2], &[0; 2]));
        arbiter.note(1, Report { outside: true, ..idle(&[0; 2], &[0; 2]) });
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), []);
        arbiter.voted(1, 1);
        for _ in 0..2 {
            assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), []);
        }
        assert_eq!(arbiter.take_vote_requests(), requests);
    }

    #[test]
    fn items_before_the_least_effect_and_the_lookahead_are_decided() {
        assert_eq!(told(&[of(2, (5, 0), 20), of(2, (7, 1), 7)], 10), before(&[7, 20]));
        assert_eq!(told(&[of(2, (5, 3), 20), of(2, (7, 1), 7)], 0), before(&[7, 20]));
    }

    #[test]
    fn each_process_is_told_when_the_others_act() {
        assert_eq!(told(&[of(3, (5, 0), 20), of(3, (7, 1), 7), of(3, (9, 2), 9)], 10), before(&[7, 9, 7]));
        assert_eq!(told(&[of(1, (5, 0), 5)], 1), [(0, Verdict::Before(Time::MAX))]);
    }

    #[test]
    fn without_lookahead_only_the_process_of_the_first_item_goes_on() {
        // One rank may reach another at once: the least alone, ties by rank.
        let reports = [of(3, (7, 1), 7), of(3, (7, 0), 7), of(3, (9, 2), 9)];
        let until = Key { time: Time::from_ps(7), rest: true, rank: 1, source: 0 };
        let mut arbiter = Arbiter::new(3, 3);
        for (process, report) in reports.iter().enumerate() {
            arbiter.note(process as u32, report.clone());
        }
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), [(1, Verdict::First(until))]);
        // The others' reports stand, until a chunk reaches them.
        arbiter.note(1, Report { followed: 1, sent: vec![1, 0, 0], ..idle(&[0; 3], &[0; 3]) });
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), []);
        arbiter.note(0, Report { taken: vec![0, 1, 0], ..of(3, (8, 1), 8) });
        let until = Key { time: Time::from_ps(9), rest: true, rank: 2, source: 0 };
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), [(0, Verdict::First(until))]);
    }

    #[test]
    fn a_shared_network_goes_on_between_the_decisions_before_and_behind_its_next_event() {
        let mut arbiter = Arbiter::new(2, 2);
        let mut asked = |followed: [u64; 2], network: u64| {
            arbiter.note(0, Report { followed: followed[0], ..of(2, (7, 0), 7) });
            arbiter.note(1, Report { followed: followed[1], ..of(2, (5, 1), 5) });
            arbiter.conclude(Time::from_ps(network), |_| Span::ZERO)
        };
        // At one time the network comes first; only its own process is told, and not beyond the first
        // decision.
        assert_eq!(asked([0, 0], 5), [(0, Verdict::Network(Time::from_ps(5)))]);
        // A decision before it is made alone, and what follows on that process before the others and the
        // network.
        assert_eq!(asked([1, 0], 6), [(1, Verdict::First(Key::at(Time::from_ps(6))))]);
        let until = Key { time: Time::from_ps(7), rest: true, rank: 0, source: 0 };
        assert_eq!(asked([1, 1], 9), [(1, Verdict::First(until))]);
    }

    #[test]
    fn a_shared_network_goes_on_while_nothing_is_open() {
        let mut arbiter = Arbiter::new(1, 1);
        arbiter.note(0, idle(&[0], &[0]));
        assert_eq!(arbiter.conclude(Time::from_ps(3), |_| Span::ZERO), [(0, Verdict::Network(Time::MAX))]);
        arbiter.note(0, Report { followed: 1, ..idle(&[0], &[0]) });
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), [(0, Verdict::Deadlock)]);
    }

    #[test]
    fn a_polling_rank_goes_on_only_after_all_have_forgotten_what_was_safe() {
        let mut arbiter = Arbiter::new(1, 1);
        let poller = |followed| {
            let poller = Poller { clock: Time::from_ps(3), rank: 9, polls: 4_000_000 };
            Report { followed, poller: Some(poller), ..idle(&[0], &[0]) }
        };
        arbiter.note(0, of(1, (0, 1), 0));
        assert_eq!(arbiter.conclude(Time::MAX, |_| Span::from_ps(1)), [(0, Verdict::Before(Time::MAX))]);
        let expected = [Verdict::Forget, Verdict::Release(9), Verdict::Release(9), Verdict::Deadlock];
        for (followed, verdict) in expected.into_iter().enumerate() {
            arbiter.note(0, poller(followed as u64 + 1));
            assert_eq!(arbiter.conclude(Time::MAX, |_| Span::ZERO), [(0, verdict)]);
        }
    }
}
