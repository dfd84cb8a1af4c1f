//! The machine whose ranks share a node, from tables of several pairs.
//!
//! Each property has the table that shows it alone:
//!
//! - A window of one pair keeps one core of each end busy: `o`.
//! - A ping-pong is `o` of both ends, the bytes, and the rest: `l` and `delay`.
//! - Many pairs keep the interface busy: `nicgap`, and with long messages `nic`.
//! - Pairs inside a node work apart until they share something: `mem` or `loopback`.

use crate::curve::{Curve, with_size};
use crate::fit::{Estimate, fit, scatter};
use crate::inside::{self, NodeInside};
use crate::machine::{Calibrated, Determined, scatter_note, span};
use crate::pieces;
use crate::table::Row;
use network::Machine;

/// The library's time for a message whose bytes the interface moves by itself. No table shows it, since the
/// bytes take longer.
pub const ZERO_COPY: f64 = 0.5e-6;
/// The part of an interface's bandwidth from which on a lone pair is limited by it.
const LIMITED: f64 = 0.9;
/// Many pairs are slowed by something that they share below this part of as many lone pairs' rate.
const SHARED: f64 = 0.8;
/// An interface takes longer for the bytes of a message than for the message if its gap is below this part.
const BYTES_PREVAIL: f64 = 0.1;
/// The most that `o` of both ends may be of what a ping-pong takes beside its bytes.
const MAX_OWN_PART: f64 = 0.9;
/// Sizes of a table at most.
const MAX_SIZES: usize = 512;
/// A table of more pairs that has less than this part of another's bandwidth is of another machine.
const CONTRADICTS: f64 = 0.5;

/// A table of several pairs.
#[derive(Clone, PartialEq, Debug)]
pub struct PairRates {
    /// Pairs that exchange messages at once.
    pub pairs: u32,
    /// Messages in a row of which the last is answered.
    pub window: u32,
    /// Times for a message of all pairs together; of bursts, times of a message.
    pub rows: Vec<Row>,
}

/// Tables of messages between two nodes and inside one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NodeTables {
    /// A ping-pong between nodes.
    pub latency: Vec<Row>,
    /// A ping-pong inside a node; empty if there is none.
    pub inside_latency: Vec<Row>,
    /// Windows of pairs between nodes.
    pub between: Vec<PairRates>,
    /// Windows of pairs inside a node.
    pub inside: Vec<PairRates>,
    /// Ping-pongs of several pairs at once between nodes.
    pub bursts: Vec<PairRates>,
    /// Ranks of a node of the machine.
    pub ranks: u32,
    /// Bytes from which on a message inside a node waits for its receiver, if the library's setting is given.
    pub rendezvous: Option<u64>,
}

/// A table of pairs as a curve.
#[derive(Clone, Debug)]
pub(crate) struct PairCurve {
    pub(crate) pairs: f64,
    pub(crate) window: f64,
    /// The time for a message of all pairs together.
    pub(crate) times: Curve,
}

impl PairCurve {
    /// Returns the time of a rank for each message.
    pub(crate) fn of_rank(&self, bytes: u64) -> f64 {
        self.times.at(bytes) * self.pairs
    }

    /// Returns bytes a second, and how far off they may be in proportion, by the line through the longest
    /// messages.
    pub(crate) fn bandwidth(&self, from: u64) -> Option<(f64, f64)> {
        let rows: Vec<Row> = self.times.rows().filter(|row| row.bytes >= from).collect();
        let Estimate { value, within } = fit(&rows).ok()?.segments.last()?.per_byte;
        (value > 4.0 * within).then_some((value.recip(), within / value))
    }
}

/// Returns a curve for each number of pairs, ascending; tables of the same number are medians of each other.
pub(crate) fn curves(tables: &[PairRates], notes: &mut Vec<String>) -> Result<Vec<PairCurve>, String> {
    let mut pairs: Vec<u32> = tables.iter().map(|table| table.pairs).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let of = |pairs: u32| {
        let same: Vec<&PairRates> = tables.iter().filter(|table| table.pairs == pairs).collect();
        let rows: Vec<Row> = same.iter().flat_map(|table| table.rows.iter().copied()).collect();
        let times = curve(&rows, &format!("{pairs} pairs"), notes)?;
        Ok(PairCurve { pairs: f64::from(pairs), window: f64::from(same[0].window.max(2)), times })
    };
    pairs.into_iter().map(of).collect()
}

