//! Writes what Fortran programs compile against: `mpif.h`, and the constants and interfaces
//! that `fortran/mpi.f90` and `fortran/mpi_f08.f90` include (MPI 5.0 section 19.1).

use crate::fortran::{blocking, in_fortran, name_has_pointer_form, visible};
use crate::kinds::{HANDLES, Kind};
use crate::table::{AbiTable, Constant, Intent, Parameter, Row, symbol};
use std::fmt::Write;

/// The module that an interface is written for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `use mpi`: handles are integers, buffers are unchecked addresses.
    Integers,
    /// `use mpi_f08`: handles have types, buffers are descriptors, `ierror` is optional.
    Types,
}

/// Handles that Fortran has, with their C names.
fn handles() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    HANDLES.iter().filter(|(name, _)| !name.starts_with("t_"))
}

/// Variables of which the address counts (`cabi/fortran/sentinel.rs`): type, name, shape, common block.
const SENTINELS: [(&str, &str, &str, &str); 10] = [
    ("integer", "MPI_BOTTOM", "", "xsim_bottom"),
    ("integer", "MPI_IN_PLACE", "", "xsim_in_place"),
    ("integer", "MPI_BUFFER_AUTOMATIC", "", "xsim_buffer_automatic"),
    ("status", "MPI_STATUS_IGNORE", "", "xsim_status_ignore"),
    ("status", "MPI_STATUSES_IGNORE", "1", "xsim_statuses_ignore"),
    ("integer", "MPI_ERRCODES_IGNORE", "1", "xsim_errcodes_ignore"),
    ("integer", "MPI_UNWEIGHTED", "1", "xsim_unweighted"),
    ("integer", "MPI_WEIGHTS_EMPTY", "1", "xsim_weights_empty"),
    ("character", "MPI_ARGV_NULL", "1", "xsim_argv_null"),
    ("character", "MPI_ARGVS_NULL", "1,1", "xsim_argvs_null"),
];

/// Constants of Fortran alone.
const KINDS: [(&str, i64); 8] = [
    ("MPI_ADDRESS_KIND", 8),
    ("MPI_COUNT_KIND", 8),
    ("MPI_OFFSET_KIND", 8),
    ("MPI_INTEGER_KIND", 4),
    ("MPI_STATUS_SIZE", 8),
    ("MPI_SOURCE", 1),
    ("MPI_TAG", 2),
    ("MPI_ERROR", 3),
];

const CALLBACKS: [(&str, &str); 12] = [
    ("MPI_COMM_NULL_COPY_FN", "Comm_copy_attr_function"),
    ("MPI_COMM_DUP_FN", "Comm_copy_attr_function"),
    ("MPI_COMM_NULL_DELETE_FN", "Comm_delete_attr_function"),
    ("MPI_TYPE_NULL_COPY_FN", "Type_copy_attr_function"),
    ("MPI_TYPE_DUP_FN", "Type_copy_attr_function"),
    ("MPI_TYPE_NULL_DELETE_FN", "Type_delete_attr_function"),
    ("MPI_WIN_NULL_COPY_FN", "Win_copy_attr_function"),
    ("MPI_WIN_DUP_FN", "Win_copy_attr_function"),
    ("MPI_WIN_NULL_DELETE_FN", "Win_delete_attr_function"),
    ("MPI_NULL_COPY_FN", "Copy_function"),
    ("MPI_DUP_FN", "Copy_function"),
    ("MPI_NULL_DELETE_FN", "Delete_function"),
];

