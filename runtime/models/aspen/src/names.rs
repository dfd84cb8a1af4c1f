//! Names: parameters, enumerators, and in which model they are.

use crate::error::{AspenError, suggestion};
use crate::source::SourceSpan;
use crate::tree::{Domain, Expr, ExprKind, Global, Name};
use std::collections::HashMap;

/// Index of the model in [`NameTable`] in which a name is looked up; 0 is the file's own.
pub(crate) type ScopeId = usize;

/// A parameter of a model.
#[derive(Clone, Debug)]
pub(crate) struct ModelParameter {
    /// With the models it is in, dots between.
    pub full: String,
    pub name: Name,
    pub value: Expr,
    /// Scope of the names in `value`: an import can give a parameter a formula of the importer.
    pub value_scope: ScopeId,
    pub domain: Option<Domain>,
    pub scope: ScopeId,
}

/// The declaration that a name resolves to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NameResolution {
    Parameter(usize),
    Enumerator(usize),
}

/// A model's names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// `model3.model2.`, or nothing.
    pub prefix: String,
    pub values: HashMap<String, NameResolution>,
    pub enums: HashMap<String, Vec<String>>,
    /// Imported models.
    pub imports: HashMap<String, ScopeId>,
}

/// The names of a model and of those it imports.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameTable {
    pub scopes: Vec<Scope>,
    pub parameters: Vec<ModelParameter>,
}

impl NameTable {
    /// Adds a scope.
    pub(crate) fn add_scope(&mut self, prefix: String) -> ScopeId {
        self.scopes.push(Scope { prefix, ..Scope::default() });
        self.scopes.len() - 1
    }

    /// Adds a parameter or an enumeration. What is defined twice counts as defined last, as in the reference;
    /// `warn` hears of it.
    pub(crate) fn add(&mut self, scope: ScopeId, global: &Global, warn: &mut Vec<AspenError>) {
        match global {
            Global::Param(param) => {
                let full = format!("{}{}", self.scopes[scope].prefix, param.name.text);
                self.parameters.push(ModelParameter {
                    full,
                    name: param.name.clone(),
                    value: param.value.clone(),
                    value_scope: scope,
                    domain: param.domain.clone(),
                    scope,
                });
                self.bind(scope, &param.name, NameResolution::Parameter(self.parameters.len() - 1), warn);
            }
            Global::Enum(name, values) => {
                for (number, value) in values.iter().enumerate() {
                    self.bind(scope, value, NameResolution::Enumerator(number), warn);
                }
                let texts = values.iter().map(|value| value.text.clone()).collect();
                self.scopes[scope].enums.insert(name.text.clone(), texts);
            }
            Global::Data(_) | Global::Import(_) | Global::Include(_) => {}
        }
    }

    fn bind(&mut self, scope: ScopeId, name: &Name, meaning: NameResolution, warn: &mut Vec<AspenError>) {
        if self.scopes[scope].values.insert(name.text.clone(), meaning).is_some() {
            warn.push(AspenError::at(
                name.span,
                format!("'{}' is defined twice; what stands last counts", name.text),
            ));
        }
    }

    /// Returns what a name stands for in `scope`, dots leading into imported models.
    pub(crate) fn find(&self, scope: ScopeId, name: &str) -> Option<NameResolution> {
        let (scope, last) = self.enter(scope, name)?;
        self.scopes[scope].values.get(last).copied()
    }

