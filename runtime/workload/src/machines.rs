//! Ranks as state machines: what each is blocked in, and the halves of its calls.

use crate::call::{Answer, Call, Collective, Envelope, Requests, Wait};
use crate::function::Function;
use crate::requests::{Lists, NONE};
use engine::Time;
use mpi::collective::Lengths;
use mpi::collective::mode::ENDED;
use mpi::error::{Failure, Result};
use mpi::handle::{COMM_NULL, COMM_SELF, COMM_WORLD, REQUEST_NULL};
use mpi::p2p::{Buffer, Peer};
use mpi::progress::{self, Ending};
use mpi::request::RequestArray;
use mpi::runner::{Outcome, Runner};
use mpi::world::Phase;
use mpi::{Mpi, World};
use rank::Addr;

/// What ranks without a program do.
pub trait Workload {
    /// Where a rank is. There is one for each rank.
    type Cursor: Clone + Default;

    /// What a rank calls next, after its last call was answered so; a rank that begins is told [`Answer::Done`].
    fn next(&mut self, rank: u32, cursor: &mut Self::Cursor, answer: &Answer) -> Call;
}

impl<W: Workload> Workload for &mut W {
    type Cursor = W::Cursor;
    fn next(&mut self, rank: u32, cursor: &mut Self::Cursor, answer: &Answer) -> Call {
        (**self).next(rank, cursor, answer)
    }
}

/// What a rank is blocked in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Blocked {
    /// It has not begun.
    #[default]
    Unborn,
    Send,
    Receive,
    Complete(Wait),
    Collective,
    /// A call that makes a communicator.
    Making,
}

/// A rank.
#[derive(Clone, Default)]
struct Machine<C> {
    cursor: C,
    /// When it entered its call.
    entered: Time,
    /// What the second half of that is told.
    word: usize,
    /// How many requests it has made.
    made: u32,
    /// Its open requests among [`Lists`], or [`NONE`].
    list: u32,
    blocked: Blocked,
    function: u8,
    /// The communicators that it has made.
    #[allow(clippy::box_collection, reason = "each rank has this, and few make any")]
    comms: Option<Box<Vec<usize>>>,
}

/// The first half of a call.
enum Begun {
    Done(Answer),
    Blocks(Blocked, usize),
}

/// Ranks without a program, which the main loop drives.
pub struct Machines<'m, W: Workload> {
    mpi: &'m Mpi,
    workload: W,
    machines: Vec<Machine<W::Cursor>>,
    lists: Lists,
    /// The requests of a call that names some of its rank's.
    some: Vec<usize>,
    /// What went wrong, in sentences.
    failures: Vec<String>,
    resumed: u64,
}

const DONE: Result<Begun> = Ok(Begun::Done(Answer::Done));

