//! Cost of a model: its needs, and how long these take.

use crate::error::{AspenError, suggestion};
use crate::evaluate::{FormulaValue, ParameterValues};
use crate::hardware::Hardware;
use crate::model::{Application, Machine};
use crate::names::{NameResolution, NameTable};
use crate::number::Number;
use crate::source::SourceSpan;
use crate::tree::{Expr, ExprKind};
use crate::usage::Usage;
use crate::walk::{ModelWalk, Structure, Traversal, Visitor};
use std::collections::HashMap;

/// Request to evaluate a model.
#[derive(Clone, Debug)]
pub struct EvaluationRequest<'a, N> {
    /// `main`, or another kernel, with arguments if it takes some: `stuff(2)`.
    pub kernel: Option<&'a Expr>,
    /// Parameters that differ from their defaults, of the application or else of the machine.
    pub parameters: &'a [(String, N)],
    /// Method of traversing loops.
    pub traversal: Traversal,
    /// Seed of all random draws.
    pub seed: u64,
}

impl<N> Default for EvaluationRequest<'_, N> {
    fn default() -> Self {
        EvaluationRequest { kernel: None, parameters: &[], traversal: Traversal::default(), seed: 1 }
    }
}

/// Amount of a resource that is used with one list of traits.
#[derive(Clone, PartialEq, Debug)]
pub struct Amount<N> {
    /// The resource.
    pub resource: String,
    /// The traits, in their order.
    pub traits: Vec<String>,
    /// Amount that is used.
    pub quantity: N,
}

/// Resources that a model needs.
#[derive(Clone, Debug)]
pub struct Evaluation<N> {
    /// Resources in the order in which they are met first.
    pub amounts: Vec<Amount<N>>,
    /// All data, in bytes.
    pub data: N,
    /// Runtime on a machine, if one is given.
    pub runtime: Option<Runtime<N>>,
}

/// Runtime and energy of a model on one kind of socket.
#[derive(Clone, Debug)]
pub struct Runtime<N> {
    /// The socket.
    pub socket: String,
    /// Until the end, in seconds.
    pub seconds: N,
    /// Energy of what works, in joules.
    pub dynamic_energy: N,
    /// Energy of the whole machine's static power, in joules.
    pub static_energy: N,
    /// Capacity of the sockets' memories, in bytes; 0 if the machine does not give it.
    pub capacity: N,
    /// Sentences about what was left out.
    pub notes: Vec<String>,
}

impl<N: Number> Evaluation<N> {
    /// Returns how much of a resource is used in all ways; `bytes` are loads and stores.
    pub fn total(&self, resource: &str) -> N {
        let fits = |amount: &&Amount<N>| {
            amount.resource == resource
                || resource == "bytes" && matches!(amount.resource.as_str(), "loads" | "stores")
        };
        self.amounts.iter().filter(fits).fold(N::zero(), |total, amount| total.plus(&amount.quantity))
    }
}

impl Application {
    /// Evaluates a kernel, on a kind of socket of a machine if there is one.
    ///
    /// # Errors
    /// A name is not known, a number is negative or none at all, a resource or socket is missing, a loop is
    /// too long to be gone through.
    pub fn evaluate<N: Number>(
        &self,
        request: &EvaluationRequest<'_, N>,
        machine: Option<(&Machine, &str)>,
    ) -> Result<Evaluation<N>, AspenError> {
        self.on_hardware(request, machine, |values, hardware| {
            let mut costs = CostVisitor {
                hardware,
                kinds: Vec::new(),
                kind_of: HashMap::new(),
                open: vec![CostScope::default()],
                comm: None,
            };
            let (kernel, arguments) = self.asked(request.kernel, values)?;
            ModelWalk::new(self, values, request.traversal, request.seed)
                .kernel(kernel, arguments, &mut costs)?;
            let CostScope { cost, .. } = costs.open.pop().unwrap_or_default();
            let mut amounts: Vec<Amount<N>> = Vec::new();
            for ((resource, traits), quantity) in costs.kinds.iter().zip(cost.amounts) {
                amounts.push(Amount { resource: resource.clone(), traits: traits.clone(), quantity });
            }
            let runtime = match hardware {
                None => None,
                Some(hardware) => {
                    let mut notes = hardware.notes();
                    notes.extend(costs.comm);
                    Some(Runtime {
                        socket: machine.map(|(_, socket)| socket.to_owned()).unwrap_or_default(),
                        static_energy: hardware.static_power()?.times(&cost.seconds),
                        seconds: cost.seconds,
                        dynamic_energy: cost.joules,
                        capacity: hardware.capacity()?,
                        notes,
                    })
                }
            };
            Ok(Evaluation { amounts, data: self.bytes(values)?, runtime })
        })
    }

