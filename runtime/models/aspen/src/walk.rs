//! A model gone through as if it were a program.

use crate::error::AspenError;
use crate::evaluate::{FormulaValue, LocalBinding, ParameterValues};
use crate::model::Application;
use crate::names::{ScopeId, each_name};
use crate::number::Number;
use crate::random::SplitMix64;
use crate::source::SourceSpan;
use crate::tree::{
    Alternative, Condition, Execute, Expr, ExprKind, Global, KernelStatement, Loop, Name, StatementKind,
};
use crate::usage::Usage;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Kernels within each other; more is taken to be without end.
const MAX_CALL_DEPTH: usize = 200;
/// Statements that are gone through, which takes seconds.
const MAX_STEPS: f64 = 1e7;

/// Method of traversing a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Traversal {
    /// A step that happens several times is gone through once and multiplied, unless its counter or a sample
    /// matters.
    #[default]
    Implicit,
    /// Every time.
    Explicit,
}

/// A part of the control flow that is being entered.
#[derive(Clone, Debug)]
pub enum Structure<'a, N> {
    /// A kernel, with its full name.
    Kernel(&'a str),
    /// Steps one after the other, with their label.
    Sequence(&'a str),
    /// Steps that need not wait for each other, with their label.
    Parallel(&'a str),
    /// Steps that happen several times, gone through once.
    Repeat {
        /// Number of times.
        count: N,
        /// `true` if one time need not wait for another.
        parallel: bool,
        /// The loop's label.
        label: &'a str,
    },
    /// A loop of so many times, each of which is gone through.
    Unrolled {
        /// Number of times.
        count: u64,
        /// `true` if one time need not wait for another.
        parallel: bool,
        /// The loop's label.
        label: &'a str,
    },
    /// Steps with a probability, or under a condition that stays open.
    Weighted(N),
}

/// Receiver of the events of a traversal.
pub trait Visitor<N> {
    /// Enters a part.
    ///
    /// # Errors
    /// The visitor's; the traversal ends.
    fn enter(&mut self, structure: &Structure<'_, N>) -> Result<(), AspenError>;
    /// Leaves the part that began last and has not ended.
    ///
    /// # Errors
    /// The visitor's; the traversal ends.
    fn leave(&mut self) -> Result<(), AspenError>;
    /// Resources are used together, `parallelism` times side by side.
    ///
    /// # Errors
    /// The visitor's; the traversal ends.
    fn execute(
        &mut self,
        label: &str,
        parallelism: &N,
        usages: &[Usage<'_, N>],
        span: SourceSpan,
    ) -> Result<(), AspenError>;
}

/// Goes through a model.
pub(crate) struct ModelWalk<'m, N> {
    model: &'m Application,
    values: &'m ParameterValues<'m, N>,
    traversal: Traversal,
    random: SplitMix64,
    locals: Vec<LocalBinding<N>>,
    calls: usize,
    /// Statements gone through.
    steps: f64,
    /// Names that each kernel or what it calls mentions, in its own model.
    mentions: Vec<BTreeSet<String>>,
    samples: Vec<bool>,
}

impl<'m, N: Number> ModelWalk<'m, N> {
    pub(crate) fn new(
        model: &'m Application,
        values: &'m ParameterValues<'m, N>,
        traversal: Traversal,
        seed: u64,
    ) -> ModelWalk<'m, N> {
        let (mentions, samples) = mentions(model);
        ModelWalk {
            model,
            values,
            traversal,
            random: SplitMix64::new(seed),
            locals: Vec::new(),
            calls: 0,
            steps: 0.0,
            mentions,
            samples,
        }
    }

    /// Goes through a kernel of the model itself.
    pub(crate) fn kernel(
        &mut self,
        kernel: usize,
        arguments: Vec<FormulaValue<N>>,
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        let of = &self.model.kernels[kernel];
        let (scope, tree) = (of.scope, &of.tree);
        self.calls += 1;
        if self.calls > MAX_CALL_DEPTH {
            let sentence = format!(
                "'{}' is called more than {MAX_CALL_DEPTH} calls deep: it seems to call itself without end",
                of.full
            );
            return Err(AspenError::at(tree.name.span, sentence));
        }
        let before = self.locals.len();
        for (argument, value) in tree.arguments.iter().zip(arguments) {
            if !argument.is_data {
                self.locals.push(LocalBinding { scope, name: argument.name.text.as_str().into(), value });
            }
        }
        for local in &tree.locals {
            if let Global::Param(param) = local {
                let value = self.values.formula(scope, &self.locals, &param.value)?;
                self.locals.push(LocalBinding { scope, name: param.name.text.as_str().into(), value });
            }
        }
        visitor.enter(&Structure::Kernel(&of.full))?;
        self.body(scope, &tree.body, visitor)?;
        visitor.leave()?;
        self.locals.truncate(before);
        self.calls -= 1;
        Ok(())
    }

    fn number(&self, scope: ScopeId, formula: &Expr) -> Result<N, AspenError> {
        self.values.number(scope, &self.locals, formula)
    }

    /// Returns a number that must not be negative.
    fn quantity(&self, scope: ScopeId, formula: &Expr, what: &str) -> Result<N, AspenError> {
        let number = self.number(scope, formula)?;
        match number.known() {
            Some(known) if known < 0.0 => {
                Err(AspenError::at(formula.span, format!("{what} is {known} here, and must not be negative")))
            }
            _ => Ok(number),
        }
    }

    fn body(
        &mut self,
        scope: ScopeId,
        body: &'m [KernelStatement],
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        let before = self.locals.len();
        for statement in body {
            self.steps += 1.0;
            if self.steps > MAX_STEPS {
                return Err(AspenError::at(statement.span, too_many("the model has", "")));
            }
            self.statement(scope, statement, visitor)?;
        }
        self.locals.truncate(before);
        Ok(())
    }

    fn statement(
        &mut self,
        scope: ScopeId,
        statement: &'m KernelStatement,
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        match &statement.kind {
            StatementKind::Execute(execute) => self.execute(scope, execute, statement.span, visitor),
            StatementKind::Call(name, arguments) => self.call(scope, name, arguments, visitor),
            StatementKind::Sample(name, distribution) => self.sample(scope, name, distribution),
            StatementKind::Block(block) => {
                visitor.enter(&if block.parallel {
                    Structure::Parallel(&block.label)
                } else {
                    Structure::Sequence(&block.label)
                })?;
                self.body(scope, &block.body, visitor)?;
                visitor.leave()
            }
            StatementKind::Loop(repeated) => self.repeat(scope, repeated, visitor),
            StatementKind::If(condition, then, otherwise) => {
                self.branch(scope, condition, then, otherwise, visitor)
            }
            StatementKind::Probability(cases, otherwise) => {
                self.chance(scope, cases, otherwise, statement.span, visitor)
            }
            StatementKind::Switch(name, cases, otherwise) => {
                self.switch(scope, name, cases, otherwise, visitor)
            }
        }
    }

    fn execute(
        &mut self,
        scope: ScopeId,
        execute: &'m Execute,
        span: SourceSpan,
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        let parallelism = match &execute.parallelism {
            Some(formula) => self.quantity(scope, formula, "the parallelism")?,
            None => N::new(1.0),
        };
        let mut usages = Vec::with_capacity(execute.uses.len());
        for tree in &execute.uses {
            let count = self.quantity(scope, &tree.count, "the amount")?;
            let size = tree.size.as_ref().map(|size| self.quantity(scope, size, "the size")).transpose()?;
            let quantity = size.as_ref().map_or_else(|| count.clone(), |size| count.times(size));
            let value = |one: &crate::tree::Trait| {
                one.value.as_ref().map(|value| self.values.worth(scope, &self.locals, value)).transpose()
            };
            let traits = tree.traits.iter().map(|one| Ok(value(one)?.flatten())).collect::<Result<_, _>>()?;
            usages.push(Usage { tree, quantity, count, size, traits });
        }
        visitor.execute(&execute.label, &parallelism, &usages, span)
    }

    fn call(
        &mut self,
        scope: ScopeId,
        name: &'m Name,
        arguments: &'m [Expr],
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        let Some(kernel) = self.model.kernel(scope, &name.text) else {
            return Err(AspenError::at(name.span, self.model.no_kernel(scope, &name.text)));
        };
        let takes = &self.model.kernels[kernel].tree.arguments;
        if takes.len() != arguments.len() {
            let sentence = format!(
                "kernel '{}' takes {} arguments, and {} are given",
                name.text,
                takes.len(),
                arguments.len()
            );
            return Err(AspenError::at(name.span, sentence));
        }
        let mut values = Vec::with_capacity(arguments.len());
        for (argument, formula) in takes.iter().zip(arguments) {
            // Data are named, not computed.
            let value = if argument.is_data {
                FormulaValue::Number(N::zero())
            } else {
                self.values.formula(scope, &self.locals, formula)?
            };
            values.push(value);
        }
        self.kernel(kernel, values, visitor)
    }

    fn sample(&mut self, scope: ScopeId, name: &'m Name, distribution: &'m Expr) -> Result<(), AspenError> {
        let ExprKind::Call(function, arguments) = &distribution.kind else { return Ok(()) };
        let values: Vec<FormulaValue<N>> = arguments
            .iter()
            .map(|argument| self.values.formula(scope, &self.locals, argument))
            .collect::<Result<_, _>>()?;
        let known = |value: &FormulaValue<N>| match value {
            FormulaValue::Number(number) => number.known().map(|number| vec![number]),
            FormulaValue::Array(values) => values.iter().map(N::known).collect(),
            FormulaValue::Table(_) => None,
        };
        let known: Option<Vec<Vec<f64>>> = values.iter().map(known).collect();
        let known = known.ok_or_else(|| {
            AspenError::at(distribution.span, "what is drawn from must be known, so it cannot stay open")
        })?;
        let drawn = match (function.as_str(), known.as_slice()) {
            ("uniform", [low, high]) => low[0] + (high[0] - low[0]) * self.random.unit(),
            ("normal", [mean, deviation]) => mean[0] + deviation[0] * self.random.normal(),
            ("cdf", [steps]) => {
                let at = self.random.unit();
                // Beyond the last step lies what rounding leaves of it.
                steps.iter().position(|&step| at <= step).unwrap_or(steps.len().saturating_sub(1)) as f64
            }
            _ => {
                return Err(AspenError::at(
                    distribution.span,
                    "the distributions are uniform(a, b), normal(mean, deviation) and cdf(array)",
                ));
            }
        };
        self.locals.push(LocalBinding {
            scope,
            name: name.text.as_str().into(),
            value: FormulaValue::Number(N::new(drawn)),
        });
        Ok(())
    }

    fn repeat(
        &mut self,
        scope: ScopeId,
        repeated: &'m Loop,
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        let Loop { parallel, label, .. } = repeated;
        let count = self.quantity(scope, &repeated.count, "the number of times")?;
        let counter = repeated.counter.as_ref();
        let counts = counter.is_some_and(|counter| self.mentions_name(scope, &repeated.body, &counter.text));
        let draws = self.draws(scope, &repeated.body);
        if self.traversal == Traversal::Implicit && !counts && !draws {
            visitor.enter(&Structure::Repeat { count, parallel: *parallel, label })?;
            self.body(scope, &repeated.body, visitor)?;
            return visitor.leave();
        }
        let Some(known) = count.known().map(f64::ceil) else {
            let why = if draws { "a number is drawn in it each time" } else { "its counter is used" };
            return Err(AspenError::at(
                repeated.count.span,
                format!("how often this happens must be known, because {why}"),
            ));
        };
        if self.steps + known > MAX_STEPS {
            let advice = match (counts, draws) {
                (false, false) => "; leave --explicit away and what is the same each time is multiplied",
                (true, _) => "; its counter is used, so each time differs: a smaller number helps (--param)",
                (false, true) => "; a number is drawn each time: a smaller number helps (--param)",
            };
            return Err(AspenError::at(
                repeated.count.span,
                too_many(&format!("this loop goes {known} times through"), advice),
            ));
        }
        visitor.enter(&Structure::Unrolled { count: known as u64, parallel: *parallel, label })?;
        let counter: Option<Rc<str>> = counter.map(|counter| counter.text.as_str().into());
        for time in 0..known as u64 {
            self.steps += 1.0;
            if let Some(name) = &counter {
                self.locals.push(LocalBinding {
                    scope,
                    name: Rc::clone(name),
                    value: FormulaValue::Number(N::new(time as f64)),
                });
            }
            self.body(scope, &repeated.body, visitor)?;
            if counter.is_some() {
                self.locals.pop();
            }
        }
        visitor.leave()
    }

    fn branch(
        &mut self,
        scope: ScopeId,
        condition: &'m Condition,
        then: &'m [KernelStatement],
        otherwise: &'m [KernelStatement],
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        let holds = self.values.condition(scope, &self.locals, condition)?;
        match holds.known() {
            Some(known) => self.body(scope, if known == 0.0 { otherwise } else { then }, visitor),
            None => {
                self.weighted(scope, &holds, then, visitor)?;
                self.weighted(scope, &N::new(1.0).minus(&holds), otherwise, visitor)
            }
        }
    }

    fn weighted(
        &mut self,
        scope: ScopeId,
        weight: &N,
        body: &'m [KernelStatement],
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        visitor.enter(&Structure::Weighted(weight.clone()))?;
        self.body(scope, body, visitor)?;
        visitor.leave()
    }

    fn chance(
        &mut self,
        scope: ScopeId,
        cases: &'m [Alternative],
        otherwise: &'m [KernelStatement],
        span: SourceSpan,
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        let mut left = N::new(1.0);
        let mut weights = Vec::with_capacity(cases.len());
        for case in cases {
            let weight = self.quantity(scope, &case.value, "the probability")?;
            left = left.minus(&weight);
            if let Some(known) = left.known()
                && known < -1e-9
            {
                return Err(AspenError::at(
                    case.value.span,
                    format!("the probabilities up to here are {}, more than 1", 1.0 - known),
                ));
            }
            weights.push(weight);
        }
        let known: Option<Vec<f64>> = weights.iter().map(N::known).collect();
        if self.traversal == Traversal::Explicit {
            let known = known.ok_or_else(|| {
                AspenError::at(span, "the probabilities must be known where each time is gone through")
            })?;
            let mut rest = self.random.unit();
            for (case, weight) in cases.iter().zip(known) {
                if rest <= weight {
                    return self.body(scope, &case.body, visitor);
                }
                rest -= weight;
            }
            return self.body(scope, otherwise, visitor);
        }
        for (case, weight) in cases.iter().zip(&weights) {
            self.weighted(scope, weight, &case.body, visitor)?;
        }
        if otherwise.is_empty() { Ok(()) } else { self.weighted(scope, &left, otherwise, visitor) }
    }

    fn switch(
        &mut self,
        scope: ScopeId,
        name: &'m Name,
        cases: &'m [Alternative],
        otherwise: &'m [KernelStatement],
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        let value = self.number(scope, &Expr { kind: ExprKind::Name(name.text.clone()), span: name.span })?;
        let mut left = N::new(1.0);
        for case in cases {
            let equal = N::compare(crate::tree::Relation::Equal, &value, &self.number(scope, &case.value)?);
            match equal.known() {
                Some(known) if known != 0.0 && left.known().is_some() => {
                    return self.body(scope, &case.body, visitor);
                }
                Some(0.0) => {}
                _ => {
                    self.weighted(scope, &left.times(&equal), &case.body, visitor)?;
                    left = left.times(&N::new(1.0).minus(&equal));
                }
            }
        }
        match left.known() {
            Some(_) => self.body(scope, otherwise, visitor),
            None => self.weighted(scope, &left, otherwise, visitor),
        }
    }

    /// Returns `true` if statements, or what they call, name `name`.
    fn mentions_name(&self, scope: ScopeId, body: &[KernelStatement], name: &str) -> bool {
        let mut found = false;
        mentioned(body, &mut |other| found |= other == name, &mut |_| {});
        found
            || self.any_callee(scope, body, &|kernel| {
                self.model.kernels[kernel].scope == scope && self.mentions[kernel].contains(name)
            })
    }

    /// Returns `true` if statements, or what they call, draw a number.
    fn draws(&self, scope: ScopeId, body: &[KernelStatement]) -> bool {
        draws(body) || self.any_callee(scope, body, &|kernel| self.samples[kernel])
    }

    fn any_callee(&self, scope: ScopeId, body: &[KernelStatement], fits: &dyn Fn(usize) -> bool) -> bool {
        let mut found = false;
        mentioned(body, &mut |_| {}, &mut |callee| {
            found |= self.model.kernel(scope, callee).is_some_and(fits)
        });
        found
    }
}

fn too_many(what: &str, advice: &str) -> String {
    format!("{what} more steps than can be gone through one by one ({MAX_STEPS}){advice}")
}

/// Returns the names that each kernel or what it calls mentions, and whether it or what it calls draws a
/// number.
fn mentions(model: &Application) -> (Vec<BTreeSet<String>>, Vec<bool>) {
    let mut names: Vec<BTreeSet<String>> = Vec::new();
    let mut samples: Vec<bool> = Vec::new();
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); model.kernels.len()];
    for (at, kernel) in model.kernels.iter().enumerate() {
        let mut own = BTreeSet::new();
        mentioned(
            &kernel.tree.body,
            &mut |name| {
                own.insert(name.to_owned());
            },
            &mut |callee| {
                if let Some(callee) = model.kernel(kernel.scope, callee) {
                    callers[callee].push(at);
                }
            },
        );
        for local in &kernel.tree.locals {
            if let Global::Param(param) = local {
                each_name(&param.value, &mut |name, _| {
                    own.insert(name.to_owned());
                });
            }
        }
        names.push(own);
        samples.push(draws(&kernel.tree.body));
    }
    let mut ahead: Vec<usize> = (0..names.len()).collect();
    while let Some(callee) = ahead.pop() {
        for &caller in &callers[callee] {
            let before = (names[caller].len(), samples[caller]);
            if model.kernels[caller].scope == model.kernels[callee].scope {
                let more = names[callee].clone();
                names[caller].extend(more);
            }
            samples[caller] |= samples[callee];
            if before != (names[caller].len(), samples[caller]) {
                ahead.push(caller);
            }
        }
    }
    (names, samples)
}

