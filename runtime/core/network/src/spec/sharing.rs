//! The settings of a level beside its links: what the MPI library costs, and what messages share.

use super::rail::{MAX_INTERFACES, Rail};
use super::text::prefixed;
use crate::bandwidth::Bandwidth;
use crate::by_size::{BySize, bytes};
use crate::packet::FLOW_MIN;

/// Copies of a message at most.
const MAX_COPIES: u32 = 16;

/// Keys of every level with links, and what they mean.
pub(super) const COST_KEYS: [(&str, &str); 5] = [
    ("o", "time by size for which the MPI library of either end is busy with a message: 0.1us@5GB/s"),
    ("delay", "time of the MPI library by size, beside the links: 0.2us;64KiB:3us@10GB/s"),
    ("mem", "memory bandwidth that messages which meet in this level share; each copy reads and writes"),
    ("copies", "with mem, copies of a message (1)"),
    ("memmin", "with mem or loopback, bytes from which on messages inside a node share it (0)"),
];
/// Keys of the outermost level alone.
pub(super) const INTERFACE_KEYS: [(&str, &str); 8] = [
    ("nic", "bandwidth out of a node through one interface, which its ranks share (the links')"),
    ("ejection", "bandwidth into a node through one interface (as out)"),
    ("rate", "messages a second that an interface sends, and that it receives (no limit)"),
    ("nicgap", "time by size that an interface takes for each message beside its bytes (0)"),
    ("loopback", "bandwidth of messages inside a node that pass its interface (they do not)"),
    ("nics", "interfaces of a node (1)"),
    ("rail", "the interface of a message: rank, socket, peer or stripe (rank)"),
    ("flowmin", "bytes from which on a message is a flow; shorter ones queue (4KiB)"),
];

/// Returns `true` if only the outermost level understands the key.
pub(super) fn is_of_interfaces(key: &str) -> bool {
    INTERFACE_KEYS.iter().any(|(name, _)| *name == key)
}

/// The settings of a level beside its links.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct LevelSharing {
    pub(crate) delay: BySize,
    pub(crate) service: BySize,
    pub(crate) interface_gap: BySize,
    pub(crate) loopback: Option<Bandwidth>,
    memory_min: Option<u64>,
    pub(crate) memory: Option<Bandwidth>,
    copies: Option<u32>,
    pub(crate) interface: Option<Bandwidth>,
    pub(crate) ejection: Option<Bandwidth>,
    pub(crate) rate: Option<f64>,
    interfaces: Option<u32>,
    rail: Option<Rail>,
    flow_min: Option<u64>,
}

impl LevelSharing {
    /// Returns `true` if messages that leave a place of the level share its interfaces.
    pub(crate) fn has_interfaces(&self) -> bool {
        self.interface.is_some()
            || self.ejection.is_some()
            || self.rate.is_some()
            || self.loopback.is_some()
            || !self.interface_gap.is_zero()
            || self.interfaces.is_some()
            || self.rail.is_some()
    }
    /// Returns `true` if a message's time depends on other messages.
    pub(crate) fn is_shared(&self) -> bool {
        self.has_interfaces() || self.memory.is_some()
    }
    /// Returns the bytes from which on messages inside a node share its memory or interface.
    pub(crate) fn memory_min(&self) -> u64 {
        self.memory_min.unwrap_or(0)
    }
    /// Returns how often a message's bytes pass the memory: a copy reads and writes.
    pub(crate) fn passes(&self) -> u32 {
        2 * self.copies.unwrap_or(1)
    }
    /// Returns the interfaces of a node.
    pub(crate) fn interfaces(&self) -> u32 {
        self.interfaces.unwrap_or(1)
    }
    /// Returns the rule by which a message takes an interface.
    pub(crate) fn rail(&self) -> Rail {
        self.rail.unwrap_or_default()
    }
    /// Returns the bytes from which on a message is a flow.
    pub(crate) fn flow_min(&self) -> u64 {
        self.flow_min.unwrap_or(FLOW_MIN.into())
    }

