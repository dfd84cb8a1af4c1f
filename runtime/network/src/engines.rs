//! The MPI library at each rank as a server: it works on one message at a time, sent or received.
//!
//! A message leaves when the library of its sender is through with it, and arrives when the library of its
//! receiver is. The time by message size is that of the level in which the two meet (LogGOPS: o and O;
//! Hoefler, Schneider and Lumsdaine, "LogGOPSim", 2010). It is the library's, so that the rank's processor
//! goes on.

use crate::by_size::BySize;
use crate::divisor::Divisor;
use crate::message::{Delivered, DeliveryQueue, Endpoint, Message};
use crate::model::Shared;
use crate::packet::{LinkSeries, NetworkReport};
use engine::{Span, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

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
    /// Messages that are at their receiver's library.
    arriving: DeliveryQueue,
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

    /// Lets the receiver's library begin with the next message that is there.
    fn receive(&mut self) {
        let Some(Delivered { id, at }) = self.arriving.pop() else { return };
        let through = match self.expected.remove(&id) {
            Some((destination, span)) => self.serve(destination, at, span),
            None => at,
        };
        match through {
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
        [entering, leaving, arriving, through, self.network.next_event()].into_iter().flatten().min()
    }

    fn advance(&mut self, until: Time, delivered: &mut Vec<Delivered>) {
        loop {
            let [entering, leaving] = [&self.entering, &self.leaving]
                .map(|messages| messages.keys().next().map_or(Time::MAX, |&(at, _)| at));
            let arriving = self.arriving.next().unwrap_or(Time::MAX);
            let inside = self.network.next_event().unwrap_or(Time::MAX);
            let next = entering.min(leaving).min(arriving).min(inside);
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
                let mut arrived = std::mem::take(&mut self.delivered);
                self.network.advance(next, &mut arrived);
                arrived.drain(..).for_each(|delivered| self.arriving.push(delivered));
                self.delivered = arrived;
            } else {
                self.receive();
            }
        }
        self.through.deliver(until, delivered);
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
