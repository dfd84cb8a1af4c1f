//! Service of accesses by a target: in which order, what they do to its memory, and what goes back.

use crate::CHAPTER;
use crate::access::{Back, Held, NIL, PendingAccess, TargetAction, Turn, Waiting};
use crate::atomic::Bytes;
use crate::came::Came;
use crate::deferred::DeferredAccesses;
use crate::origin::Hold;
use crate::short::Short;
use crate::state::Rma;
use engine::Time;
use objects::Objects;
use objects::win::Win;
use p2p::Messages;
use p2p::chapter::arrivals::Arrival;
use p2p::fabric::Departure;
use p2p::flight::Flight;
use p2p::remote::shared::Way;

/// Kind of a flight on a shared network: the first word of the flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum FlightKind {
    /// An access to its target.
    There,
    /// An answer.
    Back,
    /// A message that a rank of a group has called `MPI_Win_post`.
    Post,
}

/// Facts that are the same for all accesses to a target's memory in a window.
struct Site {
    win: u32,
    /// World rank.
    target: u32,
    /// Address of the first byte of the memory.
    base: usize,
    /// `true` if somebody waits for its lock, who may be the origin of an access.
    is_awaited: bool,
    /// `true` if it waits until the target is mounted.
    waits: bool,
}

/// Returns where a rank's memory in a window begins.
pub(crate) fn base(objects: &Objects, win: &Win, rank: u32) -> usize {
    let member = objects.comms.alive(comm_index(win)).map_or(0, |comm| comm.rank(rank));
    win.exposed.get(member as usize).map_or(0, |exposed| exposed.base)
}

/// Returns the index of a window's communicator.
pub(crate) fn comm_index(win: &Win) -> u32 {
    objects::handle::decode(win.comm).expect("a window's communicator is its own")
}

impl Rma {
    /// Returns `true` if a rank may go on once its accesses to memory that only it reaches have been done.
    #[inline]
    pub fn holds_back(&self, rank: u32) -> bool {
        !self.held_back.is_empty() && self.held_back.contains(&rank)
    }

    /// An access is at its target, or will be at its arrival.
    // AtOnce is served when it is sent, though it arrives later: the target may look at that memory only
    // after a synchronization that is later still, and so sees it in time.
    pub(crate) fn arrive(&mut self, messages: &mut Messages, objects: &Objects, access: Held) {
        match access.turn {
            Turn::AtOnce => {
                let at = access.arrival;
                self.perform(messages, objects, access, at);
            }
            Turn::Fence(epoch) if !messages.fabric().is_shared() => self.keep_in_fence(access, epoch),
            Turn::Ordered | Turn::Acquires | Turn::Fence(_) => {
                let target = access.target;
                self.arrivals.push(messages, target, access.waits());
            }
        }
    }

    /// Nothing comes before the first access at a rank: that is served, and those that follow before `until`.
    // Nothing new can come from another rank before `until`: so one decision serves many. The rank itself
    // reaches its own memory sooner than that, and so ends the row where it can go on.
    pub(crate) fn serve(&mut self, messages: &mut Messages, objects: &Objects, rank: u32, until: Time) {
        let mut next = self.arrivals.take(rank);
        let mut last: Option<Site> = None;
        while let Some(Arrival { what, time, .. }) = next {
            if let Some(win) = what.plain()
                && last.as_ref().is_none_or(|site| site.win != win)
            {
                last = Some(self.site(objects, win, rank));
            }
            match (what, &mut last) {
                (Waiting::Short(short), Some(site)) => self.touch_short(messages, site, short, time),
                (Waiting::Any(access), Some(site)) if access.is_plain() && !site.is_awaited => {
                    self.touch_at(messages, site, access, time)
                }
                (Waiting::Any(access), _) => {
                    self.perform(messages, objects, access, time);
                    last = None;
                }
                (Waiting::Short(_), None) => unreachable!("its target's memory was looked up"),
            }
            let until = if self.holds_back(rank) { until.min(messages.clock(rank)) } else { until };
            next = self.arrivals.take_next(messages, rank, until);
        }
    }