/// Constants with a Fortran form: (name, handle type or empty for an integer, value).
fn parameters(table: &AbiTable) -> Vec<(&str, &str, String)> {
    let find = |name: &str| table.constants.iter().find(|c| c.name == name);
    let mut found = Vec::new();
    for constant in &table.constants {
        let original = if constant.kind == "alias" {
            find(&constant.value).expect("an alias of a constant")
        } else {
            constant
        };
        if constant.name.starts_with("MPI_T_")
            || constant.name.starts_with("MPI_F_")
            || original.kind == "offset"
        {
            continue;
        }
        let value = number(original);
        match handles().find(|(name, _)| *name == original.kind) {
            Some((_, c_type)) => found.push((constant.name.as_str(), *c_type, value)),
            None if original.kind == "int" => found.push((constant.name.as_str(), "", value)),
            None => {}
        }
    }
    found
}

fn number(constant: &Constant) -> String {
    match constant.value.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).expect("a hexadecimal number").to_string(),
        None => constant.value.clone(),
    }
}

/// `mpif.h`, for fixed and free form alike: from column 7, within 72 columns, one statement a line.
pub fn mpif(table: &AbiTable) -> String {
    let mut out = String::from(
        "! MPI 5.0 for programs that include mpif.h. Generated from cabi/table; do not edit\n\
         ! (see cabi/table/README.md). Fixed and free form.\n",
    );
    let mut constant = |name: &str, value: &str| {
        writeln!(out, "      INTEGER {name}\n      PARAMETER ({name}={value})").unwrap();
    };
    for (name, value) in KINDS {
        constant(name, &value.to_string());
    }
    for (name, _, value) in parameters(table) {
        constant(name, &value);
    }
    out.push_str(
        "      INTEGER(KIND=8) MPI_DISPLACEMENT_CURRENT\n      PARAMETER (MPI_DISPLACEMENT_CURRENT=-1_8)\n",
    );
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        writeln!(out, "      LOGICAL {name}\n      PARAMETER ({name}=.FALSE.)").unwrap();
    }
    for (of, name, shape, common) in SENTINELS {
        let (of, shape) = match (of, shape) {
            ("status", "") => ("INTEGER", "(MPI_STATUS_SIZE)".to_string()),
            ("status", _) => ("INTEGER", "(MPI_STATUS_SIZE,1)".to_string()),
            ("character", shape) => ("CHARACTER*1", format!("({shape})")),
            (_, "") => ("INTEGER", String::new()),
            (_, shape) => ("INTEGER", format!("({shape})")),
        };
        writeln!(out, "      {of} {name}{shape}\n      COMMON /{common}/ {name}").unwrap();
    }
    for prefix in ["MPI", "PMPI"] {
        for name in ["WTIME", "WTICK"] {
            writeln!(out, "      DOUBLE PRECISION {prefix}_{name}\n      EXTERNAL {prefix}_{name}").unwrap();
        }
        for name in ["AINT_ADD", "AINT_DIFF"] {
            writeln!(out, "      INTEGER(KIND=8) {prefix}_{name}\n      EXTERNAL {prefix}_{name}").unwrap();
        }
    }
    for (name, _) in CALLBACKS {
        writeln!(out, "      EXTERNAL {name}").unwrap();
    }
    out.push_str("      EXTERNAL MPI_CONVERSION_FN_NULL\n");
    out
}

/// The generated parts of the modules: file name and text. The rest is `fortran/*.f90`.
pub fn parts(table: &AbiTable) -> Vec<(&'static str, String)> {
    vec![
        ("mpi_constants.inc", constants(table, Style::Integers)),
        ("mpi_interfaces.inc", interfaces(table, Style::Integers)),
        ("mpi_f08_constants.inc", constants(table, Style::Types)),
        ("mpi_f08_callbacks.inc", callbacks(table)),
        ("mpi_f08_interfaces.inc", interfaces(table, Style::Types)),
    ]
}

fn constants(table: &AbiTable, style: Style) -> String {
    let mut out = String::new();
    for (name, of, value) in parameters(table) {
        if style == Style::Types && !of.is_empty() {
            writeln!(out, "  type({of}), parameter :: {name} = {of}({value})").unwrap();
        } else {
            writeln!(out, "  integer, parameter :: {name} = {value}").unwrap();
        }
    }
    out
}

