//! Emission of a plan, on one of the runs, as a part of a trace.

use crate::common::Dictionaries;
use crate::comms::{self, Comms, OfRank};
use crate::family::Family;
use crate::linear::{Index, SamplePoint};
use crate::plan::{Content, Elements, FieldValues, Passed, PlannedSite, SequencePlan};
use crate::quantity::Quantity;
use trace::assembly::Assembly;
use trace::dictionary::Dictionary;
use trace::part::{Item, ProcessTrace};
use trace::template::{Field, Peer, Position, Slot, Template, Whose};

/// The most turns of a place whose numbers follow from the turn, and elements of an array: each is a call or
/// number of its own.
const MAX_EXPANSION: i64 = 1 << 24;

/// Data that all generated ranks share.
pub struct EmitContext<'a> {
    /// The rank counts.
    pub family: &'a Family,
    /// The dictionaries.
    pub common: &'a Dictionaries,
    /// The plan of what ranks do.
    pub plan: &'a SequencePlan,
    /// Their communicators.
    pub comms: &'a Comms,
}

/// Returns what all ranks do on a run, without times. O(ranks, times what a rank does).
///
/// # Errors
/// A sentence with the call whose numbers are none there.
pub fn part(whole: &EmitContext, run: usize) -> Result<ProcessTrace, String> {
    let ranks = whole.family.counts[run];
    let mut emitter = Emitter {
        whole,
        run,
        rank: 0,
        comms: OfRank::new(),
        index: Index::new(),
        templates: Dictionary::default(),
        assembly: Assembly::new(whole.common.part(ranks)),
    };
    let (mut seen, mut contexts) = (Vec::new(), Dictionary::default());
    for rank in 0..ranks {
        emitter.rank = rank;
        emitter.comms = whole.comms.of_rank(whole.family, run, rank)?;
        seen.extend(comms::seen(rank, &emitter.comms, &mut contexts));
        let items = emitter.plan(whole.plan)?;
        emitter.assembly.keep(rank, items, None);
    }
    let templates: Vec<Template> = emitter.templates.into_values().collect();
    Ok(ProcessTrace { comms: seen, ..emitter.assembly.finish(&templates) })
}

struct Emitter<'a> {
    whole: &'a EmitContext<'a>,
    run: usize,
    rank: u32,
    comms: OfRank,
    index: Index,
    templates: Dictionary<Template>,
    assembly: Assembly,
}

