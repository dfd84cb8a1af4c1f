//! What a packet network did, from the part of the report that it wrote itself (docs/packet.md).

use crate::table::{Align, Table};
use crate::units::{grouped, percent, short};
use observe::Simulated;
use serde_json::Value;

/// A sentence about the network and its packets, and its kinds of links; nothing of a run without packets.
pub fn network(run: &Simulated) -> Option<(String, Table)> {
    let network = run.network.as_ref()?;
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap_or(0.0);
    let count = |of: &Value, name: &str| grouped(of[name].as_u64().unwrap_or(0).into());
    let time = |ns: f64| short((ns * 1000.0).round() as u64);
    let share = |part: f64| percent((part * 1e9).round() as u128, 1_000_000_000);
    let total = &network["total"];
    let said = format!(
        "{}, {} routers, routing {}: {} packets passed {:.2} routers in the mean and took {} ({} half of them, {} 99 % of them, {} the slowest)",
        network["topology"].as_str().unwrap_or("a network of packets"),
        count(network, "routers"),
        network["routing"].as_str().unwrap_or("unknown"),
        count(total, "packets"),
        number(total, "routers_passed"),
        time(number(total, "latency_mean_ns")),
        time(number(total, "latency_p50_ns")),
        time(number(total, "latency_p99_ns")),
        time(number(total, "latency_max_ns")),
    );
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("links", Left),
        ("count", Right),
        ("busy, mean", Right),
        ("busiest", Right),
        ("buffers, mean", Right),
        ("fullest", Right),
        ("packets waited", Right),
    ]);
    for kind in network["links"].as_array().into_iter().flatten() {
        let shares = ["use_mean", "use_max", "occupancy_mean", "occupancy_max"].map(|name| share(number(kind, name)));
        let mut row = vec![kind["name"].as_str().unwrap_or_default().to_owned(), count(kind, "count")];
        row.extend(shares);
        row.push(time(number(kind, "blocked_ns")));
        table.rows.push(row);
    }
    Some((said, table))
}
