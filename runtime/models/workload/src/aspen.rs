//! A model in Aspen, walked by all ranks: what `xsim aspen generate` writes as a program, without the
//! program.
//!
//! All ranks share the plan. Where a rank is in it is one number, its place in the plan with all loops
//! unrolled, so that loops within loops cost a rank nothing.

use crate::call::{Answer, Call, Collective, Envelope, Requests, Wait};
use crate::workload::{Caller, Workload};
use ::aspen::{
    AspenError, Collective as Kinds, CommunicationPattern, ExecutionPlan, Operation, PlanNode, Step,
    StepExchange,
};
use engine::Span;
use mpi::abi::{MPI_DOUBLE, MPI_FLOAT, MPI_MAX, MPI_MIN, MPI_PROD, MPI_SUM, MPI_UNSIGNED_CHAR};
use mpi::collective::Reducing;
use mpi::point_to_point::SendMode;
use mpi::request::ANY_SOURCE;
use mpi::schedule::Kind;

/// Parts one behind the other, with the places where they begin when all loops are unrolled.
#[derive(Default)]
struct Block {
    begins: Vec<u64>,
    items: Vec<Item>,
    length: u64,
}

enum Item {
    /// An action, by its number.
    Action(u32),
    Repeat(Block),
}

/// An action of a rank at one place of the plan.
enum Action {
    Compute(Span),
    Collective(Collective),
    /// Messages to and from the neighbours, all at a time.
    Exchange(StepExchange),
    /// Messages from those before, then to those behind.
    Sweep(StepExchange),
    /// A message to a rank that is drawn.
    Random(Step),
}

/// A rank's place in a walk.
#[derive(Clone, Default)]
pub struct Cursor {
    /// The place in the plan, all loops unrolled.
    place: u64,
    /// The action there and one more, 0 until it is looked up.
    action: u32,
    /// Calls that the rank has made in the current action.
    calls: u32,
    /// Random steps so far.
    draws: u32,
}

/// The number of a random step, and the messages that each rank gets in it.
struct Draw {
    number: u32,
    expected: Vec<u32>,
}

/// The workload of a plan.
pub struct Walk {
    ranks: u32,
    root: Block,
    actions: Vec<Action>,
    /// The random steps in which ranks are: two at most, since a barrier follows each.
    draws: Vec<Draw>,
}

impl Walk {
    /// Returns the walk of a plan by so many ranks.
    ///
    /// # Errors
    /// So many ranks make no grid for a step; a computation or the whole walk is too long.
    pub fn new(plan: &ExecutionPlan, ranks: u32) -> Result<Walk, AspenError> {
        let mut walk = Walk { ranks, root: Block::default(), actions: Vec::new(), draws: Vec::new() };
        walk.root = walk.block(&plan.parts)?;
        Ok(walk)
    }

    fn block(&mut self, parts: &[PlanNode]) -> Result<Block, AspenError> {
        let mut block = Block::default();
        for part in parts {
            let (item, length) = match part {
                PlanNode::Repeat(times, parts) => {
                    let inner = self.block(parts)?;
                    let length = inner.length.checked_mul(*times).filter(|&length| length < 1 << 63);
                    let length = length.ok_or_else(|| {
                        AspenError::new(
                            "a rank would do more than 2^63 steps: a smaller number helps (--param)",
                        )
                    })?;
                    (Item::Repeat(inner), length)
                }
                PlanNode::Compute(seconds) => {
                    let span = Span::from_seconds(*seconds);
                    let span = span.ok_or_else(|| {
                        AspenError::new(format!(
                            "a rank would compute for {seconds} seconds at a time, longer than virtual time"
                        ))
                    })?;
                    (self.action(Action::Compute(span)), 1)
                }
                PlanNode::Communicate(step) => {
                    let action = self.communication(step)?;
                    (self.action(action), 1)
                }
            };
            if length > 0 {
                block.begins.push(block.length);
                block.items.push(item);
                block.length = block.length.saturating_add(length);
            }
        }
        Ok(block)
    }

