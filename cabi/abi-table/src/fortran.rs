//! Writes the Fortran entry points: `mpi_send_` and its other spellings for `mpif.h` and
//! module `mpi`, and `mpi_send_f08ts_` for the choice buffers of module `mpi_f08`, which come
//! as descriptors. Each turns its arguments into the C function's and goes on like it.

use crate::bodies::body;
use crate::exports::{object, rust_name, rust_return};
use crate::kinds::{HANDLES, Kind};
use crate::recording;
use crate::table::{AbiTable, Intent, Parameter, Row, symbol};
use std::fmt::Write;

/// Returns `true` if the standard has a Fortran interface for the function. The tool interface, the integer
/// forms of handles and the forms of Fortran's own logicals are C only.
pub fn in_fortran(row: &Row) -> bool {
    let c_only = row.name.ends_with("_toint")
        || row.name.ends_with("_fromint")
        || row.name.ends_with("fortran_booleans");
    row.chapter != "tool" && !c_only
}

/// Returns `true` if Fortran callbacks need a translation that `cabi/fortran/callbacks.rs` writes by hand:
/// those that get an extra state, by value in C and by reference in Fortran.
pub fn by_hand(row: &Row) -> bool {
    let has = |test: fn(&Kind) -> bool| row.parameters.iter().any(|p| test(&p.kind));
    has(|k| *k == Kind::ExtraState) && has(|k| matches!(k, Kind::Function(_)))
}

/// Returns `true` if Fortran has the parameter: not the arguments of `main`.
pub fn visible(row: &Row, p: &Parameter) -> bool {
    let of_main = row.name == "Info_create_env" && matches!(p.name.as_str(), "argc" | "argv");
    !of_main && !matches!(p.kind, Kind::Argc | Kind::Argv | Kind::Variadic)
}

/// The form in which choice buffers arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Buffers {
    Addresses,
    Descriptors,
}

/// All entry points.
pub fn write(table: &AbiTable) -> String {
    let mut out = String::new();
    for row in table.functions.iter().filter(|r| in_fortran(r)) {
        for &large in row.variants() {
            let name = format!("{}{}", row.name.to_lowercase(), if large { "_c" } else { "" });
            if by_hand(row) {
                continue;
            }
            spellings(&mut out, &name);
            entry(&mut out, row, large, &name, Buffers::Addresses);
            if row.parameters.iter().any(|p| p.kind == Kind::Buffer) {
                let name = format!("{name}_f08ts");
                spelling(&mut out, &format!("mpi_{name}_"), &format!("pmpi_{name}_"), true);
                entry(&mut out, row, large, &name, Buffers::Descriptors);
            }
            if name_has_pointer_form(row) && !large {
                for prefix in ["mpi", "pmpi"] {
                    let weak = prefix == "mpi";
                    spelling(&mut out, &format!("{prefix}_{name}_cptr_"), &format!("pmpi_{name}_"), weak);
                }
            }
        }
    }
    out
}

/// The other spellings of the functions written by hand. An assembler alias must be in one
/// compilation unit with its function, hence in its module.
pub fn spellings_by_hand(table: &AbiTable) -> String {
    let mut out = String::new();
    for row in table.functions.iter().filter(|r| in_fortran(r) && by_hand(r)) {
        for &large in row.variants() {
            spellings(&mut out, &format!("{}{}", row.name.to_lowercase(), if large { "_c" } else { "" }));
        }
    }
    out
}

/// The other spellings of what `cabi/fortran/module.rs` has beyond the table.
pub fn spellings_of_module() -> String {
    let mut names: Vec<String> =
        ["mpi_status_f2f08", "mpi_status_f082f", "pmpi_status_f2f08", "pmpi_status_f082f"]
            .map(String::from)
            .into();
    for (handle, _) in HANDLES.iter().filter(|(name, _)| !name.starts_with("t_")) {
        names.extend([format!("xsim_{handle}_eq"), format!("xsim_{handle}_ne")]);
    }
    for object in ["", "comm_", "type_", "win_"] {
        names.extend(
            ["null_copy_fn", "dup_fn", "null_delete_fn"].map(|function| format!("mpi_{object}{function}")),
        );
    }
    aliases(&names)
}

