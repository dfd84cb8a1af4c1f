//! Cost of resources on one kind of socket of a machine.
//!
//! As in the reference implementation: the machine's parts are gone through from the machine down, without
//! sockets of other kinds. The first component that has a resource serves it, and there are as many of it as
//! the counts on the way multiply to.

use crate::error::{AspenError, suggestion};
use crate::evaluate::{FormulaValue, LocalBinding, ParameterValues};
use crate::model::Machine;
use crate::number::Number;
use crate::source::SourceSpan;
use crate::tree::{Expr, Item, Resource};
use crate::usage::Usage;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// One kind of socket of a machine.
pub(crate) struct Hardware<'m, N> {
    machine: &'m Machine,
    root: usize,
    socket: Box<str>,
    values: &'m ParameterValues<'m, N>,
    served: RefCell<HashMap<String, Option<Served<'m, N>>>>,
    conflicts: BTreeSet<(&'m str, &'m str)>,
    notes: RefCell<BTreeSet<String>>,
}

/// A resource, with the components that serve it.
#[derive(Clone)]
struct Served<'m, N> {
    resource: &'m Resource,
    /// Number of components that serve it.
    units: N,
    /// Dynamic power of one, in watts.
    watts: Option<N>,
}

/// A use of a resource, with its costs.
pub(crate) struct Charge<N> {
    /// Seconds until all parallel uses are done.
    pub seconds: N,
    /// Dynamic energy of all parallel uses.
    pub joules: N,
}

impl Machine {
    /// Returns the parts of a component for a kind of socket, with their counts: sockets of other kinds are
    /// left out.
    fn parts_for<'m>(
        &'m self,
        component: usize,
        socket: Option<&'m str>,
    ) -> impl Iterator<Item = (usize, Option<&'m Expr>)> {
        self.parts(component).filter(move |&(part, _)| {
            let part = &self.components[part];
            part.kind.text != "socket" || socket.is_none_or(|socket| part.name.text == socket)
        })
    }
}

