//! No circle of files across modules: what a file needs of others can be read before it.
//!
//! A file needs another if a path in it leads there: an import, or `crate::...`, `super::...` and the like in
//! its text, through whatever re-exports, tests left out. A file may need those below it (`foo.rs` those in
//! `foo/`), and these it: they are one module in several files, so the way down is not counted.

#[path = "structure/calls.rs"]
mod calls;
#[path = "structure/drawing.rs"]
mod drawing;
#[path = "structure/language.rs"]
mod language;
#[path = "common/prose.rs"]
mod prose;
#[path = "structure/routers.rs"]
mod routers;
#[path = "structure/topologies.rs"]
mod topologies;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// The most files of a circle.
const MAX_CIRCLE_FILES: usize = 3;

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
        of("test")
            || of("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

/// Returns the Rust files below `directory` in their order, files and directories of skipped names left out.
fn rust_files(directory: &Path, is_skipped: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if is_skipped(name) {
            continue;
        }
        if path.is_dir() {
            found.extend(rust_files(&path, is_skipped));
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Reads a module's file and those of the modules in it.
fn read(path: &Path, place: Vec<String>, modules: &mut Modules) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let file = syn::parse_file(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let mut reader = Reader {
        place: place.clone(),
        module: Module { path: path.to_owned(), ..Module::default() },
        below: Vec::new(),
    };
    reader.visit_file(&file);
    modules.insert(place.clone(), reader.module);
    let directory = match path.file_name().and_then(|name| name.to_str()) {
        Some("lib.rs" | "main.rs" | "mod.rs") => path.parent().unwrap().to_owned(),
        _ => path.with_extension(""),
    };
    for name in reader.below {
        let beside = directory.join(format!("{name}.rs"));
        // A file that lies elsewhere for another crate has its modules in its own directory.
        let file = if beside.exists() { beside } else { directory.join(&name).join("mod.rs") };
        read(&file, [place.as_slice(), &[name]].concat(), modules);
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
            name if self.below.iter().any(|below| below == name) => {
                return Some([place.as_slice(), path].concat());
            }
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
            syn::UseTree::Name(name) if name.ident == "self" => {
                self.bind(before.last().cloned().unwrap_or_default(), before.to_vec())
            }
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

/// Returns which files a crate's files need.
fn needs(modules: &Modules) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let of = |(place, module): (&Vec<String>, &Module)| {
        let homes = module.paths.iter().filter_map(|path| home(modules, path, 0));
        homes.filter(|home| !home.starts_with(place)).collect()
    };
    modules.iter().map(|entry| (entry.0.clone(), of(entry))).collect()
}

/// Returns the sets of at least two files each of which needs all others of its set, by way of others if not
/// itself.
fn circles<F: Clone + Ord>(needs: &BTreeMap<F, BTreeSet<F>>) -> Vec<BTreeSet<F>> {
    let reached = |from: &F| {
        let (mut seen, mut ahead) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(file) = ahead.pop() {
            let next = needs[&file].iter().filter(|&next| seen.insert(next.clone()));
            ahead.extend(next.cloned());
        }
        seen
    };
    let reached: BTreeMap<&F, BTreeSet<F>> = needs.keys().map(|file| (file, reached(file))).collect();
    let circle =
        |file: &F| reached[file].iter().filter(|other| reached[other].contains(file)).cloned().collect();
    let all: BTreeSet<BTreeSet<F>> =
        needs.keys().map(circle).filter(|circle: &BTreeSet<_>| circle.len() > 1).collect();
    all.into_iter().collect()
}

/// The root files of all crates of the workspace.
fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![root.join("cabi/lib.rs"), root.join("cli/main.rs")];
    found.extend(crates_of_runtime().iter().map(|path| path.join("src/lib.rs")));
    found.sort();
    found
}

/// The standard library's macros panic where nothing more can be written.
#[test]
fn the_command_prints_in_one_place() {
    let mut modules = Modules::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cli/main.rs"), Vec::new(), &mut modules);
    for module in modules.values().filter(|module| !module.path.ends_with("cli/output.rs")) {
        let text = std::fs::read_to_string(&module.path).unwrap();
        for printing in ["println!(", "print!(", "io::stdout()"] {
            let found = product(&text).filter(|line| line.contains(printing)).find(|line| {
                !["BufWriter::new(", "flush()", "terminal_width("].iter().any(|other| line.contains(other))
            });
            assert_eq!(found, None, "{}: cli/output.rs prints", module.path.display());
        }
    }
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
            let file =
                |place: &Vec<String>| modules[place].path.strip_prefix(root).unwrap().display().to_string();
            let mut text = format!("{} files need each other:\n", circle.len());
            for place in &circle {
                let others: Vec<String> = needs[place].intersection(&circle).map(file).collect();
                text += &format!("  {} needs {}\n", file(place), others.join(", "));
            }
            println!("{text}");
            if circle.len() > MAX_CIRCLE_FILES {
                large += &text;
            }
        }
    }
    assert!(files > 200, "only {files} files were found");
    assert!(large.is_empty(), "{large}move what the lower of them need to where it does not need the others");
}

/// Reads each source file of the product in one crate: a file that two crates compile has two meanings, and
/// dead code in one of them.
#[test]
fn no_file_is_compiled_twice() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // What answers C functions in tests of ranks: a crate that exports them would take over whoever uses it.
    let is_skipped = |name: &str| ["target", "tests", "testlib"].contains(&name) || name.starts_with('.');
    let (mut files, mut found) = (0, Vec::new());
    for directory in ["runtime", "cabi", "cli"] {
        for path in rust_files(&root.join(directory), &is_skipped) {
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            if text.lines().any(|line| line.trim_start().starts_with("#[path")) {
                found.push(path);
            }
        }
    }
    assert!(files > 500, "only {files} files were found");
    assert!(found.is_empty(), "{found:?}: a crate of what both need replaces `#[path]`");
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
    let text = std::fs::read_to_string(directory_of(name).join("Cargo.toml")).unwrap();
    let dependencies = text.split("[dependencies]").nth(1).unwrap_or_default().split("\n[").next().unwrap();
    let names = dependencies.lines().filter_map(|line| line.strip_suffix(".workspace = true"));
    let houses: BTreeSet<String> = crates_of_runtime()
        .iter()
        .map(|path| path.file_name().expect("a directory").to_str().expect("ASCII").to_owned())
        .collect();
    names.filter(|name| houses.contains(*name)).map(str::to_owned).collect()
}

