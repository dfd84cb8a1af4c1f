//! Flows that share links, weighted max-min fair.
//!
//! A flow crosses a list of links and has bytes to send, a weight and perhaps a bound. At every instant
//! each flow gets the max-min fair rate: it crosses a saturated link on which no flow has more for its
//! weight, or it has its bound. [`Flows`] takes starts, moves to the next end, and returns the flows that
//! end there.
//!
//! # Exact and without order
//! A rate for a weight of 1 is a whole number of units, the *level* of a flow; [`Scale`] chooses the unit.
//! Levels fill up together from 0. A link on which one more unit for all its filling flows does not fit stops
//! them, and all links that stop at a level stop together.
//!
//! This has one result for a set of flows, whatever the order in which they came. The work left of a flow is
//! a whole number too, so that no rounding adds up.
//!
//! # Cost
//! All changes of an instant are solved together, and only the part that they reach: links on which flows
//! start or end, the flows that such a link bottlenecks, and whatever else these displace. The flows that one
//! link bottlenecks have one level, hence a common clock of service: a change of the level is one number, and
//! a flow ends where the clock reaches its mark.
//!
//! A start or an end among n flows of one bottleneck is O(log n).

mod flows;
mod link;
mod members;
#[cfg(test)]
mod model;
mod scale;

pub use flows::{FlowId, Flows};
pub use scale::{Capacity, Scale};
