//! The topologies by name: one row each, with the routings that are made for it.

use super::parameters::{Parameters, Wrong};
use super::specified::{Cabled, Setting, Specified};
use crate::packet::fabric::Link;
use crate::packet::routing::Routing;
use crate::packet::routing::adaptive_minimal::AdaptiveMinimal;
use crate::packet::routing::adaptive_up::AdaptiveUp;
use crate::packet::routing::d_mod_k::DModK;
use crate::packet::routing::dimension_order::{DimensionOrder, RingRule};
use crate::packet::routing::ecmp::Ecmp;
use crate::packet::routing::twisted_order::TwistedOrder;
use crate::packet::topology::tree::FatTree;
use crate::packet::topology::twisted::TwistedTorus;
use crate::packet::topology::{Paths, Topology, torus::Torus};
use crate::packet::topology::{dragonfly, dragonfly_plus, graph, hyperx, slim_fly, star, torus, tree, twisted};
use std::sync::Arc;

/// A topology as specifications name it.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Its own keys, with what they mean.
    pub(super) keys: &'static [(&'static str, &'static str)],
    pub(super) build: fn(&Parameters, &Setting) -> Result<Built, Wrong>,
}

/// A topology with the routings made for it.
pub(super) struct Built {
    pub(super) topology: Arc<dyn Topology>,
    /// See `Cabled`.
    pub(super) paths: Option<Arc<dyn Paths>>,
    /// See `Cabled`.
    pub(super) links: Vec<Link>,
    /// The topology's own routings, the default first.
    pub(super) own: Routings,
}

type Routings = Vec<Arc<dyn Routing>>;

macro_rules! kinds {
    ($($kind:ty: $own:expr),* $(,)?) => {
        /// Every packet topology.
        pub(super) const KINDS: &[Kind] = &[$(Kind {
            name: <$kind>::NAME,
            keys: <$kind>::KEYS,
            build: |parameters, setting| build::<$kind>(parameters, setting, $own),
        }),*];
    };
}

// The type that says what specifications need to know, and its own routings; `none` where those that any topology has are all.
kinds! {
    tree::MPortTree: for_tree,
    tree::TaperedTree: for_tree,
    torus::Closed: for_grid,
    torus::Open: for_grid,
    twisted::TwistedTorus: for_twisted,
    dragonfly::Dragonfly: none,
    dragonfly_plus::DragonflyPlus: none,
    slim_fly::SlimFly: none,
    hyperx::HyperX: none,
    star::Star: none,
    graph::Graph: none,
}

fn build<S: Specified>(
    parameters: &Parameters,
    setting: &Setting,
    own: fn(&Arc<S::Topology>, &Parameters) -> Result<Routings, Wrong>,
) -> Result<Built, Wrong> {
    let Cabled { topology, paths, links } = S::cable(parameters, setting)?;
    let own = own(&topology, parameters)?;
    Ok(Built { topology, paths, links, own })
}

fn none<T>(_: &Arc<T>, _: &Parameters) -> Result<Routings, Wrong> {
    Ok(Vec::new())
}

fn for_tree(tree: &Arc<FatTree>, _: &Parameters) -> Result<Routings, Wrong> {
    Ok(vec![Arc::new(Ecmp(tree.clone())), Arc::new(DModK(tree.clone())), Arc::new(AdaptiveUp(tree.clone()))])
}

fn for_grid(grid: &Arc<Torus>, parameters: &Parameters) -> Result<Routings, Wrong> {
    let rule = match parameters.text("rings") {
        None | Some("bubble") => RingRule::Bubble,
        Some("dateline") => RingRule::Dateline,
        Some(other) => return Err(parameters.wrong("rings", format!("rings={other} is neither bubble nor dateline"))),
    };
    Ok(vec![Arc::new(DimensionOrder::new(grid.clone(), rule)), Arc::new(AdaptiveMinimal::new(grid.clone()))])
}

fn for_twisted(torus: &Arc<TwistedTorus>, _: &Parameters) -> Result<Routings, Wrong> {
    Ok(vec![Arc::new(TwistedOrder(torus.clone()))])
}
