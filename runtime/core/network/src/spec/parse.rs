//! Reads networks, from specifications and machine files; every error points at its character.

use super::sharing::{COST_KEYS, INTERFACE_KEYS, LevelSharing, is_of_interfaces};
use super::text::{FORMULA, Item, LEVEL, Level, Piece, has_routers, prefixed};
use super::topology::{TopologySpec, formula_topologies, number, routed_topologies, topology_row};
use super::{LevelSpec, NetworkSpec, did_you_mean, nearest};
use crate::bandwidth::Bandwidth;
use crate::by_size::bytes;
use crate::machine::{MachineError, MachineText, Overheads, PlacementRule, Storage};
use crate::packet::{COMMON_KEYS, PacketSpec};
use crate::topology::{DetailLevel, TOPOLOGIES, TopologyRow};
use engine::Span;

/// The pseudo-level that describes the ranks themselves.
pub(crate) const RANK: &str = "rank";
/// The pseudo-level that describes the file system.
pub(crate) const STORAGE: &str = "storage";
/// Latency and bandwidth of a level's links where the specification gives none: the default machine's.
const DEFAULT_LATENCY: Span = Span::from_ns(500);
const DEFAULT_GBPS: u32 = 100;

/// Values of the `rank` and `storage` pseudo-levels.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RankLevels {
    pub(crate) overheads: Overheads,
    pub(crate) placement: PlacementRule,
    pub(crate) processor_factor: f64,
    pub(crate) flop_rate: Option<f64>,
    pub(crate) storage: Option<Storage>,
}

impl Default for RankLevels {
    fn default() -> RankLevels {
        RankLevels {
            overheads: Overheads::default(),
            placement: PlacementRule::Block,
            processor_factor: 1.0,
            flop_rate: None,
            storage: None,
        }
    }
}

/// Returns where a packet network's specification ends: its own text may contain slashes (of a file's path),
/// so it is where a slash is followed by a known level and a colon. `None` if the outermost level is no
/// packet network.
fn packet_level(whole: Piece<'_>) -> Option<(Piece<'_>, Option<Piece<'_>>)> {
    let is_level = |byte: usize| {
        let name = whole.text[byte + 1..].split_once(':').map_or("", |(name, _)| name.trim());
        name == RANK || name == STORAGE || topology_row(name).is_some()
    };
    let end = whole.text.match_indices('/').map(|(byte, _)| byte).find(|&byte| is_level(byte));
    let outer = whole.part(0..end.unwrap_or(whole.text.len()));
    let detail = outer.text.split([',', ':']).find_map(|item| {
        let (name, value) = item.split_once('=')?;
        (name.trim() == LEVEL).then_some(value.trim())
    });
    has_routers(outer.name().text, detail)
        .then(|| (outer.trim(), end.map(|end| whole.part(end + 1..whole.text.len()))))
}

/// Parser of the pieces of one text, into which errors point.
pub(crate) struct SpecParser {
    source: MachineText,
}

/// Reads a whole specification: levels from the outermost in, then perhaps `rank:...`, then perhaps
/// `storage:...`.
pub(crate) fn parse(text: &str) -> Result<(NetworkSpec, RankLevels), MachineError> {
    let reader = SpecParser::new(MachineText::specification(text));
    let whole = Piece::whole(text);
    let mut pieces = match packet_level(whole) {
        Some((packet, inside)) => {
            [packet].into_iter().chain(inside.map_or(Vec::new(), Piece::levels)).collect()
        }
        None => whole.levels(),
    };
    let storage = match pieces.pop_if(|last| last.name().text == STORAGE) {
        Some(piece) => Some(reader.storage(&Level::of(piece, &reader.source)?)?),
        None => None,
    };
    let host = match pieces.pop_if(|last| last.name().text == RANK) {
        Some(piece) => reader.host(&Level::of(piece, &reader.source)?)?,
        None => RankLevels::default(),
    };
    if let Some(piece) = pieces.iter().find(|piece| piece.name().text == RANK) {
        return Err(reader.error(
            *piece,
            "'rank' describes the ranks themselves and comes last, after the innermost level of the network",
        ));
    }
    if let Some(piece) = pieces.iter().find(|piece| piece.name().text == STORAGE) {
        return Err(reader.error(
            *piece,
            "'storage' describes the file system and comes last, after the network and 'rank'",
        ));
    }
    if pieces.is_empty() {
        return Err(
            reader.error(Piece::whole(""), format!("expected a topology before 'rank': {}", topologies()))
        );
    }
    let levels =
        pieces.into_iter().map(|piece| Level::of(piece, &reader.source)).collect::<Result<Vec<_>, _>>()?;
    Ok((reader.network(&levels)?, RankLevels { storage, ..host }))
}

