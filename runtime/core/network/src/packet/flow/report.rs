//! The report of flows, in the form of the packet level.

use crate::packet::fabric::PacketFabric;
use crate::packet::report::{LinkEnd, LinkReport};

/// Returns every direction of every cable, in the order of routers and ports, then endpoints.
///
/// A link is busy for as long as its bytes take at its full bandwidth. Nothing waits for a link, nor in a
/// buffer.
pub(super) fn each_link(fabric: &PacketFabric, carried: &[u64], duration: u64) -> Vec<LinkReport> {
    let topology = &*fabric.topology;
    let stride = fabric.stride.divisor();
    let link = |from: LinkEnd, to: LinkEnd, kind: u8, bytes: u64| {
        let busy = fabric.links[usize::from(kind)].span(bytes);
        LinkReport::of_flows((from, to), kind, bytes, busy, duration)
    };
    let mut links = Vec::new();
    for router in 0..topology.routers() {
        for port in 0..topology.radix() {
            let Some(to) = LinkEnd::of(topology.neighbor(router, port)) else { continue };
            let bytes = carried[(router * stride + port) as usize];
            links.push(link(LinkEnd::Router(router, port), to, fabric.link(router, port), bytes));
        }
    }
    for endpoint in (0..topology.endpoints()).filter(|&endpoint| topology.works(endpoint)) {
        let (router, port) = topology.attachment(endpoint);
        let bytes = carried[(topology.routers() * stride + endpoint) as usize];
        let kind = fabric.injection_link(endpoint);
        links.push(link(LinkEnd::Endpoint(endpoint), LinkEnd::Router(router, port), kind, bytes));
    }
    links
}
