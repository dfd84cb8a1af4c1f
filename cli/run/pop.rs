//! `xsim run --pop`: the program runs twice, as asked and on a network that takes no time, and POP's
//! efficiencies of the two are told (docs/reference/report.md).

use super::code;
use super::several::Scratch;
use crate::failure::{Failure, NOT_RUNNABLE};
use crate::output::{self, note};
use ::report::efficiency::regions_of;
use ::report::profile::regions;
use ::report::wrap::summary_width;
use ::report::{Efficiencies, read};
use recorder::RunReport;
use simulation::options::variable;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Options for the first run alone: the second does not write their files again, or its network, which takes
/// no time, has none.
const ONCE: [&str; 7] =
    ["log", "trace", "timeline", "critical-path", "network-report", "placement", "hostfile"];

/// The places of the two runs' reports: beside each other where one was asked for, else into a directory that
/// is gone in the end.
struct Reports {
    run: PathBuf,
    ideal: PathBuf,
    /// Held so that the directory is removed with it.
    _scratch: Option<Scratch>,
}

impl Reports {
    fn beside(run: &Path) -> Reports {
        Reports { run: run.to_owned(), ideal: run.with_extension("ideal.json"), _scratch: None }
    }

    fn temporary() -> Result<Reports, Failure> {
        let scratch = Scratch::new()?;
        Ok(Reports {
            run: scratch.0.join("run.json"),
            ideal: scratch.0.join("ideal.json"),
            _scratch: Some(scratch),
        })
    }
}

/// Runs `program`, whose environment has the options of the run, and again; `report` is where the first
/// report was asked for.
///
/// # Errors
/// If it cannot be started, or the run on the ideal network fails; what a first run that fails comes to is
/// its own matter.
// One after the other, since a program may write files; only the first is heard and has the standard input,
// as its output is what was asked for.
pub fn pop(mut program: Command, report: Option<&Path>) -> Result<ExitCode, Failure> {
    let reports = report.map_or_else(Reports::temporary, |path| Ok(Reports::beside(path)))?;
    program.env(variable("profile"), "on").env(variable("report"), &reports.run);
    let name = program.get_program().to_owned();
    let cannot =
        |why: std::io::Error| Failure::with(NOT_RUNNABLE, format!("cannot run {}: {why}", name.display()));
    let status = program.status().map_err(cannot)?;
    if !status.success() {
        return Ok(code(status));
    }
    for name in ONCE {
        program.env_remove(variable(name));
    }
    program.env(variable("report"), &reports.ideal).env(variable("mn"), "none");
    program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let ideal = program.spawn().and_then(std::process::Child::wait_with_output).map_err(cannot)?;
    if !ideal.status.success() {
        let said = String::from_utf8_lossy(&ideal.stderr);
        return Err(Failure::new(format!(
            "the run went well, but not that on a network that takes no time, which has no standard input: \
             {}",
            said.lines().last().unwrap_or("it said nothing")
        )));
    }
    let read = |path: &Path| read(path).map_err(Failure::new);
    tell(&read(&reports.run)?, &read(&reports.ideal)?)
}

fn tell(run: &RunReport, ideal: &RunReport) -> Result<ExitCode, Failure> {
    let found = Efficiencies::of(run, Some(ideal)).map_err(Failure::new)?;
    let width = summary_width();
    output::results(found.table().text("xsim:   ", width))?;
    if let Some(profile) = run.simulated.profile.as_ref().filter(|profile| !profile.regions.is_empty()) {
        let found = Ok(found.clone());
        let table = regions(&run.simulated, profile, regions_of(&found)).text("xsim:   ", width);
        output::results(format_args!("xsim:\n{table}"))?;
    }
    if let Some(note) = found.note {
        note!("xsim: {note}");
    }
    Ok(ExitCode::SUCCESS)
}
