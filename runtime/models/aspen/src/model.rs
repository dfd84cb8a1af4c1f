//! Files put together: imports and includes followed, names bound.

use crate::error::{AspenError, suggestion};
use crate::names::{NameResolution, NameTable, ScopeId};
use crate::parse::parse;
use crate::source::{FileId, SourceSpan, Sources};
use crate::tree::{Component, DataStructure, Global, Import, Item, Kernel, MachineFile, ModelFile, Name};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// An application: its own kernels, parameters and data, and those of the models it imports.
#[derive(Clone, Debug)]
pub struct Application {
    /// Name of the model.
    pub name: String,
    pub(crate) names: NameTable,
    pub(crate) kernels: Vec<KernelIn>,
    pub(crate) kernel_of: Vec<HashMap<String, usize>>,
    pub(crate) data: Vec<DataIn>,
    pub(crate) data_of: Vec<HashMap<String, usize>>,
    /// Warnings for the user; the model can be evaluated all the same.
    pub warnings: Vec<AspenError>,
}

/// A kernel and the model it is in.
#[derive(Clone, Debug)]
pub(crate) struct KernelIn {
    pub tree: Kernel,
    pub scope: ScopeId,
    /// With the models it is in, dots between.
    pub full: String,
}

/// A data structure and the model it is in.
#[derive(Clone, Debug)]
pub(crate) struct DataIn {
    pub tree: DataStructure,
    pub scope: ScopeId,
    /// With the models it is in, dots between.
    pub full: String,
}

/// Machines, or parts of machines.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) names: NameTable,
    /// All, in order.
    pub(crate) components: Vec<Component>,
    pub(crate) component_of: HashMap<String, usize>,
    /// The machine, unless there are only parts.
    pub(crate) root: Option<usize>,
    /// Warnings for the user; the machine can be used all the same.
    pub warnings: Vec<AspenError>,
}

/// Content of a file.
#[derive(Clone, Debug)]
pub enum LoadedModel {
    /// A model of an application.
    Application(Box<Application>),
    /// Machines, or parts of machines.
    Machine(Box<Machine>),
}

impl Application {
    /// Returns how many kernels there are, those of imported models included.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// Returns `true` if there is a kernel `main`.
    pub fn has_main(&self) -> bool {
        self.kernel(0, "main").is_some()
    }
}

impl LoadedModel {
    /// Reads a file and all that it imports or includes. O(their lengths).
    ///
    /// # Errors
    /// A file cannot be read, is no Aspen, or imports itself; a formula leads back to itself; a component or
    /// an imported model is missing.
    pub fn read(sources: &mut Sources, path: &Path) -> Result<LoadedModel, AspenError> {
        let id = sources.read(path)?;
        LoadedModel::load(sources, id)
    }

    /// Follows the imports and includes of a file of `sources`. O(their lengths).
    ///
    /// # Errors
    /// As for [`LoadedModel::read`].
    pub fn load(sources: &mut Sources, id: FileId) -> Result<LoadedModel, AspenError> {
        let mut loader =
            Loader { main: directory(sources, id), open: Vec::new(), sources, warnings: Vec::new() };
        let model = loader.load(id);
        model.map_err(|error| error.located(sources))
    }
}

/// Returns the directory of a file. Names are relative to that of the file that was asked for.
fn directory(sources: &Sources, id: FileId) -> PathBuf {
    let path = sources.file(id).path.as_deref();
    path.and_then(Path::parent).map(Path::to_owned).unwrap_or_default()
}

struct Loader<'s> {
    sources: &'s mut Sources,
    main: PathBuf,
    /// Files whose imports and includes are being followed.
    open: Vec<FileId>,
    warnings: Vec<AspenError>,
}

