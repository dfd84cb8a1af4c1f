//! Efficiencies as POP defines them: what part of the machine's time is computation, and why the rest is not.
//!
//! M. Wagner et al., "A structured approach to performance analysis", Parallel Tools Workshop 2017; the POP standard metrics
//! (pop-coe.eu). With C a rank's computation, T the run's time and T_ideal that on a network without latency and of infinite bandwidth:
//!
//! parallel efficiency = mean(C) / T = load balance x communication efficiency;
//! load balance = mean(C) / max(C);
//! communication efficiency = max(C) / T = serialisation x transfer;
//! serialisation = max(C) / T_ideal, transfer = T_ideal / T.

use crate::table::{Align, Table};
use observe::Report;
use observe::call_profile::RegionCost;
use std::collections::BTreeMap;

/// Parts of one, so that each is the product of the next two that it names.
#[derive(Clone, PartialEq, Debug)]
pub struct Efficiencies {
    /// Of all time, what is computation.
    pub parallel: f64,
    /// What the rank that computes longest leaves to the mean.
    pub load_balance: f64,
    /// What that rank has of the run.
    pub communication: f64,
    /// What it would have on an ideal network, and what the network takes.
    pub ideal: Option<Ideal>,
    /// The parts of its own communication efficiency of each region of the program that both runs know and in which something is computed.
    pub regions: BTreeMap<String, Ideal>,
    /// What is to be known before the parts are believed.
    pub note: Option<&'static str>,
}

/// Communication efficiency in parts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ideal {
    /// What ranks lose by waiting for each other even on an ideal network.
    pub serialisation: f64,
    /// What the network takes.
    pub transfer: f64,
}

impl Efficiencies {
    /// Of a run; with one of the same program on an ideal network in all parts.
    ///
    /// # Errors
    /// A sentence, if nothing was computed, or if the other run is of another program or number of ranks.
    pub fn of(report: &Report, ideal: Option<&Report>) -> Result<Efficiencies, String> {
        let run = &report.simulated;
        let (mean, longest, time) = (run.compute.mean_ps as f64, run.compute.max_ps as f64, run.virtual_time_ps as f64);
        if run.compute.max_ps == 0 {
            return Err("no computation was charged, so there are no efficiencies: run without -xsim-compute none".to_owned());
        }
        let (other, ideal) = (ideal, ideal.map(|ideal| parts(report, ideal)).transpose()?);
        let (regions, note) =
            (other.map_or_else(BTreeMap::new, |other| regions(report, other)), other.and_then(|other| note(report, other)));
        Ok(Efficiencies { parallel: mean / time, load_balance: mean / longest, communication: longest / time, ideal, regions, note })
    }

    /// Names, values and what each says.
    pub fn rows(&self) -> Vec<(&'static str, f64, &'static str)> {
        let mut rows = vec![
            ("parallel efficiency", self.parallel, "what part of all ranks' time is computation"),
            ("load balance", self.load_balance, "mean computation of a rank / that of the rank that computes longest"),
            ("communication efficiency", self.communication, "computation of the rank that computes longest / time of the run"),
        ];
        if let Some(Ideal { serialisation, transfer }) = self.ideal {
            rows.push((
                "serialisation efficiency",
                serialisation,
                "the same on a network that takes no time: what is left is waiting for each other",
            ));
            rows.push(("transfer efficiency", transfer, "time on that network / time of the run: what messages take on their way"));
        }
        rows
    }

    /// As a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[("efficiency", Align::Left), ("value", Align::Right), ("what it says", Align::Left)]);
        table.rows =
            self.rows().into_iter().map(|(name, value, meaning)| vec![name.into(), format!("{value:.3}"), meaning.into()]).collect();
        table
    }
}

fn parts(report: &Report, ideal: &Report) -> Result<Ideal, String> {
    let (run, other) = (&report.simulated, &ideal.simulated);
    if (&run.program, run.ranks) != (&other.program, other.ranks) {
        return Err(format!(
            "the ideal run is of {} on {} ranks, this one of {} on {}: run the same program on as many ranks with -xsim-mn none",
            other.program, other.ranks, run.program, run.ranks
        ));
    }
    if !other.machine.starts_with("none") {
        return Err(format!("the ideal run was made on {}, whose messages take time: run the program with -xsim-mn none", other.machine));
    }
    Ok(Ideal::of(run.compute.max_ps, run.virtual_time_ps, other.virtual_time_ps.max(1)))
}

/// The parts by region, as far as there are any.
pub fn regions_of(found: &Result<Efficiencies, String>) -> &BTreeMap<String, Ideal> {
    static NONE: BTreeMap<String, Ideal> = BTreeMap::new();
    found.as_ref().map_or(&NONE, |found| &found.regions)
}

impl Ideal {
    /// Of the computation of the rank that computes longest, the time, and the time on the ideal network, all in picoseconds.
    fn of(longest: u64, time: u64, ideal: u64) -> Ideal {
        Ideal { serialisation: longest as f64 / ideal as f64, transfer: ideal as f64 / time as f64 }
    }
}

/// What both runs know of each region. Its time is that of the rank that is there longest, so that where ranks wait on the ideal network in another region than in the
/// run its transfer exceeds 1.
fn regions(report: &Report, ideal: &Report) -> BTreeMap<String, Ideal> {
    let (Some(run), Some(other)) = (&report.simulated.profile, &ideal.simulated.profile) else { return BTreeMap::new() };
    let other: BTreeMap<&String, u64> = other.regions.iter().map(|region| (&region.name, region.time.max_ps)).collect();
    let of = |region: &RegionCost| {
        let ideal = other.get(&region.name).copied().filter(|&ps| ps > 0 && region.compute.max_ps > 0)?;
        Some((region.name.clone(), Ideal::of(region.compute.max_ps, region.time.max_ps, ideal)))
    };
    run.regions.iter().filter_map(of).collect()
}

fn note(report: &Report, ideal: &Report) -> Option<&'static str> {
    let has_regions = report.simulated.profile.as_ref().is_some_and(|profile| !profile.regions.is_empty());
    if report.simulated.compute != ideal.simulated.compute {
        return Some(
            "The two runs did not compute equally long, as where computation is measured: serialisation and transfer have the noise of both.",
        );
    }
    (has_regions && ideal.simulated.profile.is_none())
        .then_some("The ideal run was made without -xsim-profile: its regions are not known, nor are the parts of theirs.")
}
