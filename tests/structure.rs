//! No circle of files across modules: what a file needs of others can be read before it.
//!
//! A file needs another if a path in it leads there: an import, or `crate::...`, `super::...` and the like in its text, through whatever
//! re-exports, tests left out. A file may need those below it (`foo.rs` those in `foo/`), and these it: they are one module in several files,
//! so the way down is not counted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// The most files of a circle.
const MOST: usize = 3;

/// A module that has a file of its own.
#[derive(Default)]
struct Module {
    path: PathBuf,
    /// Names that are defined in it.
    defined: BTreeSet<String>,
    /// Names that come from elsewhere, with their paths from the crate's root.
    imported: BTreeMap<String, Vec<String>>,
    /// Modules of which it has all names.
    globs: Vec<Vec<String>>,
    /// Paths in it, from the crate's root.
    paths: BTreeSet<Vec<String>>,
}

/// A crate's modules by their places.
type Modules = BTreeMap<Vec<String>, Module>;

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let of = |name| attribute.path().is_ident(name);
        of("test") || of("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

/// Reads a module's file and those of the modules in it.
fn read(path: &Path, place: Vec<String>, modules: &mut Modules) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let file = syn::parse_file(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let mut reader = Reader { place: place.clone(), module: Module { path: path.to_owned(), ..Module::default() }, below: Vec::new() };
    reader.visit_file(&file);
    modules.insert(place.clone(), reader.module);
    let directory = match path.file_name().and_then(|name| name.to_str()) {
        Some("lib.rs" | "main.rs") => path.parent().unwrap().to_owned(),
        _ => path.with_extension(""),
    };
    for name in reader.below {
        read(&directory.join(format!("{name}.rs")), [place.as_slice(), &[name]].concat(), modules);
    }
}

struct Reader {
    place: Vec<String>,
    module: Module,
    /// Modules with files of their own.
    below: Vec<String>,
}

impl Reader {
    /// A path from the crate's root, if it stays in the crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut place = self.place.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => place.clear(),
            "self" => {}
            "super" => {
                place.pop();
                while let [_, next, ..] = rest
                    && next == "super"
                {
                    place.pop();
                    rest = &rest[1..];
                }
            }
            name if self.below.iter().any(|below| below == name) => return Some([place.as_slice(), path].concat()),
            _ => return None,
        }
        place.extend_from_slice(&rest[1..]);
        Some(place)
    }

    fn import(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before)),
            syn::UseTree::Name(name) if name.ident == "self" => self.bind(before.last().cloned().unwrap_or_default(), before.to_vec()),
            syn::UseTree::Name(name) => self.bind(name.ident.to_string(), with(&name.ident)),
            syn::UseTree::Rename(rename) => self.bind(rename.rename.to_string(), with(&rename.ident)),
            syn::UseTree::Glob(_) => {
                if let Some(path) = self.absolute(before) {
                    self.module.paths.insert(path.clone());
                    self.module.globs.push(path);
                }
            }
        }
    }

    fn bind(&mut self, name: String, path: Vec<String>) {
        if let Some(path) = self.absolute(&path) {
            self.module.paths.insert(path.clone());
            self.module.imported.insert(name, path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_file(&mut self, file: &'ast syn::File) {
        // Known before paths through them are seen.
        for item in &file.items {
            if let syn::Item::Mod(module) = item
                && module.content.is_none()
                && !is_test(&module.attrs)
            {
                self.below.push(module.ident.to_string());
            }
        }
        syn::visit::visit_file(self, file);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        use syn::Item::{Const, Enum, Fn, Macro, Mod, Static, Struct, Trait, Type, Union, Use};
        let (attributes, name) = match item {
            Const(item) => (&item.attrs, Some(&item.ident)),
            Enum(item) => (&item.attrs, Some(&item.ident)),
            Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Macro(item) => (&item.attrs, item.ident.as_ref()),
            Mod(item) => (&item.attrs, None),
            Static(item) => (&item.attrs, Some(&item.ident)),
            Struct(item) => (&item.attrs, Some(&item.ident)),
            Trait(item) => (&item.attrs, Some(&item.ident)),
            Type(item) => (&item.attrs, Some(&item.ident)),
            Union(item) => (&item.attrs, Some(&item.ident)),
            Use(item) => (&item.attrs, None),
            _ => return syn::visit::visit_item(self, item),
        };
        if is_test(attributes) {
            return;
        }
        self.module.defined.extend(name.map(ToString::to_string));
        syn::visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1
            && let Some(path) = self.absolute(&names)
        {
            self.module.paths.insert(path);
        }
        syn::visit::visit_path(self, path);
    }
}

/// The module in which what a path names is defined.
fn home(modules: &Modules, path: &[String], depth: usize) -> Option<Vec<String>> {
    let length = (0..=path.len()).rev().find(|&length| modules.contains_key(&path[..length]))?;
    let (place, rest) = path.split_at(length);
    let module = &modules[place];
    let Some(name) = rest.first() else { return Some(place.to_vec()) };
    if module.defined.contains(name) || depth > 20 {
        return Some(place.to_vec());
    }
    if let Some(from) = module.imported.get(name) {
        return home(modules, &[from, &rest[1..]].concat(), depth + 1);
    }
    let within = |glob: &Vec<String>| {
        let home = home(modules, &[glob.as_slice(), rest].concat(), depth + 1)?;
        modules[&home].defined.contains(name).then_some(home)
    };
    module.globs.iter().find_map(within).or(Some(place.to_vec()))
}

/// Which files a crate's files need.
fn needs(modules: &Modules) -> BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> {
    let of = |(place, module): (&Vec<String>, &Module)| {
        let homes = module.paths.iter().filter_map(|path| home(modules, path, 0));
        homes.filter(|home| !home.starts_with(place)).collect()
    };
    modules.iter().map(|entry| (entry.0, of(entry))).collect()
}

/// Sets of files each of which needs all others of its set, by way of others if not itself.
fn circles(needs: &BTreeMap<&Vec<String>, BTreeSet<Vec<String>>>) -> Vec<BTreeSet<Vec<String>>> {
    let reached = |from: &Vec<String>| {
        let (mut seen, mut ahead) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(place) = ahead.pop() {
            let next = needs[&place].iter().filter(|&next| seen.insert(next.clone()));
            ahead.extend(next.cloned());
        }
        seen
    };
    let reached: HashMap<&Vec<String>, BTreeSet<Vec<String>>> = needs.keys().map(|&place| (place, reached(place))).collect();
    let circle = |&place: &&Vec<String>| reached[place].iter().filter(|other| reached[other].contains(place)).cloned().collect();
    let all: BTreeSet<BTreeSet<Vec<String>>> = needs.keys().map(circle).filter(|circle: &BTreeSet<_>| circle.len() > 1).collect();
    all.into_iter().collect()
}

/// The root files of all crates of the workspace.
fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![root.join("cabi/lib.rs"), root.join("cli/main.rs")];
    for entry in std::fs::read_dir(root.join("runtime")).unwrap() {
        found.push(entry.unwrap().path().join("src/lib.rs"));
    }
    found.retain(|path| path.exists());
    found.sort();
    found
}

#[test]
fn no_circle_of_files_is_large() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut large, mut files) = (String::new(), 0);
    for path in crates() {
        let mut modules = Modules::new();
        read(&path, Vec::new(), &mut modules);
        files += modules.len();
        let needs = needs(&modules);
        for circle in circles(&needs) {
            let file = |place: &Vec<String>| modules[place].path.strip_prefix(root).unwrap().display().to_string();
            let mut text = format!("{} files need each other:\n", circle.len());
            for place in &circle {
                let others: Vec<String> = needs[place].intersection(&circle).map(file).collect();
                text += &format!("  {} needs {}\n", file(place), others.join(", "));
            }
            println!("{text}");
            if circle.len() > MOST {
                large += &text;
            }
        }
    }
    assert!(files > 200, "only {files} files were found");
    assert!(large.is_empty(), "{large}move what the lower of them need to where it does not need the others");
}

