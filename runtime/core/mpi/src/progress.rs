//! The main loop: who runs next, what is decided, how a run ends.

use crate::order::question::Question;
pub use crate::run::{Cause, Ending};
use crate::runner::{Outcome, Runner};
use crate::world::{Mpi, Phase, World};
use engine::Time;
use p2p::chapter::Errand;
use p2p::chapter::id::ChapterId;
use p2p::ranks::strand::StrandId;
use std::time::Duration;

// What the loop does without the world: everything that runs the program's code, which may borrow it.
pub(crate) enum Next {
    Run(u32),
    Errand(ChapterId, Box<dyn Errand>),
    Unload(u32, u32),
    Done,
    Deadlock,
    /// Threads of the process may come in for so long.
    Aside(Duration),
}

/// Ticks of the processor, some tenths of a millisecond, after which other processes get what is there for
/// them.
// Looking costs microseconds: at each switch it would be most of the work.
const PATIENCE: u64 = 500_000;

/// Runs all ranks to their end. `tick` is called now and then with the world, for a progress display.
pub fn run<R: Runner>(mpi: &Mpi, ranks: &mut R, tick: &mut dyn FnMut(&World)) -> Ending {
    let mut ending = Ending::default();
    rank::stop::begin(!mpi.world().messages.peers().exist(), transport::watch::ENDS_WITH);
    drive(mpi, ranks, &mut ending, tick);
    mpi.world().end(ending)
}

/// The reason why the main loop returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// All ranks have ended, or nothing can go on.
    Over,
    /// A rank goes on where the loop was called ([`Outcome::GoesOnOutside`]).
    Outside,
    /// Nothing can go on now: threads of a process that is one rank may come in for so long.
    Aside(Duration),
}

/// Does what there is to do until the run is over or a rank goes on outside the loop.
// The world is borrowed for one question at a time, since each answer lets code run that borrows it.
pub(crate) fn drive<R: Runner>(
    mpi: &Mpi,
    ranks: &mut R,
    ending: &mut Ending,
    tick: &mut dyn FnMut(&World),
) -> Left {
    let mut switches = 0u32;
    let world = mpi.world();
    let (first, sweeps) = (world.messages.ranks().first(), world.messages.ranks().exceed_cache());
    drop(world);
    let several = mpi.world().messages.peers().exist();
    let mut looked = rank::host::ticks();
    loop {
        let next = mpi.world().next();
        match next {
            Next::Run(rank) => {
                if sweeps {
                    approach(&mpi.world(), ranks);
                }
                if let Some(signal) = rank::stop::requested() {
                    if !several {
                        ending.stopped = Some(signal);
                        return Left::Over;
                    }
                    mpi.world().stop_by(signal);
                }
                let outcome = ranks.resume(rank - first);
                // What a rank that was stopped leaves with is no status of its own.
                if several && let Some(signal) = rank::stop::requested() {
                    mpi.world().stop_by(signal);
                }
                match outcome {
                    Outcome::Blocked => {}
                    Outcome::Finished { status } => {
                        // Its memory is still there: nobody was mounted since.
                        mpi.world().rank_ended(rank, status, ending);
                    }
                    Outcome::GoesOnOutside => return Left::Outside,
                }
                switches = switches.wrapping_add(1);
                if several {
                    let now = rank::host::ticks();
                    let waited = now.wrapping_sub(looked) > PATIENCE;
                    if waited {
                        looked = now;
                    }
                    if waited || switches & 0x1ff == 0 {
                        mpi.world().look_after_streams(waited);
                    }
                }
                if switches & 0xff == 0 {
                    tick(&mpi.world());
                }
            }
            Next::Errand(chapter, mut errand) => {
                errand.run(&mut |rank, call| {
                    mpi.world().mount(rank);
                    ranks.mounted(rank - first, call);
                });
                let World { objects, messages, chapters, .. } = &mut *mpi.world();
                chapters.of(chapter).done(messages, objects, errand);
            }
            Next::Unload(rank, index) => {
                mpi.world().mount(rank);
                ranks.mounted(rank - first, || {
                    let _ = mpi.world().reap(|world| world.messages.finish_receive(index));
                });
            }
            Next::Done => {
                ending.stopped = if several {
                    mpi.world().run.abort.as_ref().and_then(|abort| abort.signal)
                } else {
                    rank::stop::requested()
                };
                return Left::Over;
            }
            Next::Aside(at_most) => return Left::Aside(at_most),
            // A rank that a signal has stopped never goes on.
            Next::Deadlock if rank::stop::requested().is_some() => {
                ending.stopped = rank::stop::requested();
                return Left::Over;
            }
            Next::Deadlock => {
                ending.deadlocked(&mut mpi.world(), &mut |rank| ranks.call_site(rank - first));
                return Left::Over;
            }
        }
    }
}

