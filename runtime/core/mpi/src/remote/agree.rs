//! Agreement of processes when none of them can go on: on safe time, deadlock, the end.
//!
//! A process that has nothing to run reports to process 0: how many chunks it has sent to and taken from each
//! process, and the least decision that it could make. Nothing is under way and no rank runs when, by the
//! last reports of all processes, every chunk sent was taken. Had a process gone on after its report, it
//! would have been woken by a chunk that its report does not count.
//!
//! Process 0 then decides what one process would (`World::decide`), and tells those who go on (`arbiter.rs`).
//!
//! An agreement costs far more than a decision. So a process goes on deciding alone ([`Lease`]) as long as no
//! other can interfere: the others act only later, or because of what this one sends them.
//!
//! Let `e` be the least of the times at which a rank goes on once a decision is made, and `l` the lookahead.
//! No message earlier than `e + l` will come any more. Every process makes the decisions before that, now and
//! later, without asking again.
//!
//! If the least decision is not before it (`l` is zero), that decision alone is made. Its process is
//! notified, and goes on up to the first decision of the others, whose reports stand until a chunk reaches
//! them. Held collectives, parked ranks, deadlock and the end are found in the same manner.

use crate::order::agreeing::{Ballot, Lease};
use crate::order::key::Key;
use crate::progress::Next;
use crate::remote::arbiter::VoteRequest;
use crate::remote::control::{GONE, REPORT, Report, VERDICT, VOTE, VOTE_REQUEST, Verdict, WELCOME};
use crate::remote::pause::Waiting;
use crate::remote::record::{Put, Take};
use crate::world::World;
use engine::Time;
use std::time::Duration;

/// Failed looks at the streams before a process reports.
// Most waits end with what is on its way already; a report costs process 0 a message and everybody an
// agreement.
const PATIENCE: u32 = 2;

impl World {
    pub(crate) fn control_arrived(&mut self, from: u32, data: Vec<u8>) {
        let processes = self.messages.peers_mut().others().streams.processes();
        let agreeing = &mut self.order.agreeing;
        let mut record = Take(&data);
        match record.u8() {
            REPORT => agreeing.arbiter.note(from, Report::take(&mut record, processes)),
            GONE => self.messages.peers_mut().others().streams.has_gone(record.u32()),
            VERDICT => {
                agreeing.ballot = Ballot::None;
                agreeing.verdicts.push_back(Verdict::take(&mut record));
            }
            VOTE_REQUEST => {
                let number = record.u64();
                agreeing.ballot = if number == 0 { Ballot::None } else { Ballot::Requested(number) };
            }
            VOTE => agreeing.arbiter.voted(from, record.u64()),
            _ => self.run.gathered.push_back((from, data)),
        }
    }

