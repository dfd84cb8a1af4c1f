//! The manual (docs and the pages `OUTSIDE`) keeps the rules of its style: short sentences, paragraphs,
//! lines and pages, whole tables, links that lead somewhere, and one word for one thing. Exceptions stand in
//! the lists below, which only shrink.

#[path = "common/prose.rs"]
mod prose;

use prose::{MAX_PARAGRAPH_WORDS, MAX_SENTENCE_WORDS, sentences, without_code, words};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const MAX_LINE_COLUMNS: usize = 100;
const MAX_PAGE_WORDS: usize = 1500;
const MAX_README_WORDS: usize = 600;
/// Words of all pages of docs, but generated ones and the table of contents.
const MAX_MANUAL_WORDS: usize = 35_000;

/// Pages outside docs.
const OUTSIDE: &[&str] = &[
    "README.md",
    "CONTRIBUTING.md",
    "examples/README.md",
    "runtime/models/aspen/DECISIONS.md",
    "runtime/observe/trace/FORMAT.md",
    "runtime/observe/trace/FOLDING.md",
];

/// Pages for those who change xsim, of which the columns are counted alone.
const COLUMNS_ALONE: &[&str] =
    &["CHANGELOG.md", "cabi/table/README.md", "fortran/README.md", "fuzz/README.md"];

/// The manual's table of contents, whose words are titles of pages.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Pages that a command writes; only their links are checked.
const GENERATED: &[&str] = &[
    "docs/reference/options.md",
    "docs/reference/mpi-coverage.md",
    "docs/reference/presets.md",
    "docs/papers/xsim.md",
    "docs/papers/fattreesim.md",
    "docs/papers/tracer.md",
    "docs/papers/scalabenchgen.md",
    "docs/papers/durango.md",
];

/// Pages of more than `MAX_PAGE_WORDS` words, and how many they may have.
const LONG_PAGES: &[(&str, usize)] = &[("docs/reference/aspen.md", 1750)];

/// Words that the manual leaves to others (docs/glossary.md has the field's).
const LEFT_WORDS: &[&str] = &[
    "in vain",
    "volley",
    "how many-th",
    "how-many-th",
    "look at the world",
    "borrow the world",
    "errand",
    "errands",
    "nobody",
    "somebody",
    "whoever",
    "forgive",
    "bury",
    "no longer",
    "since then",
    "used to be",
];

/// Files outside docs that name pages of it, by the ends of their names.
const NAMING: &[&str] = &["rs", "c", "h", "txt", "py", "sh", "f90", "aspen", "toml", "run"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the files below a directory of the repository in order, hidden ones and build output left out.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || name.starts_with("target") {
            continue;
        }
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push(path);
        }
    }
    all.sort();
    all
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()
}

/// Returns the manual's pages: names from the repository's root, and texts.
fn pages() -> Vec<(String, String)> {
    let is_page = |path: &PathBuf| path.extension().is_some_and(|end| end == "md");
    let mut all: Vec<PathBuf> = files(&root().join("docs")).into_iter().filter(is_page).collect();
    all.extend(OUTSIDE.iter().map(|name| root().join(name)));
    all.iter().map(|path| (relative(path), std::fs::read_to_string(path).unwrap())).collect()
}

fn written_pages() -> Vec<(String, String)> {
    pages().into_iter().filter(|(name, _)| !GENERATED.contains(&name.as_str())).collect()
}

/// A piece of a page, with the number of its first line.
enum Block {
    /// A paragraph, an item of a list, or a cell of a table.
    Prose(usize, String),
    Heading(String),
    Code,
}

fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ")
        || line.starts_with("* ")
        || (number.len() < line.len() && number.starts_with(". "))
}

/// Divides a page. Code is fenced, or indented by four columns after a blank line outside lists.
fn blocks(text: &str) -> Vec<Block> {
    let mut all = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let (mut fenced, mut in_list, mut after_blank) = (false, false, true);
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let is_fence = trimmed.starts_with("```");
        let indented = line.starts_with("    ") && after_blank && open.is_none();
        if is_fence || fenced || (indented && !in_list) {
            all.extend(open.take().map(|(at, text)| Block::Prose(at, text)));
            fenced ^= is_fence;
            all.push(Block::Code);
            // Lines of indented code follow each other without blank lines between them.
            after_blank = !fenced;
            continue;
        }
        after_blank = trimmed.is_empty();
        let is_alone = trimmed.is_empty()
            || trimmed.starts_with('#')
            || trimmed.starts_with('|')
            || trimmed.starts_with("<!--");
        if is_alone || is_item(trimmed) {
            all.extend(open.take().map(|(at, text)| Block::Prose(at, text)));
        }
        if is_item(trimmed) {
            in_list = true;
        } else if !line.starts_with(' ') && !trimmed.is_empty() {
            in_list = in_list && open.is_some();
        }
        if let Some(cells) = trimmed.strip_prefix('|') {
            let cells = cells.replace("\\|", "¦");
            let filled = cells.split('|').filter(|cell| cell.contains(char::is_alphanumeric));
            all.extend(filled.map(|cell| Block::Prose(index + 1, cell.trim().to_owned())));
        } else if trimmed.starts_with('#') {
            all.push(Block::Heading(trimmed.trim_start_matches('#').trim().to_owned()));
        } else if !is_alone {
            let (_, paragraph) = open.get_or_insert_with(|| (index + 1, String::new()));
            paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
            paragraph.push_str(trimmed);
        }
    }
    all.extend(open.take().map(|(at, text)| Block::Prose(at, text)));
    all
}

