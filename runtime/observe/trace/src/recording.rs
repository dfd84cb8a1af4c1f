//! The recorder: encodes each call, and folds it behind those that its rank made before.

use crate::calls::{Calls, decode};
use crate::contexts::{Context, Loops, MAX_VISITS};
use crate::dictionary::Dictionary;
use crate::encode::Encoder;
use crate::fold::{self, Cursor, FoldKind, Grammar};
use crate::histogram::Histogram;
use crate::part::{self, Computed, IN_CONTEXT, Item, OF_BITS, PathComputation, Place, ProcessTrace, Seen};
use crate::saved::{self, Key, Saved};
use crate::saving::{self, Clock, Saving};
use crate::steps::StepSums;
use crate::template::Position;
use crate::times::Times;
use engine::{Span, Time};
use recorder::Symbols;
use recorder::{self, Call, CallKey, CallReturn, ObjectArgument, Recorder, Value};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Detail in which times are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// Nothing.
    None,
    /// A histogram for each pair of calls that follow each other.
    Histogram,
    /// Length of the computation before each call, and of the call itself.
    Exact,
}

/// Options of a recording.
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
    /// The last call, from 1.
    before: u32,
    /// Paths on which it is kept by itself.
    paths: u32,
    /// The calls that it made last, if histograms are kept by these, and their number.
    context: Option<Context>,
    state: u64,
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
    /// By the contexts of two calls that follow each other; 0 is that of no call.
    by_contexts: FxHashMap<(u64, u64), PathTime>,
    /// By two places, the first of which counts from 1: runs
    /// beyond [`MAX_RANKS_IN_CONTEXT`], ranks beyond [`MAX_PATHS`].
    by_places: FxHashMap<(u32, u32), PathTime>,
}

/// Computation on a path from one call to the next.
#[derive(Clone, Default)]
struct PathTime {
    /// The last call of both contexts, the first from 1.
    calls: (u32, u32),
    /// The first times of each rank.
    first: Histogram,
    /// The others.
    histogram: Histogram,
    steps: StepSums,
    /// By rank of the process.
    ranks: FxHashMap<u32, PathComputation>,
}

impl PathTime {
    /// Returns it as a part has it, for a process whose ranks begin at `own`.
    fn computed(&self, own: u32) -> Computed {
        let mut ranks: Vec<PathComputation> =
            self.ranks.iter().map(|(&at, &of)| PathComputation { rank: own + at, ..of }).collect();
        ranks.sort_unstable_by_key(|of| of.rank);
        let PathTime { first, histogram, steps, .. } = self.clone();
        Computed { histogram, first, steps, ranks }
    }
}

/// The most ranks of a run of which each is kept by itself.
const MAX_RANKS: u32 = 1 << 14;
/// The most ranks of a run whose computation goes by contexts.
// Each takes about 60 bytes for each call of its loops.
const MAX_RANKS_IN_CONTEXT: u32 = 1 << 12;
/// The most paths between contexts of a rank.
const MAX_PATHS: u32 = 1 << 12;

fn cannot(path: &Path, why: &std::io::Error) -> String {
    format!("cannot write the trace {}: {why}", path.display())
}

impl Recording {
    /// Begins to record a process's ranks. Process 0 also creates the file.
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