#[test]
fn a_circle_through_a_re_export_is_found() {
    let directory = std::env::temp_dir().join(format!("xsim-structure-{}", std::process::id()));
    std::fs::create_dir_all(directory.join("a")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
    write("lib.rs", "mod a; mod b; mod c; pub use a::A; use b::*;");
    write("a.rs", "mod below; pub struct A; fn f() { below::g() } use crate::c::C;");
    write("a/below.rs", "use super::A; pub fn g() {} #[cfg(test)] mod tests { use crate::b::B; }");
    write("b.rs", "use crate::A; pub struct B;");
    write("c.rs", "pub struct C; fn f() { let _ = crate::B; }");
    let mut modules = Modules::new();
    read(&directory.join("lib.rs"), Vec::new(), &mut modules);
    std::fs::remove_dir_all(&directory).unwrap();
    let found = circles(&needs(&modules));
    let names: Vec<String> = found.iter().flatten().map(|place| place.join("::")).collect();
    assert_eq!((found.len(), names), (1, ["a", "b", "c"].map(str::to_owned).to_vec()));
}

/// The crates that a manifest of `runtime/` names among its dependencies.
fn imports(name: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime").join(name).join("Cargo.toml")).unwrap();
    let dependencies = text.split("[dependencies]").nth(1).unwrap_or_default().split("\n[").next().unwrap();
    let names = dependencies.lines().filter_map(|line| line.strip_suffix(".workspace = true"));
    names.filter(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime").join(name).is_dir()).map(str::to_owned).collect()
}

#[test]
fn crates_depend_as_the_picture_of_the_house_says() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md")).unwrap();
    let picture = text.split("manifests):\n").nth(1).expect("the picture of the house").split("\n| ").next().unwrap();
    let mut drawn = 0;
    for line in picture.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| !line.starts_with("cabi")) {
        let (crates, named) = line.split_once(':').expect("crates, a colon, and what they import");
        let named: BTreeSet<String> = named.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        for name in crates.split(',').map(str::trim) {
            assert_eq!(imports(name), named, "runtime/{name}/Cargo.toml, and its line in docs/architecture.md");
            drawn += 1;
        }
    }
    let there = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime")).unwrap();
    assert_eq!(drawn, there.filter(|entry| entry.as_ref().unwrap().path().join("Cargo.toml").is_file()).count(), "a crate is not drawn");
}

