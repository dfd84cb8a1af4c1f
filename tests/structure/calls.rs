//! Circles of files by the methods that they call, and fields that other crates can reach.
//!
//! Paths alone do not show that an `impl` block of a type is spread over files which call each other's
//! methods. Here a file needs another one if a function in it calls an inherent method or an associated
//! function that is defined there. The receiver's type is followed through `self`, parameters, fields and
//! `let`. A receiver whose type is not found that way counts for nothing, so that a circle may be larger than
//! it is counted, never smaller.

use super::{is_test, rust_files};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// Types around another one that method calls see through.
const SEEN_THROUGH: &[&str] =
    &["Box", "Rc", "Arc", "RefCell", "Option", "Cell", "ManuallyDrop", "Ref", "RefMut"];

/// Returns the name of the type that a method call on a value of `type_` reaches, if it has one.
fn reached(type_: &syn::Type) -> Option<String> {
    match type_ {
        syn::Type::Reference(to) => reached(&to.elem),
        syn::Type::Paren(inner) => reached(&inner.elem),
        syn::Type::Path(path) => {
            let last = path.path.segments.last()?;
            let name = last.ident.to_string();
            if let syn::PathArguments::AngleBracketed(arguments) = &last.arguments
                && SEEN_THROUGH.contains(&name.as_str())
            {
                return arguments.args.iter().find_map(|argument| match argument {
                    syn::GenericArgument::Type(inner) => reached(inner),
                    _ => None,
                });
            }
            Some(name)
        }
        _ => None,
    }
}

/// Definitions of a crate.
#[derive(Default)]
struct Definitions {
    /// Files that define a method, by type and name.
    methods: HashMap<(String, String), BTreeSet<usize>>,
    /// The type that a field's methods are called on, by struct and field.
    fields: HashMap<(String, String), String>,
}

/// Collects definitions of one file.
struct Definer<'a> {
    file: usize,
    definitions: &'a mut Definitions,
}

impl<'ast> Visit<'ast> for Definer<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        for field in &item.fields {
            if let (Some(name), Some(type_)) = (&field.ident, reached(&field.ty)) {
                self.definitions.fields.insert((item.ident.to_string(), name.to_string()), type_);
            }
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if item.trait_.is_some() || is_test(&item.attrs) {
            return;
        }
        let Some(type_) = reached(&item.self_ty) else { return };
        for member in &item.items {
            if let syn::ImplItem::Fn(function) = member {
                let name = function.sig.ident.to_string();
                self.definitions.methods.entry((type_.clone(), name)).or_default().insert(self.file);
            }
        }
    }
}

/// Collects the files whose methods one file calls.
struct Caller<'a> {
    definitions: &'a Definitions,
    self_type: Option<String>,
    /// Types of names in the function that is visited.
    names: HashMap<String, String>,
    called: BTreeMap<usize, BTreeSet<String>>,
}

impl Caller<'_> {
    fn call(&mut self, type_: Option<String>, name: &str) {
        let Some(type_) = type_ else { return };
        let text = format!("{type_}::{name}");
        for &file in self.definitions.methods.get(&(type_, name.to_owned())).into_iter().flatten() {
            self.called.entry(file).or_default().insert(text.clone());
        }
    }

    fn type_of(&self, expression: &syn::Expr) -> Option<String> {
        match expression {
            syn::Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                if name == "self" { self.self_type.clone() } else { self.names.get(&name).cloned() }
            }
            syn::Expr::Field(field) => {
                let syn::Member::Named(name) = &field.member else { return None };
                self.definitions.fields.get(&(self.type_of(&field.base)?, name.to_string())).cloned()
            }
            syn::Expr::Reference(reference) => self.type_of(&reference.expr),
            syn::Expr::Paren(inner) => self.type_of(&inner.expr),
            syn::Expr::Unary(unary) => self.type_of(&unary.expr),
            syn::Expr::Try(inner) => self.type_of(&inner.expr),
            // What sees through a wrapper keeps the type.
            syn::Expr::MethodCall(call)
                if [
                    "borrow",
                    "borrow_mut",
                    "as_ref",
                    "as_mut",
                    "as_deref",
                    "as_deref_mut",
                    "unwrap",
                    "expect",
                    "get_mut",
                    "clone",
                ]
                .iter()
                .any(|name| call.method == name) =>
            {
                self.type_of(&call.receiver)
            }
            _ => None,
        }
    }

    fn function(&mut self, signature: &syn::Signature) {
        self.names.clear();
        for input in &signature.inputs {
            if let syn::FnArg::Typed(typed) = input {
                self.bind(&typed.pat, &typed.ty);
            }
        }
    }

    fn bind(&mut self, pattern: &syn::Pat, type_: &syn::Type) {
        if let (syn::Pat::Ident(name), Some(type_)) = (pattern, reached(type_)) {
            self.names.insert(name.ident.to_string(), type_);
        }
    }
}

