//! From measured times of messages to a simulated machine (`xsim calibrate`, docs/reference/calibrate.md):
//! tables as benchmarks print them, lines through them, and the machine whose times these are.

mod drawing;
mod fit;
mod machine;
mod pieces;
mod table;

pub use drawing::chart;
pub use fit::{Estimate, Fit, Segment, fit};
pub use machine::{Calibrated, Inside, Prediction, calibrate, predict};
pub use table::{Kind, Row, Table, read, unit};
