//! The reader of the function table: what it makes of a row, and that a bad row stops the build with
//! its place and the reason.

// The build script's own modules; what only the generators use is not used here.
#[allow(dead_code)]
#[path = "../build/kinds.rs"]
mod kinds;
#[allow(dead_code)]
#[path = "../build/table.rs"]
mod table;

use kinds::Kind;
use std::path::{Path, PathBuf};
use table::{Direction, Table};

fn read(name: &str, text: &str) -> Table {
    let directory: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("table").join(name);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("chapter.txt"), text).unwrap();
    table::read(&directory)
}

#[test]
fn a_row_gives_name_implementation_flags_and_parameters() {
    let table =
        read("row", "# comment\nWait_for  p2p::wait  _c deprecated=4.1  # why\n    count req:inout.request?[count]\n    tag:out.tag\n");
    let row = &table.functions[0];
    assert_eq!((row.name.as_str(), row.body.as_deref(), row.large), ("Wait_for", Some("p2p::wait"), true));
    assert_eq!((row.chapter.as_str(), row.deprecated.as_deref()), ("chapter", Some("4.1")));
    let [count, request, tag] = &row.parameters[..] else { panic!("three parameters") };
    assert_eq!((count.name.as_str(), &count.kind, count.direction), ("count", &Kind::Count, Direction::In));
    assert_eq!((request.kind.handle(), request.direction, request.nullable), (Some("request"), Direction::InOut, true));
    assert_eq!(request.length.as_deref(), Some("count"));
    assert_eq!((&tag.kind, tag.direction, tag.length.as_deref()), (&Kind::Tag, Direction::Out, None));
}

#[test]
fn a_parameter_of_the_large_variant_is_not_in_the_plain_one() {
    let table = read("large", "Get  -  _c\n    a:count b:large.out.count\n");
    let names = |large| table.functions[0].shown(large).map(|p| p.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(false), names(true)), (vec!["a".to_string()], vec!["a".to_string(), "b".to_string()]));
}

#[test]
fn a_bad_row_is_refused_with_its_place_and_the_reason() {
    for (name, text, says) in [
        ("kind", "A  -\n    x:nonsense\n", "chapter.txt:2: x:nonsense: unknown kind nonsense"),
        ("bracket", "A  -\n    x:int[n\n", "the bracket is not closed"),
        ("bare", "A\n", "chapter.txt:1: a row needs an implementation"),
        ("flag", "A  -  large\n", "unknown flag large"),
        ("key", "A  -  return=int\n", "unknown key return"),
        ("first", "    x:int\n", "parameters before any row"),
        ("twice", "A  -\nA  -\n", "MPI_A is in the table twice"),
    ] {
        let panic = std::panic::catch_unwind(|| read(name, text)).err().expect(name);
        let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied()).unwrap();
        assert!(said.contains(says), "{name}: {said}");
    }
}

#[test]
fn the_table_holds_the_664_functions_and_every_array_length_is_a_parameter_or_constant() {
    let table = table::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cabi/table"));
    let standard = table.functions.iter().filter(|row| row.is_standard());
    assert_eq!(standard.map(|row| row.variants().len()).sum::<usize>(), 664);
    for row in &table.functions {
        for length in row.parameters.iter().filter_map(|p| p.length.as_deref()).filter(|length| !length.is_empty()) {
            let known = row.parameters.iter().any(|p| p.name == length) || table.constants.iter().any(|c| c.name == length);
            assert!(known, "{}: nothing is named {length}", row.full_name());
        }
    }
}

/// What `docs/mpi-coverage.md` says: each function of MPI 5.0 and whether it is built, by the file of the table that has it.
fn coverage(table: &Table) -> String {
    let standard = || table.functions.iter().filter(|row| row.is_standard());
    let built = standard().filter(|row| row.body.is_some()).count();
    let all = standard().count();
    let large = standard().filter(|row| row.large).count();
    let mut out = format!(
        "# Functions of MPI 5.0\n\nMade from `cabi/table/*.txt` by `BLESS=1 cargo test --test table`. {built} of {all} functions are built, {large} of them with a large-count variant `_c`: \
         {} in all. What a function does not do stands in docs/limitations.md.\n",
        all + large
    );
    let mut chapters: Vec<&str> = table.functions.iter().map(|row| row.chapter.as_str()).collect();
    chapters.sort_unstable();
    chapters.dedup();
    for chapter in chapters {
        out += &format!("\n## {chapter}\n\n| function | state |\n|---|---|\n");
        let mut rows: Vec<_> = table.functions.iter().filter(|row| row.chapter == chapter).collect();
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        for row in rows {
            let mut state = match row.body.as_deref() {
                None => "not built: fails with `MPI_ERR_UNSUPPORTED_OPERATION`".to_owned(),
                Some(_) => "built".to_owned(),
            };
            if row.large {
                state += ", `_c`";
            }
            if let Some(version) = &row.deprecated {
                state += &format!(", deprecated since {version}");
            }
            out += &format!("| `{}` | {state} |\n", row.full_name());
        }
    }
    out
}

/// The committed document is the table's. `BLESS=1 cargo test --test table` rewrites it.
#[test]
fn the_list_of_functions_is_the_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wanted = coverage(&table::read(&root.join("cabi/table")));
    let path = root.join("docs/mpi-coverage.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/mpi-coverage.md is not the table's; run BLESS=1 cargo test --test table");
}