impl Loader<'_> {
    fn load(&mut self, id: FileId) -> Result<LoadedModel, AspenError> {
        match parse(self.sources, id)? {
            ModelFile::Application(tree) => {
                let mut application = Application {
                    name: tree.name.text.clone(),
                    names: NameTable::default(),
                    kernels: Vec::new(),
                    kernel_of: Vec::new(),
                    data: Vec::new(),
                    data_of: Vec::new(),
                    warnings: Vec::new(),
                };
                self.open.push(id);
                self.application(&mut application, tree, String::new())?;
                if let Some(circle) = application.names.circles().into_iter().next() {
                    return Err(circle);
                }
                application.warnings = self.take_warnings();
                crate::check::application(&mut application, self.sources)?;
                Ok(LoadedModel::Application(Box::new(application)))
            }
            ModelFile::Machine(tree) => {
                self.open.push(id);
                let whole = self.flatten(tree)?;
                self.machine(whole).map(|machine| LoadedModel::Machine(Box::new(machine)))
            }
        }
    }

    fn take_warnings(&mut self) -> Vec<AspenError> {
        std::mem::take(&mut self.warnings).into_iter().map(|warning| warning.located(self.sources)).collect()
    }

    /// Adds a model and those it imports.
    fn application(
        &mut self,
        into: &mut Application,
        tree: crate::tree::ApplicationFile,
        prefix: String,
    ) -> Result<ScopeId, AspenError> {
        let scope = into.names.add_scope(prefix.clone());
        into.kernel_of.push(HashMap::new());
        into.data_of.push(HashMap::new());
        let globals = self.included(tree.globals)?;
        for global in &globals {
            into.names.add(scope, global, &mut self.warnings);
            if let Global::Data(data) = global {
                let full = format!("{prefix}{}", data.name.text);
                if into.data_of[scope].insert(data.name.text.clone(), into.data.len()).is_some() {
                    self.warnings.push(AspenError::at(
                        data.name.span,
                        format!("data '{}' are defined twice", data.name.text),
                    ));
                }
                into.data.push(DataIn { tree: data.clone(), scope, full });
            }
        }
        for kernel in tree.kernels {
            self.kernel(into, kernel, scope, &prefix)?;
        }
        for global in &globals {
            if let Global::Import(import) = global {
                self.import(into, import, scope, &prefix)?;
            }
        }
        Ok(scope)
    }

    fn kernel(
        &mut self,
        into: &mut Application,
        kernel: Kernel,
        scope: ScopeId,
        prefix: &str,
    ) -> Result<(), AspenError> {
        for local in &kernel.locals {
            if let Global::Import(Import { model, .. }) | Global::Include(model) = local {
                return Err(AspenError::at(
                    model.span,
                    "models are imported at the head of a model, not in a kernel",
                ));
            }
        }
        let name = kernel.name.clone();
        if into.kernel_of[scope].insert(name.text.clone(), into.kernels.len()).is_some() {
            self.warnings.push(AspenError::at(
                name.span,
                format!("kernel '{}' is defined twice; what stands last counts", name.text),
            ));
        }
        into.kernels.push(KernelIn { full: format!("{prefix}{}", name.text), tree: kernel, scope });
        Ok(())
    }

    /// Reads an imported model, and gives its parameters the importer's formulas.
    fn import(
        &mut self,
        into: &mut Application,
        import: &Import,
        scope: ScopeId,
        prefix: &str,
    ) -> Result<(), AspenError> {
        let id = self.open_file(&import.file, false)?;
        let ModelFile::Application(tree) = parse(self.sources, id)? else {
            return Err(AspenError::at(
                import.file.span,
                format!("'{}' has no model of an application", import.file.text),
            ));
        };
        if tree.name.text != import.model.text {
            let sentence = format!(
                "'{}' has a model '{}', not '{}'",
                import.file.text, tree.name.text, import.model.text
            );
            return Err(AspenError::at(import.model.span, sentence));
        }
        let child = self.application(into, tree, format!("{prefix}{}.", import.model.text))?;
        self.open.pop();
        if into.names.scopes[scope].imports.insert(import.model.text.clone(), child).is_some() {
            return Err(AspenError::at(
                import.model.span,
                format!("the model '{}' is imported twice", import.model.text),
            ));
        }
        for (name, value) in &import.with {
            match into.names.find(child, &name.text) {
                Some(NameResolution::Parameter(parameter)) => {
                    into.names.parameters[parameter].value = value.clone();
                    into.names.parameters[parameter].value_scope = scope;
                }
                _ => {
                    let known = into.names.scopes[child].values.keys().map(String::as_str);
                    let hint = suggestion(&name.text, known);
                    let sentence = format!(
                        "the model '{}' has no parameter '{}', which has no effect{hint}",
                        import.model.text, name.text
                    );
                    self.warnings.push(AspenError::at(name.span, sentence));
                }
            }
        }
        Ok(())
    }

    /// Statements with those of included files in place of includes.
    fn included(&mut self, globals: Vec<Global>) -> Result<Vec<Global>, AspenError> {
        let mut all = Vec::new();
        for global in globals {
            let Global::Include(name) = &global else {
                all.push(global);
                continue;
            };
            let id = self.open_file(name, true)?;
            let ModelFile::Machine(MachineFile { globals, components }) = parse(self.sources, id)? else {
                return Err(AspenError::at(name.span, "a whole model is imported, not included"));
            };
            if !components.is_empty() {
                return Err(AspenError::at(
                    name.span,
                    "a model of an application has no components, and this file has",
                ));
            }
            all.extend(self.included(globals)?);
            self.open.pop();
        }
        Ok(all)
    }

    /// Reads the files that a machine's file includes, and returns it with them.
    fn flatten(&mut self, file: MachineFile) -> Result<MachineFile, AspenError> {
        let mut whole = MachineFile { globals: Vec::new(), components: file.components };
        for global in file.globals {
            match global {
                Global::Include(name) => {
                    let id = self.open_file(&name, true)?;
                    let ModelFile::Machine(inner) = parse(self.sources, id)? else {
                        return Err(AspenError::at(
                            name.span,
                            "a machine includes parts of machines, and this file is a model",
                        ));
                    };
                    let inner = self.flatten(inner)?;
                    self.open.pop();
                    whole.globals.extend(inner.globals);
                    whole.components.extend(inner.components);
                }
                Global::Import(import) => {
                    return Err(AspenError::at(
                        import.model.span,
                        "machines include files, they do not import models",
                    ));
                }
                other => whole.globals.push(other),
            }
        }
        Ok(whole)
    }

    /// Reads the file that `name` names. An include is looked for beside the file that was asked for, as the
    /// reference does, then beside the one that includes and in the directory above; an import beside the one
    /// that imports first.
    fn open_file(&mut self, name: &Name, include: bool) -> Result<FileId, AspenError> {
        let beside = self.open.last().map(|&id| directory(self.sources, id)).unwrap_or_default();
        let above = beside.join("..");
        let mut places = [self.main.join(&name.text), beside.join(&name.text), above.join(&name.text)];
        if !include {
            places.swap(0, 1);
        }
        let path = places.iter().find(|path| path.is_file()).unwrap_or(&places[0]);
        let same = |&id: &FileId| {
            let other = self.sources.file(id).path.as_deref();
            other
                .and_then(|other| other.canonicalize().ok())
                .is_some_and(|other| path.canonicalize().is_ok_and(|path| path == other))
        };
        if let Some(at) = self.open.iter().position(same) {
            let names: Vec<&str> =
                self.open[at..].iter().map(|&id| self.sources.file(id).name.as_str()).collect();
            let chain = format!("{} -> {}", names.join(" -> "), names[0]);
            return Err(AspenError::at(name.span, format!("the file leads back to itself: {chain}")));
        }
        let id = self.sources.read(path).map_err(|error| AspenError::at(name.span, error.sentence()))?;
        self.open.push(id);
        Ok(id)
    }

    fn machine(&mut self, file: MachineFile) -> Result<Machine, AspenError> {
        let mut names = NameTable::default();
        let scope = names.add_scope(String::new());
        for global in &file.globals {
            names.add(scope, global, &mut self.warnings);
        }
        if let Some(circle) = names.circles().into_iter().next() {
            return Err(circle);
        }
        let mut component_of = HashMap::new();
        for (at, component) in file.components.iter().enumerate() {
            if component_of.insert(component.name.text.clone(), at).is_some() {
                let sentence =
                    format!("component '{}' is defined twice; what stands last counts", component.name.text);
                self.warnings.push(AspenError::at(component.name.span, sentence));
            }
        }
        let root = file.components.iter().rposition(|component| component.kind.text == "machine");
        let mut machine =
            Machine { names, components: file.components, component_of, root, warnings: Vec::new() };
        self.parts(&machine)?;
        machine.warnings = self.take_warnings();
        crate::check::machine(&mut machine, self.sources);
        Ok(machine)
    }

    /// Checks that each part is there and of the kind that is given, and that none contains itself.
    fn parts(&mut self, machine: &Machine) -> Result<(), AspenError> {
        for component in &machine.components {
            for item in &component.items {
                let Item::Part { kind, name, .. } = item else { continue };
                match machine.component_of.get(&name.text).map(|&at| &machine.components[at]) {
                    None => {
                        let hint = suggestion(&name.text, machine.component_of.keys().map(String::as_str));
                        let error =
                            AspenError::at(name.span, format!("there is no component '{}'{hint}", name.text));
                        // A part of a machine may leave the rest to who includes it.
                        match machine.root {
                            Some(_) => return Err(error),
                            None => self.warnings.push(error),
                        }
                    }
                    Some(part) if part.kind.text != kind.text => {
                        let sentence =
                            format!("'{}' is a {}, not a {}", name.text, part.kind.text, kind.text);
                        return Err(AspenError::at(kind.span, sentence));
                    }
                    Some(_) => {}
                }
            }
        }
        match machine.component_circle() {
            Some((name, span)) => Err(AspenError::at(span, format!("component '{name}' contains itself"))),
            None => Ok(()),
        }
    }
}

