//! A recorded run once more, without the program: each rank makes the calls that a trace has of it
//! (docs/reference/replay.md), with the computation between them, on any machine.
//!
//! The results of a call in the recording are kept. A receive from any source is one from the source that it
//! had, and a wait for any of several requests is one for those that were complete. A poll that found
//! something waits for it, and one that found nothing is passed over.
//!
//! So a rank does what the program did with the answers that it got then, whatever the machine, and nothing
//! has to be decided while it runs. Messages and collectives take their time on the machine of the replay.

mod arguments;
mod bridge;
mod collective;
mod columns;
mod comparison;
mod compute;
mod file;
mod hints;
mod making;
mod operation;
mod outcome;
mod partitioned;
mod plan;
mod ports;
mod position;
mod ready;
mod types;
mod volley;
mod window;

pub use comparison::Comparison;

use crate::call::{
    Answer, Awaited, Call, Collective, Envelope, Exchange, Message, Partners, Requests, Series, Start,
    Volley, Wait,
};
use crate::workload::{Caller, CommStanding, Workload};
use arguments::{Comm, Partner, Received};
use collective::{CollectiveRole, Reducer};
use columns::Columns;
use compute::{Clockwork, Passage};
use engine::{Span, Time};
use mpi::Mpi;
use mpi::collective::Reducing;
use mpi::info::Info;
use mpi::point_to_point::SendMode;
use mpi::request::{ANY_SOURCE, ANY_TAG, UNDEFINED};
use mpi::volley::MAX_MESSAGES;
use operation::{Completed, Operation, Slots};
use plan::Plan;
use position::{Position, Way};
use ready::Waiting;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use trace::Trace;
use trace::trace::{Cell, Comms};

/// The most functions that a trace may name: a call's function is kept in 15 bits.
const MAX_FUNCTIONS: usize = 1 << 15;

/// Numbers of requests that a rank may have.
// It has room for as many as the greatest says.
const MAX_REQUESTS: u32 = 1 << 22;

/// A rank's position in its calls.
#[derive(Clone, Default)]
pub struct Cursor {
    position: Position,
    /// The calls up to now.
    calls: u64,
}

/// Objects that a rank has made, besides communicators and plain requests.
#[derive(Default)]
struct Made {
    /// Persistent requests: number, and the call that made it.
    persistent: Vec<(u32, u32)>,
    /// Operations that do not commute.
    ordered: Vec<u32>,
    /// Info objects, where there are files.
    infos: Vec<(u32, Rc<Info>)>,
}

/// Settings of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct How<'a> {
    /// `true` if receives and probes for any source or tag are decided anew, instead of as they were in the
    /// recording.
    pub decides: bool,
    /// `true` if clocks are compared with those of the recording.
    pub compares: bool,
    /// Functions whose calls are left out. What is computed before them stays.
    pub without: &'a [String],
}

/// The workload of a trace.
pub struct Replay<'t> {
    trace: &'t Trace,
    plan: Plan,
    columns: Columns,
    clockwork: Clockwork<'t>,
    names: &'static [&'static str],
    /// `true` if nothing is computed between calls, and no clocks are compared.
    is_timeless: bool,
    /// The clocks of the recording, if these are compared.
    expected: Vec<Time>,
    comparison: Comparison,
    decides: bool,
    /// Persistent requests and noncommutative operations, by the rank that made them. Few ranks make any.
    made: RefCell<FxHashMap<u32, Made>>,
}

/// A sentence that ends the run.
type Refusal = Box<str>;

