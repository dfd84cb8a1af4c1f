//! Ranks and what passes between them: the state that sends, receives and waits work on.

use crate::batch::Batch;
use crate::completing::Completing;
use crate::departures::Departures;
use crate::fabric::Fabric;
use crate::faults::Faults;
use crate::faults::failures::FailureNotices;
use crate::moving::Payloads;
use crate::peers::Peers;
use crate::ranks::{Processor, Ranks};
use crate::ready::Ready;
use crate::remote::Remote;
use crate::request::Requests;
use crate::subscriptions::Watching;
use crate::watch::Watch;
use crate::wire::Wire;
use engine::Time;
use matcher::{Matcher, Pending};

/// Costs of communication and computation on the simulated machine.
pub struct Costs {
    /// The network.
    pub wire: Wire,
    /// The cost model of computation.
    pub processor: Processor,
}

/// Ranks, their queues and requests, messages under way.
pub struct Messages {
    /// This process's ranks: their clocks and what they spend.
    pub(crate) ranks: Ranks,
    /// Messages and receives until they meet (MPI 5.0 section 3.5).
    pub(crate) matcher: Matcher,
    /// Bytes that have left their sender and not reached their receiver.
    pub(crate) payloads: Payloads,
    /// Requests (MPI 5.0 section 3.7) and attached buffers.
    pub(crate) requests: Requests,
    /// The simulated network and what it carries.
    pub(crate) fabric: Fabric,
    /// The other native processes.
    pub(crate) peers: Peers,
    /// Subscriptions of recorders.
    pub(crate) watch: Watch,
    /// The sends and receives that the mounted rank started in a row and that are not done.
    pub(crate) batch: Batch,
    /// The ranks that can run.
    pub(crate) ready: Ready,
    /// Failed ranks and revoked communicators; `None` if the run can have neither.
    pub(crate) faults: Option<Box<Faults>>,
}