impl<'ast> Visit<'ast> for Caller<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if is_test(&item.attrs) {
            return;
        }
        let before = std::mem::replace(&mut self.self_type, reached(&item.self_ty));
        syn::visit::visit_item_impl(self, item);
        self.self_type = before;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig);
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        syn::visit::visit_local(self, local);
        match &local.pat {
            syn::Pat::Type(typed) => self.bind(&typed.pat, &typed.ty),
            syn::Pat::Ident(name) => {
                let type_ = local.init.as_ref().and_then(|init| self.type_of(&init.expr));
                if let Some(type_) = type_ {
                    self.names.insert(name.ident.to_string(), type_);
                } else {
                    self.names.remove(&name.ident.to_string());
                }
            }
            _ => {}
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.call(self.type_of(&call.receiver), &call.method.to_string());
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let segments: Vec<String> =
            path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let [.., type_, name] = segments.as_slice() {
            let type_ = if type_ == "Self" { self.self_type.clone() } else { Some(type_.clone()) };
            self.call(type_, name);
        }
        syn::visit::visit_expr_path(self, path);
    }
}

/// Returns the files below `directory`, those of tests left out.
fn files(directory: &Path) -> Vec<PathBuf> {
    rust_files(directory, &|name| ["tests", "tests.rs"].contains(&name))
}

/// Files that call each other's methods: each with the methods that it calls in the others.
type Circle = Vec<(PathBuf, Vec<String>)>;

