//! A kind of router is one file and one row, and the shard names none.

use super::{product, rust_files};
use std::path::Path;

#[test]
fn a_router_is_one_file_and_one_row() {
    let shard = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/core/network/src/packet/shard");
    let read = |path: &Path| product(&std::fs::read_to_string(path).unwrap()).collect::<Vec<_>>().join("\n");
    let table = read(&shard.join("router/table.rs"));
    let rows = table.split("kinds! {").nth(1).unwrap().lines().filter(|line| line.ends_with(',')).count();
    let kinds: Vec<String> =
        rust_files(&shard.join("router"), &|name| name == "table.rs" || !name.contains('.'))
            .iter()
            .filter_map(|path| {
                let text = read(path);
                let after = text.split("pub(crate) struct ").nth(1)?;
                Some(after.split(' ').next()?.to_owned())
            })
            .collect();
    assert!(rows >= 3 && rows == kinds.len(), "{rows} rows of {kinds:?}");
    for path in rust_files(&shard, &|name| name == "router") {
        let text = read(&path);
        for kind in &kinds {
            assert!(!text.contains(kind.as_str()), "{} names {kind}", path.display());
        }
    }
}