/// Reads the specification of a packet network alone, whether or not it says `level=packet`.
///
/// # Errors
/// A sentence with the place in the text: an unknown name or key, a value that is none or does not go with
/// another.
pub fn parse_packet(text: &str) -> Result<PacketSpec, MachineError> {
    let source = MachineText::specification(text);
    PacketSpec::read(&Level::of(Piece::whole(text).trim(), &source)?, source)
}

fn topologies() -> String {
    list(formula_topologies())
}

/// Returns the names of all topologies.
pub(crate) fn all_topologies() -> String {
    format!("{} (of packet networks: {})", topologies(), list(routed_topologies()))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

impl SpecParser {
    pub(crate) fn new(source: MachineText) -> SpecParser {
        SpecParser { source }
    }

    fn error(&self, piece: Piece<'_>, sentence: impl Into<String>) -> MachineError {
        self.source.error(piece.at, sentence)
    }

    /// Reads a network of levels, outermost first; at least one.
    pub(crate) fn network(&self, levels: &[Level<'_>]) -> Result<NetworkSpec, MachineError> {
        if let Some(level) = levels.iter().skip(1).find(|level| level.has_routers()) {
            let way_out = if level.detail().is_none() { "; add level=formula" } else { "" };
            let why = format!("only the outermost level can be a packet network{way_out}");
            return Err(self.error(level.name, why));
        }
        if let Some((outer, inside)) = levels.split_first()
            && outer.has_routers()
        {
            let network = PacketSpec::read(outer, self.source.clone())?;
            let inside = inside.iter().map(|level| self.inside(level)).collect::<Result<_, _>>()?;
            return Ok(NetworkSpec::Packet { network: Box::new(network), inside });
        }
        let is_open = |level: &LevelSpec| level.topology.size.is_open();
        let mut read: Vec<LevelSpec> = Vec::with_capacity(levels.len());
        for level in levels {
            let spec = self.level(level)?;
            if !read.is_empty() {
                self.check_inner(level)?;
            }
            if let Some(other) = read.iter().find(|other| is_open(other) && is_open(&spec)) {
                let why = format!(
                    "the size of only one level can be left to the number of ranks, and that of '{}' is",
                    other.topology()
                );
                return Err(self.error(level.name, why));
            }
            read.push(spec);
        }
        Ok(NetworkSpec::Levels(read))
    }

    /// Reads a level inside the endpoints of a packet network.
    fn inside(&self, level: &Level<'_>) -> Result<LevelSpec, MachineError> {
        let spec = self.level(level)?;
        self.check_inner(level)?;
        if spec.topology.size.is_open() {
            return Err(self.error(
                level.name,
                "the levels inside the endpoints of a packet network need a size, such as star:4",
            ));
        }
        Ok(spec)
    }

    fn level(&self, level: &Level<'_>) -> Result<LevelSpec, MachineError> {
        let name = level.name;
        let Some(row) = topology_row(name.text) else {
            let found = if name.text.is_empty() { "nothing".to_owned() } else { format!("'{}'", name.text) };
            let meant = did_you_mean(name.text, TOPOLOGIES.iter().map(|row| row.name));
            // Who is told the name has no use for the list.
            let known =
                if meant.is_empty() { format!(", one of {},", all_topologies()) } else { String::new() };
            return Err(self.error(name, format!("expected a topology{known} but found {found}{meant}")));
        };
        let (topology, rest) = TopologySpec::read(row, level, DetailLevel::Formula, &self.source)?;
        let (mut latency, mut bandwidth, mut detail) = (None, None, None);
        let mut sharing = LevelSharing::default();
        for &Item { name, value } in &rest {
            let shared = match row.has_links {
                true => sharing.read(name.text, value.text).map_err(|why| self.error(value, why))?,
                false => None,
            };
            let again = match name.text {
                _ if let Some(again) = shared => again,
                "l" if row.has_links => latency.replace(self.span(value)?).is_some(),
                "b" if row.has_links => bandwidth.replace(self.bandwidth(value)?).is_some(),
                LEVEL if value.text == FORMULA => detail.replace(FORMULA).is_some(),
                _ => return Err(self.unknown(name, value, row)),
            };
            if again {
                return Err(self.error(name, format!("'{}' is given twice for one level", name.text)));
            }
        }
        topology.check_required()?;
        if let Some(why) = sharing.contradiction() {
            return Err(self.error(name, why));
        }
        let (latency, bandwidth) = if row.has_links {
            (
                latency.unwrap_or(DEFAULT_LATENCY),
                bandwidth.unwrap_or_else(|| Bandwidth::from_gbps(DEFAULT_GBPS)),
            )
        } else {
            (Span::ZERO, Bandwidth::INFINITE)
        };
        Ok(LevelSpec { topology, latency, bandwidth, sharing })
    }

    /// Refuses settings of interfaces for a level that is not the outermost.
    fn check_inner(&self, level: &Level<'_>) -> Result<(), MachineError> {
        match level.items.iter().find(|item| is_of_interfaces(item.name.text)) {
            Some(item) => Err(self.error(
                item.name,
                format!(
                    "'{}' is for the outermost level, whose places are the nodes; inner levels share mem=",
                    item.name.text
                ),
            )),
            None => Ok(()),
        }
    }

    /// Returns an error about an option that a formula of this topology does not have.
    fn unknown(&self, name: Piece<'_>, value: Piece<'_>, row: &TopologyRow) -> MachineError {
        let links = if row.has_links { &["l", "b"] } else { &[][..] };
        let costs = COST_KEYS.iter().chain(&INTERFACE_KEYS).map(|(name, _)| *name);
        let costs = costs.filter(|_| row.has_links);
        let own = || row.keys.iter().filter(|key| key.level == DetailLevel::Formula).map(|key| key.name);
        let known = list(own().chain(links.iter().copied()).chain(costs));
        let known = if known.is_empty() { "none".to_owned() } else { known };
        let of_packets = row.keys.iter().map(|key| key.name).chain(COMMON_KEYS.iter().map(|(key, _)| *key));
        let hint = match name.text {
            LEVEL => {
                let meant = nearest(value.text, ["packet", "flow", FORMULA]).unwrap_or("packet");
                format!(
                    "; did you mean 'level={meant}'? level=packet, level=flow and level=formula are possible"
                )
            }
            text if of_packets.into_iter().any(|key| key == text) => {
                " (networks of routers have it: add level=packet or level=flow)".to_owned()
            }
            other => did_you_mean(other, own()),
        };
        let why = format!(
            "'{}' is not an option of '{}' ({}); its options are: {known}{hint}",
            name.text, row.name, row.summary
        );
        self.error(name, why)
    }

    fn span(&self, piece: Piece<'_>) -> Result<Span, MachineError> {
        piece.text.parse().map_err(|why: engine::ParseSpanError| self.error(piece, why.to_string()))
    }

    fn bandwidth(&self, piece: Piece<'_>) -> Result<Bandwidth, MachineError> {
        piece
            .text
            .parse()
            .map_err(|why: crate::bandwidth::ParseBandwidthError| self.error(piece, why.to_string()))
    }

    /// Returns what the `storage` pseudo-level says.
    pub(crate) fn storage(&self, level: &Level<'_>) -> Result<Storage, MachineError> {
        let mut storage = Storage::default();
        let mut seen = Vec::new();
        if let Some(size) = level.size {
            return Err(
                self.error(size, format!("expected a setting such as servers=4, but found '{}'", size.text))
            );
        }
        for &Item { name, value } in &level.items {
            if seen.contains(&name.text) {
                return Err(self.error(name, format!("'{}' is given twice", name.text)));
            }
            seen.push(name.text);
            match name.text {
                "servers" => {
                    let servers = number(value.text).filter(|servers| (1..=65_536).contains(servers));
                    storage.servers = servers
                        .ok_or_else(|| self.error(value, "expected a number of servers from 1 to 65536"))?;
                }
                "stripe" => {
                    let why = || {
                        self.error(
                            value,
                            format!(
                                "'{}' is not a number of bytes above 0 such as 65536, 1MB or 1MiB",
                                value.text
                            ),
                        )
                    };
                    storage.stripe = bytes(value.text).filter(|&stripe| stripe != 0).ok_or_else(why)?;
                }
                "b" => storage.bandwidth = self.bandwidth(value)?,
                "l" | "latency" => storage.latency = self.span(value)?,
                other => {
                    let why = format!(
                        "'{other}' is not an option of 'storage'; its options are: servers, stripe, b, l"
                    );
                    return Err(self.error(name, why));
                }
            }
        }
        Ok(storage)
    }

    fn host(&self, level: &Level<'_>) -> Result<RankLevels, MachineError> {
        let mut host = RankLevels::default();
        let mut seen = Vec::new();
        if let Some(size) = level.size {
            return Err(
                self.error(size, format!("expected a setting such as gap=1us, but found '{}'", size.text))
            );
        }
        for &Item { name, value } in &level.items {
            if seen.contains(&name.text) {
                return Err(self.error(name, format!("'{}' is given twice", name.text)));
            }
            seen.push(name.text);
            match name.text {
                "o_send" => host.overheads.send = self.span(value)?,
                "o_recv" => host.overheads.receive = self.span(value)?,
                "gap" => host.overheads.gap = self.span(value)?,
                "reduce" => host.overheads.reduce = Some(self.bandwidth(value)?),
                "copy" => {
                    let cost = value.text.parse();
                    host.overheads.copy = Some(cost.map_err(|why: String| self.error(value, why))?);
                }
                "eager" => {
                    let limit = bytes(value.text);
                    let why = || {
                        self.error(
                            value,
                            format!("'{}' is not a number of bytes such as 65536, 64kB or 64KiB", value.text),
                        )
                    };
                    host.overheads.eager_limit = Some(limit.ok_or_else(why)?);
                }
                "place" => match value.text {
                    "block" | "round-robin" | "socket" => host.placement = value.text.into(),
                    _ => {
                        return Err(self.error(
                            value,
                            "expected block, round-robin or socket (a machine file names a placement file)",
                        ));
                    }
                },
                "proc" => {
                    let factor =
                        value.text.parse().ok().filter(|&factor: &f64| factor.is_finite() && factor >= 0.0);
                    let why =
                        || self.error(value, format!("'{}' is not a factor such as 1 or 0.5", value.text));
                    host.processor_factor = factor.ok_or_else(why)?.abs();
                }
                "flops" => {
                    host.flop_rate = Some(flop_rate(value.text).map_err(|why| self.error(value, why))?)
                }
                other => {
                    let why = format!(
                        "'{other}' is not an option of 'rank'; its options are: o_send, o_recv, gap, \
                         reduce, copy, eager, place, proc, flops"
                    );
                    return Err(self.error(name, why));
                }
            }
        }
        Ok(host)
    }
}

/// Floating-point operations a second, with a prefix of powers of 1000 and a unit if wanted: `5e9`, `5G`,
/// `5Gflops`, `5Gflop/s`, `5Gf`.
///
/// # Errors
/// A sentence with an example: no number above 0, an unknown prefix or unit.
pub fn flop_rate(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let bare = ["flop/s", "flops", "Flop/s", "Flops", "f"]
        .iter()
        .find_map(|unit| text.strip_suffix(unit))
        .unwrap_or(text)
        .trim_end();
    let rate = prefixed(bare, "kMGTPE");
    rate.filter(|rate| rate.is_finite() && *rate > 0.0).ok_or_else(|| {
        format!(
            "'{text}' is not a number of floating-point operations a second above 0, such as 5e9 or 5Gflops \
             (prefixes: k, M, G, T, P, E)"
        )
    })
}