impl<'m, W: Workload> Machines<'m, W> {
    /// All ranks of a run without payloads, in one process. They have not begun.
    pub fn new(mpi: &'m Mpi, workload: W) -> Machines<'m, W> {
        let size = mpi.world().messages.size();
        let machine = Machine { list: NONE, ..Machine::default() };
        let machines = rank::memory::table(machine, size as usize);
        Machines { mpi, workload, machines, lists: Lists::default(), some: Vec::new(), failures: Vec::new(), resumed: 0 }
    }

    /// Runs them to their end; `tick` as for [`progress::run`]. A call that fails ends the run, and is told.
    pub fn run(&mut self, tick: &mut dyn FnMut(&World)) -> Ending {
        let mpi = self.mpi;
        let mut ending = progress::run(mpi, self, tick);
        ending.messages.splice(0..0, self.failures.drain(..));
        ending
    }

    /// How often a rank went on.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Bytes that a rank takes here, besides its cursor's heap and what is open of it.
    pub const fn bytes_each() -> usize {
        size_of::<Machine<W::Cursor>>()
    }

    fn go_on(&mut self, rank: u32) -> Result<Outcome> {
        let at = rank as usize;
        let mut answer = match self.machines[at].blocked {
            Blocked::Unborn => {
                self.mpi.world().messages.set_phase(rank, Phase::Active);
                self.mpi.world().messages.leave_call(Function::Init as u16, Time::ZERO);
                Answer::Done
            }
            blocked => self.end(rank, blocked)?,
        };
        loop {
            let call = self.workload.next(rank, &mut self.machines[at].cursor, &answer);
            let Some(function) = Function::of(&call) else {
                if let Call::Compute(span) = call {
                    self.mpi.world().messages.compute(rank, span);
                }
                answer = Answer::Done;
                continue;
            };
            {
                let mut world = self.mpi.world();
                let (entered, ordinary) = world.enter_call(function as u16, function.course());
                (self.machines[at].entered, self.machines[at].function) = (entered, function as u8);
                if !ordinary && let Some(status) = world.must_stop() {
                    return Ok(Outcome::Finished { status });
                }
            }
            let ends = call == Call::End;
            match self.begin(rank, call)? {
                Begun::Done(done) => answer = done,
                Begun::Blocks(blocked, word) => {
                    (self.machines[at].blocked, self.machines[at].word) = (blocked, word);
                    return Ok(Outcome::Blocked);
                }
            }
            self.leave(rank);
            if ends {
                return Ok(Outcome::Finished { status: 0 });
            }
        }
    }

    fn leave(&mut self, rank: u32) {
        let Machine { function, entered, .. } = self.machines[rank as usize];
        self.mpi.world().messages.leave_call(u16::from(function), entered);
    }

    /// The first half of a call; all of it, if there is nothing to wait for.
    fn begin(&mut self, rank: u32, call: Call) -> Result<Begun> {
        let mpi = self.mpi;
        match call {
            Call::Send(mode, envelope) => {
                let (buffer, peer) = self.message(rank, &envelope)?;
                Ok(mpi.begin_send(mode, buffer, peer)?.map_or(Begun::Done(Answer::Done), |word| Begun::Blocks(Blocked::Send, word)))
            }
            Call::Isend(mode, envelope) => {
                let (buffer, peer) = self.message(rank, &envelope)?;
                let request = mpi.isend(mode, buffer, peer)?;
                self.open(rank, request)
            }
            Call::Recv(envelope) => {
                let (buffer, peer) = self.message(rank, &envelope)?;
                let expected = mpi.begin_receive(buffer, peer)?;
                Ok(expected.map_or(Begun::Done(Answer::Done), |node| Begun::Blocks(Blocked::Receive, node as usize)))
            }
            Call::Irecv(envelope) => {
                let (buffer, peer) = self.message(rank, &envelope)?;
                let request = mpi.ireceive(buffer, peer)?;
                self.open(rank, request)
            }
            Call::Complete(wait, requests) => self.begin_completing(rank, wait, requests),
            Call::Collective(collective) => {
                let word = mpi.begin_lengths(&self.lengths(rank, &collective)?)?;
                if word == ENDED { DONE } else { Ok(Begun::Blocks(Blocked::Collective, word)) }
            }
            Call::Icollective(collective) => {
                let request = mpi.start_lengths(&self.lengths(rank, &collective)?)?;
                self.open(rank, request)
            }
            Call::Dup(comm) => {
                let made = mpi.begin_comm_dup(self.comm(rank, comm)?)?;
                self.making(rank, made)
            }
            Call::Split(comm, color, key) => {
                let made = mpi.begin_comm_split(self.comm(rank, comm)?, color, key)?;
                self.making(rank, made)
            }
            Call::Compute(_) => DONE,
            Call::End => {
                mpi.world().messages.set_phase(rank, Phase::Finalized);
                DONE
            }
        }
    }

    /// The second half of the call that a rank was blocked in.
    fn end(&mut self, rank: u32, blocked: Blocked) -> Result<Answer> {
        let word = self.machines[rank as usize].word;
        let answer = match blocked {
            Blocked::Unborn => Answer::Done,
            Blocked::Send => self.mpi.end_send(word).map(|()| Answer::Done)?,
            Blocked::Receive => self.mpi.end_receive(word as u32).map(|()| Answer::Done)?,
            Blocked::Complete(wait) => self.end_completing(rank, wait, word != 0)?,
            Blocked::Collective => self.mpi.end_collective(word, Addr::NULL).map(|()| Answer::Done)?,
            Blocked::Making => self.made(rank, word)?,
        };
        self.leave(rank);
        Ok(answer)
    }

    fn message(&self, rank: u32, envelope: &Envelope) -> Result<(Buffer, Peer)> {
        let bytes = i64::try_from(envelope.bytes).unwrap_or(i64::MAX);
        Ok(((Addr::NULL, bytes, mpi::abi::MPI_BYTE), (envelope.peer, envelope.tag, self.comm(rank, envelope.comm)?)))
    }

    fn lengths(&self, rank: u32, collective: &Collective) -> Result<Lengths> {
        let &Collective { kind, comm, root, bytes, reduction } = collective;
        Ok(Lengths { kind, comm: self.comm(rank, comm)?, root, bytes, reduction })
    }

    /// The handle of a communicator; `MPI_COMM_NULL`, with which calls fail, where the rank has made none of that number.
    fn comm(&self, rank: u32, comm: u32) -> Result<usize> {
        Ok(match comm {
            Call::WORLD => COMM_WORLD,
            Call::SELF => COMM_SELF,
            made => {
                let comms = self.machines[rank as usize].comms.as_ref();
                comms.and_then(|comms| comms.get(made as usize - 2)).copied().unwrap_or(COMM_NULL)
            }
        })
    }

    fn making(&mut self, rank: u32, (word, waits): (usize, bool)) -> Result<Begun> {
        if waits { Ok(Begun::Blocks(Blocked::Making, word)) } else { self.made(rank, word).map(Begun::Done) }
    }

    fn made(&mut self, rank: u32, word: usize) -> Result<Answer> {
        let comm = self.mpi.end_comm(word)?;
        self.machines[rank as usize].comms.get_or_insert_default().push(comm);
        Ok(Answer::Done)
    }

    /// A rank has made a request.
    fn open(&mut self, rank: u32, request: usize) -> Result<Begun> {
        let machine = &mut self.machines[rank as usize];
        if machine.list == NONE {
            machine.list = self.lists.take(machine.made);
        }
        machine.made = machine.made.wrapping_add(1);
        self.lists.get(machine.list).handles.push(request);
        DONE
    }

    /// The handles that a call names. Those that are some of the rank's are copied, and brought back by [`Machines::put_back`].
    fn array(&mut self, list: u32) -> RequestArray {
        let handles = match list {
            NONE => &mut Vec::new(),
            list => {
                let open = self.lists.get(list);
                match &open.asked {
                    None => &mut open.handles,
                    Some(asked) => {
                        self.some.clear();
                        let handle = |number: &u32| open.handles.get(number.wrapping_sub(open.first) as usize).copied();
                        self.some.extend(asked.iter().map(|number| handle(number).unwrap_or(REQUEST_NULL)));
                        &mut self.some
                    }
                }
            }
        };
        RequestArray { at: Addr(handles.as_mut_ptr() as usize), count: handles.len() as u32, wide: true }
    }

    /// What a call has made of the handles that it was given.
    fn put_back(&mut self, list: u32) {
        if list == NONE {
            return;
        }
        let open = self.lists.get(list);
        if let Some(asked) = &open.asked {
            for (number, &handle) in asked.iter().zip(&self.some) {
                if let Some(place) = open.handles.get_mut(number.wrapping_sub(open.first) as usize) {
                    *place = handle;
                }
            }
        }
    }

    fn begin_completing(&mut self, rank: u32, wait: Wait, requests: Requests) -> Result<Begun> {
        let list = self.machines[rank as usize].list;
        if list != NONE {
            self.lists.get(list).asked = match requests {
                Requests::All => None,
                Requests::These(these) => Some(these),
            };
        }
        let array = self.array(list);
        let (waits, word) = match wait {
            Wait::All => {
                let awaited = self.mpi.begin_wait_all(array, false)?;
                (awaited.waits, usize::from(awaited.all_unseen))
            }
            Wait::Any => (self.mpi.begin_wait_any(array), 0),
            Wait::Some => (self.mpi.begin_wait_some(array), 0),
            Wait::Test => (self.mpi.begin_test_all(array), 0),
        };
        self.put_back(list);
        if waits { Ok(Begun::Blocks(Blocked::Complete(wait), word)) } else { self.end_completing(rank, wait, word != 0).map(Begun::Done) }
    }

    fn end_completing(&mut self, rank: u32, wait: Wait, unseen: bool) -> Result<Answer> {
        let list = self.machines[rank as usize].list;
        let array = self.array(list);
        let mpi = self.mpi;
        let mut completed = Vec::new();
        let answer = match wait {
            Wait::All if unseen && mpi.finish_unseen_all(array) => Answer::Done,
            Wait::All => mpi.finish_all(array, |_, _| {}).map(|()| Answer::Done)?,
            Wait::Any => {
                let (index, _) = mpi.end_wait_any(array)?;
                completed.extend(u32::try_from(index).ok().filter(|_| index != mpi::request::UNDEFINED));
                Answer::Completed(self.numbers(list, &completed))
            }
            Wait::Some => {
                mpi.end_wait_some(array, &mut |_, index, _| completed.push(index))?;
                Answer::Completed(self.numbers(list, &completed))
            }
            Wait::Test => Answer::Tested(mpi.end_test_all(array)?),
        };
        self.put_back(list);
        if list != NONE && self.lists.release(list) {
            self.machines[rank as usize].list = NONE;
        }
        Ok(answer)
    }

    /// The numbers of requests by their places in the call's array.
    fn numbers(&mut self, list: u32, places: &[u32]) -> Vec<u32> {
        if list == NONE {
            return Vec::new();
        }
        let open = self.lists.get(list);
        let number = |&place: &u32| match &open.asked {
            Some(asked) => asked[place as usize],
            None => open.first.wrapping_add(place),
        };
        places.iter().map(number).collect()
    }

    /// A rank's call has failed: the run ends, and says why.
    fn fail(&mut self, rank: u32, failure: &Failure) -> Outcome {
        let status = failure.class.0.clamp(1, 125);
        let mut world = self.mpi.world();
        let (name, at) = (world.messages.function_of(rank), world.messages.clock(rank));
        self.failures.push(format!("rank {rank} at {at}: {name} failed: {}", failure.text));
        world.set_abort(status);
        Outcome::Finished { status }
    }
}

impl<W: Workload> Runner for Machines<'_, W> {
    fn resume(&mut self, rank: u32) -> Outcome {
        self.resumed += 1;
        self.go_on(rank).unwrap_or_else(|failure| self.fail(rank, &failure))
    }

    // There is no memory to be put in place.
    fn mounted(&mut self, _: u32, call: impl FnOnce()) {
        call();
    }

    #[inline]
    fn prefetch(&mut self, rank: u32, later: u32) {
        for rank in [rank, later] {
            rank::memory::prefetch(&self.machines[rank as usize]);
        }
    }
}
