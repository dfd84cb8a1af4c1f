//! Records of who keeps whom waiting, made for a recorder (`-xsim-profile`). They have when each message left
//! and who sent it, when the receive was posted that a sender waited for, and when the members of a
//! collective entered it.
//!
//! Nothing of it changes a virtual time. While nobody wants to know, [`Watch`] has none of it, and the way of
//! a message has three branches that are never taken. While somebody does, plain messages take a way of their
//! own (`plain.rs`) and no receive is completed by whoever sends (`flag::STATUS_IGNORED`).

pub(crate) mod gatherings;

use crate::remote::block::Block;
use crate::remote::record::{Put, Take};
use crate::watch::Watch;
use engine::Time;
use gatherings::Gatherings;
use recorder::Traffic;
use recorder::waiting::{Entries, LateSide, ReceivedMessage, WaitCause};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// When somebody acted, and who: a message left its sender, a receive was posted.
#[derive(Clone, Copy, Default)]
struct Act {
    at: Time,
    rank: u32,
}

/// A receive that a sender waited for.
#[derive(Clone, Copy, Default)]
pub struct Met {
    /// When it was posted, and by whom.
    posted: Act,
    /// The later of both: that, or the message's leaving.
    follows: Act,
}

impl Met {
    /// For another process.
    pub fn put(self, out: &mut impl Put) {
        for act in [self.posted, self.follows] {
            out.u64(act.at.as_ps());
            out.u32(act.rank);
        }
    }

    /// Returns what another process has put.
    pub fn take(record: &mut Take) -> Met {
        let mut act = || Act { at: Time::from_ps(record.u64()), rank: record.u32() };
        Met { posted: act(), follows: act() }
    }
}

/// Records of which rank keeps which other rank waiting.
pub struct Waits {
    /// The message that is about to be delivered.
    sending: Act,
    /// When the messages left, by their nodes, or those of the receives that have them. Of others there is
    /// what was there before.
    // Beside the nodes, which have no room for it: a message costs 16 bytes more only while somebody wants to
    // know.
    departures: Vec<Act>,
    /// Receives that senders of this process waited for, by the senders' requests.
    receives: FxHashMap<u32, Met>,
    /// Receives that were posted after the message above the eager limit had asked for them, by their nodes:
    /// it left because of that.
    held_up: FxHashMap<u32, Act>,
    /// Facts about the pending call of each rank.
    calls: Block<Found>,
    /// Messages and bytes that the ranks of this process have sent.
    traffic: Traffic,
    /// The ranks of this process.
    own: Range<u32>,
    gatherings: Gatherings,
    /// The messages that the call under way of each rank has received, of those ranks that somebody listens
    /// to for it. By rank, because a call that waits for several messages lets others run between them.
    received: Option<Block<Option<Vec<ReceivedMessage>>>>,
}

/// Facts about a call that returns.
#[derive(Clone, Copy, Default)]
pub struct FoundOut {
    /// The event that ended the call's wait.
    pub cause: Option<WaitCause>,
    /// When the first to leave left of the messages that it has received.
    pub oldest: Option<Time>,
    /// The kind of collective that it has entered; 0: none.
    pub collective: u32,
}

/// Facts collected about a call while it is pending.
#[derive(Clone, Copy)]
struct Found {
    /// The event that ended the call's wait.
    cause: Option<WaitCause>,
    /// When the first to leave left of the messages that it has received; `Time::MAX` before there is one.
    oldest: Time,
    /// The number of the kind of collective that it has entered; 0: none.
    collective: u32,
}

/// The findings about a call while another is made within it.
pub struct Covered {
    found: Found,
    received: Vec<ReceivedMessage>,
}

impl Default for Found {
    fn default() -> Found {
        Found { cause: None, oldest: Time::MAX, collective: 0 }
    }
}

impl Waits {
    fn note(&mut self, rank: u32, cause: WaitCause) {
        let known = &mut self.calls[rank as usize].cause;
        if known.as_ref().is_none_or(|known| cause.order() > known.order()) {
            *known = Some(cause);
        }
    }

    fn depart(&mut self, node: u32, act: Act) {
        if self.departures.len() <= node as usize {
            self.departures.resize(node as usize + 1, Act::default());
        }
        self.departures[node as usize] = act;
    }
}

/// Messages and bytes that a rank has sent in calls of its own, without those of collectives.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Messages.
    pub messages: u64,
    /// Payload bytes.
    pub bytes: u64,
}

impl Watch {
    /// Finds out from now on who keeps whom waiting, for these of `size` ranks. The run has not begun.
    pub(crate) fn follow_waits(&mut self, own: Range<u32>, size: u32) {
        self.noted = true;
        self.waits = Some(Box::new(Waits {
            sending: Act::default(),
            departures: Vec::new(),
            receives: FxHashMap::default(),
            held_up: FxHashMap::default(),
            calls: Block::new(own.start, own.end - own.start),
            traffic: Traffic::of(size),
            gatherings: Gatherings::default(),
            received: None,
            own,
        }));
    }