/// The other spellings of what `cabi/fortran/removed.rs` keeps.
pub fn spellings_of_removed() -> String {
    let names =
        ["address", "type_extent", "type_lb", "type_ub", "type_hvector", "type_hindexed", "type_struct"];
    let names = names.iter().chain(&["errhandler_create", "errhandler_get", "errhandler_set"]);
    aliases(&names.map(|name| format!("mpi_{name}")).collect::<Vec<_>>())
}

fn aliases(names: &[String]) -> String {
    let mut out = String::new();
    for name in names {
        for alias in [name.clone(), format!("{name}__"), name.to_uppercase()] {
            // In C, MPI_DUP_FN and its like are no functions but values, so the names are free.
            spelling(&mut out, &alias, &format!("{name}_"), false);
        }
    }
    out
}

/// Functions that give an address back, as an integer or as `TYPE(C_PTR)`.
pub fn name_has_pointer_form(row: &Row) -> bool {
    matches!(row.name.as_str(), "Alloc_mem" | "Win_allocate" | "Win_allocate_shared" | "Win_shared_query")
}

/// One function, four spellings, each also under its MPI name; `pmpi_send_` is the function.
fn spellings(out: &mut String, name: &str) {
    let function = format!("{}_", symbol("pmpi", name));
    for (weak, prefix) in [(true, "mpi"), (false, "pmpi")] {
        let plain = symbol(prefix, name);
        for spelling_of in [plain.clone(), format!("{plain}_"), format!("{plain}__"), plain.to_uppercase()] {
            if spelling_of != function {
                spelling(out, &spelling_of, &function, weak);
            }
        }
    }
}

fn spelling(out: &mut String, alias: &str, function: &str, weak: bool) {
    let binding = if weak { "weak" } else { "globl" };
    writeln!(out, "std::arch::global_asm!(\".{binding} {alias}\", \".set {alias}, {function}\");").unwrap();
}

fn entry(out: &mut String, row: &Row, large: bool, name: &str, buffers: Buffers) {
    let shown: Vec<&Parameter> = row.shown(large).filter(|p| visible(row, p)).collect();
    let mut arguments: Vec<String> = shown.iter().map(|p| format!("{}: Addr", rust_name(p))).collect();
    let function = row.returns.is_some();
    let error = !function && row.name != "Pcontrol";
    if error {
        arguments.push("ierror: Addr".into());
    }
    if buffers == Buffers::Addresses {
        for p in shown.iter().filter(|p| matches!(p.kind, Kind::Text | Kind::Texts | Kind::TextArrays)) {
            arguments.push(format!("{}_length: usize", rust_name(p)));
        }
    }
    let returns = row.returns.as_deref().map(|r| format!(" -> {}", rust_return(r))).unwrap_or_default();
    writeln!(
        out,
        "#[unsafe(no_mangle)]\n\
         #[allow(unused_variables, unused_mut)]\n\
         pub extern \"C-unwind\" fn {}_({}){returns} {{",
        symbol("pmpi", name),
        arguments.join(", ")
    )
    .unwrap();
    if recording::is_recorded(row) {
        let names: Vec<&str> = arguments.iter().map(|a| a.split(':').next().expect("name: type")).collect();
        out.push_str(&recording::around_fortran(
            row,
            large,
            name,
            &arguments,
            buffers == Buffers::Descriptors,
        ));
        out.push_str(&recording::branch(&names));
    }
    out.push_str("    let boundary = edge::Boundary::enter();\n");
    let mut parts = CallStatements::default();
    for p in row.shown(large) {
        if visible(row, p) {
            convert(&mut parts, row, p, large, buffers);
        } else if p.kind != Kind::Variadic {
            let absent = if p.kind == Kind::Int { "0i32" } else { "Addr::NULL" };
            writeln!(parts.before, "    let {} = {absent};", rust_name(p)).unwrap();
        }
    }
    out.push_str(&parts.before);
    out.push_str(&parts.between);
    let call = body(row, large, false);
    writeln!(out, "    let result = {{\n{call}    }};").unwrap();
    out.push_str(&parts.after);
    if error {
        out.push_str("    fortran::finish(ierror, result);\n");
    }
    out.push_str("    boundary.leave();\n");
    if function {
        out.push_str("    result\n");
    }
    out.push_str("}\n");
}

