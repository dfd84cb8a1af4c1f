//! `include/mpi.h` against the function table, the exported symbols and the standard ABI.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn generated(name: &str) -> String {
    fs::read_to_string(Path::new(env!("OUT_DIR")).join(name)).expect("the build script wrote it")
}

fn compile(compiler: &str, arguments: &[&str], source: &str, name: &str) -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = directory.join(name);
    fs::write(&file, source).unwrap();
    let program = file.with_extension("out");
    let run = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-Wno-cast-function-type", "-I"])
        .arg(root().join("include"))
        .args(arguments)
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .output()
        .ok()?;
    assert!(run.status.success(), "{compiler}: {}", String::from_utf8_lossy(&run.stderr));
    Some(program)
}

/// The committed headers are the table's. `BLESS=1 cargo test --test header` rewrites them.
#[test]
fn committed_headers_are_the_tables() {
    for name in ["mpi.h", "mpif.h"] {
        let path = root().join("include").join(name);
        let wanted = generated(name);
        if env::var_os("BLESS").is_some() {
            fs::write(&path, &wanted).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap();
        assert!(found == wanted, "include/{name} is not the table's; run BLESS=1 cargo test --test header");
    }
}

/// Macros for what a function cannot do: take its call site, guard a block.
const XSIM_MACROS: &str = r#"// One block of memory for all ranks that come to this line: xsim_shared_malloc.
#define XSIM_SHARED_MALLOC(bytes) xsim_shared_malloc((bytes), __FILE__, __LINE__)

// The same for a block of which parts are shared: xsim_shared_malloc_partial.
#define XSIM_PARTIAL_SHARED_MALLOC(bytes, ranges, count) \
    xsim_shared_malloc_partial((bytes), (ranges), (count), __FILE__, __LINE__)

// Guards a statement or block, like `if`: XSIM_SAMPLE(0, 10, 0.01) { ... } runs the block until it has run 10
// times and its mean cost is known to 1 %, and charges the mean from then on. Leave the block at its end only
// (no break, no return).
#define XSIM_SAMPLE(global, count, precision) XSIM_SAMPLE_AS(__FILE__, __LINE__, global, count, precision)

// The same for a block that is known by another name than its place in the program.
#define XSIM_SAMPLE_AS(file, line, global, count, precision) \
    for (int xsim_runs = xsim_sample(file, line, global, count, precision); xsim_runs; \
         xsim_runs = xsim_sample_end())
"#;

/// `include/xsim.h` says what `cabi/extension.rs` and `cabi/folding.rs` define, comments and all.
#[test]
fn committed_xsim_header_is_made_from_the_source() {
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        include_guard: Some("XSIM_H".into()),
        documentation_style: cbindgen::DocumentationStyle::C99,
        no_includes: true,
        sys_includes: vec!["stddef.h".into()],
        usize_is_size_t: true,
        header: Some(
            "// What a program may ask of xsim itself. Made from cabi/extension.rs and cabi/folding.rs; do \
             not edit.\n\
             // In Fortran the functions have the same names; declare them integer or double precision, and\n\
             // external."
                .into(),
        ),
        trailer: Some(XSIM_MACROS.into()),
        ..Default::default()
    };
    config.export.exclude = FORTRAN_NAMES.iter().map(|name| (*name).into()).collect();
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(root().join("cabi/extension.rs"))
        .with_src(root().join("cabi/folding.rs"))
        .generate()
        .expect("cbindgen reads the source");
    let mut wanted = Vec::new();
    bindings.write(&mut wanted);
    let wanted = String::from_utf8(wanted).unwrap();
    let path = root().join("include/xsim.h");
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "include/xsim.h is not the source's; run BLESS=1 cargo test --test header");
    compile("cc", &["-std=c99", "-pedantic"], "#include <xsim.h>\nint main(void) { return 0; }\n", "xsim.c")
        .expect("a C compiler");
}

/// Spellings for Fortran, which a C header has no use for.
const FORTRAN_NAMES: [&str; 16] = [
    "xsim_fail_",
    "xsim_region_begin_",
    "xsim_region_end_",
    "xsim_running_",
    "xsim_time_",
    "xsim_rank_",
    "xsim_size_",
    "xsim_real_rank_",
    "xsim_real_size_",
    "xsim_compute_",
    "xsim_compute_flops_",
    "xsim_measure_",
    "xsim_trace_on_",
    "xsim_trace_off_",
    "xsim_sample_",
    "xsim_sample_end_",
];

#[test]
fn constants_have_the_tables_values_and_c_and_cxx_accept_the_header() {
    let program = compile("cc", &["-std=c11"], &generated("checks.c"), "checks.c").expect("a C compiler");
    let run = Command::new(program).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stdout), "", "constants that differ");
    let plain = "#include <mpi.h>\nint main() { return MPI_VERSION - 5; }\n";
    compile("cc", &["-std=c99", "-pedantic"], plain, "plain.c").expect("a C compiler");
    // Where there is no C++ compiler, C has to do.
    let _ = compile("c++", &["-std=c++11", "-pedantic"], plain, "plain.cc");
}