impl Messages {
    /// Returns the state of those of `size` ranks that this process has. The first `initial` of all can run.
    /// `names` are those of the MPI functions.
    pub fn new(
        costs: Costs,
        (size, initial): (u32, u32),
        remote: Option<Remote>,
        (names, check): (&'static [&'static str], bool),
    ) -> Messages {
        let Costs { wire, processor } = costs;
        let (first, local) = remote.as_ref().map_or((0, size), Remote::own);
        let unseen = !wire.has_overheads;
        let ranks = Ranks::new((size, initial), first..first + local, processor, names);
        let ready = Ready::all(first, initial.saturating_sub(first).min(local));
        Messages {
            ready: if ranks.exceed_cache() { ready.looking_ahead() } else { ready },
            ranks,
            matcher: Matcher::new(!wire.is_shared()),
            payloads: Payloads::default(),
            requests: Requests::new(unseen),
            fabric: Fabric::new(wire),
            peers: Peers::new(remote),
            watch: Watch::new(check),
            batch: Batch::default(),
            faults: None,
        }
    }

    /// Returns the ranks of this process.
    #[inline(always)]
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }
    /// Returns the ranks of this process, to change.
    #[inline(always)]
    pub fn ranks_mut(&mut self) -> &mut Ranks {
        &mut self.ranks
    }
    /// Returns the messages and receives that have not met.
    #[inline(always)]
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }
    /// Returns the messages and receives that have not met, to change.
    #[inline(always)]
    pub fn matcher_mut(&mut self) -> &mut Matcher {
        &mut self.matcher
    }
    /// Returns the matcher and the pending queues of a rank.
    #[inline(always)]
    pub fn matching(&mut self, rank: u32) -> (&mut Matcher, &mut Pending) {
        (&mut self.matcher, &mut self.ranks[rank].pending)
    }

    /// Returns the simulated network.
    #[inline(always)]
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }
    /// Returns the simulated network, to change.
    #[inline(always)]
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        &mut self.fabric
    }
    /// Returns the other processes.
    #[inline(always)]
    pub fn peers(&self) -> &Peers {
        &self.peers
    }
    /// Returns the other processes, to change.
    #[inline(always)]
    pub fn peers_mut(&mut self) -> &mut Peers {
        &mut self.peers
    }
    /// Returns what recorders subscribed to.
    #[inline(always)]
    pub fn watch(&self) -> &Watch {
        &self.watch
    }
    /// Returns what recorders subscribed to, to change.
    #[inline(always)]
    pub fn watch_mut(&mut self) -> &mut Watch {
        &mut self.watch
    }

    /// Returns the requests.
    #[inline(always)]
    pub fn requests(&self) -> &Requests {
        &self.requests
    }
    /// Returns the requests, to change.
    #[inline(always)]
    pub fn requests_mut(&mut self) -> &mut Requests {
        &mut self.requests
    }
    /// Returns the bytes under way.
    #[inline(always)]
    pub fn payloads(&self) -> &Payloads {
        &self.payloads
    }
    /// Returns the bytes under way, to change.
    #[inline(always)]
    pub fn payloads_mut(&mut self) -> &mut Payloads {
        &mut self.payloads
    }
    /// Returns the ranks that can run.
    #[inline(always)]
    pub fn ready(&self) -> &Ready {
        &self.ready
    }
    /// Returns the ranks that can run, to change.
    #[inline(always)]
    pub fn ready_mut(&mut self) -> &mut Ready {
        &mut self.ready
    }
    /// Returns what has failed and is revoked; none while nothing can be.
    #[inline(always)]
    pub fn faults(&self) -> Option<&Faults> {
        self.faults.as_deref()
    }
    /// Returns what has failed and is revoked, to change.
    #[inline(always)]
    pub fn faults_mut(&mut self) -> Option<&mut Faults> {
        self.faults.as_deref_mut()
    }
    /// Returns what a message needs to leave its rank.
    #[inline(always)]
    pub fn departures(&mut self) -> Departures<'_> {
        Departures { ranks: &mut self.ranks, fabric: &mut self.fabric, peers: &mut self.peers }
    }
    /// Returns what a request needs to complete.
    #[inline(always)]
    pub fn completing(&mut self) -> Completing<'_> {
        Completing {
            ranks: &mut self.ranks,
            ready: &mut self.ready,
            matcher: &mut self.matcher,
            requests: &mut self.requests,
            fabric: &self.fabric,
            watch: &mut self.watch,
        }
    }
    /// Returns what has failed and is revoked, with the ranks that get to know of it.
    pub fn failures(&mut self) -> FailureNotices<'_> {
        FailureNotices {
            faults: self.faults.as_deref_mut(),
            ranks: &mut self.ranks,
            matcher: &mut self.matcher,
        }
    }
    /// Returns what recorders subscribed to, with what it reports on.
    pub fn watching(&mut self) -> Watching<'_> {
        Watching {
            ranks: &self.ranks,
            ready: &mut self.ready,
            requests: &mut self.requests,
            fabric: &mut self.fabric,
            peers: &mut self.peers,
            watch: &mut self.watch,
        }
    }

    /// Returns `true` if the mounted rank has finished what it started.
    #[inline(always)]
    pub fn has_no_batch(&self) -> bool {
        self.batch.is_empty()
    }

    /// Returns the mounted rank (world number).
    #[inline(always)]
    pub fn me(&self) -> u32 {
        self.ranks.me()
    }
    /// Returns a rank's clock.
    #[inline]
    pub fn clock(&self, rank: u32) -> Time {
        self.ranks.clock(rank)
    }
    /// Reckons with failures and revocations from now on.
    // Sends leave the plain path at its first question, which so needs no question about failures.
    pub fn have_faults(&mut self) -> &mut Faults {
        if self.faults.is_none() {
            self.flush_batch();
            self.fabric.leave_plain_sends();
            self.requests.leave_plain_receives();
            self.requests.complete_in_sight();
            self.faults = Some(Box::new(Faults::new(self.fabric.detection())));
            let mut failures = FailureNotices {
                faults: self.faults.as_deref_mut(),
                ranks: &mut self.ranks,
                matcher: &mut self.matcher,
            };
            failures.list_all((&mut self.requests, &self.peers));
        }
        self.faults.get_or_insert_default()
    }
}
