//! Efficiencies as POP defines them: what part of the machine's time is computation, and why the rest is not.
//!
//! M. Wagner et al., "A structured approach to performance analysis", Parallel Tools Workshop 2017; the POP
//! standard metrics (pop-coe.eu). With C a rank's computation, T the run's time and T_ideal that on a network
//! without latency and of infinite bandwidth:
//!
//! parallel efficiency = mean(C) / T = load balance x communication efficiency;
//! load balance = mean(C) / max(C);
//! communication efficiency = max(C) / T = serialisation x transfer;
//! serialisation = max(C) / T_ideal, transfer = T_ideal / T.

use crate::table::{Align, Table, TableCell};
use recorder::RunReport;
use recorder::call_profile::RegionCost;
use std::collections::BTreeMap;

/// Parts of one, so that each is the product of the next two that it names.
#[derive(Clone, PartialEq, Debug)]
pub struct Efficiencies {
    /// The share of computation in the time of all ranks.
    pub parallel: f64,
    /// Mean computation of a rank, divided by that of the rank that computes longest.
    pub load_balance: f64,
    /// Computation of the rank that computes longest, divided by the time of the run.
    pub communication: f64,
    /// The two parts of the communication efficiency; `None` without a run on an ideal network.
    pub ideal: Option<Ideal>,
    /// The parts of its own communication efficiency of each region of the program that both runs know and in
    /// which something is computed.
    pub regions: BTreeMap<String, Ideal>,
    /// A warning to read before the parts are believed.
    pub note: Option<&'static str>,
}

/// Communication efficiency in parts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ideal {
    /// Computation of the rank that computes longest, divided by the time on an ideal network. The rest is
    /// waiting for other ranks.
    pub serialisation: f64,
    /// Time on an ideal network, divided by the time of the run.
    pub transfer: f64,
}

impl Efficiencies {
    /// Computes the efficiencies of a run. A run of the same program on an ideal network splits the
    /// communication efficiency into its parts.
    ///
    /// # Errors
    /// A sentence, if nothing was computed, or if the other run is of another program or number of ranks.
    pub fn of(report: &RunReport, ideal: Option<&RunReport>) -> Result<Efficiencies, String> {
        let run = &report.simulated;
        let (mean, longest, time) =
            (run.compute.mean_ps as f64, run.compute.max_ps as f64, run.virtual_time_ps as f64);
        if run.compute.max_ps == 0 {
            return Err(
                "no computation was charged, so there are no efficiencies: run without -xsim-compute none"
                    .to_owned(),
            );
        }
        let (other, ideal) = (ideal, ideal.map(|ideal| parts(report, ideal)).transpose()?);
        let (regions, note) = (
            other.map_or_else(BTreeMap::new, |other| regions(report, other)),
            other.and_then(|other| note(report, other)),
        );
        Ok(Efficiencies {
            parallel: mean / time,
            load_balance: mean / longest,
            communication: longest / time,
            ideal,
            regions,
            note,
        })
    }

    /// Returns names, values and what each says.
    pub fn rows(&self) -> Vec<(&'static str, f64, &'static str)> {
        let mut rows = vec![
            ("parallel efficiency", self.parallel, "what part of all ranks' time is computation"),
            (
                "load balance",
                self.load_balance,
                "mean computation of a rank / that of the rank that computes longest",
            ),
            (
                "communication efficiency",
                self.communication,
                "computation of the rank that computes longest / time of the run",
            ),
        ];
        if let Some(Ideal { serialisation, transfer }) = self.ideal {
            rows.push((
                "serialisation efficiency",
                serialisation,
                "the same on a network that takes no time: what is left is waiting for each other",
            ));
            rows.push((
                "transfer efficiency",
                transfer,
                "time on that network / time of the run: what messages take on their way",
            ));
        }
        rows
    }

    /// Returns the efficiencies as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("efficiency", Align::Left),
            ("value", Align::Right),
            ("what it says", Align::Left),
        ]);
        table.rows = self
            .rows()
            .into_iter()
            .map(|(name, value, meaning)| vec![name.into(), TableCell::ratio(value), meaning.into()])
            .collect();
        table
    }
}

fn parts(report: &RunReport, ideal: &RunReport) -> Result<Ideal, String> {
    let (run, other) = (&report.simulated, &ideal.simulated);
    if (&run.program, run.ranks) != (&other.program, other.ranks) {
        return Err(format!(
            "the ideal run is of {} on {} ranks, this one of {} on {}: run the same program on as many ranks \
             with -xsim-mn none",
            other.program, other.ranks, run.program, run.ranks
        ));
    }
    if !other.machine.starts_with("none") {
        return Err(format!(
            "the ideal run was made on {}, whose messages take time: run the program with -xsim-mn none",
            other.machine
        ));
    }
    Ok(Ideal::of(run.compute.max_ps, run.virtual_time_ps, other.virtual_time_ps.max(1)))
}

