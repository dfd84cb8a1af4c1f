//! Graphs of operations as LogGOPSim means them (T. Hoefler, C. Siebert, A. Lumsdaine, "Group Operation
//! Assembly Language", ICPP 2009; T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", LSAP 2010), and their
//! execution.
//!
//! A rank's sends, receives and computations form a graph. An operation begins when what it requires has
//! ended, what it requires the start of has begun, and its processor and interface are free. [`run`] executes
//! all ranks event by event over a [`Carrier`]: the LogGOPS formula, or a simulated machine.
//!
//! Rules of LogGOPSim 1.1 that are kept:
//! - Elements, which are operations and messages, have numbers in the order in which they became ready.
//!   Operations that become ready together are numbered: sends, receives, computations, each by
//!   [`ReadyOrder`]. Of elements that can begin at one time the least number does.
//! - A receive is posted once it is ready and the processor was free then. Posting takes no time.
//! - A message takes processor and interface of its receiver when it has arrived. A receive that finds it
//!   ends at once.
//! - A message above the eager limit ends its send when it meets its receive. The acknowledgement takes no
//!   time.
//!
//! A rank that names several processors or interfaces differs in one point, as in ATLAHS. A message meets its
//! receive on arrival and takes the processor and interface that the receive names; before its receive is
//! posted it takes none.

mod carrier;
mod execution;
mod graph;
mod loggops;
mod matching;
mod ready_order;
mod resource;
mod run;

pub use carrier::{Carrier, MessageCosts};
pub use graph::{ANY_SOURCE, ANY_TAG, ExecutionUnit, GoalGraph, Operations, Work};
pub use loggops::LogGops;
pub use ready_order::ReadyOrder;
pub use run::{GoalRun, OperationTotal, RankEnd, run};
