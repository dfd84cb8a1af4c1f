//! What a parameter can be: its name in the table, its C type in the plain and in the
//! large-count variant, and how the Rust implementation gets it.

/// The handle kinds: name in the table, C type.
pub const HANDLES: &[(&str, &str)] = &[
    ("comm", "MPI_Comm"),
    ("datatype", "MPI_Datatype"),
    ("errhandler", "MPI_Errhandler"),
    ("file", "MPI_File"),
    ("group", "MPI_Group"),
    ("info", "MPI_Info"),
    ("message", "MPI_Message"),
    ("op", "MPI_Op"),
    ("request", "MPI_Request"),
    ("session", "MPI_Session"),
    ("win", "MPI_Win"),
    ("t_cvar", "MPI_T_cvar_handle"),
    ("t_enum", "MPI_T_enum"),
    ("t_event_instance", "MPI_T_event_instance"),
    ("t_event_registration", "MPI_T_event_registration"),
    ("t_pvar", "MPI_T_pvar_handle"),
    ("t_pvar_session", "MPI_T_pvar_session"),
];

/// The meaning of a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A C `int` of no special meaning to the generator: rank, tag, root, keyval, int...
    Int,
    /// A rank (or `MPI_ANY_SOURCE`, `MPI_PROC_NULL`).
    Rank,
    /// A root rank.
    Root,
    /// A message tag.
    Tag,
    /// An attribute key.
    Keyval,
    /// The length of an array argument: an `int` that must not be negative.
    Length,
    /// A truth value: C `int`, Fortran `LOGICAL`.
    Logical,
    /// An edge weight; as an array it may be `MPI_UNWEIGHTED`.
    Weight,
    /// `int`, large `MPI_Count`; must not be negative.
    Count,
    /// `int`, large `MPI_Count`; any sign.
    AnyCount,
    /// `int`, large `MPI_Count`: a position in a pack buffer.
    Position,
    /// `int`, large `MPI_Aint`.
    Displacement,
    /// `MPI_Aint`, large `MPI_Count`.
    Location,
    /// `MPI_Aint`.
    Aint,
    /// `MPI_Offset`.
    Offset,
    /// `MPI_Count` in both variants.
    LargeCount,
    /// An opaque handle; the index into `HANDLES`.
    Handle(usize),
    /// `MPI_Status`.
    Status,
    /// A choice buffer.
    Buffer,
    /// A `void *` that is no choice buffer.
    Address,
    /// A `void *` with an attribute's value.
    Attribute,
    /// A `void *` handed through to callbacks.
    ExtraState,
    /// Text ending in a null byte.
    Text,
    /// `char *name[]`.
    Texts,
    /// `char **name[]`.
    TextArrays,
    /// `int *argc` of `MPI_Init`.
    Argc,
    /// `char ***argv` of `MPI_Init`.
    Argv,
    /// `int ranges[][3]`.
    Ranges,
    /// A function of the program, by the name of its type.
    Function(String),
    /// `...`.
    Variadic,
    /// `MPI_T_cb_safety`.
    CallbackSafety,
    /// `MPI_T_source_order`.
    SourceOrder,
}

impl Kind {
    /// Returns the kind with this name in the table.
    pub fn named(name: &str) -> Option<Kind> {
        if let Some(handle) = HANDLES.iter().position(|(n, _)| *n == name) {
            return Some(Kind::Handle(handle));
        }
        if let Some(function) = name.strip_prefix("fn.") {
            return Some(Kind::Function(function.to_string()));
        }
        Some(match name {
            "int" => Kind::Int,
            "rank" => Kind::Rank,
            "root" => Kind::Root,
            "tag" => Kind::Tag,
            "keyval" => Kind::Keyval,
            "length" => Kind::Length,
            "logical" => Kind::Logical,
            "weight" => Kind::Weight,
            "count" => Kind::Count,
            "anycount" => Kind::AnyCount,
            "position" => Kind::Position,
            "displ" => Kind::Displacement,
            "location" => Kind::Location,
            "aint" => Kind::Aint,
            "offset" => Kind::Offset,
            "xcount" => Kind::LargeCount,
            "status" => Kind::Status,
            "buffer" => Kind::Buffer,
            "address" => Kind::Address,
            "attribute" => Kind::Attribute,
            "extra_state" => Kind::ExtraState,
            "string" => Kind::Text,
            "strings" => Kind::Texts,
            "string_arrays" => Kind::TextArrays,
            "argc" => Kind::Argc,
            "argv" => Kind::Argv,
            "ranges" => Kind::Ranges,
            "varargs" => Kind::Variadic,
            "t_cb_safety" => Kind::CallbackSafety,
            "t_source_order" => Kind::SourceOrder,
            _ => return None,
        })
    }

    /// Returns its name in the table, for handles.
    pub fn handle(&self) -> Option<&'static str> {
        match self {
            Kind::Handle(index) => Some(HANDLES[*index].0),
            _ => None,
        }
    }

    /// Returns the C type of one value in the plain (`false`) or large-count (`true`) variant.
    pub fn c_type(&self, large: bool) -> String {
        match self {
            Kind::Int | Kind::Rank | Kind::Root | Kind::Tag | Kind::Keyval => "int",
            Kind::Length | Kind::Logical | Kind::Weight | Kind::Argc | Kind::Ranges => "int",
            Kind::Count | Kind::AnyCount | Kind::Position if large => "MPI_Count",
            Kind::Displacement if large => "MPI_Aint",
            Kind::Location if large => "MPI_Count",
            Kind::Count | Kind::AnyCount | Kind::Position | Kind::Displacement => "int",
            Kind::Aint | Kind::Location => "MPI_Aint",
            Kind::Offset => "MPI_Offset",
            Kind::LargeCount => "MPI_Count",
            Kind::Handle(index) => HANDLES[*index].1,
            Kind::Status => "MPI_Status",
            Kind::Buffer | Kind::Address | Kind::Attribute | Kind::ExtraState => "void",
            Kind::Text | Kind::Texts | Kind::TextArrays | Kind::Argv => "char",
            Kind::Function(name) => return large_function(name, large),
            Kind::Variadic => "...",
            Kind::CallbackSafety => "MPI_T_cb_safety",
            Kind::SourceOrder => "MPI_T_source_order",
        }
        .to_string()
    }

    /// Returns `true` if one value is 64 bits wide in this variant.
    pub fn wide(&self, large: bool) -> bool {
        matches!(self.c_type(large).as_str(), "MPI_Count" | "MPI_Aint" | "MPI_Offset")
    }

    /// Returns `true` if it is a number that the implementation gets as `i64` in both variants.
    pub fn counts(&self) -> bool {
        self.wide(true)
    }
}

/// Returns the type of the callback in the variant: two of them exist in a large-count form.
pub fn large_function(name: &str, large: bool) -> String {
    let doubled = matches!(name, "MPI_User_function" | "MPI_Datarep_conversion_function");
    if large && doubled { format!("{name}_c") } else { name.to_string() }
}
