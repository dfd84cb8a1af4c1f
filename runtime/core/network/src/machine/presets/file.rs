//! The file of a preset.

use super::{Preset, PresetPingPong};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetFile {
    title: String,
    group: String,
    nodes: Option<u64>,
    ranks: u32,
    rank: String,
    specification: String,
    sources: Vec<String>,
    assumed: Vec<String>,
    ping_pong: Vec<PingPongTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PingPongTable {
    ranks: [u32; 2],
    bytes: u64,
    time: String,
    basis: String,
}

/// Reads the file of a preset, which is part of the program.
pub(super) fn read(name: &'static str, text: &str) -> Preset {
    let file: PresetFile = toml::from_str(text).unwrap_or_else(|why| panic!("the preset {name}: {why}"));
    let ping_pong = |table: PingPongTable| PresetPingPong {
        ranks: table.ranks,
        bytes: table.bytes,
        time: table.time.parse().unwrap_or_else(|why| panic!("the preset {name}: {why}")),
        basis: table.basis,
    };
    Preset {
        name,
        group: file.group.into(),
        title: file.title,
        specification: file.specification.into(),
        nodes: file.nodes,
        ranks: file.ranks,
        rank: file.rank,
        sources: file.sources.into_iter().map(Into::into).collect(),
        assumed: file.assumed,
        ping_pongs: file.ping_pong.into_iter().map(ping_pong).collect(),
    }
}
