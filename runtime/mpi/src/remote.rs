//! Many native processes: what is agreed on, and collectives with members on several of them. What crosses between ranks is the messages' part.

pub(crate) mod agree;
mod arbiter;
pub(crate) mod bridge;
pub(crate) mod collective;
pub(crate) mod contribution;
mod control;
mod data;
pub(crate) mod distributed;
pub(crate) mod ending;
pub(crate) mod meeting;
pub(crate) mod passage;
mod pause;
pub(crate) mod ready;

pub use ::message::remote::{Blocks, Remote, block, stream};
pub(crate) use ::schedule::data::partial;
pub(crate) use ::schedule::segments;
pub(crate) use engine::record;
