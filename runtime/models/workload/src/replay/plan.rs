//! A trace made ready for its replay: what each call is, and the steps of each shape.

use super::arguments::Arguments;
use super::bridge::RecordedBridge;
use super::columns::{Columns, by_turn};
use super::making::Make;
use super::operation::Operation;
use super::position::{Lead, Position, Step, Way, lay_out};
use super::ready::{Ready, Waiting};
use super::volley::Volleys;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use trace::Trace;
use trace::roles::Roles;
use trace::trace::{Act, Cell, Instance};

/// More calls than a rank makes in one go.
const ENDLESS: u32 = 1 << 16;

/// A trace, ready.
pub(super) struct Plan {
    /// The operation of each call.
    pub(super) operations: Vec<Operation>,
    /// Operations that persistent requests start, by the call that made the request.
    pub(super) persistent: FxHashMap<u32, Operation>,
    /// Messages that are the same for all ranks, by call.
    pub(super) ready: Vec<Option<Ready>>,
    /// Waits that are the same for all ranks, by call.
    waits: Vec<Option<Waiting>>,
    /// The number of calls that are alike from a step on ([`Ready::is_like`]), that with which a loop's next
    /// turn begins included where it ends; 0 where there is no message.
    series: Vec<u32>,
    /// The call at each step of a series and the step behind it; [`Lead::NOWHERE`] at other steps.
    leads: Vec<Lead>,
    pub(super) volleys: Volleys,
    /// The function of each call, and its place: function and site, by number.
    pub(super) functions: Vec<u16>,
    pub(super) places: Vec<u32>,
    /// The places themselves.
    pub(super) sites: Vec<trace::part::Place>,
    /// Members of the communicators, if any is made by the members of a group alone; else empty.
    pub(super) groups: FxHashMap<Instance, Rc<[u32]>>,
    /// `true` if accesses to files may be atomic.
    pub(super) has_atomic_files: bool,
    /// `true` if a receive may have been cancelled.
    pub(super) cancels: bool,
    steps: Vec<Step>,
    /// The first step of each shape.
    begins: Vec<u32>,
    /// Shape, and place among its ranks, of each rank, where there are several shapes.
    ranks: Vec<(u32, u32)>,
    used: BTreeSet<u32>,
}

impl Plan {
    /// Lays out the calls of a trace without those of the functions in `without`; O(size of the trace +
    /// ranks).
    ///
    /// # Errors
    /// A sentence, if there is a call that cannot be replayed.
    pub(super) fn new(trace: &Trace, without: &[String]) -> Result<Plan, String> {
        let mut plan = Plan {
            operations: Vec::with_capacity(trace.calls.len()),
            persistent: FxHashMap::default(),
            ready: Vec::with_capacity(trace.calls.len()),
            waits: Vec::with_capacity(trace.calls.len()),
            series: Vec::new(),
            leads: Vec::new(),
            volleys: Volleys::default(),
            functions: Vec::with_capacity(trace.calls.len()),
            places: Vec::with_capacity(trace.calls.len()),
            sites: Vec::new(),
            cancels: trace.functions.iter().any(|function| function.name == "MPI_Cancel"),
            has_atomic_files: trace.functions.iter().any(|of| of.name == "MPI_File_set_atomicity"),
            groups: FxHashMap::default(),
            steps: Vec::new(),
            begins: Vec::new(),
            ranks: Vec::new(),
            used: BTreeSet::new(),
        };
        plan.add_calls(trace, without);
        if plan.operations.iter().any(|operation| {
            matches!(
                operation,
                Operation::Make { how: Make::Group(..), .. }
                    | Operation::Bridge(RecordedBridge::FromGroups { .. })
            )
        }) {
            plan.groups = trace.comms.groups()?;
        }
        for nodes in &trace.shapes {
            plan.begins.push(plan.steps.len() as u32);
            lay_out(nodes, &mut plan.steps);
            plan.steps.push(Step::End);
        }
        if plan.steps.len() > u32::MAX as usize {
            return Err("the trace has more than 2^32 calls and loops".to_owned());
        }
        plan.add_series();
        plan.volleys = Volleys::new(&plan.steps, &plan.ready, &plan.waits);
        let counts = plan.steps.iter().filter_map(|step| {
            if let Step::Loop(Cell::Column(column), _) = step { Some(*column) } else { None }
        });
        plan.used.extend(counts);
        plan.check(trace)?;
        if trace.shapes.len() > 1 {
            let mut next = vec![0; trace.shapes.len()];
            trace.shape_of.each(|shape| {
                plan.ranks.push((shape as u32, next[shape as usize]));
                next[shape as usize] += 1;
            });
        }
        Ok(plan)
    }

