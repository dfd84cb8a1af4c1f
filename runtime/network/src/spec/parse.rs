//! Reads a network specification; every error points at its character.

use super::size::Size;
use super::{LevelSpec, NetworkSpec};
use crate::bandwidth::Bandwidth;
use crate::machine::{MachineError, Overheads, PlacementRule};
use crate::topology::{Key, KeyKind, Options, Row, Sizing, TOPOLOGIES, Value};
use engine::Span;

/// The topology that has no links, hence neither `l` nor `b`.
pub(super) const NONE: &str = "none";
/// What marks a packet network.
const PACKET: &str = "level=packet";
/// The pseudo-level that describes the ranks themselves.
const RANK: &str = "rank";
/// What a level's links cost where the specification does not say: those of the default machine.
const DEFAULT_LATENCY: Span = Span::from_ns(500);
const DEFAULT_GBPS: u32 = 100;

/// What the `rank` pseudo-level says.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Host {
    pub(crate) overheads: Overheads,
    pub(crate) placement: PlacementRule,
    pub(crate) processor_factor: f64,
    pub(crate) flop_rate: Option<f64>,
}

impl Default for Host {
    fn default() -> Host {
        Host { overheads: Overheads::default(), placement: PlacementRule::Block, processor_factor: 1.0, flop_rate: None }
    }
}

/// A part of the specification and where it starts.
#[derive(Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Piece<'a> {
    fn trim(self) -> Piece<'a> {
        let text = self.text.trim_start();
        Piece { at: self.at + self.text.len() - text.len(), text: text.trim_end() }
    }
    fn split_once(self, separator: char) -> Option<(Piece<'a>, Piece<'a>)> {
        let byte = self.text.find(separator)?;
        let after = byte + separator.len_utf8();
        Some((Piece { text: &self.text[..byte], at: self.at }, Piece { text: &self.text[after..], at: self.at + after }))
    }
    fn split(self, separator: char) -> Vec<Piece<'a>> {
        let (mut rest, mut parts) = (self, Vec::new());
        while let Some((part, more)) = rest.split_once(separator) {
            parts.push(part.trim());
            rest = more;
        }
        parts.push(rest.trim());
        parts
    }
    /// Levels are split at slashes, but the slash of `GB/s` or `Gflop/s` is a unit's.
    fn levels(self) -> Vec<Piece<'a>> {
        let (mut parts, mut start) = (Vec::new(), 0);
        for (byte, _) in self.text.match_indices('/') {
            let after = self.text[byte + 1..].strip_prefix('s').map(|rest| rest.trim_start());
            let per_second = after.is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '/']));
            if !(per_second && self.text[..byte].ends_with(['B', 'p'])) {
                parts.push(Piece { text: &self.text[start..byte], at: self.at + start }.trim());
                start = byte + 1;
            }
        }
        parts.push(Piece { text: &self.text[start..], at: self.at + start }.trim());
        parts
    }
}

impl<'a> Piece<'a> {
    /// The topology's name.
    fn name(self) -> Piece<'a> {
        self.split(':')[0]
    }

    /// If the outermost level says that it is a packet network: it, and what is inside its endpoints. Its own text may
    /// contain slashes (of a file's path), so it ends where a slash is followed by a known level and a colon.
    fn packet_level(self) -> Option<(Piece<'a>, Option<Piece<'a>>)> {
        let level = |byte: usize| {
            let name = self.text[byte + 1..].split_once(':').map_or("", |(name, _)| name.trim());
            name == RANK || TOPOLOGIES.iter().any(|row| row.name == name)
        };
        let end = self.text.match_indices('/').map(|(byte, _)| byte).find(|&byte| level(byte));
        let (outer, inside) = match end {
            Some(end) => (&self.text[..end], Some(Piece { text: &self.text[end + 1..], at: self.at + end + 1 })),
            None => (self.text, None),
        };
        let says_so = outer.split([',', ':']).any(|item| item.trim() == PACKET);
        says_so.then_some((Piece { text: outer, at: self.at }.trim(), inside))
    }
}

/// The specification being read, for errors to point into.
struct Reader<'a> {
    whole: &'a str,
}

