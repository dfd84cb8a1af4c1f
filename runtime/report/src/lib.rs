//! A run's report for people (`xsim report`, docs/report.md): what a table or a page shows of the numbers that `observe::Report` has.

pub mod profile;
pub mod table;
pub mod units;
