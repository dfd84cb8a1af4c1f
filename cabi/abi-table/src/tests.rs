//! The reader of the function table: what it makes of a row, and that a bad row stops the build with
//! its place and the reason.

use crate::{AbiTable, Intent, Kind};
use std::path::{Path, PathBuf};

fn read(name: &str, text: &str) -> AbiTable {
    let directory = std::env::temp_dir().join(format!("xsim-abi-table-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("chapter.txt"), text).unwrap();
    let table = std::panic::catch_unwind(|| crate::read(&directory));
    std::fs::remove_dir_all(&directory).unwrap();
    table.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The project's own table.
fn project() -> AbiTable {
    crate::read(&root().join("cabi/table"))
}

#[test]
fn a_row_gives_name_implementation_flags_and_parameters() {
    let table = read(
        "row",
        "# comment\n\
         Wait_for  p2p::wait  _c deprecated=4.1  # why\n    count req:inout.request?[count]\n    \
         tag:out.tag\n",
    );
    let row = &table.functions[0];
    assert_eq!((row.name.as_str(), row.body.as_deref(), row.large), ("Wait_for", Some("p2p::wait"), true));
    assert_eq!((row.chapter.as_str(), row.deprecated.as_deref()), ("chapter", Some("4.1")));
    let [count, request, tag] = &row.parameters[..] else { panic!("three parameters") };
    assert_eq!((count.name.as_str(), &count.kind, count.direction), ("count", &Kind::Count, Intent::In));
    assert_eq!(
        (request.kind.handle(), request.direction, request.nullable),
        (Some("request"), Intent::InOut, true)
    );
    assert_eq!(request.length.as_deref(), Some("count"));
    assert_eq!((&tag.kind, tag.direction, tag.length.as_deref()), (&Kind::Tag, Intent::Out, None));
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
        let said = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(panic.downcast_ref::<&str>().copied())
            .unwrap();
        assert!(said.contains(says), "{name}: {said}");
    }
}

#[test]
fn the_table_holds_the_664_functions_and_every_array_length_is_a_parameter_or_constant() {
    let table = project();
    let standard = table.functions.iter().filter(|row| row.is_standard());
    assert_eq!(standard.map(|row| row.variants().len()).sum::<usize>(), 664);
    for row in &table.functions {
        for length in
            row.parameters.iter().filter_map(|p| p.length.as_deref()).filter(|length| !length.is_empty())
        {
            let known = row.parameters.iter().any(|p| p.name == length)
                || table.constants.iter().any(|c| c.name == length);
            assert!(known, "{}: nothing is named {length}", row.full_name());
        }
    }
}

/// Returns the text of `docs/reference/mpi-coverage.md`: how many functions each chapter has, and those that
/// are no plain "built".
fn coverage(table: &AbiTable) -> String {
    let standard = || table.functions.iter().filter(|row| row.is_standard());
    let built = standard().filter(|row| row.body.is_some()).count();
    let all = standard().count();
    let large = standard().filter(|row| row.large).count();
    let mut out = format!(
        "# Functions of MPI 5.0\n\n\
         Made from `cabi/table/*.txt` by `BLESS=1 cargo test -p xsim-abi-table`. {built} of {all} functions \
         are built,\n\
         {large} of them with a large-count variant `_c`: {} in all. What a function does not do stands in\n\
         [limits of MPI](limits-mpi.md).\n\n\
         | chapter | functions | with `_c` |\n\
         |---|---|---|\n",
        all + large
    );
    let mut chapters: Vec<&str> = table.functions.iter().map(|row| row.chapter.as_str()).collect();
    chapters.sort_unstable();
    chapters.dedup();
    for chapter in chapters {
        let rows = || table.functions.iter().filter(|row| row.chapter == chapter);
        out += &format!("| {chapter} | {} | {} |\n", rows().count(), rows().filter(|row| row.large).count());
    }
    let mut rows: Vec<_> = table.functions.iter().collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let missing: Vec<_> = rows.iter().filter(|row| row.body.is_none()).collect();
    if !missing.is_empty() {
        out += "\n## Not built\n\nThese fail with `MPI_ERR_UNSUPPORTED_OPERATION`.\n\n";
        missing.iter().for_each(|row| out += &format!("- `{}`\n", row.full_name()));
    }
    out += "\n## Deprecated\n\n| function | since MPI |\n|---|---|\n";
    for row in rows {
        if let Some(version) = &row.deprecated {
            out += &format!("| `{}` | {version} |\n", row.full_name());
        }
    }
    out
}

/// The committed document is the table's. `BLESS=1 cargo test -p xsim-abi-table` rewrites it.
#[test]
fn the_list_of_functions_is_the_tables() {
    let wanted = coverage(&project());
    let path = root().join("docs/reference/mpi-coverage.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/reference/mpi-coverage.md is not the table's; run BLESS=1 cargo test -p xsim-abi-table"
    );
}

/// Returns the functions named in a Rust file, in all modules and macros' items.
fn functions(text: &str) -> Vec<String> {
    let file = syn::parse_file(text).expect("a generated file is Rust");
    let names = file.items.iter().filter_map(|item| match item {
        syn::Item::Fn(function) => Some(function.sig.ident.to_string()),
        _ => None,
    });
    names.collect()
}

#[test]
fn every_variant_of_every_function_has_one_entry_point_and_one_weak_name() {
    let table = project();
    let text = crate::exports::write(&table);
    let found = functions(&text);
    for row in &table.functions {
        for large in row.variants() {
            let name = format!("{}{}", row.name, if *large { "_c" } else { "" });
            let strong = crate::table::symbol("PMPI", &name);
            assert_eq!(found.iter().filter(|name| **name == strong).count(), 1, "{strong}");
            let weak = crate::table::symbol("MPI", &name);
            assert_eq!(text.matches(&format!(".weak {weak}\"")).count(), 1, "{weak}");
        }
    }
}

#[test]
fn every_generated_rust_file_is_rust() {
    let table = project();
    for text in [
        crate::bodies::shared(&table),
        crate::exports::functions(&table),
        crate::recording::tables(&table),
        crate::fortran::write(&table),
        crate::fortran::spellings_by_hand(&table),
        crate::fortran::spellings_of_module(),
        crate::fortran::spellings_of_removed(),
    ] {
        syn::parse_file(&text).expect("a generated file is Rust");
    }
}

#[test]
fn a_generated_text_that_is_not_rust_is_refused_with_its_file_and_the_reason() {
    let output = crate::Output::new(&std::env::temp_dir());
    let name = format!("xsim-generated-{}.rs", std::process::id());
    let panic = std::panic::catch_unwind(|| output.rust(&name, "fn a() {}\nfn 1() {}\n")).unwrap_err();
    std::fs::remove_file(std::env::temp_dir().join(&name)).unwrap();
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains(&name) && said.ends_with("is not Rust: expected identifier"), "{said}");
}
