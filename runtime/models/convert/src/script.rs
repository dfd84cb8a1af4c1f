//! The common part of all writers of ranks' calls: they follow the calls of a rank, and know who is who in a
//! communicator.

use engine::Span;
use mpi::schedule::Kind;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use trace::Trace;
use trace::trace::Instance;
use workload::{Call, Collective, Envelope, How, Replay, Script, Workload};

/// Returns a replay that keeps what the recording decided, with computation as recorded.
///
/// # Errors
/// A sentence, if there is a call that cannot be replayed.
pub fn replay<'t>(trace: &'t Trace, without: &[String]) -> Result<Replay<'t>, String> {
    Replay::new(trace, How { decides: false, compares: false, without })
}

/// The reason why a rank is not written to its end.
pub enum Stop {
    /// The file cannot be written.
    Cannot(std::io::Error),
    /// The format has no words for a call.
    Refused(String),
}

impl From<std::io::Error> for Stop {
    fn from(why: std::io::Error) -> Stop {
        Stop::Cannot(why)
    }
}

/// Writes what one rank does.
pub trait Writing {
    /// Computes.
    fn compute(&mut self, span: Span) -> std::io::Result<()>;
    /// Makes a call.
    fn call(&mut self, call: Call) -> Result<(), Stop>;
}

/// Writes all that a rank does; `cannot` explains what the file's system says.
pub fn follow<W: Workload>(
    script: &mut Script<'_, '_, W>,
    writing: &mut impl Writing,
    cannot: &impl Fn(std::io::Error) -> String,
) -> Result<(), String> {
    while let Some((computed, call)) = script.next()? {
        writing.compute(computed).map_err(cannot)?;
        match writing.call(call) {
            Ok(()) => {}
            Err(Stop::Cannot(why)) => return Err(cannot(why)),
            Err(Stop::Refused(why)) => return Err(script.refusal(&why)),
        }
    }
    Ok(())
}

/// Messages that were probed and not received, by their numbers.
#[derive(Default)]
pub struct Probed(FxHashMap<u32, Envelope>);

impl Probed {
    /// Keeps the envelope of a message that was probed.
    pub fn keep(&mut self, message: u32, envelope: Envelope) {
        self.0.insert(message, envelope);
    }

    /// Takes out the envelope of a message that is received, into so many bytes.
    pub fn take(&mut self, message: u32, bytes: u64) -> Result<Envelope, Stop> {
        let envelope = self.0.remove(&message);
        envelope
            .map(|envelope| Envelope { bytes, ..envelope })
            .ok_or_else(|| Stop::Refused("it receives what was not probed".to_owned()))
    }
}

/// The members of a communicator.
#[derive(Clone, Debug)]
pub enum Group {
    /// So many ranks, all of the trace.
    World(u32),
    /// One rank alone.
    Own(u32),
    /// These ranks of the trace.
    Listed(Rc<[u32]>),
}

impl Group {
    /// Returns how many there are.
    pub fn size(&self) -> u32 {
        match self {
            Group::World(ranks) => *ranks,
            Group::Own(_) => 1,
            Group::Listed(ranks) => ranks.len() as u32,
        }
    }

    /// Returns the rank in the trace of member `place`; `None` if there is none.
    pub fn rank(&self, place: i32) -> Option<u32> {
        let place = u32::try_from(place).ok().filter(|&place| place < self.size())?;
        Some(match self {
            Group::World(_) => place,
            Group::Own(rank) => *rank,
            Group::Listed(ranks) => ranks[place as usize],
        })
    }

    /// Returns the place of a rank of the trace.
    pub fn place(&self, rank: u32) -> Option<u32> {
        match self {
            Group::World(_) => Some(rank),
            Group::Own(_) => Some(0),
            Group::Listed(ranks) => ranks.iter().position(|&known| known == rank).map(|place| place as u32),
        }
    }

    /// Returns `true` if it has all ranks of the trace in their order.
    pub fn is_world(&self, ranks: u32) -> bool {
        self.size() == ranks && (0..ranks).all(|place| self.rank(place as i32) == Some(place))
    }
}

/// The reason why calls on intercommunicators are not written.
pub const BETWEEN_GROUPS: &str = "the format has no intercommunicators";

/// The communicators of a trace.
pub struct Groups<'t> {
    trace: &'t Trace,
    members: FxHashMap<Instance, Rc<[u32]>>,
    /// A number for each that a program made, from 2 on.
    numbers: FxHashMap<Instance, u32>,
}

impl<'t> Groups<'t> {
    /// Collects the communicators of a trace; O(members).
    pub fn of(trace: &'t Trace) -> Result<Groups<'t>, String> {
        let members = trace.comms.groups()?;
        let mut instances: Vec<Instance> = members.keys().copied().collect();
        instances.sort_unstable();
        let numbers = instances.into_iter().zip(2..).collect();
        Ok(Groups { trace, members, numbers })
    }

    /// Returns the communicators that a program made: their numbers, from 2 on, and their members.
    pub fn made(&self) -> Vec<(u32, Rc<[u32]>)> {
        let mut made: Vec<(u32, Rc<[u32]>)> =
            self.numbers.iter().map(|(instance, &number)| (number, self.members[instance].clone())).collect();
        made.sort_unstable_by_key(|(number, _)| *number);
        made
    }

    /// Returns a rank's communicator by its number in calls: a number that it has for all members, and who
    /// they are.
    pub fn get(&self, rank: u32, comm: u32) -> Result<(u32, Group), String> {
        match comm {
            Call::WORLD => Ok((0, Group::World(self.trace.ranks))),
            Call::SELF => Ok((1, Group::Own(rank))),
            comm => {
                let number = comm - Call::SELF;
                let instances = self.trace.comms.instance(rank, number);
                if instances.is_some_and(|(local, remote, _)| local != remote) {
                    return Err(BETWEEN_GROUPS.to_owned());
                }
                let found = instances.and_then(|(instance, ..)| {
                    Some((*self.numbers.get(&instance)?, Group::Listed(self.members.get(&instance)?.clone())))
                });
                found.ok_or_else(|| format!("the trace does not say who is in comm#{number}"))
            }
        }
    }
}

/// Returns the collective of all members of a communicator that makes one from it (a context is agreed upon
/// by so many bytes of each).
pub fn agreement(comm: u32) -> Collective {
    const CONTEXT_BYTES: u64 = 8;
    Collective {
        kind: Kind::Agree,
        comm,
        root: None,
        bytes: CONTEXT_BYTES,
        blocks: None,
        is_irregular: false,
        reduction: None,
    }
}