fn callbacks(table: &AbiTable) -> String {
    let mut out = String::from("  abstract interface\n");
    for row in table.callbacks.iter().filter(|r| r.deprecated.is_none() && !r.name.starts_with("T_")) {
        for &large in row.variants() {
            callback(&mut out, row, large, None);
        }
    }
    out.push_str("  end interface\n");
    out
}

fn interfaces(table: &AbiTable, style: Style) -> String {
    let mut out = String::from("  interface\n");
    let type_named =
        |name: &str| table.callbacks.iter().find(|r| r.name == name).expect("a callback type of the table");
    for (name, of) in CALLBACKS {
        let row = type_named(of);
        if row.deprecated.is_none() || style == Style::Integers {
            predefined(&mut out, row, name, style);
        }
    }
    if style == Style::Types {
        let conversion = type_named("Datarep_conversion_function");
        callback(&mut out, conversion, false, Some("MPI_CONVERSION_FN_NULL"));
        callback(&mut out, conversion, true, Some("MPI_CONVERSION_FN_NULL_C"));
    }
    out.push_str("  end interface\n");
    for prefix in ["MPI", "PMPI"] {
        for row in table.functions.iter().filter(|r| in_fortran(r)) {
            function(&mut out, row, style, prefix);
        }
    }
    out
}

/// An abstract interface, or a procedure of that form under the name `as_procedure`.
fn callback(out: &mut String, row: &Row, large: bool, as_procedure: Option<&str>) {
    let name = as_procedure
        .map_or_else(|| format!("{}{}", row.full_name(), if large { "_c" } else { "" }), str::to_string);
    let mut declarations = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for p in row.parameters.iter().filter(|p| p.kind != Kind::Variadic) {
        names.push(&p.name);
        declarations.push(match &p.kind {
            Kind::Address => format!("type(c_ptr), value :: {}", p.name),
            _ => format!("{} :: {}", f08_type(p, large), p.name),
        });
    }
    if row.returns.is_none() {
        names.push("ierror");
        declarations.push("integer :: ierror".into());
    }
    procedure(out, "subroutine", &name, &names, "", &declarations);
}

fn predefined(out: &mut String, row: &Row, name: &str, style: Style) {
    if style == Style::Types {
        return callback(out, row, false, Some(name));
    }
    let old = row.deprecated.is_some();
    let mut names: Vec<&str> = row.parameters.iter().map(|p| p.name.as_str()).collect();
    let mut declarations: Vec<String> =
        row.parameters.iter().map(|p| format!("{} :: {}", integer_type(p, false, old), p.name)).collect();
    names.push("ierror");
    declarations.push("integer :: ierror".into());
    procedure(out, "subroutine", name, &names, "", &declarations);
}

fn function(out: &mut String, row: &Row, style: Style, prefix: &str) {
    let name = symbol(prefix, &row.name);
    let choice = row.parameters.iter().any(|p| p.kind == Kind::Buffer);
    let old = row.deprecated.as_deref() == Some("2.0");
    match style {
        Style::Integers => {
            // Without a generic name the compiler says which argument is wrong or missing.
            let generic = if name_has_pointer_form(row) { name.as_str() } else { "" };
            writeln!(out, "\n  interface {generic}").unwrap();
            body(out, row, style, false, &name, "");
            if name_has_pointer_form(row) {
                pointer_form(out, row, &name);
            }
            out.push_str("  end interface\n");
        }
        Style::Types if old => {}
        Style::Types => {
            // Their callbacks differ, so the large-count forms have names of their own.
            let apart = row.parameters.iter().any(|p| matches!(p.kind, Kind::Function(_)));
            for &large in row.variants() {
                // Where only kinds of equal size differ, one specific procedure serves both.
                if large
                    && !apart
                    && row.parameters.iter().all(|p| !p.large_only && f08_type(p, false) == f08_type(p, true))
                {
                    continue;
                }
                let suffix = if large { "_c" } else { "" };
                let generic = if apart { format!("{name}{suffix}") } else { name.clone() };
                let alone = !choice && (apart || !row.large);
                writeln!(out, "\n  interface {}", if alone { "" } else { &generic }).unwrap();
                if choice {
                    let specific = format!("{name}{suffix}_f08ts");
                    let binding = format!(" bind(c, name=\"{}_\")", specific.to_lowercase());
                    body(out, row, style, large, &specific, &binding);
                } else {
                    body(out, row, style, large, &format!("{name}{suffix}"), "");
                }
                out.push_str("  end interface\n");
            }
        }
    }
}

