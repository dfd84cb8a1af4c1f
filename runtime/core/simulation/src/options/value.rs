//! The values of options: their types, and how each is read.

use engine::{Span, Time};
use std::path::PathBuf;

/// The charge for computation between two MPI calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComputeOption {
    /// Host time of the interval, times the processor factor.
    Measured,
    /// Nothing.
    None,
    /// One span for every interval.
    Fixed(Span),
}

/// The method that gives each rank private globals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlobalsOption {
    /// Chosen from their size and the number of ranks.
    Auto,
    /// All ranks share them.
    None,
    /// Copied out and in when ranks switch.
    Copy,
    /// An image of the program for each rank.
    Clone,
}

/// The mode of the ranks' stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackOption {
    /// Chosen from the number of ranks.
    Auto,
    /// One for each rank.
    Own,
    /// One for all; the live part is saved while a rank waits.
    Shared,
}

/// Cases in which the progress line is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgressMode {
    /// On a terminal, after a second.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The MPI that joins the native processes of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NativeMpi {
    /// The MPI whose launcher started them, as the environment tells.
    Auto,
    /// Nothing: each process runs on its own.
    Off,
    /// MPICH.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

impl ComputeOption {
    pub(super) fn parse(text: &str) -> Result<ComputeOption, String> {
        match text {
            "measured" => Ok(ComputeOption::Measured),
            "none" => Ok(ComputeOption::None),
            _ => match text.strip_prefix("fixed:") {
                Some(span) => span
                    .parse()
                    .map(ComputeOption::Fixed)
                    .map_err(|why: engine::ParseSpanError| why.to_string()),
                None => Err("a compute model is measured, none or fixed:SPAN, such as fixed:2us".into()),
            },
        }
    }
}

macro_rules! choice {
    ($type:ident, $what:literal, $($name:literal => $variant:ident),+) => {
        impl $type {
            pub(super) fn parse(text: &str) -> Result<$type, String> {
                match text {
                    $($name => Ok($type::$variant),)+
                    _ => Err(format!("{} is one of {}", $what, [$($name),+].join(", "))),
                }
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($type::$variant => $name,)+ })
            }
        }
    };
}
choice!(NativeMpi, "the joining MPI", "auto" => Auto, "none" => Off, "mpich" => Mpich, "openmpi" => OpenMpi);
choice!(GlobalsOption,
    "the way to private globals", "auto" => Auto, "none" => None, "copy" => Copy, "clone" => Clone);
choice!(StackOption, "the stack mode", "auto" => Auto, "own" => Own, "shared" => Shared);
choice!(ProgressMode, "the progress line", "auto" => Auto, "on" => On, "off" => Off);

pub(super) fn ranks(text: &str) -> Result<u32, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("a run needs at least 1 rank".into()),
        Ok(n) if n < 1 << 31 => Ok(n as u32),
        Ok(_) => Err("MPI numbers ranks with an int, so there are at most 2147483647".into()),
        Err(_) if is_number(text) => {
            Err("MPI numbers ranks with an int, so there are at most 2147483647".into())
        }
        Err(_) => Err("the number of ranks is a whole number from 1, such as 1000".into()),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

pub(super) fn text(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("the value is empty".into()) } else { Ok(text.to_owned()) }
}

/// Files for what a packet network did: the ending of each says what it gets.
pub(super) fn network_files(text: &str) -> Result<Vec<PathBuf>, String> {
    let files: Vec<PathBuf> = text.split(',').map(PathBuf::from).collect();
    let known = |file: &PathBuf| {
        file.extension().is_some_and(|ending| ["json", "csv", "svg"].iter().any(|known| ending == *known))
    };
    match files.iter().find(|file| !known(file)) {
        Some(other) => Err(format!(
            "'{}' ends neither in .json nor in .csv nor in .svg, which say what to write",
            other.display()
        )),
        None => Ok(files),
    }
}

// The program writes to standard output.
pub(super) fn path(value: &str) -> Result<PathBuf, String> {
    match value {
        "-" => Err("the program writes to standard output, and this goes to a file: name one".to_owned()),
        value => text(value).map(PathBuf::from),
    }
}

pub(super) fn placement(text: &str) -> Result<String, String> {
    match text {
        "block" | "slot" | "round-robin" | "node" | "socket" => Ok(text.to_owned()),
        _ if text.strip_prefix("file:").is_some_and(|path| !path.is_empty()) => Ok(text.to_owned()),
        _ => Err("a placement is block (or slot), round-robin (or node), socket or file:PATH".into()),
    }
}

pub(super) fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(f) if f.is_finite() && f > 0.0 => Ok(f),
        _ => Err("the processor factor is a number above 0, such as 1.5".into()),
    }
}

pub(super) fn flops(text: &str) -> Result<Option<f64>, String> {
    if text == "none" { Ok(None) } else { network::flop_rate(text).map(Some) }
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if s.is_finite() && s >= 0.0 => Ok(s),
        _ => Err("write a number of seconds, such as 60, or 0 for never".into()),
    }
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "1" | "yes" | "true" => Ok(true),
        "off" | "0" | "no" | "false" => Ok(false),
        _ => Err("write on or off".into()),
    }
}

pub(super) fn depth(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(depth) if depth <= 64 => Ok(depth),
        _ => Err("write how many callers, such as 4: a whole number up to 64".into()),
    }
}

pub(super) fn heap(text: &str) -> Result<bool, String> {
    match text {
        "clear" => Ok(false),
        "as-is" => Ok(true),
        _ => Err("write clear or as-is".into()),
    }
}

pub(super) fn timing(text: &str) -> Result<trace::Timing, String> {
    match text {
        "histogram" => Ok(trace::Timing::Histogram),
        "exact" => Ok(trace::Timing::Exact),
        "none" => Ok(trace::Timing::None),
        _ => Err("write histogram, exact or none".into()),
    }
}

pub(super) fn instant(text: &str) -> Result<Time, String> {
    text.parse().map(|span: Span| Time::ZERO + span).map_err(|why: engine::ParseSpanError| why.to_string())
}

pub(super) fn names(text: &str) -> Result<Vec<String>, String> {
    if text.split(',').any(str::is_empty) {
        return Err("write names with commas between them, such as a,b".into());
    }
    Ok(text.split(',').map(str::to_owned).collect())
}

/// Reads a number of bytes with an optional unit: `65536`, `64KiB`, `8MiB`, `1GiB`, `64k` (1000).
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 =
        number.parse().map_err(|_| "a size starts with a whole number, such as 64KiB".to_owned())?;
    let scale: u64 = match unit {
        "" | "B" => 1,
        "k" | "kB" => 1000,
        "K" | "KiB" => 1 << 10,
        "MB" => 1_000_000,
        "M" | "MiB" => 1 << 20,
        "GB" => 1_000_000_000,
        "G" | "GiB" => 1 << 30,
        _ => {
            return Err(
                "write a size in bytes, or with a unit of KiB, MiB, GiB, kB, MB, GB, such as 64KiB".into()
            );
        }
    };
    number.checked_mul(scale).ok_or_else(|| "the size is beyond 2^64 bytes".into())
}

pub(super) fn limit(text: &str) -> Result<Option<u64>, String> {
    if text == "none" { Ok(None) } else { bytes(text).map(Some) }
}

pub(super) fn stack(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        size if size < 32 << 10 => Err("a stack below 32KiB is too small for the C library's printf".into()),
        size if size > 1 << 40 => Err("a stack above 1024GiB does not fit the address space".into()),
        size => Ok(size.next_multiple_of(4096)),
    }
}
