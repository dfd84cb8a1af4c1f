//! The recorder: encodes each call, and folds it behind those that its rank made before.

use crate::calls::{Calls, decode};
use crate::dictionary::Dictionary;
use crate::encode::Encoder;
use crate::fold::{self, Cursor, Grammar, Kind};
use crate::histogram::Histogram;
use crate::part::{Computed, Item, OfRank, Part, Seen};
use crate::saved::{self, Key, Saved};
use crate::saving::{self, Clock, Saving};
use crate::template::Position;
use crate::times::Times;
use engine::{Span, Time};
use observe::Symbols;
use observe::recorder::{self, Brief, Call, Left, Object, Recorder, Value};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What is kept of the computation between calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// Nothing.
    None,
    /// A histogram for each pair of call sites that follow each other.
    Histogram,
    /// How long was computed before each call, and how long the call took.
    Exact,
}

/// What is recorded.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file.
    pub path: PathBuf,
    /// Times.
    pub timing: Timing,
    /// Calls that are entered from the first instant on and before the second.
    pub window: Range<Time>,
    /// Ranks of the run.
    pub ranks: u32,
    /// Ranks of this process.
    pub own: Range<u32>,
    /// The number of this process; the first writes the file.
    pub process: u32,
    /// The interval, in nanoseconds of the host's time, at which what was recorded up to then is put beside
    /// the file; zero: after each call.
    pub save: u64,
    /// The host's clock.
    pub clock: Clock,
    /// Returns what the contexts of communicators stand for, if they are numbers of this process alone
    /// ([`Saved::keys`]).
    pub keys: fn() -> Vec<Key>,
}

#[derive(Clone, Default)]
struct Rank {
    cursor: Cursor,
    /// Computation since the last call, in picoseconds.
    computed: u64,
    /// The place of the last call, from 1.
    before: u32,
    /// Communicators that it has seen.
    comms: u32,
    /// The program does not want to be recorded here.
    is_off: bool,
    times: Option<Box<Times>>,
}

/// Records a trace of a process's ranks.
pub struct Recording {
    options: Options,
    saving: Saving,
    encoder: Encoder,
    symbols: Symbols,
    calls: Calls,
    /// The words of the call that is told of next, if it was told in words that are not known.
    asked: Vec<u64>,
    grammar: Grammar,
    ranks: Vec<Rank>,
    comms: Vec<Seen>,
    histograms: FxHashMap<(u32, u32), Passage>,
}

/// What was computed on the way from one place to another.
#[derive(Clone, Default)]
struct Passage {
    histogram: Histogram,
    /// By each rank, how often and how long in all; nothing where there are too many.
    ranks: Vec<(u64, u64)>,
}

/// Up to so many ranks of the run each is told apart from the others in what it computes.
// Each takes 16 bytes for each two places that follow each other.
const TOLD_APART: u32 = 1 << 14;

fn cannot(path: &Path, why: &std::io::Error) -> String {
    format!("cannot write the trace {}: {why}", path.display())
}

impl Recording {
    /// Of a process's ranks.
    ///
    /// # Errors
    /// A sentence, if the file cannot be made.
    pub fn create(mut options: Options) -> Result<Recording, String> {
        // The program may go to another directory.
        options.path = std::path::absolute(&options.path).map_err(|why| cannot(&options.path, &why))?;
        if options.process == 0 {
            File::create(&options.path).map_err(|why| cannot(&options.path, &why))?;
        }
        Ok(Recording::unwritten(options))
    }

    /// Of a process's ranks, while nobody looks whether there can be a file.
    pub fn unwritten(options: Options) -> Recording {
        let ranks = vec![Rank::default(); options.own.len()];
        let saving = Saving::new(&options.path, options.process, options.save, options.clock);
        Recording {
            options,
            saving,
            encoder: Encoder::default(),
            symbols: Symbols::default(),
            calls: Calls::default(),
            asked: Vec::new(),
            grammar: Grammar::default(),
            ranks,
            comms: Vec::new(),
            histograms: FxHashMap::default(),
        }
    }

    /// The bytes of the file of all that was recorded, at the end, if the ranks of this process are all.
    pub fn file(&mut self) -> Vec<u8> {
        let all = self.finish();
        file_of(vec![all]).expect("there is one process")
    }

