//! `xsim run --pop`: the program runs twice, as asked and on a network that takes no time, and POP's efficiencies of the two are told (docs/report.md).

use crate::failure::{Failure, NOT_RUNNABLE};
use ::report::efficiency::regions_of;
use ::report::profile::regions;
use ::report::{Efficiencies, read};
use observe::Report;
use simulation::options::variable;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

/// What the second run does not write again, and what a network that takes no time has not.
const ONCE: [&str; 6] = ["log", "trace", "timeline", "critical-path", "network-report", "placement"];

/// Where the reports of the two runs go: beside each other where one was asked for, else into a directory that is gone in the end.
struct Reports {
    run: PathBuf,
    ideal: PathBuf,
    temporary: Option<PathBuf>,
}

impl Reports {
    fn beside(run: &Path) -> Reports {
        Reports { run: run.to_owned(), ideal: run.with_extension("ideal.json"), temporary: None }
    }

    fn temporary() -> Result<Reports, Failure> {
        let directory = std::env::temp_dir().join(format!("xsim-pop-{}", std::process::id()));
        std::fs::create_dir(&directory)
            .map_err(|why| Failure::new(format!("cannot keep the reports of the two runs in {}: {why}", directory.display())))?;
        Ok(Reports { run: directory.join("run.json"), ideal: directory.join("ideal.json"), temporary: Some(directory) })
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        if let Some(directory) = &self.temporary {
            // Whatever came of it: nobody else reads them.
            drop(std::fs::remove_dir_all(directory));
        }
    }
}

/// Runs `program`, whose environment has the options of the run, and again; `report` is where the first report was asked for.
///
/// # Errors
/// If it cannot be started, or the run on the ideal network fails; what a first run that fails comes to is its own matter.
// One after the other, since a program may write files; only the first is heard and has the standard input, as its output is what was asked for.
pub fn pop(mut program: Command, report: Option<&Path>) -> Result<ExitCode, Failure> {
    let reports = report.map_or_else(Reports::temporary, |path| Ok(Reports::beside(path)))?;
    program.env(variable("profile"), "on").env(variable("report"), &reports.run);
    let name = program.get_program().to_owned();
    let cannot = |why: std::io::Error| Failure::with(NOT_RUNNABLE, format!("cannot run {}: {why}", name.display()));
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
            "the run went well, but not that on a network that takes no time, which has no standard input: {}",
            said.lines().last().unwrap_or("it said nothing")
        )));
    }
    let read = |path: &Path| read(path).map_err(Failure::new);
    tell(&read(&reports.run)?, &read(&reports.ideal)?)
}

fn tell(run: &Report, ideal: &Report) -> Result<ExitCode, Failure> {
    let found = Efficiencies::of(run, Some(ideal)).map_err(Failure::new)?;
    eprint!("{}", found.table().text("xsim:   "));
    if let Some(profile) = run.simulated.profile.as_ref().filter(|profile| !profile.regions.is_empty()) {
        let found = Ok(found.clone());
        eprint!("xsim:\n{}", regions(&run.simulated, profile, regions_of(&found)).text("xsim:   "));
    }
    if let Some(note) = found.note {
        eprintln!("xsim: {note}");
    }
    Ok(ExitCode::SUCCESS)
}

/// That of the program; of one that a signal ended as shells have it.
fn code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