    /// No rank of this process can run: waits until one can, or the run is over.
    // Each time round: what has come, what can be decided without the others, what they have decided; only
    // then a report. A report is true of the moment in which nothing more could be done, and every chunk that
    // comes after it makes it void.
    #[cold]
    pub(crate) fn wait_for_others(&mut self) -> Option<Next> {
        // A wait that was left to let threads in goes on: who comes in again and again must not keep the
        // process from reporting.
        let mut left = self.order.threads.waiting.take();
        if std::mem::take(&mut self.order.threads.changed)
            && let Some(waiting) = &mut left
        {
            waiting.look_again();
            self.void_report();
            if self.decide_safe() {
                return None;
            }
        }
        if left.is_none() {
            self.order.agreeing.reported = false;
            if self.decide_safe() {
                return None;
            }
            if self.is_flooded()
                && !self.messages.peers().are_crowded()
                && let Some(strand) = self.messages.ready_mut().next_lagging()
            {
                self.messages.ready_mut().wake(strand);
                return None;
            }
        }
        let mut waiting = left.unwrap_or_else(Waiting::new);
        loop {
            if let Some(signal) = rank::stop::requested() {
                self.stop_by(signal);
            }
            let (news, empty) = self.exchange(true);
            if news && self.order.agreeing.arbiter.votes() {
                // This process goes on, and others must not be shut for so long.
                self.void_report();
                self.send_vote_requests();
            }
            if self.has_work() {
                return None;
            }
            if !self.messages.peers().are_crowded()
                && let Some(strand) = self.messages.ready_mut().next_lagging()
            {
                self.messages.ready_mut().wake(strand);
                return None;
            }
            if news {
                self.order.agreeing.reported = false;
                self.order.agreeing.alone = false;
                waiting = Waiting::new();
                if self.decide_safe() {
                    return None;
                }
            }
            if self.go_on_alone() {
                return None;
            }
            if let Some(verdict) = self.order.agreeing.verdicts.pop_front() {
                waiting = Waiting::new();
                self.order.agreeing.followed += 1;
                self.order.agreeing.reported = false;
                match self.follow(verdict) {
                    Some(next) => return Some(next),
                    None if self.has_work() => return None,
                    // What it has written must leave before anything is reported.
                    None => continue,
                }
            }
            // Nothing will come unasked while the others wait for this process alone.
            let patience = if self.order.agreeing.alone { 0 } else { PATIENCE };
            if empty && waiting.looks >= patience && !self.order.agreeing.reported {
                self.report();
            }
            self.vote();
            self.conclude();
            if !self.order.agreeing.verdicts.is_empty() {
                continue;
            }
            if let Some(at_most) = self.lets_in(&mut waiting) {
                self.order.threads.waiting = Some(waiting);
                return Some(Next::Aside(at_most));
            }
            if self.run.abort.is_some() {
                self.end_late_processes();
            }
            waiting.pause(&mut self.messages.peers_mut().others().streams, self.order.agreeing.reported);
        }
    }

    /// Voids what this process has reported: one of its threads has come in since. Process 0 must not
    /// conclude from it; what others do with a thread's call changes their counts of chunks.
    fn void_report(&mut self) {
        let me = self.messages.peers_mut().others().me;
        let agreeing = &mut self.order.agreeing;
        agreeing.reported = false;
        if me == 0 {
            agreeing.last = None;
            agreeing.arbiter.void(me);
        }
    }

    /// Returns how long threads of this process may come in instead of its next pause: as long as that would
    /// be, where there are several.
    fn lets_in(&mut self, waiting: &mut Waiting) -> Option<Duration> {
        let (threads, agreeing) = (&self.order.threads, &self.order.agreeing);
        if agreeing.ballot == Ballot::Given || agreeing.arbiter.votes() {
            return None;
        }
        if threads.knocks() {
            return Some(Duration::ZERO);
        }
        // The last thread that might have called may be gone.
        if threads.reported_outside && !threads.outside() {
            self.order.agreeing.reported = false;
        }
        if threads.several() { waiting.yield_or_sleep() } else { None }
    }

    /// Decides what no other process can interfere with, once all have agreed and as long as nothing is sent
    /// to them; false if there is nothing.
    ///
    /// A message sent, however late it arrives, may be all that a poll of another process lacks. That rank
    /// goes on then, at the time of its poll and before what is open then is decided, as it does where one
    /// process has all ranks. So after something was sent only decisions before that time count, not those
    /// before it in order.
    // Nobody else can act before `soonest`, which each message sent to them moves back; held collectives may
    // send as soon as they start.
    fn go_on_alone(&mut self) -> bool {
        let Some(Lease { other, until }) = self.order.agreeing.lease else { return false };
        if !self.chapters.holds() {
            let soonest = self.soonest_elsewhere();
            let until = until
                .map(|until| if soonest == Time::MAX { until } else { Key::at(soonest.min(until.time)) });
            if self.decide_before_others(other.min(soonest))
                || until.is_some_and(|until| self.decide_first_before(until))
            {
                return true;
            }
        }
        self.order.agreeing.lease = None;
        false
    }

