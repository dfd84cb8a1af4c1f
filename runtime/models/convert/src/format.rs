//! Formats.

use std::path::Path;

/// A format of another simulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// The text of LogGOPSim.
    Goal,
    /// The binary form.
    GoalBinary,
    /// The time-independent traces of SimGrid.
    Ti,
    /// Archives of OTF2.
    Otf2,
    /// The traces of SST, which are read and not written.
    Dumpi,
}

impl Format {
    /// Returns the format of this name: `goal`, `goalbin`, `ti`, `otf2` or `dumpi`.
    pub fn named(name: &str) -> Option<Format> {
        match name {
            "goal" => Some(Format::Goal),
            "goalbin" => Some(Format::GoalBinary),
            "ti" => Some(Format::Ti),
            "otf2" => Some(Format::Otf2),
            "dumpi" => Some(Format::Dumpi),
            _ => None,
        }
    }

    /// Returns the format that the ending of a file's name stands for.
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "goal" => Some(Format::Goal),
            "goalbin" => Some(Format::GoalBinary),
            "ti" | "txt" => Some(Format::Ti),
            "otf2" => Some(Format::Otf2),
            "meta" | "bin" => Some(Format::Dumpi),
            _ => None,
        }
    }

    /// Returns the format of a file that begins with these bytes, where they show it, whatever its name.
    pub fn of_contents(begin: &[u8]) -> Option<Format> {
        crate::goal::is_binary(begin).then_some(Format::GoalBinary)
    }
}
