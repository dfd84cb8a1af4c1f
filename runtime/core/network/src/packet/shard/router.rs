//! Kinds of routers: one file each, and a row in `table.rs`.

mod input_queued;
mod output_queued;
mod table;
mod wormhole;

use super::{Offer, Shard};
use crate::packet::fabric::{PacketFabric, Switching};
pub(crate) use table::with_router;

/// Numbers of what a shard has.
#[derive(Clone, Copy)]
pub(crate) struct ShardSize {
    pub(super) routers: usize,
    /// Ports of routers.
    pub(super) ports: usize,
    pub(super) interfaces: usize,
}

/// A kind of router: the state of all routers of a shard, and the rules by which they work.
///
/// The shard has links, credits, interfaces and events. A router decides when a packet or a flit leaves.
pub(crate) trait Router: Send + Sized + 'static {
    /// Returns `true` if routers with this switching are of the kind.
    fn fits(switching: &Switching) -> bool;
    /// Returns the state of idle routers.
    fn new(fabric: &PacketFabric, size: ShardSize) -> Self;
    /// Returns `true` if a packet's output may be chosen when the packet leaves the router before.
    fn routes_early(switching: &Switching) -> bool;

    /// Handles the event that `packet`, in by port `input`, can be routed.
    fn arrive(shard: &mut Shard<Self>, input: u32, packet: u32, now: u64);
    /// Handles a `Head` event of a virtual channel of an input.
    fn head(shard: &mut Shard<Self>, input: u32, lane: u32, now: u64);
    /// Handles a tick of the clock of the router whose first port is `port`, or of an interface.
    fn cycle(shard: &mut Shard<Self>, port: u32, now: u64);
    /// Handles a `Grant` event of `output`.
    fn grant(shard: &mut Shard<Self>, output: u32, now: u64);

    /// Makes sure that `output`, where something waits, is served by `at`.
    fn schedule(shard: &mut Shard<Self>, output: u32, at: u64);
    /// Puts the only packet of a message on the link of the interface `port` ahead of its time. Returns
    /// `false` if that cannot be done.
    fn sends_ahead(shard: &mut Shard<Self>, port: u32, offer: &Offer) -> bool;
    /// Serves the interface `port`, where a message of `class` is the first to wait.
    fn inject(shard: &mut Shard<Self>, port: u32, class: u8, now: u64);

    /// Starts loading what coming events need.
    fn prefetch(shard: &mut Shard<Self>);
    /// Returns the ports at which something waits, and its bytes.
    fn waiting(shard: &Shard<Self>) -> Vec<(u32, u32)>;
}

/// A function that is made for each kind of router.
pub(crate) trait RouterVisitor {
    /// Result of the function.
    type Output;
    /// Runs it for the kind `R`.
    fn visit<R: Router>(self) -> Self::Output;
}
