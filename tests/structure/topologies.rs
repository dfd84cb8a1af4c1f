//! A topology is one file, which states its shape for formulas, flows and packets.

use super::{product, rust_files};
use std::path::Path;

/// The topologies and the files that define them, by name.
fn topologies() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/core/network/src/topology");
    let mut found = Vec::new();
    for path in rust_files(&folder, &|_| false) {
        let text = std::fs::read_to_string(&path).unwrap();
        for line in product(&text) {
            if let Some(rest) = line.strip_prefix("const NAME: &'static str = \"") {
                let name = rest.split('"').next().unwrap().to_owned();
                found.push((name, path.strip_prefix(&folder).unwrap().display().to_string()));
            }
        }
    }
    found
}

#[test]
fn a_topology_is_one_file_and_one_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("runtime/core/network/src");
    let named = topologies();
    let table = std::fs::read_to_string(folder.join("topology/table.rs")).unwrap();
    // The rows that the macro itself makes name no file.
    let is_row = |line: &&str| line.starts_with("row!(") && line.contains("::") && !line.contains('$');
    let rows = product(&table).filter(is_row).count();
    assert!(named.len() >= 15 && rows == named.len(), "{rows} rows of {} topologies", named.len());
    let is_skipped = |name: &str| ["tests", "tests.rs", "presets.rs"].contains(&name);
    let files: Vec<(String, String)> = rust_files(&folder, &is_skipped)
        .iter()
        .map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            (
                path.strip_prefix(&folder).unwrap().display().to_string(),
                product(&text).collect::<Vec<_>>().join("\n"),
            )
        })
        .collect();
    // "none" is an ordinary word, too.
    for (name, file) in named.iter().filter(|(name, _)| name != "none") {
        let literal = format!("\"{name}\"");
        let others: Vec<&str> = files
            .iter()
            .filter(|(_, text)| text.contains(&literal))
            .map(|(other, _)| other.as_str())
            .collect();
        let own = format!("topology/{file}");
        let others: Vec<&&str> = others.iter().filter(|other| **other != own).collect();
        assert!(others.is_empty(), "'{name}' is named in {others:?} beside {own}; let the topology state it");
    }
}

#[test]
fn what_implements_a_shape_lies_with_the_topologies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/core/network/src");
    let mut outside = Vec::new();
    for path in rust_files(&folder, &|name| name == "topology") {
        let text = std::fs::read_to_string(&path).unwrap();
        let shapes = ["impl Topology for", "impl Hops for", "impl Cabling for"];
        if product(&text).any(|line| shapes.iter().any(|shape| line.starts_with(shape))) {
            outside.push(path.strip_prefix(&folder).unwrap().display().to_string());
        }
    }
    // A network without what failed is a decorator of any of them.
    assert_eq!(outside, ["packet/failures.rs"]);
}

#[test]
fn one_file_of_the_product_has_a_torus_in_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_skipped = |name: &str| {
        ["target", "tests", "tests.rs", "testlib", "presets"].contains(&name) || name.starts_with('.')
    };
    let mut found = Vec::new();
    for directory in ["runtime", "cabi", "cli"] {
        for path in rust_files(&root.join(directory), &is_skipped) {
            let text = std::fs::read_to_string(&path).unwrap();
            if product(&text).any(|line| line.contains("\"torus\"") || line.contains("struct Torus")) {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    assert_eq!(found, ["runtime/core/network/src/topology/torus.rs"]);
}
