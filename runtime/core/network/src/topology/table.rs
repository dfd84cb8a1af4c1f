//! Every topology: a row each, for all levels of detail, with the routings that are made for it.

use super::dragonfly::{self, Dragonfly};
use super::fat_tree::{self, FatTree};
use super::hyperx::{self, HyperX};
use super::router_hops::RouterHops;
use super::shortest::Shortest;
use super::torus::{self, Torus};
use super::twisted::plane::{self, TwistedTorus};
use super::{
    Cabled, Cabling, DetailLevel, HopStatistics, Hops, LinkKind, OptionKey, Options, Paths, TopologyInput,
};
use super::{Sizing, Topology, Wrong, dragonfly_plus, graph, none, ring, slim_fly, star, tree, twisted};
use crate::packet::routing::Routing;
use crate::packet::routing::adaptive_minimal::AdaptiveMinimal;
use crate::packet::routing::adaptive_up::AdaptiveUp;
use crate::packet::routing::d_mod_k::DModK;
use crate::packet::routing::dimension_order::{DimensionOrder, RingRule};
use crate::packet::routing::ecmp::Ecmp;
use crate::packet::routing::group_minimal::GroupMinimal;
use crate::packet::routing::line_order::{LineOrder, LineValiant};
use crate::packet::routing::twisted_order::TwistedOrder;
use std::sync::Arc;

/// Builds a topology for one kind of levels of detail.
type BuildTopology<T> = fn(&TopologyInput<'_>) -> Result<T, Wrong>;

/// A topology as specifications name it.
#[derive(Debug)]
pub(crate) struct TopologyRow {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) sizing: Sizing,
    pub(crate) keys: &'static [OptionKey],
    /// Level of detail of a network that gives none: formula, or packet.
    pub(crate) level: DetailLevel,
    /// `true` if it has links, hence latency and bandwidth.
    pub(crate) has_links: bool,
    /// The routing of packets where the network names none, unless one of its own is the default.
    pub(crate) routing: &'static str,
    /// Builds what formulas take.
    pub(crate) formula: BuildTopology<AnyTopology>,
    /// Builds what packets and flows take; nothing where there are no routers.
    pub(crate) routers: Option<BuildTopology<RoutedTopology>>,
}

/// A topology with the routings made for it.
pub(crate) struct RoutedTopology {
    pub(crate) topology: Arc<dyn Cabling>,
    /// See `Cabled`.
    pub(crate) paths: Option<Arc<dyn Paths>>,
    /// See `Cabled`.
    pub(crate) links: Vec<LinkKind>,
    /// Beside those that any topology has.
    pub(crate) own: OwnRoutings,
}

/// The routings that are made for a topology.
#[derive(Default)]
pub(crate) struct OwnRoutings {
    pub(crate) routings: Vec<Arc<dyn Routing>>,
    /// `true` if the first is the default; else `TopologyRow::routing` is.
    pub(crate) first_is_default: bool,
}

macro_rules! row {
    ($topology:ty, $formula:expr, $routers:expr) => {
        TopologyRow {
            name: <$topology>::NAME,
            summary: <$topology>::SUMMARY,
            sizing: <$topology>::SIZING,
            keys: <$topology>::KEYS,
            level: <$topology>::LEVEL,
            has_links: <$topology>::HAS_LINKS,
            routing: <$topology>::ROUTING,
            formula: $formula,
            routers: $routers,
        }
    };
    // Hops by a formula, and no routers.
    ($topology:ty: formula $variant:ident) => {
        row!($topology, |given| Ok(AnyTopology::$variant(<$topology>::build(given)?)), None)
    };
    // Hops by a formula, and routers with routings of their own.
    ($topology:ty: formula $variant:ident, routers $own:expr) => {
        row!(
            $topology,
            |given| Ok(AnyTopology::$variant(<$topology>::build(given)?)),
            Some(|given| routed::<$topology>(given, $own))
        )
    };
    // Hops by the formula of another topology.
    ($topology:ty: formula $variant:ident by $formula:expr, routers $own:expr) => {
        row!(
            $topology,
            |given| Ok(AnyTopology::$variant($formula(given)?)),
            Some(|given| routed::<$topology>(given, $own))
        )
    };
    // Hops by the shortest paths of the routers.
    ($topology:ty: routers $own:expr) => {
        row!($topology, hops_of_routers::<$topology>, Some(|given| routed::<$topology>(given, $own)))
    };
}

/// Every topology. Rows without `formula` take the hops of their routers; those without `routers` have none.
pub(crate) static TOPOLOGIES: &[TopologyRow] = &[
    row!(none::NoNetwork: formula None),
    row!(star::Star: formula Star, routers no_own),
    row!(ring::RingTopology: formula Ring),
    row!(torus::Mesh: formula Torus, routers for_grid),
    row!(torus::Torus: formula Torus, routers for_grid),
    row!(twisted::Twisted: formula Twisted),
    row!(tree::TreeTopology: formula Tree),
    row!(fat_tree::MPortTree: formula FatTree, routers for_tree),
    row!(fat_tree::TaperedTree: formula FatTree, routers for_tree),
    row!(plane::TwistedTorus: formula Twisted by plane::TwistedTorus::formula, routers for_twisted),
    row!(dragonfly::Dragonfly: routers for_dragonfly),
    row!(dragonfly_plus::DragonflyPlus: routers no_own),
    row!(slim_fly::SlimFly: routers no_own),
    row!(hyperx::HyperX: routers for_hyperx),
    row!(graph::RouterGraph: routers no_own),
];

