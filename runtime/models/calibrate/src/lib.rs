//! From measured times of messages to a simulated machine (`xsim calibrate`, docs/reference/calibrate.md):
//! tables as benchmarks print them, lines through them, and the machine whose times these are.

mod curve;
mod drawing;
mod fit;
mod inside;
mod machine;
mod node;
mod pieces;
mod script;
mod table;

pub use drawing::chart;
pub use fit::{Estimate, Fit, Segment, fit};
pub use machine::{Calibrated, Determined, Inside, Prediction, calibrate, predict};
pub use node::{NodeTables, PairRates, calibrate_node};
pub use script::{BatchSystem, script};
pub use table::{DEFAULT_WINDOW, Kind, Row, Table, read, unit};