    fn site(&self, objects: &Objects, win: u32, target: u32) -> Site {
        let is_awaited = self.locks.get(&(win, target)).is_some_and(|lock| !lock.queue.is_empty());
        // What comes behind one that waits does so too.
        Site {
            win,
            target,
            base: base(objects, objects.wins.at(win), target),
            is_awaited,
            waits: self.unreached.contains(&target),
        }
    }

    /// Performs an access at `at`.
    pub(crate) fn perform(&mut self, messages: &mut Messages, objects: &Objects, access: Held, at: Time) {
        if access.void {
            return self.end(access);
        }
        if let Turn::Fence(epoch) = access.turn {
            return self.arrive_in_fence(messages, objects, access, epoch);
        }
        match access.action {
            TargetAction::Lock { exclusive } => self.request_lock(messages, access, exclusive, at),
            TargetAction::Unlock { exclusive } => self.release_lock(messages, objects, access, exclusive, at),
            TargetAction::Complete => self.completed(messages, &access, at),
            _ => {
                if let Some(access) = self.after_lock(access) {
                    self.touch(messages, objects, access, at);
                }
            }
        }
    }

    /// Applies an access to its target's memory, or lets it wait until the target is mounted.
    pub(crate) fn touch(&mut self, messages: &mut Messages, objects: &Objects, access: Held, at: Time) {
        let mut site = self.site(objects, access.win, access.target);
        self.touch_at(messages, &mut site, access, at);
    }

    fn touch_at(&mut self, messages: &mut Messages, site: &mut Site, mut access: Held, at: Time) {
        if !messages.payloads().are_carried() {
            return self.touched(messages, access, at);
        }
        let is_reachable = access.place.is_reachable(site.base);
        if !self.has_memory(messages, site.win, site.target, is_reachable) {
            return self.touched(messages, access, at);
        }
        if !site.waits && is_reachable {
            access.run(site.base);
            return self.touched(messages, access, at);
        }
        self.defer(site, Waiting::Any(access), at);
    }

    #[inline]
    fn touch_short(&mut self, messages: &mut Messages, site: &mut Site, mut short: Short, at: Time) {
        let is_reachable = short.is_reachable(site.base);
        if !self.has_memory(messages, site.win, site.target, is_reachable) {
            return self.touched_short(messages, site.target, &short, at);
        }
        if !site.waits && is_reachable {
            short.run(site.base);
            return self.touched_short(messages, site.target, &short, at);
        }
        self.defer(site, Waiting::Short(short), at);
    }

    /// An access waits until its target is mounted.
    // One memory is touched in one order: while some accesses to it wait for a switch, none may pass them.
    #[inline]
    fn defer(&mut self, site: &mut Site, what: Waiting, at: Time) {
        let own = |short: &Short| {
            let origin = self.origins.get((short.win, site.target));
            origin.and_then(|origin| origin.channels.get(&site.target)) == Some(&short.channel)
        };
        if match &what {
            Waiting::Any(access) => access.origin == site.target,
            Waiting::Short(short) => own(short),
        } {
            self.held_back.insert(site.target);
        }
        if !site.waits {
            self.unreached.insert(site.target);
            site.waits = true;
        }
        match self.pieces.last_mut() {
            Some(pieces) if pieces.is_of(site.target, site.base) => pieces.accesses.push((at, what)),
            _ => self.pieces.push(DeferredAccesses {
                target: site.target,
                base: site.base,
                accesses: vec![(at, what)],
            }),
        }
    }

    /// Ends an access that has touched its target's memory: what it found goes back.
    #[inline]
    pub(crate) fn touched(&mut self, messages: &mut Messages, mut access: Held, at: Time) {
        self.tell_sync(messages, access.win, access.target, at);
        match access.turn {
            Turn::Fence(epoch) => self.touched_in_fence(messages, &mut access, epoch, at),
            _ if access.back.is_asked() => {
                if access.turn == Turn::Acquires && messages.ranks().is_local(access.origin) {
                    self.channels[access.back.channel].hold = Hold::Shared;
                }
                self.answer(messages, &mut access, at);
            }
            _ => {}
        }
        self.end(access);
    }

