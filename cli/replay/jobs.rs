//! `xsim replay --job`: several traces at once on one machine, and what they cost each other.

use crate::failure::{Failure, USAGE};
use crate::scaling::RequestedScaling;
use crate::workload::{FinishedRun, Processes, drive, tell};
use ::trace::{Trace, duplicates};
use ::workload::{How, Job, Jobs, Replay};
use engine::{Span, Time};
use mpi::Setup;
use network::Share;
use simulation::{HostMeter, Options};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A job as it was given: `TRACE@WHERE+TIME`.
struct Given {
    path: PathBuf,
    share: Share,
    begins: Time,
}

impl Given {
    fn parse(text: &str) -> Result<Given, Failure> {
        let wrong = |why: String| Failure::with(USAGE, format!("--job {text}: {why}"));
        // A file's name may have the signs, too: the last ones are ours, and no time ends with other letters
        // than those of a unit.
        let (path, share, delay) = match (text.rsplit_once('@'), text.rsplit_once('+')) {
            (Some((path, place)), _) => match place.split_once('+') {
                Some((share, delay)) => {
                    (path, share, delay.parse::<Span>().map_err(|why| wrong(why.to_string()))?)
                }
                None => (path, place, Span::ZERO),
            },
            (None, Some((path, delay))) => {
                delay.parse().map_or((text, "next", Span::ZERO), |delay| (path, "next", delay))
            }
            (None, None) => (text, "next", Span::ZERO),
        };
        Ok(Given { path: path.into(), share: share.parse().map_err(wrong)?, begins: Time::ZERO + delay })
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Runs all of them together and, if `alone`, each with the machine to itself before that.
pub fn run(
    mut options: Options,
    given: &[&String],
    (how, asked): (How, &RequestedScaling),
    alone: bool,
) -> Result<ExitCode, Failure> {
    let given = given.iter().map(|text| Given::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let read = |job: &Given| {
        let mut trace = duplicates::open(&job.path).map_err(Failure::new)?;
        asked.apply(&mut trace).map_err(|why| Failure::new(format!("{}: {why}", job.path.display())))?;
        Ok(trace)
    };
    let traces = given.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let replay = |(given, trace): (&Given, _)| {
        let replay = Replay::new(trace, how)
            .map_err(|why| Failure::new(format!("{}: {why}", given.path.display())))?;
        Ok(Job::new(given.name(), replay, trace.ranks, given.begins))
    };
    let mut jobs = Jobs::new(given.iter().zip(&traces).map(replay).collect::<Result<_, Failure>>()?);
    let ranks = traces
        .iter()
        .try_fold(0u32, |sum, trace| sum.checked_add(trace.ranks))
        .filter(|&ranks| ranks < 1 << 31);
    options.np =
        ranks.ok_or_else(|| Failure::with(USAGE, "the jobs have 2^31 ranks and more together".to_owned()))?;
    let shares: Vec<(Share, u32)> =
        given.iter().zip(&traces).map(|(job, trace)| (job.share.clone(), trace.ranks)).collect();
    let paths: Vec<&Path> = given.iter().map(|job| job.path.as_path()).collect();
    let mut processes = Processes::connect(&options, &paths)?;
    let ((_, own), sharing) = processes.own(&options);
    simulation::preflight(&options, own, sharing, processes.is_first())
        .map_err(|why| Failure::with(USAGE, why))?;
    let name = given.iter().map(Given::name).collect::<Vec<_>>().join(" + ");
    let meter = HostMeter::start();
    let once = |processes,
                only: Option<usize>,
                jobs: &mut Jobs|
     -> Result<(FinishedRun, Option<Vec<Span>>), Failure> {
        jobs.restart(only);
        let (setup, machine) = setup(&options, &shares, jobs.names())?;
        let setup = Setup { worlds: jobs.worlds(), ..setup };
        let ran = drive(&options, processes, setup, meter.clone(), (name.clone(), machine), &mut *jobs)?;
        let took = jobs.took(&ran.mpi);
        Ok((ran, took))
    };
    let mut apart = vec![None; given.len()];
    for (job, apart) in apart.iter_mut().enumerate().filter(|_| alone) {
        let (ran, took) = once(processes, Some(job), &mut jobs)?;
        *apart = took.map(|took| took[job]);
        processes = ran.again();
    }
    let (ran, took) = once(processes, None, &mut jobs)?;
    let found = jobs.comparisons(&ran.mpi);
    let told: Vec<recorder::JobSummary> = took.map_or_else(Vec::new, |took| {
        let told = |(job, (given, trace)): (usize, (&Given, &Trace))| recorder::JobSummary {
            program: given.name(),
            ranks: trace.ranks.into(),
            begin_ps: given.begins.as_ps(),
            virtual_time_ps: took[job].as_ps(),
            alone_ps: apart[job].map(Span::as_ps),
        };
        given.iter().zip(&traces).enumerate().map(told).collect()
    });
    if !options.quiet {
        crate::output::results(table(&told))?;
    }
    let code = tell(&options, told, ran)?;
    let mut as_recorded = true;
    for ((number, given), found) in (1..).zip(&given).zip(&found) {
        as_recorded &= super::tell_comparison(&format!("job {number}, {}: ", given.name()), found);
    }
    Ok(if as_recorded { code } else { ExitCode::from(super::DIFFERS) })
}

fn setup(
    options: &Options,
    shares: &[(Share, u32)],
    names: &'static [&'static str],
) -> Result<(Setup, String), Failure> {
    let unusable = |why: String| Failure::with(USAGE, why);
    let machine = simulation::machine::select(options).map_err(unusable)?;
    let built = machine.build_shared(shares).map_err(|why| unusable(why.to_string()))?;
    simulation::setup_on(options, built, names).map_err(unusable)
}

/// Returns a line for each job.
fn table(jobs: &[recorder::JobSummary]) -> String {
    let mut text = String::new();
    for (number, job) in (1..).zip(jobs) {
        let recorder::JobSummary { program, ranks, begin_ps, virtual_time_ps, alone_ps } = job;
        let (begin, together) = (Span::from_ps(*begin_ps), Span::from_ps(*virtual_time_ps));
        let from = if *begin_ps > 0 { format!(" from {begin} on") } else { String::new() };
        let _ = write!(text, "xsim: job {number}, {program} on {ranks} ranks{from}: {together} together");
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
