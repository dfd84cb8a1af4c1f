//! The tables of a profile: call sites, wait states.

use crate::efficiency::Ideal;
use crate::table::{Align, Table, TableCell};
use crate::units::{percent, short};
use crate::wrap::summary_width;
use recorder::call_profile::{Lost, Moments, SiteCost};
use recorder::{CallProfile, Simulated, Spread, WaitState};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Call sites that the end of a run shows.
const SHOWN: usize = 10;

/// Instead of an empty table of call sites.
pub const NO_TIME: &str = "No call took any virtual time.";

/// Returns how the places get files and lines that have none, if there are any.
// A place without a line ends in the offset of what it returns to, from the function's begin or, where
// symbols are stripped, in the file (`recorder::Symbols`).
pub fn without_lines(profile: &CallProfile) -> Option<String> {
    let is_offset = |site: &&SiteCost| {
        site.site
            .rsplit_once("+0x")
            .is_some_and(|(_, digits)| digits.chars().all(|digit| digit.is_ascii_hexdigit()))
    };
    let all = || profile.sites.iter().filter(|site| site.time.sum_ps > 0);
    let (without, count) = (all().filter(is_offset).count(), all().count());
    (without > 0).then(|| {
        format!(
            "{without} of {count} call sites have no file and line: compile with -g, and do not strip the \
             program (a stripped one has addresses alone)."
        )
    })
}

/// Returns the call sites that took most, as lines behind the summary of a run; empty if they were not asked
/// for.
pub fn summary(run: &Simulated) -> String {
    let Some(profile) = &run.profile else { return String::new() };
    let table = sites(run, profile, SHOWN);
    if table.rows.is_empty() {
        return format!("xsim:   {NO_TIME}\n");
    }
    let mut text = table.text("xsim:   ", summary_width());
    text.extend(without_lines(profile).map(|said| format!("xsim:   {said}\n")));
    let more = profile.sites.iter().filter(|site| site.time.sum_ps > 0).count().saturating_sub(SHOWN);
    if more > 0 {
        text += &format!(
            "xsim:   and {more} more: -xsim-report FILE.json keeps them all, xsim report FILE.json shows \
             them\n"
        );
    }
    text
}

/// Returns the time of all ranks together, from the beginning of the run to its end.
pub fn whole(run: &Simulated) -> u128 {
    u128::from(run.virtual_time_ps) * u128::from(run.ranks)
}

/// Returns where the time goes: so many call sites that took any, those that took most first. Shares are of
/// all ranks' time.
pub fn sites(run: &Simulated, profile: &CallProfile, most: usize) -> Table {
    use Align::{Left, Right};
    let whole = whole(run);
    let mut table = Table::new(&[
        ("call site", Left),
        ("function", Left),
        ("calls", Right),
        ("bytes", Right),
        ("time", Right),
        ("waits", Right),
        ("a call", Right),
        ("longest", Left),
        ("lost to", Left),
    ]);
    for site in profile.sites.iter().filter(|site| site.time.sum_ps > 0).take(most) {
        table.rows.push(vec![
            site.site.as_str().into(),
            site.function.as_str().into(),
            TableCell::count(site.time.count),
            TableCell::bytes(site.bytes),
            TableCell::percent(site.time.sum_ps, whole),
            TableCell::percent(site.wait.sum_ps, whole),
            TableCell::time(site.time.mean_ps()),
            TableCell::time_on(site.time.max_ps, site.time.max_rank),
            states(site).into(),
        ]);
    }
    table
}

/// Returns the call sites by the callers that they are reached through, in the order of the sites; no rows if
/// nobody asked for them.
pub fn callers(run: &Simulated, profile: &CallProfile) -> Table {
    use Align::{Left, Right};
    let whole = whole(run);
    let mut table = Table::new(&[
        ("call site", Left),
        ("function", Left),
        ("calls", Right),
        ("time", Right),
        ("waits", Right),
        ("called from", Left),
    ]);
    for site in profile.sites.iter().filter(|site| site.time.sum_ps > 0) {
        for cost in &site.callers {
            table.rows.push(vec![
                site.site.as_str().into(),
                site.function.as_str().into(),
                TableCell::count(cost.calls),
                TableCell::percent(cost.time_ps, whole),
                TableCell::percent(cost.wait_ps, whole),
                cost.chain.join(" < ").into(),
            ]);
        }
    }
    table
}