/// Reads a whole specification: levels from the outermost in, then perhaps `rank:...`.
pub(crate) fn parse(text: &str) -> Result<(NetworkSpec, Host), MachineError> {
    let reader = Reader { whole: text };
    let whole = Piece { text, at: 0 };
    let (packet, mut pieces) = match whole.packet_level() {
        Some((packet, inside)) => (Some(packet), inside.map_or(Vec::new(), Piece::levels)),
        None => (None, whole.levels()),
    };
    let host = match pieces.pop_if(|last| last.name().text == RANK) {
        Some(piece) => reader.host(piece)?,
        None => Host::default(),
    };
    if let Some(piece) = pieces.iter().find(|piece| piece.name().text == RANK) {
        return Err(reader.error(*piece, "'rank' describes the ranks themselves and comes last, after the innermost level of the network"));
    }
    if let Some(piece) = pieces.iter().find(|piece| reader.items(**piece).iter().any(|item| item.text == PACKET)) {
        return Err(reader.error(*piece, "only the outermost level can be a packet network"));
    }
    if let Some(packet) = packet {
        return Ok((reader.packet(packet, &pieces)?, host));
    }
    if pieces.is_empty() {
        return Err(reader.error(Piece { text: "", at: 0 }, format!("expected a topology before 'rank': {}", topologies())));
    }
    let mut levels: Vec<LevelSpec> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let level = reader.level(piece)?;
        if let Some(other) = levels.iter().find(|other| other.size.is_open() && level.size.is_open()) {
            let why = format!("the size of only one level can be left to the number of ranks, and that of '{}' is", other.row.name);
            return Err(reader.error(piece, why));
        }
        levels.push(level);
    }
    Ok((NetworkSpec::Levels(levels), host))
}