/// A crate in numbers, its tests left out.
#[derive(Default)]
struct Numbers {
    code: usize,
    /// Lines of comments inside code, which say why.
    reasons: usize,
    largest_circle: usize,
    /// Files that take the steps of a schedule one by one.
    interpreters: usize,
}

/// Rooms that came out of one hall, and lines of comments inside their code for each hundred lines of code, at the least: what the code cannot
/// say itself (why this order, what a tie does, what it costs, which section of MPI asks for it).
const REASONED: &[&str] = &["collective", "message", "mpi", "objects", "rma", "schedule"];
const REASONS: usize = 4;

/// Lines of a file but those of its tests, which come last if they are in it.
fn product(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines().map(str::trim)
}

/// A crate's files but those of tests, with what they say.
fn texts(modules: &Modules) -> Vec<(&Path, String)> {
    let files = modules.values().map(|module| module.path.as_path()).filter(|path| !path.ends_with("tests.rs"));
    files.map(|path| (path, std::fs::read_to_string(path).unwrap())).collect()
}

impl Numbers {
    fn of(root_file: &Path) -> Numbers {
        let mut modules = Modules::new();
        read(root_file, Vec::new(), &mut modules);
        let largest_circle = circles(&needs(&modules)).iter().map(BTreeSet::len).max().unwrap_or(0);
        let mut numbers = Numbers { largest_circle, ..Numbers::default() };
        for (path, text) in texts(&modules) {
            for line in product(&text).filter(|line| !line.is_empty()) {
                let is_comment = line.starts_with("//");
                numbers.code += usize::from(!is_comment);
                numbers.reasons += usize::from(is_comment && !line.starts_with("///") && !line.starts_with("//!"));
            }
            let arms = product(&text).filter(|line| line.starts_with("Step::Receive") && line.contains("=>")).count();
            let lets = product(&text).filter(|line| line.starts_with("let Step::Receive")).count();
            // Algorithms make steps, some of others' steps.
            let makes = path.components().any(|part| part.as_os_str() == "algorithm");
            numbers.interpreters += usize::from(arms + lets > 0 && !makes);
        }
        numbers
    }
}

#[test]
fn the_house_in_numbers_stays_within_its_bounds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let numbers: Vec<(String, Numbers)> =
        crates().iter().map(|path| (path.strip_prefix(root).unwrap().display().to_string(), Numbers::of(path))).collect();
    let all: usize = numbers.iter().map(|(_, numbers)| numbers.code).sum();
    println!("{:32} {:>6} {:>5} {:>7} {:>12}", "crate", "lines", "%", "circle", "why per 100");
    for (name, Numbers { code, reasons, largest_circle, .. }) in &numbers {
        let (share, why) = (*code as f64 * 100.0 / all as f64, *reasons as f64 * 100.0 / *code as f64);
        println!("{name:32} {code:6} {share:5.1} {largest_circle:7} {why:12.2}");
    }
    let interpreters: usize = numbers.iter().map(|(_, numbers)| numbers.interpreters).sum();
    let world = std::fs::read_to_string(root.join("runtime/mpi/src/world.rs")).unwrap();
    let body = world.split("pub struct World {").nth(1).expect("the world").split("\n}").next().unwrap();
    let parts = body.lines().filter(|line| line.trim_start().starts_with("pub")).count();
    println!("{all} lines; {parts} parts of the world; {interpreters} interpreters of a schedule's steps");
    assert!((1..=5).contains(&parts), "the world has {parts} parts");
    assert!((1..=3).contains(&interpreters), "{interpreters} files interpret a schedule's steps");
    for (name, Numbers { code, reasons, .. }) in numbers.iter().filter(|(name, _)| REASONED.iter().any(|room| name.contains(room))) {
        assert!(reasons * 100 >= REASONS * code, "{name} says why {reasons} times in {code} lines");
    }
    let largest = numbers.iter().map(|(name, numbers)| (numbers.code, name)).max().unwrap();
    assert!(largest.0 * 4 < all, "{} has {} of {all} lines", largest.1, largest.0);
}

