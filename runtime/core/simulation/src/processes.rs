//! The native processes of a run: who started them, which ranks each has, and how what they counted comes
//! together.

mod introduction;

pub use introduction::{fingerprint, introduce};

use crate::Options;
use crate::options::NativeMpi;
use mpi::remote::{Blocks, Remote};
use mpi::{Mpi, Setup};
use recorder::ProcessCounts;

/// Returns the MPI whose launcher started several processes, if one did.
pub fn launcher(options: &Options) -> Option<transport::Launcher> {
    match options.native {
        NativeMpi::Off => None,
        NativeMpi::Auto => transport::launcher(|name| std::env::var_os(name)),
        NativeMpi::Mpich => Some(transport::Launcher::Mpich),
        NativeMpi::OpenMpi => Some(transport::Launcher::OpenMpi),
    }
}

/// Returns the other processes, if there are any, each with its row of the run's ranks.
///
/// # Errors
/// A sentence: the launcher's MPI cannot be reached, or the map of ranks (`-xsim-map`) is wrong.
pub fn remote(options: &Options) -> Result<Option<Remote>, String> {
    let transport = transport::connect(launcher(options))?;
    if let Some(map) = &options.map {
        let rows = crate::map::read(map, options.places(), transport.size())?;
        return Ok((transport.size() > 1).then(|| Remote::placed(transport, Blocks::rows(&rows))));
    }
    Ok((transport.size() > 1).then(|| Remote::new(transport, options.places())))
}

/// Returns the first rank of this process and how many it has, and how many processes share this host.
pub fn own(options: &Options, remote: Option<&Remote>) -> ((u32, u32), u32) {
    match remote {
        None => ((0, options.places()), 1),
        Some(remote) => (remote.own(), transport::on_this_host(|name| std::env::var_os(name))),
    }
}

/// Gives a run the other processes.
// A network of packets is there once: each process has built it to learn of the machine, and all but the
// first let go of it.
pub fn spread(mut setup: Setup, remote: Option<Remote>) -> Setup {
    if remote.as_ref().is_some_and(|remote| !remote.is_first()) {
        setup.wire.leave_to_process_0();
    }
    Setup { remote, ..setup }
}

/// Joins the parts of all processes, on process 0.
///
/// # Errors
/// A sentence, if a part cannot be read.
pub fn together(mpi: &Mpi, part: ProcessCounts) -> Result<Option<ProcessCounts>, String> {
    if mpi.processes().0 == 1 {
        return Ok(Some(part));
    }
    let Some(texts) = mpi.gather_texts(part.to_text()) else { return Ok(None) };
    let mut all = ProcessCounts::default();
    for text in &texts {
        all.add(&ProcessCounts::from_text(text)?);
    }
    Ok(Some(all))
}