    /// Tells a target that its memory has changed: it goes on if it waits for that.
    #[inline]
    fn tell_sync(&self, messages: &mut Messages, win: u32, target: u32, at: Time) {
        if !self.syncs.is_empty()
            && let Some(request) = self.syncs.get(&(win, target))
            && messages.requests()[*request].done.is_none()
        {
            messages.finish_request(*request, at);
        }
    }

    /// Sends an answer at `at`.
    pub(crate) fn answer(&mut self, messages: &mut Messages, access: &mut PendingAccess, at: Time) {
        let (from, to, bytes) = (access.target, access.origin, access.answers());
        let way = messages.fabric().way(from, to, bytes, at);
        match way {
            Way::Leaves(at, bytes) if messages.ranks().is_local(to) => {
                let index =
                    self.answers.insert((access.back, std::mem::take(&mut access.data), access.after));
                messages.departures().launch(
                    Departure::Answer,
                    from,
                    to,
                    (bytes, at),
                    Flight::Chapter { chapter: CHAPTER, words: [FlightKind::Back as u32, index, 0, 0] },
                );
            }
            way => self.give(messages, access, way),
        }
    }

    /// Hands an answer back to its origin, whose process knows at once or is notified when it has come.
    pub(crate) fn give(&mut self, messages: &mut Messages, access: &mut PendingAccess, way: Way) {
        match way {
            Way::Arrives(at) if messages.ranks().is_local(access.origin) => {
                self.answered(messages, access.back, &mut access.data, Came { at, after: access.after });
            }
            way => Rma::tell_answer(
                messages,
                (access.target, access.origin),
                access.back,
                (&access.data, access.after),
                way,
            ),
        }
    }

    /// An answer is back at its origin.
    // Data is kept until its rank runs, as it may go to memory that only that rank reaches.
    pub(crate) fn answered(&mut self, messages: &mut Messages, back: Back, data: &mut Bytes, came: Came) {
        let mut origin = None;
        if back.reply != NIL {
            let reply = &mut self.replies[back.reply];
            reply.data = Some(std::mem::take(data));
            origin = Some((reply.win, reply.origin));
            if reply.request != NIL {
                messages.finish_request(reply.request, came.at);
            }
        }
        if back.channel != NIL {
            let channel = &mut self.channels[back.channel];
            channel.outstanding -= 1;
            channel.done = channel.done.or_later(came);
            let origin = self.origins.at_mut(channel.origin);
            origin.outstanding -= 1;
            origin.done = origin.done.or_later(came);
            if back.reply != NIL {
                channel.fetching -= 1;
                let data = &mut self.data[back.channel as usize];
                data.latest = data.latest.or_later(came);
                self.tell_local_flushes(messages, back.channel);
            }
            self.tell_flushes(messages, back.channel);
        } else if let Some(origin) = origin.and_then(|place| self.origins.get_mut(place)) {
            origin.unanswered -= 1;
            origin.latest = origin.latest.or_later(came);
            if let Some(wait) = origin.wait {
                if origin.unanswered == 0 {
                    origin.wait = None;
                }
                self.settle(messages, wait, came);
            }
        }
    }

    /// Ends a short access that has touched its target's memory: its answer comes when its channel knows that
    /// it does.
    #[inline]
    pub(crate) fn touched_short(&mut self, messages: &mut Messages, target: u32, short: &Short, at: Time) {
        self.tell_sync(messages, short.win, target, at);
        let channel = &mut self.channels[short.channel];
        channel.outstanding -= 1;
        let origin = self.origins.at_mut(channel.origin);
        origin.outstanding -= 1;
        if let Some(fetched) = short.fetched() {
            channel.fetching -= 1;
            origin.fetched.push(fetched);
            self.tell_local_flushes(messages, short.channel);
        }
        let channel = &self.channels[short.channel];
        if channel.wait != NIL || self.origins.at_mut(channel.origin).outstanding == 0 {
            self.tell_flushes(messages, short.channel);
        }
    }