    /// Returns the least time at which a rank of another process acts because of what this one did since all
    /// knew of it, or the shared network does.
    fn soonest_elsewhere(&mut self) -> Time {
        let times = self.messages.fabric_mut().next_times();
        let network = self.messages.fabric().reach(times);
        self.messages.peers_mut().others().streams.soonest().min(network)
    }

    /// Returns `true` if a rank can go on.
    fn has_work(&mut self) -> bool {
        self.refresh();
        !self.messages.ready().is_empty()
            || self.chapters.has_work()
            || self.messages.requests().has_orphans()
    }

    // Counts of chunks instead of acknowledgements: sent and taken being equal everywhere means that nothing
    // is under way, as nobody who reported has gone on (cf. F. Mattern, Algorithms for distributed
    // termination detection, 1987).
    fn report(&mut self) {
        let (first, effect) = self.first_and_effect();
        let poller = self.least_poller();
        let (held, ended, aborting) = (
            self.chapters.holds(),
            self.run.ended == self.messages.ranks().local_started(),
            self.run.abort.is_some(),
        );
        let messages = self.messages.ranks().profile().messages();
        let (sent, taken) = self.messages.peers_mut().others().streams.counts();
        let me = self.messages.peers_mut().others().me;
        // Ports that it opened are served where it is.
        let through = ended
            && self.messages.peers_mut().others().streams.is_late()
            && !self.chapters.dynamic.has_ports();
        // The next verdict is of this report or of a later one: it counts what was sent before this one.
        if std::mem::take(&mut self.order.agreeing.effects_known) {
            self.messages.peers_mut().others().streams.forget_effects();
        }
        let outside = self.order.threads.outside();
        self.order.threads.reported_outside = outside;
        let agreeing = &mut self.order.agreeing;
        let report = Report {
            followed: agreeing.followed,
            sent,
            taken,
            least: first.map(|decision| decision.key()),
            effect,
            held,
            poller,
            messages,
            ended,
            aborting,
            handshakes: self.messages.fabric().has_handshakes(),
            outside,
            through,
        };
        agreeing.reported = true;
        // Threads come in all the time, and seldom does that change anything that others must know.
        if self.order.threads.door.is_some() {
            if agreeing.last.as_ref() == Some(&report) {
                return;
            }
            agreeing.last = Some(report.clone());
            // The vote was requested for the one before.
            if let Ballot::Requested(_) = agreeing.ballot {
                agreeing.ballot = Ballot::None;
            }
        }
        if me == 0 {
            agreeing.arbiter.note(0, report);
            return;
        }
        let mut data = vec![REPORT];
        report.put(&mut data);
        self.messages.peers_mut().send_control(0, data);
    }

    /// Votes that the last report stands, if process 0 has requested that and once it does. No thread is let
    /// in from then on until the release or a verdict.
    fn vote(&mut self) {
        let agreeing = &mut self.order.agreeing;
        let Ballot::Requested(number) = agreeing.ballot else { return };
        if !agreeing.reported {
            return;
        }
        agreeing.ballot = Ballot::Given;
        let mut data = vec![VOTE];
        data.u64(number);
        self.messages.peers_mut().send_control(0, data);
    }

    /// Sends, on process 0, requests to vote, and releases.
    fn send_vote_requests(&mut self) {
        for (process, request) in self.order.agreeing.arbiter.take_vote_requests() {
            let mut data = vec![VOTE_REQUEST];
            data.u64(if let VoteRequest::Stands(number) = request { number } else { 0 });
            self.messages.peers_mut().send_control(process, data);
        }
    }