/// Fetches what the ranks that are next to run will touch.
// The rank two switches ahead has its line fetched, the one before it what that line led to: each fetch needs
// the result of the one before.
#[inline(always)]
fn approach<R: Runner>(world: &World, ranks: &mut R) {
    let messages = &world.messages;
    let upcoming = messages.ready().upcoming();
    if let (Some(&last), Some(&before)) = (upcoming.last(), upcoming.get(upcoming.len().saturating_sub(2))) {
        let (before, last) = (before.rank(), last.rank());
        rank::memory::prefetch(&messages.ranks()[last]);
        ranks.prefetch(before - messages.ranks().first(), last - messages.ranks().first());
    }
}

impl Ending {
    /// Reports that nothing can go on. `site` returns where the program makes the call that a rank is in.
    pub(crate) fn deadlocked(&mut self, world: &mut World, site: &mut dyn FnMut(u32) -> Option<String>) {
        // Of several processes all tell what they know, whatever the one with the network says of that.
        let report = crate::deadlock::report(world, site);
        self.cause.get_or_insert(Cause::Deadlock);
        match world.messages.fabric().wire().stuck() {
            // The program is not to blame: who waits for whom would not help.
            Some(why) => self.messages.push(why),
            None => self.messages.extend(report),
        }
        self.status = if self.status == 0 { 1 } else { self.status };
    }
}

impl World {
    /// Returns what the user is told at the end; of several processes, process 0 tells it.
    pub(crate) fn end(&mut self, mut ending: Ending) -> Ending {
        ending.left = (self.run.left, self.run.left_first);
        ending.helped = self.run.helped.filter(|_| self.messages.peers().exist());
        if self.messages.peers().exist() {
            match self.gather_endings(ending) {
                Some(together) => ending = together,
                None => return Ending::default(),
            }
        }
        if let Some((rank, status)) = ending.failed {
            ending.status = status;
            ending.messages.insert(0, format!("rank {rank} ended with exit status {status}"));
        }
        if let Some(abort) = &self.run.abort {
            ending.status = abort.status;
            ending.messages.extend(abort.sentence());
        }
        ending.messages.extend(ending.helped.map(crate::run::uncharged));
        if let Some(signal) = ending.stopped {
            ending.status = 128 + signal;
            ending.cause = Some(Cause::Signal);
            let (name, at) = (rank::stop::name(signal), self.latest().max(self.run.end));
            ending.messages.push(format!(
                "{name} stopped the run at virtual time {at}: what is reported and recorded ends there"
            ));
        }
        ending.messages.extend(self.failed_ranks());
        let (left, first) = ending.left;
        if left > 0 && self.run.abort.is_none() && ending.stopped.is_none() {
            ending.messages.push(format!(
                "{left} rank{} ended without calling MPI_Finalize (the first is rank {first}); every rank \
                 that calls MPI_Init must call MPI_Finalize before it exits, and MPI_Session_finalize for \
                 each session",
                if left == 1 { "" } else { "s" }
            ));
            ending.status = if ending.status == 0 { 1 } else { ending.status };
        }
        if ending.strangers == self.messages.ranks().started() {
            ending.without_mpi = Some(ending.status);
            if ending.status == 0 {
                ending.messages.push(
                    "the program ended without calling MPI_Init on any rank, so nothing was simulated; is it \
                     an MPI program?".to_owned(),
                );
            }
        }
        ending
    }
}

impl World {
    /// Makes `rank` the one whose calls are served.
    #[inline]
    pub(crate) fn mount(&mut self, rank: u32) {
        self.messages.ranks_mut().mount(rank);
        self.objects.comms.mount(rank);
        self.messages.ranks_mut().mark_varying();
    }

    // The order of questions, from what costs nothing to what must be certain that nothing else can happen:
    //   1. errands and runnable ranks         nobody waits while somebody can run
    //   2. polls that can be answered now     (refresh)
    //   3. other processes                    they may have something for us; then they decide what follows
    //   4. collectives held for members       before anything is decided: they may send
    //   5. open decisions below everything else   (decide)
    //   6. lagging senders, messages that leave, the network's next event: the least time of these
    //   7. polling ranks without hope         (release_poller), else a deadlock
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Next {
        match self.at_hand() {
            Some(next) => next,
            None => self.find_next(),
        }
    }

    /// Returns what there is to do without anything being decided: the first of these questions.
    #[inline(always)]
    fn at_hand(&mut self) -> Option<Next> {
        if let Some(errand) = self.next_errand() {
            return Some(errand);
        }
        let rank = self.messages.ready_mut().next_strand()?.rank();
        self.mount(rank);
        Some(Next::Run(rank))
    }