/// Returns the curve of a table, with a note on what is left out.
pub(crate) fn curve(rows: &[Row], of: &str, notes: &mut Vec<String>) -> Result<Curve, String> {
    let (curve, spikes) = Curve::of(rows);
    let sizes = curve.points().len();
    if sizes < 4 || spikes.len() * 4 > sizes {
        return Err(format!(
            "the table of {of} has {sizes} sizes without outliers, and a machine needs at least 4 and few \
            outliers: measure powers of two from 1 B to 4 MiB, three times"
        ));
    }
    if sizes > MAX_SIZES {
        return Err(format!(
            "the table of {of} has {sizes} sizes; at most {MAX_SIZES} are read: give powers of two"
        ));
    }
    for row in spikes {
        notes.push(format!(
            "{of}: {} bytes in {} is left out, far from the sizes around it: measure again",
            row.bytes,
            span(row.seconds)
        ));
    }
    Ok(curve)
}

/// Returns how far the values of the smallest sizes are from their mean in proportion, with a probability of
/// 95 %.
fn spread(curve: &Curve) -> f64 {
    let first = curve.points().first().map_or(0.0, |point| point.1);
    let values: Vec<f64> =
        curve.points().iter().map(|point| point.1).take_while(|&at| at < 1.2 * first).collect();
    let count = values.len() as f64;
    if count < 2.0 {
        return 1.0;
    }
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    2.0 * (variance / count).sqrt() / mean
}

