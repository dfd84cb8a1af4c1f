//! The tables of a profile: call sites, wait states.

use crate::table::{Align, Table};
use crate::units::{grouped, percent, short};
use observe::CallProfile;
use observe::WaitState;
use observe::call_profile::{Moments, SiteCost};

/// Call sites that the end of a run shows.
const SHOWN: usize = 10;

/// The call sites that took most, as lines behind the summary of a run.
pub fn summary(profile: &CallProfile) -> String {
    let mut text = sites(profile, SHOWN).text("xsim:   ");
    let more = profile.sites.iter().filter(|site| site.time.sum_ps > 0).count().saturating_sub(SHOWN);
    if more > 0 {
        text += &format!("xsim:   and {more} more: -xsim-report FILE.json keeps them all, xsim report FILE.json shows them\n");
    }
    text
}

/// Time of all ranks together, computing, in MPI and waiting.
fn whole(profile: &CallProfile) -> u128 {
    let series = &profile.series;
    [&series.compute_ps, &series.mpi_ps, &series.wait_ps].iter().flat_map(|ps| ps.iter()).sum()
}

/// Where the time goes: so many call sites that took any, those that took most first. Shares are of all ranks' time.
pub fn sites(profile: &CallProfile, most: usize) -> Table {
    use Align::{Left, Right};
    let whole = whole(profile);
    let mut table = Table::new(&[
        ("call site", Left),
        ("function", Left),
        ("calls", Right),
        ("time", Right),
        ("waits", Right),
        ("a call", Right),
        ("longest", Left),
        ("lost to", Left),
    ]);
    for site in profile.sites.iter().filter(|site| site.time.sum_ps > 0).take(most) {
        table.rows.push(vec![
            site.site.clone(),
            site.function.clone(),
            grouped(site.time.count.into()),
            percent(site.time.sum_ps, whole),
            percent(site.wait.sum_ps, whole),
            short(site.time.mean_ps()),
            longest(&site.time),
            states(site),
        ]);
    }
    table
}

fn longest(time: &Moments) -> String {
    format!("{} on {}", short(time.max_ps), time.max_rank)
}

/// Why a site's calls wait, each reason with its share of the waiting.
pub fn states(site: &SiteCost) -> String {
    let state = |(state, lost): (&WaitState, &observe::call_profile::Lost)| {
        format!("{} {} (most on {}, for {})", state.name(), percent(lost.sum_ps, site.wait.sum_ps), lost.max_rank, lost.max_by)
    };
    site.states.iter().map(state).collect::<Vec<_>>().join(", ")
}

/// Wait states over all sites: what they cost, and where most of it was lost.
pub fn wait_states(profile: &CallProfile) -> Table {
    use Align::{Left, Right};
    let whole = whole(profile);
    let mut table = Table::new(&[("wait state", Left), ("calls", Right), ("time", Right), ("most at", Left)]);
    for state in WaitState::ALL {
        let mut at: Vec<_> = profile.sites.iter().filter_map(|site| site.states.get(&state).map(|lost| (site, lost))).collect();
        // The first of several: sites are in order.
        at.sort_by_key(|(_, lost)| std::cmp::Reverse(lost.sum_ps));
        let Some((site, _)) = at.first() else { continue };
        let (calls, sum) = at.iter().fold((0, 0), |(calls, sum), (_, lost)| (calls + u128::from(lost.calls), sum + lost.sum_ps));
        table.rows.push(vec![state.name().into(), grouped(calls), percent(sum, whole), format!("{} {}", site.site, site.function)]);
    }
    table
}
