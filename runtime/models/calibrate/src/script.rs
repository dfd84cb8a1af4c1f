//! The job script that measures what a calibration needs.

use std::fmt::Write as _;

/// A batch system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchSystem {
    /// `sbatch`, with `srun` as the launcher.
    Slurm,
    /// `qsub`, with `mpirun` as the launcher.
    Pbs,
}

/// Runs of each benchmark, whose medians count.
const RUNS: u32 = 3;
/// Seconds of a benchmark beside its messages: start, connections, short messages.
const START_SECONDS: u32 = 10;
/// Seconds of each pair of osu_mbw_mr at 5 GB/s between nodes: 4 MiB and shorter, 22 windows of 64.
const PAIR_SECONDS: u32 = 3;

/// A benchmark of the script.
struct Benchmark {
    file: String,
    program: &'static str,
    pairs: u32,
    is_inside: bool,
}

impl Benchmark {
    fn seconds(&self) -> u32 {
        let pairs = if self.program == "osu_mbw_mr" { self.pairs * PAIR_SECONDS } else { 2 };
        RUNS * (START_SECONDS + pairs)
    }
}

/// Returns the benchmarks for nodes of so many ranks.
fn benchmarks(ranks: u32) -> Vec<Benchmark> {
    let of = |file: &str, program, pairs, is_inside| Benchmark {
        file: file.to_owned(),
        program,
        pairs,
        is_inside,
    };
    let mut all = vec![of("latency.txt", "osu_latency", 1, false), of("pairs-1.txt", "osu_mbw_mr", 1, false)];
    if ranks > 1 {
        all.push(of(&format!("pairs-{ranks}.txt"), "osu_mbw_mr", ranks, false));
        all.push(of(&format!("burst-{ranks}.txt"), "osu_multi_lat", ranks, false));
        all.push(of("inside-latency.txt", "osu_latency", 1, true));
        let mut counts = vec![1, ranks / 4, ranks / 2];
        counts.retain(|&pairs| pairs > 0);
        counts.dedup();
        let inside = |&pairs: &u32| of(&format!("inside-{pairs}.txt"), "osu_mbw_mr", pairs, true);
        all.extend(counts.iter().map(inside));
    }
    all
}

/// Returns the job script for two nodes of so many ranks, with the command that reads what it measures.
pub fn script(system: BatchSystem, ranks: u32) -> String {
    let all = benchmarks(ranks);
    let minutes = all.iter().map(Benchmark::seconds).sum::<u32>().div_ceil(60);
    let limit = 2 * minutes + 5;
    let limit = format!("{:02}:{:02}:00", limit / 60, limit % 60);
    let mut text = "#!/bin/bash\n".to_owned();
    text += &match system {
        BatchSystem::Slurm => format!(
            "#SBATCH --job-name=xsim-calibrate\n#SBATCH --nodes=2\n#SBATCH \
            --ntasks-per-node={ranks}\n#SBATCH --exclusive\n#SBATCH --time={limit}\n"
        ),
        BatchSystem::Pbs => format!(
            "#PBS -N xsim-calibrate\n#PBS -l select=2:ncpus={ranks}:mpiprocs={ranks}\n#PBS -l \
            place=scatter:excl\n#PBS -l walltime={limit}\n"
        ),
    };
    let _ = write!(
        text,
        "# Measures messages between two nodes and inside one; expected time: {minutes} min.\n\
         # OSU is the directory of the OSU micro-benchmarks (osu_latency, osu_mbw_mr, osu_multi_lat).\n\
         set -e\n\
         OSU=${{OSU:?set OSU to the directory of osu_latency}}\n"
    );
    text += match system {
        BatchSystem::Slurm => {
            "between() { srun --nodes=2 --ntasks=$((2 * $1)) --ntasks-per-node=\"$1\" --distribution=block \
            \"$OSU/$2\"; }\n\
             inside() { srun --nodes=1 --ntasks=$((2 * $1)) --distribution=block \"$OSU/$2\"; }\n"
        }
        // MPICH has -ppn N for --map-by ppr:N:node.
        BatchSystem::Pbs => {
            "cd \"$PBS_O_WORKDIR\"\n\
             # With MPICH or Intel MPI: -ppn \"$1\" for --map-by ppr:\"$1\":node.\n\
             between() { mpirun -n $((2 * $1)) --map-by ppr:\"$1\":node \"$OSU/$2\"; }\n\
             inside() { mpirun -n $((2 * $1)) --map-by ppr:$((2 * $1)):node \"$OSU/$2\"; }\n"
        }
    };
    let _ = writeln!(text, "for run in $(seq {RUNS}); do");
    for Benchmark { file, program, pairs, is_inside } in &all {
        let scope = if *is_inside { "inside" } else { "between" };
        let _ = writeln!(text, "  {scope} {pairs} {program} >> {file}");
    }
    text += "done\n# The medians of all runs make the machine:\n";
    let mut command = "xsim calibrate".to_owned();
    for Benchmark { file, program, pairs, is_inside } in &all {
        command += &match (*program, is_inside) {
            ("osu_multi_lat", _) => format!(" --pairs {pairs} {file}"),
            (_, true) => format!(" --inside {file}"),
            (_, false) => format!(" {file}"),
        };
    }
    if ranks > 1 {
        let _ = write!(command, " --ranks-inside {ranks}");
    }
    let _ = writeln!(text, "echo '{command} -o cluster.toml'");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_measures_each_table_that_a_machine_needs() {
        for (system, directive) in
            [(BatchSystem::Slurm, "#SBATCH --nodes=2"), (BatchSystem::Pbs, "#PBS -l select=2:ncpus=32")]
        {
            let text = script(system, 32);
            for said in [
                directive,
                "between 1 osu_latency >> latency.txt",
                "between 32 osu_mbw_mr >> pairs-32.txt",
                "between 32 osu_multi_lat >> burst-32.txt",
                "inside 16 osu_mbw_mr >> inside-16.txt",
                "expected time: 13 min",
                "--inside inside-8.txt --inside inside-16.txt --ranks-inside 32 -o cluster.toml",
            ] {
                assert!(text.contains(said), "{said} is missing in\n{text}");
            }
        }
    }

    #[test]
    fn a_node_of_one_rank_has_no_benchmark_inside() {
        let text = script(BatchSystem::Slurm, 1);
        assert!(!text.contains("  inside") && !text.contains("ranks-inside"), "{text}");
    }
}