fn topologies() -> String {
    list(TOPOLOGIES.iter().map(|row| row.name))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

impl<'a> Reader<'a> {
    fn error(&self, piece: Piece<'_>, sentence: impl Into<String>) -> MachineError {
        MachineError::pointing(self.whole, piece.at, sentence)
    }

    /// What follows the colon, split at commas.
    fn items(&self, piece: Piece<'a>) -> Vec<Piece<'a>> {
        piece.split_once(':').map_or(Vec::new(), |(_, rest)| rest.split(','))
    }

    /// A packet network and the levels inside its endpoints.
    fn packet(&self, network: Piece<'a>, inside: &[Piece<'a>]) -> Result<NetworkSpec, MachineError> {
        crate::packet::parse(network.text).map_err(|why| self.error(network, why.to_string()))?;
        let mut levels = Vec::with_capacity(inside.len());
        for &piece in inside {
            let level = self.level(piece)?;
            if level.size.is_open() {
                return Err(self.error(piece, "the levels inside the endpoints of a packet network need a size, such as star:4"));
            }
            levels.push(level);
        }
        Ok(NetworkSpec::Packet { network: network.text.to_owned(), inside: levels })
    }

    fn level(&self, piece: Piece<'a>) -> Result<LevelSpec, MachineError> {
        let name = piece.name();
        let Some(row) = TOPOLOGIES.iter().find(|row| row.name == name.text) else {
            let found = if name.text.is_empty() { "nothing".to_owned() } else { format!("'{}'", name.text) };
            let packet = "packet networks such as fattree and dragonfly need the option level=packet";
            return Err(self.error(name, format!("expected a topology, one of {}, but found {found} ({packet})", topologies())));
        };
        let mut items = self.items(piece);
        let size = match items.first() {
            Some(&first) if !first.text.contains('=') => self.size(items.remove(0), row)?,
            _ => Size::Open,
        };
        let (mut latency, mut bandwidth, mut options) = (None, None, Options::default());
        for item in items {
            let (name, value) = self.assignment(item)?;
            let again = match name.text {
                "l" if row.name != NONE => latency.replace(self.span(value)?).is_some(),
                "b" if row.name != NONE => bandwidth.replace(self.bandwidth(value)?).is_some(),
                _ => {
                    let key = self.key(name, row)?;
                    let value = self.value(value, key, size.dimensions(row.sizing))?;
                    let again = options.get(key.name).is_some();
                    options.0.push((key.name, value));
                    again
                }
            };
            if again {
                return Err(self.error(name, format!("'{}' is given twice for one level", name.text)));
            }
        }
        let (latency, bandwidth) = if row.name == NONE {
            (Span::ZERO, Bandwidth::INFINITE)
        } else {
            (latency.unwrap_or(DEFAULT_LATENCY), bandwidth.unwrap_or_else(|| Bandwidth::from_gbps(DEFAULT_GBPS)))
        };
        Ok(LevelSpec { row, size, options, latency, bandwidth })
    }

    fn assignment(&self, item: Piece<'a>) -> Result<(Piece<'a>, Piece<'a>), MachineError> {
        let (name, value) = item.split_once('=').ok_or_else(|| {
            let found = if item.text.is_empty() { "nothing".to_owned() } else { format!("'{}'", item.text) };
            self.error(item, format!("expected an option such as l=1us, but found {found} (a size comes first, right after the colon)"))
        })?;
        Ok((name.trim(), value.trim()))
    }

    fn key(&self, name: Piece<'_>, row: &'static Row) -> Result<&'static Key, MachineError> {
        row.keys.iter().find(|key| key.name == name.text).ok_or_else(|| {
            let links = if row.name == NONE { &[][..] } else { &["l", "b"] };
            let known = list(row.keys.iter().map(|key| key.name).chain(links.iter().copied()));
            let known = if known.is_empty() { "none".to_owned() } else { known };
            self.error(name, format!("'{}' is not an option of '{}' ({}); its options are: {known}", name.text, row.name, row.summary))
        })
    }

    fn value(&self, piece: Piece<'_>, key: &Key, dimensions: usize) -> Result<Value, MachineError> {
        let expected =
            |what: String| self.error(piece, format!("expected {what}, but found '{}' ({}: {})", piece.text, key.name, key.meaning));
        let each = |found: usize, what: &str| {
            (found == dimensions).then_some(()).ok_or_else(|| expected(format!("{what} for each of the {dimensions} dimensions")))
        };
        match key.kind {
            KeyKind::Number(least, most) => match number(piece.text).filter(|n| (least..=most).contains(n)) {
                Some(n) => Ok(Value::Number(n)),
                None if most == u32::MAX => Err(expected(format!("a number of at least {least}"))),
                None => Err(expected(format!("a number from {least} to {most}"))),
            },
            KeyKind::Bits => {
                let bits: Option<Vec<bool>> = piece.text.chars().map(|c| "01".find(c).map(|bit| bit == 1)).collect();
                let bits = bits.ok_or_else(|| expected("digits 0 and 1 only".to_owned()))?;
                each(bits.len(), "a 0 or 1")?;
                Ok(Value::Bits(bits))
            }
            KeyKind::PerDimension => {
                let numbers: Option<Vec<u32>> = piece.text.split('x').map(number).collect();
                let numbers = numbers.ok_or_else(|| expected("numbers joined by x, as in 1x1x2".to_owned()))?;
                each(numbers.len(), "a number")?;
                Ok(Value::PerDimension(numbers))
            }
            KeyKind::Word(words) => {
                let word = words.iter().find(|&&word| word == piece.text);
                word.map(|word| Value::Word(word)).ok_or_else(|| expected(format!("one of {}", list(words.iter().copied()))))
            }
        }
    }

    fn size(&self, piece: Piece<'a>, row: &Row) -> Result<Size, MachineError> {
        let many = matches!(row.sizing, Sizing::Sides { .. });
        let example = if many { "8x8x8, 8x8xn or 3d" } else { "16" };
        let wrong = |piece: Piece<'_>, why: String| self.error(piece, format!("{why}; the size of '{}' looks like {example}", row.name));
        if let Some(dimensions) = piece.text.strip_suffix('d').and_then(number).filter(|_| many) {
            if !(1..=32).contains(&dimensions) {
                return Err(wrong(piece, format!("{dimensions} dimensions are not possible, only 1 to 32")));
            }
            return Ok(Size::Dimensions(dimensions));
        }
        let mut sides = Vec::new();
        for part in piece.split('x') {
            let side = match part.text {
                "n" | "*" if many => None,
                text => Some(number(text).ok_or_else(|| wrong(part, format!("expected a size, but found '{text}'")))?),
            };
            if side == Some(0) {
                return Err(wrong(part, "a size cannot be 0".to_owned()));
            }
            if side.is_none() && sides.contains(&None) {
                return Err(wrong(part, "only one side can be left open".to_owned()));
            }
            if !many && !sides.is_empty() {
                return Err(wrong(part, format!("'{}' has no dimensions", row.name)));
            }
            sides.push(side);
        }
        Ok(Size::Sides(sides))
    }

    fn span(&self, piece: Piece<'_>) -> Result<Span, MachineError> {
        piece.text.parse().map_err(|why: engine::ParseSpanError| self.error(piece, why.to_string()))
    }

    fn bandwidth(&self, piece: Piece<'_>) -> Result<Bandwidth, MachineError> {
        piece.text.parse().map_err(|why: crate::bandwidth::ParseBandwidthError| self.error(piece, why.to_string()))
    }

    fn host(&self, piece: Piece<'a>) -> Result<Host, MachineError> {
        let mut host = Host::default();
        let mut seen = Vec::new();
        for item in self.items(piece) {
            let (name, value) = self.assignment(item)?;
            if seen.contains(&name.text) {
                return Err(self.error(name, format!("'{}' is given twice", name.text)));
            }
            seen.push(name.text);
            match name.text {
                "o_send" => host.overheads.send = self.span(value)?,
                "o_recv" => host.overheads.receive = self.span(value)?,
                "gap" => host.overheads.gap = self.span(value)?,
                "eager" => {
                    let limit = bytes(value.text);
                    let why = || self.error(value, format!("'{}' is not a number of bytes such as 65536, 64kB or 64KiB", value.text));
                    host.overheads.eager_limit = Some(limit.ok_or_else(why)?);
                }
                "place" => match value.text {
                    "block" | "round-robin" => host.placement = value.text.into(),
                    _ => return Err(self.error(value, "expected block or round-robin (a placement file is named in a machine file)")),
                },
                "proc" => {
                    let factor = value.text.parse().ok().filter(|&factor: &f64| factor.is_finite() && factor >= 0.0);
                    let why = || self.error(value, format!("'{}' is not a factor such as 1 or 0.5", value.text));
                    host.processor_factor = factor.ok_or_else(why)?.abs();
                }
                "flops" => host.flop_rate = Some(flop_rate(value.text).map_err(|why| self.error(value, why))?),
                other => {
                    let why =
                        format!("'{other}' is not an option of 'rank'; its options are: o_send, o_recv, gap, eager, place, proc, flops");
                    return Err(self.error(name, why));
                }
            }
        }
        Ok(host)
    }
}