    // Not inlined: most switches find a rank at hand, and all would save the registers of what follows.
    #[inline(never)]
    fn find_next(&mut self) -> Next {
        loop {
            if let Some(next) = self.at_hand() {
                return next;
            }
            self.refresh();
            if !self.messages.ready().is_empty() {
                continue;
            }
            if self.messages.peers().exist() {
                match self.wait_for_others() {
                    Some(next) => return next,
                    None => continue,
                }
            }
            if self.run.ended == self.messages.ranks().started() {
                return Next::Done;
            }
            if self.chapters.start_held(&mut self.messages, &self.objects, false) {
                continue;
            }
            let lagging = self
                .messages
                .ready_mut()
                .least_lagging()
                .into_iter()
                .chain(self.messages.watch().least_unmatched());
            let lagging = lagging.min().unwrap_or(Time::MAX);
            let times = self.messages.fabric_mut().next_times();
            let (leaving, event) = times;
            // Whatever is open before the least of these can be decided; at or after it, something may still
            // come between.
            let other = lagging.min(self.messages.fabric().reach(times));
            if self.decide(other) {
                continue;
            }
            if other == Time::MAX {
                if self.run.abort.is_some() {
                    return Next::Done;
                }
                if self.release_poller() {
                    continue;
                }
                if self.order.threads.outside() {
                    return Next::Aside(crate::order::threads::LOOK);
                }
                return Next::Deadlock;
            }
            // At a tie a rank goes before the network, and a message that leaves before one that arrives:
            // both can still add to that instant.
            if lagging <= leaving && lagging <= event {
                self.wake_lagging();
            } else {
                let decision = self.order.decisions.queue.first().map_or(Time::MAX, |first| first.time);
                self.network_goes_on(times, lagging, decision);
            }
        }
    }

    /// A lagging rank goes on, or a sender that waits for a receive (`-xsim-check`).
    // Whoever lags may still receive what others wait for.
    #[inline]
    fn wake_lagging(&mut self) {
        match self.messages.ready_mut().next_lagging() {
            Some(strand) => self.messages.ready_mut().wake(strand),
            None => self.release_senders(),
        }
    }

    /// Senders that wait for a receive go on: all with a finding if without buffers nothing could happen any
    /// more, else the first.
    // What is open may be decided otherwise by what the first of them does: it goes on as in a run without
    // findings.
    #[cold]
    fn release_senders(&mut self) {
        let is_certain = self.run.abort.is_none()
            && self.order.decisions.queue.first().is_none()
            && !self.order.threads.outside()
            && self.order.polls.values().all(|poll| poll.question().is_some_and(Question::waits_for_others));
        if is_certain {
            let waits = crate::deadlock::waits(self);
            self.messages.watching().report_senders(&waits);
        } else {
            let released = self.messages.watch_mut().release_sender();
            released.into_iter().for_each(|rank| self.messages.ready_mut().wake(StrandId::of(rank)));
        }
    }

    /// Returns what is to be done for ranks before any of them runs.
    #[inline(always)]
    fn next_errand(&mut self) -> Option<Next> {
        if self.chapters.has_work() || self.messages.requests().has_orphans() { self.errand() } else { None }
    }

    // Not inlined: few switches have one, and all would save its registers.
    #[inline(never)]
    fn errand(&mut self) -> Option<Next> {
        if let Some((chapter, errand)) = self.chapters.work(&mut self.messages, &self.objects) {
            return Some(Next::Errand(chapter, errand));
        }
        self.messages.requests_mut().next_orphan().map(|(rank, index)| Next::Unload(rank, index))
    }

    /// The mounted rank has left its `main`, or the process.
    // What it started last is done first: its messages leave as if it had gone on.
    pub(crate) fn rank_ended(&mut self, rank: u32, status: i32, ending: &mut Ending) {
        self.messages.flush_batch();
        let phase = self.messages.ranks()[rank].phase;
        self.run.ended += 1;
        self.messages.ranks_mut()[rank].phase = Phase::Ended;
        let left = phase == Phase::Active || self.objects.sessions.any(rank);
        if left && self.ends_as_failed(rank) {
            return;
        }
        if let Some(faults) = self.messages.faults_mut() {
            faults.forget(rank);
        }
        if left && self.run.abort.is_none() {
            if self.run.left == 0 {
                self.run.left_first = rank;
            }
            self.run.left += 1;
        }
        if phase == Phase::Before {
            ending.strangers += 1;
        }
        if status != 0 && ending.failed.is_none() && self.run.abort.is_none() {
            ending.failed = Some((rank, status));
        }
    }
}
