//! Machine files: what a specification says, as TOML, with a name and a source.

use super::error::{MachineError, MachineText};
use super::overheads::Overheads;
use super::placement::PlacementRule;
use super::storage::Storage;
use crate::by_size::bytes;
use crate::spec::text::{Item, Level, Piece};
use crate::spec::{NetworkSpec, RANK, RankLevels, STORAGE, SpecParser, flop_rate, parse};
use engine::Span;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Spanned, Value};

/// A machine as a file or a specification describes it.
#[derive(Debug)]
pub(super) struct Described {
    /// Its name, or where it is.
    pub(super) name: String,
    pub(super) source: String,
    pub(super) network: NetworkSpec,
    pub(super) host: RankLevels,
}

/// A `[[level]]` table.
type Table = Spanned<BTreeMap<Spanned<String>, Spanned<Value>>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineDescription {
    name: Option<String>,
    source: Option<String>,
    network: Option<String>,
    level: Option<Vec<Table>>,
    processor: Option<f64>,
    flops: Option<Value>,
    placement: Option<String>,
    #[serde(default)]
    overheads: FileOverheads,
    storage: Option<Table>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct FileOverheads {
    send: Option<String>,
    receive: Option<String>,
    gap: Option<String>,
    reduce: Option<String>,
    copy: Option<String>,
    eager_limit: Option<Value>,
}

/// Reads the machine file at `path`. A placement file's path is relative to the machine file.
pub(super) fn read(path: &Path) -> Result<Described, MachineError> {
    let text = engine::text::read(path, engine::text::SETTINGS).map_err(|why| {
        MachineError::new(format!("the machine file '{}' cannot be read: {why}", path.display()))
    })?;
    let mut machine = machine(&text, &path.display().to_string())?;
    if let PlacementRule::File(file) = &mut machine.host.placement
        && let Some(directory) = path.parent()
    {
        *file = directory.join(&*file);
    }
    Ok(machine)
}

/// Reads a machine file's text; `place` names it in errors.
fn machine(text: &str, place: &str) -> Result<Described, MachineError> {
    described(text, place).map_err(|error| error.within(format!("in the machine file '{place}'")))
}

fn described(text: &str, place: &str) -> Result<Described, MachineError> {
    let file: MachineDescription =
        toml::from_str(text).map_err(|why| MachineError::new(why.to_string().trim_end()))?;
    let network = match (file.network, file.level) {
        (Some(specification), None) => {
            let (network, host) = parse(&specification)?;
            if host != (RankLevels { storage: host.storage.clone(), ..RankLevels::default() }) {
                return Err(MachineError::new(RANK_ELSEWHERE));
            }
            if host.storage.is_some() {
                return Err(MachineError::new(
                    "'storage:' is for specifications; here use a table [storage]",
                ));
            }
            network
        }
        (None, Some(levels)) if !levels.is_empty() => network(text, &levels)?,
        _ => {
            return Err(MachineError::new(
                "expected either network = \"SPECIFICATION\" or [[level]] tables, and not both",
            ));
        }
    };
    let processor_factor = file.processor.unwrap_or(1.0);
    if !(processor_factor.is_finite() && processor_factor >= 0.0) {
        return Err(MachineError::new(format!(
            "processor = {processor_factor} is not a factor such as 1.0 or 0.5"
        )));
    }
    let host = RankLevels {
        overheads: overheads(&file.overheads)?,
        placement: file.placement.as_deref().map_or(PlacementRule::Block, PlacementRule::from),
        processor_factor,
        flop_rate: file.flops.as_ref().map(rate).transpose()?,
        storage: file.storage.as_ref().map(|table| storage(text, table)).transpose()?,
    };
    Ok(Described {
        name: file.name.unwrap_or_else(|| place.to_owned()),
        source: file.source.unwrap_or_default(),
        network,
        host,
    })
}

const RANK_ELSEWHERE: &str =
    "'rank:' is for specifications; here use processor, flops, placement and [overheads]";

fn overheads(file: &FileOverheads) -> Result<Overheads, MachineError> {
    let span = |name: &str, text: &Option<String>| match text {
        Some(text) => text.parse::<Span>().map_err(|why| MachineError::new(format!("{name}: {why}"))),
        None => Ok(Span::ZERO),
    };
    let reduce = file.reduce.as_ref().map(|text| text.parse());
    let copy = file.copy.as_ref().map(|text| text.parse());
    let eager_limit = match &file.eager_limit {
        None => None,
        Some(value) => {
            let text = scalar(value);
            let limit = text.as_deref().and_then(bytes);
            Some(limit.ok_or_else(|| {
                MachineError::new(format!(
                    "eager_limit: {value} is not a number of bytes such as 65536 or \"64KiB\""
                ))
            })?)
        }
    };
    Ok(Overheads {
        send: span("send", &file.send)?,
        receive: span("receive", &file.receive)?,
        gap: span("gap", &file.gap)?,
        eager_limit,
        reduce: reduce.transpose().map_err(|why| MachineError::new(format!("reduce: {why}")))?,
        copy: copy.transpose().map_err(|why| MachineError::new(format!("copy: {why}")))?,
    })
}

fn rate(value: &Value) -> Result<f64, MachineError> {
    let text = match value {
        Value::Float(number) => Some(number.to_string()),
        other => scalar(other),
    };
    let rate = flop_rate(&text.unwrap_or_else(|| value.to_string()));
    rate.map_err(|why| MachineError::new(format!("flops: {why}")))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Reads the network of `[[level]]` tables, read as a specification's levels are.
fn network(text: &str, tables: &[Table]) -> Result<NetworkSpec, MachineError> {
    let source = MachineText::file(text);
    let tables = tables.iter().map(|table| entries(table, &source)).collect::<Result<Vec<_>, _>>()?;
    let levels: Vec<Level<'_>> = tables.iter().map(|table| table.level()).collect();
    if let Some(level) = levels.iter().find(|level| level.name.text == RANK) {
        return Err(source.error(level.name.at, RANK_ELSEWHERE));
    }
    SpecParser::new(source).network(&levels)
}

/// Reads a `[storage]` table, read as the pseudo-level of a specification is.
fn storage(text: &str, table: &Table) -> Result<Storage, MachineError> {
    let source = MachineText::file(text);
    let items = items(table, &source)?;
    let name = Entry { text: STORAGE.to_owned(), at: table.span().start, is_verbatim: false };
    let level = LevelEntries { name, size: None, items };
    SpecParser::new(source).storage(&level.level())
}

/// Returns the options of a table that have a short name too, by that, and their values.
fn items(table: &Table, source: &MachineText) -> Result<Vec<(Entry, Entry)>, MachineError> {
    let item = |(key, given): (&Spanned<String>, &Spanned<Value>)| {
        let name = key.get_ref().as_str();
        let value = value(name, given, source)?;
        Ok((
            Entry { text: short(name).to_owned(), at: key.span().start, is_verbatim: short(name) == name },
            value,
        ))
    };
    table.get_ref().iter().map(item).collect()
}

/// Returns what specifications call an option.
fn short(name: &str) -> &str {
    match name {
        "latency" => "l",
        "bandwidth" => "b",
        other => other,
    }
}

/// A part of a table as text, where it stands, and whether it stands there letter by letter.
struct Entry {
    text: String,
    at: usize,
    is_verbatim: bool,
}

/// The parts of a level.
struct LevelEntries {
    name: Entry,
    size: Option<Entry>,
    items: Vec<(Entry, Entry)>,
}

impl Entry {
    fn piece(&self) -> Piece<'_> {
        Piece { text: &self.text, at: self.at, is_verbatim: self.is_verbatim }
    }
}

impl LevelEntries {
    fn level(&self) -> Level<'_> {
        let items = self
            .items
            .iter()
            .map(|(name, value)| Item { name: name.piece(), value: value.piece() })
            .collect();
        Level { name: self.name.piece(), size: self.size.as_ref().map(Entry::piece), items }
    }
}

