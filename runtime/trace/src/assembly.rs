//! Assembly of what ranks do from other traces: calls, loops and what ranks do alike, each kept once, as a
//! [`Part`] has them.

use crate::dictionary::Dictionary;
use crate::fold::{self, Cursor, Grammar, Kind};
use crate::part::{Item, Part};
use crate::template::Template;

/// A part that is put together.
pub struct Assembly {
    part: Part,
    /// Template and numbers.
    calls: Dictionary<(u32, Vec<i64>)>,
    loops: Dictionary<(u64, Vec<Item>)>,
    classes: Dictionary<Vec<Item>>,
    grammar: Grammar,
}

impl Assembly {
    /// With the dictionaries of this part.
    pub fn new(part: Part) -> Assembly {
        let (calls, loops, classes) = (Dictionary::default(), Dictionary::default(), Dictionary::default());
        Assembly { part, calls, loops, classes, grammar: Grammar::default() }
    }

    /// A call: its template, by the place that [`Assembly::finish`] is to find it in, and its numbers.
    pub fn call(&mut self, template: u32, numbers: Vec<i64>) -> Item {
        Item::Call(self.calls.place((template, numbers)))
    }

    /// A loop.
    pub fn repeated(&mut self, count: u64, body: Vec<Item>) -> Item {
        Item::Loop(self.loops.place((count, body)))
    }

    /// These items, with loops found in them as by a recorder.
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
                Kind::Symbol(symbol) if symbol & 1 == 0 => Item::Call(symbol >> 1),
                Kind::Symbol(symbol) => Item::Loop(symbol >> 1),
                Kind::Loop { body, count } => {
                    let body = self.grammar.body(body).to_vec();
                    let body = self.items(&body);
                    self.repeated(count, body)
                }
            });
        }
        items
    }

    /// A rank does these, with these exact times ([`crate::times`]).
    pub fn keep(&mut self, rank: u32, items: Vec<Item>, times: Option<Vec<u8>>) {
        let class = self.classes.place(items);
        self.part.ranks_of.push((rank, class));
        self.part.times.extend(times.map(|times| (rank, times)));
    }

    /// All of it, with these templates.
    pub fn finish(self, templates: &[Template]) -> Part {
        let calls = self
            .calls
            .into_values()
            .map(|(template, numbers)| (templates[template as usize].clone(), numbers));
        let (calls, loops, classes) =
            (calls.collect(), self.loops.into_values().collect(), self.classes.into_values().collect());
        Part { calls, loops, classes, ..self.part }
    }
}
