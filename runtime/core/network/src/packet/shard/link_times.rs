//! Times of a packet on a kind of link.

use crate::packet::fabric::PacketFabric;
use crate::topology::LinkKind;

/// Times and buffer bytes, on a kind of link, of a packet of the size seen last. Most packets of a run have
/// one size.
#[derive(Clone, Copy)]
pub(super) struct LinkTimes {
    pub(super) size: u32,
    /// Bytes of buffer it takes.
    pub(super) charge: u32,
    /// Picoseconds for all of it, and for its first chunk.
    pub(super) whole: u64,
    pub(super) chunk: u64,
    /// Picoseconds of flight, and until it can be routed at the next router.
    pub(super) flight: u64,
    pub(super) to_router: u64,
    pub(super) credit: u64,
    /// Picoseconds of an output's full queue.
    pub(super) output: u64,
}

impl LinkTimes {
    /// Fits no packet yet.
    pub(super) const UNKNOWN: LinkTimes = LinkTimes {
        size: u32::MAX,
        charge: 0,
        whole: 0,
        chunk: 0,
        flight: 0,
        to_router: 0,
        credit: 0,
        output: 0,
    };

    /// Returns those of a packet of `size` bytes on a link of a kind.
    #[cold]
    pub(super) fn of(fabric: &PacketFabric, kind: u8, size: u32) -> LinkTimes {
        let switching = &fabric.switching;
        let link: &LinkKind = &fabric.links[kind as usize];
        let flight = link.latency.as_ps();
        let chunk = if switching.store_and_forward { size } else { switching.chunk.min(size) };
        LinkTimes {
            size,
            charge: switching.charge(size),
            whole: link.time(size),
            chunk: link.time(chunk),
            flight,
            to_router: flight + switching.router,
            credit: fabric.credit[kind as usize],
            output: if switching.output == 0 { 0 } else { link.time(switching.output) },
        }
    }
}
