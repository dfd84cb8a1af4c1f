//! Sweeps (`xsim sweep`, docs/reference/sweep.md): which runs a list of varied values asks for, and what
//! their results say together. How a run is started is not known here.

mod curves;
mod map;
mod quantity;
mod table;
mod vary;

pub use curves::curves;
pub use map::map;
pub use table::{RunResults, ScalingMode, SweepTable};
pub use vary::{Point, Points, Variable};