    fn add_calls(&mut self, trace: &Trace, without: &[String]) {
        let roles: Vec<Roles> = trace.templates.iter().map(|template| Roles::of(trace, template)).collect();
        let has_files = trace.functions.iter().any(|of| of.name == "MPI_File_open");
        let mut known = FxHashMap::default();
        let mut varying = FxHashSet::default();
        trace.shapes.iter().for_each(|nodes| {
            by_turn(nodes, 1, &mut |call, _| {
                varying.insert(call);
            })
        });
        for (number, (called, cells)) in (0..).zip(&trace.calls) {
            let (template, roles) = (&trace.templates[*called as usize], &roles[*called as usize]);
            let used = RefCell::new(&mut self.used);
            let arguments = Arguments { trace, template, roles, cells, used };
            let mut operation = Operation::of(&arguments, has_files);
            let name = &trace.functions[template.function as usize].name;
            if without.contains(name) {
                operation = Operation::Local;
            }
            let is_persistent = name.ends_with("_init") && !matches!(operation, Operation::Local);
            // Of which turn it was nobody would know when it is started.
            if is_persistent && varying.contains(&number) {
                operation = Operation::Refused(
                    "it makes persistent requests that differ from turn to turn of its loop".to_owned(),
                );
            }
            if is_persistent
                && let Operation::Send { request: Some(request), .. } | Operation::Ireceive { request, .. } =
                    operation
            {
                self.persistent
                    .insert(number, std::mem::replace(&mut operation, Operation::Persistent { request }));
            }
            let at = trace.place(number);
            let place = *known.entry(at).or_insert_with(|| {
                self.sites.push(at);
                self.sites.len() as u32 - 1
            });
            let ready = Ready::of(template.function as u16, &operation, self.cancels);
            self.ready.push(ready.filter(|_| !varying.contains(&number)));
            self.waits.push(Waiting::of(template.function as u16, &operation));
            self.operations.push(operation);
            self.functions.push(template.function as u16);
            self.places.push(place);
        }
    }

    fn add_series(&mut self) {
        let ready = |step: usize| match self.steps.get(step)? {
            Step::Call(call) => self.ready[*call as usize].as_ref(),
            _ => None,
        };
        let mut series = vec![0; self.steps.len()];
        for step in (0..self.steps.len()).rev() {
            let Some(one) = ready(step) else { continue };
            series[step] =
                if ready(step + 1).is_some_and(|next| one.is_like(next)) { series[step + 1] + 1 } else { 1 };
        }
        // From the end of a loop's turn they go on with the next, without end if all of the loop is alike:
        // who makes them sees where the turns are over.
        for (end, what) in self.steps.iter().enumerate() {
            let Step::Turn(begin) = what else { continue };
            let begin = *begin as usize;
            series[end] = series[begin];
            // Calls alone: the end of a loop within, too, has a number, which goes on in that one's next turn
            // and not here.
            let alike = |&step: &usize| ready(step).is_some() && series[step] as usize == end - step;
            let behind = (begin..end).rev().take_while(alike).last().unwrap_or(end);
            let goes_on = behind < end
                && ready(end - 1).zip(ready(begin)).is_some_and(|(last, first)| last.is_like(first));
            if goes_on {
                let next = if behind == begin { ENDLESS } else { series[begin] };
                (behind..end).for_each(|step| series[step] += next);
                series[end] = next;
            }
        }
        self.leads = (0..series.len())
            .map(|step| if series[step] > 0 { Lead::of(&self.steps, step) } else { Lead::NOWHERE })
            .collect();
        self.series = series;
    }

    /// Checks that all calls can be replayed.
    ///
    /// # Errors
    /// The first rank and call that cannot be replayed, and why.
    fn check(&self, trace: &Trace) -> Result<(), String> {
        for (shape, &begin) in self.begins.iter().enumerate() {
            let steps = self.steps[begin as usize..].iter().take_while(|step| **step != Step::End);
            let refused = steps.filter_map(|step| match step {
                Step::Call(call) => match &self.operations[*call as usize] {
                    Operation::Refused(why) => Some((*call, why)),
                    _ => None,
                },
                _ => None,
            });
            let Some((call, why)) = refused.into_iter().next() else { continue };
            let mut rank = None;
            let mut at = 0;
            trace.shape_of.each(|of| {
                if of == shape as i64 && rank.is_none() {
                    rank = Some(at);
                }
                at += 1;
            });
            // A shape that no rank has is not replayed.
            let Some(rank) = rank else { continue };
            let number = before(trace.rank(rank).acts(), call).0;
            return Err(format!(
                "the trace cannot be replayed: rank {rank}, call {number}, {}: {why}",
                self.name(trace, call)
            ));
        }
        Ok(())
    }