    /// Lets what waits for the data of a channel go on, if all of that has come.
    #[inline]
    fn tell_local_flushes(&mut self, messages: &mut Messages, index: u32) {
        let data = &mut self.data[index as usize];
        if data.wait == NIL || self.channels[index].fetching != 0 {
            return;
        }
        let (wait, latest) = (std::mem::replace(&mut data.wait, NIL), data.latest);
        self.settle(messages, wait, latest);
        if !self.beside_data.is_empty() {
            for other in self.beside_data.remove(&index).unwrap_or_default() {
                self.settle(messages, other, latest);
            }
        }
    }

    /// Lets those go on that wait for the last answer of a channel, or of all of its origin: one has come.
    fn tell_flushes(&mut self, messages: &mut Messages, index: u32) {
        let channel = &mut self.channels[index];
        let origin = self.origins.at_mut(channel.origin);
        let flushed =
            if origin.outstanding == 0 { origin.flush.take().map(|wait| (wait, origin.done)) } else { None };
        if channel.wait != NIL && channel.outstanding == 0 {
            let (wait, done) = (std::mem::replace(&mut channel.wait, NIL), channel.done);
            self.settle(messages, wait, done);
            if !self.beside.is_empty() {
                for other in self.beside.remove(&index).unwrap_or_default() {
                    self.settle(messages, other, done);
                }
            }
        }
        if let Some((wait, done)) = flushed {
            self.settle(messages, wait, done);
        }
    }
}

impl Rma {
    /// Records that a shared network takes an access on.
    pub(crate) fn take_off(&mut self, messages: &mut Messages, objects: &Objects, index: u32) {
        let &PendingAccess { win, origin, target, turn, .. } = &*self.accesses[index];
        self.flying.entry((win, origin, target)).or_default().queue.push_back((index, false));
        if let Turn::Fence(epoch) = turn {
            match messages.ranks().is_local(target) {
                true => self.fences.entry(win).or_default().expect(epoch, target),
                false => self.tell_coming(messages, objects, (win, target), epoch),
            }
        }
    }

    /// Handles all deliveries of the shared network: accesses at their targets, answers at their origins, and
    /// arrivals of `MPI_Win_post`.
    pub(crate) fn land_all(&mut self, messages: &mut Messages, objects: &Objects) {
        for ([leg, index, ..], at) in std::mem::take(&mut self.landed) {
            match leg {
                _ if leg == FlightKind::There as u32 => self.land(messages, objects, index, at),
                _ if leg == FlightKind::Back as u32 => {
                    let (back, mut data, after) = self.answers.remove(index).expect("it was launched");
                    self.answered(messages, back, &mut data, Came { at, after });
                }
                _ => {
                    let (win, origin, after) = self.posting.remove(index).expect("it was launched");
                    self.post_arrived(messages, win, origin, Came { at, after });
                }
            }
        }
    }

    /// Notes that an access has come over a shared network. Those of one origin to one target arrive in the
    /// order in which they left.
    // A shared network may deliver a short access before a long one that left earlier, and it knows when a
    // message within a node arrives before that is so. MPI's order is restored here, at the time of the one
    // that was late.
    fn land(&mut self, messages: &mut Messages, objects: &Objects, index: u32, at: Time) {
        let access = &self.accesses[index];
        let key @ (win, origin, target) = (access.win, access.origin, access.target);
        let Some(flying) = self.flying.get_mut(&key) else { return };
        let mut down = Vec::new();
        flying.land(index, |index, latest| {
            let mut access = self.accesses.remove(index).expect("it was under way");
            access.arrival = latest.after(access.turn, at);
            down.push(access);
        });
        if flying.is_to_forget()
            && self.origins.get((win, origin)).is_none_or(|origin| !origin.channels.contains_key(&target))
        {
            self.flying.remove(&key);
        }
        for access in down {
            match messages.ranks().is_local(target) {
                true => self.arrive(messages, objects, access),
                // Its window is gone, and so is the target's.
                false if access.void => self.end(access),
                false => {
                    self.tell_access(messages, objects, &access);
                    self.end(access);
                }
            }
        }
    }
}