/// Rounds to four digits, as a decimal.
pub(crate) fn decimal(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Returns a bandwidth of so many bytes a second as a specification has it.
pub(crate) fn bandwidth_text(rate: f64) -> String {
    format!("{}GB/s", decimal(rate * 1e-9))
}

/// Returns the machine of these tables.
///
/// # Errors
/// A sentence with the remedy: too few rows, no bandwidth, tables that contradict each other.
pub fn calibrate_node(tables: &NodeTables) -> Result<Calibrated, String> {
    let mut notes = Vec::new();
    let latency = curve(&tables.latency, "latencies", &mut notes)?;
    notes.extend(scatter_note(scatter(&latency.rows().collect::<Vec<_>>())));
    let between = curves(&tables.between, &mut notes)?;
    let (single, crowd) = match &between[..] {
        [] => {
            return Err(
                "no table has windows of pairs between nodes: give osu_mbw_mr or IMB's Uniband".to_owned()
            );
        }
        [only] => (only, None),
        [first, .., last] => (first, Some(last)),
    };
    let (nic, nic_within) = interface_bandwidth(&between)?;
    let inner_tables = curves(&tables.inside, &mut notes)?;
    let capacity = inside::capacity(&inner_tables, &mut notes);
    let sizes = latency.sizes();
    let zero_copy = capacity.as_ref().map(|capacity| capacity.from).or_else(|| {
        sizes.iter().copied().find(|&bytes| bytes as f64 / nic >= LIMITED * single.of_rank(bytes))
    });
    let zero_copy = zero_copy.unwrap_or(u64::MAX);
    let window = |bytes: u64| {
        // A window ends with the way of its last message and of the answer.
        let ways = latency.at(bytes) + latency.at(0);
        let each = (single.window * single.of_rank(bytes) - ways) / (single.window - 1.0);
        each.max(0.2 * single.of_rank(bytes))
    };
    let short: Vec<u64> = sizes.iter().copied().filter(|&bytes| bytes < zero_copy).collect();
    if short.iter().filter(|&&bytes| window(bytes) > 1.5 * latency.at(bytes)).count() * 2 > short.len() {
        return Err(
            "in a window each message takes longer than alone: the tables of latencies and of pairs \
            contradict each other; measure both on the same two nodes"
                .to_owned(),
        );
    }
    let beside = |bytes: u64| latency.at(bytes) - bytes as f64 / nic;
    let raw = |bytes: u64| {
        let own = if bytes < zero_copy { window(bytes) } else { ZERO_COPY };
        own.min(MAX_OWN_PART / 2.0 * beside(bytes)).max(0.0)
    };
    // Where bytes are most of the time, noise of the latency is more than all the rest.
    let is_short = |bytes: &u64| *bytes as f64 / nic < 0.1 * latency.at(*bytes);
    let rests = sizes.iter().copied().filter(is_short).map(|bytes| beside(bytes) - 2.0 * raw(bytes));
    let way = rests.min_by(f64::total_cmp).filter(|way| *way > 0.0).ok_or(
        "no message is so short that its bytes take less than a tenth of its time: measure latencies from \
        1 B on",
    )?;
    let own = Curve::map(&sizes, |bytes| raw(bytes).min((beside(bytes) - way) / 2.0).max(0.0));
    let delay = Curve::map(&sizes, |bytes| (beside(bytes) - 2.0 * own.at(bytes) - way).max(0.0));
    let interface = interface(crowd, single, nic, zero_copy, &sizes, &mut notes);
    let gap = bursts(tables, &latency, nic, interface.gap, &mut notes)?;
    let near = NodeInside {
        tables,
        rates: &inner_tables,
        capacity: capacity.as_ref(),
        own: &own,
        delay: &delay,
        outside: &latency,
    };
    let near = inside::level(&near, &mut notes)?;

    let mut network =
        format!("star:l={},b={},nic={}", span(decimal(way / 2.0)), bandwidth_text(nic), bandwidth_text(nic));
    let mut item = |key: &str, text: &str| network += &format!(",{key}={text}");
    if let (Some(gap), Some(crowd)) = (&gap, crowd) {
        item("nicgap", &pieces::text(&gap.pieces(|bytes| 0.02 * crowd.times.at(bytes))));
    } else if let Some(gap) = &gap {
        item("nicgap", &pieces::text(&gap.pieces(|_| 1e-9)));
    }
    item("o", &pieces::text(&own.pieces(|bytes| 0.01 * own.at(bytes) + 1e-10)));
    item("delay", &pieces::text(&delay.pieces(|bytes| 0.005 * latency.at(bytes))));
    near.outer.iter().for_each(|(key, text)| item(key, text));
    if let Some(bytes) = interface.flow_min {
        item("flowmin", &bytes.to_string());
    }
    network += &near.level;

    let setting = near.reduce.map(|core| format!("/rank:reduce={}", bandwidth_text(core)));
    let specification = format!("{network}{}", setting.unwrap_or_default());
    Machine::parse(&specification)
        .map_err(|why| format!("the machine would be {specification}, which cannot be: {why}"))?;
    let first = sizes[0];
    let mut determined = vec![
        Determined::new("l", way / 2.0, spread(&latency), "s", "half of a ping-pong without o and bytes"),
        Determined::new("nic", nic, nic_within, "B/s", "the longest messages of all pairs"),
        Determined::new("o", own.at(first), spread(&single.times), "s", "windows of the fewest pairs"),
    ];
    if let Some(gap) = &gap {
        let within = crowd.map_or(1.0, |crowd| spread(&crowd.times));
        determined.push(Determined::new("nicgap", gap.at(first), within, "s", "windows of the most pairs"));
    }
    determined.extend(near.determined);
    if let Some(&bytes) = short.last().filter(|_| zero_copy < u64::MAX) {
        let from = match capacity {
            Some(_) => "the last size at which pairs inside a node copy; in delay",
            None => "the last size at which one pair does not fill the interface; in delay",
        };
        determined.push(Determined::new("eager", bytes as f64, 0.0, "B", from));
    }
    Ok(Calibrated {
        specification,
        network,
        gap: None,
        eager_limit: None,
        reduce: near.reduce.map(bandwidth_text),
        notes,
        determined,
    })
}

/// Returns the interface's bandwidth, and how far off it may be in proportion.
fn interface_bandwidth(between: &[PairCurve]) -> Result<(f64, f64), String> {
    let found: Vec<(f64, f64, f64)> = between
        .iter()
        .filter_map(|table| table.bandwidth(0).map(|(rate, within)| (rate, within, table.pairs)))
        .collect();
    let best = found.iter().max_by(|a, b| a.0.total_cmp(&b.0)).ok_or(
        "no table of pairs between nodes has times that surely grow with the size: measure messages up to \
        4 MiB",
    )?;
    if let Some(worst) = found.iter().find(|other| other.2 > best.2 && other.0 < CONTRADICTS * best.0) {
        return Err(format!(
            "{} pairs move {:.1} GB/s between nodes and {} pairs {:.1} GB/s: tables of one machine do not \
            differ so much; measure both on the same two nodes",
            best.2,
            best.0 * 1e-9,
            worst.2,
            worst.0 * 1e-9
        ));
    }
    Ok((best.0, best.1))
}

/// Costs that pairs share at their interface.
struct InterfaceCosts {
    gap: Option<Curve>,
    /// Bytes from which on the interface takes longer for bytes than for messages.
    flow_min: Option<u64>,
}

/// Returns the interface's time for each message: what many pairs take beside their bytes.
///
/// The gap of the smallest size at which pairs reach the interface's rate is that of shorter ones too, as far
/// as the pairs allow it. Messages whose bytes take ten times the gap are shared packet by packet: an
/// interface serves its queue pairs round robin, so that long messages that start together end together.
fn interface(
    crowd: Option<&PairCurve>,
    single: &PairCurve,
    nic: f64,
    zero_copy: u64,
    sizes: &[u64],
    notes: &mut Vec<String>,
) -> InterfaceCosts {
    let Some(crowd) = crowd else {
        notes.push(
            "one number of pairs does not show the interface's time for a message: osu_mbw_mr with \
            as many pairs as a node has cores would show it (nicgap)"
                .to_owned(),
        );
        return InterfaceCosts { gap: None, flow_min: None };
    };
    let at_most = |bytes: u64| (crowd.times.at(bytes) - bytes as f64 / nic).max(0.0);
    let alone = |bytes: u64| single.of_rank(bytes) / crowd.pairs;
    // Where the bytes take nearly all the time, the rest of it is noise.
    let is_limit = |bytes: &u64| {
        let all = crowd.times.at(*bytes);
        SHARED * all > alone(*bytes) && at_most(*bytes) > BYTES_PREVAIL * all
    };
    let short: Vec<u64> = sizes.iter().copied().filter(|&bytes| bytes < zero_copy).collect();
    let Some(&first) = short.iter().find(|bytes| is_limit(bytes)) else {
        notes.push(format!(
            "{} pairs are as fast as {} lone ones until bytes alone limit them: the interface's time for a \
            message is unknown, and osu_mbw_mr with more pairs would show it (nicgap)",
            crowd.pairs, crowd.pairs
        ));
        return InterfaceCosts { gap: None, flow_min: None };
    };
    if first > short[0] {
        notes.push(format!(
            "below {first} bytes {} pairs do not reach the interface's message rate: nicgap is that of \
            {first} bytes there, and osu_mbw_mr with more pairs would show it",
            crowd.pairs
        ));
    }
    let flow_min = short
        .iter()
        .copied()
        .find(|&bytes| bytes >= first && at_most(bytes) < BYTES_PREVAIL * crowd.times.at(bytes));
    let end = flow_min.unwrap_or(zero_copy);
    let gap = |bytes: u64| match bytes {
        _ if bytes >= end => 0.0,
        _ if bytes < first => at_most(first).min(at_most(bytes)),
        _ => at_most(bytes),
    };
    let gap = Curve::map(&with_size(sizes, end), gap);
    InterfaceCosts { gap: Some(gap), flow_min: flow_min.or((end < u64::MAX).then_some(end)) }
}

/// Returns the interface's gap, at least what messages of several pairs at once wait for each other.
fn bursts(
    tables: &NodeTables,
    latency: &Curve,
    nic: f64,
    gap: Option<Curve>,
    notes: &mut Vec<String>,
) -> Result<Option<Curve>, String> {
    let bursts = curves(&tables.bursts, notes)?;
    let Some(burst) = bursts.last().filter(|burst| burst.pairs > 1.0) else {
        notes.push(format!(
            "a message among those of all ranks at once is taken to wait as the rates say: osu_multi_lat \
            with {} pairs would show it",
            tables.ranks
        ));
        return Ok(gap);
    };
    // Of p messages that leave at once each waits for (p - 1) / 2 others on average.
    let each = |bytes: u64| {
        let waits = (burst.times.at(bytes) - latency.at(bytes)) * 2.0 / (burst.pairs - 1.0);
        (waits - bytes as f64 / nic).max(0.0)
    };
    let first = latency.sizes()[0];
    let known = gap.as_ref().map_or(0.0, |gap| gap.at(first));
    if each(first) > 1.5 * known && gap.is_some() {
        notes.push(format!(
            "messages of {} pairs at once wait {} for each other, and the rate of windows says {}: the \
            machine has the longer",
            burst.pairs,
            span(each(first)),
            span(known)
        ));
    }
    let end =
        gap.as_ref().and_then(|gap| gap.points().iter().find(|point| point.1 == 0.0).map(|point| point.0));
    let longer = |bytes: u64| match end {
        Some(end) if bytes >= end => 0.0,
        _ => each(bytes).max(gap.as_ref().map_or(0.0, |gap| gap.at(bytes))),
    };
    let sizes = gap.as_ref().map_or_else(|| burst.times.sizes(), Curve::sizes);
    Ok(Some(Curve::map(&sizes, longer)))
}
