//! Use of resources by a step of a model.

use crate::tree::Use;

/// Resources that are used, with numbers for formulas.
#[derive(Clone, Debug)]
pub struct Usage<'a, N> {
    /// The use as it is written.
    pub tree: &'a Use,
    /// Amount of the resource: the count, times the size of a piece if one is given.
    pub quantity: N,
    /// Number of pieces.
    pub count: N,
    /// Size of a piece.
    pub size: Option<N>,
    /// The values of the traits, in their order; none where a trait has none, or a word that stands for no
    /// number.
    pub traits: Vec<Option<N>>,
}
