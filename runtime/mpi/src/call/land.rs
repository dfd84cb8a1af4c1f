//! What happens when a shared network has delivered a message: each kind goes to the part that it is of.

use crate::envelope::Transit;
use crate::node::{NIL, State, flag};
use crate::world::World;
use engine::Time;
use message::flight::Flight;

impl World {
    /// A shared network delivered `flight` at `at`.
    // Everything that a shared network carries ends here, and is told apart by its flight: the network knows
    // numbers alone.
    pub(crate) fn land(&mut self, flight: u32, at: Time) {
        match self.messages.flights.remove(flight) {
            Some(Flight::Unexpected { to, message }) => {
                let node = &mut self.messages.nodes[message];
                node.arrival = at;
                node.flags &= !flag::UNDER_WAY;
                node.layout = NIL;
                self.messages.unexpected.landed(self.messages.ranks[to as usize].unexpected, message, &self.messages.nodes);
                if self.messages.ranks[to as usize].watches() {
                    self.messages.mark_dirty(to);
                }
            }
            Some(Flight::Received { to, receive, posted_at, bytes, transit }) => {
                debug_assert_eq!(self.messages.nodes[receive].state, State::InFlight);
                let transit = Transit { arrival: at, flags: transit.flags & !flag::UNDER_WAY, ..transit };
                self.messages.meet(to, receive, posted_at, bytes, transit);
            }
            Some(Flight::Acknowledgement { request }) => self.messages.finish_request(request, at),
            Some(Flight::Elsewhere { process, flight }) => self.messages.landed_elsewhere(process, flight, at),
            Some(Flight::Record { record }) => self.messages.record_landed(record, at),
            Some(Flight::Chapter { chapter, words }) => self.chapters.of(chapter).landed(words, at),
            Some(Flight::Leaving) | None => {}
        }
    }
}