impl Emitter<'_> {
    fn class(&self, partition: usize) -> i64 {
        self.whole.family.class(self.whole.family.partitions[partition], self.run, self.rank)
    }

    fn stranger(&self) -> String {
        format!(
            "ranks like {} of {} are in none of the traces",
            self.rank, self.whole.family.counts[self.run]
        )
    }

    fn plan(&mut self, plan: &SequencePlan) -> Result<Vec<Item>, String> {
        match plan {
            SequencePlan::Split(partition, plans) => {
                let plan = plans.get(&self.class(*partition)).ok_or_else(|| self.stranger())?;
                self.plan(plan)
            }
            SequencePlan::Sequence(places) => {
                let mut items = Vec::with_capacity(places.len());
                for place in places {
                    self.passed(place, &place.passed, &mut items)?;
                }
                Ok(self.assembly.folded(&items))
            }
        }
    }

    fn passed(&mut self, place: &PlannedSite, passed: &Passed, items: &mut Vec<Item>) -> Result<(), String> {
        let failed =
            |why: String, what: &str| format!("{}: {what}: {why}", self.whole.common.shown(place.key));
        match passed {
            Passed::Never => {}
            Passed::Split(partition, classes) => {
                let passed = classes
                    .get(&self.class(*partition))
                    .ok_or_else(|| failed(self.stranger(), "how often it is called there"))?;
                self.passed(place, passed, items)?;
            }
            Passed::Each(turns) => {
                for (times, content) in turns {
                    let times =
                        self.count(times).map_err(|why| failed(why, "how often it is called there"))?;
                    let body = if times == 0 { Vec::new() } else { self.content(place, content)? };
                    match times {
                        0 | 1 => items.extend(body),
                        _ => items.push(self.assembly.repeated(times as u64, body)),
                    }
                }
            }
            Passed::Counted(times, content) => {
                let times = self.count(times).map_err(|why| failed(why, "how often it is called there"))?;
                if times > MAX_EXPANSION {
                    return Err(failed(
                        format!("{times} times with other numbers each is too often"),
                        "how often it is called there",
                    ));
                }
                for turn in 0..times {
                    self.index.push(turn);
                    let body = self.content(place, content);
                    self.index.pop();
                    items.extend(body?);
                }
            }
        }
        Ok(())
    }

    fn content(&mut self, place: &PlannedSite, content: &Content) -> Result<Vec<Item>, String> {
        match content {
            Content::Group(plan) => self.plan(plan),
            Content::Call(numbers) => {
                let call = self.call(place.key, numbers);
                Ok(vec![call.map_err(|why| format!("{}: {why}", self.whole.common.shown(place.key)))?])
            }
        }
    }

    fn call(&mut self, key: u32, fields: &[FieldValues]) -> Result<Item, String> {
        let whole = self.whole;
        let kind = whole.common.kind_of_key(key);
        let template = whole.common.kind(kind);
        let names: Vec<&str> = whole.common.arguments(kind).collect();
        let position = self.position(template, fields)?;
        let mut said = Template { fields: Vec::with_capacity(fields.len()), ..*template };
        let mut numbers = Vec::new();
        for ((field, values), name) in template.fields.iter().zip(fields).zip(names) {
            let failed = |why: String| format!("its argument {name}: {why}");
            said.fields.push(match (field, values) {
                (Field::List(runs), FieldValues::Runs(elements)) => {
                    let mut all = Vec::with_capacity(runs.len());
                    for ((_, field), elements) in runs.iter().zip(elements) {
                        let length =
                            self.elements(elements, &slots(field), position, &mut numbers).map_err(failed)?;
                        // A run of nothing is none, and runs of one kind beside each other are one.
                        match all.last_mut() {
                            _ if length == 0 => {}
                            Some((before, last)) if last == field => *before += length,
                            _ => all.push((length, field.clone())),
                        }
                    }
                    Field::List(all)
                }
                (field, FieldValues::Fixed(values)) => {
                    for (slot, value) in slots(field).into_iter().zip(values) {
                        numbers.push(self.number(value, slot, position).map_err(failed)?);
                    }
                    field.clone()
                }
                (field, FieldValues::Runs(_)) => field.clone(),
            });
        }
        let template = self.templates.place(said);
        Ok(self.assembly.call(template, numbers))
    }

    /// Returns what ranks in the call are relative to.
    fn position(&self, template: &Template, fields: &[FieldValues]) -> Result<Position, String> {
        let world = Position { rank: self.rank, peers: self.whole.family.counts[self.run] };
        if let Whose::Made(_) = template.whose()
            && let Some(place) = template.fields.iter().position(|field| *field == Field::Comm(None))
            && let FieldValues::Fixed(comm) = &fields[place]
        {
            let number = self
                .number(&comm[0], Slot::Plain, world)
                .map_err(|why| format!("its communicator: {why}"))?;
            return Ok(u32::try_from(number)
                .ok()
                .and_then(|number| comms::position(&self.comms, number))
                .unwrap_or(world));
        }
        Ok(self.whole.common.position(template, &[], world, |_| None))
    }

    fn elements(
        &mut self,
        elements: &Elements,
        slots: &[Slot],
        position: Position,
        numbers: &mut Vec<i64>,
    ) -> Result<u64, String> {
        match elements {
            Elements::Split(partition, classes) => {
                let elements = classes.get(&self.class(*partition)).ok_or_else(|| self.stranger())?;
                self.elements(elements, slots, position, numbers)
            }
            Elements::Each(all) => {
                for element in all {
                    for (&slot, value) in slots.iter().zip(element) {
                        numbers.push(self.number(value, slot, position)?);
                    }
                }
                Ok(all.len() as u64)
            }
            Elements::Counted(length, values) => {
                let length = self.count(length)?;
                if length > MAX_EXPANSION {
                    return Err(format!("{length} elements are too many"));
                }
                for place in 0..length {
                    self.index.push(place);
                    let found: Result<Vec<i64>, String> = slots
                        .iter()
                        .zip(values)
                        .map(|(&slot, value)| self.number(value, slot, position))
                        .collect();
                    self.index.pop();
                    numbers.extend(found?);
                }
                Ok(length as u64)
            }
        }
    }

    fn value(&self, quantity: &Quantity, position: Position) -> Result<i64, String> {
        quantity.at(
            self.whole.family,
            &SamplePoint { run: self.run, rank: self.rank, index: self.index.clone(), position },
        )
    }

    /// Returns how often, or how many.
    fn count(&self, quantity: &Quantity) -> Result<i64, String> {
        let world = Position { rank: self.rank, peers: self.whole.family.counts[self.run] };
        let count = self.value(quantity, world)?;
        if count < 0 {
            Err(format!("its formula gives {count} for rank {} of {}", self.rank, world.peers))
        } else {
            Ok(count)
        }
    }

    fn number(&self, quantity: &Quantity, slot: Slot, position: Position) -> Result<i64, String> {
        let value = self.value(quantity, position)?;
        if slot == Slot::Plain {
            return Ok(value);
        }
        let rank = i32::try_from(value).ok().filter(|&rank| i64::from(rank) < i64::from(position.peers));
        let rank = rank.ok_or_else(|| {
            format!("its formula gives rank {} of {} the rank {value}", self.rank, position.peers)
        })?;
        Ok(Peer::told(rank, position).number())
    }
}

fn slots(field: &Field) -> Vec<Slot> {
    let mut slots = Vec::new();
    field.slots(&mut slots);
    slots
}