/// Returns the circles of files below `directory`, largest first.
pub fn circles(directory: &Path) -> Vec<Circle> {
    let files = files(directory);
    let parsed: Vec<syn::File> = files
        .iter()
        .map(|path| {
            syn::parse_file(&std::fs::read_to_string(path).unwrap())
                .unwrap_or_else(|why| panic!("{}: {why}", path.display()))
        })
        .collect();
    let mut definitions = Definitions::default();
    for (file, text) in parsed.iter().enumerate() {
        Definer { file, definitions: &mut definitions }.visit_file(text);
    }
    let called = parsed.iter().enumerate().map(|(file, text)| {
        let mut caller = Caller {
            definitions: &definitions,
            self_type: None,
            names: HashMap::new(),
            called: BTreeMap::new(),
        };
        caller.visit_file(text);
        caller.called.remove(&file);
        caller.called
    });
    let called: Vec<_> = called.collect();
    let needs = called.iter().map(|files| files.keys().copied().collect()).enumerate().collect();
    let mut circles: Vec<Circle> = super::circles(&needs)
        .into_iter()
        .map(|circle| {
            let within = |file: &usize| {
                let others = called[*file].iter().filter(|(other, _)| circle.contains(other));
                others.flat_map(|(_, methods)| methods.iter().cloned()).collect()
            };
            circle.iter().map(|file| (files[*file].clone(), within(file))).collect()
        })
        .collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// Returns the public fields of a struct, and the number of its inherent methods with the files that they are
/// in.
pub fn openness(directory: &Path, type_: &str) -> (usize, usize, usize) {
    let (mut fields, mut methods, mut homes) = (0, 0, 0);
    for path in files(directory) {
        let text = syn::parse_file(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let before = methods;
        for item in &text.items {
            match item {
                syn::Item::Struct(item) if item.ident == type_ => {
                    fields += item
                        .fields
                        .iter()
                        .filter(|field| matches!(field.vis, syn::Visibility::Public(_)))
                        .count();
                }
                syn::Item::Impl(item)
                    if item.trait_.is_none() && reached(&item.self_ty).as_deref() == Some(type_) =>
                {
                    methods +=
                        item.items.iter().filter(|member| matches!(member, syn::ImplItem::Fn(_))).count();
                }
                _ => {}
            }
        }
        homes += usize::from(methods > before);
    }
    (fields, methods, homes)
}

/// The largest circle by method calls that each module may have. A change that unties one lowers its number.
const LARGEST: &[(&str, usize)] = &[
    ("runtime/core/p2p/src", 3),
    ("runtime/chapters/collective/src", 0),
    ("runtime/chapters/rma/src", 3),
    ("runtime/core/network/src/packet/shard", 3),
    ("runtime/chapters/file/src", 4),
    ("runtime/core/mpi/src", 3),
    ("cabi", 3),
];

#[test]
fn circles_by_method_calls_do_not_grow() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut grown = String::new();
    for &(directory, most) in LARGEST {
        let circles = circles(&root.join(directory));
        let largest = circles.first().map_or(0, Vec::len);
        let sizes: Vec<usize> = circles.iter().map(Vec::len).collect();
        println!("{directory}: circles of {sizes:?} files");
        if largest > most {
            grown += &format!("{directory}: {largest} files, at most {most}\n");
            for (path, methods) in &circles[0] {
                let path = path.strip_prefix(root).unwrap().display();
                grown += &format!("    {path} calls {}\n", methods.join(", "));
            }
        }
    }
    assert!(grown.is_empty(), "files call each other's methods in circles:\n{grown}");
}

#[test]
fn messages_has_no_public_field_and_no_further_method() {
    let (fields, methods, files) =
        openness(&Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/core/p2p/src"), "Messages");
    println!("Messages: {fields} public fields, {methods} methods in {files} files");
    assert!(
        fields == 0 && methods <= 59 && files <= 4,
        "{fields} public fields, {methods} methods in {files} files"
    );
}

#[test]
fn a_shard_of_packets_has_at_most_25_fields() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/core/network/src/packet/shard.rs");
    let text = syn::parse_file(&std::fs::read_to_string(path).unwrap()).unwrap();
    let shard = text.items.iter().find_map(|item| match item {
        syn::Item::Struct(item) if item.ident == "Shard" => Some(item.fields.len()),
        _ => None,
    });
    assert!(shard.is_some_and(|fields| fields <= 25), "{shard:?} fields");
}

#[test]
fn a_circle_through_an_impl_in_two_files_is_found() {
    let directory = std::env::temp_dir().join(format!("xsim-structure-calls-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
    write(
        "a.rs",
        "pub struct A { b: Box<B> } impl A \
         { fn one(&mut self) { self.two() } fn three(&self) { self.b.leaf() } }",
    );
    write("b.rs", "impl super::A { fn two(&mut self) { helper(self) } } fn helper(a: &mut A) { a.three() }");
    write("c.rs", "pub struct B; impl B { fn leaf(&self) { let v: Vec<u8> = Vec::new(); v.one() } }");
    let found = circles(&directory);
    std::fs::remove_dir_all(&directory).unwrap();
    let calls: Vec<_> = found[0].iter().map(|(_, methods)| methods.join(" ")).collect();
    assert_eq!(calls, ["A::two", "A::three"]);
    let names: Vec<Vec<&str>> = found
        .iter()
        .map(|circle| circle.iter().map(|(path, _)| path.file_name().unwrap().to_str().unwrap()).collect())
        .collect();
    assert_eq!(names, [["a.rs", "b.rs"]]);
}