/// Values that programs compiled elsewhere carry inside, so no table edit may move them
/// (MPI 5.0 chapter 20 and appendix A).
#[test]
fn well_known_values_of_the_abi() {
    let constants = fs::read_to_string(root().join("cabi/table/constants.txt")).unwrap();
    for (name, value) in [
        ("MPI_COMM_NULL", 0x100),
        ("MPI_COMM_WORLD", 0x101),
        ("MPI_COMM_SELF", 0x102),
        ("MPI_GROUP_EMPTY", 0x109),
        ("MPI_INFO_ENV", 0x131),
        ("MPI_ERRORS_RETURN", 0x143),
        ("MPI_REQUEST_NULL", 0x180),
        ("MPI_MESSAGE_NO_PROC", 0x129),
        ("MPI_DATATYPE_NULL", 0x200),
        ("MPI_INT", 0x209),
        ("MPI_DOUBLE", 0x214),
        ("MPI_BYTE", 0x247),
        ("MPI_CHAR", 0x243),
        ("MPI_INT64_T", 0x258),
        ("MPI_DOUBLE_PRECISION", 0x21c),
        ("MPI_SUM", 0x21),
        ("MPI_MINLOC", 0x38),
        ("MPI_NO_OP", 0x3d),
        ("MPI_ANY_SOURCE", -1),
        ("MPI_ANY_TAG", -2),
        ("MPI_PROC_NULL", -3),
        ("MPI_ROOT", -4),
        ("MPI_UNDEFINED", -32766),
        ("MPI_IN_PLACE", 1),
        ("MPI_UNWEIGHTED", 10),
        ("MPI_ERR_TRUNCATE", 15),
        ("MPI_ERR_LASTCODE", 16383),
        ("MPI_TAG_UB", 501),
        ("MPI_MAX_ERROR_STRING", 512),
        ("MPI_THREAD_MULTIPLE", 4096),
    ] {
        let found = constants.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let (declared, value) = (words.next()?, words.nth(1)?);
            let number = match value.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16).ok()?,
                None => value.parse().ok()?,
            };
            (declared == name).then_some(number)
        });
        assert_eq!(found, Some(value), "{name}");
    }
}

/// Returns how a C or Rust parameter travels, by its type.
fn carrier(declaration: &str) -> &'static str {
    let words: Vec<&str> =
        declaration.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| *w != "const").collect();
    match words[0] {
        "..." | "" => "nothing",
        _ if declaration.contains(['*', '[']) => "pointer",
        "int" | "i32" | "MPI_T_cb_safety" | "MPI_T_source_order" => "int",
        "MPI_Count" | "MPI_Aint" | "MPI_Offset" | "i64" => "long",
        "double" | "f64" => "double",
        // Handles and addresses.
        _ => "pointer",
    }
}

fn split(list: &str) -> Vec<&str> {
    list.split(", ").filter(|p| !p.is_empty() && *p != "void").collect()
}

/// Each prototype of the committed header has as many parameters as the exported function,
/// each travelling the same way.
#[test]
fn prototypes_agree_with_the_exported_functions() {
    let header = fs::read_to_string(root().join("include/mpi.h")).unwrap().replace(",\n    ", ", ");
    let mut declared = BTreeMap::new();
    for line in header.lines() {
        let Some((front, rest)) = line.strip_suffix(");").and_then(|l| l.split_once('(')) else { continue };
        let Some((returns, name)) = front.rsplit_once(' ') else { continue };
        if name.starts_with("PMPI") {
            let list: Vec<_> = split(rest).into_iter().map(carrier).filter(|c| *c != "nothing").collect();
            declared.insert(name.to_string(), (carrier(returns), list));
        }
    }
    let mut exported = BTreeMap::new();
    for line in generated("exports.rs").lines() {
        let Some(rest) = line.strip_prefix("pub extern \"C-unwind\" fn ") else { continue };
        let (name, rest) = rest.split_once('(').unwrap();
        let (list, rest) = rest.split_once(") -> ").unwrap();
        let list: Vec<_> = split(list).into_iter().map(|p| carrier(p.split_once(": ").unwrap().1)).collect();
        exported.insert(name.to_string(), (carrier(rest.trim_end_matches(" {")), list));
    }
    // Conversions between C and Fortran, which MPI lets be macros, are written by hand
    // (`cabi/calls/convert.rs`).
    let all = declared.len();
    declared.retain(|name, _| {
        !["_c2f", "_f2c", "_c2f08", "_f2f08", "_f082f", "_f082c"].iter().any(|end| name.ends_with(end))
    });
    let beyond = declared.keys().filter(|name| name.starts_with("PMPIX_")).count();
    assert_eq!((declared.len() - beyond, all - declared.len()), (664, 28));
    for (name, signature) in &declared {
        assert_eq!(Some(signature), exported.get(name), "{name}");
    }
    assert_eq!(declared.len(), exported.len());
}
