//! Collectives with members on several processes.

pub(crate) mod beginning;
pub(crate) mod contribution;
pub(crate) mod data;
pub(crate) mod data_arrived;
pub(crate) mod departed;
pub(crate) mod distributed;
pub(crate) mod events;
pub(crate) mod failed;
pub(crate) mod kind;
pub(crate) mod meeting;
pub(crate) mod passage;
pub(crate) mod readies;
pub(crate) mod ready;
pub(crate) mod send_away;
pub(crate) mod spread;