impl<'m, N: Number> Hardware<'m, N> {
    pub(crate) fn new(
        machine: &'m Machine,
        socket: &str,
        values: &'m ParameterValues<'m, N>,
    ) -> Result<Hardware<'m, N>, AspenError> {
        let Some(root) = machine.root else {
            return Err(AspenError::new(
                "the machine's file has parts of machines only, and no component of the kind 'machine'",
            ));
        };
        let sockets = machine.sockets();
        if !sockets.contains(&socket) {
            let hint = suggestion(socket, sockets.iter().copied());
            return Err(AspenError::new(format!(
                "the machine has no socket '{socket}'{hint} (it has {})",
                sockets.join(", ")
            )));
        }
        let mut hardware = Hardware {
            machine,
            root,
            socket: socket.into(),
            values,
            served: RefCell::default(),
            conflicts: BTreeSet::new(),
            notes: RefCell::default(),
        };
        let mut reached = BTreeSet::new();
        hardware.reach(root, &mut reached);
        for item in reached.iter().flat_map(|&at| &machine.components[at].items) {
            if let Item::Conflict(a, b) = item {
                hardware
                    .conflicts
                    .extend([(a.text.as_str(), b.text.as_str()), (b.text.as_str(), a.text.as_str())]);
            }
        }
        Ok(hardware)
    }

    /// Returns another kind of socket of the machine.
    pub(crate) fn beside(&self, socket: &str) -> Result<Hardware<'m, N>, AspenError> {
        Hardware::new(self.machine, socket, self.values)
    }

    fn reach(&self, component: usize, reached: &mut BTreeSet<usize>) {
        if reached.insert(component) {
            self.machine
                .parts_for(component, Some(&self.socket))
                .for_each(|(part, _)| self.reach(part, reached));
        }
    }

    /// Returns what was left out, in sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.borrow().iter().cloned().collect()
    }

    fn count(&self, count: Option<&Expr>) -> Result<N, AspenError> {
        let Some(formula) = count else { return Ok(N::new(1.0)) };
        let number = self.values.number(0, &[], formula)?;
        match number.known() {
            Some(known) if known <= 0.0 => Err(AspenError::at(
                formula.span,
                format!("there are {known} of these, and there must be some"),
            )),
            _ => Ok(number),
        }
    }

    /// Returns the first component that has a resource, and how many there are.
    fn find(
        &self,
        component: usize,
        resource: &str,
        without: &mut BTreeSet<usize>,
    ) -> Result<Option<(usize, N)>, AspenError> {
        let has = |item: &Item| matches!(item, Item::Resource(one) if one.name.text == resource);
        if self.machine.components[component].items.iter().any(has) {
            return Ok(Some((component, N::new(1.0))));
        }
        for (part, count) in self.machine.parts_for(component, Some(&self.socket)) {
            if without.contains(&part) {
                continue;
            }
            if let Some((found, units)) = self.find(part, resource, without)? {
                return Ok(Some((found, units.times(&self.count(count)?))));
            }
            without.insert(part);
        }
        Ok(None)
    }

    fn served(&self, name: &str) -> Result<Option<Served<'m, N>>, AspenError> {
        if let Some(known) = self.served.borrow().get(name) {
            return Ok(known.clone());
        }
        let served = match self.find(self.root, name, &mut BTreeSet::new())? {
            None => None,
            Some((component, units)) => {
                let items = &self.machine.components[component].items;
                let found = items.iter().find_map(|item| match item {
                    Item::Resource(resource) if resource.name.text == name => Some(resource),
                    _ => None,
                });
                found.map(|resource| Served { resource, units, watts: self.dynamic(component) })
            }
        };
        self.served.borrow_mut().insert(name.to_owned(), served.clone());
        Ok(served)
    }

    /// Returns the dynamic power of one component. A formula that names what only a resource knows has no
    /// meaning as power, and is left out.
    fn dynamic(&self, component: usize) -> Option<N> {
        let component = &self.machine.components[component];
        let watts = component.items.iter().filter_map(|item| match item {
            Item::Power { dynamic: true, watts } => Some(watts),
            _ => None,
        });
        let mut total: Option<N> = None;
        for formula in watts {
            match self.values.number(0, &[], formula) {
                Ok(one) => total = Some(total.map_or_else(|| one.clone(), |total| total.plus(&one))),
                Err(why) => {
                    let (kind, name) = (&component.kind.text, &component.name.text);
                    self.notes.borrow_mut().insert(format!(
                        "the dynamic power of {kind} '{name}' is left out: {}",
                        why.sentence()
                    ));
                }
            }
        }
        total
    }

    /// Returns `true` if the machine has a resource for this socket.
    pub(crate) fn has(&self, resource: &str) -> Result<bool, AspenError> {
        Ok(self.served(resource)?.is_some())
    }

    /// Resources that the machine has for this socket.
    fn resources(&self) -> Vec<&str> {
        let mut reached = BTreeSet::new();
        self.reach(self.root, &mut reached);
        let items = reached.iter().flat_map(|&at| &self.machine.components[at].items);
        let names: BTreeSet<&str> = items
            .filter_map(|item| match item {
                Item::Resource(resource) => Some(resource.name.text.as_str()),
                _ => None,
            })
            .collect();
        names.into_iter().collect()
    }

    /// Returns what a use costs when `parallelism` of them happen side by side.
    pub(crate) fn charge(&self, usage: &Usage<'_, N>, parallelism: &N) -> Result<Charge<N>, AspenError> {
        let name = &usage.tree.resource;
        let Some(served) = self.served(&name.text)? else {
            let known = self.resources();
            let hint = suggestion(&name.text, known.iter().copied());
            let machine = &self.machine.components[self.root].name.text;
            let sentence = format!(
                "the machine '{machine}' has no resource '{}' for socket '{}'{hint} (it has {})",
                name.text,
                self.socket,
                known.join(", ")
            );
            return Err(AspenError::at(name.span, sentence));
        };
        let alone = self.alone(served.resource, usage)?;
        let rounds = N::apply(crate::number::Function::Ceil, &[parallelism.over(&served.units)]);
        let busy = alone.times(parallelism);
        let joules = served.watts.map_or_else(N::zero, |watts| watts.times(&busy));
        Ok(Charge { seconds: rounds.times(&alone), joules })
    }

    /// Seconds and joules of resources that are used together: those in conflict one after the other, the
    /// others at a time.
    pub(crate) fn together(&self, parallelism: &N, usages: &[&Usage<'_, N>]) -> Result<(N, N), AspenError> {
        let mut by_resource: Vec<(&str, N)> = Vec::new();
        let mut joules = N::zero();
        for usage in usages {
            let name = usage.tree.resource.text.as_str();
            let charge = self.charge(usage, parallelism)?;
            joules = joules.plus(&charge.joules);
            match by_resource.iter_mut().find(|(known, _)| *known == name) {
                Some((_, seconds)) => *seconds = seconds.plus(&charge.seconds),
                None => by_resource.push((name, charge.seconds)),
            }
        }
        let mut groups: Vec<N> = Vec::new();
        while let Some(first) = by_resource.pop() {
            let mut group = vec![first];
            // Whoever conflicts with one of the group belongs to it.
            while let Some(at) = by_resource
                .iter()
                .position(|(name, _)| group.iter().any(|(other, _)| self.conflict(name, other)))
            {
                group.push(by_resource.swap_remove(at));
            }
            groups.push(group.iter().fold(N::zero(), |sum, (_, seconds)| sum.plus(seconds)));
        }
        let seconds = match groups.len() {
            0 => N::zero(),
            1 => groups.swap_remove(0),
            _ => N::apply(crate::number::Function::Max, &groups),
        };
        Ok((seconds, joules))
    }

    /// Seconds of one use by itself.
    fn alone(&self, resource: &Resource, usage: &Usage<'_, N>) -> Result<N, AspenError> {
        let bound = |name: &str, value: &N| LocalBinding {
            scope: 0,
            name: name.into(),
            value: FormulaValue::Number(value.clone()),
        };
        let mut locals = vec![bound(&resource.argument.text, &usage.quantity)];
        let mut seconds = self.seconds(&locals, &resource.cost, usage.tree.resource.span)?;
        for (one, value) in usage.tree.traits.iter().zip(&usage.traits) {
            let Some(cost) = resource.traits.iter().find(|cost| cost.name.text == one.name.text) else {
                let note = format!(
                    "the trait '{}' of '{}' has no cost on this machine",
                    one.name.text, resource.name.text
                );
                self.notes.borrow_mut().insert(note);
                continue;
            };
            locals.push(bound("base", &seconds));
            if let Some(argument) = &cost.argument {
                let Some(value) = value else {
                    if let Some(word) = &one.value {
                        let sentence = format!(
                            "the trait '{}' takes a number on this machine, and this is a word",
                            one.name.text
                        );
                        return Err(AspenError::at(word.span, sentence));
                    }
                    let sentence =
                        format!("the trait '{0}' takes a value on this machine: {0}(2)", one.name.text);
                    return Err(AspenError::at(one.name.span, sentence));
                };
                locals.push(bound(&argument.text, value));
            }
            seconds = self.seconds(&locals, &cost.cost, one.name.span)?;
            locals.truncate(1);
        }
        Ok(seconds)
    }

    fn seconds(&self, locals: &[LocalBinding<N>], cost: &Expr, used: SourceSpan) -> Result<N, AspenError> {
        let seconds = self.values.number(0, locals, cost)?;
        match seconds.known() {
            Some(known) if known < 0.0 => Err(AspenError::at(
                used,
                format!("this takes {known} seconds on the machine, and time must not be negative"),
            )),
            _ => Ok(seconds),
        }
    }

    /// Returns `true` if two resources cannot be used at a time.
    pub(crate) fn conflict(&self, a: &str, b: &str) -> bool {
        self.conflicts.contains(&(a, b))
    }

    /// Returns the static power of the whole machine in watts, its idle sockets included.
    pub(crate) fn static_power(&self) -> Result<N, AspenError> {
        self.total(self.root, None, &mut HashMap::new(), &|item| match item {
            Item::Power { dynamic: false, watts } => Some(watts),
            _ => None,
        })
    }

    /// Returns the bytes that the memories of the machine's sockets of this kind hold.
    pub(crate) fn capacity(&self) -> Result<N, AspenError> {
        self.total(self.root, Some(&self.socket), &mut HashMap::new(), &|item| match item {
            Item::Property(name, Some(value)) if name.text == "capacity" => Some(value),
            _ => None,
        })
    }

    /// Returns the sum of a formula over a component and its parts. Capacities are those of memories.
    fn total(
        &self,
        component: usize,
        socket: Option<&str>,
        known: &mut HashMap<usize, N>,
        formula: &dyn Fn(&'m Item) -> Option<&'m Expr>,
    ) -> Result<N, AspenError> {
        if let Some(total) = known.get(&component) {
            return Ok(total.clone());
        }
        let mut total = N::zero();
        let of = &self.machine.components[component];
        if socket.is_none() || of.kind.text == "memory" {
            for formula in of.items.iter().filter_map(formula) {
                total = total.plus(&self.values.number(0, &[], formula)?);
            }
        }
        for (part, count) in self.machine.parts_for(component, socket) {
            let inner = self.total(part, socket, known, formula)?;
            total = total.plus(&inner.times(&self.count(count)?));
        }
        known.insert(component, total.clone());
        Ok(total)
    }
}