/// The form that gives an address as `TYPE(C_PTR)`.
fn pointer_form(out: &mut String, row: &Row, name: &str) {
    let mut text = String::new();
    body(&mut text, row, Style::Integers, false, &format!("{name}_cptr"), "");
    out.push_str(
        &text.replace(
            "integer(MPI_ADDRESS_KIND), intent(out) :: baseptr",
            "type(c_ptr), intent(out) :: baseptr",
        ),
    );
}

fn body(out: &mut String, row: &Row, style: Style, large: bool, name: &str, binding: &str) {
    let shown: Vec<&Parameter> = row.shown(large).filter(|p| visible(row, p)).collect();
    let mut names: Vec<&str> = shown.iter().map(|p| p.name.as_str()).collect();
    let mut declarations: Vec<String> = shown.iter().map(|p| declaration(row, p, style, large)).collect();
    if !binding.is_empty() {
        declarations.iter_mut().for_each(|d| *d = interoperable(d));
    }
    match row.returns.as_deref() {
        Some(returns) => {
            let of = if returns == "double" { "double precision" } else { "integer(MPI_ADDRESS_KIND)" };
            declarations.push(format!("{of} :: answer"));
            procedure(out, "function", name, &names, " result(answer)", &declarations);
        }
        None => {
            if row.name != "Pcontrol" {
                names.push("ierror");
                let optional = if style == Style::Types { ", optional" } else { "" };
                let of = if binding.is_empty() { "integer" } else { "integer(c_int)" };
                declarations.push(format!("{of}{optional}, intent(out) :: ierror"));
            }
            procedure(out, "subroutine", name, &names, binding, &declarations);
        }
    }
}

/// This type under the name that says it is C's, which compilers ask for with `bind(c)`.
fn interoperable(declaration: &str) -> String {
    let kinds = [
        ("integer,", "integer(c_int),"),
        ("integer ::", "integer(c_int) ::"),
        ("integer(MPI_COUNT_KIND)", "integer(c_int64_t)"),
        ("integer(MPI_OFFSET_KIND)", "integer(c_int64_t)"),
        ("integer(MPI_ADDRESS_KIND)", "integer(c_intptr_t)"),
        ("character(len=*)", "character(kind=c_char, len=*)"),
    ];
    kinds
        .iter()
        .find(|(from, _)| declaration.starts_with(from))
        .map_or(declaration.into(), |(from, to)| declaration.replacen(from, to, 1))
}

fn procedure(
    out: &mut String,
    what: &str,
    name: &str,
    names: &[&str],
    suffix: &str,
    declarations: &[String],
) {
    statement(out, &format!("    {what} {name}({}){suffix}", names.join(", ")));
    out.push_str("      import\n");
    for declaration in declarations {
        for line in declaration.split('\n') {
            if line.starts_with('!') {
                writeln!(out, "{line}").unwrap();
            } else {
                statement(out, &format!("      {line}"));
            }
        }
    }
    writeln!(out, "    end {what} {name}").unwrap();
}

/// One statement, continued where the line would be longer than free form allows.
fn statement(out: &mut String, text: &str) {
    let mut rest = text;
    while rest.len() > 120 {
        let at = rest[..118].rfind(", ").expect("a long statement is a list") + 2;
        writeln!(out, "{}&", &rest[..at]).unwrap();
        rest = &rest[at..];
        out.push_str("        ");
    }
    writeln!(out, "{rest}").unwrap();
}