fn routed<T: Topology>(
    given: &TopologyInput<'_>,
    own: fn(&Arc<T::Shape>, &Options) -> OwnRoutings,
) -> Result<RoutedTopology, Wrong>
where
    T::Shape: Cabling,
{
    let Cabled { topology, paths, links } = T::cable(given)?;
    let own = own(&topology, given.options);
    Ok(RoutedTopology { topology, paths, links, own })
}

fn hops_of_routers<T: Topology>(given: &TopologyInput<'_>) -> Result<AnyTopology, Wrong>
where
    T::Shape: Cabling,
{
    let Cabled { topology, paths, .. } = T::cable(given)?;
    let paths = match paths {
        Some(paths) => paths,
        None => Arc::new(Shortest::new(topology)?),
    };
    Ok(AnyTopology::Routers(RouterHops::new(paths)))
}

fn no_own<T>(_: &Arc<T>, _: &Options) -> OwnRoutings {
    OwnRoutings::default()
}

fn for_tree(tree: &Arc<FatTree>, _: &Options) -> OwnRoutings {
    let routings: Vec<Arc<dyn Routing>> =
        vec![Arc::new(Ecmp(tree.clone())), Arc::new(DModK(tree.clone())), Arc::new(AdaptiveUp(tree.clone()))];
    OwnRoutings { routings, first_is_default: true }
}

fn for_grid(grid: &Arc<Torus>, options: &Options) -> OwnRoutings {
    let rule = match options.word("rings") {
        Some("dateline") => RingRule::Dateline,
        _ => RingRule::Bubble,
    };
    let routings: Vec<Arc<dyn Routing>> =
        vec![Arc::new(DimensionOrder::new(grid.clone(), rule)), Arc::new(AdaptiveMinimal::new(grid.clone()))];
    OwnRoutings { routings, first_is_default: true }
}

fn for_twisted(torus: &Arc<TwistedTorus>, _: &Options) -> OwnRoutings {
    OwnRoutings { routings: vec![Arc::new(TwistedOrder(torus.clone()))], first_is_default: true }
}

fn for_dragonfly(dragonfly: &Arc<Dragonfly>, _: &Options) -> OwnRoutings {
    OwnRoutings { routings: vec![Arc::new(GroupMinimal(dragonfly.clone()))], first_is_default: false }
}

fn for_hyperx(hyperx: &Arc<HyperX>, _: &Options) -> OwnRoutings {
    let routings: Vec<Arc<dyn Routing>> =
        vec![Arc::new(LineOrder(hyperx.clone())), Arc::new(LineValiant(hyperx.clone()))];
    OwnRoutings { routings, first_is_default: false }
}

macro_rules! any_topology {
    ($($variant:ident($shape:ty)),* $(,)?) => {
        /// The hops of any topology: a `match` instead of a pointer, so that they inline into the latency.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyTopology { $($variant($shape)),* }

        any_topology!(@forward [$($variant)*]
            endpoints() -> u64;
            hops(source: u32, destination: u32) -> u32;
            hops_out(source: u32) -> u32;
            hops_in(destination: u32) -> u32;
            least_hops_out() -> u32;
            nearest(destination: u32) -> u32;
            hop_bound() -> u64;
            links() -> u64;
            statistics() -> HopStatistics;
        );
    };
    (@forward $variants:tt $($method:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        impl AnyTopology {
            $(any_topology!(@method $variants $method($($argument: $kind),*) -> $result);)*
        }
    };
    (@method [$($variant:ident)*] $method:ident $arguments:tt -> $result:ty) => {
        any_topology!(@body [$($variant)*] $method $arguments -> $result);
    };
    (@body [$($variant:ident)*] $method:ident() -> $result:ty) => {
        #[inline]
        pub(crate) fn $method(&self) -> $result {
            match self { $(AnyTopology::$variant(topology) => Hops::$method(topology)),* }
        }
    };
    (@body [$($variant:ident)*] $method:ident($a:ident: $ka:ty) -> $result:ty) => {
        #[inline]
        pub(crate) fn $method(&self, $a: $ka) -> $result {
            match self { $(AnyTopology::$variant(topology) => Hops::$method(topology, $a)),* }
        }
    };
    (@body [$($variant:ident)*] $method:ident($a:ident: $ka:ty, $b:ident: $kb:ty) -> $result:ty) => {
        #[inline]
        pub(crate) fn $method(&self, $a: $ka, $b: $kb) -> $result {
            match self { $(AnyTopology::$variant(topology) => Hops::$method(topology, $a, $b)),* }
        }
    };
}

any_topology! {
    None(none::NoNetwork),
    Star(star::Star),
    Ring(ring::RingTopology),
    Torus(Torus),
    Twisted(twisted::Twisted),
    Tree(tree::TreeTopology),
    FatTree(FatTree),
    Routers(RouterHops),
}