/// Returns the targets of a text's links and pictures.
fn links(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in without_code(text).split("](").skip(1) {
        let target = part.split(')').next().unwrap();
        if !target.contains("://") {
            all.push(target.to_owned());
        }
    }
    all
}

/// Returns the name under which a heading can be linked to, as forges and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Fails with a line for each thing that is wrong.
fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn sentences_have_at_most_35_words() {
    let mut wrong = Vec::new();
    for (name, text) in written_pages() {
        for block in blocks(&text) {
            let Block::Prose(line, prose) = block else { continue };
            for sentence in sentences(&without_code(&prose)) {
                let count = words(&sentence);
                if count > MAX_SENTENCE_WORDS {
                    wrong.push(format!("{name}:{line}: a sentence of {count} words: {sentence}"));
                }
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn paragraphs_have_at_most_80_words() {
    let mut wrong = Vec::new();
    for (name, text) in written_pages() {
        for block in blocks(&text) {
            let Block::Prose(line, prose) = block else { continue };
            let count = words(&prose);
            if count > MAX_PARAGRAPH_WORDS {
                wrong.push(format!("{name}:{line}: a paragraph of {count} words"));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn lines_have_at_most_100_columns_outside_tables() {
    let mut wrong = Vec::new();
    let others = COLUMNS_ALONE.iter().map(|name| (*name).to_owned());
    let others = others.map(|name| (std::fs::read_to_string(root().join(&name)).unwrap(), name));
    for (name, text) in written_pages().into_iter().chain(others.map(|(text, name)| (name, text))) {
        for (index, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            // Commands are indented; one that cannot be broken stays a line.
            let is_command = line.starts_with("    ") && COLUMNS_ALONE.contains(&&*name);
            if columns > MAX_LINE_COLUMNS && !line.trim_start().starts_with('|') && !is_command {
                wrong.push(format!("{name}:{}: {columns} columns", index + 1));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn pages_and_the_manual_have_a_bounded_number_of_words() {
    let mut wrong = Vec::new();
    let mut manual = 0;
    for (name, text) in written_pages() {
        let count = words(&text);
        let long = LONG_PAGES.iter().find(|(page, _)| *page == name).map(|(_, most)| *most);
        let most = if name == "README.md" { MAX_README_WORDS } else { long.unwrap_or(MAX_PAGE_WORDS) };
        if count > most {
            wrong.push(format!("{name}: {count} words, at most {most}"));
        }
        if long.is_some() && count <= MAX_PAGE_WORDS {
            wrong.push(format!("{name}: {count} words: it is no exception; take it out of LONG_PAGES"));
        }
        manual += if name.starts_with("docs/") && name != CONTENTS { count } else { 0 };
    }
    if manual > MAX_MANUAL_WORDS {
        wrong.push(format!("docs: {manual} words, at most {MAX_MANUAL_WORDS}"));
    }
    assert_none(&wrong);
}

#[test]
fn the_index_of_examples_names_each_file() {
    let index = std::fs::read_to_string(root().join("examples/README.md")).unwrap();
    let named: Vec<String> = links(&index);
    let mut wrong = Vec::new();
    for directory in ["c", "fortran", "aspen", "python"] {
        for entry in std::fs::read_dir(root().join("examples").join(directory)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{directory}/{}", entry.file_name().display());
            if entry.file_type().unwrap().is_file() && !named.contains(&name) {
                wrong.push(format!("examples/README.md does not name {name}"));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let mut wrong = Vec::new();
    for (name, text) in pages() {
        let directory = root().join(&name).parent().unwrap().to_owned();
        for link in links(&text) {
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { root().join(&name) } else { directory.join(path) };
            if !target.exists() {
                wrong.push(format!("{name}: no file {link}"));
                continue;
            }
            // The site has the pages of docs alone.
            let docs = root().join("docs").canonicalize().unwrap();
            if name.starts_with("docs/") && !target.canonicalize().unwrap().starts_with(docs) {
                wrong.push(format!("{name}: {link} leads out of docs, where the site has no page"));
            }
            if heading.is_empty() {
                continue;
            }
            let there = blocks(&std::fs::read_to_string(&target).unwrap());
            let mut headings = there
                .iter()
                .filter_map(|block| if let Block::Heading(text) = block { Some(anchor(text)) } else { None });
            if !headings.any(|there| there == heading) {
                wrong.push(format!("{name}: no heading {link}"));
            }
        }
    }
    assert_none(&wrong);
}

/// Returns the number of a table row's cells; a pipe within code or behind a backslash divides none.
fn cells(row: &str) -> usize {
    without_code(&row.replace("\\|", "")).trim().matches('|').count() - 1
}

#[test]
fn rows_of_a_table_have_as_many_cells_as_its_heading() {
    let mut wrong = Vec::new();
    for (name, text) in pages() {
        let mut columns = None;
        for (index, line) in text.lines().enumerate() {
            if !line.starts_with('|') {
                if columns.take().is_some() && !line.trim().is_empty() {
                    wrong.push(format!("{name}:{}: text right below a table", index + 1));
                }
                continue;
            }
            let there = cells(line);
            let wanted = *columns.get_or_insert(there);
            if there != wanted {
                wrong.push(format!("{name}:{}: {there} cells below a heading of {wanted}", index + 1));
            }
        }
    }
    assert_none(&wrong);
}

/// Endings of the names of source files.
const SOURCES: &[&str] = &[".rs", ".c", ".h", ".py", ".sh", ".txt", ".aspen", ".f90"];

/// Returns `true` if a path leads to a file from the root, or from the sources of a crate that its first name
/// is.
fn leads_to_a_file(path: &str) -> bool {
    let folders = || std::fs::read_dir(root().join("runtime")).unwrap();
    let is_inside = |(name, rest): (&str, &str)| {
        folders().any(|folder| folder.unwrap().path().join(name).join("src").join(rest).exists())
    };
    root().join(path).exists() || path.split_once('/').is_some_and(is_inside)
}

#[test]
fn source_files_that_pages_name_exist() {
    let mut wrong = Vec::new();
    for (name, text) in written_pages() {
        for block in blocks(&text) {
            let Block::Prose(line, prose) = block else { continue };
            for code in prose.split('`').skip(1).step_by(2) {
                let is_source = code.contains('/') && SOURCES.iter().any(|end| code.ends_with(end));
                let is_here =
                    is_source && !code.contains([' ', '*', '=', ':']) && !code.starts_with(['/', '.']);
                // Sources of others, which decision tables follow.
                let is_ours = is_here && !code.starts_with("ompi/");
                if is_ours && !leads_to_a_file(code) {
                    wrong.push(format!("{name}:{line}: no file {code}"));
                }
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn the_summary_lists_each_page_once() {
    let summary = std::fs::read_to_string(root().join(CONTENTS)).unwrap();
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    for link in links(&summary) {
        *listed.entry(format!("docs/{link}")).or_default() += 1;
    }
    let there = pages().into_iter().map(|(name, _)| name);
    let there: BTreeSet<String> =
        there.filter(|name| name.starts_with("docs/") && name != CONTENTS).collect();
    let mut wrong: Vec<String> = there
        .iter()
        .filter(|page| !listed.contains_key(*page))
        .map(|page| format!("{page} is not listed"))
        .collect();
    wrong.extend(
        listed
            .iter()
            .filter(|(_, times)| **times > 1)
            .map(|(page, times)| format!("{page} is listed {times} times")),
    );
    assert_none(&wrong);
}

#[test]
fn pages_that_sources_and_messages_name_exist() {
    let mut wrong = Vec::new();
    for path in files(root()) {
        let name = relative(&path);
        let end = path
            .extension()
            .or(path.file_name())
            .map(|end| end.to_string_lossy().into_owned())
            .unwrap_or_default();
        let is_page = end == "md" && !name.starts_with("docs/experiments");
        if !is_page && !NAMING.contains(&end.as_str()) {
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        for (at, _) in text.match_indices("docs/") {
            let rest = &text[at..];
            let page =
                rest.split(|c: char| !(c.is_ascii_alphanumeric() || "/-_.".contains(c))).next().unwrap();
            // Addresses of other sites have folders of that name, too.
            let elsewhere = text[..at].ends_with('/') && !text[..at].ends_with("../");
            if let Some(page) = page.split_inclusive(".md").next().filter(|page| page.ends_with(".md"))
                && !elsewhere
                && !root().join(page).is_file()
            {
                wrong.push(format!("{name} names {page}"));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn the_manual_leaves_words_that_the_field_does_not_have() {
    let mut wrong = Vec::new();
    for (name, text) in written_pages() {
        for block in blocks(&text) {
            let Block::Prose(line, prose) = block else { continue };
            let plain = without_code(&prose).to_lowercase();
            let plain: Vec<&str> = plain
                .split(|c: char| !(c.is_alphanumeric() || c == '-'))
                .filter(|word| !word.is_empty())
                .collect();
            let plain = format!(" {} ", plain.join(" "));
            wrong.extend(
                LEFT_WORDS
                    .iter()
                    .filter(|word| plain.contains(&format!(" {word} ")))
                    .map(|word| format!("{name}:{line}: \"{word}\"")),
            );
        }
    }
    assert_none(&wrong);
}