    /// Returns what was recorded, at the end.
    fn finish(&mut self) -> Saved {
        let ranks = std::mem::take(&mut self.ranks);
        self.of(ranks)
    }

    /// Returns what these ranks, which are all of the process, have done up to now; O(what the trace keeps).
    fn of(&mut self, ranks: Vec<Rank>) -> Saved {
        let mut part = Part { ranks: self.options.ranks, comms: self.comms.clone(), ..Part::default() };
        self.encoder.dictionaries(&mut part);
        let ends = [part.functions.len(), part.sites.len(), part.names.len(), part.types.len()];
        part.calls = self.calls.iter().map(|(bytes, template)| decode(bytes, template, ends)).collect();
        let mut exporter =
            Exporter { grammar: &mut self.grammar, loops: Dictionary::default(), part: &mut part };
        let mut classes: Dictionary<u32> = Dictionary::default();
        for (number, mut rank) in (self.options.own.start..).zip(ranks) {
            let stack = exporter.grammar.close(&mut rank.cursor);
            let class = classes.place(stack);
            if class as usize == exporter.part.classes.len() {
                exporter.class(stack);
            }
            exporter.part.ranks_of.push((number, class));
            if let Some(times) = rank.times {
                exporter.part.times.push((number, times.finish()));
            }
        }
        let place = |number: u32| self.calls.place_of(number);
        let computed =
            |passage: &Passage| {
                let ranks = (self.options.own.start..)
                    .zip(&passage.ranks)
                    .map(|(rank, &(count, sum))| OfRank { rank, count, sum });
                Computed {
                    histogram: passage.histogram.clone(),
                    ranks: ranks.filter(|of| of.count > 0).collect(),
                }
            };
        let histograms = self
            .histograms
            .iter()
            .map(|(&(from, to), passage)| ((from.checked_sub(1).map(place), place(to)), computed(passage)));
        part.histograms = histograms.collect();
        Saved { keys: (self.options.keys)(), part }
    }

    fn note_comms(&mut self, call: &Call) {
        for argument in call.arguments {
            let Value::Comm {
                object: Object::Made { number, .. },
                context: Some(context),
                size,
                member: Some(member),
            } = argument.value
            else {
                continue;
            };
            let known = &mut self.ranks[(call.rank - self.options.own.start) as usize].comms;
            if number > *known {
                *known = number;
                let recorder::Member { rank, peers, leaders } = member;
                self.comms.push(Seen { world_rank: call.rank, number, context, rank, size, peers, leaders });
            }
        }
    }

    /// A rank made the call with this number.
    fn add(&mut self, at: usize, call: u32, took: Span) {
        self.grammar.add(&mut self.ranks[at].cursor, call);
        let place = self.calls.place(call);
        let rank = &mut self.ranks[at];
        let computed = Span::from_ps(std::mem::take(&mut rank.computed));
        match self.options.timing {
            Timing::None => {}
            Timing::Exact => rank.times.get_or_insert_default().add(computed, took),
            Timing::Histogram if computed == Span::ZERO => {}
            Timing::Histogram => {
                let passage = self.histograms.entry((rank.before, place)).or_default();
                passage.histogram.add(computed);
                if passage.ranks.is_empty() && self.options.ranks <= TOLD_APART {
                    passage.ranks.resize(self.options.own.len(), (0, 0));
                }
                if let Some((count, sum)) = passage.ranks.get_mut(at) {
                    (*count, *sum) = (*count + 1, sum.saturating_add(computed.as_ps()));
                }
            }
        }
        rank.before = place + 1;
        if self.saving.is_due() {
            self.save();
        }
    }

    /// Puts what was recorded up to now beside the file, as is done from time to time: the run may not come
    /// to its end.
    #[cold]
    pub fn save(&mut self) {
        let ranks = self.ranks.clone();
        let saved = self.of(ranks);
        self.saving.save(|| saved.file());
    }
}

/// The file of what processes recorded.
fn file_of(all: Vec<Saved>) -> Result<Vec<u8>, String> {
    saved::join(all).map(|joined| joined.file())
}