    /// On process 0: decides, if all have reported that they cannot go on.
    // Process 0 works as any other besides, and tells itself by the same queue.
    fn conclude(&mut self) {
        let agreeing = &self.order.agreeing;
        // What a thread has changed here since the last report, no chunk tells.
        let is_in_doubt = self.order.threads.door.is_some() && !agreeing.reported;
        if self.messages.peers_mut().others().me != 0 || is_in_doubt {
            return;
        }
        self.welcome();
        let World { messages, order, .. } = self;
        let agreeing = &mut order.agreeing;
        let times = messages.fabric_mut().next_times();
        let network = messages.fabric().reach(times);
        let told = agreeing.arbiter.conclude(network, |handshakes| messages.fabric().lookahead(handshakes));
        for (process, verdict) in told {
            if process == 0 {
                agreeing.verdicts.push_back(verdict);
                continue;
            }
            let mut data = vec![VERDICT];
            verdict.put(&mut data);
            messages.peers_mut().send_control(process, data);
            if verdict == Verdict::Leave {
                messages.peers_mut().others().streams.has_gone(process);
                let mut data = vec![GONE];
                data.u32(process);
                messages
                    .peers_mut()
                    .others()
                    .streams
                    .others()
                    .into_iter()
                    .for_each(|other| messages.peers_mut().send_control(other, data.clone()));
            }
        }
        self.send_vote_requests();
    }

    /// Processes that were started are of those that agree from now on, and get to know how often all have
    /// started what they held.
    // Here, since process 0 has followed all that it has decided by now.
    fn welcome(&mut self) {
        for process in self.messages.peers_mut().others().streams.take_newcomers() {
            let agreeing = &mut self.order.agreeing;
            agreeing.arbiter.admit(process);
            let mut data = vec![WELCOME];
            data.u64(agreeing.held);
            self.messages.peers_mut().send_control(process, data);
        }
    }

    /// Waits until the others know of this process, and it of its rank: it was started while the run went on.
    pub(crate) fn join(&mut self) {
        let word = self.await_control(|from, kind| from == 0 && kind == WELCOME);
        self.order.agreeing.held = Take(&word).u64();
        self.start_held_up_to(self.order.agreeing.held);
        let mut waiting = Waiting::new();
        while self.messages.ranks().local_started() == 0 {
            if !self.exchange(true).0 {
                waiting.pause(&mut self.messages.peers_mut().others().streams, true);
            }
        }
    }

    /// Starts what is held back, unless all have done so together as often as this already.
    // Also before the verdict is here, when another process tells that it has followed it: what that did
    // since may let a rank go on here, and into a collective that others have started one by one by then.
    // This process has not gone on since it reported, and holds what it told.
    pub(crate) fn start_held_up_to(&mut self, times: u64) {
        while self.order.agreeing.started < times {
            self.order.agreeing.started += 1;
            self.order.agreeing.lease = None;
            self.messages.peers_mut().others().streams.started(self.order.agreeing.started);
            self.chapters.start_held(&mut self.messages, &self.objects, true);
        }
    }

    // What was sent before the first report since the verdict before this one is known to all. What was sent
    // since, because a message woke a rank before this verdict came, may not be: others may act because of
    // that.
    fn follow(&mut self, verdict: Verdict) -> Option<Next> {
        self.order.agreeing.effects_known = true;
        self.order.agreeing.alone = matches!(verdict, Verdict::First(_) | Verdict::Network(_));
        self.order.agreeing.lease = match verdict {
            Verdict::Before(other) => Some(Lease { other, until: None }),
            Verdict::First(until) => Some(Lease { other: Time::ZERO, until: Some(until) }),
            _ => None,
        };
        match verdict {
            Verdict::Before(other) => {
                let soonest = self.soonest_elsewhere();
                self.decide_before_others(other.min(soonest));
            }
            Verdict::First(_) => {
                self.decide_first_before(Key::LAST);
            }
            Verdict::Network(until) => self.network_goes_on_until(until),
            Verdict::Release(rank) if self.messages.ranks().is_local(rank) => self.send_poller_on(rank),
            Verdict::Release(_) | Verdict::Forget => self.forget_safe(),
            Verdict::Held => {
                self.order.agreeing.held += 1;
                self.start_held_up_to(self.order.agreeing.held);
            }
            Verdict::Done => return Some(Next::Done),
            Verdict::Leave => {
                self.order.agreeing.leaving = true;
                return Some(Next::Done);
            }
            Verdict::Deadlock => return Some(Next::Deadlock),
        }
        None
    }
}