    fn action(&mut self, action: Action) -> Item {
        self.actions.push(action);
        Item::Action(self.actions.len() as u32 - 1)
    }

    fn communication(&self, step: &Step) -> Result<Action, AspenError> {
        let exchange = || StepExchange::new(step, self.ranks.into());
        Ok(match step.pattern {
            CommunicationPattern::Collective(which, operation) => {
                Action::Collective(collective(which, operation, step.bytes()))
            }
            CommunicationPattern::Sweep(_) => Action::Sweep(exchange()?),
            CommunicationPattern::Random => Action::Random(*step),
            CommunicationPattern::Neighbors(_)
            | CommunicationPattern::Shift { .. }
            | CommunicationPattern::Unaddressed => Action::Exchange(exchange()?),
        })
    }

    /// Returns the action at a place. O(loops within each other * log(parts)).
    fn at(&self, mut place: u64) -> Option<u32> {
        if place >= self.root.length {
            return None;
        }
        let mut block = &self.root;
        loop {
            let item = block.begins.partition_point(|&begin| begin <= place) - 1;
            match &block.items[item] {
                Item::Action(action) => return Some(*action),
                Item::Repeat(inner) => {
                    place = (place - block.begins[item]) % inner.length;
                    block = inner;
                }
            }
        }
    }

    /// Returns to whom a rank sends in a random step, if not to itself.
    fn drawn(&self, step: &Step, draw: u32, rank: u32) -> Option<u32> {
        step.sends(rank.into(), self.ranks.into(), None, draw.into())
            .first()
            .map(|message| message.peer as u32)
    }

    /// Returns how many messages a rank gets in a random step. O(ranks) once a step.
    fn expected(&mut self, step: &Step, draw: u32, rank: u32) -> u32 {
        if !self.draws.iter().any(|known| known.number == draw) {
            let mut expected = vec![0; self.ranks as usize];
            (0..self.ranks)
                .filter_map(|from| self.drawn(step, draw, from))
                .for_each(|to| expected[to as usize] += 1);
            self.draws.retain(|known| known.number + 1 >= draw);
            self.draws.push(Draw { number: draw, expected });
        }
        self.draws.iter().find(|known| known.number == draw).map_or(0, |known| known.expected[rank as usize])
    }

    /// Returns the next call of a random step.
    fn random(&mut self, step: Step, rank: u32, cursor: &mut Cursor) -> Option<Call> {
        let number = cursor.calls;
        cursor.calls += 1;
        if number == 0
            && let Some(to) = self.drawn(&step, cursor.draws, rank)
        {
            return Some(Call::Isend(SendMode::Standard, envelope(to as i32, step.bytes()), 0));
        }
        let (number, expected) = (number.max(1), self.expected(&step, cursor.draws, rank));
        cursor.calls = number + 1;
        match number.checked_sub(expected + 1) {
            None => Some(Call::Recv(envelope(ANY_SOURCE, step.bytes()))),
            Some(0) => Some(finish()),
            // A message of the next step must not be taken for one of this.
            Some(1) => Some(Call::Collective(Box::new(collective(Kinds::Barrier, Operation::Sum, 0)))),
            Some(_) => {
                cursor.draws += 1;
                None
            }
        }
    }
}

fn envelope(peer: i32, bytes: u64) -> Envelope {
    Envelope { peer, tag: 0, comm: Call::WORLD, bytes }
}

fn finish() -> Call {
    Call::Complete(Wait::All, Requests::All)
}

fn send(message: ::aspen::Message, number: u32) -> Call {
    Call::Isend(SendMode::Standard, envelope(message.peer as i32, message.bytes), number)
}

fn receive(message: ::aspen::Message, number: u32) -> Call {
    Call::Irecv(envelope(message.peer as i32, message.bytes), number)
}

