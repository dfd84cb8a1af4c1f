//! A trace as a program: C with MPI that does what was recorded, for people to read, compile with any MPI and
//! change (docs/reference/trace-tools.md).
//!
//! After X. Wu, V. Deshpande, F. Mueller, "ScalaBenchGen: Auto-Generation of Communication Benchmarks
//! Traces", IPDPS 2012. Loops of the trace become loops, conditions separate ranks that do something
//! different, and numbers that differ between ranks stand in vectors. The computation of ranks between two
//! calls is drawn from the histogram of these. Beyond the paper, a call is any function whose arguments the
//! trace has.

mod attributes;
mod call;
mod each;
mod files;
mod lines;
mod memory;
mod merge;
mod numbers;
mod signature;
mod spelling;
mod times;

pub use files::GeneratedFile;

use trace::Trace;

/// The datatypes of messages in the program that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datatypes {
    /// Datatypes are made as in the recording.
    Structure,
    /// Datatypes of the program are replaced by their size in bytes.
    Size,
}

/// Computation of ranks between calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Computation {
    /// Times that are drawn from the histogram of the two calls.
    Drawn,
    /// Times of each rank each time, from a file beside the program: the trace has exact times.
    Each,
}

/// Options of the program that is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Datatypes of the program.
    pub datatypes: Datatypes,
    /// Computation.
    pub computation: Computation,
    /// `MPI_Alltoallv` becomes `MPI_Alltoall` with the mean count.
    pub averages: bool,
    /// No name of the program: no call sites, no names of objects.
    pub obfuscates: bool,
    /// Functions whose calls are left out.
    pub without: Vec<String>,
}

/// Returns the program of a trace, as files; `name` is what it is called in their texts.
///
/// # Errors
/// A sentence with the rank, the call and its site, if there is a call that cannot be written, and what can
/// be done.
pub fn generate(trace: &Trace, name: &str, options: &Options) -> Result<Vec<GeneratedFile>, String> {
    let averaged;
    let trace = if options.averages {
        averaged = trace::average::averaged(trace)?;
        &averaged
    } else {
        trace
    };
    let trace = &*trace::duplicates::resolved(trace);
    let mut program = lines::ProgramText::write(trace, options)?;
    let times = match options.computation {
        Computation::Drawn => None,
        Computation::Each => Some(each::text(trace, options)?),
    };
    Ok(files::of(trace, name, options, &mut program, times))
}