/// A plain decimal number, without a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Floating-point operations a second, with a prefix of powers of 1000 and a unit if wanted: `5e9`, `5G`, `5Gflops`, `5Gflop/s`, `5Gf`.
///
/// # Errors
/// A sentence with an example: no number above 0, an unknown prefix or unit.
pub fn flop_rate(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let bare = ["flop/s", "flops", "Flop/s", "Flops", "f"].iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text).trim_end();
    let (number, scale) = match bare.char_indices().last() {
        Some((at, prefix)) if prefix.is_ascii_alphabetic() => {
            (&bare[..at], "kMGTPE".find(prefix).map(|power| 1000f64.powi(power as i32 + 1)))
        }
        _ => (bare, Some(1.0)),
    };
    let rate = scale.and_then(|scale| Some(number.trim_end().parse::<f64>().ok()? * scale));
    rate.filter(|rate| rate.is_finite() && *rate > 0.0).ok_or_else(|| {
        format!(
            "'{text}' is not a number of floating-point operations a second above 0, such as 5e9 or 5Gflops (prefixes: k, M, G, T, P, E)"
        )
    })
}

/// A whole number of bytes: `65536`, `64KiB`, `64kB`.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 8] =
        [("", 1), ("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (_, scale) = UNITS.iter().find(|(unit, _)| *unit == text[split..].trim_start())?;
    text[..split].parse::<u64>().ok()?.checked_mul(*scale)
}
