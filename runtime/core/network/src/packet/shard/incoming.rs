//! Mail of other shards, taken in.

use super::cross::Mail;
use super::{Router, Shard};
use crate::packet::event::{EventKind, PacketEvent};
use crate::packet::port::UPSTREAM_REMOTE;
use prefetch_index::prefetch_index;

/// Packets, or credits, between loading what one needs and its turn.
const FIRST_AHEAD: usize = 16;
/// Taking a credit in is short.
const CREDITS_AHEAD: usize = 24;

impl<R: Router> Shard<R> {
    /// Takes in what another shard told.
    pub(crate) fn receive(&mut self, mail: &Mail) {
        for (index, packet) in mail.packets.iter().enumerate() {
            prefetch_index(&mail.packets, index + FIRST_AHEAD);
            self.packets.prefetch_place(FIRST_AHEAD);
            let (input, time) = (packet.upstream & !UPSTREAM_REMOTE, packet.ready);
            let index = self.packets.insert(*packet);
            if self.rules.routes_early && !self.border.shared.is_any() {
                self.route(input, index, time);
            }
            self.wheel.push(PacketEvent::new(time, EventKind::Arrive, input, index));
        }
        for (index, credit) in mail.credits.iter().enumerate() {
            prefetch_index(&mail.credits, index + 2 * CREDITS_AHEAD);
            if let Some(ahead) = mail.credits.get(index + CREDITS_AHEAD) {
                self.prefetch_port(ahead.port);
            }
            self.credit(
                credit.port,
                (credit.load >> 24) as u8,
                credit.load & 0xff_ffff,
                credit.time,
                credit.held,
                self.clock,
            );
        }
    }
}
