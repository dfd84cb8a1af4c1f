//! Checks of a model before it is evaluated.
//!
//! What `main` can reach must be right; in kernels that nobody calls the same findings are warnings, because
//! models are often read in part (a kernel's arguments, a machine's names).

use crate::error::{AspenError, suggestion};
use crate::evaluate::arity;
use crate::model::{Application, Machine};
use crate::names::{NameResolution, NameTable, ScopeId, each_name};
use crate::source::{SourceSpan, Sources};
use crate::tree::{Condition, Domain, Expr, ExprKind, Global, Item, KernelStatement, Name, StatementKind};
use std::collections::BTreeSet;

/// Functions that draw a number.
const DRAWING: [&str; 3] = ["uniform", "normal", "cdf"];

/// A call in a kernel.
struct KernelCall<'a> {
    name: &'a Name,
    arguments: &'a [Expr],
    /// Names that the kernel has here besides its own.
    counters: Vec<String>,
    /// `true` if nothing decides if it happens.
    always: bool,
}

/// Contents of a kernel.
#[derive(Default)]
struct KernelContents<'a> {
    formulas: Vec<(&'a Expr, Vec<String>)>,
    /// Bare names as values of traits, which need not stand for anything: `pattern(stencil4)`.
    words: Vec<(&'a Expr, Vec<String>)>,
    calls: Vec<KernelCall<'a>>,
    samples: Vec<String>,
    data: Vec<&'a Name>,
    switched: Vec<(&'a Name, Vec<String>)>,
    findings: Vec<AspenError>,
}

/// Findings of a model: the first in what `main` reaches is an error, the others are warnings.
pub(crate) fn application(model: &mut Application, sources: &Sources) -> Result<(), AspenError> {
    let contents: Vec<KernelContents<'_>> =
        model.kernels.iter().map(|kernel| contents(&kernel.tree.body)).collect();
    let reached = reached(model, &contents);
    let visible = visible(model, &contents);
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    let mut used = BTreeSet::new();
    for (at, kernel) in model.kernels.iter().enumerate() {
        let known = known(model, at, &contents[at], &visible[at]);
        let found = kernel_findings(model, at, &contents[at], &known, reached[at], &mut used);
        if reached[at] { &mut errors } else { &mut warnings }.extend(found);
        warnings.extend(word_findings(model, kernel.scope, &contents[at], &known, reached[at], &mut used));
        let all = contents[at].data.iter().filter(|name| !model.has_data(kernel.scope, at, &name.text));
        warnings
            .extend(all.map(|name| AspenError::at(name.span, format!("there are no data '{}'", name.text))));
    }
    errors.extend(endless(model, &contents, &reached));
    for (at, parameter) in model.names.parameters.iter().enumerate() {
        let mut found = formula_findings(&model.names, parameter.value_scope, &parameter.value, &[], &[]);
        found.extend(domain_findings(&model.names, parameter.scope, parameter.domain.as_ref()));
        if used.contains(&at) { &mut errors } else { &mut warnings }.extend(found);
    }
    for data in &model.data {
        warnings.extend(formula_findings(&model.names, data.scope, &shape(&data.tree), &[], &[]));
    }
    if model.kernel_of.first().is_none_or(|kernels| !kernels.contains_key("main")) {
        warnings.push(AspenError::new(format!("the model '{}' has no kernel 'main'", model.name)));
    }
    for contents in contents {
        warnings.extend(contents.findings);
    }
    errors.sort_by_key(|error| error.span().map(|span| (span.file, span.start)));
    model.warnings.extend(warnings.into_iter().map(|warning| warning.located(sources)));
    errors.into_iter().next().map_or(Ok(()), |error| Err(error.located(sources)))
}

/// Returns the formula of a data structure's size: a shape's arguments without its name, which is free.
pub(crate) fn shape(data: &crate::tree::DataStructure) -> Expr {
    match &data.size.kind {
        ExprKind::Call(_, values) if data.is_shape => {
            Expr { kind: ExprKind::Array(values.clone()), span: data.size.span }
        }
        _ => data.size.clone(),
    }
}

impl Application {
    /// Returns `true` if a kernel knows data of this name.
    pub(crate) fn has_data(&self, scope: ScopeId, kernel: usize, name: &str) -> bool {
        let tree = &self.kernels[kernel].tree;
        let local = |local: &Global| matches!(local, Global::Data(data) if data.name.text == name);
        self.data_of[scope].contains_key(name)
            || tree.arguments.iter().any(|argument| argument.is_data && argument.name.text == name)
            || tree.locals.iter().any(local)
    }

    /// Returns the kernel that a name in `scope` stands for.
    pub(crate) fn kernel(&self, scope: ScopeId, name: &str) -> Option<usize> {
        let (scope, last) = self.names.enter(scope, name)?;
        self.kernel_of[scope].get(last).copied()
    }

    /// Returns the sentence about a kernel that is not there.
    pub(crate) fn no_kernel(&self, scope: ScopeId, name: &str) -> String {
        let known = self.names.enter(scope, name).map_or(scope, |(scope, _)| scope);
        let hint = suggestion(name, self.kernel_of[known].keys().map(String::as_str));
        format!("there is no kernel '{name}'{hint}")
    }
}

/// Returns which kernels `main` reaches.
fn reached(model: &Application, contents: &[KernelContents<'_>]) -> Vec<bool> {
    let mut reached = vec![false; contents.len()];
    let mut ahead: Vec<usize> = model.kernel(0, "main").into_iter().collect();
    while let Some(kernel) = ahead.pop() {
        if !std::mem::replace(&mut reached[kernel], true) {
            let scope = model.kernels[kernel].scope;
            ahead.extend(
                contents[kernel].calls.iter().filter_map(|call| model.kernel(scope, &call.name.text)),
            );
        }
    }
    reached
}

/// Returns the names that a kernel itself brings.
fn own(model: &Application, kernel: usize, contents: &KernelContents<'_>) -> Vec<String> {
    let tree = &model.kernels[kernel].tree;
    let arguments = tree.arguments.iter().map(|argument| argument.name.text.clone());
    let locals = tree.locals.iter().filter_map(|local| match local {
        Global::Param(param) => Some(param.name.text.clone()),
        _ => None,
    });
    arguments.chain(locals).chain(contents.samples.iter().cloned()).collect()
}

/// Returns the names that a kernel may see of its callers, by the model that they are in.
fn visible(model: &Application, contents: &[KernelContents<'_>]) -> Vec<BTreeSet<(ScopeId, String)>> {
    let mut visible = vec![BTreeSet::new(); contents.len()];
    let mut ahead: Vec<usize> = (0..contents.len()).collect();
    while let Some(kernel) = ahead.pop() {
        let scope = model.kernels[kernel].scope;
        let mut handed: BTreeSet<(ScopeId, String)> = visible[kernel].clone();
        handed.extend(own(model, kernel, &contents[kernel]).into_iter().map(|name| (scope, name)));
        for call in &contents[kernel].calls {
            let Some(callee) = model.kernel(scope, &call.name.text) else { continue };
            let before = visible[callee].len();
            visible[callee].extend(handed.iter().cloned());
            visible[callee].extend(call.counters.iter().map(|name| (scope, name.clone())));
            if visible[callee].len() > before {
                ahead.push(callee);
            }
        }
    }
    visible
}

/// Returns the names that a kernel knows besides those of its model.
fn known(
    model: &Application,
    kernel: usize,
    contents: &KernelContents<'_>,
    visible: &BTreeSet<(ScopeId, String)>,
) -> Vec<String> {
    let scope = model.kernels[kernel].scope;
    let mut known = own(model, kernel, contents);
    known.extend(visible.iter().filter(|(of, _)| *of == scope).map(|(_, name)| name.clone()));
    known
}

/// Returns the findings about words that stand for nothing. Compilers of C to Aspen write them
/// (`loads [n] from a as pattern(stencil4)`), and the reference looks at a trait's value only where a
/// machine's cost has it, so that they are no error before.
fn word_findings(
    model: &Application,
    scope: ScopeId,
    contents: &KernelContents<'_>,
    known: &[String],
    is_reached: bool,
    used: &mut BTreeSet<usize>,
) -> Vec<AspenError> {
    let mut found = Vec::new();
    for (word, counters) in &contents.words {
        each_name(word, &mut |name, span| {
            if is_reached {
                mark_used(&model.names, scope, name, used);
            }
            let is_known = |list: &[String]| list.iter().any(|known| known == name);
            if !is_known(known) && !is_known(counters) && model.names.find(scope, name).is_none() {
                let also = known.iter().chain(counters).map(String::as_str);
                let unknown = model.names.unknown(scope, name, span, also);
                let sentence = unknown.sentence();
                found.push(AspenError::at(
                    span,
                    format!("{sentence}; it is taken as a word, which no machine's cost can have"),
                ));
            }
        });
    }
    found
}

fn kernel_findings(
    model: &Application,
    kernel: usize,
    contents: &KernelContents<'_>,
    known: &[String],
    is_reached: bool,
    used: &mut BTreeSet<usize>,
) -> Vec<AspenError> {
    let scope = model.kernels[kernel].scope;
    let mut found = Vec::new();
    let locals = model.kernels[kernel].tree.locals.iter().filter_map(|local| match local {
        Global::Param(param) => Some((&param.value, Vec::new())),
        _ => None,
    });
    for (formula, counters) in
        contents.formulas.iter().map(|(formula, counters)| (*formula, counters.clone())).chain(locals)
    {
        found.extend(formula_findings(&model.names, scope, formula, known, &counters));
        if is_reached {
            each_name(formula, &mut |name, _| mark_used(&model.names, scope, name, used));
        }
    }
    for (name, counters) in &contents.switched {
        if !known.contains(&name.text)
            && !counters.contains(&name.text)
            && model.names.find(scope, &name.text).is_none()
        {
            found.push(model.names.unknown(scope, &name.text, name.span, known.iter().map(String::as_str)));
        }
        if is_reached {
            mark_used(&model.names, scope, &name.text, used);
        }
    }
    for call in &contents.calls {
        for argument in call.arguments.iter().filter(|argument| matches!(argument.kind, ExprKind::Name(_))) {
            each_name(argument, &mut |name, _| {
                if !model.has_data(scope, kernel, name) {
                    found.extend(formula_findings(&model.names, scope, argument, known, &call.counters));
                }
                if is_reached {
                    mark_used(&model.names, scope, name, used);
                }
            });
        }
        match model.kernel(scope, &call.name.text) {
            None => found.push(AspenError::at(call.name.span, model.no_kernel(scope, &call.name.text))),
            Some(callee) => {
                let takes = model.kernels[callee].tree.arguments.len();
                if takes != call.arguments.len() {
                    let sentence = format!(
                        "kernel '{}' takes {takes} arguments, and {} are given",
                        call.name.text,
                        call.arguments.len()
                    );
                    found.push(AspenError::at(call.name.span, sentence));
                }
            }
        }
    }
    found
}

/// Marks a parameter and all that its formula needs.
fn mark_used(names: &NameTable, scope: ScopeId, name: &str, used: &mut BTreeSet<usize>) {
    let Some(NameResolution::Parameter(first)) = names.find(scope, name) else { return };
    let mut ahead = vec![first];
    while let Some(parameter) = ahead.pop() {
        if used.insert(parameter) {
            let parameter = &names.parameters[parameter];
            each_name(&parameter.value, &mut |name, _| {
                if let Some(NameResolution::Parameter(next)) = names.find(parameter.value_scope, name) {
                    ahead.push(next);
                }
            });
        }
    }
}

fn domain_findings(names: &NameTable, scope: ScopeId, domain: Option<&Domain>) -> Vec<AspenError> {
    match domain {
        None => Vec::new(),
        Some(Domain::Range(least, most)) => {
            [least, most].into_iter().flat_map(|end| formula_findings(names, scope, end, &[], &[])).collect()
        }
        Some(Domain::Enum(name)) if names.scopes[scope].enums.contains_key(&name.text) => Vec::new(),
        Some(Domain::Enum(name)) => {
            vec![AspenError::at(name.span, format!("there is no enumeration '{}'", name.text))]
        }
    }
}

/// Returns the findings about names and functions of a formula that are not known.
fn formula_findings(
    names: &NameTable,
    scope: ScopeId,
    formula: &Expr,
    known: &[String],
    also: &[String],
) -> Vec<AspenError> {
    let mut found = Vec::new();
    each_name(formula, &mut |name, span| {
        let is_known = |list: &[String]| list.iter().any(|known| known == name);
        if !is_known(known) && !is_known(also) && names.find(scope, name).is_none() {
            found.push(names.unknown(scope, name, span, known.iter().chain(also).map(String::as_str)));
        }
    });
    each_function(formula, &mut |name, arguments, span| {
        if DRAWING.contains(&name) {
            found.push(AspenError::at(
                span,
                format!("'{name}' draws a number, which only 'sample x from {name}(...)' can do"),
            ));
        } else if let Err(sentence) = arity(name, arguments) {
            found.push(AspenError::at(span, sentence));
        }
    });
    found
}

fn each_function(formula: &Expr, see: &mut impl FnMut(&str, usize, SourceSpan)) {
    match &formula.kind {
        ExprKind::Call(name, values) => {
            see(name, values.len(), formula.span);
            values.iter().for_each(|value| each_function(value, see));
        }
        ExprKind::Number(_) | ExprKind::Unit(_) | ExprKind::Name(_) => {}
        ExprKind::Element(_, values) | ExprKind::Array(values) => {
            values.iter().for_each(|value| each_function(value, see))
        }
        ExprKind::Negative(inner) => each_function(inner, see),
        ExprKind::Binary(_, a, b) => {
            each_function(a, see);
            each_function(b, see);
        }
        ExprKind::Table(rows) => rows.iter().flatten().for_each(|value| each_function(value, see)),
    }
}

/// Kernels that call themselves whatever happens.
fn endless(model: &Application, contents: &[KernelContents<'_>], reached: &[bool]) -> Vec<AspenError> {
    let callees = |kernel: usize| -> Vec<(usize, SourceSpan)> {
        let calls = contents[kernel].calls.iter().filter(|call| call.always);
        calls
            .filter_map(|call| {
                Some((model.kernel(model.kernels[kernel].scope, &call.name.text)?, call.name.span))
            })
            .collect()
    };
    let mut state = vec![0u8; contents.len()];
    let mut found = Vec::new();
    for first in (0..contents.len()).filter(|&kernel| reached[kernel]) {
        let mut path: Vec<(usize, Vec<(usize, SourceSpan)>)> = Vec::new();
        if state[first] == 0 {
            state[first] = 1;
            path.push((first, callees(first)));
        }
        while let Some((kernel, calls)) = path.last_mut() {
            match calls.pop() {
                None => {
                    state[*kernel] = 2;
                    path.pop();
                }
                Some((callee, span)) if state[callee] == 1 => {
                    let start = path.iter().position(|&(on, _)| on == callee).unwrap_or(0);
                    let names: Vec<&str> =
                        path[start..].iter().map(|&(on, _)| model.kernels[on].full.as_str()).collect();
                    let chain = format!("{} -> {}", names.join(" -> "), names[0]);
                    found.push(AspenError::at(
                        span,
                        format!("this call never ends, because nothing decides about it: {chain}"),
                    ));
                }
                Some((callee, _)) if state[callee] == 0 => {
                    state[callee] = 1;
                    path.push((callee, callees(callee)));
                }
                Some(_) => {}
            }
        }
    }
    found
}

fn contents(body: &[KernelStatement]) -> KernelContents<'_> {
    let mut contents = KernelContents::default();
    collect(body, &mut Vec::new(), true, &mut contents);
    contents
}

fn collect<'a>(
    body: &'a [KernelStatement],
    counters: &mut Vec<String>,
    always: bool,
    into: &mut KernelContents<'a>,
) {
    for statement in body {
        match &statement.kind {
            StatementKind::Execute(execute) => {
                into.formulas.extend(execute.parallelism.iter().map(|formula| (formula, counters.clone())));
                for usage in &execute.uses {
                    let values = usage.traits.iter().filter_map(|one| one.value.as_ref());
                    let (words, values): (Vec<&Expr>, Vec<&Expr>) =
                        values.partition(|value| matches!(value.kind, ExprKind::Name(_)));
                    into.words.extend(words.into_iter().map(|word| (word, counters.clone())));
                    let formulas =
                        [Some(&usage.count), usage.size.as_ref()].into_iter().flatten().chain(values);
                    into.formulas.extend(formulas.map(|formula| (formula, counters.clone())));
                    into.data.extend(&usage.data);
                    into.findings.extend(crate::communication::CommunicationPattern::of(usage).err());
                }
            }
            StatementKind::Call(name, arguments) => {
                into.calls.push(KernelCall { name, arguments, counters: counters.clone(), always });
                // What is no formula may be the name of data.
                let formulas =
                    arguments.iter().filter(|argument| !matches!(argument.kind, ExprKind::Name(_)));
                into.formulas.extend(formulas.map(|formula| (formula, counters.clone())));
            }
            StatementKind::Sample(name, distribution) => {
                into.samples.push(name.text.clone());
                if let ExprKind::Call(function, values) = &distribution.kind {
                    let drawn = DRAWING.contains(&function.as_str());
                    let takes = if function == "cdf" { 1 } else { 2 };
                    if !drawn {
                        let sentence =
                            format!("'{function}' is no distribution: there are {}", DRAWING.join(", "));
                        into.findings.push(AspenError::at(distribution.span, sentence));
                    } else if values.len() != takes {
                        let sentence =
                            format!("'{function}' takes {takes} arguments, and {} are given", values.len());
                        into.findings.push(AspenError::at(distribution.span, sentence));
                    }
                    into.formulas.extend(values.iter().map(|formula| (formula, counters.clone())));
                }
            }
            StatementKind::Block(block) => collect(&block.body, counters, always, into),
            StatementKind::Loop(repeated) => {
                into.formulas.push((&repeated.count, counters.clone()));
                counters.extend(repeated.counter.iter().map(|counter| counter.text.clone()));
                collect(&repeated.body, counters, false, into);
                if repeated.counter.is_some() {
                    counters.pop();
                }
            }
            StatementKind::If(condition, then, otherwise) => {
                collect_condition(condition, counters, into);
                collect(then, counters, false, into);
                collect(otherwise, counters, false, into);
            }
            StatementKind::Probability(cases, otherwise) | StatementKind::Switch(_, cases, otherwise) => {
                if let StatementKind::Switch(name, ..) = &statement.kind {
                    into.switched.push((name, counters.clone()));
                }
                for case in cases {
                    into.formulas.push((&case.value, counters.clone()));
                    collect(&case.body, counters, false, into);
                }
                collect(otherwise, counters, false, into);
            }
        }
    }
}

fn collect_condition<'a>(condition: &'a Condition, counters: &[String], into: &mut KernelContents<'a>) {
    match condition {
        Condition::Compare(_, a, b) => into.formulas.extend([(a, counters.to_vec()), (b, counters.to_vec())]),
        Condition::And(a, b) | Condition::Or(a, b) => {
            let is_and = matches!(condition, Condition::And(..));
            let mixed = matches!((&**a, is_and), (Condition::And(..), false) | (Condition::Or(..), true));
            if mixed && let Condition::Compare(_, _, last) = &**b {
                let sentence =
                    "'and' and 'or' bind alike here, from left to right; nested ifs say it without doubt";
                into.findings.push(AspenError::at(last.span, sentence));
            }
            collect_condition(a, counters, into);
            collect_condition(b, counters, into);
        }
    }
}

/// Findings of a machine, all of them warnings: parts of machines are read without the names that others
/// bring, and what no model uses does no harm.
pub(crate) fn machine(machine: &mut Machine, sources: &Sources) {
    let mut found = Vec::new();
    for parameter in &machine.names.parameters {
        found.extend(formula_findings(&machine.names, 0, &parameter.value, &[], &[]));
        found.extend(domain_findings(&machine.names, 0, parameter.domain.as_ref()));
    }
    for item in machine.components.iter().flat_map(|component| &component.items) {
        let mut see = |formula: &Expr, known: &[String]| {
            found.extend(formula_findings(&machine.names, 0, formula, known, &[]))
        };
        match item {
            Item::Part { count, .. } => count.iter().for_each(|formula| see(formula, &[])),
            Item::Property(_, value) => value.iter().for_each(|formula| see(formula, &[])),
            Item::Power { watts, .. } => see(watts, &[]),
            Item::Conflict(..) => {}
            Item::Resource(resource) => {
                see(&resource.cost, std::slice::from_ref(&resource.argument.text));
                for cost in &resource.traits {
                    let argument = cost.argument.iter().map(|argument| argument.text.clone());
                    let known: Vec<String> =
                        argument.chain(["base".to_owned(), resource.argument.text.clone()]).collect();
                    see(&cost.cost, &known);
                }
            }
        }
    }
    machine.warnings.extend(found.into_iter().map(|warning| warning.located(sources)));
}
