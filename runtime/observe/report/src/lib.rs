//! A run's report for people (`xsim report`, docs/reference/report.md): what a table or a page shows of the
//! numbers that `recorder::RunReport` has.

pub mod collectives;
pub mod critical;
pub mod difference;
pub mod document;
pub mod efficiency;
pub mod findings;
pub mod network;
pub mod overview;
pub mod page;
pub mod profile;
pub mod read;
pub mod table;
pub mod units;
pub mod wrap;

pub use document::Document;
pub use efficiency::Efficiencies;
pub use read::read;
