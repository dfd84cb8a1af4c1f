//! Machines known by name, each with the source of its numbers: those of the paper, and a file a machine of
//! today (`presets/`).

mod file;

use engine::Span;
use std::borrow::Cow;

/// A named machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Preset {
    /// Name that `-xsim-mn` and `Machine::parse` accept.
    pub name: &'static str,
    /// Heading under which it is listed.
    pub group: Cow<'static, str>,
    /// The machine in words; empty if its group says it.
    pub title: String,
    /// The specification that it stands for.
    pub specification: Cow<'static, str>,
    /// Nodes of the whole machine; `None` if there are as many as the ranks need.
    pub nodes: Option<u64>,
    /// Ranks of a full node.
    pub ranks: u32,
    /// Part of a node that a rank is; empty if not stated.
    pub rank: String,
    /// Sources of the numbers.
    pub sources: Vec<Cow<'static, str>>,
    /// Numbers that no source states, each marked as derived or assumed.
    pub assumed: Vec<String>,
    /// Times of single messages that the machine keeps.
    pub ping_pongs: Vec<PresetPingPong>,
}

/// The time of a message on the idle machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PresetPingPong {
    /// Sender and receiver.
    pub ranks: [u32; 2],
    /// Bytes of the message.
    pub bytes: u64,
    /// Half of a ping-pong.
    pub time: Span,
    /// Source of the time, or its derivation.
    pub basis: String,
}

/// Nodes of a machine whose size is open, as it is described.
const OPEN_NODES: u64 = 2;

impl Preset {
    /// Returns the number of ranks of the whole machine, or of two nodes if its size is open.
    pub fn all_ranks(&self) -> u32 {
        let ranks = self.nodes.unwrap_or(OPEN_NODES) * u64::from(self.ranks);
        u32::try_from(ranks).unwrap_or(u32::MAX)
    }

    /// Returns the machine in a few words, for lists.
    pub fn summary(&self) -> &str {
        if self.title.is_empty() { &self.specification } else { &self.title }
    }
}

/// The machine of a run that names none.
pub const DEFAULT_MACHINE: &str = "default";

const TABLE: &str = "Jones and Engelmann, \"Simulation of Large-Scale HPC Architectures\", Table I, whose \
    latencies are a link's; sizes that it leaves open are those of figures 16 to 18";
const OWN: &str = "round numbers of a switched cluster, 1 us and 100 Gbps between any two ranks; not \
    measured on any machine";
const PLAIN_GROUP: &str = "not measured on any machine";
const PAPER_GROUP: &str = "the paper's machines, Table I";

/// Presets of one line: name, specification, ranks of a node. Table I leaves the cores per processor, the
/// width of the 2-D mesh and the third side of the 3-D networks open; the values here are those of the
/// paper's figures 16 to 18.
const LINES: [(&str, &str, u32); 13] = [
    ("default", "star:l=0.5us,b=100Gbps", 1),
    ("none", "none", 1),
    ("ethernet", "star:l=25us,b=1Gbps", 1),
    ("ethernet-2core", "star:l=25us,b=1Gbps/star:2,l=0.32us,b=12Gbps", 2),
    ("ethernet-4core", "star:l=25us,b=1Gbps/star:4,l=0.32us,b=12Gbps", 4),
    ("ethernet-8core", "star:l=25us,b=1Gbps/star:8,l=0.32us,b=12Gbps", 8),
    ("ethernet-16core", "star:l=25us,b=1Gbps/star:16,l=0.32us,b=12Gbps", 16),
    ("mesh-32", "mesh:32xn,l=7us,b=8.8Gbps", 1),
    ("mesh-64", "mesh:64xn,l=7us,b=8.8Gbps", 1),
    ("mesh-128", "mesh:128xn,l=7us,b=8.8Gbps", 1),
    ("mesh-dualcore", "mesh:8x8xn,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps", 2),
    ("torus-dualcore", "torus:8x8xn,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps", 2),
    ("twisted-dualcore", "twisted:8x8xn,degree=1,jump=1x1x1,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps", 2),
];

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../presets/", $name, ".toml")))),*]
    };
}

/// Presets that have a file each, grouped.
static FILES: [(&str, &str); 10] = files![
    "csd3-ib",
    "csd3-ib-32",
    "csd3-roce",
    "csd3-roce-32",
    "frontier",
    "aurora",
    "alps",
    "fugaku",
    "aws-hpc7a",
    "dgx-h100",
];

/// Returns the names of all presets, the default first.
pub fn preset_names() -> impl Iterator<Item = &'static str> {
    LINES.iter().map(|line| line.0).chain(FILES.iter().map(|file| file.0))
}

/// Returns all presets, those of a group in a row, the default first.
pub fn presets() -> Vec<Preset> {
    preset_names().filter_map(preset).collect()
}

/// Returns the preset of this name.
pub fn preset(name: &str) -> Option<Preset> {
    if let Some(line) = LINES.iter().find(|line| line.0 == name) {
        return Some(of_line(line));
    }
    let (name, text) = FILES.iter().find(|file| file.0 == name)?;
    Some(file::read(name, text))
}

fn of_line(&(name, specification, ranks): &(&'static str, &'static str, u32)) -> Preset {
    let (group, source) = if name == DEFAULT_MACHINE { (PLAIN_GROUP, OWN) } else { (PAPER_GROUP, TABLE) };
    Preset {
        name,
        group: group.into(),
        title: String::new(),
        specification: specification.into(),
        nodes: None,
        ranks,
        rank: String::new(),
        sources: vec![source.into()],
        assumed: Vec::new(),
        ping_pongs: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