/// What point-to-point messages may be done in so many ways, told by what none of these ways can do without.
struct Ways {
    what: &'static str,
    /// A function is a way if one of these is in its text. `x_slow` is the part of `x` that is kept out of line: both are one way.
    told_by: &'static [&'static str],
    /// Where that is looked for.
    under: &'static [&'static str],
    /// Functions that have it and are none, and why.
    but: &'static [(&'static str, &'static str)],
    most: usize,
}

const WAYS: &[Ways] = &[
    Ways {
        what: "send",
        told_by: &["message_node(", "State::Unexpected)", "Kind::Message,"],
        under: &["runtime/message/src", "runtime/mpi/src"],
        but: &[
            ("message_node", "makes what the ways put into the world"),
            ("give_back", "takes a receive back: the message was sent before"),
            ("of", "reads of which kind a record is"),
        ],
        most: 3,
    },
    Ways {
        what: "receive",
        told_by: &["posted.push(", ".drop_message("],
        under: &["runtime/message/src", "runtime/mpi/src"],
        but: &[("bury", "messages whose senders wait for a rank that has failed: nobody receives them")],
        most: 3,
    },
    Ways {
        what: "complete",
        told_by: &["nodes.free(", "requests.remove("],
        under: &["runtime/message/src", "runtime/mpi/src"],
        but: &[
            ("drop_message", "a message whose sender has no request"),
            ("finish_request", "requests that were given up, or of another process: nobody here is told"),
            ("free_request", "the program gives the request up"),
            ("finish_failed", "ends a receive that nothing has come for and nothing will"),
            ("bury", "receives of a rank that has failed: nobody is told"),
            ("fail_send", "a request that stands for a send: its own is told"),
            ("take_from", "a request that stands for a send, whose rank learns of the revocation by itself"),
        ],
        most: 4,
    },
    Ways {
        what: "move a payload",
        told_by: &[
            "memory::copy(",
            "memory::append(",
            "memory::read(",
            "memory::write(",
            "memory::load_short(",
            "memory::store_short(",
            ".pack(*",
            ".unpack(",
        ],
        under: &["runtime/message/src"],
        // Bytes of the program's memory by a datatype, whatever they are for.
        but: &[("packing.rs", "what a datatype's blocks are copied by, below all of them")],
        most: 4,
    },
];

/// The functions under a directory in whose text one of `told_by` is, but those that are no ways, with the files that they are in.
fn ways(ways: &Ways) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for directory in ways.under {
        let mut modules = Modules::new();
        read(&root.join(directory).join("lib.rs"), Vec::new(), &mut modules);
        for (path, text) in texts(&modules) {
            let file = path.file_name().unwrap().to_str().unwrap();
            let mut function = String::new();
            for line in product(&text).filter(|line| !line.starts_with("//")) {
                if let Some(name) = line
                    .split_once("fn ")
                    .filter(|(before, _)| before.split(' ').all(|word| word.is_empty() || word.starts_with("pub") || word == "const"))
                {
                    function = name.1.split(['(', '<']).next().unwrap().to_owned();
                }
                let is_one = ways.told_by.iter().any(|told| line.contains(told)) && !line.contains("fn ");
                if is_one && !ways.but.iter().any(|(name, _)| *name == function || *name == file) {
                    found.insert(format!("{file}: {}", function.trim_end_matches("_slow")));
                }
            }
        }
    }
    found
}

#[test]
fn messages_are_sent_received_completed_and_moved_in_few_ways() {
    for kind in WAYS {
        let found = ways(kind);
        println!(
            "ways to {}: {} of at most {}: {}",
            kind.what,
            found.len(),
            kind.most,
            found.iter().cloned().collect::<Vec<_>>().join(", ")
        );
        assert!((1..=kind.most).contains(&found.len()), "ways to {}: {found:#?}", kind.what);
    }
}

/// A comment is read where it stands, by a reader who came by a search: it must not lean on the one above it.
#[test]
fn no_description_leans_on_another_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut leaning = String::new();
    for path in crates() {
        let mut modules = Modules::new();
        read(&path, Vec::new(), &mut modules);
        for (path, text) in texts(&modules) {
            let lines = text.lines().map(str::trim).zip(1..);
            for (line, number) in lines.filter(|(line, _)| line.starts_with("//")) {
                let words = line.trim_start_matches(['/', '!']).trim_start();
                let begins = |opening: &&str| words.strip_prefix(*opening).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
                if (line.starts_with("///") || line.starts_with("//!")) && ["The same", "As above", "Those"].iter().any(begins) {
                    leaning += &format!("{}:{number}: {line}\n", path.strip_prefix(root).unwrap().display());
                }
            }
        }
    }
    assert!(leaning.is_empty(), "say what it is of:\n{leaning}");
}
