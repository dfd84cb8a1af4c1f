//! The size and the options of a topology: their forms, their values, and what is wrong with them.

use super::LinkKind;
use crate::bandwidth::Bandwidth;
use engine::Span;
use std::fmt;

/// Form of a size in a specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sizing {
    /// One number, as in `star:16`.
    Count,
    /// A number for each dimension, as in `mesh:8x16`; without one, this many near-equal dimensions.
    Sides { default_dimensions: usize },
    /// The options give it, as in `fattree:m=4,n=3`.
    Options,
}

/// Level of detail at which a network is simulated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum DetailLevel {
    /// Hops and bytes, without contention.
    Formula,
    /// Messages that share the links of routers.
    Flow,
    /// Packets through routers.
    Packet,
}

/// An option of a topology.
#[derive(Debug)]
pub(crate) struct OptionKey {
    /// Its name, as in `dir=2`.
    pub(crate) name: &'static str,
    /// Values that it takes.
    pub(crate) kind: KeyKind,
    /// Meaning of its values and the default, for error messages.
    pub(crate) meaning: &'static str,
    /// The least detailed level that understands it; the more detailed ones do too.
    pub(crate) level: DetailLevel,
    /// `true` if it must be given.
    pub(crate) is_required: bool,
}

impl OptionKey {
    /// Makes an option that every level understands and that may be left out.
    pub(crate) const fn new(name: &'static str, kind: KeyKind, meaning: &'static str) -> OptionKey {
        OptionKey { name, kind, meaning, level: DetailLevel::Formula, is_required: false }
    }

    /// Makes it one that must be given.
    pub(crate) const fn required(self) -> OptionKey {
        OptionKey { is_required: true, ..self }
    }

    /// Makes it one that networks of routers alone understand.
    pub(crate) const fn of_routers(self) -> OptionKey {
        OptionKey { level: DetailLevel::Flow, ..self }
    }

    /// Makes it one that networks of packets alone understand.
    pub(crate) const fn of_packets(self) -> OptionKey {
        OptionKey { level: DetailLevel::Packet, ..self }
    }
}

/// The values that an option takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyKind {
    /// A decimal number in this inclusive range.
    Number(u32, u32),
    /// A 0 or 1 for each dimension, as in `wrap=101`.
    Bits,
    /// A number for each dimension, as in `jump=1x1x2`.
    PerDimension,
    /// Any number of numbers from 1 to 2^20, as in `down=16x8`.
    List,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The size itself, under a name.
    Size,
    /// Any text.
    Text,
    /// A length of time.
    Span,
    /// Bytes a second.
    Bandwidth,
}

/// The value of an option.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum OptionValue {
    Number(u32),
    Bits(Vec<bool>),
    Numbers(Vec<u32>),
    Word(&'static str),
    Text(String),
    Span(Span),
    Bandwidth(Bandwidth),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Number(n) => write!(f, "{n}"),
            OptionValue::Bits(bits) => {
                bits.iter().try_for_each(|&bit| f.write_str(if bit { "1" } else { "0" }))
            }
            OptionValue::Numbers(numbers) => f.write_str(&joined(numbers)),
            OptionValue::Word(word) => f.write_str(word),
            OptionValue::Text(text) => f.write_str(text),
            OptionValue::Span(span) => span.fmt(f),
            OptionValue::Bandwidth(bandwidth) => bandwidth.fmt(f),
        }
    }
}

/// Returns numbers as specifications write them: `8x8x4`.
pub(crate) fn joined(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join("x")
}

/// A value and its offset in the text.
#[derive(Clone, Debug)]
struct GivenOption {
    name: &'static str,
    value: OptionValue,
    at: usize,
}

/// The options given to a topology, in the order given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options(Vec<GivenOption>);

impl PartialEq for Options {
    /// In whatever order, and wherever they stood.
    fn eq(&self, other: &Options) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().all(|given| other.get(given.name) == Some(&given.value))
    }
}

impl Options {
    /// Adds a value that stands at an offset of the text.
    pub(crate) fn push(&mut self, name: &'static str, value: OptionValue, at: usize) {
        self.0.push(GivenOption { name, value, at });
    }

    /// Returns names and values in the order given.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &OptionValue)> {
        self.0.iter().map(|given| (given.name, &given.value))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&OptionValue> {
        self.iter().find(|(given, _)| *given == name).map(|(_, value)| value)
    }

    pub(crate) fn number(&self, name: &str, default: u32) -> u32 {
        if let Some(&OptionValue::Number(n)) = self.get(name) { n } else { default }
    }

    /// Returns a number that `OptionKey::required` has made sure of.
    pub(crate) fn required(&self, name: &str) -> u32 {
        self.number(name, 1)
    }

    pub(crate) fn bits(&self, name: &str, dimensions: usize, default: bool) -> Vec<bool> {
        if let Some(OptionValue::Bits(bits)) = self.get(name) {
            bits.clone()
        } else {
            vec![default; dimensions]
        }
    }

    /// Returns a list, or numbers for each dimension; empty if not given.
    pub(crate) fn numbers(&self, name: &str) -> &[u32] {
        if let Some(OptionValue::Numbers(numbers)) = self.get(name) { numbers } else { &[] }
    }

    pub(crate) fn word(&self, name: &str) -> Option<&'static str> {
        if let Some(&OptionValue::Word(word)) = self.get(name) { Some(word) } else { None }
    }

    /// Returns a text; empty if not given.
    pub(crate) fn text(&self, name: &str) -> &str {
        if let Some(OptionValue::Text(text)) = self.get(name) { text } else { "" }
    }

    pub(crate) fn span(&self, name: &str, default: Span) -> Span {
        if let Some(&OptionValue::Span(span)) = self.get(name) { span } else { default }
    }

    pub(crate) fn bandwidth(&self, name: &str, default: Bandwidth) -> Bandwidth {
        if let Some(&OptionValue::Bandwidth(bandwidth)) = self.get(name) { bandwidth } else { default }
    }

    /// Returns an error about the value of an option, or about the whole if it is not given.
    pub(crate) fn wrong(&self, name: &str, sentence: impl Into<String>) -> Wrong {
        let given = self.0.iter().find(|given| given.name == name);
        Wrong { at: given.map(|given| given.at), sentence: sentence.into() }
    }
}

/// An error in a specification: a sentence, and the position of the wrong part if it is not the whole.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    pub(crate) at: Option<usize>,
    pub(crate) sentence: String,
}

impl From<String> for Wrong {
    fn from(sentence: String) -> Wrong {
        Wrong { at: None, sentence }
    }
}

/// Conditions under which a topology is built.
pub(crate) struct TopologyInput<'a> {
    /// Its sides, each at least 1, their product below 2^32: one number unless `Sizing` says otherwise.
    pub(crate) sides: &'a [u32],
    pub(crate) options: &'a Options,
    /// The link that it has where it specifies no other.
    pub(crate) link: LinkKind,
}

#[cfg(test)]
impl TopologyInput<'_> {
    /// Calls `build` with sides and options.
    pub(crate) fn with<T>(
        sides: &[u32],
        options: &[(&'static str, OptionValue)],
        build: impl Fn(&TopologyInput<'_>) -> Result<T, Wrong>,
    ) -> T {
        let mut all = Options::default();
        options.iter().for_each(|(name, value)| all.push(name, value.clone(), 0));
        let link = LinkKind::new("link", Span::ZERO, Bandwidth::INFINITE);
        build(&TopologyInput { sides, options: &all, link }).map_err(|wrong| wrong.sentence).unwrap()
    }
}
