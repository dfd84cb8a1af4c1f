//! Counts of how comments and names read (the rules stand in CONTRIBUTING.md). A change may lower a number,
//! never raise it.

use super::prose::{self, MAX_PARAGRAPH_WORDS, MAX_SENTENCE_WORDS, without_code, words};
use super::rust_files;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Columns that a line of code has at most.
const MAX_COLUMNS: usize = 110;

/// Folders with code, beside the files of the root.
const CODE: &[&str] = &[
    "runtime",
    "cabi",
    "cli",
    "tests",
    "benches",
    "examples",
    "include",
    "fortran",
    "fuzz",
    "python",
    "packaging",
];

/// Endings, or whole names, of files with code. Tables of MPI's functions have `txt`.
const CODE_ENDINGS: &[&str] =
    &["rs", "c", "h", "cc", "cpp", "f90", "sh", "run", "py", "js", "css", "toml", "aspen", "txt"];

/// Folders of inputs that a tool has written, one a line.
const DATA: &[&str] = &["target", "proptest-regressions", "corpus", "fuzz/artifacts", "presets"];

/// Words that begin no documentation of an item: a function's begins with a verb.
const QUESTIONS: &[&str] = &["What", "Whether", "How", "Of", "Where", "Which", "Who"];

/// Percent of the documented functions whose documentation begins with a verb, at least.
const MIN_VERBS: usize = 88;

/// Plural nouns, and verbs that do not say what a function does: no documentation's verb.
const NO_VERBS: &[&str] = &[
    "As",
    "Bytes",
    "Does",
    "Functions",
    "Has",
    "Is",
    "Its",
    "Lines",
    "Members",
    "Messages",
    "Names",
    "Neighbours",
    "Numbers",
    "Places",
    "Processes",
    "Ranks",
    "Rows",
    "This",
    "Times",
    "Values",
    "Was",
    "Words",
];

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

/// Collects the code below `directory`, files and folders of [`DATA`] and hidden ones left out.
fn code_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with('.') || DATA.contains(&name) {
            continue;
        }
        if path.is_dir() {
            code_files(&path, found);
        } else if CODE_ENDINGS.contains(&name.rsplit('.').next().unwrap()) {
            found.push(path);
        }
    }
}

#[test]
fn no_line_of_code_is_longer_than_110_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("Cargo.toml"), root.join("build.rs")];
    for directory in CODE {
        code_files(&root.join(directory), &mut files);
    }
    let mut long = Vec::new();
    for path in &files {
        let text = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().enumerate().filter(|(_, line)| line.chars().count() > MAX_COLUMNS);
        long.extend(lines.map(|(at, _)| format!("{}:{}", path.display(), at + 1)));
    }
    assert!(files.len() > 1000, "{} files", files.len());
    assert!(long.is_empty(), "lines beyond {MAX_COLUMNS} columns:\n{}", long.join("\n"));
}

/// Returns `true` if a line begins a function.
fn is_function(line: &str) -> bool {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ").map_or(rest, |(_, rest)| rest),
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    let words = line.split(' ').take_while(|word| *word != "fn");
    let is_qualifier =
        |word: &str| ["const", "async", "unsafe", "extern"].contains(&word) || word.starts_with('"');
    words.clone().all(is_qualifier) && line.split(' ').nth(words.count()) == Some("fn")
}

/// Returns `true` if the first word of a description is a verb: one in the third person.
fn begins_with_a_verb(description: &str) -> bool {
    let first = description.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    first.starts_with(|c: char| c.is_ascii_uppercase()) && first.ends_with('s') && !NO_VERBS.contains(&first)
}

#[test]
fn descriptions_of_functions_begin_with_a_verb() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_skipped = |name: &str| name.starts_with('.') || name == "target";
    let (mut all, mut verbs) = (0, 0);
    for path in ["runtime", "cabi", "cli"].iter().flat_map(|name| rust_files(&root.join(name), &is_skipped)) {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut description: Option<&str> = None;
        for line in text.lines() {
            let trimmed = line.trim_start();
            if let Some(words) = trimmed.strip_prefix("/// ") {
                description = description.or(Some(words));
            } else if !trimmed.starts_with("#[")
                && !trimmed.starts_with("///")
                && let Some(words) = description.take().filter(|_| is_function(line))
            {
                all += 1;
                verbs += usize::from(begins_with_a_verb(words));
            }
        }
    }
    println!("{verbs} of {all} descriptions of functions begin with a verb");
    assert!(all > 5000 && 100 * verbs >= MIN_VERBS * all, "{verbs} of {all} begin with a verb");
}

#[test]
fn comments_on_items_have_short_sentences_and_paragraphs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_skipped = |name: &str| name.starts_with('.') || name == "target";
    let (mut sentences, mut paragraphs) = (Vec::new(), Vec::new());
    for path in ["runtime", "cabi", "cli"].iter().flat_map(|name| rust_files(&root.join(name), &is_skipped)) {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut paragraph = String::new();
        for (at, line) in text.lines().chain([""]).enumerate() {
            let line = line.trim_start();
            let words_of = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or_default();
            let is_prose = words_of.starts_with(' ')
                && !words_of.trim_start().starts_with(['-', '*', '|', '#', '>', '`'])
                && !words_of.starts_with("  ");
            if is_prose || (words_of.starts_with(" `") && !words_of.starts_with(" ```")) {
                paragraph.push_str(words_of);
                continue;
            }
            let prose = without_code(&paragraph);
            let long = prose::sentences(&prose).into_iter().filter(|one| words(one) > MAX_SENTENCE_WORDS);
            sentences.extend(long.map(|one| format!("{}:{at}: {one}", path.display())));
            if words(&prose) > MAX_PARAGRAPH_WORDS {
                paragraphs.push(format!("{}:{at}", path.display()));
            }
            paragraph.clear();
        }
    }
    assert!(sentences.is_empty(), "sentences beyond {MAX_SENTENCE_WORDS} words:\n{}", sentences.join("\n"));
    assert!(paragraphs.is_empty(), "paragraphs beyond {MAX_PARAGRAPH_WORDS} words: {paragraphs:?}");
}

#[test]
fn comments_and_names_stay_within_their_counts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_skipped = |name: &str| name.starts_with('.') || ["target", "fuzz"].contains(&name);
    let directories = ["runtime", "cabi", "cli", "tests", "benches"];
    let sources = directories.iter().flat_map(|directory| rust_files(&root.join(directory), &is_skipped));
    let mut questions = 0;
    let mut homes: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        let is_test = path.strip_prefix(root).unwrap().components().any(|part| part.as_os_str() == "tests");
        let mut before = "";
        for line in text.lines() {
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
    println!("{questions} descriptions that begin with a question word");
    println!("{shared} of {} names of types are shared", homes.len());
    assert_eq!(questions, 0, "descriptions that begin with one of {QUESTIONS:?}");
    assert!(shared <= MAX_SHARED_NAMES, "{shared} names of types are shared");
}
