//! Contents of a model, as text.

use crate::cost::EvaluationRequest;
use crate::error::AspenError;
use crate::evaluate::{FormulaValue, LocalBinding, ParameterValues};
use crate::formula::Plain;
use crate::model::{Application, Machine};
use crate::source::SourceSpan;
use crate::tree::{Expr, Global, Item};
use crate::usage::Usage;
use crate::walk::{Structure, Visitor};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The control flow's tree ends after so many lines.
const MAX_LINES: usize = 2000;
/// Arrays are shown up to this length.
const MAX_SHOWN_VALUES: usize = 8;

impl Application {
    /// Parameters with their values, data with their sizes, and kernels.
    pub fn outline(&self) -> String {
        let values: ParameterValues<'_, f64> = ParameterValues::new(&self.names);
        let mut text = format!("model {}\n", self.name);
        let imported: Vec<&str> =
            self.names.scopes.iter().skip(1).map(|scope| scope.prefix.trim_end_matches('.')).collect();
        if !imported.is_empty() {
            let _ = writeln!(text, "imports {}", imported.join(", "));
        }
        parameters(&mut text, &self.names, &values);
        if !self.data.is_empty() {
            let rows = self.data.iter().map(|data| {
                let size = self.size(data, &values).map_or_else(
                    |why| format!("? ({})", why.sentence()),
                    |size| format!("{} bytes", Plain(size)),
                );
                (data.full.clone(), size)
            });
            table(&mut text, "data", rows.collect());
        }
        let kernels = self.kernels.iter().map(|kernel| {
            let argument = |argument: &crate::tree::ArgumentName| {
                let kind = if argument.is_data { "data" } else { "param" };
                format!("{kind} {}", argument.name.text)
            };
            let locals = kernel.tree.locals.iter().filter(|local| matches!(local, Global::Param(_))).count();
            let of_its_own =
                if locals == 0 { String::new() } else { format!("{locals} parameters of its own") };
            (
                format!(
                    "{}({})",
                    kernel.full,
                    kernel.tree.arguments.iter().map(argument).collect::<Vec<_>>().join(", ")
                ),
                of_its_own,
            )
        });
        table(&mut text, "kernels", kernels.collect());
        text
    }

    /// Returns the control flow of a kernel as a tree, with numbers for formulas.
    ///
    /// # Errors
    /// As for [`Application::evaluate`].
    pub fn tree(&self, request: &EvaluationRequest<'_, f64>) -> Result<String, AspenError> {
        let mut tree = OutlineText { text: String::new(), depth: 0, lines: 0 };
        self.visit(request, &mut tree)?;
        if tree.lines > MAX_LINES {
            let _ = writeln!(tree.text, "... and {} lines more", tree.lines - MAX_LINES);
        }
        Ok(tree.text)
    }
}

/// Appends a heading and rows of two columns.
fn table(text: &mut String, heading: &str, rows: Vec<(String, String)>) {
    let width =
        rows.iter().map(|(name, _)| name.chars().count()).filter(|&width| width < 50).max().unwrap_or(0);
    let _ = writeln!(text, "{heading}:");
    for (name, value) in rows {
        let _ = writeln!(text, "  {}", format!("{name:width$}  {value}").trim_end());
    }
}

