//! The kinds of routers, a row each.

use super::input_queued::InputQueued;
use super::output_queued::OutputQueued;
use super::wormhole::Wormhole;
use super::{Router, RouterVisitor};
use crate::packet::fabric::Switching;
use crate::packet::shard::packet_switch::PacketSwitch;

macro_rules! kinds {
    ($($router:ty,)*) => {
        /// Runs `visitor` for the kind of router that fits.
        pub(crate) fn with_router<V: RouterVisitor>(switching: &Switching, visitor: V) -> V::Output {
            $(if <$router>::fits(switching) {
                return visitor.visit::<$router>();
            })*
            unreachable!("one kind fits each switching that a specification can have")
        }
    };
}

kinds! {
    Wormhole,
    PacketSwitch<InputQueued>,
    PacketSwitch<OutputQueued>,
}