/// Returns the next call of an exchange: in each direction a receive and a send, then a wait for all. Returns
/// `None` at its end.
fn exchanged(exchange: &StepExchange, rank: u32, calls: &mut u32) -> Option<Call> {
    let rank = u64::from(rank);
    loop {
        let (number, direction, sends) = (*calls, *calls as usize / 2, *calls % 2 == 1);
        *calls += 1;
        if direction == exchange.len() {
            return (!sends).then(finish);
        }
        let call = match sends {
            true => exchange.sends(rank, direction).map(|message| send(message, number)),
            false => exchange.receives(rank, direction).map(|message| receive(message, number)),
        };
        if call.is_some() {
            return call;
        }
    }
}

/// Returns the next call of a step that makes all receives and a wait, then all sends and a wait.
fn swept(exchange: &StepExchange, rank: u32, calls: &mut u32) -> Option<Call> {
    let (rank, each) = (u64::from(rank), exchange.len() + 1);
    loop {
        let (direction, sends) = (*calls as usize % each, *calls as usize / each);
        *calls += 1;
        let call = match (sends, direction) {
            (2.., _) => return None,
            (_, direction) if direction == exchange.len() => Some(finish()),
            (0, direction) => {
                exchange.receives(rank, direction).map(|message| receive(message, direction as u32))
            }
            (_, direction) => exchange.sends(rank, direction).map(|message| send(message, direction as u32)),
        };
        if call.is_some() {
            return call;
        }
    }
}

fn collective(which: Kinds, operation: Operation, bytes: u64) -> Collective {
    // The largest type that divides the bytes, as in the generated program.
    let datatype = match bytes {
        bytes if bytes % 8 == 0 => MPI_DOUBLE,
        bytes if bytes % 4 == 0 => MPI_FLOAT,
        _ => MPI_UNSIGNED_CHAR,
    };
    let of = match operation {
        Operation::Sum => MPI_SUM,
        Operation::Min => MPI_MIN,
        Operation::Max => MPI_MAX,
        Operation::Prod => MPI_PROD,
    };
    let (kind, root) = match which {
        Kinds::Allreduce => (Kind::Allreduce, None),
        Kinds::Reduce => (Kind::Reduce, Some(0)),
        Kinds::Scan => (Kind::Scan, None),
        Kinds::Bcast => (Kind::Bcast, Some(0)),
        Kinds::Barrier => (Kind::Barrier, None),
        Kinds::Allgather => (Kind::Allgather, None),
        Kinds::Alltoall => (Kind::Alltoall, None),
        Kinds::Scatter => (Kind::Scatter, Some(0)),
        Kinds::Gather => (Kind::Gather, Some(0)),
    };
    let bytes = if which == Kinds::Barrier { 0 } else { bytes };
    Collective {
        kind,
        comm: Call::WORLD,
        root,
        bytes,
        blocks: None,
        is_irregular: false,
        reduction: which.reduces().then_some(Reducing::Predefined { op: of, datatype }),
    }
}

impl Workload for Walk {
    type Cursor = Cursor;

    fn site_name(&self, _: u32) -> String {
        "model".to_owned()
    }

    fn next(&mut self, &Caller { rank, .. }: &Caller, cursor: &mut Cursor, _: &Answer) -> (Span, Call) {
        loop {
            if cursor.action == 0 {
                let Some(action) = self.at(cursor.place) else { return (Span::ZERO, Call::End) };
                (cursor.action, cursor.calls) = (action + 1, 0);
            }
            let calls = &mut cursor.calls;
            let call = match &self.actions[cursor.action as usize - 1] {
                Action::Exchange(exchange) => exchanged(exchange, rank, calls),
                Action::Sweep(exchange) => swept(exchange, rank, calls),
                Action::Compute(span) => once(calls, || Call::Compute(*span)),
                Action::Collective(collective) => {
                    once(calls, || Call::Collective(Box::new(collective.clone())))
                }
                &Action::Random(step) => self.random(step, rank, cursor),
            };
            match call {
                Some(call) => return (Span::ZERO, call),
                None => (cursor.place, cursor.action) = (cursor.place + 1, 0),
            }
        }
    }
}

fn once(calls: &mut u32, call: impl FnOnce() -> Call) -> Option<Call> {
    *calls += 1;
    (*calls == 1).then(call)
}