fn parameters(text: &mut String, names: &crate::names::NameTable, values: &ParameterValues<'_, f64>) {
    let rows = names.parameters.iter().enumerate().map(|(at, parameter)| {
        let mut shown = match values.parameter(at) {
            Ok(FormulaValue::Number(value)) => Plain(value).to_string(),
            Ok(FormulaValue::Array(values)) => shown_array(&values),
            Ok(FormulaValue::Table(rows)) => format!("table of {} rows", rows.len()),
            Err(why) => format!("? ({})", why.sentence()),
        };
        if let Ok(Some((least, most))) = values.range(at) {
            let _ = write!(shown, "  in {} .. {}", Plain(least), Plain(most));
        }
        if let Some(crate::tree::Domain::Enum(name)) = &parameter.domain
            && let Some(all) = names.scopes[parameter.scope].enums.get(&name.text)
        {
            let _ = write!(shown, "  in {} ({})", name.text, all.join(", "));
        }
        (parameter.full.clone(), shown)
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        table(text, "parameters", rows);
    }
}

fn shown_array(values: &[f64]) -> String {
    let shown: Vec<String> =
        values.iter().take(MAX_SHOWN_VALUES).map(|value| Plain(*value).to_string()).collect();
    let more = if values.len() > MAX_SHOWN_VALUES {
        format!(", ... ({} values)", values.len())
    } else {
        String::new()
    };
    format!("{{{}{more}}}", shown.join(", "))
}

struct OutlineText {
    text: String,
    depth: usize,
    lines: usize,
}

impl OutlineText {
    fn line(&mut self, line: &str) {
        self.lines += 1;
        if self.lines <= MAX_LINES {
            let _ = writeln!(self.text, "{:1$}{line}", "", self.depth * 2);
        }
    }
}

fn labelled(word: String, label: &str) -> String {
    if label.is_empty() { word } else { format!("{word} \"{label}\"") }
}

impl Visitor<f64> for OutlineText {
    fn enter(&mut self, structure: &Structure<'_, f64>) -> Result<(), AspenError> {
        let word = |parallel: bool| if parallel { "map" } else { "iterate" };
        let line = match structure {
            Structure::Kernel(name) => format!("kernel {name}"),
            Structure::Sequence(label) => labelled("seq".to_owned(), label),
            Structure::Parallel(label) => labelled("par".to_owned(), label),
            Structure::Repeat { count, parallel, label } => {
                labelled(format!("{} [{}]", word(*parallel), Plain(*count)), label)
            }
            Structure::Unrolled { count, parallel, label } => {
                labelled(format!("{} [{count}], one by one", word(*parallel)), label)
            }
            Structure::Weighted(weight) => format!("probability [{}]", Plain(*weight)),
        };
        self.line(&line);
        self.depth += 1;
        Ok(())
    }

    fn leave(&mut self) -> Result<(), AspenError> {
        self.depth -= 1;
        Ok(())
    }

    fn execute(
        &mut self,
        label: &str,
        parallelism: &f64,
        usages: &[Usage<'_, f64>],
        _: SourceSpan,
    ) -> Result<(), AspenError> {
        let head = if *parallelism == 1.0 {
            "execute".to_owned()
        } else {
            format!("execute [{}]", Plain(*parallelism))
        };
        let usage = |usage: &Usage<'_, f64>| {
            let traits: Vec<&str> = usage.tree.traits.iter().map(|one| one.name.text.as_str()).collect();
            let traits = if traits.is_empty() { String::new() } else { format!(" as {}", traits.join(", ")) };
            format!("{} [{}]{traits}", usage.tree.resource.text, Plain(usage.quantity))
        };
        let usages: Vec<String> = usages.iter().map(usage).collect();
        self.line(&format!("{}: {}", labelled(head, label), usages.join("; ")));
        Ok(())
    }
}

impl Machine {
    /// Parameters with their values, and components with what they can do.
    pub fn outline(&self) -> String {
        let values: ParameterValues<'_, f64> = ParameterValues::new(&self.names);
        let mut text = String::new();
        match self.root {
            Some(root) => {
                let _ = writeln!(text, "machine {}", self.components[root].name.text);
                self.component(&mut text, root, None, 1, &values, &mut BTreeSet::new());
            }
            None => {
                text.push_str("parts of machines, no machine\n");
                for at in 0..self.components.len() {
                    let component = &self.components[at];
                    let _ = writeln!(text, "  {} {}", component.kind.text, component.name.text);
                    self.abilities(&mut text, at, 2);
                }
            }
        }
        parameters(&mut text, &self.names, &values);
        text
    }

    /// Appends a component with its abilities and its parts. A component shown before is only named.
    fn component(
        &self,
        text: &mut String,
        at: usize,
        count: Option<String>,
        depth: usize,
        values: &ParameterValues<'_, f64>,
        shown: &mut BTreeSet<usize>,
    ) {
        let component = &self.components[at];
        if let Some(count) = count {
            let _ = writeln!(
                text,
                "{:1$}{count}{2} {3}",
                "",
                (depth - 1) * 2,
                component.kind.text,
                component.name.text
            );
        }
        if !shown.insert(at) {
            return;
        }
        self.abilities(text, at, depth);
        for (part, count) in self.parts(at) {
            let count = match count.map(|formula| values.number(0, &[], formula)) {
                None => String::new(),
                Some(Ok(count)) => format!("{} x ", Plain(count)),
                Some(Err(_)) => "? x ".to_owned(),
            };
            self.component(text, part, Some(count), depth + 1, values, shown);
        }
    }

    fn abilities(&self, text: &mut String, at: usize, depth: usize) {
        for item in &self.components[at].items {
            let line = match item {
                Item::Resource(resource) => {
                    let traits: Vec<&str> =
                        resource.traits.iter().map(|one| one.name.text.as_str()).collect();
                    let with = if traits.is_empty() {
                        String::new()
                    } else {
                        format!(" with {}", traits.join(", "))
                    };
                    format!("resource {}{with}", resource.name.text)
                }
                Item::Conflict(a, b) => format!("conflict {}, {}", a.text, b.text),
                Item::Power { dynamic, .. } => {
                    format!("{} power", if *dynamic { "dynamic" } else { "static" })
                }
                Item::Property(name, _) => format!("property {}", name.text),
                Item::Part { .. } => continue,
            };
            let _ = writeln!(text, "{:1$}{line}", "", depth * 2);
        }
    }
}

/// Returns the value of a formula without names, such as `2*kilo`.
///
/// # Errors
/// It is no formula, or names something.
pub fn constant(sources: &mut crate::Sources, text: &str) -> Result<f64, AspenError> {
    let id = sources.add("the command line", text);
    let formula = crate::parse_formula(sources, id)?;
    value(sources, &formula, &[])
}

/// Returns the value of a formula where names stand for these numbers, and no others for anything.
///
/// # Errors
/// It names something else, or has no value there.
pub fn value(sources: &crate::Sources, formula: &Expr, names: &[(&str, f64)]) -> Result<f64, AspenError> {
    let mut none = crate::names::NameTable::default();
    none.add_scope(String::new());
    let local = |&(name, value): &(&str, f64)| LocalBinding {
        scope: 0,
        name: name.into(),
        value: FormulaValue::Number(value),
    };
    let locals: Vec<LocalBinding<f64>> = names.iter().map(local).collect();
    let values: ParameterValues<'_, f64> = ParameterValues::new(&none);
    values.number(0, &locals, formula).map_err(|error| error.located(sources))
}
