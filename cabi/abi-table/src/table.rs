//! Reads `cabi/table/*.txt`, the one description of every MPI function, callback type and
//! constant (format: `cabi/table/README.md`). A row that cannot be read stops the build
//! with file, line and reason.

use crate::kinds::Kind;
use std::fs;
use std::path::Path;

/// The access of a function to what a parameter names: it reads, writes or does both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intent {
    /// The function reads it.
    In,
    /// The function writes it.
    Out,
    /// Both.
    InOut,
}

/// One parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The standard's name.
    pub name: String,
    /// The parameter's meaning.
    pub kind: Kind,
    /// In, out or both.
    pub direction: Intent,
    /// Exists in the large-count variant only.
    pub large_only: bool,
    /// The program may pass a null pointer.
    pub nullable: bool,
    /// `Some` for an array (or a bounded string): the parameter or constant with its length, or empty.
    pub length: Option<String>,
}

/// One function or callback type.
#[derive(Clone, Debug)]
pub struct Row {
    /// The name behind `MPI_`.
    pub name: String,
    /// The chapter file that holds it.
    pub chapter: String,
    /// Path of the implementation below `calls::`, `=CODE` for one that fails always, or `None` for not
    /// built.
    pub body: Option<String>,
    /// Has a `_c` variant.
    pub large: bool,
    /// The implementation is told, last, whether it is called as the `_c` variant.
    pub told: bool,
    /// The implementation comes in two halves, before and after the rank's wait: what the second is given
    /// besides results and the lengths of their arrays.
    pub waits: Option<Vec<String>>,
    /// The [`PROPERTIES`] of the function, a bit each.
    pub properties: u8,
    /// The C type it returns; `None` for an error code.
    pub returns: Option<String>,
    /// The MPI version that deprecated it.
    pub deprecated: Option<String>,
    /// In order.
    pub parameters: Vec<Parameter>,
}

/// Properties of functions: the flag in the table, and its meaning.
pub const PROPERTIES: &[(&str, &str)] = &[
    ("anytime", "It may be called before `MPI_Init` and after `MPI_Finalize` (MPI 5.0 section 11.4.1)."),
    ("threads", "Any thread may call it at any time, whatever others do (MPI 5.0 section 11.6)."),
    ("polls", "It asks whether something has happened, and does not wait for it."),
    ("starts", "It starts an operation, and leaves what its rank started just before as it is."),
    (
        "quick",
        "Most calls of it need one look at the world: its implementation with `_quickly` behind its name is \
         tried first.",
    ),
    ("posts", "It starts an operation that sends nothing."),
    (
        "collective",
        "It counts among the collective calls of its communicator, which match in order: communication, and \
         what makes a communicator.",
    ),
];

/// One named constant.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Full name, with `MPI_`.
    pub name: String,
    /// The constant's kind: a handle kind, `int`, `alias`, `fn.X`...
    pub kind: String,
    /// The value as written (a number; for an alias, a name).
    pub value: String,
    /// The heading above it in the file.
    pub section: String,
}

/// The whole table.
pub struct AbiTable {
    /// All functions, sorted by name.
    pub functions: Vec<Row>,
    /// Callback types, in file order.
    pub callbacks: Vec<Row>,
    /// Constants, in file order.
    pub constants: Vec<Constant>,
}

/// The whole name of a function: `MPI_Send`; `MPIX_Comm_revoke`, which stands in the table as
/// `X_Comm_revoke`. `prefix` is `MPI`, `PMPI`, `mpi`, `pmpi`.
pub fn symbol(prefix: &str, name: &str) -> String {
    let between = if name.starts_with("X_") || name.starts_with("x_") { "" } else { "_" };
    format!("{prefix}{between}{name}")
}

impl Row {
    /// Returns `true` if it is in the standard.
    pub fn is_standard(&self) -> bool {
        !self.name.starts_with("X_")
    }
    /// Its whole name.
    pub fn full_name(&self) -> String {
        symbol("MPI", &self.name)
    }
    /// The parameters of the `_c` variant (`large`) or of the plain one.
    pub fn shown(&self, large: bool) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(move |p| large || !p.large_only)
    }
    /// Returns `true` if the table says so: one of [`PROPERTIES`].
    pub fn is(&self, property: &str) -> bool {
        PROPERTIES
            .iter()
            .position(|(name, _)| *name == property)
            .is_some_and(|bit| self.properties & 1 << bit != 0)
    }
    /// The variants that exist: `false` for the plain one, `true` for `_c`.
    pub fn variants(&self) -> &'static [bool] {
        if self.large { &[false, true] } else { &[false] }
    }
}

