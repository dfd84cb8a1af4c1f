//! This build beside another one, alternately, so that the pace of a shared machine meets both: the same
//! programs, each made by its own `xsim cc`. Start-up is included.

use crate::lab::{Lab, NO_COMPUTE, is_installed};
use crate::measure::Invocation;
use crate::messages::{PATTERNS, compiled, repetitions};
use crate::results::{ResultRow, rounded};
use std::path::{Path, PathBuf};

/// Operations of `operations.c`: name, ranks, repetitions, options.
const OPERATIONS: [(&str, u32, u32, &str); 23] = [
    ("hello", 1_000_000, 1, ""),
    ("hello", 10_000_000, 1, ""),
    ("barrier", 1_000_000, 5, ""),
    ("allreduce", 1_000_000, 5, ""),
    ("reduce", 1_000_000, 5, ""),
    ("scan", 1_000_000, 1, ""),
    ("ibarrier", 1_000_000, 1, ""),
    ("iallreduce", 1_000_000, 1, ""),
    ("gatherv", 1_000_000, 1, ""),
    ("scatterv", 1_000_000, 1, ""),
    ("split", 1_000_000, 1, ""),
    ("cart", 1_000_000, 1, ""),
    ("function", 100_000, 2, ""),
    ("barrier", 16_384, 100, ""),
    ("alltoall", 4096, 1, "-xsim-coll alltoall=pairwise"),
    ("alltoallv", 4096, 1, ""),
    ("allgatherv", 4096, 1, ""),
    ("neighbor_alltoall", 1_000_000, 1, ""),
    ("neighbor_alltoallv", 1_000_000, 1, ""),
    ("neighbor_allgather", 1_000_000, 1, ""),
    ("exchange", 1024, 1000, ""),
    ("exchange", 1024, 1000, "-xsim-compute measured"),
    ("switches", 16_384, 50, ""),
];
/// Runs on two processes of MPICH: program, words, ranks.
const ON_TWO: [(&str, &str, u32); 3] = [
    ("patterns", "stencil 10", 65_536),
    ("operations", "allreduce 10", 1_000_000),
    ("patterns", "ring 100000", 2),
];

/// A row: its name, the program, the program's words, ranks, options and processes.
struct AgainstRow {
    name: String,
    program: &'static str,
    words: String,
    ranks: u32,
    options: String,
    processes: u32,
}

/// A build's programs.
struct BuildPrograms<'l> {
    lab: &'l Lab,
    patterns: PathBuf,
    operations: PathBuf,
}

impl BuildPrograms<'_> {
    fn of(lab: &Lab) -> Result<BuildPrograms<'_>, String> {
        let operations = lab.compile("cc", "benches/programs/operations.c", "operations", "")?;
        Ok(BuildPrograms { lab, patterns: compiled(lab)?, operations })
    }

    fn run(&self, case: &AgainstRow) -> Invocation {
        let program = if case.program == "patterns" { &self.patterns } else { &self.operations };
        let run = self.lab.ranks(program, &case.words, case.ranks).args(&case.options);
        match case.processes {
            1 => run,
            processes => run.under(Invocation::of("mpirun.mpich").args(&format!("-np {processes}"))),
        }
    }
}

/// Returns all rows; those on several processes if both builds can.
fn cases(on_several: bool) -> Vec<AgainstRow> {
    let mut cases = Vec::new();
    let mut add = |name: String, program, words: String, ranks, options: &str, processes| {
        let none = if options.contains("-xsim-compute") { "" } else { NO_COMPUTE };
        let options = format!("{none} {options}");
        cases.push(AgainstRow { name, program, words, ranks, options, processes });
    };
    for ranks in [64, 1024, 16_384, 1_000_000] {
        // The 12 GB of a stencil's faces are the system's time.
        for pattern in PATTERNS.into_iter().filter(|&name| (name, ranks) != ("stencil", 1_000_000)) {
            let words = format!("{pattern} {}", repetitions(pattern, 6_000_000, ranks));
            add(format!("pattern {pattern}, {ranks} ranks"), "patterns", words, ranks, "", 1);
        }
    }
    for (name, ranks, times, options) in OPERATIONS {
        let named = format!("{name}, {ranks} ranks {options}").trim().replace("-xsim-", "");
        add(named, "operations", format!("{name} {times}"), ranks, options, 1);
    }
    let packets = "-xsim-mn torus:8x8x16,l=100ns,b=10Gbps,level=packet";
    let named = "named receives over packets, 1024 ranks".to_owned();
    add(named, "patterns", "named 20".to_owned(), 1024, packets, 1);
    for (program, words, ranks) in ON_TWO.into_iter().filter(|_| on_several) {
        let name = words.split(' ').next().unwrap_or_default();
        add(format!("{name}, {ranks} ranks, 2 processes"), program, words.to_owned(), ranks, "", 2);
    }
    cases
}

/// Measures rows whose names contain `only` on the build in `directory` and on this one, alternately.
///
/// # Errors
/// A sentence if there is no build, or that of a run.
pub fn rows(lab: &Lab, directory: &Path, rounds: u32, only: &str) -> Result<Vec<ResultRow>, String> {
    let other = Lab::of(directory)?;
    let library = "libxsim_native_mpich.so";
    let on_several =
        [lab, &other].iter().all(|lab| lab.built(library).is_file()) && is_installed("mpirun.mpich");
    let (here, there) = (BuildPrograms::of(lab)?, BuildPrograms::of(&other)?);
    let cases = cases(on_several).into_iter().filter(|case| case.name.contains(only));
    cases
        .map(|case| {
            let [other, this] = lab.least_of(rounds, [&there.run(&case), &here.run(&case)])?;
            let (before, after) = (other.peak_bytes as f64, this.peak_bytes as f64);
            Ok(ResultRow::default()
                .with("row", case.name)
                .with("other s", rounded(other.cpu_s, 3))
                .with("this s", rounded(this.cpu_s, 3))
                .with("times", rounded(this.cpu_s / other.cpu_s, 3))
                .with("other MB", rounded(before / 1e6, 4))
                .with("this MB", rounded(after / 1e6, 4))
                .with("times the memory", rounded(after / before, 3)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_a_name_of_its_own() {
        let mut names: Vec<_> = cases(true).into_iter().map(|case| case.name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(cases(false).iter().all(|case| case.processes == 1));
    }
}
