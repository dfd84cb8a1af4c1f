//! Two runs side by side, what changed most first.

use crate::document::{Document, Section};
use crate::overview::headline;
use crate::profile::long;
use crate::table::{Align, Table, TableCell};
use recorder::{RunReport, Simulated};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Returns what differs between two runs.
pub fn difference(a: &RunReport, b: &RunReport) -> Document {
    let (run_a, run_b) = (&a.simulated, &b.simulated);
    let mut sections = vec![
        Section {
            title: "Runs",
            lines: vec![format!("A  {}", headline(run_a)), format!("B  {}", headline(run_b))],
            table: None,
        },
        Section { title: "Time of a rank", lines: vec![], table: Some(totals(run_a, run_b)) },
        Section {
            title: "Functions",
            lines: vec![],
            table: Some(changes("function", functions(run_a), functions(run_b))),
        },
    ];
    if let (Some(_), Some(_)) = (&run_a.profile, &run_b.profile) {
        sections.push(Section {
            title: "Call sites",
            lines: vec![],
            table: Some(changes("call site", sites(run_a), sites(run_b))),
        });
    }
    let options = options(a, b);
    if !options.rows.is_empty() {
        sections.push(Section { title: "Options that differ", lines: vec![], table: Some(options) });
    }
    Document { title: "Differences between two runs".to_owned(), sections }
}

fn columns(name: &'static str) -> Table {
    use Align::{Left, Right};
    Table::new(&[(name, Left), ("A", Right), ("B", Right), ("B - A", Right), ("B / A", Right)])
}

fn row(name: String, a: u128, b: u128) -> Vec<TableCell> {
    let (sign, size) = if b >= a { ('+', b - a) } else { ('-', a - b) };
    let minus = if b >= a { "" } else { "-" };
    let difference = TableCell::number(format!("{sign}{}", long(size)), "ps", format!("{minus}{size}"));
    let ratio = if a == 0 { TableCell::default() } else { TableCell::ratio(b as f64 / a as f64) };
    vec![name.into(), TableCell::time(a), TableCell::time(b), difference, ratio]
}

fn totals(a: &Simulated, b: &Simulated) -> Table {
    let mut table = columns("what");
    let rows = [
        ("virtual time", a.virtual_time_ps, b.virtual_time_ps),
        ("computation, mean", a.compute.mean_ps, b.compute.mean_ps),
        ("computation, most", a.compute.max_ps, b.compute.max_ps),
        ("waiting, mean", a.wait.mean_ps, b.wait.mean_ps),
        ("waiting, most", a.wait.max_ps, b.wait.max_ps),
    ];
    table.rows = rows.into_iter().map(|(name, a, b)| row(name.to_owned(), a.into(), b.into())).collect();
    table
}

/// Returns time by function, of all ranks.
fn functions(run: &Simulated) -> BTreeMap<String, u128> {
    run.functions.iter().map(|(name, cost)| (name.clone(), cost.time_ps)).collect()
}

/// Returns time by call site, of all ranks.
fn sites(run: &Simulated) -> BTreeMap<String, u128> {
    let sites = run.profile.iter().flat_map(|profile| &profile.sites);
    sites.map(|site| (format!("{} {}", site.site, site.function), site.time.sum_ps)).collect()
}

fn changes(name: &'static str, a: BTreeMap<String, u128>, b: BTreeMap<String, u128>) -> Table {
    let mut both: BTreeMap<String, (u128, u128)> = a.into_iter().map(|(name, ps)| (name, (ps, 0))).collect();
    b.into_iter().for_each(|(name, ps)| both.entry(name).or_default().1 = ps);
    let mut both: Vec<_> = both.into_iter().filter(|(_, (a, b))| a != b).collect();
    both.sort_by_key(|(_, (a, b))| Reverse(a.abs_diff(*b)));
    let mut table = columns(name);
    table.rows = both.into_iter().map(|(name, (a, b))| row(name, a, b)).collect();
    table
}

fn options(a: &RunReport, b: &RunReport) -> Table {
    let mut table = Table::new(&[("option", Align::Left), ("A", Align::Left), ("B", Align::Left)]);
    let (a, b) = (&a.host.options, &b.host.options);
    let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for name in names.into_iter().filter(|name| a.get(*name) != b.get(*name) && *name != "report") {
        let value = |of: &BTreeMap<String, String>| of.get(name).cloned().unwrap_or_default();
        table.rows.push(vec![format!("-xsim-{name}").into(), value(a).into(), value(b).into()]);
    }
    table
}
