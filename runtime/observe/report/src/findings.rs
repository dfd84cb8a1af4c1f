//! Findings that stand out in a run, in sentences, what costs most first.

use crate::collectives;
use crate::profile::{lost_by_state, whole};
use crate::units::{percent, short};
use recorder::{RunReport, Simulated};

/// Shares of all ranks' time below this stand out for nobody.
const MIN_SHARE: f64 = 0.02;

/// Sentences about what costs most.
pub fn findings(report: &RunReport) -> Vec<String> {
    let run = &report.simulated;
    let whole = whole(run);
    let mut found: Vec<(u128, String)> = Vec::new();
    lost(run, whole, &mut found);
    imbalance(run, &mut found);
    collectives::faster(run, &mut found);
    // Of a run that took no time nothing stands out.
    found.retain(|(cost, _)| *cost > 0 && *cost as f64 >= whole as f64 * MIN_SHARE);
    found.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
    found.into_iter().map(|(_, text)| text).collect()
}

fn lost(run: &Simulated, whole: u128, found: &mut Vec<(u128, String)>) {
    let Some(profile) = &run.profile else {
        let waited = u128::from(run.wait.mean_ps) * u128::from(run.ranks);
        let text = format!(
            "{} of all ranks' time is waiting: -xsim-profile tells where, and who is waited for.",
            percent(waited, whole)
        );
        return found.push((waited, text));
    };
    let mut in_states = 0;
    for (state, sum, site, lost) in lost_by_state(profile) {
        in_states += sum;
        let text = format!(
            "{} of all ranks' time is lost by {}, most at {} ({}): one call of rank {} lost {} waiting for \
             rank {}.",
            percent(sum, whole),
            state.plural(),
            site.site,
            site.function,
            lost.max_rank,
            short(lost.max_ps),
            lost.max_by
        );
        found.push((sum, text));
    }
    let wait: u128 = profile.sites.iter().map(|site| site.wait.sum_ps).sum();
    let under_way = wait.saturating_sub(in_states);
    let text = format!(
        "{} of all ranks' time is waiting that is lost to nobody: messages under way, and what follows from \
         them. A network that takes no time would save that at most.",
        percent(under_way, whole)
    );
    found.push((under_way, text));
}

fn imbalance(run: &Simulated, found: &mut Vec<(u128, String)>) {
    let compute = &run.compute;
    let over = u128::from(compute.max_ps - compute.mean_ps) * u128::from(run.ranks);
    if compute.max_ps == 0 {
        return;
    }
    let text = format!(
        "Rank {} computes {}, {:.2} times as long as the mean of all ranks ({}).",
        compute.max_rank,
        short(compute.max_ps),
        compute.max_ps as f64 / compute.mean_ps.max(1) as f64,
        short(compute.mean_ps)
    );
    found.push((over, text));
}
