//! Messages inside a node: what ranks share there, and what a message costs.

use crate::curve::{Curve, with_size};
use crate::machine::Determined;
use crate::node::{NodeTables, PairCurve, ZERO_COPY, bandwidth_text, curve};
use crate::pieces;

/// Pairs share something if as many more move less than this part more.
const MAX_SHARED_GAIN: f64 = 0.3;
/// A pair that moves so many times what a core copies at shorter sizes copies nothing: the interface does.
const BEYOND_A_CORE: f64 = 1.6;
/// Short messages of a window follow each other in cache lines; the wait for a lone one shows as a step of
/// this factor.
const STEP: f64 = 1.5;
/// A message up to this size may lie in the receiver's queue.
const MAX_QUEUED: u64 = 1024;
/// Time that a window adds to the time of a message, in messages: its end and the answer.
const ENDS_OF_A_WINDOW: f64 = 3.0;

/// A bandwidth that pairs inside a node share.
pub struct SharedCapacity {
    /// Bytes a second of all pairs.
    pub rate: f64,
    /// The most that it may be off, in proportion.
    pub within: f64,
    /// The size from which on it is shared.
    pub from: u64,
    /// `true` if it is the interface, not memory.
    pub is_interface: bool,
}

/// Returns what pairs inside a node share, by the two tables of most pairs.
pub fn capacity(tables: &[PairCurve], notes: &mut Vec<String>) -> Option<SharedCapacity> {
    let [first, .., fewer, most] = tables else {
        if let [first, most] = tables {
            return shared(first, first, most, notes);
        }
        if !tables.is_empty() {
            notes.push(
                "one number of pairs inside a node does not show what they share: osu_mbw_mr on one \
                node with 1 pair and with half its cores would show it (mem)"
                    .to_owned(),
            );
        }
        return None;
    };
    shared(first, fewer, most, notes)
}

fn shared(
    first: &PairCurve,
    fewer: &PairCurve,
    most: &PairCurve,
    notes: &mut Vec<String>,
) -> Option<SharedCapacity> {
    let more = most.pairs / fewer.pairs - 1.0;
    let is_shared = |bytes: u64| fewer.times.at(bytes) / most.times.at(bytes) < 1.0 + MAX_SHARED_GAIN * more;
    let sizes = most.times.sizes();
    // By noise a size in four may look as if pairs shared nothing.
    let is_first = |at: &usize| {
        let longer = &sizes[*at..];
        is_shared(sizes[*at])
            && longer.iter().filter(|&&bytes| is_shared(bytes)).count() * 4 >= longer.len() * 3
    };
    let from = (0..sizes.len()).find(is_first).map(|at| sizes[at]);
    let found = from.and_then(|from| Some((from, most.bandwidth(from)?)));
    let Some((from, (rate, within))) = found else {
        notes.push(format!(
            "{} pairs inside a node share nothing at any size: osu_mbw_mr with more pairs on one node \
            would show its memory bandwidth (mem)",
            most.pairs
        ));
        return None;
    };
    let alone = first.times.points().iter().filter(|point| point.0 >= from);
    let alone = alone.map(|&(bytes, seconds)| bytes as f64 / seconds).fold(0.0, f64::max);
    let copied = sizes.iter().filter(|&&bytes| bytes < from);
    let core = copied.map(|&bytes| bytes as f64 / most.of_rank(bytes).min(first.of_rank(bytes)));
    let is_interface = alone > BEYOND_A_CORE * core.fold(0.0, f64::max);
    Some(SharedCapacity { rate, within, from, is_interface })
}

/// Tables and costs that the level of messages inside a node follows from.
pub struct NodeInside<'a> {
    /// All tables.
    pub tables: &'a NodeTables,
    /// Windows of pairs inside a node.
    pub rates: &'a [PairCurve],
    /// The bandwidth that they share.
    pub capacity: Option<&'a SharedCapacity>,
    /// `o` of messages between nodes.
    pub own: &'a Curve,
    /// `delay` of messages between nodes.
    pub delay: &'a Curve,
    /// A ping-pong between nodes.
    pub outside: &'a Curve,
}

