//! Ranks and what passes between them: the state that sends, receives and waits work on.

use crate::batch::Batch;
use crate::deferred::DeferredMatches;
use crate::envelope::Envelope;
use crate::fabric::Fabric;
use crate::faults::Faults;
use crate::moving::Payloads;
use crate::node::NIL;
use crate::peers::Peers;
use crate::ranks::{Processor, Ranks};
use crate::ready::Ready;
use crate::remote::Remote;
use crate::request::{Body, Requests};
use crate::watch::Watch;
use crate::wire::Wire;
use engine::{Span, Time};
use matcher::{Matcher, Pending};

/// Unread messages at a receiver up to which its senders need not step back.
const MAX_UNREAD: usize = 2048;

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
    /// Matches of which the senders are not notified.
    pub(crate) deferred: DeferredMatches,
    /// The sends and receives that the mounted rank started in a row and that are not done.
    pub(crate) batch: Batch,
    /// The ranks that can run.
    pub(crate) ready: Ready,
    /// `true` if receives may take the plain path: nobody wants to know their types, and no rank can fail.
    // One question for both, so that neither costs a plain receive anything.
    pub(crate) plain_receives: bool,
    /// `true` if receives that a rank is blocked for may be completed without it looking at them again
    /// ([`Messages::await_all`]).
    pub(crate) unseen: bool,
    /// Failed ranks and revoked communicators; `None` if the run can have neither.
    pub(crate) faults: Option<Box<Faults>>,
    /// From a failure until all know.
    pub(crate) detection: Span,
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
            requests: Requests::default(),
            fabric: Fabric::new(wire),
            peers: Peers::new(remote),
            watch: Watch::new(check),
            deferred: DeferredMatches::default(),
            batch: Batch::default(),
            plain_receives: true,
            unseen,
            faults: None,
            detection: Span::ZERO,
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
    /// Returns the matches of which the senders are not notified.
    #[inline(always)]
    pub fn deferred(&self) -> &DeferredMatches {
        &self.deferred
    }
    /// Returns the matches of which the senders are not notified, to change.
    #[inline(always)]
    pub fn deferred_mut(&mut self) -> &mut DeferredMatches {
        &mut self.deferred
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
    /// Returns `true` if ranks can fail or communicators be revoked.
    #[inline(always)]
    pub fn can_fail(&self) -> bool {
        self.faults.is_some()
    }
    /// Sets the time from a failure until all know.
    pub fn set_detection(&mut self, detection: Span) {
        self.detection = detection;
    }
    /// Completes no receive any more without its rank looking at it again.
    // A handle of what is gone could come to name what another thread receives.
    pub fn complete_in_sight(&mut self) {
        self.unseen = false;
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
    /// Moves a rank's clock to `time` if that is later; the difference counts as waiting.
    #[inline(always)]
    pub fn advance(&mut self, rank: u32, time: Time) {
        self.ranks.advance(rank, time);
    }
    /// Returns `true` if a world rank is one of this process's.
    #[inline]
    pub fn is_local(&self, rank: u32) -> bool {
        self.ranks.is_local(rank)
    }
    /// Notes that something happened to a rank with open decisions.
    #[inline]
    pub fn mark_dirty(&mut self, rank: u32) {
        self.matcher.mark_dirty(rank, &mut self.ranks[rank].pending);
    }
    /// Releases a blocked member of a collective at `clock`. Of that `waited` is waiting, all if not given;
    /// then its NIC is free at the second time.
    #[inline]
    pub fn release(&mut self, rank: u32, clock: Time, burden: Option<(Span, Option<Time>)>) {
        if self.ranks.release(rank, clock, burden) {
            self.ready.wake(rank);
        }
    }
    /// Returns the node of the simulated machine that a rank is on.
    pub fn node_of(&self, rank: u32) -> u32 {
        rank / self.fabric.wire().node
    }
    /// Returns the messages of a rank of this process that it has not received, with their bytes.
    pub fn never_received(&self, rank: u32) -> impl Iterator<Item = (Envelope, u64)> + '_ {
        let messages = self.matcher.messages(&self.ranks[rank].pending).map(|message| &self.matcher[message]);
        messages.map(|node| (Envelope::of(node), node.bytes))
    }
    /// Returns the number of messages sent and their bytes.
    pub fn traffic(&self) -> (u64, u128) {
        (self.ranks.profile().messages(), self.ranks.profile().bytes())
    }
    /// Returns `true` if nothing depends on when a receive is posted: what waits for that are synchronous
    /// senders, and those of messages above an eager limit.
    #[inline(always)]
    pub fn posting_is_unseen(&self) -> bool {
        self.fabric.wire().plain && !self.fabric.has_handshakes()
    }

    /// Counts one completion less that a blocked rank waits for, and wakes it after the last.
    // Each completion that was marked as waited for comes here once, so that the number ends at exactly 0 and
    // a rank is never woken twice.
    #[inline(always)]
    pub(crate) fn count_down(&mut self, rank: u32) {
        let state = &mut self.ranks[rank];
        state.waiting -= 1;
        if state.waiting == 0 {
            self.ready.wake(rank);
        }
    }

    /// Returns `true` if a rank of this process is blocked by nothing: it runs, can run, lags or has ended.
    #[inline]
    pub fn is_runnable(&self, rank: u32) -> bool {
        let state = &self.ranks[rank];
        state.waiting == 0 && !state.pending.is_polling()
    }

    /// Makes a table request.
    // Where a rank ever waits for a match the lookahead is shorter (`Fabric::lookahead`), for the rest of the
    // run.
    pub fn make_request(&mut self, owner: u32, body: Body) -> u32 {
        if matches!(body, Body::Synchronous | Body::Away { .. }) {
            self.fabric.expect_handshakes();
        }
        self.requests.make(owner, body)
    }

    /// Counts messages that the mounted rank sends, the last ones to these. After many in a row it has to let
    /// its receivers run.
    #[inline(always)]
    pub fn count_burst(&mut self, last: &[u32], messages: u16) {
        if self.ranks.mounted().counts_burst(messages) {
            self.end_burst(last);
        }
    }

    /// Ends a long burst of the mounted rank, the last messages of which went to these. A receiver that reads
    /// what it gets lets no rank step back.
    // Looked at only once the burst is long: the receiver's queue may have left the cache.
    #[inline(never)]
    pub fn end_burst(&mut self, last: &[u32]) {
        let reads = |to: u32| to != NIL && self.matcher.message_count(&self.ranks[to].pending) < MAX_UNREAD;
        if last.iter().any(|&to| reads(to)) {
            self.ranks.mounted().burst = 0;
        } else {
            self.ranks.set_far_ahead(true);
        }
    }
}
