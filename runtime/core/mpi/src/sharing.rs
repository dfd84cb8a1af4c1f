//! A network that messages share goes on: what leaves for it, what it delivers, and how far it may go before
//! ranks do.

use crate::world::World;
use engine::Time;
use network::Delivered;
use p2p::flight::Flight;

/// Messages between asking for what one needs and its turn, where ranks seldom lie in the cache.
const MESSAGES_AHEAD: usize = 8;

/// Returns the last instant before `time`.
fn just_before(time: Time) -> Time {
    Time::from_ps(time.as_ps().saturating_sub(1))
}

impl World {
    /// Carries the network on, which messages leave for and which has its next event at these times: to its
    /// next delivery, or gives it messages that leave before. No rank acts before `ranks`, and nothing is
    /// decided before `decision`. Returns `true` if something was delivered.
    // At a tie a message that leaves goes before one that arrives: both can still add to that instant. What
    // leaves when a rank acts waits for what that rank sends then: the order of an instant does not depend on
    // how many instants there are for which the network stops. A decision is made once nothing can reach a
    // rank by then.
    pub(crate) fn network_goes_on(
        &mut self,
        (leaving, event): (Time, Time),
        ranks: Time,
        decision: Time,
    ) -> bool {
        if leaving > event {
            return self.advance_network(decision.min(just_before(ranks.min(leaving))));
        }
        self.inject_until(event.min(just_before(ranks.min(decision)).max(leaving)))
    }

    /// On the process that has the network, when no rank of any process can go on: it does, until it delivers
    /// something. Decisions before `until` are made first, and those at `until` once nothing can reach a rank
    /// by then.
    // Who gets something may act: all processes agree again then. Its own steps between two deliveries
    // concern nobody, and would be an agreement each.
    pub(crate) fn network_goes_on_until(&mut self, until: Time) {
        loop {
            let times = self.messages.fabric_mut().next_times();
            let reach = self.messages.fabric().reach(times);
            if reach == Time::MAX || reach > until || self.network_goes_on(times, Time::MAX, until) {
                return;
            }
        }
    }

    /// Gives the network all messages that leave at or before `until`, and before it has something to do;
    /// nothing else can act earlier, but for who gets one of them without the network.
    // In the order (time, rank, sequence), which does not depend on who ran first; the network sees each
    // instant complete. What it does may have a rank send something before the next one leaves.
    fn inject_until(&mut self, mut until: Time) -> bool {
        let mut landed = false;
        let ahead = self.messages.ranks().exceed_cache().then_some(MESSAGES_AHEAD);
        while let Some((flight, arrival)) = self.messages.fabric_mut().inject_next(until, ahead) {
            if let Some(arrival) = arrival {
                self.land(flight, arrival);
                until = until.min(just_before(arrival));
                landed = true;
            }
            until = until.min(self.messages.fabric().wire().next_event().unwrap_or(Time::MAX));
        }
        landed
    }

    // All deliveries of an instant at once: a switch between two of them would find nothing else to do.
    fn advance_network(&mut self, limit: Time) -> bool {
        let mut delivered = Vec::new();
        if let Some(network) = self.messages.fabric_mut().wire_mut().shared() {
            network.advance_to_delivery(limit, &mut delivered);
        }
        for (place, delivery) in delivered.iter().enumerate() {
            if self.messages.ranks().exceed_cache() {
                self.approach_flights(&delivered[place..]);
            }
            self.land(delivery.id as u32, delivery.at);
        }
        !delivered.is_empty()
    }

    /// Fetches what messages need that land after the first of these.
    #[inline]
    fn approach_flights(&self, delivered: &[Delivered]) {
        let flight = |ahead: usize| delivered.get(ahead).map(|delivery| delivery.id as u32);
        if let Some(flight) = flight(2 * MESSAGES_AHEAD) {
            self.messages.fabric().prefetch_flight(flight);
        }
        if let Some(
            Flight::Received { to, receive: node, .. }
            | Flight::Payload { to, receive: node }
            | Flight::Unexpected { to, message: node },
        ) = flight(MESSAGES_AHEAD).and_then(|flight| self.messages.fabric().flight(flight))
        {
            self.messages.ranks().prefetch(*to);
            self.messages.matcher().prefetch(*node);
        }
    }
}
