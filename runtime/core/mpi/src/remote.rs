//! Many native processes: what is agreed on, and how they end. What crosses between ranks is the messages'
//! part.

pub(crate) mod agree;
pub(crate) mod arbiter;
pub(crate) mod control;
pub(crate) mod ending;
pub(crate) mod pause;

pub use ::p2p::remote::{Blocks, Remote, block, stream};
pub(crate) use engine::record;