/// Returns the parts by region, as far as there are any.
pub fn regions_of(found: &Result<Efficiencies, String>) -> &BTreeMap<String, Ideal> {
    static NONE: BTreeMap<String, Ideal> = BTreeMap::new();
    found.as_ref().map_or(&NONE, |found| &found.regions)
}

impl Ideal {
    /// Makes it of the computation of the rank that computes longest, the time, and the time on the ideal
    /// network, all in picoseconds.
    fn of(longest: u64, time: u64, ideal: u64) -> Ideal {
        Ideal { serialisation: longest as f64 / ideal as f64, transfer: ideal as f64 / time as f64 }
    }
}

/// Returns what both runs know of each region. Its time is that of the rank that is there longest, so that
/// where ranks wait on the ideal network in another region than in the run its transfer exceeds 1.
fn regions(report: &RunReport, ideal: &RunReport) -> BTreeMap<String, Ideal> {
    let (Some(run), Some(other)) = (&report.simulated.profile, &ideal.simulated.profile) else {
        return BTreeMap::new();
    };
    let other: BTreeMap<&String, u64> =
        other.regions.iter().map(|region| (&region.name, region.time.max_ps)).collect();
    let of = |region: &RegionCost| {
        let ideal = other.get(&region.name).copied().filter(|&ps| ps > 0 && region.compute.max_ps > 0)?;
        Some((region.name.clone(), Ideal::of(region.compute.max_ps, region.time.max_ps, ideal)))
    };
    run.regions.iter().filter_map(of).collect()
}