/// The generated statements of one function around its call.
#[derive(Default)]
struct CallStatements {
    /// One argument after another.
    before: String,
    /// With all arguments there.
    between: String,
    /// Results, once the call has returned.
    after: String,
}

/// Turns one argument into the C function's argument of the same name before the call, and
/// gives a result back after it.
fn convert(parts: &mut CallStatements, row: &Row, p: &Parameter, large: bool, buffers: Buffers) {
    let CallStatements { before: out, between, after } = parts;
    let name = rust_name(p);
    let array = p.length.is_some();
    let result = p.direction != Intent::In;
    let old = row.deprecated.as_deref() == Some("2.0");
    let through =
        |out: &mut String, with: &str| writeln!(out, "    let {name} = fortran::{with}({name});").unwrap();
    match &p.kind {
        Kind::Buffer if buffers == Buffers::Descriptors => descriptor(out, between, after, row, p),
        Kind::Buffer => through(out, "buffer"),
        Kind::Status if array => through(out, "statuses"),
        Kind::Status => through(out, "status"),
        Kind::Weight => through(out, "weights"),
        Kind::Text => text(out, after, row, p, buffers),
        Kind::Texts => {
            let count = p.length.as_ref().map_or("None".to_string(), |l| format!("Some({l})"));
            writeln!(
                out,
                "    let {name}_texts = fortran::text::FortranStrings::new({name}, {name}_length, {count});"
            )
            .unwrap();
            writeln!(out, "    let {name} = {name}_texts.at();").unwrap();
        }
        Kind::TextArrays => {
            writeln!(
                out,
                "    let {name}_texts = fortran::text::TextArrays::new({name}, {name}_length, count);"
            )
            .unwrap();
            writeln!(out, "    let {name} = {name}_texts.at();").unwrap();
        }
        Kind::Int if p.name == "array_of_errcodes" => through(out, "errcodes"),
        Kind::Int if array && result && p.name == "array_of_indices" => {
            writeln!(after, "    fortran::one_based_array({name}, outcount, result);").unwrap();
        }
        Kind::Int if result && p.name == "index" => {
            writeln!(after, "    fortran::one_based({name}, result);").unwrap()
        }
        Kind::Handle(_) if array => {}
        Kind::Handle(_) if result => {
            writeln!(out, "    let mut {name}_handle = fortran::HandleCell::new({name});").unwrap();
            writeln!(out, "    let {name} = {name}_handle.at();").unwrap();
            writeln!(after, "    {name}_handle.finish();").unwrap();
        }
        Kind::Handle(_) => through(out, "handle"),
        Kind::Attribute if result => {
            writeln!(out, "    let mut {name}_value = fortran::AttributeCell::new({name}, {old});").unwrap();
            writeln!(out, "    let {name} = {name}_value.at();").unwrap();
            writeln!(after, "    {name}_value.finish(flag, result);").unwrap();
        }
        Kind::Attribute | Kind::ExtraState if old => through(out, "short_value"),
        Kind::Attribute | Kind::ExtraState => through(out, "long_value"),
        Kind::Address | Kind::Function(_) | Kind::Ranges => {}
        _ if array || result => {}
        kind if kind.wide(large) => through(out, "long"),
        _ => through(out, "int"),
    }
}