    /// Columns that are looked up.
    pub(super) fn columns(&self) -> impl Iterator<Item = u32> {
        self.used.iter().copied()
    }

    /// Returns the position before a rank's first call.
    pub(super) fn begin(&self, rank: u32) -> Position {
        let (shape, place) = self.ranks.get(rank as usize).copied().unwrap_or((0, rank));
        Position::at(self.begins[shape as usize], place)
    }

    /// Moves on to the next call and returns it.
    #[inline]
    pub(super) fn next(&self, position: &mut Position, columns: &Columns) -> Option<u32> {
        position.next(&self.steps, columns)
    }

    /// Returns the next call, if it is ready, and the place behind it.
    #[inline(always)]
    pub(super) fn ready(&self, position: &Position) -> Option<(u32, &Ready, Way)> {
        let (call, passage) = position.at_call(&self.steps)?;
        Some((call, self.ready[call as usize].as_ref()?, passage))
    }

    /// The next call, if it is one of a series.
    // From its step without a detour: who makes a series asks for each of its calls.
    #[inline(always)]
    pub(super) fn in_series(&self, position: &Position) -> Option<(u32, &Ready, Way)> {
        let (call, way) = self.leads[position.step as usize].way(position)?;
        Some((call, self.ready.get(call as usize)?.as_ref()?, way))
    }

    /// Returns the next call, if it is a wait that is the same for all ranks, and the place behind it.
    #[inline(always)]
    pub(super) fn waiting(&self, position: &Position) -> Option<(u32, &Waiting, Way)> {
        let (call, passage) = position.at_call(&self.steps)?;
        Some((call, self.waits[call as usize].as_ref()?, passage))
    }

    /// Returns a call, if it is such a wait.
    #[inline(always)]
    pub(super) fn wait(&self, call: u32) -> Option<&Waiting> {
        self.waits[call as usize].as_ref()
    }

    /// Returns how many of the next calls are alike, if there are several and the first of them is ready.
    #[inline(always)]
    pub(super) fn series(&self, position: &Position) -> Option<(u32, &Ready)> {
        let calls = self.series[position.step as usize];
        if calls < 2 {
            return None;
        }
        let (_, ready, _) = self.ready(position)?;
        Some((calls, ready))
    }

    /// Returns the call that a rank made last which is before this step; `None` of one that has made none,
    /// since each shape ends with a step that is no call.
    #[inline]
    pub(super) fn call_before(&self, step: u32) -> Option<u32> {
        match self.steps.get(step.checked_sub(1)? as usize) {
            Some(Step::Call(call)) => Some(*call),
            _ => None,
        }
    }

    /// Returns the number of the place in the program that made a call.
    pub(super) fn site(&self, trace: &Trace, call: u32) -> u32 {
        trace.templates[trace.calls[call as usize].0 as usize].site
    }

    /// Returns what follows the number of the call that a rank made last which is before this step, in
    /// messages.
    pub(super) fn told(&self, trace: &Trace, step: u32) -> String {
        self.call_before(step).map_or_else(String::new, |call| format!(", {}", self.name(trace, call)))
    }

    /// Returns a call's function and site, for messages.
    pub(super) fn name(&self, trace: &Trace, call: u32) -> String {
        let template = &trace.templates[trace.calls[call as usize].0 as usize];
        format!("{} at {}", trace.functions[template.function as usize].name, trace.site(template.site))
    }
}

/// Returns how many calls a rank makes before the first `call`, and whether that is among the acts.
fn before(acts: &[Act], call: u32) -> (u64, bool) {
    let mut number = 0u64;
    for act in acts {
        match act {
            Act::Call(made) if made.call == call => return (number, true),
            Act::Call(_) => number = number.saturating_add(1),
            Act::Loop { turns, body } => {
                let (once, found) = before(body, call);
                if found {
                    return (number.saturating_add(once), true);
                }
                number = number.saturating_add(once.saturating_mul(*turns));
            }
        }
    }
    (number, false)
}