impl<'t> Replay<'t> {
    /// Returns the replay of a trace by all its ranks.
    ///
    /// # Errors
    /// A sentence with the rank, the call and its place, if there is a call that cannot be replayed; or what
    /// else cannot be.
    pub fn new(trace: &'t Trace, How { decides, compares, without }: How) -> Result<Replay<'t>, String> {
        if trace.functions.len() >= MAX_FUNCTIONS {
            return Err(format!("the trace names {} functions, and MPI has fewer", trace.functions.len()));
        }
        if compares && trace.times.is_empty() {
            return Err(
                "clocks are compared with those of the recording where the trace has exact times: record it \
                 with -xsim-trace-times exact"
                    .to_owned(),
            );
        }
        let plan = Plan::new(trace, without)?;
        let columns = Columns::new(trace, plan.columns())?;
        let names = trace.functions.iter().map(|function| -> &'static str { function.name.clone().leak() });
        let names = names.collect::<Vec<_>>().leak();
        let clockwork = Clockwork::new(trace, &plan);
        let is_timeless = clockwork.is_still() && !compares;
        let expected = if compares { vec![Time::ZERO; trace.ranks as usize] } else { Vec::new() };
        Ok(Replay {
            trace,
            plan,
            columns,
            clockwork,
            names,
            is_timeless,
            expected,
            comparison: Comparison::default(),
            decides,
            made: RefCell::default(),
        })
    }

    /// Returns how many numbers its sites have, 0 among them.
    pub(crate) fn sites(&self) -> u32 {
        self.trace.sites.len() as u32 + 1
    }

    /// Returns the communicators of the trace.
    pub(crate) fn comms(&self) -> &'t Comms {
        &self.trace.comms
    }

    /// Gives functions of volleys other numbers: by their own.
    pub(crate) fn number_functions(&mut self, numbers: &[u16]) {
        self.plan.volleys.number_functions(numbers);
    }

    /// Restarts from the beginning, for another run whose ranks begin at a time.
    pub(crate) fn restart(&mut self, begins: Time) {
        self.clockwork.rewind(self.trace);
        self.expected.fill(begins);
        self.comparison = Comparison::default();
        self.made.borrow_mut().clear();
    }

    /// Returns the names of the functions that its calls have, for [`mpi::Setup`].
    pub fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// Returns what was found on all processes, on process 0, if clocks were compared. All call it after the
    /// run.
    pub fn comparison(&self, mpi: &Mpi) -> Option<Comparison> {
        if self.expected.is_empty() { None } else { self.comparison.together(mpi) }
    }

    fn number(&self, cursor: &Cursor, cell: Cell) -> i64 {
        self.columns.number(cell, &cursor.position)
    }

    /// Returns the number of a request, as ranks of [`Machines`](crate::Machines) have it: from 0.
    fn slot(&self, cursor: &Cursor, cell: Cell) -> u32 {
        u32::try_from(self.number(cursor, cell) - 1).unwrap_or(0)
    }

    fn comm(&self, caller: &Caller, cursor: &Cursor, comm: Comm) -> Result<u32, Refusal> {
        match comm {
            Comm::World => Ok(Call::WORLD),
            Comm::Own => Ok(Call::SELF),
            Comm::Made(cell) => {
                let number = self.number(cursor, cell);
                match u32::try_from(number) {
                    Ok(number) if number > 0 && number <= caller.made() => Ok(number + Call::SELF),
                    _ => Err(format!(
                        "comm#{number} was made by a call that the trace does not have, or by one of several \
                         MPI_Comm_idup that it does not tell apart"
                    )
                    .into()),
                }
            }
        }
    }

    /// Returns a rank in a communicator, from how a trace tells it.
    fn rank(&self, caller: &Caller, comm: u32, told: i64) -> Result<i32, Refusal> {
        let peer = trace::template::Peer::of(told);
        if let trace::template::Peer::Absolute(rank) = peer {
            return Ok(rank);
        }
        let (rank, peers) = match comm {
            Call::WORLD => (caller.rank, self.trace.ranks),
            comm => caller.position(comm).ok_or("a communicator that the rank has freed")?,
        };
        Ok(peer.rank(trace::template::Position { rank, peers }))
    }

    fn envelope(&self, caller: &Caller, cursor: &Cursor, partner: &Partner) -> Result<Envelope, Refusal> {
        let comm = self.comm(caller, cursor, partner.comm)?;
        let peer = self.rank(caller, comm, self.number(cursor, partner.rank))?;
        let tag = self.number(cursor, partner.tag) as i32;
        Ok(Envelope { peer, tag, comm, bytes: self.bytes(cursor, partner.length) })
    }

    fn bytes(&self, cursor: &Cursor, (count, size): (Cell, Cell)) -> u64 {
        (self.number(cursor, count).max(0) as u64).saturating_mul(self.number(cursor, size).max(0) as u64)
    }

    /// Returns what a receive from any source, or of any tag, received: `None` if its status says nothing of
    /// a message.
    fn received(&self, caller: &Caller, cursor: &Cursor, comm: u32, status: Received) -> Option<(i32, i32)> {
        let source = self.rank(caller, comm, self.number(cursor, status.source)).ok()?;
        (source >= 0).then(|| (source, self.number(cursor, status.tag) as i32))
    }

    /// Returns the envelope of a receive that blocks, or of a probe: that of the message that it had in the
    /// recording.
    fn named(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        partner: &Partner,
        status: Option<Received>,
    ) -> Result<Envelope, Refusal> {
        let mut envelope = self.envelope(caller, cursor, partner)?;
        if is_open(&envelope)
            && !self.decides
            && let Some((source, tag)) =
                status.and_then(|status| self.received(caller, cursor, envelope.comm, status))
        {
            (envelope.peer, envelope.tag) = (source, tag);
        }
        Ok(envelope)
    }

    /// Returns the envelope of a receive that is started: that of the message that it got in the recording;
    /// `None` if it was cancelled.
    fn posted(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        partner: &Partner,
        slot: u32,
    ) -> Result<Option<Envelope>, Refusal> {
        let mut envelope = self.envelope(caller, cursor, partner)?;
        if !(is_open(&envelope) && !self.decides || self.plan.cancels) {
            return Ok(Some(envelope));
        }
        match self.outcome(cursor, slot) {
            Some(outcome) if outcome.is_cancelled => return Ok(None),
            // A status names its source by itself, without a communicator beside it.
            Some(outcome) if is_open(&envelope) && !self.decides => {
                if let Ok(source) = self.rank(caller, Call::WORLD, outcome.source)
                    && source >= 0
                {
                    (envelope.peer, envelope.tag) = (source, outcome.tag);
                }
            }
            _ => {}
        }
        Ok(Some(envelope))
    }

    /// Returns the call that the cursor is at, which has this number.
    fn call(&self, caller: &Caller, cursor: &Cursor, number: u32) -> Result<Call, Refusal> {
        let call = self.operation(caller, cursor, (number, &self.plan.operations[number as usize]))?;
        match call.number() {
            Some(request) if request >= MAX_REQUESTS => {
                Err(format!("its request has the number {request}, and {MAX_REQUESTS} are followed").into())
            }
            _ => Ok(call),
        }
    }

    /// Returns the call that an operation is, which the call of this number makes.
    fn operation(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        (number, operation): (u32, &Operation),
    ) -> Result<Call, Refusal> {
        Ok(match operation {
            Operation::Local | Operation::Look { .. } | Operation::Refused(_) => Call::Local,
            Operation::Send { mode, to, request } => {
                let envelope = self.envelope(caller, cursor, to)?;
                match request {
                    Some(request) => Call::Isend(*mode, envelope, self.slot(cursor, *request)),
                    None => Call::Send(*mode, envelope),
                }
            }
            Operation::Receive { from, status } => Call::Recv(self.named(caller, cursor, from, *status)?),
            Operation::Ireceive { from, request } => {
                let slot = self.slot(cursor, *request);
                self.posted(caller, cursor, from, slot)?
                    .map_or(Call::Local, |envelope| Call::Irecv(envelope, slot))
            }
            Operation::Probe { flag, .. } if self.is_vain(cursor, *flag) => Call::Local,
            Operation::Probe { from, status, message, .. } => {
                let envelope = self.named(caller, cursor, from, *status)?;
                match message {
                    Some(message) => Call::Mprobe(envelope, self.slot(cursor, *message)),
                    None => Call::Probe(envelope),
                }
            }
            Operation::ReceiveProbed { message, length, request } => {
                let Some(message) = message else { return Ok(Call::Local) };
                let (message, bytes) = (self.slot(cursor, *message), self.bytes(cursor, *length));
                match request {
                    Some(request) => Call::Imrecv(message, bytes, self.slot(cursor, *request)),
                    None => Call::Mrecv(message, bytes),
                }
            }
            Operation::Exchange { to, from, status, request, replaces } => {
                let to = self.envelope(caller, cursor, to)?;
                match request {
                    None => {
                        let from = self.named(caller, cursor, from, *status)?;
                        Call::SendReceive(Box::new(Exchange { to, from, replaces: *replaces }))
                    }
                    Some(request) => {
                        let slot = self.slot(cursor, *request);
                        match self.posted(caller, cursor, from, slot)? {
                            Some(from) => {
                                Call::IsendReceive(Box::new(Exchange { to, from, replaces: *replaces }), slot)
                            }
                            None => Call::Isend(SendMode::Ready, to, slot),
                        }
                    }
                }
            }
            Operation::Complete { flag, requests, completed, .. } => {
                if self.is_vain(cursor, *flag) {
                    Call::Local
                } else {
                    self.complete(cursor, flag.is_some(), requests, completed)
                }
            }
            Operation::Persistent { request } => {
                let slot = self.slot(cursor, *request);
                let mut made = self.made.borrow_mut();
                let persistent = &mut made.entry(caller.rank).or_default().persistent;
                persistent.retain(|&(known, _)| known != slot);
                persistent.push((slot, number));
                Call::Local
            }
            Operation::Start { requests } => self.start(caller, cursor, requests)?,
            Operation::FreeRequest { request } => {
                let Some(slot) = request.map(|request| self.slot(cursor, request)) else {
                    return Ok(Call::Local);
                };
                if let Some(made) = self.made.borrow_mut().get_mut(&caller.rank) {
                    made.persistent.retain(|&(known, _)| known != slot);
                }
                Call::FreeRequest(slot)
            }
            Operation::Collective(plan) => {
                let collective = Box::new(self.collective(caller, cursor, plan)?);
                match plan.request {
                    Some(request) if plan.is_persistent => {
                        Call::PersistentCollective(collective, self.slot(cursor, request))
                    }
                    Some(request) => Call::Icollective(collective, self.slot(cursor, request)),
                    None => Call::Collective(collective),
                }
            }
            Operation::Bridge(bridge) => self.bridging(caller, cursor, bridge)?,
            Operation::Port(port) => self.port(caller, cursor, port)?,
            Operation::Make { comm, how } => self.make(caller, cursor, *comm, how)?,
            Operation::MakeOp { op, commutes } => {
                let (slot, commutes) = (self.slot(cursor, *op), self.number(cursor, *commutes) != 0);
                let mut made = self.made.borrow_mut();
                let ordered = &mut made.entry(caller.rank).or_default().ordered;
                ordered.retain(|&known| known != slot);
                ordered.extend((!commutes).then_some(slot));
                Call::Local
            }
            Operation::Window(window) => self.window(caller, cursor, window)?,
            Operation::Partitioned(call) => self.partitioned(caller, cursor, call)?,
            Operation::RefusedCollective(comm) => Call::Refused(self.comm(caller, cursor, *comm)?),
            // What cannot be made of it had no effect.
            Operation::Failed(of) => match self.operation(caller, cursor, (number, of)) {
                Ok(Call::Local) | Err(_) => Call::Local,
                Ok(call) => Call::Failing(Box::new(call)),
            },
            Operation::File(file) => self.file(caller, cursor, file)?,
            Operation::Type(layout) => self.layout(caller, cursor, layout)?,
            Operation::Info(info) => self.change_info(caller, cursor, info),
            Operation::FreeComm { comm } => match comm {
                Comm::Made(_) => Call::FreeComm(self.comm(caller, cursor, *comm)?),
                _ => Call::Local,
            },
        })
    }

    /// Returns `true` if a poll found nothing.
    fn is_vain(&self, cursor: &Cursor, flag: Option<Cell>) -> bool {
        flag.is_some_and(|flag| self.number(cursor, flag) == 0)
    }

    /// Returns a wait for the requests that were complete in the recording.
    fn complete(&self, cursor: &Cursor, polls: bool, requests: &Slots, completed: &Completed) -> Call {
        let one = |index: i64| -> Option<u32> {
            match requests {
                Slots::Same(slots) => slots.get(usize::try_from(index).ok()?).copied(),
                Slots::Each(cells) => {
                    (*cells.get(usize::try_from(index).ok()?)?).map(|cell| self.slot(cursor, cell))
                }
            }
        };
        let all = || -> Rc<[u32]> {
            match requests {
                Slots::Same(slots) => slots.clone(),
                Slots::Each(cells) => cells.iter().flatten().map(|&cell| self.slot(cursor, cell)).collect(),
            }
        };
        let these: Rc<[u32]> = match completed {
            Completed::All => all(),
            Completed::Any => return Call::Complete(Wait::Any, Requests::These(all())),
            Completed::One(index) => match self.number(cursor, *index) {
                index if index == i64::from(UNDEFINED) => return Call::Local,
                index => one(index).into_iter().collect(),
            },
            Completed::Some(indices) => {
                indices.iter().filter_map(|&index| one(self.number(cursor, index))).collect()
            }
        };
        let wait = if polls { Wait::Tested } else { Wait::All };
        if these.is_empty() { Call::Local } else { Call::Complete(wait, Requests::These(these)) }
    }

    fn start(&self, caller: &Caller, cursor: &Cursor, requests: &[Cell]) -> Result<Call, Refusal> {
        let mut calls = Vec::with_capacity(requests.len());
        for &request in requests {
            let slot = self.slot(cursor, request);
            let made = self.made.borrow();
            let known = made
                .get(&caller.rank)
                .and_then(|made| made.persistent.iter().find(|(known, _)| *known == slot));
            let Some(&(_, call)) = known else {
                calls.push(Call::Start(slot));
                continue;
            };
            let started = match &self.plan.persistent[&call] {
                Operation::Send { mode, to, .. } => {
                    Some(Call::Isend(*mode, self.envelope(caller, cursor, to)?, slot))
                }
                Operation::Ireceive { from, .. } => {
                    self.posted(caller, cursor, from, slot)?.map(|envelope| Call::Irecv(envelope, slot))
                }
                _ => None,
            };
            calls.extend(started);
        }
        Ok(if calls.len() == 1 { calls.remove(0) } else { Call::Several(calls.into()) })
    }

    fn collective(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        plan: &collective::Collective,
    ) -> Result<Collective, Refusal> {
        let comm = self.comm(caller, cursor, plan.comm)?;
        let root = plan.root.map(|root| self.rank(caller, comm, self.number(cursor, root))).transpose()?;
        let me = self.standing(caller, comm).ok_or("a communicator that the rank has freed")?;
        let bytes = |length| self.bytes(cursor, length);
        let (bytes, blocks) = plan.lengths(CollectiveRole::of(&me, root), &me, &bytes)?;
        let reduction = plan.reducer.map(|reducer| self.reducing(caller, cursor, reducer));
        let is_irregular = plan.is_irregular();
        Ok(Collective { kind: plan.kind, comm, root, bytes, blocks, is_irregular, reduction })
    }

    /// Returns a rank's standing in a communicator; `None` where it has none of this number.
    fn standing(&self, caller: &Caller, comm: u32) -> Option<CommStanding> {
        let (rank, peers) = (caller.rank, self.trace.ranks);
        match comm {
            Call::WORLD => Some(CommStanding { rank, size: peers, peers, is_inter: false }),
            comm => caller.standing(comm),
        }
    }

    fn reducing(&self, caller: &Caller, cursor: &Cursor, reducer: Reducer) -> Reducing {
        match reducer {
            Reducer::Predefined(known) => known,
            Reducer::Function { op, element } => {
                let slot = self.slot(cursor, op);
                let is_ordered =
                    self.made.borrow().get(&caller.rank).is_some_and(|made| made.ordered.contains(&slot));
                Reducing::Function {
                    commutative: !is_ordered,
                    element: self.number(cursor, element).max(0) as u64,
                }
            }
        }
    }

    /// Returns what the rank computes before its call, which is counted, on the way from the step behind the
    /// `last`; `polls` says whether it is a poll that found nothing.
    #[inline(always)]
    fn computed(
        &mut self,
        caller: &Caller,
        cursor: &mut Cursor,
        (last, call): (u32, u32),
        polls: bool,
    ) -> Span {
        let span = self.clockwork.before(
            caller.rank,
            Passage { last, call, calls: cursor.calls, polls },
            &self.plan,
        );
        if let Some(expected) = self.expected.get_mut(caller.rank as usize) {
            *expected = self.clockwork.ended(*expected);
        }
        cursor.calls += 1;
        span
    }

    /// Goes the way to the place behind this call: what the rank computes before it.
    #[inline(always)]
    fn pass(&mut self, caller: &Caller, cursor: &mut Cursor, call: u32, way: Way) -> Span {
        if self.is_timeless {
            cursor.position.pass(way);
            cursor.calls += 1;
            return Span::ZERO;
        }
        self.compare(caller, cursor);
        let last = cursor.position.step;
        cursor.position.pass(way);
        self.computed(caller, cursor, (last, call), false)
    }

    #[inline]
    fn compare(&mut self, caller: &Caller, cursor: &Cursor) {
        let Some(&expected) = self.expected.get(caller.rank as usize) else { return };
        if cursor.calls == 0 {
            return;
        }
        let (plan, trace) = (&self.plan, self.trace);
        let told = || format!("call {}{}", cursor.calls - 1, plan.told(trace, cursor.position.step));
        self.comparison.note(caller.rank, caller.clock, expected, told);
    }

    /// Returns the call that a rank made last.
    fn latest(&self, cursor: &Cursor) -> Option<u32> {
        self.plan.call_before(cursor.position.step)
    }
}

/// Returns `true` if a receive takes messages of several sources or tags.
fn is_open(envelope: &Envelope) -> bool {
    envelope.peer == ANY_SOURCE || envelope.tag == ANY_TAG
}

impl Workload for Replay<'_> {
    type Cursor = Cursor;

