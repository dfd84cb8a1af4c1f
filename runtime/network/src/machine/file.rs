//! Machine files: what a specification says, as TOML, with a name and a source.

use super::{Machine, MachineError, Overheads, PlacementRule};
use crate::spec::{Host, bytes, flop_rate, parse};
use engine::Span;
use serde::Deserialize;
use std::path::Path;
use toml::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    source: Option<String>,
    network: Option<String>,
    level: Option<Vec<toml::Table>>,
    processor: Option<f64>,
    flops: Option<Value>,
    placement: Option<String>,
    #[serde(default)]
    overheads: FileOverheads,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct FileOverheads {
    send: Option<String>,
    receive: Option<String>,
    gap: Option<String>,
    eager_limit: Option<Value>,
}

/// Reads the machine file at `path`. A placement file's path is relative to the machine file.
pub(super) fn read(path: &Path) -> Result<Machine, MachineError> {
    let text = engine::text::read(path, engine::text::SETTINGS)
        .map_err(|why| MachineError::new(format!("the machine file '{}' cannot be read: {why}", path.display())))?;
    let mut machine = machine(&text, &path.display().to_string())?;
    if let PlacementRule::File(file) = &mut machine.placement
        && let Some(directory) = path.parent()
    {
        *file = directory.join(&*file);
    }
    Ok(machine)
}

/// Reads a machine file's text; `place` names it in errors.
fn machine(text: &str, place: &str) -> Result<Machine, MachineError> {
    let within = |error: MachineError| error.within(format!("in the machine file '{place}'"));
    let file: File = toml::from_str(text).map_err(|why| within(MachineError::new(why.to_string().trim_end())))?;
    let specification = match (file.network, file.level) {
        (Some(network), None) => network,
        (None, Some(levels)) => levels.iter().map(level).collect::<Result<Vec<_>, _>>().map_err(within)?.join("/"),
        _ => return Err(within(MachineError::new("expected either network = \"SPECIFICATION\" or [[level]] tables, and not both"))),
    };
    let (network, host) = parse(&specification).map_err(within)?;
    if host != Host::default() {
        let why = "'rank:' is for specifications; here use processor, flops, placement and [overheads]";
        return Err(within(MachineError::new(why)));
    }
    let processor_factor = file.processor.unwrap_or(1.0);
    if !(processor_factor.is_finite() && processor_factor >= 0.0) {
        return Err(within(MachineError::new(format!("processor = {processor_factor} is not a factor such as 1.0 or 0.5"))));
    }
    let flop_rate = file.flops.as_ref().map(rate).transpose().map_err(within)?;
    Ok(Machine {
        name: file.name.unwrap_or_else(|| place.to_owned()),
        source: file.source.unwrap_or_default(),
        network,
        placement: file.placement.as_deref().map_or(PlacementRule::Block, PlacementRule::from),
        processor_factor,
        flop_rate,
        overheads: overheads(&file.overheads).map_err(within)?,
    })
}

fn overheads(file: &FileOverheads) -> Result<Overheads, MachineError> {
    let span = |name: &str, text: &Option<String>| match text {
        Some(text) => text.parse::<Span>().map_err(|why| MachineError::new(format!("{name}: {why}"))),
        None => Ok(Span::ZERO),
    };
    let eager_limit =
        match &file.eager_limit {
            None => None,
            Some(value) => {
                let text = scalar(value);
                let limit = text.as_deref().and_then(bytes);
                Some(limit.ok_or_else(|| {
                    MachineError::new(format!("eager_limit: {value} is not a number of bytes such as 65536 or \"64KiB\""))
                })?)
            }
        };
    Ok(Overheads { send: span("send", &file.send)?, receive: span("receive", &file.receive)?, gap: span("gap", &file.gap)?, eager_limit })
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

/// A `[[level]]` table in the grammar of specifications, so that there is one reader for both.
fn level(table: &toml::Table) -> Result<String, MachineError> {
    let text = |key: &str, value: &Value, joint: &str| {
        let numbers = value.as_array().and_then(|items| items.iter().map(scalar).collect::<Option<Vec<_>>>());
        scalar(value).or_else(|| numbers.map(|numbers| numbers.join(joint))).ok_or_else(|| {
            MachineError::new(format!("{key} = {value} of a level is neither a text nor a whole number nor a list of whole numbers"))
        })
    };
    let Some(topology) = table.get("topology").and_then(Value::as_str) else {
        return Err(MachineError::new("a [[level]] needs a topology, such as topology = \"star\""));
    };
    let mut items = Vec::new();
    if let Some(size) = table.get("size") {
        items.push(text("size", size, "x")?);
    }
    for (key, value) in table.iter().filter(|(key, _)| !["topology", "size"].contains(&key.as_str())) {
        let joint = if key == "wrap" { "" } else { "x" };
        let short = match key.as_str() {
            "latency" => "l",
            "bandwidth" => "b",
            other => other,
        };
        items.push(format!("{short}={}", text(key, value, joint)?));
    }
    let colon = if items.is_empty() { "" } else { ":" };
    Ok(format!("{topology}{colon}{}", items.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
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
        eager_limit = "64KiB"
    "#;

    #[test]
    fn a_file_says_what_a_specification_says() {
        let file = machine(XT5, "xt5.toml").unwrap();
        let same = "torus:8x8x4,wrap=101,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps/rank:o_send=1us,gap=10ns,eager=65536,place=round-robin,proc=0.5";
        let specified = Machine::parse(same).unwrap();
        assert_eq!((&*file.name, &*file.source), ("XT5-like", "Table I"));
        assert_eq!(Machine { name: specified.name.clone(), source: String::new(), ..file }, specified);
    }

    #[test]
    fn a_file_can_hold_a_specification() {
        let file = machine("network = \"ring:l=1us,b=inf\"", "ring.toml").unwrap();
        assert_eq!((file.name.as_str(), file.network.to_string()), ("ring.toml", "ring:l=1us,b=inf".to_owned()));
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
            ("network = \"star\"\n[overheads]\neager_limit = -4", "not a number of bytes"),
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
        fn reader_never_panics(text in "(name|network|level|\\[\\[level\\]\\]|topology|size|=| |\"star\"|\"|\\[|\\]|1|,|\n|l|wrap|\"1us\"){0,20}") {
            let _ = machine(&text, "x");
        }
    }
}