/// Returns the directories of the crates in the folders of `runtime/`.
fn crates_of_runtime() -> Vec<PathBuf> {
    let below = |directory: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let folders = below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime"));
    let inside = folders.iter().flat_map(|folder| below(folder));
    inside.filter(|path| path.join("Cargo.toml").is_file()).collect()
}

/// Returns the directory of a crate of `runtime/`.
fn directory_of(name: &str) -> PathBuf {
    let found = crates_of_runtime().into_iter().find(|path| path.ends_with(name));
    found.unwrap_or_else(|| panic!("no folder of runtime/ has a crate {name}"))
}

#[test]
fn crates_depend_as_the_picture_of_the_house_says() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md")).unwrap();
    let picture =
        text.split("manifests):\n").nth(1).expect("the picture of the house").split("\n| ").next().unwrap();
    // A long line continues in one that is indented further.
    let picture = picture.replace(",\n         ", ", ");
    let mut drawn = 0;
    for line in
        picture.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| !line.starts_with("cabi"))
    {
        let (crates, named) = line.split_once(':').expect("crates, a colon, and what they import");
        let named: BTreeSet<String> =
            named.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        for name in crates.split(',').map(str::trim) {
            assert_eq!(imports(name), named, "the manifest of {name}, and its line in docs/architecture.md");
            drawn += 1;
        }
    }
    assert_eq!(drawn, crates_of_runtime().len(), "a crate is not drawn");
}

/// A crate in numbers, its tests left out.
#[derive(Default)]
struct Numbers {
    code: usize,
    largest_circle: usize,
    /// Files that take the steps of a schedule one by one.
    interpreters: usize,
}

/// Lines of a file but those of its tests, which come last if they are in it.
fn product(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines().map(str::trim)
}

/// A crate's files but those of tests, with what they say.
fn texts(modules: &Modules) -> Vec<(&Path, String)> {
    let files =
        modules.values().map(|module| module.path.as_path()).filter(|path| !path.ends_with("tests.rs"));
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
                numbers.code += usize::from(!line.starts_with("//"));
            }
            let arms = product(&text)
                .filter(|line| line.starts_with("Step::Receive") && line.contains("=>"))
                .count();
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
    let numbers: Vec<(String, Numbers)> = crates()
        .iter()
        .map(|path| (path.strip_prefix(root).unwrap().display().to_string(), Numbers::of(path)))
        .collect();
    let all: usize = numbers.iter().map(|(_, numbers)| numbers.code).sum();
    println!("{:32} {:>6} {:>5} {:>7}", "crate", "lines", "%", "circle");
    for (name, Numbers { code, largest_circle, .. }) in &numbers {
        println!("{name:32} {code:6} {:5.1} {largest_circle:7}", *code as f64 * 100.0 / all as f64);
    }
    let interpreters: usize = numbers.iter().map(|(_, numbers)| numbers.interpreters).sum();
    let world = std::fs::read_to_string(root.join("runtime/core/mpi/src/world.rs")).unwrap();
    let body = world.split("pub struct World {").nth(1).expect("the world").split("\n}").next().unwrap();
    let parts = body.lines().filter(|line| line.trim_start().starts_with("pub")).count();
    println!("{all} lines; {parts} parts of the world; {interpreters} interpreters of a schedule's steps");
    assert!((1..=5).contains(&parts), "the world has {parts} parts");
    assert!((1..=3).contains(&interpreters), "{interpreters} files interpret a schedule's steps");
    let largest = numbers.iter().map(|(name, numbers)| (numbers.code, name)).max().unwrap();
    assert!(largest.0 * 4 < all, "{} has {} of {all} lines", largest.1, largest.0);
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
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            // A line behind another one of a comment is the middle of a sentence.
            let goes_on = |number: usize| {
                number >= 2 && lines[number - 2].len() > 4 && lines[number - 2].starts_with("//")
            };
            for (line, number) in
                lines.iter().zip(1..).filter(|&(line, number)| line.starts_with("//") && !goes_on(number))
            {
                let words = line.trim_start_matches(['/', '!']).trim_start();
                let begins = |opening: &&str| {
                    words.strip_prefix(*opening).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
                };
                if (line.starts_with("///") || line.starts_with("//!"))
                    && ["The same", "As above", "Those"].iter().any(begins)
                {
                    leaning += &format!("{}:{number}: {line}\n", path.strip_prefix(root).unwrap().display());
                }
            }
        }
    }
    assert!(leaning.is_empty(), "say what it is of:\n{leaning}");
}
