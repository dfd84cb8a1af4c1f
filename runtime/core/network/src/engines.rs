//! The MPI library at each rank as a server: it works on one message at a time, sent or received.
//!
//! A message leaves when the library of its sender is through with it, and arrives when the library of its
//! receiver is. The time by message size is that of the level in which the two meet (LogGOPS: o and O;
//! Hoefler, Schneider and Lumsdaine, "LogGOPSim", 2010). It is the library's, so that the rank's processor
//! goes on.
//!
//! A library receives when it has nothing to send: a rank that has got its message sends the next one before
//! its library looks at further messages.

use crate::by_size::BySize;
use crate::divisor::Divisor;
use crate::message::{Delivered, DeliveryQueue, Endpoint, Message};
use crate::model::Shared;
use crate::packet::{LinkSeries, NetworkReport};
use engine::{Span, Time};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The library's time for messages that meet in a level.
pub(crate) struct LevelService {
    /// Endpoints of an instance of the level; `None` for all.
    pub(crate) block: Option<Divisor>,
    pub(crate) time: BySize,
}

/// A shared network whose endpoints serve messages one by one.
pub(crate) struct RankEngines {
    network: Box<dyn Shared + Send>,
    /// By level, the innermost first.
    levels: Vec<LevelService>,
    /// The time at which each endpoint's library is through with what it has so far.
    free: Vec<Time>,
    /// Messages that are at their sender's library: by time, then in the order of sending.
    entering: BTreeMap<(Time, u64), Message>,
    /// Messages that their sender's library works on: by the time at which they leave, then in order.
    leaving: BTreeMap<(Time, u64), Message>,
    sent: u64,
    /// Work for the receiver's library: destination and time, by message.
    expected: FxHashMap<u64, (Endpoint, Span)>,
    /// Messages that reach their receiver's library.
    arriving: DeliveryQueue,
    /// Messages that wait for their receiver's library, by endpoint: message, time of arrival, its work.
    waiting: FxHashMap<u32, VecDeque<(u64, Time, Span)>>,
    /// Times at which libraries take a waiting message: a picosecond after they are free, so that what their
    /// rank sends at that instant goes first.
    taking: BTreeSet<(Time, u32)>,
    /// Messages that their receiver's library is through with.
    through: DeliveryQueue,
    lost: u64,
    delivered: Vec<Delivered>,
}

impl RankEngines {
    /// Returns the network with a library at each endpoint.
    pub(crate) fn new(network: Box<dyn Shared + Send>, levels: Vec<LevelService>) -> RankEngines {
        let free = vec![Time::ZERO; network.endpoints() as usize];
        RankEngines {
            network,
            levels,
            free,
            entering: BTreeMap::new(),
            leaving: BTreeMap::new(),
            sent: 0,
            expected: FxHashMap::default(),
            arriving: DeliveryQueue::default(),
            waiting: FxHashMap::default(),
            taking: BTreeSet::new(),
            through: DeliveryQueue::default(),
            lost: 0,
            delivered: Vec::new(),
        }
    }

    /// Returns how long the library of either end works on a message.
    fn service(&self, message: &Message) -> Span {
        if message.source == message.destination {
            return Span::ZERO;
        }
        let meets = |level: &&LevelService| {
            level
                .block
                .is_none_or(|block| block.split(message.source.0).0 == block.split(message.destination.0).0)
        };
        self.levels.iter().find(meets).map_or(Span::ZERO, |level| level.time.time(message.bytes))
    }

    /// Occupies a library from `at` on, as soon as it is free. Returns when it is through.
    fn serve(&mut self, endpoint: Endpoint, at: Time, span: Span) -> Time {
        let free = &mut self.free[endpoint.0 as usize];
        let through = at.max(*free).saturating_add(span);
        if span != Span::ZERO {
            *free = through;
        }
        through
    }

    /// Lets the sender's library begin with the next message.
    fn begin(&mut self) {
        let Some(((at, order), message)) = self.entering.pop_first() else { return };
        let span = self.service(&message);
        let leaves = self.serve(message.source, at, span);
        if leaves == Time::MAX {
            self.lost += 1;
            return;
        }
        if span != Span::ZERO {
            self.expected.insert(message.id, (message.destination, span));
        }
        self.leaving.insert((leaves, order), message);
    }

    /// Gives the next message that leaves to the network.
    fn inject(&mut self) {
        let Some(((at, _), message)) = self.leaving.pop_first() else { return };
        if let Some(at) = self.network.send(at, &message) {
            self.arriving.push(Delivered { id: message.id, at });
        }
    }

