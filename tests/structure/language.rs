//! Counts of how comments and names read (the rules stand in CONTRIBUTING.md). A change may lower a number,
//! never raise it.

use super::rust_files;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Columns that a line of code has at most.
const COLUMNS: usize = 110;

/// Words that begin no documentation of an item: a function's begins with a verb.
const QUESTIONS: &[&str] = &["What", "Whether", "How", "Of", "Where", "Which", "Who"];

/// Lines of code beyond [`COLUMNS`], which are texts and tables.
const MAX_LONG_LINES: usize = 946;
/// Names that several types of the workspace have.
const MAX_SHARED_NAMES: usize = 64;

/// Returns the name of the type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let rest = ["struct ", "enum "].iter().find_map(|kind| line.strip_prefix(kind))?;
    Some(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?).filter(|name| !name.is_empty())
}

#[test]
fn comments_and_names_stay_within_their_counts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_skipped = |name: &str| name.starts_with('.') || ["target", "fuzz"].contains(&name);
    let directories = ["runtime", "cabi", "cli", "tests", "benches"];
    let sources = directories.iter().flat_map(|directory| rust_files(&root.join(directory), &is_skipped));
    let (mut long, mut questions) = (0, 0);
    let mut homes: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        let is_test = path.strip_prefix(root).unwrap().components().any(|part| part.as_os_str() == "tests");
        let mut before = "";
        for line in text.lines() {
            long += usize::from(line.chars().count() > COLUMNS);
            let trimmed = line.trim_start();
            if let Some(words) =
                trimmed.strip_prefix("/// ").filter(|_| !before.trim_start().starts_with("///"))
            {
                let first = words.split(' ').next().unwrap_or_default();
                questions += usize::from(QUESTIONS.contains(&first));
            }
            if let Some(name) = defined(line).filter(|_| !is_test) {
                homes.entry(name.to_owned()).or_default().insert(path.clone());
            }
            before = line;
        }
    }
    let shared = homes.values().filter(|homes| homes.len() > 1).count();
    println!(
        "{long} lines beyond {COLUMNS} columns, {questions} descriptions that begin with a question word"
    );
    println!("{shared} of {} names of types are shared", homes.len());
    assert!(long <= MAX_LONG_LINES, "{long} lines beyond {COLUMNS} columns");
    assert_eq!(questions, 0, "descriptions that begin with one of {QUESTIONS:?}");
    assert!(shared <= MAX_SHARED_NAMES, "{shared} names of types are shared");
}