    /// Reads a setting. Returns `Some(true)` if it was given before, `None` if there is none of this name.
    ///
    /// # Errors
    /// A sentence about the value.
    pub(super) fn read(&mut self, name: &str, text: &str) -> Result<Option<bool>, String> {
        let again = match name {
            "delay" => replace(&mut self.delay, text)?,
            "o" => replace(&mut self.service, text)?,
            "nicgap" => replace(&mut self.interface_gap, text)?,
            "loopback" => self.loopback.replace(finite(name, text)?).is_some(),
            "memmin" => self.memory_min.replace(size(text)?).is_some(),
            "mem" => self.memory.replace(finite(name, text)?).is_some(),
            "copies" => self.copies.replace(count(name, text, MAX_COPIES)?).is_some(),
            "nic" => self.interface.replace(finite(name, text)?).is_some(),
            "ejection" => self.ejection.replace(finite(name, text)?).is_some(),
            "rate" => self.rate.replace(rate(text)?).is_some(),
            "nics" => self.interfaces.replace(count(name, text, MAX_INTERFACES)?).is_some(),
            "rail" => self.rail.replace(Rail::parse(text)?).is_some(),
            "flowmin" => self.flow_min.replace(size(text)?).is_some(),
            _ => return Ok(None),
        };
        Ok(Some(again))
    }

    /// Returns a sentence if settings do not go together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        if self.copies.is_some() && self.memory.is_none() {
            Some("copies=... needs mem=..., the memory bandwidth that copies share")
        } else if self.memory_min.is_some() && self.memory.is_none() && self.loopback.is_none() {
            Some("memmin=... needs mem=... or loopback=..., which messages share from that size on")
        } else if self.loopback.is_some() && self.memory.is_some() {
            Some("mem=... and loopback=... exclude each other: messages inside a node pass one of them")
        } else if self.flow_min.is_some() && !self.is_shared() {
            Some("flowmin=... needs something that flows share: nic=, ejection=, rate=, nics= or mem=")
        } else if self.rail.is_some() && self.interfaces() == 1 {
            Some("rail=... needs several interfaces; add nics=2")
        } else {
            None
        }
    }

    /// Returns the settings as a specification has them.
    pub(super) fn items(&self) -> Vec<String> {
        let bandwidths = [
            ("mem", self.memory),
            ("nic", self.interface),
            ("ejection", self.ejection),
            ("loopback", self.loopback),
        ];
        let mut items = Vec::new();
        let costs = [("o", &self.service), ("delay", &self.delay), ("nicgap", &self.interface_gap)];
        let given = costs.iter().filter(|(_, cost)| **cost != BySize::default());
        items.extend(given.map(|(name, cost)| format!("{name}={cost}")));
        items.extend(
            bandwidths.iter().filter_map(|(name, value)| value.map(|value| format!("{name}={value}"))),
        );
        items.extend(self.memory_min.map(|bytes| format!("memmin={bytes}")));
        items.extend(self.copies.map(|copies| format!("copies={copies}")));
        items.extend(self.rate.map(|rate| format!("rate={rate}")));
        items.extend(self.interfaces.map(|count| format!("nics={count}")));
        items.extend(self.rail.map(|rail| format!("rail={}", rail.name())));
        items.extend(self.flow_min.map(|bytes| format!("flowmin={bytes}")));
        items
    }
}

/// Reads a cost by size. Returns `true` if there was one.
fn replace(cost: &mut BySize, text: &str) -> Result<bool, String> {
    Ok(std::mem::replace(cost, text.parse()?) != BySize::default())
}

fn size(text: &str) -> Result<u64, String> {
    bytes(text).ok_or_else(|| format!("'{text}' is not a number of bytes such as 4096 or 4KiB"))
}

fn finite(name: &str, text: &str) -> Result<Bandwidth, String> {
    let bandwidth: Bandwidth = text.parse().map_err(|why: crate::ParseBandwidthError| why.to_string())?;
    match bandwidth.is_infinite() {
        true => Err(format!("{name}=inf is shared by nobody; leave {name}= out")),
        false => Ok(bandwidth),
    }
}

fn count(name: &str, text: &str, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("{name}={text} is not a number from 1 to {most}"))
}

/// Reads messages a second, with a prefix of powers of 1000 if wanted.
fn rate(text: &str) -> Result<f64, String> {
    let rate = prefixed(text, "kMG");
    rate.filter(|rate| (1e-3..=1e12).contains(rate)).ok_or_else(|| {
        format!("rate={text} is not a number of messages a second such as 50M or 2e6 (prefixes: k, M, G)")
    })
}