    /// Calls `body` with the parameters that are asked for, on a kind of socket of a machine if there is one.
    pub(crate) fn on_hardware<N: Number, R>(
        &self,
        request: &EvaluationRequest<'_, N>,
        machine: Option<(&Machine, &str)>,
        body: impl FnOnce(&ParameterValues<'_, N>, Option<&Hardware<'_, N>>) -> Result<R, AspenError>,
    ) -> Result<R, AspenError> {
        let values = ParameterValues::new(&self.names);
        let hardware_values = machine.map(|(machine, _)| ParameterValues::new(&machine.names));
        for (name, value) in request.parameters {
            set(
                &self.names,
                &values,
                machine.map(|(machine, _)| &machine.names),
                hardware_values.as_ref(),
                name,
                value,
            )?;
        }
        let hardware = match (machine, &hardware_values) {
            (Some((machine, socket)), Some(values)) => Some(Hardware::new(machine, socket, values)?),
            _ => None,
        };
        body(&values, hardware.as_ref())
    }

    /// Goes through a kernel and shows a visitor each step.
    ///
    /// # Errors
    /// As for [`Application::evaluate`], and the visitor's own.
    pub fn visit<N: Number>(
        &self,
        request: &EvaluationRequest<'_, N>,
        visitor: &mut dyn Visitor<N>,
    ) -> Result<(), AspenError> {
        let values = ParameterValues::new(&self.names);
        for (name, value) in request.parameters {
            set(&self.names, &values, None, None, name, value)?;
        }
        let (kernel, arguments) = self.asked(request.kernel, &values)?;
        ModelWalk::new(self, &values, request.traversal, request.seed).kernel(kernel, arguments, visitor)
    }

    /// Returns the kernel that is asked for, and its arguments.
    pub(crate) fn asked<N: Number>(
        &self,
        kernel: Option<&Expr>,
        values: &ParameterValues<'_, N>,
    ) -> Result<(usize, Vec<FormulaValue<N>>), AspenError> {
        let (name, arguments) = match kernel.map(|asked| &asked.kind) {
            None => ("main", &[][..]),
            Some(ExprKind::Name(name)) => (name.as_str(), &[][..]),
            Some(ExprKind::Call(name, arguments)) => (name.as_str(), arguments.as_slice()),
            Some(_) => return Err(AspenError::new("a kernel is named as it is called: name, or name(1, 2)")),
        };
        let found = self.kernel(0, name).ok_or_else(|| AspenError::new(self.no_kernel(0, name)))?;
        let takes = &self.kernels[found].tree.arguments;
        // Data need not be given: they are only named.
        let only_data = arguments.is_empty() && takes.iter().all(|argument| argument.is_data);
        if takes.len() != arguments.len() && !only_data {
            let names: Vec<&str> = takes.iter().map(|argument| argument.name.text.as_str()).collect();
            return Err(AspenError::new(format!(
                "kernel '{name}' takes arguments: {name}({})",
                names.join(", ")
            )));
        }
        let values =
            arguments.iter().map(|argument| values.formula(0, &[], argument)).collect::<Result<_, _>>()?;
        Ok((found, values))
    }

    /// Returns the size of all data in bytes.
    fn bytes<N: Number>(&self, values: &ParameterValues<'_, N>) -> Result<N, AspenError> {
        let mut total = N::zero();
        for data in &self.data {
            total = total.plus(&self.size(data, values)?);
        }
        Ok(total)
    }

    /// Returns the size of a data structure in bytes: its formula, or the product of its shape's arguments.
    pub(crate) fn size<N: Number>(
        &self,
        data: &crate::model::DataIn,
        values: &ParameterValues<'_, N>,
    ) -> Result<N, AspenError> {
        let size = match &data.tree.size.kind {
            ExprKind::Call(_, arguments) if data.tree.is_shape => {
                let mut product = N::new(1.0);
                for argument in arguments {
                    product = product.times(&values.number(data.scope, &[], argument)?);
                }
                product
            }
            _ => values.number(data.scope, &[], &data.tree.size)?,
        };
        match size.known() {
            Some(known) if known < 0.0 => Err(AspenError::at(
                data.tree.size.span,
                format!("data of {known} bytes: a size must not be negative"),
            )),
            _ => Ok(size),
        }
    }
}

/// Gives a parameter of the application, else of the machine, a value.
fn set<N: Number>(
    names: &NameTable,
    values: &ParameterValues<'_, N>,
    machine_names: Option<&NameTable>,
    machine_values: Option<&ParameterValues<'_, N>>,
    name: &str,
    value: &N,
) -> Result<(), AspenError> {
    if let Some(NameResolution::Parameter(parameter)) = names.find(0, name) {
        values.set(parameter, value.clone());
        return Ok(());
    }
    if let (Some(names), Some(values)) = (machine_names, machine_values)
        && let Some(NameResolution::Parameter(parameter)) = names.find(0, name)
    {
        values.set(parameter, value.clone());
        return Ok(());
    }
    let all = names.parameters.iter().chain(machine_names.iter().flat_map(|names| &names.parameters));
    let hint = suggestion(name, all.map(|parameter| parameter.full.as_str()));
    Err(AspenError::new(format!("there is no parameter '{name}'{hint}")))
}

