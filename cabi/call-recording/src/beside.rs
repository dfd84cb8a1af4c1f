//! What recorders are told of a call beside its arguments: what a handle stands for, where another run could
//! not know that.

use crate::arguments::ArgumentRegisters;
use crate::constants::MPI_SEEK_END;
use crate::host::Host;
use crate::parameter::RecordedParameter;
use recorder::{ArgumentValue, Value};

/// An argument that is recorded behind those of a call, by parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BesideArgument {
    /// `members`: the ranks of a group in `MPI_COMM_WORLD`.
    Members(usize),
    /// `size`: the bytes in a file from whose end the call counts, as the other parameter says.
    Size(usize, usize),
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
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            BesideArgument::Members(_) => "members",
            BesideArgument::Size(..) => "size",
        }
    }

    fn value<H: Host>(self, call: &ArgumentRegisters<H>) -> Value {
        match self {
            BesideArgument::Members(group) => match H::members(call.object_handle(group)) {
                Some(ranks) => Value::List(ranks.into_iter().map(Value::Rank).collect()),
                None => Value::Unknown,
            },
            BesideArgument::Size(file, whence) if call.number(whence, 0) == i64::from(MPI_SEEK_END) => {
                H::file_size(call.object_handle(file)).map_or(Value::Unknown, Value::Count)
            }
            BesideArgument::Size(..) => Value::Unknown,
        }
    }
}

impl<H: Host> ArgumentRegisters<H> {
    /// Adds what is recorded beside the arguments.
    pub(crate) fn beside(&self, arguments: &mut Vec<ArgumentValue>) {
        if let Some(beside) = self.plan.beside {
            arguments.push(ArgumentValue { name: beside.name(), value: beside.value(self), result: false });
        }
    }

    /// Adds that nothing is known of it.
    pub(crate) fn unknown_beside(&self, arguments: &mut Vec<ArgumentValue>) {
        if let Some(beside) = self.plan.beside {
            arguments.push(ArgumentValue { name: beside.name(), value: Value::Unknown, result: false });
        }
    }
}
