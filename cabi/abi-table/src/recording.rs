//! Writes what recorders need of the table: for each function its parameters with their kinds, the names of
//! predefined handles, and for each entry point the way around it while anybody listens
//! (`cabi/recording.rs`).

use crate::exports::{rust_name, rust_type};
use crate::fortran::visible;
use crate::kinds::Kind;
use crate::table::{AbiTable, Parameter, Row};
use std::fmt::Write;

/// Returns `true` if calls of the function are recorded. Not recorded are functions that any thread may call
/// at any time, in which no rank waits, and functions that return a value: these read a clock or convert a
/// number.
pub fn is_recorded(row: &Row) -> bool {
    !row.is("threads") && row.returns.is_none()
}

/// Returns the parameters of all functions, and the predefined handles with their names.
pub fn tables(table: &AbiTable) -> String {
    let mut out = String::new();
    writeln!(out, "/// The functions' parameters, by `Function as usize`.").unwrap();
    writeln!(out, "pub static PARAMETERS: [&[RecordedParameter]; {}] = [", table.functions.len()).unwrap();
    for row in &table.functions {
        let shown: Vec<&Parameter> = row.parameters.iter().filter(|p| p.kind != Kind::Variadic).collect();
        writeln!(out, "    &[").unwrap();
        for p in &shown {
            writeln!(
                out,
                "        RecordedParameter {{ name: \"{}\", kind: Kind::{}, direction: ArgumentIntent::{:?}, \
                 length: {}, wide: [{}, {}], large_only: {}, at_root: {} }},",
                p.name,
                kind(&p.kind),
                p.direction,
                length(row, &shown, p),
                p.kind.wide(false),
                p.kind.wide(true),
                p.large_only,
                is_for_root(row, p)
            )
            .unwrap();
        }
        writeln!(out, "    ],").unwrap();
    }
    writeln!(
        out,
        "];\n\n/// Predefined handles and their names, by value.\npub static HANDLES: &[(usize, &str)] = &["
    )
    .unwrap();
    let mut handles: Vec<(usize, &str)> = table
        .constants
        .iter()
        .filter(|c| Kind::named(&c.kind).is_some_and(|kind| kind.handle().is_some()))
        .map(|c| (number(&c.value), c.name.as_str()))
        .collect();
    handles.sort_unstable();
    for (value, name) in handles {
        writeln!(out, "    ({value:#x}, \"{name}\"),").unwrap();
    }
    out.push_str("];\n");
    out
}

fn number(text: &str) -> usize {
    text.strip_prefix("0x")
        .map_or_else(|| text.parse(), |hex| usize::from_str_radix(hex, 16))
        .expect("a handle is a number")
}

fn kind(kind: &Kind) -> String {
    let class = |name: &str| match name {
        "comm" => "Kind::Comm".to_owned(),
        "datatype" => "Kind::Datatype".to_owned(),
        tool if tool.starts_with("t_") => "Kind::Handle(Class::Tool)".to_owned(),
        name => format!("Kind::Handle(Class::{}{})", name[..1].to_uppercase(), &name[1..]),
    };
    if let Some(name) = kind.handle() {
        return class(name).trim_start_matches("Kind::").to_owned();
    }
    match kind {
        Kind::Rank | Kind::Root => "Rank",
        Kind::Tag => "Tag",
        Kind::Logical => "Logical",
        Kind::Status => "Status",
        Kind::Buffer => "Buffer",
        Kind::Text => "Text",
        Kind::Argc | Kind::Argv => "Main",
        Kind::Address | Kind::Attribute | Kind::ExtraState | Kind::Function(_) => "Address",
        Kind::Texts | Kind::TextArrays => "Address",
        Kind::Ranges => "Ranges",
        kind if kind.counts() || *kind == Kind::Length => "Count",
        _ => "Integer",
    }
    .to_owned()
}

/// Returns `true` if MPI reads the parameter at the root alone, so that it may be anything elsewhere (MPI 5.0
/// sections 11.8.2, 11.8.3, 11.9.2).
// The counts and datatypes of rooted collectives are told of all callers: replays need them, and a number or
// a handle can be anything. What is read through an address cannot.
fn is_for_root(row: &Row, p: &Parameter) -> bool {
    let is_behind = |name: &str| row.parameters.iter().position(|q| q.name == name).unwrap_or(0);
    row.chapter == "process"
        && row.parameters.iter().any(|q| q.name == "root")
        && is_behind(&p.name) < is_behind("root")
}