    /// Returns the scope that a name's dots lead into, and the rest of the name.
    pub(crate) fn enter<'n>(&self, mut scope: ScopeId, name: &'n str) -> Option<(ScopeId, &'n str)> {
        let mut rest = name;
        while let Some((model, tail)) = rest.split_once('.') {
            scope = *self.scopes[scope].imports.get(model)?;
            rest = tail;
        }
        Some((scope, rest))
    }

    /// Returns the sentence about a name that stands for nothing, `also` being what else is known there.
    pub(crate) fn unknown<'a>(
        &'a self,
        scope: ScopeId,
        name: &str,
        span: SourceSpan,
        also: impl Iterator<Item = &'a str>,
    ) -> AspenError {
        if let Some((model, _)) = name.rsplit_once('.')
            && self.enter(scope, name).is_none()
        {
            return AspenError::at(span, format!("no model '{model}' is imported here"));
        }
        let values = &self.scopes[self.enter(scope, name).map_or(scope, |(scope, _)| scope)].values;
        let mut known: Vec<&str> = values.keys().map(String::as_str).chain(also).collect();
        known.sort_unstable();
        let metric = ["pico", "femto", "yotta", "zetta", "centi", "hecto", "kibi", "mebi", "gibi", "tebi"];
        let mut hint = suggestion(name, known.into_iter());
        if metric.contains(&name) {
            hint = "; the units are nano, micro, milli, kilo, mega, giga, tera, peta and exa".to_owned();
        }
        AspenError::at(span, format!("nothing is called '{name}' here{hint}"))
    }

    /// Finds formulas of parameters that lead back to themselves. O(their lengths).
    pub(crate) fn circles(&self) -> Vec<AspenError> {
        let mut found = Vec::new();
        let mut state = vec![VisitState::Not; self.parameters.len()];
        for first in 0..self.parameters.len() {
            self.follow(first, &mut state, &mut found);
        }
        found
    }

    /// Goes through the parameters that `first` needs, without recursion: a chain may be as long as the
    /// model.
    fn follow(&self, first: usize, state: &mut [VisitState], found: &mut Vec<AspenError>) {
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut next = Some(first);
        loop {
            if let Some(parameter) = next.take() {
                match state[parameter] {
                    VisitState::Done => {}
                    VisitState::Open => {
                        let start = path.iter().position(|&(on, _)| on == parameter).unwrap_or(0);
                        let names: Vec<&str> =
                            path[start..].iter().map(|&(on, _)| self.parameters[on].full.as_str()).collect();
                        let name = &self.parameters[parameter];
                        let chain = format!("{} -> {}", names.join(" -> "), name.full);
                        found.push(AspenError::at(
                            name.name.span,
                            format!("'{}' is defined by itself: {chain}", name.full),
                        ));
                    }
                    VisitState::Not => {
                        state[parameter] = VisitState::Open;
                        path.push((parameter, self.needs(parameter)));
                    }
                }
            }
            match path.last_mut() {
                None => return,
                Some((parameter, needs)) => match needs.pop() {
                    Some(need) => next = Some(need),
                    None => {
                        state[*parameter] = VisitState::Done;
                        path.pop();
                    }
                },
            }
        }
    }

    /// Parameters in a parameter's formula.
    fn needs(&self, parameter: usize) -> Vec<usize> {
        let parameter = &self.parameters[parameter];
        let mut needs = Vec::new();
        each_name(&parameter.value, &mut |name, _| {
            if let Some(NameResolution::Parameter(other)) = self.find(parameter.value_scope, name) {
                needs.push(other);
            }
        });
        needs.reverse();
        needs
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    Not,
    Open,
    Done,
}

/// Shows each name in a formula.
pub(crate) fn each_name(formula: &Expr, see: &mut impl FnMut(&str, SourceSpan)) {
    match &formula.kind {
        ExprKind::Number(_) | ExprKind::Unit(_) => {}
        ExprKind::Name(name) => see(name, formula.span),
        ExprKind::Element(name, indices) => {
            see(name, formula.span);
            indices.iter().for_each(|index| each_name(index, see));
        }
        ExprKind::Negative(inner) => each_name(inner, see),
        ExprKind::Binary(_, a, b) => {
            each_name(a, see);
            each_name(b, see);
        }
        ExprKind::Call(_, values) | ExprKind::Array(values) => {
            values.iter().for_each(|value| each_name(value, see))
        }
        ExprKind::Table(rows) => rows.iter().flatten().for_each(|value| each_name(value, see)),
    }
}
