//! The topologies by name: one row each, with the routings that are made for it.

use super::parameters::{KeyedValues, Wrong};
use super::specified::{Cabled, Setting, Specified};
use crate::packet::routing::Routing;
use crate::packet::routing::adaptive_minimal::AdaptiveMinimal;
use crate::packet::routing::adaptive_up::AdaptiveUp;
use crate::packet::routing::d_mod_k::DModK;
use crate::packet::routing::dimension_order::{DimensionOrder, RingRule};
use crate::packet::routing::ecmp::Ecmp;
use crate::packet::routing::group_minimal::GroupMinimal;
use crate::packet::routing::line_order::{LineOrder, LineValiant};
use crate::packet::routing::twisted_order::TwistedOrder;
use crate::topology::LinkKind;
use crate::topology::dragonfly::Dragonfly;
use crate::topology::fat_tree::FatTree;
use crate::topology::hyperx::HyperX;
use crate::topology::twisted_torus::TwistedTorus;
use crate::topology::{Cabling, Paths, packet_torus::PacketTorus};
use crate::topology::{
    dragonfly, dragonfly_plus, fat_tree, graph, hyperx, packet_star, packet_torus, slim_fly, twisted_torus,
};
use std::sync::Arc;

/// A topology as specifications name it.
pub(super) struct TopologyKind {
    pub(super) name: &'static str,
    /// Its own keys, with what they mean.
    pub(super) keys: &'static [(&'static str, &'static str)],
    /// Keys that must be given.
    pub(super) required: &'static [&'static str],
    routing: &'static str,
    pub(super) build: fn(&KeyedValues, &Setting) -> Result<RoutedTopology, Wrong>,
}

impl TopologyKind {
    /// Returns the routing of networks that name none, where none of its own is the default.
    pub(super) fn default_routing(&self) -> &'static str {
        self.routing
    }
}

/// A topology with the routings made for it.
pub(super) struct RoutedTopology {
    pub(super) topology: Arc<dyn Cabling>,
    /// See `Cabled`.
    pub(super) paths: Option<Arc<dyn Paths>>,
    /// See `Cabled`.
    pub(super) links: Vec<LinkKind>,
    /// Beside those that any topology has.
    pub(super) own: OwnRoutings,
}

/// The routings that are made for a topology.
#[derive(Default)]
pub(super) struct OwnRoutings {
    pub(super) routings: Vec<Arc<dyn Routing>>,
    /// `true` if the first is the default; else `minimal` is.
    pub(super) first_is_default: bool,
}

macro_rules! kinds {
    ($($kind:ty: $own:expr),* $(,)?) => {
        /// Every packet topology.
        pub(super) const KINDS: &[TopologyKind] = &[$(TopologyKind {
            name: <$kind>::NAME,
            keys: <$kind>::KEYS,
            required: <$kind>::REQUIRED,
            routing: <$kind>::ROUTING,
            build: |parameters, setting| build::<$kind>(parameters, setting, $own),
        }),*];
    };
}

// The type that says what specifications need to know, and its own routings; `none` where those that any
// topology has are all.
kinds! {
    fat_tree::MPortTree: for_tree,
    fat_tree::TaperedTree: for_tree,
    packet_torus::Closed: for_grid,
    packet_torus::PacketMesh: for_grid,
    twisted_torus::TwistedTorus: for_twisted,
    dragonfly::Dragonfly: for_dragonfly,
    dragonfly_plus::DragonflyPlus: none,
    slim_fly::SlimFly: none,
    hyperx::HyperX: for_hyperx,
    packet_star::PacketStar: none,
    graph::RouterGraph: none,
}

fn build<S: Specified>(
    parameters: &KeyedValues,
    setting: &Setting,
    own: fn(&Arc<S::Shape>, &KeyedValues) -> Result<OwnRoutings, Wrong>,
) -> Result<RoutedTopology, Wrong> {
    let Cabled { topology, paths, links } = S::cable(parameters, setting)?;
    let own = own(&topology, parameters)?;
    Ok(RoutedTopology { topology, paths, links, own })
}

fn none<T>(_: &Arc<T>, _: &KeyedValues) -> Result<OwnRoutings, Wrong> {
    Ok(OwnRoutings::default())
}

fn for_tree(tree: &Arc<FatTree>, _: &KeyedValues) -> Result<OwnRoutings, Wrong> {
    let routings: Vec<Arc<dyn Routing>> =
        vec![Arc::new(Ecmp(tree.clone())), Arc::new(DModK(tree.clone())), Arc::new(AdaptiveUp(tree.clone()))];
    Ok(OwnRoutings { routings, first_is_default: true })
}

fn for_grid(grid: &Arc<PacketTorus>, parameters: &KeyedValues) -> Result<OwnRoutings, Wrong> {
    let rule = match parameters.text("rings") {
        None | Some("bubble") => RingRule::Bubble,
        Some("dateline") => RingRule::Dateline,
        Some(other) => {
            return Err(parameters.wrong("rings", format!("rings={other} is neither bubble nor dateline")));
        }
    };
    let routings: Vec<Arc<dyn Routing>> =
        vec![Arc::new(DimensionOrder::new(grid.clone(), rule)), Arc::new(AdaptiveMinimal::new(grid.clone()))];
    Ok(OwnRoutings { routings, first_is_default: true })
}

fn for_twisted(torus: &Arc<TwistedTorus>, _: &KeyedValues) -> Result<OwnRoutings, Wrong> {
    Ok(OwnRoutings { routings: vec![Arc::new(TwistedOrder(torus.clone()))], first_is_default: true })
}

fn for_dragonfly(dragonfly: &Arc<Dragonfly>, _: &KeyedValues) -> Result<OwnRoutings, Wrong> {
    Ok(OwnRoutings { routings: vec![Arc::new(GroupMinimal(dragonfly.clone()))], first_is_default: false })
}

fn for_hyperx(hyperx: &Arc<HyperX>, _: &KeyedValues) -> Result<OwnRoutings, Wrong> {
    let routings: Vec<Arc<dyn Routing>> =
        vec![Arc::new(LineOrder(hyperx.clone())), Arc::new(LineValiant(hyperx.clone()))];
    Ok(OwnRoutings { routings, first_is_default: false })
}