fn draws(body: &[KernelStatement]) -> bool {
    body.iter().any(|statement| match &statement.kind {
        StatementKind::Sample(..) => true,
        StatementKind::Execute(_) | StatementKind::Call(..) => false,
        StatementKind::Block(block) => draws(&block.body),
        StatementKind::Loop(repeated) => draws(&repeated.body),
        StatementKind::If(_, then, otherwise) => draws(then) || draws(otherwise),
        StatementKind::Probability(cases, otherwise) | StatementKind::Switch(_, cases, otherwise) => {
            cases.iter().any(|case| draws(&case.body)) || draws(otherwise)
        }
    })
}

/// Shows each name in the formulas of statements, and each kernel that they call.
fn mentioned(body: &[KernelStatement], name: &mut dyn FnMut(&str), kernel: &mut dyn FnMut(&str)) {
    fn condition(of: &Condition, name: &mut dyn FnMut(&str)) {
        match of {
            Condition::Compare(_, a, b) => {
                [a, b].into_iter().for_each(|formula| each_name(formula, &mut |text, _| name(text)))
            }
            Condition::And(a, b) | Condition::Or(a, b) => {
                [a, b].into_iter().for_each(|inner| condition(inner, name))
            }
        }
    }
    for statement in body {
        let mut see = |formula: &Expr| each_name(formula, &mut |text, _| name(text));
        match &statement.kind {
            StatementKind::Execute(execute) => {
                execute.parallelism.iter().for_each(&mut see);
                for usage in &execute.uses {
                    see(&usage.count);
                    usage.size.iter().for_each(&mut see);
                    usage.traits.iter().filter_map(|one| one.value.as_ref()).for_each(&mut see);
                }
            }
            StatementKind::Call(callee, arguments) => {
                arguments.iter().for_each(&mut see);
                kernel(&callee.text);
            }
            StatementKind::Sample(_, distribution) => see(distribution),
            StatementKind::Block(block) => mentioned(&block.body, name, kernel),
            StatementKind::Loop(repeated) => {
                see(&repeated.count);
                mentioned(&repeated.body, name, kernel);
            }
            StatementKind::If(of, then, otherwise) => {
                condition(of, name);
                mentioned(then, name, kernel);
                mentioned(otherwise, name, kernel);
            }
            StatementKind::Probability(cases, otherwise) | StatementKind::Switch(_, cases, otherwise) => {
                if let StatementKind::Switch(value, ..) = &statement.kind {
                    name(&value.text);
                }
                for case in cases {
                    each_name(&case.value, &mut |text, _| name(text));
                    mentioned(&case.body, name, kernel);
                }
                mentioned(otherwise, name, kernel);
            }
        }
    }
}
