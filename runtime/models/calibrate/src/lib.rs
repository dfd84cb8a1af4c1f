//! From measured times of messages to a simulated machine (`xsim calibrate`, docs/reference/calibrate.md):
//! tables as benchmarks print them, lines through them, and the machine whose times these are.

mod curve;
mod drawing;
mod fit;
mod inside;
mod machine;
mod node;
mod pieces;
mod prediction;
mod rendezvous;
mod script;
mod table;

pub use drawing::chart;
pub use fit::{Estimate, Fit, Segment, fit, fit_of_files};
pub use machine::{Calibrated, Determined, Inside, calibrate};
pub use node::{NodeTables, PairRates, calibrate_node};
pub use prediction::{Prediction, predict};
pub use script::{BatchSystem, script};
pub use table::{DEFAULT_WINDOW, Kind, Row, Table, read, unit};
