//! `xsim replay --job`: several traces at once on one machine, and what they cost each other.

use crate::failure::{Failure, USAGE};
use crate::scaling::Asked;
use crate::workload::{Processes, Ran, drive, tell};
use ::trace::Trace;
use ::workload::{How, Jobs, Replay};
use engine::{Span, Time};
use mpi::Setup;
use network::Share;
use observe::Job;
use simulation::{HostMeter, Options, processes};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// A job as it was given: `TRACE@WHERE`.
struct Given {
    path: PathBuf,
    share: Share,
}

impl Given {
    fn parse(text: &str) -> Result<Given, Failure> {
        // A file's name may have the sign, too: the last one is ours.
        let (path, share) = text.rsplit_once('@').unwrap_or((text, "next"));
        let share = share.parse().map_err(|why| Failure::with(USAGE, format!("--job {text}: {why}")))?;
        Ok(Given { path: path.into(), share })
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Runs all of them together and, if `alone`, each with the machine to itself before that.
pub fn run(mut options: Options, given: &[&String], (how, asked): (How, &Asked), alone: bool) -> Result<ExitCode, Failure> {
    if processes::launcher(&options).is_some() {
        let why = "several jobs at once run on one native process only: start without mpirun, or replay one trace".to_owned();
        return Err(Failure::with(USAGE, why));
    }
    let given = given.iter().map(|text| Given::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let read = |job: &Given| {
        let mut trace = Trace::open(&job.path).map_err(Failure::new)?;
        asked.apply(&mut trace).map_err(|why| Failure::new(format!("{}: {why}", job.path.display())))?;
        Ok(trace)
    };
    let traces = given.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let mut replays = Vec::new();
    for (job, trace) in given.iter().zip(&traces) {
        let replay = Replay::new(trace, how).map_err(|why| Failure::new(format!("{}: {why}", job.path.display())))?;
        replays.push((job.name(), replay, trace.ranks));
    }
    let ranks = traces.iter().try_fold(0u32, |sum, trace| sum.checked_add(trace.ranks)).filter(|&ranks| ranks < 1 << 31);
    options.np = ranks.ok_or_else(|| Failure::with(USAGE, "the jobs have 2^31 ranks and more together".to_owned()))?;
    let mut jobs = Jobs::new(replays);
    let shares: Vec<(Share, u32)> = given.iter().zip(&traces).map(|(job, trace)| (job.share.clone(), trace.ranks)).collect();
    simulation::preflight(&options, options.np, 1, true).map_err(|why| Failure::with(USAGE, why))?;
    let name = given.iter().map(Given::name).collect::<Vec<_>>().join(" + ");
    let meter = HostMeter::start();
    let mut once = |only: Option<usize>| -> Result<(Ran, Vec<Time>), Failure> {
        jobs.restart(only);
        let (setup, machine) = setup(&options, &shares, jobs.names())?;
        let setup = Setup { worlds: jobs.worlds(), ..setup };
        let ran = drive(&options, Processes::one(), setup, meter.clone(), (name.clone(), machine), &mut jobs)?;
        let ends = jobs.ends(&ran.mpi);
        Ok((ran, ends))
    };
    let mut apart = vec![None; given.len()];
    for (job, apart) in apart.iter_mut().enumerate().filter(|_| alone) {
        *apart = Some(once(Some(job))?.1[job]);
    }
    let (ran, ends) = once(None)?;
    let told = |(job, (given, trace)): (usize, (&Given, &Trace))| Job {
        program: given.name(),
        ranks: trace.ranks.into(),
        virtual_time_ps: ends[job].as_ps(),
        alone_ps: apart[job].map(Time::as_ps),
    };
    let told: Vec<Job> = given.iter().zip(&traces).enumerate().map(told).collect();
    if !options.quiet {
        eprint!("{}", table(&told));
    }
    tell(&options, told, ran)
}

fn setup(options: &Options, shares: &[(Share, u32)], names: &'static [&'static str]) -> Result<(Setup, String), Failure> {
    let unusable = |why: String| Failure::with(USAGE, why);
    let machine = simulation::machine::select(options).map_err(unusable)?;
    let built = machine.build_shared(shares).map_err(|why| unusable(why.to_string()))?;
    simulation::setup_on(options, built, names).map_err(unusable)
}

/// A line for each job.
fn table(jobs: &[Job]) -> String {
    let mut text = String::new();
    for (number, job) in (1..).zip(jobs) {
        let Job { program, ranks, virtual_time_ps, alone_ps } = job;
        let together = Span::from_ps(*virtual_time_ps);
        let _ = write!(text, "xsim: job {number}, {program} on {ranks} ranks: {together} together");
        if let Some(alone) = alone_ps {
            let _ = write!(text, ", {} alone", Span::from_ps(*alone));
            if *alone > 0 {
                let _ = write!(text, ", {:+.2} %", (*virtual_time_ps as f64 / *alone as f64 - 1.0) * 100.0);
            }
        }
        text.push('\n');
    }
    text
}