    /// Begins to record a process's ranks, without a check that the file can be created.
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
            by_contexts: FxHashMap::default(),
            by_places: FxHashMap::default(),
        }
    }

    /// Returns the bytes of the file of all that was recorded, at the end, if the ranks of this process are
    /// all.
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
        let mut part =
            ProcessTrace { ranks: self.options.ranks, comms: self.comms.clone(), ..ProcessTrace::default() };
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
        let numbers = self.contexts(&mut part);
        part.histograms = self.histograms(&numbers);
        Saved { keys: (self.options.keys)(), part }
    }

    /// Adds the contexts of all classes to a part, and returns their numbers.
    fn contexts(&self, part: &mut ProcessTrace) -> FxHashMap<u64, u32> {
        let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
        // Ranks that compute nothing may have the contexts of those on other processes that do.
        if self.options.timing != Timing::Histogram || self.options.ranks > MAX_RANKS_IN_CONTEXT {
            return numbers;
        }
        let loops = Loops::new(&part.loops);
        for items in &part.classes {
            let (mut context, mut of_class) = (Context::default(), Vec::new());
            loops.visit(items, MAX_VISITS, &mut |_, call| {
                let next = numbers.len() as u32;
                of_class.push(*numbers.entry(context.add(call)).or_insert(next));
            });
            part.contexts.push(of_class);
        }
        numbers
    }

    /// Returns the computation on each path, whose contexts have these numbers.
    fn histograms(&self, numbers: &FxHashMap<u64, u32>) -> Vec<(part::Path, Computed)> {
        let of_bits = |number: u32| -> Place {
            let (function, site, bits) = self.calls.place_of(number);
            (function, site, OF_BITS + bits)
        };
        let in_context = |call: u32, state: u64| -> Place {
            let (function, site, _) = self.calls.place_of(self.calls.place(call));
            // One that was not visited counts among all calls there.
            (function, site, numbers.get(&state).map_or(part::ALL_CALLS, |number| IN_CONTEXT + number))
        };
        let by_contexts = self.by_contexts.iter().map(|(&(before, state), passage)| {
            let (from, to) = passage.calls;
            let from = from.checked_sub(1).map(|from| in_context(from, before));
            ((from, in_context(to, state)), passage.computed(self.options.own.start))
        });
        let by_places = self.by_places.iter().map(|(&(from, to), passage)| {
            let path = (from.checked_sub(1).map(of_bits), of_bits(to));
            (path, passage.computed(self.options.own.start))
        });
        by_contexts.chain(by_places).collect()
    }

    fn note_comms(&mut self, call: &Call) {
        for argument in call.arguments {
            let Value::Comm {
                object: ObjectArgument::Made { number, .. },
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
                let recorder::CommMembership { rank, peers, leaders } = member;
                self.comms.push(Seen { world_rank: call.rank, number, context, rank, size, peers, leaders });
            }
        }
    }

    /// Adds the call with this number, which a rank made.
    fn add(&mut self, at: usize, call: u32, took: Span) {
        self.grammar.add(&mut self.ranks[at].cursor, call);
        let rank = &mut self.ranks[at];
        let computed = Span::from_ps(std::mem::take(&mut rank.computed));
        match self.options.timing {
            Timing::None => {}
            Timing::Exact => rank.times.get_or_insert_default().add(computed, took),
            Timing::Histogram => self.add_computed(at, call, computed),
        }
        self.ranks[at].before = call + 1;
        if self.saving.is_due() {
            self.save();
        }
    }

    /// Adds what a rank computed before the call with this number; O(1).
    fn add_computed(&mut self, at: usize, call: u32, computed: Span) {
        let (rank, ps) = (&mut self.ranks[at], computed.as_ps());
        if self.options.ranks <= MAX_RANKS_IN_CONTEXT {
            let state = rank.context.get_or_insert_default().add(call);
            let path = (std::mem::replace(&mut rank.state, state), state);
            if computed == Span::ZERO {
                return;
            }
            if let Some(passage) = self.by_contexts.get_mut(&path)
                && let Some(of) = passage.ranks.get_mut(&(at as u32))
            {
                (of.count, of.sum) = (of.count + 1, of.sum.saturating_add(ps));
                passage.steps.add(of.count, ps);
                return passage.histogram.add(computed);
            }
            if rank.paths < MAX_PATHS {
                rank.paths += 1;
                let passage = self.by_contexts.entry(path).or_default();
                passage.calls = (rank.before, call);
                let of = PathComputation { first_count: 1, first_sum: ps, ..PathComputation::default() };
                passage.ranks.insert(at as u32, of);
                return passage.first.add(computed);
            }
        }
        if computed == Span::ZERO {
            return;
        }
        let from = rank.before.checked_sub(1).map_or(0, |before| self.calls.place(before) + 1);
        let passage = self.by_places.entry((from, self.calls.place(call))).or_default();
        passage.histogram.add(computed);
        if self.options.ranks <= MAX_RANKS {
            let of = passage.ranks.entry(at as u32).or_default();
            (of.count, of.sum) = (of.count + 1, of.sum.saturating_add(ps));
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

/// Returns the file of what processes recorded.
fn file_of(all: Vec<Saved>) -> Result<Vec<u8>, String> {
    saved::join(all).map(|joined| joined.file())
}

/// Puts what was folded into a part.
struct Exporter<'a> {
    grammar: &'a mut Grammar,
    /// The ones that are in the part, by their places there.
    loops: Dictionary<fold::Item>,
    part: &'a mut ProcessTrace,
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
            FoldKind::Symbol(call) => return Item::Call(call),
            FoldKind::Loop { body, count } => (body, count),
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

    fn site(&mut self, number: u32, place: &recorder::CodeLocation) {
        let name = self.symbols.name(place);
        self.encoder.site(number, &name);
    }

    fn recognizes(&self) -> bool {
        true
    }

    fn recognize(&mut self, call: &CallKey, left: &CallReturn) -> bool {
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

    fn call(&mut self, call: &Call, left: &CallReturn) {
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
