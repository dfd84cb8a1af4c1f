//! Where a call says what it sends, for profiles.

use super::parameter::{Direction, Kind, Length, Parameter};

/// Where a function says what it sends, by parameter.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub buffer: usize,
    pub count: usize,
    pub datatype: usize,
    /// Count and datatype of what is sent if the buffer is `MPI_IN_PLACE`.
    pub in_place: (usize, usize),
}

impl Sent {
    /// Of a function that sends; `None` of others, and of those with a datatype for each block.
    pub fn of(function: &str, parameters: &[Parameter]) -> Option<Sent> {
        if matches!(function, "MPI_Pack" | "MPI_Unpack" | "MPI_Pack_size") || function.ends_with("_init") {
            return None;
        }
        let buffer = parameters.iter().position(|p| p.kind == Kind::Buffer)?;
        let next = |kind: Kind| (buffer..parameters.len()).find(|&index| parameters[index].kind == kind);
        let last = |kind: Kind| (buffer..parameters.len()).rfind(|&index| parameters[index].kind == kind);
        let (count, datatype) = (next(Kind::Count)?, next(Kind::Datatype)?);
        let sends = parameters[buffer].direction != Direction::Out;
        let in_place = (last(Kind::Count).unwrap_or(count), last(Kind::Datatype).unwrap_or(datatype));
        let in_place = if parameters[in_place.0].length == Length::One { in_place } else { (count, datatype) };
        (sends && parameters[datatype].length == Length::One).then_some(Sent { buffer, count, datatype, in_place })
    }
}