    fn next(&mut self, caller: &Caller, cursor: &mut Cursor, _: &Answer) -> (Span, Call) {
        self.compare(caller, cursor);
        if cursor.calls == 0 {
            cursor.position = self.plan.begin(caller.rank);
        }
        let last = cursor.position.step;
        let Some(call) = self.plan.next(&mut cursor.position, &self.columns) else {
            return (Span::ZERO, Call::End);
        };
        let flag = self.plan.operations[call as usize].flag();
        let span = self.computed(caller, cursor, (last, call), self.is_vain(cursor, flag));
        let ready = self.plan.ready[call as usize].as_ref();
        match ready.and_then(|ready| self.ready(caller, cursor, ready)) {
            Some(message) => (span, message.into()),
            None => (span, self.call(caller, cursor, call).unwrap_or_else(Call::Fail)),
        }
    }

    // What `next` does for such a call, in as few steps as there are.
    #[inline(always)]
    fn message(&mut self, caller: &Caller, cursor: &mut Cursor) -> Option<(Span, u16, Message)> {
        // The first call of all finds the rank's place.
        if cursor.calls == 0 {
            return None;
        }
        let (call, ready, passage) = self.plan.ready(&cursor.position)?;
        let (function, message) = (ready.function, self.ready(caller, cursor, ready)?);
        Some((self.pass(caller, cursor, call, passage), function, message))
    }