impl Machine {
    /// Returns the parts of a component that are there.
    pub(crate) fn parts(
        &self,
        component: usize,
    ) -> impl Iterator<Item = (usize, Option<&crate::tree::Expr>)> {
        self.components[component].items.iter().filter_map(|item| match item {
            Item::Part { count, name, .. } => {
                self.component_of.get(&name.text).map(|&at| (at, count.as_ref()))
            }
            _ => None,
        })
    }

    /// Returns a component that is a part of itself, by way of others if not at once.
    fn component_circle(&self) -> Option<(&str, SourceSpan)> {
        // 0: not seen, 1: on the way, 2: done.
        let mut state = vec![0u8; self.components.len()];
        for first in 0..self.components.len() {
            let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
            let mut next = Some(first);
            while next.is_some() || !path.is_empty() {
                if let Some(at) = next.take() {
                    match state[at] {
                        0 => {
                            state[at] = 1;
                            path.push((at, self.parts(at).map(|(part, _)| part).collect()));
                        }
                        1 => return Some((&self.components[at].name.text, self.components[at].name.span)),
                        _ => {}
                    }
                }
                if let Some((at, parts)) = path.last_mut() {
                    match parts.pop() {
                        Some(part) => next = Some(part),
                        None => {
                            state[*at] = 2;
                            path.pop();
                        }
                    }
                }
            }
        }
        None
    }

    /// Returns what the machine is called, unless there are only parts.
    pub fn name(&self) -> Option<&str> {
        self.root.map(|root| self.components[root].name.text.as_str())
    }

    /// Returns how many components there are.
    pub fn len(&self) -> usize {
        self.components.len()
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// Returns the names of all sockets, in order.
    pub fn sockets(&self) -> Vec<&str> {
        let sockets = self.components.iter().filter(|component| component.kind.text == "socket");
        sockets.map(|component| component.name.text.as_str()).collect()
    }
}