fn entries(table: &Table, source: &MachineText) -> Result<LevelEntries, MachineError> {
    let (mut topology, mut size, mut items) = (None, None, Vec::new());
    for (key, given) in table.get_ref() {
        let at = key.span().start;
        let name = key.get_ref().as_str();
        let value = value(name, given, source)?;
        match name {
            "topology" if given.get_ref().is_str() => topology = Some(value),
            "topology" => return Err(source.error(value.at, "the topology is not a text such as \"star\"")),
            "size" => size = Some(value),
            _ => {
                let short = short(name);
                items.push((Entry { text: short.to_owned(), at, is_verbatim: short == name }, value));
            }
        }
    }
    let missing =
        || source.error(table.span().start, "a [[level]] needs a topology, such as topology = \"star\"");
    Ok(LevelEntries { name: topology.ok_or_else(missing)?, size, items })
}

/// Returns a value as a specification has it: a list of numbers joined.
fn value(key: &str, value: &Spanned<Value>, source: &MachineText) -> Result<Entry, MachineError> {
    let start = value.span().start;
    let joint = if key == "wrap" { "" } else { "x" };
    let numbers = |items: &Vec<Value>| {
        items.iter().map(scalar).collect::<Option<Vec<_>>>().map(|numbers| numbers.join(joint))
    };
    let text = scalar(value.get_ref()).or_else(|| value.get_ref().as_array().and_then(numbers)).ok_or_else(
        || {
            let why = format!(
                "{key} = {} of a level is neither a text nor a whole number nor a list of whole numbers",
                value.get_ref()
            );
            source.error(start, why)
        },
    )?;
    // Behind the quotation mark, if nothing in it is written otherwise than it is read.
    let at = if value.get_ref().is_str() { start + 1 } else { start };
    let is_verbatim = source.has(at, &text);
    Ok(Entry { text, at: if is_verbatim { at } else { start }, is_verbatim })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;
    use proptest::prelude::*;

    const XT5: &str = r#"
        name = "XT5-like"
        source = "Table I"
        processor = 0.5
        placement = "round-robin"

        [[level]]
        topology = "torus"
        size = [8, 8, 4]
        wrap = [1, 0, 1]
        latency = "7us"
        bandwidth = "8.8Gbps"

        [[level]]
        topology = "star"
        size = 2
        l = "0.32us"
        b = "1.2GB/s"

        [overheads]
        send = "1us"
        gap = "10ns"
        reduce = "10GB/s"
        copy = "20ns@8GB/s"
        eager_limit = "64KiB"

        [storage]
        servers = 4
        stripe = "1MB"
        bandwidth = "1GB/s"
        latency = "20us"
    "#;

    fn file(text: &str, place: &str) -> Machine {
        Machine::described(machine(text, place).unwrap_or_else(|error| panic!("{error}")))
    }

    #[test]
    fn a_file_says_what_a_specification_says() {
        let file = file(XT5, "xt5.toml");
        let same = "torus:8x8x4,wrap=101,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps/rank:o_send=1us,gap=10ns,\
            reduce=80Gbps,copy=20ns@64Gbps,eager=65536,place=round-robin,proc=0.5/storage:servers=4,\
            stripe=1MB,b=8Gbps,l=20us";
        let specified = Machine::parse(same).unwrap();
        assert_eq!((&*file.name, &*file.source), ("XT5-like", "Table I"));
        assert_eq!(Machine { name: specified.name.clone(), source: String::new(), ..file }, specified);
    }

    const NODES: &str = r#"
        [[level]]
        topology = "torus"
        size = [4, 3]
        latency = "10ns"
        vcs = 2
        level = "packet"

        [[level]]
        topology = "mesh"
        size = "2x2"
        bandwidth = "1Tbps"
    "#;

    #[test]
    fn a_packet_network_of_a_file_is_that_of_a_specification() {
        let specified = Machine::parse("torus:4x3,l=10ns,vcs=2,level=packet/mesh:2x2,b=1Tbps").unwrap();
        assert_eq!(file(NODES, "nodes.toml").network, specified.network);
    }

    #[test]
    fn errors_show_the_line() {
        for (from, to, line, caret, why) in [
            ("vcs = 2", "vcs = 0", 6, 14, "vcs=0 is not between"),
            ("vcs = 2", "speed = 2", 6, 8, "'speed' is not an option of 'torus'"),
            ("\"10ns\"", "\"soon\"", 5, 19, "'soon' is not a length of time"),
            ("\"2x2\"", "\"2x0\"", 11, 18, "a size cannot be 0"),
            ("\"mesh\"", "\"mash\"", 10, 20, "found 'mash'"),
            ("\"1Tbps\"", "\"1Tbps,l=0\"", 12, 21, "not a bandwidth"),
            ("topology = \"mesh\"", "jump = 3", 9, 8, "needs a topology"),
        ] {
            let error = machine(&NODES.replace(from, to), "x.toml").unwrap_err().to_string();
            let lines: Vec<&str> = error.lines().collect();
            assert!(
                lines[0].contains(why)
                    && lines[0].starts_with(&format!("in the machine file 'x.toml', line {line}: ")),
                "{error}"
            );
            assert_eq!(lines[lines.len() - 1], format!("  {:caret$}^", ""), "{error}");
        }
    }

    #[test]
    fn a_file_can_hold_a_specification() {
        let file = file("network = \"ring:l=1us,b=inf\"", "ring.toml");
        assert_eq!(
            (file.name.as_str(), file.network.to_string()),
            ("ring.toml", "ring:l=1us,b=inf".to_owned())
        );
    }

    #[test]
    fn bad_files_say_what_is_wrong() {
        for (text, why) in [
            ("", "expected either network"),
            ("network = \"star\"\n[[level]]\ntopology = \"star\"", "and not both"),
            ("netwrok = \"star\"", "unknown field `netwrok`"),
            ("[[level]]\nsize = 3", "needs a topology"),
            ("[[level]]\ntopology = \"star\"\nsize = 1.5", "size = 1.5"),
            ("[[level]]\ntopology = \"star\"\nspeed = 3", "'speed' is not an option of 'star'"),
            ("network = \"star:l=3\"", "unit is missing"),
            ("network = \"star/rank:gap=1us\"", "[overheads]"),
            ("network = \"star\"\nprocessor = -1.0", "not a factor"),
            ("network = \"star\"\n[overheads]\ngap = \"soon\"", "gap: 'soon' is not a length of time"),
            ("network = \"star\"\n[overheads]\nreduce = \"0GB/s\"", "reduce: '0GB/s' is not a bandwidth"),
            ("network = \"star\"\n[overheads]\ncopy = \"8GB/s\"", "copy: '8GB/s' is not a length of time"),
            ("network = \"star\"\n[overheads]\neager_limit = -4", "not a number of bytes"),
            ("network = \"star/storage:servers=2\"", "[storage]"),
            ("network = \"star\"\n[storage]\nservers = 0", "from 1 to 65536"),
            ("network = \"star\"\n[storage]\ndisks = 3", "'disks' is not an option of 'storage'"),
            ("network = ", "in the machine file 'x.toml'"),
        ] {
            let error = machine(text, "x.toml").unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("x.toml"), "{text}: {error}");
        }
        let error = Machine::parse("/no/such.toml").unwrap_err().to_string();
        assert!(error.contains("'/no/such.toml' cannot be read"), "{error}");
    }

    #[test]
    fn placement_files_are_found_beside_the_machine_file() {
        let directory = std::env::temp_dir().join(format!("xsim-network-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("places"), "3\n1\n2\n").unwrap();
        std::fs::write(directory.join("m.toml"), "network = \"star:4\"\nplacement = \"places\"").unwrap();
        let built = Machine::parse(directory.join("m.toml").to_str().unwrap()).unwrap().build(3);
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!([0, 1, 2].map(|rank| built.as_ref().unwrap().placement.endpoint(rank).0), [3, 1, 2]);
    }

    proptest! {
        #[test]
        fn reader_never_panics(text in "(name|network|level|\\[\\[level\\]\\]|topology|size|=| \
            |\"star\"|\"|\\[|\\]|1|,|\n\
            |l|wrap|\"1us\"){0,20}") {
            let _ = machine(&text, "x");
        }
    }
}
