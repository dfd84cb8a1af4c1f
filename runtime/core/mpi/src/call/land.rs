//! Landing of messages that a shared network has delivered: each kind goes to the part that it is of.

use crate::node::{NIL, State, flag};
use crate::transit::Transit;
use crate::world::World;
use engine::Time;
use p2p::flight::Flight;

impl World {
    /// A shared network delivered `flight` at `at`.
    // Everything that a shared network carries ends here, and is told apart by its flight: the network knows
    // numbers alone.
    pub(crate) fn land(&mut self, flight: u32, at: Time) {
        match self.messages.fabric_mut().land(flight) {
            Some(Flight::Unexpected { to, message }) => {
                let node = &mut self.messages.matcher_mut()[message];
                node.arrival = at;
                node.flags &= !flag::UNDER_WAY;
                node.layout = NIL;
                let (matcher, pending) = self.messages.matching(to);
                matcher.landed(pending, message);
                if pending.is_watched() {
                    matcher.mark_dirty(to, pending);
                }
            }
            Some(Flight::Received { to, receive, posted_at, bytes, transit }) => {
                debug_assert_eq!(self.messages.matcher()[receive].state, State::InFlight);
                let transit = Transit { arrival: at, flags: transit.flags & !flag::UNDER_WAY, ..transit };
                self.messages.meet(to, receive, posted_at, bytes, transit);
            }
            // The payload before the sender goes on: what that sends then is later.
            Some(Flight::ClearToSend { to, receive, bytes, send }) => {
                self.messages.departures().send_payload((to, receive), bytes, send, at);
                self.messages.finish_request(send.request, at);
            }
            Some(Flight::Payload { to, receive }) => {
                debug_assert_eq!(self.messages.matcher()[receive].state, State::InFlight);
                self.messages.completing().complete(to, receive, at);
            }
            Some(Flight::Acknowledgement { request }) => self.messages.finish_request(request, at),
            Some(Flight::Elsewhere { process, flight }) => {
                self.messages.peers_mut().landed_elsewhere(process, flight, at)
            }
            Some(Flight::Record { record }) => self.messages.peers_mut().send_landed(record, at),
            Some(Flight::Chapter { chapter, words }) => self.chapters.of(chapter).landed(words, at),
            Some(Flight::Leaving) | None => {}
        }
    }
}
