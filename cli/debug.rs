//! `xsim run --debug RANK`: the program under gdb, which knows of ranks (`debug.py`;
//! docs/how-to/debug-a-rank.md).

use crate::failure::{Failure, NOT_FOUND};
use rustix::fs::{MemfdFlags, memfd_create};
use simulation::options::variable;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::Command;

const SCRIPT: &str = include_str!("debug.py");

/// Options that a rank needs to be looked at, unless something else is asked for: a stack of its own, globals
/// where the debug information says they are. Nobody minds that a rank which is being looked at makes no
/// call.
const NEEDED: [(&str, &str); 3] = [("stack-mode", "own"), ("globals", "copy"), ("watchdog", "0")];

/// Returns the debugger that runs `program` until `rank` is in its `main`.
///
/// # Errors
/// If the script cannot be kept for it.
pub fn under(program: &Command, rank: u32) -> Result<Command, Failure> {
    let mut gdb = Command::new(debugger());
    let mut wrapper = OsString::new();
    let given: Vec<(&OsStr, &OsStr)> =
        program.get_envs().filter_map(|(name, value)| Some((name, value?))).collect();
    for &(name, value) in &given {
        // What the loader obeys would change gdb itself: it begins with the program.
        if name.as_encoded_bytes().starts_with(b"LD_") {
            for part in [OsStr::new(" '"), name, OsStr::new("="), value, OsStr::new("'")] {
                wrapper.push(part);
            }
        } else {
            gdb.env(name, value);
        }
    }
    for (name, value) in NEEDED {
        let name = variable(name);
        if std::env::var_os(&name).is_none() && !given.iter().any(|(given, _)| *given == OsStr::new(&name)) {
            gdb.env(name, value);
        }
    }
    gdb.arg("-q");
    if !wrapper.is_empty() {
        let mut command = OsString::from("set exec-wrapper env");
        command.push(wrapper);
        gdb.arg("-iex").arg(command);
    }
    gdb.args(["-ex", &format!("python exec(compile(open('{}').read(), 'debug.py', 'exec'))", script()?)]);
    gdb.args(["-ex", &format!("python begin({rank})"), "--args"]);
    gdb.arg(program.get_program()).args(program.get_args());
    Ok(gdb)
}

/// Returns what could not be started.
pub fn cannot_start(why: &std::io::Error) -> Failure {
    let name = debugger();
    Failure::with(
        NOT_FOUND,
        format!(
            "cannot start the debugger {}: {why}; install gdb, or name one with Python in GDB",
            name.display()
        ),
    )
}

fn debugger() -> OsString {
    std::env::var_os("GDB").filter(|name| !name.is_empty()).unwrap_or("gdb".into())
}

/// Returns where the debugger can read the script: a file without a name, for this command leaves nothing
/// behind.
fn script() -> Result<String, Failure> {
    let io =
        |why: std::io::Error| Failure::new(format!("cannot keep the debugger's script in memory: {why}"));
    let file = memfd_create("xsim-debug", MemfdFlags::empty()).map_err(|why| io(why.into()))?;
    let mut file = std::fs::File::from(file);
    file.write_all(SCRIPT.as_bytes()).map_err(io)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // The descriptor is the debugger's from now on.
    std::mem::forget(file);
    Ok(path)
}
