//! Puts a run together: the one table of options, the simulated machine, the progress line,
//! the report and its summary. Knows nothing of how any of them works.

pub mod host;
pub mod machine;
pub mod memory;
pub mod options;
pub mod progress;
pub mod summary;

pub use host::HostMeter;
pub use options::{OptionError, Options};
pub use progress::Progress;
