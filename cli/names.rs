//! The names under which the command is a compiler or a launcher, so that build systems find both without
//! arguments.

use crate::compile::Language;

/// The role of the command under another name than its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A compiler, as `xsim cc`.
    Compiler(Language),
    /// A launcher, as `xsim run`.
    Launcher,
}

/// The names in the directory of programs.
pub const OWN: [(&str, Role); 4] = [
    ("xsimcc", Role::Compiler(Language::C)),
    ("xsimcxx", Role::Compiler(Language::Cxx)),
    ("xsimfc", Role::Compiler(Language::Fortran)),
    ("xsimrun", Role::Launcher),
];

/// The names that other MPIs have, which build systems try.
pub const OF_MPI: [(&str, Role); 9] = [
    ("mpicc", Role::Compiler(Language::C)),
    ("mpicxx", Role::Compiler(Language::Cxx)),
    ("mpic++", Role::Compiler(Language::Cxx)),
    ("mpiCC", Role::Compiler(Language::Cxx)),
    ("mpifort", Role::Compiler(Language::Fortran)),
    ("mpif90", Role::Compiler(Language::Fortran)),
    ("mpif77", Role::Compiler(Language::Fortran)),
    ("mpiexec", Role::Launcher),
    ("mpirun", Role::Launcher),
];

/// Names that nothing installs, and that users may have given it.
const OTHERS: [(&str, Role); 2] =
    [("xsimc++", Role::Compiler(Language::Cxx)), ("xsimf90", Role::Compiler(Language::Fortran))];

/// Returns what the command is under `name`; `None` if it is itself.
pub fn role(name: &str) -> Option<Role> {
    let mut all = OWN.iter().chain(&OF_MPI).chain(&OTHERS);
    all.find(|(known, _)| *known == name).map(|&(_, role)| role)
}