/// Puts what was folded into a part.
struct Exporter<'a> {
    grammar: &'a mut Grammar,
    /// The ones that are in the part, by their places there.
    loops: Dictionary<fold::Item>,
    part: &'a mut Part,
}

impl Exporter<'_> {
    fn class(&mut self, stack: u32) {
        let items = self.grammar.items(stack);
        let items = self.items(&items);
        self.part.classes.push(items);
    }

    fn items(&mut self, items: &[fold::Item]) -> Vec<Item> {
        items.iter().map(|&item| self.item(item)).collect()
    }

    fn item(&mut self, item: fold::Item) -> Item {
        let (body, count) = match self.grammar.kind(item) {
            Kind::Symbol(call) => return Item::Call(call),
            Kind::Loop { body, count } => (body, count),
        };
        if let Some(number) = self.loops.find(&item) {
            return Item::Loop(number);
        }
        let body: Vec<fold::Item> = self.grammar.body(body).to_vec();
        let body = self.items(&body);
        self.part.loops.push((count, body));
        Item::Loop(self.loops.place(item))
    }
}

impl Recorder for Recording {
    fn wants(&self, rank: u32) -> bool {
        self.options.own.contains(&rank)
    }

    fn wants_sites(&self) -> bool {
        true
    }

    fn site(&mut self, number: u32, place: &recorder::Place) {
        let name = self.symbols.name(place);
        self.encoder.site(number, &name);
    }

    fn recognizes(&self) -> bool {
        true
    }

    fn recognize(&mut self, call: &Brief, left: &Left) -> bool {
        let at = (call.rank - self.options.own.start) as usize;
        let rank = &self.ranks[at];
        self.asked.clear();
        // What changes whether calls are recorded, and what a communicator is, is among the arguments.
        if rank.is_off || call.comm > rank.comms || !self.options.window.contains(&call.entered) {
            return false;
        }
        match self.calls.known(call.words, rank.cursor.expected()) {
            Some(number) => self.add(at, number, left.at.since(call.entered)),
            None => self.asked.extend_from_slice(call.words),
        }
        self.asked.is_empty()
    }

    fn call(&mut self, call: &Call, left: &Left) {
        let at = (call.rank - self.options.own.start) as usize;
        self.note_comms(call);
        // What switches is recorded itself.
        let switch = if call.name == "MPI_Pcontrol" { call.argument("level") } else { None };
        if switch.is_some_and(|level| *level != Value::Integer(0)) {
            self.ranks[at].is_off = false;
        }
        if self.ranks[at].is_off || !self.options.window.contains(&call.entered) {
            self.ranks[at].computed = 0;
            return;
        }
        let world = Position { rank: call.rank, peers: self.options.ranks };
        let encoded = self.encoder.encode(call, left.code, world);
        let number = self.calls.number(&encoded);
        // A switch has to be looked at each time.
        if switch.is_none() && !self.asked.is_empty() {
            self.calls.learn(&self.asked, number);
        }
        self.asked.clear();
        self.add(at, number, left.at.since(call.entered));
        self.ranks[at].is_off = switch == Some(&Value::Integer(0));
    }

    fn unfinished(&mut self, _: &Call) {}

    fn listen(&mut self, rank: u32, on: bool) {
        self.ranks[(rank - self.options.own.start) as usize].is_off = !on;
    }

    fn computed(&mut self, rank: u32, _: Time, span: Span) {
        let computed = &mut self.ranks[(rank - self.options.own.start) as usize].computed;
        *computed = computed.saturating_add(span.as_ps());
    }

    fn part(&mut self) -> Vec<u8> {
        self.finish().write()
    }

    fn merge(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        let read = |part: &Vec<u8>| {
            Saved::read(part).map_err(|why| format!("what a process has recorded cannot be read: {why}"))
        };
        let processes = parts.len() as u32;
        let file = file_of(parts.iter().map(read).collect::<Result<_, _>>()?)?;
        let path = &self.options.path;
        let written = std::fs::write(path, file);
        // What was saved stays if there is nothing better.
        written.and_then(|()| saving::remove(path, processes)).map_err(|why| cannot(path, &why))
    }
}
