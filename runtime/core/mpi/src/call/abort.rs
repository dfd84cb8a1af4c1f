//! The early end of a run: a rank aborts it or fails. Told to and by other processes.

use crate::call::failure::Stop;
use crate::remote::record::{Put, Take};
use crate::remote::stream::Kind;
use crate::world::{Abort, World};
use engine::{Span, Time};
use failure::Failure;
use std::time::{Duration, Instant};

impl World {
    /// Notifies the other processes that a rank of this one aborted the run.
    pub(crate) fn tell_abort(&mut self) {
        let (Some(abort), Some(remote)) = (&self.run.abort, self.messages.peers_mut().remote_mut()) else {
            return;
        };
        let mut body = Vec::new();
        body.u64(abort.at.as_ps());
        body.u32(abort.rank);
        body.i32(abort.status);
        body.u8(abort.failed.into());
        body.i32(abort.signal.unwrap_or(0));
        for process in remote.streams.others() {
            remote.streams.put(process, Kind::Abort, &body);
        }
    }

    // At a tie of times the least rank has aborted, on every process.
    pub(crate) fn abort_arrived(&mut self, mut record: Take) {
        let (at, rank, status, failed) =
            (Time::from_ps(record.u64()), record.u32(), record.i32(), record.u8() != 0);
        let abort =
            Abort { at, rank, status, failed, signal: Some(record.i32()).filter(|&signal| signal != 0) };
        if self.run.abort.as_ref().is_none_or(|known| (abort.at, abort.rank) < (known.at, known.rank)) {
            self.run.limit = self.run.limit.min(abort.at);
            self.follow_abort(abort);
        }
    }

    /// Ends the run because of this abort.
    fn follow_abort(&mut self, abort: Abort) {
        // A planned failure is an instant up to which ranks go on; an abort is the end.
        if !abort.failed {
            rank::stop::after_abort(abort.status);
        }
        self.run.abort = Some(abort);
    }

    /// Ends all other processes, while this one waits for them, if one computes on 2 s after an abort.
    #[cold]
    pub(crate) fn end_late_processes(&mut self) {
        let Some(abort) = self.run.abort.as_ref().filter(|abort| !abort.failed) else { return };
        let status = abort.status;
        // Taken here, where no rank runs: within one the clock would be virtual.
        if self.run.waits_to_abort.get_or_insert_with(Instant::now).elapsed() < GRACE {
            return;
        }
        rank::output::flush();
        transport::watch::over();
        self.messages.peers_mut().others().streams.abort(status);
        std::process::exit(status)
    }
}

/// The time that other processes have to come to their end after an abort.
const GRACE: Duration = Duration::from_secs(2);

impl Abort {
    /// Returns what the user is told of a failure that has ended the run.
    pub(crate) fn sentence(&self) -> Option<String> {
        let (rank, at) = (self.rank, self.at);
        self.failed.then(|| {
            format!("rank {rank} failed at {at}: the run ends there, as a job does that loses a process")
        })
    }
}

impl World {
    /// Stops the run with an exit status: other ranks stop at their first call at or after the mounted rank's
    /// clock.
    pub fn set_abort(&mut self, status: i32) {
        let status = if status == 0 { 1 } else { status };
        self.abort(Abort {
            at: self.messages.clock(self.messages.me()),
            rank: self.messages.me(),
            status,
            failed: false,
            signal: None,
        });
    }

    /// Stops the run on all processes at a signal: ranks stop at their next call.
    #[cold]
    pub(crate) fn stop_by(&mut self, signal: i32) {
        if self.run.abort.as_ref().is_none_or(|abort| abort.signal.is_none()) {
            self.abort(Abort {
                at: Time::ZERO,
                rank: u32::MAX,
                status: 128 + signal,
                failed: false,
                signal: Some(signal),
            });
        }
    }

    /// Fails the mounted rank at its clock.
    pub fn fail_here(&mut self) {
        let (me, clock) = (self.messages.me(), self.messages.clock(self.messages.me()));
        if self.run.tolerant {
            self.run.limit = self.run.limit.min(clock);
            return self.messages.failures().doom(me, clock);
        }
        self.fail(Failure { at: clock, rank: me });
    }