fn note(report: &RunReport, ideal: &RunReport) -> Option<&'static str> {
    let has_regions = report.simulated.profile.as_ref().is_some_and(|profile| !profile.regions.is_empty());
    if report.simulated.compute != ideal.simulated.compute {
        return Some(
            "The two runs did not compute equally long, as where computation is measured: serialisation and \
             transfer have the noise of both.",
        );
    }
    (has_regions && ideal.simulated.profile.is_none()).then_some(
        "The ideal run was made without -xsim-profile: its regions are not known, nor are the parts of \
         theirs.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use recorder::{Host, Simulated, Spread};

    /// Returns a run of ranks that compute so many picoseconds on a machine.
    fn run(machine: &str, compute: &[u64], time: u64) -> RunReport {
        let mean_ps = compute.iter().sum::<u64>() / compute.len() as u64;
        let max_ps = compute.iter().copied().max().unwrap();
        of_spread(machine, Spread { mean_ps, max_ps, ..Spread::default() }, time)
    }

    fn of_spread(machine: &str, compute: Spread, time: u64) -> RunReport {
        let simulated = Simulated {
            early_end: None,
            program: "app".into(),
            machine: machine.into(),
            ranks: 4,
            virtual_time_ps: time,
            messages: 0,
            bytes: 0,
            internal_messages: 0,
            internal_bytes: 0,
            functions: [].into(),
            compute,
            wait: Spread::default(),
            jobs: Vec::new(),
            profile: None,
            critical_path: None,
            network: None,
        };
        let host = Host {
            native_processes: 1,
            host_time_s: 1.0,
            cpu_time_s: 1.0,
            peak_rss_bytes: 1,
            context_switches: 1,
            options: [].into(),
            command: Vec::new(),
            date: String::new(),
            xsim: String::new(),
            long_intervals: Vec::new(),
            interrupted_intervals: None,
        };
        RunReport { version: RunReport::VERSION, simulated, host }
    }

    fn region(name: &str, compute: u64, time: u64) -> RegionCost {
        let longest = |max_ps| Spread { max_ps, ..Spread::default() };
        let none = Spread::default();
        RegionCost {
            name: name.into(),
            visits: 4,
            time: longest(time),
            compute: longest(compute),
            mpi: none,
            wait: none,
        }
    }

    /// Runs of one program on 64 to 1,024 processes that the critical-path tool OTF-CPT (RWTH Aachen
    /// University, a partner of POP) has published. First come its measurements in us: mean and longest
    /// computation of a process, time without what messages take, time. Then come the efficiencies that it
    /// printed: serialisation, transfer, communication, load balance, parallel.
    const PUBLISHED: [([u64; 4], [f64; 5]); 5] = [
        (
            [32_554_688, 33_338_641, 39_388_323, 40_009_749],
            [0.846409, 0.984468, 0.833263, 0.976485, 0.813669],
        ),
        (
            [13_426_047, 14_003_071, 18_433_987, 19_656_685],
            [0.759633, 0.937797, 0.712382, 0.958793, 0.683027],
        ),
        ([7_402_236, 7_826_016, 11_941_295, 14_083_169], [0.655374, 0.847913, 0.555700, 0.945850, 0.525609]),
        ([4_234_199, 4_605_570, 8_514_002, 13_792_879], [0.540941, 0.617275, 0.333909, 0.919365, 0.306984]),
        ([2_769_027, 3_137_317, 7_168_600, 17_400_619], [0.437647, 0.411974, 0.180299, 0.882610, 0.159134]),
    ];

    #[test]
    fn published_products_follow_from_published_times() {
        for (
            [mean, longest, ideal, time],
            [serialisation, transfer, communication, load_balance, parallel],
        ) in PUBLISHED
        {
            let spread = Spread { mean_ps: mean, max_ps: longest, ..Spread::default() };
            let found =
                Efficiencies::of(&of_spread("star", spread, time), Some(&of_spread("none", spread, ideal)))
                    .unwrap();
            let parts = found.ideal.unwrap();
            let ours = [
                parts.serialisation,
                parts.transfer,
                found.communication,
                found.load_balance,
                found.parallel,
            ];
            for (ours, theirs) in
                ours.into_iter().zip([serialisation, transfer, communication, load_balance, parallel])
            {
                // Theirs are of times that are rounded to a microsecond, and are rounded to six digits.
                assert!((ours - theirs).abs() < 2e-6, "{ours} is not {theirs}");
            }
        }
    }

    #[test]
    fn each_efficiency_is_the_product_of_its_parts() {
        // Ranks compute 4, 6, 8 and 10, 7 in the mean; messages make 16 of 12.
        let (star, none) = (run("star", &[4, 6, 8, 10], 16), run("none", &[4, 6, 8, 10], 12));
        let found = Efficiencies::of(&star, Some(&none)).unwrap();
        let parts = found.ideal.unwrap();
        assert_eq!((found.parallel, found.load_balance, found.communication), (7.0 / 16.0, 0.7, 0.625));
        assert_eq!((parts.serialisation, parts.transfer), (10.0 / 12.0, 0.75));
        assert!((found.load_balance * found.communication - found.parallel).abs() < 1e-12);
        assert!((parts.serialisation * parts.transfer - found.communication).abs() < 1e-12);
        let texts: Vec<_> = found.table().rows.into_iter().map(|row| row[1].text.clone()).collect();
        assert_eq!(texts, ["0.438", "0.700", "0.625", "0.833", "0.750"]);
    }

    #[test]
    fn a_program_that_only_computes_loses_nothing_and_one_that_takes_turns_nearly_all() {
        let perfect = Efficiencies::of(&run("star", &[5; 4], 5), Some(&run("none", &[5; 4], 5))).unwrap();
        assert!(perfect.rows().iter().all(|(_, value, _)| *value == 1.0));
        // Four ranks, one after the other: the load is even, the network costs nothing, and three quarters
        // are waiting for each other.
        let turns = Efficiencies::of(&run("star", &[5; 4], 20), Some(&run("none", &[5; 4], 20))).unwrap();
        assert_eq!((turns.load_balance, turns.parallel), (1.0, 0.25));
        assert_eq!(turns.ideal, Some(Ideal { serialisation: 0.25, transfer: 1.0 }));
    }

    #[test]
    fn regions_have_their_parts_where_both_runs_know_them() {
        let with = |mut report: RunReport, regions| {
            report.simulated.profile = Some(recorder::CallProfile { regions, ..Default::default() });
            report
        };
        let star = with(
            run("star", &[8], 20),
            vec![region("solve", 8, 16), region("only here", 1, 2), region("idle", 0, 2)],
        );
        let none = with(run("none", &[8], 10), vec![region("solve", 8, 10), region("idle", 0, 1)]);
        let found = Efficiencies::of(&star, Some(&none)).unwrap();
        let solve = Ideal { serialisation: 0.8, transfer: 0.625 };
        assert_eq!(found.regions.into_iter().collect::<Vec<_>>(), [("solve".to_owned(), solve)]);
    }

    #[test]
    fn what_gives_no_efficiencies_is_told() {
        let of = |run: &RunReport, ideal: Option<&RunReport>| Efficiencies::of(run, ideal).unwrap_err();
        assert!(of(&run("star", &[0; 4], 5), None).starts_with("no computation was charged"));
        let (star, mut other) = (run("star", &[5; 4], 9), run("none", &[5; 4], 5));
        other.simulated.ranks = 8;
        assert!(of(&star, Some(&other)).contains("app on 8 ranks, this one of app on 4"));
        assert!(of(&star, Some(&star)).contains("made on star, whose messages take time"));
        let noisy = Efficiencies::of(&star, Some(&run("none", &[5, 5, 5, 6], 6))).unwrap();
        assert!(noisy.note.is_some_and(|note| note.contains("did not compute equally long")));
    }
}
