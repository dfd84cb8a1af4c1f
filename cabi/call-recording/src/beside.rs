//! What recorders are told of a call beside its arguments: what a handle stands for, where another run could
//! not know that.

use crate::parameter::RecordedParameter;

/// An argument that is recorded behind those of a call, by parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BesideArgument {
    /// `members`: the ranks of a group in `MPI_COMM_WORLD`.
    Members(usize),
    /// `size`: the bytes in a file from whose end the call counts, as the other parameter says.
    Size(usize, usize),
    /// `size`: the bytes in the file that the call opens, if the other parameter, its mode, puts pointers at
    /// the end.
    Opened(usize, usize),
}

impl BesideArgument {
    /// Returns what is recorded beside the arguments of a function with these parameters.
    pub fn of(function: &str, parameters: &[RecordedParameter]) -> Option<BesideArgument> {
        let named = |name: &str| parameters.iter().position(|p| p.name == name);
        match function {
            "MPI_Win_post" | "MPI_Win_start" => named("group").map(BesideArgument::Members),
            "MPI_File_seek" | "MPI_File_seek_shared" => {
                named("fh").zip(named("whence")).map(|(file, whence)| BesideArgument::Size(file, whence))
            }
            "MPI_File_open" => {
                named("fh").zip(named("amode")).map(|(file, amode)| BesideArgument::Opened(file, amode))
            }
            _ => None,
        }
    }

    /// Returns `true` if it is known once the call has returned.
    pub fn is_result(self) -> bool {
        matches!(self, BesideArgument::Opened(..))
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            BesideArgument::Members(_) => "members",
            BesideArgument::Size(..) | BesideArgument::Opened(..) => "size",
        }
    }
}