/// The level of messages inside a node.
#[derive(Default)]
pub struct InsideLevel {
    /// The level's specification with a slash before it; empty if a node has one rank.
    pub level: String,
    /// Keys of the outermost level.
    pub outer: Vec<(&'static str, String)>,
    /// Bytes that a core reads and writes in a second.
    pub reduce: Option<f64>,
    /// Properties and how well they are determined.
    pub determined: Vec<Determined>,
}

/// Returns the level of messages inside a node.
pub fn level(node: &NodeInside<'_>, notes: &mut Vec<String>) -> Result<InsideLevel, String> {
    let NodeInside { tables, rates, capacity, own, delay, outside } = *node;
    if tables.ranks < 2 {
        return Ok(InsideLevel::default());
    }
    let latency = match tables.inside_latency.is_empty() {
        true => None,
        false => Some(curve(&tables.inside_latency, "latencies inside a node", notes)?),
    };
    let Some(single) = rates.first() else {
        let service = match &latency {
            Some(latency) => {
                notes.push(
                    "a ping-pong inside a node does not separate o from the rest: osu_mbw_mr of two \
                    ranks of a node would show it"
                        .to_owned(),
                );
                Curve::map(&latency.sizes(), |bytes| latency.at(bytes) / 2.0)
            }
            None => {
                notes.push(
                    "a message inside a node takes as long as one between nodes, which is the most that it \
                    can: osu_latency and osu_mbw_mr on one node would show more"
                        .to_owned(),
                );
                own.clone()
            }
        };
        let wait = |bytes: u64| (outside.at(bytes) - 2.0 * service.at(bytes)).max(0.0);
        let wait = Curve::map(&service.sizes(), wait);
        let service = pieces::text(&service.pieces(|bytes| 0.01 * service.at(bytes) + 1e-10));
        let mut level = format!("/star:{},l=0,b=inf,o={service}", tables.ranks);
        if latency.is_none() {
            let wait = wait.pieces(|bytes| 0.005 * outside.at(bytes));
            level += &format!(",delay={}", pieces::text(&wait));
        }
        return Ok(InsideLevel { level, ..InsideLevel::default() });
    };
    let sizes = own.sizes();
    // A window ends with the last message's way and the answer.
    let pair = |bytes: u64| single.of_rank(bytes) * single.window / (single.window + ENDS_OF_A_WINDOW);
    let from = capacity.map_or(u64::MAX, |capacity| capacity.from);
    let rendezvous = tables.rendezvous.filter(|_| capacity.is_some()).map_or(from, |given| given.max(from));
    let copied: Vec<u64> = sizes.iter().copied().filter(|&bytes| bytes < from).collect();
    let service = |bytes: u64| match (capacity, &copied[..]) {
        (Some(capacity), _) if bytes >= rendezvous => {
            (pair(from) - from as f64 / capacity.rate).max(ZERO_COPY)
        }
        // Fragments of the longest copied messages follow each other.
        (Some(_), [.., before, last]) if bytes >= from => {
            let slope = (pair(*last) - pair(*before)) / (last - before) as f64;
            pair(*last) + slope.max(0.0) * (bytes - last) as f64
        }
        _ => pair(bytes),
    };
    let shared = |bytes: u64| match capacity {
        Some(capacity) if bytes >= rendezvous => bytes as f64 / capacity.rate,
        _ => 0.0,
    };
    let at = with_size(&sizes, rendezvous);
    let (service, wait) = match &latency {
        Some(latency) => {
            let most = |bytes: u64| ((latency.at(bytes) - shared(bytes)) / 2.0).max(0.0);
            let service = Curve::map(&at, |bytes| service(bytes).min(most(bytes)));
            let rest = |bytes: u64| latency.at(bytes) - shared(bytes) - 2.0 * service.at(bytes);
            let wait = Curve::map(&at, |bytes| rest(bytes).max(0.0));
            (service, wait)
        }
        None => {
            let lone = lone(&sizes, pair, notes);
            let wait = |bytes: u64| if bytes >= rendezvous { delay.at(bytes) } else { lone.at(bytes) };
            (Curve::map(&at, service), Curve::map(&at, wait))
        }
    };
    let of_core = |bytes: u64| {
        let best = rates.iter().map(|table| table.of_rank(bytes)).fold(f64::MAX, f64::min);
        bytes as f64 / best
    };
    let core = copied.iter().map(|&bytes| of_core(bytes)).fold(0.0, f64::max);
    let tolerance = |bytes: u64| 0.01 * (service.at(bytes) + wait.at(bytes)) + 1e-10;
    let mut level = format!(
        "/star:{},l=0,b=inf,o={},delay={}",
        tables.ranks,
        pieces::text(&service.pieces(tolerance)),
        pieces::text(&wait.pieces(tolerance))
    );
    let mut found = InsideLevel { reduce: (core > 0.0).then_some(core), ..InsideLevel::default() };
    found.determined.push(Determined::new(
        "o inside",
        service.at(at[0]),
        0.1,
        "s",
        "windows of the fewest pairs inside a node",
    ));
    if let Some(SharedCapacity { rate, within, is_interface, .. }) = capacity {
        if *is_interface {
            found.outer = vec![("loopback", bandwidth_text(*rate)), ("memmin", rendezvous.to_string())];
            found.determined.push(Determined::new(
                "loopback",
                *rate,
                *within,
                "B/s",
                "the most pairs inside a node; a lone pair is faster than cores copy",
            ));
        } else {
            // A copy reads and writes.
            level += &format!(",mem={},memmin={rendezvous}", bandwidth_text(2.0 * rate));
            found.determined.push(Determined::new(
                "mem",
                2.0 * rate,
                *within,
                "B/s",
                "the most pairs inside a node, each copy read and written",
            ));
        }
        found.determined.push(Determined::new(
            "memmin",
            rendezvous as f64,
            0.0,
            "B",
            "the size from which on more pairs move no more",
        ));
    }
    Ok(InsideLevel { level, ..found })
}

/// Returns what a lone message waits for beside the work of both ends, by size.
///
/// In a window the processor fetches the lines of short messages ahead, since they follow each other in the
/// receiver's queue. Longer ones lie elsewhere, and the wait shows in the window as a step from one size to
/// the next. A lone short message waits as long.
fn lone(sizes: &[u64], pair: impl Fn(u64) -> f64, notes: &mut Vec<String>) -> Curve {
    let short: Vec<u64> = sizes.iter().copied().filter(|&bytes| bytes > 0 && bytes <= MAX_QUEUED).collect();
    let step = |at: &[u64]| pair(at[1]) / pair(at[0]);
    let jump = short.windows(2).max_by(|a, b| step(a).total_cmp(&step(b))).filter(|at| step(at) >= STEP);
    notes.push(match jump {
        Some(at) => format!(
            "a lone message inside a node below {} bytes waits as the step of the windows at that size \
            says: osu_latency of two ranks of a node would show it",
            at[1]
        ),
        None => "a lone message inside a node takes the work of both ends: osu_latency of two ranks of a \
            node would show more"
            .to_owned(),
    });
    let wait = |bytes: u64| match jump {
        Some(at) if bytes < at[1] => 2.0 * (pair(at[1]) - pair(bytes)).max(0.0),
        _ => 0.0,
    };
    Curve::map(sizes, wait)
}