    #[inline(always)]
    fn series(&mut self, _: &Caller, cursor: &Cursor) -> Option<Series> {
        let (calls, ready) = self.plan.series(&cursor.position)?;
        let starts = ready.starts().filter(|_| cursor.calls > 0)?;
        Some(Series { function: ready.function, starts, comm: ready.comm, calls })
    }

    #[inline(always)]
    fn start(&mut self, caller: &Caller, cursor: &mut Cursor, partners: &Partners) -> Option<(Span, Start)> {
        let (call, ready, way) = self.plan.in_series(&cursor.position)?;
        let start = self.in_series(cursor, ready, partners)?;
        Some((self.pass(caller, cursor, call, way), start))
    }

    #[inline(always)]
    fn wait(&mut self, caller: &Caller, cursor: &mut Cursor) -> Option<(Span, u16, &Awaited)> {
        if cursor.calls == 0 {
            return None;
        }
        let (call, _, passage) = self.plan.waiting(&cursor.position)?;
        let span = self.pass(caller, cursor, call, passage);
        let Waiting { function, awaited } = self.plan.wait(call)?;
        Some((span, *function, awaited))
    }

    #[inline(always)]
    fn has_volley(&self, cursor: &Cursor) -> bool {
        self.plan.volleys.any_at(&cursor.position)
    }

