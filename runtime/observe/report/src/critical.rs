//! The tables of a critical path: its places, its ranks, and which places delay which others.

use crate::profile::whole;
use crate::table::{Align, Table, TableCell};
use crate::units::{grouped, percent, short};
use crate::wrap::summary_width;
use recorder::Simulated;
use recorder::critical_path::{CriticalPath, LostTime, PathBreakdown};

/// Places that the end of a run shows.
const SHOWN: usize = 5;
/// Instead of a place that no call leads to.
const BEHIND: &str = "after the last call";

/// Returns what a path consists of, as lines behind the summary of a run; empty if it was not asked for.
pub fn summary(run: &Simulated) -> String {
    let Some(path) = &run.critical_path else { return String::new() };
    let width = summary_width();
    format!("xsim:   {}\n{}", said(path), sites(path, SHOWN).text("xsim:   ", width))
}

/// Returns a path in a sentence.
pub fn said(path: &CriticalPath) -> String {
    let PathBreakdown { compute_ps, mpi_ps, transfer_ps, wait_ps } = path.whole;
    let sum = u128::from(path.whole.sum());
    let parts = [
        ("computation", compute_ps),
        ("messages under way", transfer_ps),
        ("overheads of MPI", mpi_ps),
        ("other waiting", wait_ps),
    ];
    let parts: Vec<String> =
        parts.iter().map(|(name, ps)| format!("{} {name}", percent((*ps).into(), sum))).collect();
    let ranks =
        if path.ranks == 1 { "one rank".to_owned() } else { format!("{} ranks", grouped(path.ranks.into())) };
    format!(
        "critical path of {}: {}; on {ranks}, {} times from one to another",
        short(path.whole.sum()),
        parts.join(", "),
        grouped(path.hops.into())
    )
}

fn columns(first: &[(&'static str, Align)]) -> Table {
    use Align::Right;
    let kinds = [
        ("of the path", Right),
        ("computes", Right),
        ("messages", Right),
        ("in MPI", Right),
        ("waits", Right),
    ];
    Table::new(&[first, &kinds].concat())
}

fn kinds(of: &PathBreakdown, path: &CriticalPath) -> Vec<TableCell> {
    let share = TableCell::percent(of.sum().into(), path.whole.sum().into());
    [share]
        .into_iter()
        .chain([of.compute_ps, of.transfer_ps, of.mpi_ps, of.wait_ps].map(TableCell::time))
        .collect()
}

/// Returns so many places, those that have most of the path first. What a place has is the most that the run
/// would gain if it took no time.
pub fn sites(path: &CriticalPath, most: usize) -> Table {
    let mut table =
        columns(&[("call site and the computation before it", Align::Left), ("function", Align::Left)]);
    table.columns.push(("saves at most", Align::Right));
    for site in path.sites.iter().take(most) {
        let place = if site.site.is_empty() { BEHIND.to_owned() } else { site.site.clone() };
        let mut row = vec![place.into(), site.function.as_str().into()];
        row.extend(kinds(&site.of, path));
        row.push(TableCell::time(site.of.sum()));
        table.rows.push(row);
    }
    table
}

/// Returns the ranks that have most of the path.
pub fn ranks(path: &CriticalPath) -> Table {
    let mut table = columns(&[("rank", Align::Right)]);
    table.rows = path
        .by_rank
        .iter()
        .map(|rank| [TableCell::rank(rank.rank)].into_iter().chain(kinds(&rank.of, path)).collect())
        .collect();
    table
}

/// Returns so many delays, those that cost most first.
pub fn delays(run: &Simulated, path: &CriticalPath, most: usize) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("waits at", Left),
        ("wait state", Left),
        ("because of", Left),
        ("calls", Right),
        ("lost", Right),
        ("of all", Right),
        ("late by computing", Right),
    ]);
    for delay in path.delays.iter().take(most) {
        table.rows.push(vec![
            format!("{} {}", delay.site, delay.function).into(),
            delay.state.name().into(),
            format!("{} {}", delay.by_site, delay.by_function).into(),
            TableCell::count(delay.calls),
            TableCell::time(delay.lost_ps),
            TableCell::percent(delay.lost_ps, whole(run)),
            TableCell::percent(delay.compute_ps, delay.lost_ps),
        ]);
    }
    table
}

/// Returns so many places that ranks lose time to, those that cost most first: of who waits for them, and of
/// who waits for those that do.
pub fn costs(run: &Simulated, path: &CriticalPath, most: usize) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("call site and the computation before it", Left),
        ("function", Left),
        ("costs", Right),
        ("of all", Right),
        ("short-term", Right),
        ("long-term", Right),
        ("by computing", Right),
        ("by messages", Right),
    ]);
    for cost in path.costs.iter().take(most) {
        let both = |part: fn(&LostTime) -> u128| {
            TableCell::percent(part(&cost.short) + part(&cost.long), cost.sum())
        };
        table.rows.push(vec![
            if cost.site.is_empty() { BEHIND.into() } else { cost.site.as_str().into() },
            cost.function.as_str().into(),
            TableCell::time(cost.sum()),
            TableCell::percent(cost.sum(), whole(run)),
            TableCell::time(cost.short.sum()),
            TableCell::time(cost.long.sum()),
            both(|of| of.compute_ps),
            both(|of| of.transfer_ps),
        ]);
    }
    table
}