/// Cost of a part of the model.
#[derive(Clone, Debug)]
struct PartCost<N> {
    /// By kind of use.
    amounts: Vec<N>,
    seconds: N,
    joules: N,
}

impl<N: Number> PartCost<N> {
    fn add(&mut self, other: &PartCost<N>, times: Option<&N>) {
        let scaled = |value: &N| times.map_or_else(|| value.clone(), |times| times.times(value));
        if self.amounts.len() < other.amounts.len() {
            self.amounts.resize(other.amounts.len(), N::zero());
        }
        for (mine, more) in self.amounts.iter_mut().zip(&other.amounts) {
            *mine = mine.plus(&scaled(more));
        }
        self.seconds = self.seconds.plus(&scaled(&other.seconds));
        self.joules = self.joules.plus(&scaled(&other.joules));
    }
}

/// A part that is being gone through, and how often it happens.
#[derive(Clone, Debug)]
struct CostScope<N> {
    cost: PartCost<N>,
    times: Option<N>,
}

impl<N: Number> Default for CostScope<N> {
    fn default() -> Self {
        CostScope {
            cost: PartCost { amounts: Vec::new(), seconds: N::zero(), joules: N::zero() },
            times: None,
        }
    }
}

/// A resource and the traits with which it is used.
type Kind = (String, Vec<String>);

struct CostVisitor<'h, 'm, N> {
    hardware: Option<&'h Hardware<'m, N>>,
    kinds: Vec<Kind>,
    /// By the place of the use.
    kind_of: HashMap<SourceSpan, usize>,
    open: Vec<CostScope<N>>,
    /// Note about communication that the machine leaves to a network.
    comm: Option<String>,
}

impl<N: Number> CostVisitor<'_, '_, N> {
    fn kind(&mut self, usage: &Usage<'_, N>) -> usize {
        if let Some(&kind) = self.kind_of.get(&usage.tree.resource.span) {
            return kind;
        }
        let traits = usage.tree.traits.iter().map(|one| one.name.text.clone()).collect();
        let kind = (usage.tree.resource.text.clone(), traits);
        let at = self.kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        self.kind_of.insert(usage.tree.resource.span, at);
        at
    }

    /// Seconds and joules of resources that are used together; communication costs where the machine has such
    /// a resource.
    fn together(
        &mut self,
        hardware: &Hardware<'_, N>,
        parallelism: &N,
        usages: &[Usage<'_, N>],
    ) -> Result<(N, N), AspenError> {
        let mut charged = Vec::with_capacity(usages.len());
        for usage in usages {
            if usage.tree.resource.text == "comm" && !hardware.has("comm")? {
                self.comm = Some(
                    "'comm' is not in the runtime: the machine has no such resource, a simulated network does"
                        .to_owned(),
                );
            } else {
                charged.push(usage);
            }
        }
        hardware.together(parallelism, &charged)
    }
}

impl<N: Number> Visitor<N> for CostVisitor<'_, '_, N> {
    fn enter(&mut self, structure: &Structure<'_, N>) -> Result<(), AspenError> {
        let times = match structure {
            Structure::Repeat { count, .. } => Some(count.clone()),
            Structure::Weighted(weight) => Some(weight.clone()),
            _ => None,
        };
        self.open.push(CostScope { times, ..CostScope::default() });
        Ok(())
    }

    fn leave(&mut self) -> Result<(), AspenError> {
        if let Some(CostScope { cost, times }) = self.open.pop()
            && let Some(outer) = self.open.last_mut()
        {
            outer.cost.add(&cost, times.as_ref());
        }
        Ok(())
    }

    fn execute(
        &mut self,
        _: &str,
        parallelism: &N,
        usages: &[Usage<'_, N>],
        _: SourceSpan,
    ) -> Result<(), AspenError> {
        let (seconds, joules) = match self.hardware {
            Some(hardware) => self.together(hardware, parallelism, usages)?,
            None => (N::zero(), N::zero()),
        };
        let mut cost = PartCost { amounts: Vec::new(), seconds, joules };
        for usage in usages {
            let kind = self.kind(usage);
            if cost.amounts.len() <= kind {
                cost.amounts.resize(kind + 1, N::zero());
            }
            cost.amounts[kind] = cost.amounts[kind].plus(&usage.quantity.times(parallelism));
        }
        if let Some(open) = self.open.last_mut() {
            open.cost.add(&cost, None);
        }
        Ok(())
    }
}