fn text(out: &mut String, after: &mut String, row: &Row, p: &Parameter, buffers: Buffers) {
    let name = rust_name(p);
    if buffers == Buffers::Descriptors {
        writeln!(out, "    let ({name}, {name}_length) = fortran::descriptor::text({name});").unwrap();
    }
    if p.direction == Intent::In {
        // Info keys and values lose leading blanks as well (MPI 5.0 chapter 10), and a command that is
        // spawned (section 11.8.2).
        let how = if row.chapter == "info" || p.name == "command" { "stripped" } else { "trimmed" };
        writeln!(out, "    let {name}_text = fortran::text::{how}({name}, {name}_length);").unwrap();
        writeln!(out, "    let {name} = {name}_text.at();").unwrap();
        return;
    }
    let room = match p.length.as_deref() {
        Some(l) if l.starts_with("MPI_") => format!("constants::{l}"),
        Some(l) => format!("{l} + 1"),
        None if p.name == "key" => "constants::MPI_MAX_INFO_KEY".into(),
        None if p.name == "datarep" => "constants::MPI_MAX_DATAREP_STRING".into(),
        // The length goes both ways, and counts the null byte in C only.
        None => {
            let length = row.parameters.iter().find(|q| q.kind == Kind::Int && q.direction == Intent::InOut);
            let length = rust_name(length.expect("a text without bound has a length argument"));
            writeln!(out, "    let mut {length}_c = fortran::text::TextLength::new({length});").unwrap();
            writeln!(out, "    let {length} = {length}_c.at();").unwrap();
            writeln!(after, "    {length}_c.finish();").unwrap();
            format!("{length}_c.room()")
        }
    };
    writeln!(out, "    let mut {name}_text = fortran::text::Result::new({name}, {name}_length, {room});")
        .unwrap();
    writeln!(out, "    let {name} = {name}_text.at();").unwrap();
    writeln!(after, "    {name}_text.finish();").unwrap();
}

/// Returns `true` if the call has ended with its buffers when it returns.
pub fn blocking(row: &Row) -> bool {
    let request =
        row.parameters.iter().any(|p| p.kind.handle() == Some("request") && p.direction == Intent::Out);
    let split = row.name.ends_with("_begin") || row.name.ends_with("_end");
    !request && !split && !matches!(row.chapter.as_str(), "window" | "buffer" | "partitioned")
}

/// A buffer that comes as a descriptor: its address if its elements lie side by side, else a
/// copy that does (blocking calls), else a datatype that walks over it.
fn descriptor(out: &mut String, between: &mut String, after: &mut String, row: &Row, p: &Parameter) {
    let name = rust_name(p);
    let index = row.parameters.iter().position(|q| q.name == p.name).expect("its own row");
    let (reads, writes) = match p.direction {
        Intent::In => (true, false),
        // What the call does not write must stay, so a result is copied in as well.
        Intent::Out | Intent::InOut => (true, true),
    };
    if blocking(row) && !matches!(row.name.as_str(), "Get_address" | "Free_mem") {
        writeln!(
            out,
            "    let {name}_copy = fortran::descriptor::Contiguous::new({name}, {reads}, {writes});"
        )
        .unwrap();
        writeln!(out, "    let {name} = {name}_copy.at();").unwrap();
        writeln!(after, "    {name}_copy.finish();").unwrap();
        return;
    }
    writeln!(out, "    let mut {name}_section = fortran::descriptor::PinnedBuffer::new({name});").unwrap();
    writeln!(out, "    let {name} = {name}_section.at();").unwrap();
    if row.name.ends_with("_end") || matches!(row.name.as_str(), "Get_address" | "Free_mem") {
        return;
    }
    let object = object(row);
    let function = &row.name;
    // A count and a datatype right behind the buffer describe all of it, but not if each rank has a part.
    let parts = matches!(row.chapter.as_str(), "collective" | "neighbor")
        && !row.name.to_lowercase().contains("bcast");
    match &row.parameters[index + 1..] {
        [count, datatype, ..]
            if count.kind == Kind::Count && is_datatype(datatype) && count.length.is_none() && !parts =>
        {
            let (count, datatype) = (rust_name(count), rust_name(datatype));
            writeln!(
                between,
                "    let ({count}, {datatype}) = match {name}_section.layout(Function::{function}, {object}, \
                 {count}.into(), {datatype}) {{\n\
                 \x20       fortran::descriptor::ArgumentLayout::Same => ({count}, {datatype}),\n\
                 \x20       fortran::descriptor::ArgumentLayout::One(of) => (1, of),\n\
                 \x20       fortran::descriptor::ArgumentLayout::Failed(code) => return \
                 fortran::finish(ierror, code),\n    }};"
            )
            .unwrap();
            writeln!(after, "    {name}_section.finish();").unwrap();
        }
        _ => writeln!(
            between,
            "    if let Some(code) = {name}_section.refused(Function::{function}, {object}, {index}) {{\n\
             \x20       return fortran::finish(ierror, code);\n    }}"
        )
        .unwrap(),
    }
}

fn is_datatype(p: &Parameter) -> bool {
    p.kind.handle() == Some("datatype") && p.length.is_none()
}