    /// Returns `true` if it is found out who keeps whom waiting.
    #[inline]
    pub fn follows_waits(&self) -> bool {
        self.waits.is_some()
    }

    /// Returns what the ranks of this process have sent, if it is found out who keeps whom waiting.
    pub fn traffic(&self) -> Option<&Traffic> {
        self.waits.as_ref().map(|waits| &waits.traffic)
    }

    /// Keeps from now on which messages these ranks receive. Waits are followed already.
    pub fn follow_messages(&mut self, wants: impl Fn(u32) -> bool) {
        let Some(waits) = &mut self.waits else { return };
        let mut received = Block::new(waits.own.start, waits.own.end - waits.own.start);
        for rank in waits.own.clone().filter(|&rank| wants(rank)) {
            received[rank as usize] = Some(Vec::new());
        }
        waits.received = Some(received);
    }

    /// Returns what the call of a rank of this process has received; `None` if nobody listens to the rank for
    /// it.
    pub fn take_received(&mut self, rank: u32) -> Option<std::vec::Drain<'_, ReceivedMessage>> {
        let received = self.waits.as_mut()?.received.as_mut()?;
        received[rank as usize].as_mut().map(|received| received.drain(..))
    }

    /// Counts from now on what each rank sends.
    pub(crate) fn count_sends(&mut self) {
        self.sent.get_or_insert_default();
    }

    /// Returns `true` if it is counted what each rank sends.
    pub fn counts_sends(&self) -> bool {
        self.sent.is_some()
    }

    /// Returns what a rank has sent since its messages are counted.
    pub fn sent_by(&self, rank: u32) -> Sent {
        self.sent.as_ref().and_then(|sent| sent.get(&rank)).copied().unwrap_or_default()
    }

    /// Notes that rank `me` sends a message, which leaves at `clock`.
    #[inline]
    pub fn note_sending(&mut self, (me, clock): (u32, Time), to: u32, bytes: u64) {
        if let Some(types) = &mut self.types {
            types.send_to(to);
        }
        if self.sent.is_some() || self.waits.is_some() {
            self.keep_sending((me, clock), to, bytes);
        }
    }

    #[inline(never)]
    fn keep_sending(&mut self, (me, clock): (u32, Time), to: u32, bytes: u64) {
        if let Some(sent) = &mut self.sent {
            let sent = sent.entry(me).or_default();
            sent.messages += 1;
            sent.bytes += bytes;
        }
        let Some(waits) = &mut self.waits else { return };
        waits.sending = Act { at: clock, rank: me };
        waits.traffic.add(me, to, bytes);
    }

    /// Notes that a message of a rank elsewhere reaches this process, which left at `left`.
    pub(crate) fn note_sent_away(&mut self, from: u32, left: impl FnOnce() -> Time) {
        if let Some(waits) = &mut self.waits {
            waits.sending = Act { at: left(), rank: from };
        }
    }

    /// The message that is being delivered is in this node, or has met the receive in it.
    #[inline(always)]
    pub(crate) fn note_departure(&mut self, node: u32) {
        if self.noted {
            self.keep_departure(node);
        }
    }

    fn keep_departure(&mut self, node: u32) {
        self.keep_type(node);
        if self.waits.is_some() {
            self.keep_act(node);
        }
    }

    #[inline(never)]
    fn keep_act(&mut self, node: u32) {
        let Some(waits) = &mut self.waits else { return };
        let act = waits.sending;
        waits.depart(node, act);
    }

    /// Copies the recorded departure of the node `message` to the node `receive`, which has taken its
    /// message.
    #[inline(always)]
    pub fn note_taken(&mut self, receive: u32, message: u32) {
        if self.waits.is_some() {
            self.keep_taken(receive, message);
        }
    }

    #[cold]
    #[inline(never)]
    fn keep_taken(&mut self, receive: u32, message: u32) {
        let Some(waits) = &mut self.waits else { return };
        let act = waits.departures.get(message as usize).copied().unwrap_or_default();
        waits.depart(receive, act);
    }

    /// A rank goes on at the arrival of the message in this node, of so many bytes and with this tag.
    #[inline(always)]
    pub(crate) fn note_arrival_of(&mut self, rank: u32, node: u32, at: Time, told: (u64, i32)) {
        if self.waits.is_some() {
            self.keep_arrival_of(rank, node, at, told);
        }
    }

    #[cold]
    #[inline(never)]
    fn keep_arrival_of(&mut self, rank: u32, node: u32, at: Time, (bytes, tag): (u64, i32)) {
        let Some(waits) = &mut self.waits else { return };
        let act = waits.departures.get(node as usize).copied().unwrap_or_default();
        // Empty without an eager limit: no hashing then.
        let follows = if waits.held_up.is_empty() { act } else { waits.held_up.remove(&node).unwrap_or(act) };
        waits.note(
            rank,
            WaitCause {
                side: LateSide::Sender,
                at,
                acted: act.at,
                by: act.rank,
                follows: (follows.at, follows.rank),
            },
        );
        let oldest = &mut waits.calls[rank as usize].oldest;
        *oldest = act.at.min(*oldest);
        if at > act.at {
            waits.traffic.under_way.add(act.at, at.since(act.at), bytes);
        }
        if let Some(received) = waits.received.as_mut().and_then(|received| received[rank as usize].as_mut())
        {
            received.push(ReceivedMessage { from: act.rank, sent: act.at, arrived: at, bytes, tag });
        }
    }

    /// The receive of `to` in the node `receive`, which the sender of `request` waits for, was posted then:
    /// after the message asked for it, or before (`late`). Above the eager limit the payload `waits` for it
    /// too.
    pub(crate) fn note_meeting(
        &mut self,
        request: u32,
        receive: u32,
        posted: (Time, u32),
        late: bool,
        waits_too: bool,
    ) {
        let Some(waits) = &mut self.waits else { return };
        let posted = Act { at: posted.0, rank: posted.1 };
        let sent = waits.departures.get(receive as usize).copied().unwrap_or_default();
        waits.receives.insert(request, Met { posted, follows: if late { posted } else { sent } });
        if late && waits_too {
            waits.held_up.insert(receive, posted);
        }
    }

    /// Notes the receive that the sender of `request` waits for, as another process reports it.
    pub(crate) fn note_met(&mut self, request: u32, met: Met) {
        if let Some(waits) = &mut self.waits {
            waits.receives.insert(request, met);
        }
    }

    /// Returns who received what a request has sent, and when that receive was posted; forgotten here.
    /// Nothing but zeros while nobody wants to know.
    pub(crate) fn receive_of(&mut self, request: u32) -> Met {
        self.waits.as_mut().and_then(|waits| waits.receives.remove(&request)).unwrap_or_default()
    }

    /// The mounted rank goes on at the match of what its request has sent.
    #[inline]
    pub fn note_match_of(&mut self, me: u32, request: u32, at: Time) {
        if self.waits.is_some() {
            let Met { posted, follows } = self.receive_of(request);
            if let Some(waits) = &mut self.waits {
                let follows = (follows.at, follows.rank);
                waits.note(
                    me,
                    WaitCause { side: LateSide::Receiver, at, acted: posted.at, by: posted.rank, follows },
                );
            }
        }
    }

    /// The mounted rank begins a call.
    pub fn begin_call(&mut self, me: u32) {
        if let Some(waits) = &mut self.waits {
            waits.calls[me as usize] = Found::default();
        }
    }

    /// The mounted rank begins a call within another. Returns what is found out of that one, for
    /// [`Watch::end_call_within`].
    pub fn begin_call_within(&mut self, me: u32) -> Option<Box<Covered>> {
        let (me, waits) = (me as usize, self.waits.as_mut()?);
        let found = std::mem::take(&mut waits.calls[me]);
        let received = waits.received.as_mut().and_then(|received| received[me].as_mut()).map(std::mem::take);
        Some(Box::new(Covered { found, received: received.unwrap_or_default() }))
    }

    /// Ends the mounted rank's call within another, which has been reported.
    pub fn end_call_within(&mut self, me: u32, Covered { found, received }: Covered) {
        let (me, Some(waits)) = (me as usize, self.waits.as_mut()) else { return };
        waits.calls[me] = found;
        if let Some(within) = waits.received.as_mut().and_then(|within| within[me].as_mut()) {
            *within = received;
        }
    }

    /// The mounted rank goes on because of what is no message of its own: an answer, a lock, the end of an
    /// epoch.
    pub fn note_cause(&mut self, me: u32, cause: WaitCause) {
        if let Some(waits) = &mut self.waits {
            waits.note(me, cause);
        }
    }

    /// Notes that the mounted rank has entered a collective of the kind with this number; 0: of none.
    #[inline]
    pub fn note_collective(&mut self, me: u32, number: u32) {
        if number != 0
            && let Some(waits) = &mut self.waits
        {
            waits.calls[me as usize].collective = number;
        }
    }

    /// Returns what is known of the mounted rank's call, which was entered at `entered` and returns; `None`
    /// while nobody wants to know.
    #[inline]
    pub fn found_out(&self, me: u32, entered: Time) -> Option<FoundOut> {
        let found = &self.waits.as_ref()?.calls[me as usize];
        Some(FoundOut {
            cause: found.cause.filter(|cause| cause.at > entered),
            oldest: Some(found.oldest).filter(|&at| at != Time::MAX),
            collective: found.collective,
        })
    }

    /// Returns `true` if [`Watch::gathered`] has any.
    #[inline]
    pub fn has_gathered(&self) -> bool {
        self.waits.as_ref().is_some_and(|waits| waits.gatherings.has_complete())
    }

    /// Collective calls that all members have entered, since this was last asked.
    pub fn gathered(&mut self) -> Vec<((u32, u32), Entries)> {
        self.waits.as_mut().map(|waits| waits.gatherings.take()).unwrap_or_default()
    }
}