    fn fail(&mut self, Failure { at, rank }: Failure) {
        self.abort(Abort { at, rank, status: failure::STATUS, failed: true, signal: None });
    }

    // By virtual time and not by who ran first: of several aborts the earliest counts, on any number of
    // processes.
    fn abort(&mut self, abort: Abort) {
        if self.run.abort.as_ref().is_none_or(|known| abort.at < known.at) {
            self.run.limit = self.run.limit.min(abort.at);
            self.follow_abort(abort);
            self.tell_abort();
        }
    }

    /// Returns how the mounted rank, which enters a call, must stop because of a failure or an abort at or
    /// before its clock. `None` if it goes on.
    ///
    /// A planned failure ends the run when the first rank gets there.
    // Every process knows the plan, so that nobody does anything beyond the first failure, whoever hears of
    // it.
    pub fn must_stop(&mut self) -> Option<Stop> {
        let (me, clock) = (self.messages.me(), self.messages.clock(self.messages.me()));
        if clock < self.run.limit {
            return None;
        }
        if self.run.tolerant {
            return self.must_stop_alone(me, clock);
        }
        if let Some(first) = self.run.plan.first().filter(|first| first.at <= clock) {
            self.fail(first);
        }
        self.aborted_by(clock)
    }

    fn aborted_by(&self, clock: Time) -> Option<Stop> {
        self.run.abort.as_ref().filter(|abort| abort.at <= clock).map(|abort| Stop::Ends(abort.status))
    }

    /// [`World::must_stop`] where the others go on: its own failure stops a rank.
    // Asked at every call from the first failure of all on.
    #[inline(never)]
    fn must_stop_alone(&self, me: u32, clock: Time) -> Option<Stop> {
        let faults = self.messages.faults()?;
        if faults.has_failed(me) || faults.doom_of(me).is_some_and(|doom| doom <= clock) {
            return Some(Stop::Rests);
        }
        self.aborted_by(clock)
    }

    /// Lets the others go on from now on when a rank fails; they get to know `delay` later.
    pub(crate) fn tolerate(&mut self, delay: Span) {
        self.messages.fabric_mut().set_detection(delay);
        self.messages.have_faults();
        let messages = &mut self.messages;
        let started = messages.ranks().own_started();
        let own = messages.ranks().own();
        for rank in self.run.plan.ranks().into_iter().filter(|rank| own.contains(rank)) {
            match self.run.plan.of(rank) {
                Some(at) if started.contains(&rank) => messages.failures().doom(rank, at),
                Some(at) => messages.faults_mut().into_iter().for_each(|faults| faults.doom_later(rank, at)),
                None => {}
            }
        }
    }

    /// Returns how the mounted rank, which leaves a call, must stop because of a failure at or before its
    /// clock. `None` if it goes on.
    // An abort is found at the next call, as ever: what a rank prints behind the call that another's abort
    // ended is no mistake of either. A failure is an instant, and the rank is within the call then.
    #[cold]
    pub fn must_stop_after(&mut self) -> Option<Stop> {
        let stop = self.must_stop();
        stop.filter(|stop| *stop == Stop::Rests || self.run.abort.as_ref().is_some_and(|abort| abort.failed))
    }

    /// Returns `true` if the others go on when a rank fails.
    pub fn is_tolerant(&self) -> bool {
        self.run.tolerant
    }

    /// Returns `true` if the mounted rank's clock has got to where somebody has failed or aborted.
    #[inline(always)]
    pub fn is_at_limit(&self) -> bool {
        self.messages.clock(self.messages.me()) >= self.run.limit
    }

    /// The greatest clock of all ranks of this process, or when a failure has ended the run.
    // What a rank would have computed beyond that has not happened.
    pub fn latest(&self) -> Time {
        let latest = self.messages.ranks().latest();
        self.run.abort.as_ref().filter(|abort| abort.failed).map_or(latest, |abort| abort.at.min(latest))
    }
}
