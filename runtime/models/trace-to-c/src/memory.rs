//! The memory that the buffers of a call need.

use crate::call::{CallArgument, GeneratedCall, Refusal};
use trace::template::{Field, Peer};

/// `MPI_ROOT`, the rank that gives or takes in its group of an intercommunicator.
const ROOT: i32 = -4;

/// The contents of a buffer.
pub enum BufferContents<'a> {
    /// Bytes.
    Bytes(i64),
    /// Elements of a datatype that the program made; how long they are is known when it runs.
    Elements(i64, CallArgument<'a>),
    /// Blocks with a datatype each, some of the program's making: lengths, displacements in bytes, datatypes.
    Blocks([CallArgument<'a>; 3]),
}

/// Returns what a buffer holds at most, whichever rank it is of. `degree` is the greatest number of
/// neighbours that a rank has.
///
/// # Errors
/// If the trace does not say it, or something lies before the buffer.
pub fn need<'a>(call: &GeneratedCall<'a>, buffer: &str, degree: i64) -> Result<BufferContents<'a>, Refusal> {
    let plain = |name: &str| call.scalar(name).map_or(0, |value| value.most().max(0));
    let base = call.base();
    let (counts, types): (&[&str], &[&str]) = match (base.as_str(), buffer) {
        ("pack", "outbuf") => return Ok(BufferContents::Bytes(plain("outsize"))),
        ("unpack", "inbuf") => return Ok(BufferContents::Bytes(plain("insize"))),
        ("pack", _) => (&["incount"], &["datatype"]),
        ("unpack", _) => (&["outcount"], &["datatype"]),
        (_, "sendbuf") => (
            &["sendcounts", "sendcount", "count", "recvcounts", "recvcount"],
            &["sendtypes", "sendtype", "datatype"],
        ),
        (_, "recvbuf") => (&["recvcounts", "recvcount", "count"], &["recvtypes", "recvtype", "datatype"]),
        _ => (&["count"], &["datatype"]),
    };
    let (Some(counts), Some(types)) = (call.first(counts), call.first(types)) else {
        return Err(format!("nothing says how long its {buffer} is"));
    };
    if let Field::List(_) = types.field {
        return blocks_of_many_types(call, buffer, counts, types);
    }
    let elements = match call.elements(counts) {
        Some(_) => blocks(call, buffer, counts)?,
        None => single(call, (&base, buffer), counts, degree),
    };
    Ok(match types.field {
        Field::Datatype(None) if !call.is_told_in_bytes(types.field) => {
            BufferContents::Elements(elements, types)
        }
        field => BufferContents::Bytes(elements.saturating_mul(call.extent(field, types.at).unwrap_or(0))),
    })
}

/// Elements of a buffer with one count: of one block, or of one for each peer or neighbour.
fn single(call: &GeneratedCall, (base, buffer): (&str, &str), count: CallArgument, degree: i64) -> i64 {
    if count.field.numbers() != Some(1) {
        return 0;
    }
    let times = match (base, buffer) {
        ("alltoall" | "reduce_scatter_block", _)
        | ("allgather" | "gather", "recvbuf")
        | ("scatter", "sendbuf") => call.peers(),
        ("neighbor_alltoall", _) | ("neighbor_allgather", "recvbuf") => degree,
        _ => 1,
    };
    let rooted = matches!((base, buffer), ("gather", "recvbuf") | ("scatter", "sendbuf"));
    let most = match call.argument("root") {
        // What others than the root say may be anything.
        Some(root) if rooted => call.relative(&[count.at, root.at], |position, numbers| {
            let root = Peer::of(numbers[1]).rank(position);
            if root == ROOT || i64::from(root) == i64::from(position.rank) { numbers[0] } else { 0 }
        }),
        _ => call.number(count.at),
    };
    most.most().max(0).saturating_mul(times)
}

/// Elements of a buffer with a count for each block, up to the last one's end.
fn blocks(call: &GeneratedCall, buffer: &str, counts: CallArgument) -> Result<i64, Refusal> {
    let places = |argument: CallArgument| -> Option<Vec<usize>> {
        let elements = call.elements(argument)?;
        Some(elements.into_iter().filter(|(field, _)| field.numbers() == Some(1)).map(|(_, at)| at).collect())
    };
    let lengths = places(counts).unwrap_or_default();
    let displacements = match buffer {
        "sendbuf" => call.first(&["sdispls", "displs"]),
        _ => call.first(&["rdispls", "displs"]),
    };
    let Some(displacements) = displacements.and_then(places) else {
        // Of a reduction that is scattered: all blocks, side by side.
        return Ok(call.map(&lengths, false, |_, counts| counts.iter().sum()).most());
    };
    let both: Vec<usize> = lengths.iter().chain(&displacements).copied().collect();
    let half = lengths.len();
    let least = call.map(&both, false, |_, numbers| {
        let (counts, places) = numbers.split_at(half);
        counts.iter().zip(places).filter(|(count, _)| **count > 0).map(|(_, place)| *place).min().unwrap_or(0)
    });
    if least.least() < 0 {
        return Err(format!("a block lies before its {buffer}"));
    }
    let end = call.map(&both, false, |_, numbers| {
        let (counts, places) = numbers.split_at(half);
        counts
            .iter()
            .zip(places)
            .filter(|(count, _)| **count > 0)
            .map(|(count, place)| count.saturating_add(*place))
            .max()
            .unwrap_or(0)
    });
    Ok(end.most())
}

/// Returns the bytes of a buffer of which each block has a datatype.
fn blocks_of_many_types<'a>(
    call: &GeneratedCall<'a>,
    buffer: &str,
    counts: CallArgument<'a>,
    types: CallArgument<'a>,
) -> Result<BufferContents<'a>, Refusal> {
    let Some(displacements) = call.argument(if buffer == "sendbuf" { "sdispls" } else { "rdispls" }) else {
        return Ok(BufferContents::Bytes(0));
    };
    let lists = (call.elements(counts), call.elements(displacements), call.elements(types));
    let (Some(lengths), Some(places), Some(kinds)) = lists else { return Ok(BufferContents::Bytes(0)) };
    if places.iter().any(|&(_, at)| call.number(at).least() < 0) {
        return Err(format!("a block lies before its {buffer}"));
    }
    if kinds.iter().any(|&(field, _)| matches!(field, Field::Datatype(None)) && !call.is_told_in_bytes(field))
    {
        return Ok(BufferContents::Blocks([counts, displacements, types]));
    }
    let mut bytes = 0;
    for ((length, place), (field, at)) in lengths.into_iter().zip(places).zip(kinds) {
        let length = call.number(length.1).most().saturating_mul(call.extent(field, at).unwrap_or(0));
        bytes = bytes.max(call.number(place.1).most().saturating_add(length));
    }
    Ok(BufferContents::Bytes(bytes))
}
