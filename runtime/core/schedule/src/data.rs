//! The data plane: what members get of what they contribute, without regard to time.
//!
//! Data that is only moved ends up where the collective means it to be, whichever way it took ([`movement`]).
//! A reduction is made in the association of its schedule, so that floating point has the same bits whoever
//! computes it. It is made at once where the association has a short form ([`association`], and [`partial`]
//! for members on several processes), else in the schedule's [`steps`].

pub mod association;
pub mod movement;
pub mod partial;
pub mod steps;