/// Returns the length of an array. All that reads arrays uses this one table.
fn length(row: &Row, shown: &[&Parameter], p: &Parameter) -> String {
    let of =
        |name: &str| shown.iter().position(|q| q.name == name).map(|index| format!("Length::Of({index})"));
    let within = |how: &str, name: &str| {
        let index = shown.iter().position(|q| q.name == name).expect("the list that has the length");
        format!("Length::{how}({index})")
    };
    let Some(length) = p.length.as_deref() else { return "Length::One".into() };
    // Of the room that the program has only the neighbours are filled in (MPI 5.0 section 8.5.5).
    match (row.name.as_str(), p.name.as_str()) {
        ("Dist_graph_neighbors", "sources") => return within("SourcesWithin", length),
        ("Dist_graph_neighbors", "destinations") => return within("DestinationsWithin", length),
        _ => {}
    }
    if !length.is_empty() {
        return of(length).unwrap_or_else(|| "Length::Unknown".into());
    }
    let rooted = |name: &str| {
        name.contains("atherv") && !name.to_lowercase().contains("allgather") || name.contains("catterv")
    };
    match row.chapter.as_str() {
        "collective" if rooted(&row.name) => "Length::PeersAtRoot".into(),
        // A group scatters among itself, of an intercommunicator too (MPI 5.0 section 6.10.2).
        "collective" if row.name.contains("educe_scatter") => "Length::Members".into(),
        "collective" => "Length::Peers".into(),
        "neighbor" if p.name.starts_with('r') || p.name == "displs" => "Length::Sources".into(),
        "neighbor" => "Length::Destinations".into(),
        "topology" if matches!(p.name.as_str(), "remain_dims" | "coords") => "Length::Dimensions".into(),
        // Lists whose lengths stand in other lists (MPI 5.0 sections 8.5.3 and 8.5.4).
        "topology" if row.name == "Graph_create" || row.name == "Graph_map" => within("Last", "index"),
        "topology"
            if row.name == "Dist_graph_create" && matches!(p.name.as_str(), "destinations" | "weights") =>
        {
            within("Sum", "degrees")
        }
        "topology" if row.name == "Dist_graph_create_adjacent" => {
            of(if p.name == "sourceweights" { "indegree" } else { "outdegree" })
                .expect("each weight is of an edge")
        }
        "request" => of("outcount").or_else(|| of("count")).unwrap_or_else(|| "Length::Unknown".into()),
        _ => "Length::Unknown".into(),
    }
}

/// The function around the C entry point `symbol`: it tells the recorders, and calls the entry point, which
/// goes on then; `first` is tried before that.
pub fn around(row: &Row, large: bool, symbol: &str, first: &str) -> String {
    let shown: Vec<&Parameter> = row.shown(large).filter(|p| p.kind != Kind::Variadic).collect();
    let typed: Vec<String> =
        shown.iter().map(|p| format!("{}: {}", rust_name(p), rust_type(p, large))).collect();
    let words: Vec<String> = shown.iter().map(|p| word(p, large)).collect();
    // A status may be the program's or, if that wants none, the recorders'.
    let passed: Vec<String> = (0..)
        .zip(&shown)
        .map(
            |(index, p)| {
                if p.kind == Kind::Status { format!("Addr(words[{index}] as usize)") } else { rust_name(p) }
            },
        )
        .collect();
    let (form, call) = (
        format!("recording::ArgumentForm::c({large})"),
        format!("{}({})", crate::table::symbol("PMPI", symbol), passed.join(", ")),
    );
    function(row, &typed, &words, (&form, first, &call), (" -> i32", "code"))
}

/// The function around a Fortran entry point, whose arguments are addresses and the lengths of texts.
pub fn around_fortran(row: &Row, large: bool, name: &str, arguments: &[String], descriptors: bool) -> String {
    let shown: Vec<&Parameter> = row.shown(large).filter(|p| p.kind != Kind::Variadic).collect();
    let mut words: Vec<String> = shown
        .iter()
        .map(|p| if visible(row, p) { format!("{}.0 as u64", rust_name(p)) } else { "0".into() })
        .collect();
    let names: Vec<&str> = arguments.iter().map(|a| a.split(':').next().expect("name: type")).collect();
    words.extend(names.iter().filter(|name| name.ends_with("_length")).map(|name| format!("{name} as u64")));
    let passed: Vec<String> = names
        .iter()
        .map(|&name| match shown.iter().position(|p| rust_name(p) == name && p.kind == Kind::Status) {
            Some(index) => format!("Addr(words[{index}] as usize)"),
            None if name == "ierror" => "Addr(&raw mut code as usize)".into(),
            None => name.into(),
        })
        .collect();
    let call = format!(
        "{{ let mut code = 0i32; {}_({}); code }}",
        crate::table::symbol("pmpi", name),
        passed.join(", ")
    );
    let form = format!("recording::ArgumentForm::fortran({large}, {descriptors})");
    let end = if names.contains(&"ierror") { "fortran::finish(ierror, code);" } else { "" };
    function(row, arguments, &words, (&form, "", &call), ("", end))
}

fn function(
    row: &Row,
    typed: &[String],
    words: &[String],
    (form, first, call): (&str, &str, &str),
    (returns, end): (&str, &str),
) -> String {
    format!(
        "    #[cold]\n    #[inline(never)]\n    #[allow(clippy::too_many_arguments, unused_mut, \
         unused_variables)]\n\
         \x20   extern \"C-unwind\" fn around({}){returns} {{\n\
         \x20       let mut words: [u64; {}] = [{}];\n\
         \x20       static FRAME: recording::Frame = recording::Frame::new();\n\
         {first}\x20       let opened = recording::open(Function::{}, {form}, &mut words, &FRAME);\n\
         \x20       let made = recording::Around::call(&opened, &words);\n\
         \x20       let code = {call};\n\
         \x20       made.returned(code);\n\
         \x20       {end}\n    }}\n",
        typed.join(", "),
        words.len(),
        words.join(", "),
        row.name
    )
}

fn word(p: &Parameter, large: bool) -> String {
    let name = rust_name(p);
    match rust_type(p, large) {
        "Addr" | "Handle" => format!("{name}.0 as u64"),
        _ => format!("{name} as u64"),
    }
}

/// The branch at the beginning of an entry point: to the function around it, unless nobody listens or it was
/// called from there.
pub fn branch(arguments: &[&str]) -> String {
    format!("    if recording::intervenes() {{\n        return around({});\n    }}\n", arguments.join(", "))
}
