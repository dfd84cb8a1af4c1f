//! Launcher of this process, known from the environment that launchers leave.

use std::ffi::OsString;

/// The MPI whose launcher started several processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launcher {
    /// MPICH (Hydra), or another launcher that speaks PMI.
    Mpich,
    /// Open MPI, or another launcher that speaks PMIx.
    OpenMpi,
}

impl Launcher {
    /// Returns the part that stands in names of packages and libraries.
    pub fn short(self) -> &'static str {
        match self {
            Launcher::Mpich => "mpich",
            Launcher::OpenMpi => "openmpi",
        }
    }
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::Mpich => "MPICH",
            Launcher::OpenMpi => "Open MPI",
        }
    }
    /// Returns the Debian packages that bring it.
    pub fn packages(self) -> &'static str {
        match self {
            Launcher::Mpich => "mpich libmpich-dev",
            Launcher::OpenMpi => "openmpi-bin libopenmpi-dev",
        }
    }
}

/// Returns the launcher, if it started more than one process.
///
/// A job of Slurm's counts only inside a step of several tasks (`srun`): a batch script has some of its
/// variables, too.
pub fn launcher(variable: impl Fn(&str) -> Option<OsString>) -> Option<Launcher> {
    let number = |name: &str| variable(name).and_then(|value| value.to_str()?.trim().parse::<u64>().ok());
    if let Some(size) = number("OMPI_COMM_WORLD_SIZE") {
        return (size > 1).then_some(Launcher::OpenMpi);
    }
    if let Some(size) = number("PMI_SIZE") {
        return (size > 1).then_some(Launcher::Mpich);
    }
    let several = number("SLURM_STEP_NUM_TASKS").is_some_and(|tasks| tasks > 1);
    if number("PMIX_RANK").is_some() {
        // PMIx does not tell the size in the environment; Slurm does.
        return (several || number("SLURM_STEP_NUM_TASKS").is_none()).then_some(Launcher::OpenMpi);
    }
    (several && number("PMI_RANK").is_some()).then_some(Launcher::Mpich)
}

/// Returns how many processes the launcher started on this host, as far as it says so.
pub fn on_this_host(variable: impl Fn(&str) -> Option<OsString>) -> u32 {
    let number = |name: &str| variable(name).and_then(|value| value.to_str()?.trim().parse::<u32>().ok());
    let slurm = || {
        // As in `4(x2),3`: tasks of each node, in order.
        let node = number("SLURM_NODEID")?;
        let tasks = variable("SLURM_STEP_TASKS_PER_NODE")?;
        let parts = tasks.to_str()?.split(',').map(|part| part.split_once("(x").unwrap_or((part, "1)")));
        let counts = parts.flat_map(|(count, times)| {
            vec![count; times.trim_end_matches(')').parse::<usize>().unwrap_or(1)]
        });
        counts.into_iter().nth(node as usize)?.parse().ok()
    };
    number("OMPI_COMM_WORLD_LOCAL_SIZE")
        .or_else(|| number("MPI_LOCALNRANKS"))
        .or_else(slurm)
        .unwrap_or(1)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<Launcher> {
        launcher(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn launchers_are_told_apart() {
        assert_eq!(of(&[("PMI_RANK", "1"), ("PMI_SIZE", "4")]), Some(Launcher::Mpich));
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_RANK", "0")]), Some(Launcher::OpenMpi));
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "8"), ("PMIX_RANK", "3")]), Some(Launcher::OpenMpi));
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "8"), ("PMI_RANK", "3")]), Some(Launcher::Mpich));
    }

    #[test]
    fn processes_of_a_host_are_counted() {
        let count = |variables: &[(&str, &str)]| {
            on_this_host(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            })
        };
        assert_eq!(count(&[("OMPI_COMM_WORLD_LOCAL_SIZE", "3")]), 3);
        assert_eq!(count(&[("MPI_LOCALNRANKS", "2")]), 2);
        for (node, tasks) in [("0", 4), ("1", 4), ("2", 3), ("3", 1)] {
            assert_eq!(count(&[("SLURM_NODEID", node), ("SLURM_STEP_TASKS_PER_NODE", "4(x2),3")]), tasks);
        }
        assert_eq!(count(&[]), 1);
    }

    #[test]
    fn one_process_needs_no_launcher() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(of(&[("SLURM_JOB_ID", "77"), ("SLURM_PROCID", "0")]), None);
    }
}