    /// Gives the next message that arrives to its receiver's library, where it may have to wait.
    fn receive(&mut self) {
        let Some(Delivered { id, at }) = self.arriving.pop() else { return };
        let Some((destination, span)) = self.expected.remove(&id) else {
            self.through.push(Delivered { id, at });
            return;
        };
        let free = self.free[destination.0 as usize];
        let waiting = self.waiting.get(&destination.0).is_some_and(|messages| !messages.is_empty());
        if free < at && !waiting {
            return self.finish(destination, id, at, span);
        }
        self.waiting.entry(destination.0).or_default().push_back((id, at, span));
        if !waiting {
            self.take_later(destination.0);
        }
    }

    /// Lets a library take its next waiting message once it is free, which may be never.
    fn take_later(&mut self, endpoint: u32) {
        match self.free[endpoint as usize] {
            Time::MAX => self.lost += self.waiting.remove(&endpoint).map_or(0, |all| all.len() as u64),
            free => {
                self.taking.insert((free.saturating_add(Span::from_ps(1)), endpoint));
            }
        }
    }

    /// Lets a library take its next waiting message, unless it sends.
    fn take(&mut self) {
        let Some((at, endpoint)) = self.taking.pop_first() else { return };
        let free = self.free[endpoint as usize];
        if free >= at {
            return self.take_later(endpoint);
        }
        let messages = self.waiting.get_mut(&endpoint);
        let Some((id, arrival, span)) = messages.and_then(VecDeque::pop_front) else { return };
        self.finish(Endpoint(endpoint), id, arrival, span);
        if self.waiting.get(&endpoint).is_some_and(|messages| !messages.is_empty()) {
            self.take_later(endpoint);
        }
    }

    /// Lets a library work on a message that has arrived.
    fn finish(&mut self, destination: Endpoint, id: u64, at: Time, span: Span) {
        match self.serve(destination, at, span) {
            Time::MAX => self.lost += 1,
            at => self.through.push(Delivered { id, at }),
        }
    }
}

impl Shared for RankEngines {
    fn endpoints(&self) -> u64 {
        self.network.endpoints()
    }

    fn lookahead(&self, to: Endpoint) -> Span {
        self.network.lookahead(to)
    }

    fn send(&mut self, at: Time, message: &Message) -> Option<Time> {
        self.entering.insert((at, self.sent), *message);
        self.sent += 1;
        None
    }

    fn next_event(&self) -> Option<Time> {
        let [entering, leaving] =
            [&self.entering, &self.leaving].map(|messages| messages.keys().next().map(|&(at, _)| at));
        let (arriving, through) = (self.arriving.next(), self.through.next());
        let taking = self.taking.first().map(|&(at, _)| at);
        [entering, leaving, arriving, taking, through, self.network.next_event()].into_iter().flatten().min()
    }

    fn advance_to_delivery(&mut self, limit: Time, delivered: &mut Vec<Delivered>) -> bool {
        let mut until = limit.min(self.through.next().unwrap_or(Time::MAX));
        loop {
            let [entering, leaving] = [&self.entering, &self.leaving]
                .map(|messages| messages.keys().next().map_or(Time::MAX, |&(at, _)| at));
            let arriving = self.arriving.next().unwrap_or(Time::MAX);
            let taking = self.taking.first().map_or(Time::MAX, |&(at, _)| at);
            let inside = self.network.next_event().unwrap_or(Time::MAX);
            let sending = entering.min(leaving);
            let next = sending.min(arriving).min(taking).min(inside);
            if next > until || next == Time::MAX {
                break;
            }
            // At one instant messages leave first, so that the network sees all of them; what it delivers
            // then comes in one order with what was there.
            if entering == next {
                self.begin();
            } else if leaving == next {
                self.inject();
            } else if inside == next {
                let until = until.min(arriving).min(taking).min(Time::from_ps(sending.as_ps() - 1));
                let mut arrived = std::mem::take(&mut self.delivered);
                self.network.advance_to_delivery(until, &mut arrived);
                arrived.drain(..).for_each(|delivered| self.arriving.push(delivered));
                self.delivered = arrived;
            } else if arriving == next {
                self.receive();
            } else {
                self.take();
            }
            until = until.min(self.through.next().unwrap_or(Time::MAX));
        }
        self.through.deliver_first(limit, delivered)
    }

    fn stuck(&self) -> Option<String> {
        let lost = (self.lost > 0 && self.next_event().is_none()).then(|| {
            format!(
                "virtual time ends at 2^64 picoseconds (213 days), before {} messages could arrive; lower o",
                self.lost
            )
        });
        lost.or_else(|| self.network.stuck())
    }

    fn keep_series(&mut self) {
        self.network.keep_series();
    }

    fn series(&self, end: Time) -> Option<LinkSeries> {
        self.network.series(end)
    }

    fn report(&self, end: Time) -> NetworkReport {
        self.network.report(end)
    }
}