/// Returns the longest call and whose it was.
pub fn longest(time: &Moments) -> String {
    format!("{} on {}", short(time.max_ps), time.max_rank)
}

/// Returns why a site's calls wait, each reason with its share of the waiting.
pub fn states(site: &SiteCost) -> String {
    let state = |(state, lost): (&WaitState, &Lost)| {
        format!(
            "{} {} (most on {}, for {})",
            state.name(),
            percent(lost.sum_ps, site.wait.sum_ps),
            lost.max_rank,
            lost.max_by
        )
    };
    site.states.iter().map(state).collect::<Vec<_>>().join(", ")
}

/// Returns what each wait state cost, where most of it was lost and what was lost there. Those that cost
/// nothing are left out.
pub fn lost_by_state(profile: &CallProfile) -> Vec<(WaitState, u128, &SiteCost, &Lost)> {
    let mut all = Vec::new();
    for state in WaitState::ALL {
        let lost =
            || profile.sites.iter().filter_map(|site| site.states.get(&state).map(|lost| (site, lost)));
        // The first of several: sites are in order.
        if let Some((site, most)) = lost().min_by_key(|(_, lost)| Reverse(lost.sum_ps)) {
            all.push((state, lost().map(|(_, lost)| lost.sum_ps).sum(), site, most));
        }
    }
    all
}

/// Makes the table of wait states over all sites: what they cost, and where most of it was lost.
pub fn wait_states(run: &Simulated, profile: &CallProfile) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("wait state", Left),
        ("time", Right),
        ("of all", Right),
        ("most at", Left),
        ("meaning", Left),
    ]);
    for (state, sum, site, _) in lost_by_state(profile) {
        let at = format!("{} {}", site.site, site.function);
        table.rows.push(vec![
            state.name().into(),
            TableCell::time(sum),
            TableCell::percent(sum, whole(run)),
            at.into(),
            state.meaning().into(),
        ]);
    }
    table
}

/// Makes the table of the program's regions, those that took most first. A region has the times of the rank
/// that is there longest, shares of all ranks' time, and POP's efficiencies within the region.
///
/// With C what a rank computes there and T the longest time of a rank there, parallel mean(C) / T is load
/// balance mean(C) / max(C) times communication max(C) / T. With a run on an ideal network communication =
/// serialisation x transfer.
pub fn regions(run: &Simulated, profile: &CallProfile, ideal: &BTreeMap<String, Ideal>) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("region", Left),
        ("visits", Right),
        ("longest", Left),
        ("of all", Right),
        ("waits", Right),
        ("parallel efficiency", Right),
        ("load balance", Right),
        ("communication efficiency", Right),
    ]);
    if !ideal.is_empty() {
        table.columns.extend([("serialisation", Right), ("transfer", Right)]);
    }
    for region in &profile.regions {
        // Of a mean of all ranks the whole is the run.
        let share = |spread: &Spread| TableCell::percent(spread.mean_ps.into(), run.virtual_time_ps.into());
        let (mean, most, time) =
            (region.compute.mean_ps as f64, region.compute.max_ps as f64, region.time.max_ps as f64);
        let part = |of: f64, whole: f64| if most > 0.0 { TableCell::ratio(of / whole) } else { "-".into() };
        table.rows.push(vec![
            region.name.as_str().into(),
            TableCell::count(region.visits),
            TableCell::time_on(region.time.max_ps, region.time.max_rank),
            share(&region.time),
            share(&region.wait),
            part(mean, time),
            part(mean, most),
            part(most, time),
        ]);
        if !ideal.is_empty() {
            let parts =
                ideal.get(&region.name).map(|of| [of.serialisation, of.transfer].map(TableCell::ratio));
            table
                .rows
                .last_mut()
                .into_iter()
                .for_each(|row| row.extend(parts.clone().unwrap_or_else(|| ["-", "-"].map(TableCell::from))));
        }
    }
    table
}

/// Returns a length of time that may be that of many ranks together.
pub fn long(ps: u128) -> String {
    u64::try_from(ps).map_or_else(|_| format!("{:.4e} s", ps as f64 / 1e12), short)
}
