//! Eager limits, and delays beside the handshake that a machine has above its limit.

use crate::fit::{Fit, Segment};
use crate::machine::{Inside, span};
use crate::pieces::{self, SizeCost};
use crate::prediction::predict;
use crate::table::Row;

/// The least jump of a rendezvous, in times of an empty message. The sender hears from its receiver first,
/// which is a way of the network more; of an empty message's time the network's way is half at least.
const MIN_RENDEZVOUS_JUMP: f64 = 0.5;
/// The part of a measured time by which a machine with a handshake may be slower.
const MAX_SHORTFALL: f64 = 0.01;
/// A message whose time gives a machine's time for a byte.
const LONG_BYTES: u64 = 1 << 30;
/// The longest message of that kind takes so many seconds.
const LONG_SECONDS: f64 = 1e6;

/// The levels of a machine without their delays.
pub struct Levels<'a> {
    /// Lines through times between nodes.
    pub fit: &'a Fit,
    /// The outer level's specification.
    pub links: &'a str,
    /// Lines through times inside a node.
    pub inside: Option<&'a Inside<'a>>,
    /// The inner level's specification.
    pub inner_links: Option<&'a str>,
}

/// Delays of both levels and the limit that they go with.
#[derive(Default)]
pub struct Delays {
    /// The outer level's key `delay` with its comma; empty if its times are on one line.
    pub outer: String,
    /// The inner level's.
    pub inner: String,
    /// The largest message that does not wait for its receiver.
    pub eager_limit: Option<u64>,
    /// A sentence on each jump.
    pub notes: Vec<String>,
}

/// A level's delay and the time of a handshake in it.
struct LevelDelay {
    key: String,
    handshake: f64,
}

impl Levels<'_> {
    /// Returns the delays with the eager limit of the largest jump in proportion that has the time of a
    /// handshake. `whole` is the time of an empty message between nodes.
    ///
    /// # Errors
    /// A sentence, if no machine has these levels.
    pub fn delays(&self, whole: f64) -> Result<Delays, String> {
        let (mut found, mut notes) = (None, Vec::new());
        for (at, by) in self.fit.jumps() {
            let longer = span(by);
            if by < MIN_RENDEZVOUS_JUMP * whole {
                notes.push(format!(
                    "beyond {at} bytes a message takes {longer} longer, less than a message to its receiver \
                    and back would: this is no eager limit (the end of inline sends, or another copy) but a \
                    cost of the library, which the machine has in delay"
                ));
                continue;
            }
            if found.is_some() {
                continue;
            }
            found = self.with_limit(at)?;
            notes.push(match &found {
                Some((_, handshake)) => format!(
                    "beyond {at} bytes a message takes {longer} longer: it waits for its receiver \
                    (rendezvous). The machine has this as its eager limit, whose request and answer take \
                    {}, and the rest in delay",
                    span(*handshake)
                ),
                None => format!(
                    "beyond {at} bytes a message takes {longer} longer: it may wait for its receiver \
                    (rendezvous), but request and answer of the machine, two empty messages, would take \
                    longer than was measured. The machine has this cost in delay and no eager limit, so \
                    that its senders do not wait: give eager_limit = {at} in its file if they must"
                ),
            });
        }
        let delays = match found {
            Some((delays, _)) => delays,
            None => {
                let (inner, outer) = (self.inner(None)?, self.outer(None)?);
                let key = |level: Option<LevelDelay>| level.map_or(String::new(), |level| level.key);
                Delays { outer: key(outer), inner: key(inner), ..Delays::default() }
            }
        };
        Ok(Delays { notes, ..delays })
    }

    /// Returns the delays beside the handshake of a limit, and its time between nodes. `None` if a level has
    /// measured times that are shorter.
    fn with_limit(&self, limit: u64) -> Result<Option<(Delays, f64)>, String> {
        let Some(inner) = self.inner(Some(limit))? else { return Ok(None) };
        let Some(outer) = self.outer(Some(limit))? else { return Ok(None) };
        let handshake = outer.handshake;
        let delays =
            Delays { outer: outer.key, inner: inner.key, eager_limit: Some(limit), notes: Vec::new() };
        Ok(Some((delays, handshake)))
    }

    fn inner(&self, limit: Option<u64>) -> Result<Option<LevelDelay>, String> {
        match (self.inside, self.inner_links) {
            (Some(inside), Some(links)) => level_delay(inside.fit, &format!("star:l=0/{links}"), 1, limit),
            _ => Ok(Some(LevelDelay { key: String::new(), handshake: 0.0 })),
        }
    }

    fn outer(&self, limit: Option<u64>) -> Result<Option<LevelDelay>, String> {
        let node = self.inner_links.map_or(String::new(), |links| format!("/{links}"));
        let to = self.inside.map_or(1, |inside| inside.ranks);
        level_delay(self.fit, &format!("{}{node}", self.links), to, limit)
    }
}

/// Returns what messages to rank `to` of a network take by their size beside its latency, its bandwidth and,
/// above the eager limit, its handshake. `None` if that alone takes longer than measured.
fn level_delay(fit: &Fit, network: &str, to: u32, limit: Option<u64>) -> Result<Option<LevelDelay>, String> {
    if fit.segments.len() < 2 && limit.is_none() {
        return Ok(Some(LevelDelay { key: String::new(), handshake: 0.0 }));
    }
    let row = |bytes: u64| Row { bytes, seconds: 0.0, resolution: 0.0, file: 0, line: 0 };
    let steepest = fit.segments.iter().map(|segment| segment.per_byte.value).fold(0.0, f64::max);
    let long = ((LONG_SECONDS / steepest.max(1e-15)) as u64).clamp(1, LONG_BYTES);
    let ends = predict(network, to, &[row(0), row(long)])?;
    let latency = ends[0].seconds;
    let per_byte = (ends[1].seconds - latency) / long as f64;
    let formula = |bytes: u64| latency + per_byte * bytes as f64;
    let mut pieces = pieces::above(&fit.segments, formula);
    // Request and answer are empty messages, which take the delay of one.
    let handshake = 2.0 * (latency + pieces.first().map_or(0.0, |piece| piece.latency));
    if let Some(limit) = limit {
        let segments = split(&fit.segments, limit);
        let with_handshake = |bytes: u64| formula(bytes) + if bytes > limit { handshake } else { 0.0 };
        let is_short =
            |segment: &Segment, bytes: u64| with_handshake(bytes) > (1.0 + MAX_SHORTFALL) * segment.at(bytes);
        let mut beyond = segments.iter().filter(|segment| segment.from > limit);
        if beyond.any(|segment| is_short(segment, segment.from) || is_short(segment, segment.until)) {
            return Ok(None);
        }
        pieces = pieces::above(&segments, with_handshake);
    }
    let is_nothing = |piece: &SizeCost| piece.latency == 0.0 && piece.per_byte == 0.0;
    let key = match pieces.iter().all(is_nothing) {
        true => String::new(),
        false => format!(",delay={}", pieces::text(&pieces)),
    };
    Ok(Some(LevelDelay { key, handshake }))
}

/// Returns the segments with one of them in two at a size within it.
fn split(segments: &[Segment], last: u64) -> Vec<Segment> {
    let halves = |&segment: &Segment| {
        let is_within = segment.from <= last && last < segment.until;
        let (first, second) =
            (Segment { until: last, ..segment }, Segment { from: last.saturating_add(1), ..segment });
        if is_within { vec![first, second] } else { vec![segment] }
    };
    segments.iter().flat_map(halves).collect()
}
