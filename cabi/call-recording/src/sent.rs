//! Where a call says what it sends, for profiles.

use crate::parameter::RecordedParameter;
use recorder::contribution::{Giver, SendVolume};

/// The parameters that determine what a function sends, by index.
#[derive(Clone, Copy, Debug)]
pub struct SentParameters {
    /// The ranks that send.
    pub giver: Giver,
    /// The send buffer, where it may be `MPI_IN_PLACE`.
    pub buffer: Option<usize>,
    /// The destination of a message.
    pub dest: Option<usize>,
    /// Count and datatype, or arrays of them.
    pub sent: (usize, usize),
    /// Count and datatype of what is sent if the buffer is `MPI_IN_PLACE`.
    pub in_place: (usize, usize),
    /// `true` if of an array in place the caller's own element counts.
    pub own_block: bool,
}

impl SentParameters {
    /// Returns where a function with these parameters says it; `None` of one that sends nothing.
    pub fn of(function: &str, parameters: &[RecordedParameter]) -> Option<SentParameters> {
        let SendVolume { giver, sent, in_place, own_block } = SendVolume::of(function)?;
        let named = |name: &str| parameters.iter().position(|p| p.name == name);
        let both = |(count, datatype): (&str, &str)| named(count).zip(named(datatype));
        Some(SentParameters {
            giver,
            buffer: named("sendbuf"),
            dest: named("dest"),
            sent: both(sent)?,
            in_place: both(in_place)?,
            own_block,
        })
    }
}
