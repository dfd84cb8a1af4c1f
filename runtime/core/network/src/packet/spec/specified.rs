//! The description of a topology in its file, for specifications: its name, its keys, and how it is made of
//! their values.

use super::parameters::{KeyedValues, Wrong};
use crate::topology::LinkKind;
use crate::topology::{Cabling, Paths};
use std::sync::Arc;

/// A topology that specifications name. A new one is a file that implements this and a row in `kinds.rs`.
pub(crate) trait Specified {
    /// Its name.
    const NAME: &'static str;
    /// Its own keys, with what they mean.
    const KEYS: &'static [(&'static str, &'static str)];
    /// Keys that must be given.
    const REQUIRED: &'static [&'static str] = &[];
    /// The routing of a network that names none, unless one of its own is the default.
    const ROUTING: &'static str = "minimal";
    /// The topology that the specification builds.
    type Shape: Cabling + 'static;
    /// Makes it. The error names the key that is wrong, or what is impossible.
    fn cable(parameters: &KeyedValues, setting: &Setting) -> Result<Cabled<Self::Shape>, Wrong>;
}

/// Conditions under which a topology is built, beside its own parameters.
pub(crate) struct Setting {
    /// Link used where the topology specifies no other.
    pub(crate) link: LinkKind,
    /// Number of ranks to hold, for topologies that leave their size open.
    pub(crate) ranks: Option<u64>,
}

/// A topology with what goes with it.
pub(crate) struct Cabled<T> {
    pub(crate) topology: Arc<T>,
    /// Shortest paths, if the topology computes them itself; else they are searched and kept in a table.
    pub(crate) paths: Option<Arc<dyn Paths>>,
    /// The kinds of links that `Cabling::link` counts.
    pub(crate) links: Vec<LinkKind>,
}

impl<T: Cabling + 'static> Cabled<T> {
    /// Builds it with one kind of link.
    pub(crate) fn new(topology: T, setting: &Setting) -> Cabled<T> {
        Cabled { topology: Arc::new(topology), paths: None, links: vec![setting.link.clone()] }
    }

    /// Builds it with other kinds of links.
    pub(crate) fn with_links(self, links: Vec<LinkKind>) -> Cabled<T> {
        Cabled { links, ..self }
    }

    /// Builds it with its own shortest paths.
    pub(crate) fn with_paths(self) -> Cabled<T>
    where
        T: Paths,
    {
        Cabled { paths: Some(self.topology.clone()), ..self }
    }
}
