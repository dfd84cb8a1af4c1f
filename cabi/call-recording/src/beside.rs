//! What recorders are told of a call beside its arguments: what a handle stands for, where another run could
//! not know that.

use crate::arguments::ArgumentRegisters;
use crate::constants::{MPI_MODE_APPEND, MPI_SEEK_END};
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
    /// `size`: the bytes in the file that the call opens, if pointers begin at its end, as the other parameter
    /// says.
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
    fn is_result(self) -> bool {
        matches!(self, BesideArgument::Opened(..))
    }

    fn name(self) -> &'static str {
        match self {
            BesideArgument::Members(_) => "members",
            BesideArgument::Size(..) | BesideArgument::Opened(..) => "size",
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
            BesideArgument::Opened(file, amode)
                if call.number(amode, 0) & i64::from(MPI_MODE_APPEND) != 0 =>
            {
                H::opened_size(call.handle(file, 0)).map_or(Value::Unknown, Value::Count)
            }
            BesideArgument::Size(..) | BesideArgument::Opened(..) => Value::Unknown,
        }
    }
}

impl<H: Host> ArgumentRegisters<H> {
    /// Adds what is recorded beside the arguments.
    pub(crate) fn beside(&self, arguments: &mut Vec<ArgumentValue>) {
        if let Some(beside) = self.plan.beside {
            let value = if beside.is_result() { Value::Unknown } else { beside.value(self) };
            arguments.push(ArgumentValue { name: beside.name(), value, result: false });
        }
    }

    /// Puts among the arguments what is recorded beside them once the call has returned.
    pub(crate) fn beside_results(&self, arguments: &mut [ArgumentValue]) {
        if let Some(beside) = self.plan.beside.filter(|beside| beside.is_result())
            && let Some(last) = arguments.last_mut()
        {
            last.value = beside.value(self);
        }
    }

    /// Adds that nothing is known of it.
    pub(crate) fn unknown_beside(&self, arguments: &mut Vec<ArgumentValue>) {
        if let Some(beside) = self.plan.beside {
            arguments.push(ArgumentValue { name: beside.name(), value: Value::Unknown, result: false });
        }
    }
}
