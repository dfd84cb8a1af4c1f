//! Assembly of what ranks do from other traces: calls, loops and what ranks do alike, each kept once, as a
//! [`ProcessTrace`] has them.

use crate::dictionary::Dictionary;
use crate::fold::{self, Cursor, FoldKind, Grammar};
use crate::part::{self, Item, ProcessTrace, Seen};
use crate::template::Template;
use crate::trace::{Function, Trace};

/// A part that is put together.
pub struct Assembly {
    part: ProcessTrace,
    /// Template and numbers.
    calls: Dictionary<(u32, Vec<i64>)>,
    loops: Dictionary<(u64, Vec<Item>)>,
    classes: Dictionary<Vec<Item>>,
    grammar: Grammar,
}

impl Assembly {
    /// Returns one with the dictionaries and the communicators of a trace, and no calls.
    pub fn of(trace: &Trace) -> Assembly {
        let mut part = ProcessTrace {
            ranks: trace.ranks,
            functions: trace.functions.iter().map(Function::text).collect(),
            sites: trace.sites.iter().cloned().collect(),
            names: trace.names.iter().cloned().collect(),
            types: trace.types.iter().copied().collect(),
            ..ProcessTrace::default()
        };
        let mut contexts = Dictionary::default();
        trace.comms.each(|world_rank, number, rank, instances| {
            let (own, size) = (instances.0, instances.2);
            let context = contexts.place(own.min(instances.1));
            let peers = trace.comms.member(world_rank, number).map_or(size, |member| member.peers);
            part.comms.push(Seen {
                world_rank,
                number,
                context,
                rank,
                size,
                peers,
                leaders: (own.leader, instances.1.leader),
            });
        });
        Assembly::new(part)
    }

    /// Begins with the dictionaries of this part.
    pub fn new(part: ProcessTrace) -> Assembly {
        let (calls, loops, classes) = (Dictionary::default(), Dictionary::default(), Dictionary::default());
        Assembly { part, calls, loops, classes, grammar: Grammar::default() }
    }

    /// Adds a call: its template, by the place that [`Assembly::finish`] is to find it in, and its numbers.
    pub fn call(&mut self, template: u32, numbers: Vec<i64>) -> Item {
        Item::Call(self.calls.place((template, numbers)))
    }

    /// Adds a loop.
    pub fn repeated(&mut self, count: u64, body: Vec<Item>) -> Item {
        Item::Loop(self.loops.place((count, body)))
    }

    /// Returns these items, with loops found in them as by a recorder.
    pub fn folded(&mut self, items: &[Item]) -> Vec<Item> {
        let mut cursor = Cursor::default();
        for item in items {
            let symbol = match *item {
                Item::Call(call) => call << 1,
                Item::Loop(number) => number << 1 | 1,
            };
            self.grammar.add(&mut cursor, symbol);
        }
        let stack = self.grammar.close(&mut cursor);
        let folded = self.grammar.items(stack);
        self.items(&folded)
    }

    fn items(&mut self, folded: &[fold::Item]) -> Vec<Item> {
        let mut items = Vec::with_capacity(folded.len());
        for &item in folded {
            items.push(match self.grammar.kind(item) {
                FoldKind::Symbol(symbol) if symbol & 1 == 0 => Item::Call(symbol >> 1),
                FoldKind::Symbol(symbol) => Item::Loop(symbol >> 1),
                FoldKind::Loop { body, count } => {
                    let body = self.grammar.body(body).to_vec();
                    let body = self.items(&body);
                    self.repeated(count, body)
                }
            });
        }
        items
    }

    /// Keeps what a rank does, with these exact times ([`crate::times`]).
    pub fn keep(&mut self, rank: u32, items: Vec<Item>, times: Option<Vec<u8>>) {
        let class = self.classes.place(items);
        self.part.ranks_of.push((rank, class));
        self.part.times.extend(times.map(|times| (rank, times)));
    }

    /// Returns the number of a function that may be new.
    pub fn function(&mut self, function: &Function) -> u32 {
        self.part.functions.place_of(function.text().as_str())
    }

    /// Adds computation between calls.
    pub fn add_computed(&mut self, histograms: impl IntoIterator<Item = (part::Path, part::Computed)>) {
        self.part.histograms.extend(histograms);
    }

    /// Returns the trace of all that was added, with these templates.
    pub fn finish(self, templates: &[Template]) -> ProcessTrace {
        let calls = self
            .calls
            .into_values()
            .map(|(template, numbers)| (templates[template as usize].clone(), numbers));
        let (calls, loops, classes) =
            (calls.collect(), self.loops.into_values().collect(), self.classes.into_values().collect());
        ProcessTrace { calls, loops, classes, ..self.part }
    }
}