fn declaration(row: &Row, p: &Parameter, style: Style, large: bool) -> String {
    let name = &p.name;
    let old = row.deprecated.as_deref() == Some("2.0");
    let loose = matches!(p.kind, Kind::Status | Kind::Weight | Kind::Buffer) || p.name == "array_of_errcodes";
    let intent = match p.direction {
        Intent::In => ", intent(in)",
        _ if loose => "",
        Intent::Out => ", intent(out)",
        Intent::InOut => ", intent(inout)",
    };
    let shape = match &p.kind {
        Kind::Status if style == Style::Integers && p.length.is_some() => "(MPI_STATUS_SIZE, *)",
        Kind::Status if style == Style::Integers => "(MPI_STATUS_SIZE)",
        Kind::Texts => "(*)",
        Kind::TextArrays => "(count, *)",
        Kind::Ranges => "(3, *)",
        Kind::Text => "",
        _ if p.length.is_some() => "(*)",
        _ => "",
    };
    match (&p.kind, style) {
        (Kind::Buffer, Style::Integers) | (Kind::Address, Style::Integers) if p.name != "baseptr" => {
            format!(
                "!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n\
                 !DIR$ IGNORE_TKR {name}\n\
                 type(*), dimension(*) :: {name}"
            )
        }
        (Kind::Buffer, Style::Types) => {
            let attribute = if blocking(row) && !matches!(row.name.as_str(), "Get_address" | "Free_mem") {
                ""
            } else {
                ", asynchronous"
            };
            // A buffer that the call changes may be MPI_BOTTOM, so it has no intent.
            format!("type(*), dimension(..){intent}{attribute} :: {name}")
        }
        (Kind::Function(_), Style::Integers) => format!("external :: {name}"),
        (Kind::Function(of), Style::Types) => {
            format!("procedure({}) :: {name}", crate::kinds::large_function(of, large))
        }
        (_, Style::Integers) => format!("{}{intent} :: {name}{shape}", integer_type(p, large, old)),
        (_, Style::Types) => {
            let asynchronous =
                if p.length.is_some() && !blocking(row) && p.direction == Intent::In && p.kind.counts() {
                    ", asynchronous"
                } else {
                    ""
                };
            format!("{}{intent}{asynchronous} :: {name}{shape}", f08_type(p, large))
        }
    }
}

/// The type of a parameter where handles are integers.
pub fn integer_type(p: &Parameter, large: bool, old: bool) -> String {
    match &p.kind {
        Kind::Handle(_) | Kind::Status => "integer".into(),
        Kind::Attribute | Kind::ExtraState if old => "integer".into(),
        Kind::Address => "integer(MPI_ADDRESS_KIND)".into(),
        _ => f08_type(p, large),
    }
}

/// The type of a parameter in `mpi_f08`.
pub fn f08_type(p: &Parameter, large: bool) -> String {
    match &p.kind {
        Kind::Logical => "logical".into(),
        Kind::Text | Kind::Texts | Kind::TextArrays => "character(len=*)".into(),
        Kind::Attribute | Kind::ExtraState => "integer(MPI_ADDRESS_KIND)".into(),
        Kind::Address => "type(c_ptr)".into(),
        Kind::Handle(_) | Kind::Status => format!("type({})", p.kind.c_type(large)),
        kind if kind.wide(large) => {
            let of = if *kind == Kind::Offset {
                "OFFSET"
            } else if matches!(kind.c_type(large).as_str(), "MPI_Aint") {
                "ADDRESS"
            } else {
                "COUNT"
            };
            // One name for the kinds of equal size, so that equal types compare equal.
            let of = if *kind == Kind::Location { "ADDRESS" } else { of };
            format!("integer(MPI_{of}_KIND)")
        }
        _ => "integer".into(),
    }
}