    // Where clocks are compared, each call is by itself.
    #[inline(always)]
    fn volley(
        &self,
        cursor: &Cursor,
        with: impl FnOnce(u32) -> Option<[Partners; 2]>,
        others: &mut [u32; MAX_MESSAGES],
    ) -> Option<Rc<Volley>> {
        let planned = self
            .plan
            .volleys
            .at(&cursor.position)
            .filter(|_| cursor.calls > 0 && self.expected.is_empty())?;
        let [sends, receives] = with(planned.volley.comm)?;
        for (other, (rank, sent)) in others.iter_mut().zip(&planned.others) {
            *other = self.partner(cursor, *rank, if *sent { &sends } else { &receives })?;
        }
        Some(planned.volley.clone())
    }

    #[inline(always)]
    fn fire(&mut self, caller: &Caller, cursor: &mut Cursor, computed: &mut Vec<Span>) {
        computed.clear();
        let Replay { plan, clockwork, .. } = self;
        let Some(planned) = plan.volleys.begun(&cursor.position) else { return };
        if self.is_timeless {
            planned.behind().pass(&mut cursor.position);
            cursor.calls += planned.path.len() as u64;
            return;
        }
        for lead in &planned.path {
            let last = cursor.position.step;
            let call = lead.pass(&mut cursor.position);
            computed.push(clockwork.before(
                caller.rank,
                Passage { last, call, calls: cursor.calls, polls: false },
                plan,
            ));
            cursor.calls += 1;
        }
    }

    fn function(&self, cursor: &Cursor, call: &Call) -> Option<u16> {
        match call {
            Call::Compute(_) | Call::Fail(_) | Call::End => None,
            _ => self.latest(cursor).map(|call| self.plan.functions[call as usize]),
        }
    }

    // `MPI_Init` is a call like others.
    fn begins_with(&self) -> Option<u16> {
        None
    }

    fn site(&self, cursor: &Cursor) -> u32 {
        self.latest(cursor).map_or(0, |call| self.plan.site(self.trace, call))
    }

    fn site_name(&self, site: u32) -> String {
        self.trace.site(site).to_string()
    }

    fn place(&self, cursor: &Cursor) -> String {
        match cursor.calls.checked_sub(1) {
            Some(number) => format!(" (call {number}{})", self.plan.told(self.trace, cursor.position.step)),
            None => String::new(),
        }
    }
}