/// Reads every file of `directory`.
pub fn read(directory: &Path) -> AbiTable {
    let mut table = AbiTable { functions: Vec::new(), callbacks: Vec::new(), constants: Vec::new() };
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    files.sort();
    for path in files {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let chapter = path.file_stem().and_then(|s| s.to_str()).expect("a plain file name");
        match chapter {
            "constants" => table.constants = constants(&text, &path),
            "callbacks" => table.callbacks = rows(&text, chapter, &path),
            _ => table.functions.extend(rows(&text, chapter, &path)),
        }
    }
    table.functions.sort_by(|a, b| a.name.cmp(&b.name));
    for pair in table.functions.windows(2) {
        assert!(pair[0].name != pair[1].name, "{} is in the table twice", pair[0].full_name());
    }
    table
}

fn rows(text: &str, chapter: &str, path: &Path) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = || format!("{}:{}", path.display(), index + 1);
        let content = line.split('#').next().unwrap_or("").trim_end();
        if content.is_empty() {
            continue;
        }
        if content.starts_with(' ') {
            let row = rows.last_mut().unwrap_or_else(|| panic!("{}: parameters before any row", place()));
            for word in content.split_whitespace() {
                let parameter = parameter(word).unwrap_or_else(|why| panic!("{}: {word}: {why}", place()));
                row.parameters.push(parameter);
            }
        } else {
            rows.push(head(content, chapter).unwrap_or_else(|why| panic!("{}: {why}", place())));
        }
    }
    rows
}

fn head(line: &str, chapter: &str) -> Result<Row, String> {
    let mut words = line.split_whitespace();
    let name = words.next().ok_or("a row needs a name")?.to_string();
    let body = words.next().ok_or("a row needs an implementation, or '-'")?;
    let mut row = Row {
        name,
        chapter: chapter.to_string(),
        body: (body != "-" && body != "callback").then(|| body.to_string()),
        large: false,
        told: false,
        waits: None,
        properties: 0,
        returns: None,
        deprecated: None,
        parameters: Vec::new(),
    };
    for word in words {
        match word.split_once('=') {
            None if word == "_c" => row.large = true,
            None if word == "_c+" => (row.large, row.told) = (true, true),
            None if word == "waits" => row.waits = Some(Vec::new()),
            None => match PROPERTIES.iter().position(|(name, _)| *name == word) {
                Some(bit) => row.properties |= 1 << bit,
                None => return Err(format!("unknown flag {word}")),
            },
            Some(("waits", names)) => row.waits = Some(names.split(',').map(str::to_string).collect()),
            Some(("returns", of)) => row.returns = Some(of.to_string()),
            Some(("deprecated", version)) => row.deprecated = Some(version.to_string()),
            Some((key, _)) => return Err(format!("unknown key {key}")),
        }
    }
    Ok(row)
}

fn parameter(word: &str) -> Result<Parameter, String> {
    let (word, length) = match word.split_once('[') {
        None => (word, None),
        Some((front, rest)) => {
            (front, Some(rest.strip_suffix(']').ok_or("the bracket is not closed")?.to_string()))
        }
    };
    let (name, mut what) = word.split_once(':').unwrap_or((word, word));
    let mut result = Parameter {
        name: name.to_string(),
        kind: Kind::Int,
        direction: Intent::In,
        large_only: false,
        nullable: false,
        length,
    };
    if let Some(rest) = what.strip_suffix('?') {
        result.nullable = true;
        what = rest;
    }
    if let Some(rest) = what.strip_prefix("large.") {
        result.large_only = true;
        what = rest;
    }
    if let Some(rest) = what.strip_prefix("out.") {
        result.direction = Intent::Out;
        what = rest;
    } else if let Some(rest) = what.strip_prefix("inout.") {
        result.direction = Intent::InOut;
        what = rest;
    }
    result.name = result.name.trim_end_matches('?').to_string();
    result.kind = Kind::named(what).ok_or_else(|| format!("unknown kind {what}"))?;
    Ok(result)
}

fn constants(text: &str, path: &Path) -> Vec<Constant> {
    let mut found = Vec::new();
    let mut section = String::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.to_string();
        }
        let content = line.split('#').next().unwrap_or("");
        let mut words = content.split_whitespace();
        let Some(name) = words.next() else { continue };
        let (Some(kind), Some(value), None) = (words.next(), words.next(), words.next()) else {
            panic!("{}:{}: a constant is: name kind value", path.display(), index + 1);
        };
        found.push(Constant {
            name: name.to_string(),
            kind: kind.to_string(),
            value: value.to_string(),
            section: section.clone(),
        });
    }
    found
}
