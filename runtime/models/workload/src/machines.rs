//! Ranks as state machines: what each is blocked in, and the halves of its calls.

mod bridge;
mod completing;
mod file;
mod listening;
mod making;
mod partitioned;
mod ports;
mod row;
mod series;
mod stages;
mod types;
mod volley;
mod window;

pub use listening::Found;

use crate::call::{Answer, Call, Collective, Envelope, Exchange, Message, Requests, Wait};
use crate::requests::{Lists, NONE};
use crate::workload::{Caller, Known, Workload, handle_of};
use engine::{Span, Time};
use listening::{Listening, Made};
use making::Copies;
use mpi::call::failure::Stop;
use mpi::collective::Lengths;
use mpi::collective::mode::ENDED;
use mpi::error::{ErrorClass, Failure, Result};
use mpi::handle::{REQUEST_NULL, REQUEST_SENT};
use mpi::point_to_point::{Buffer, Peer, SendMode};
use mpi::progress::{self, Ending};
use mpi::ranks::effort::Course;
use mpi::remote::block::Block;
use mpi::runner::{Outcome, Runner};
use mpi::world::Phase;
use mpi::{Mpi, World};
use rank::Addr;
use recorder::Recorder;
use row::{Row, start};
use rustc_hash::{FxHashMap, FxHashSet};
use volley::Told;

/// Returns a buffer of so many bytes, in no memory.
#[inline]
fn buffer_of(bytes: u64) -> Buffer {
    (Addr::NULL, i64::try_from(bytes).unwrap_or(i64::MAX), mpi::abi::MPI_BYTE)
}

/// The operation that a rank is blocked in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Blocked {
    /// It has not begun.
    #[default]
    Unborn,
    Send,
    Receive,
    /// For one request, whose handle is the word.
    Wait,
    /// For a message to be looked at.
    Probe,
    Complete(Wait),
    /// For all its requests, which are completed as they come.
    All,
    /// For the messages of a volley.
    Volley,
    Collective,
    /// A call that makes a communicator.
    Making,
    /// A call that goes on with its next stage.
    Stage,
}

/// A rank.
#[derive(Clone)]
struct Machine<C> {
    cursor: C,
    /// The time at which it entered its call.
    entered: Time,
    /// The value that the first half of the blocking call passes to the second half.
    word: usize,
    /// The open requests among [`Lists`], or [`NONE`].
    list: u32,
    blocked: Blocked,
    function: u16,
    /// The communicators that it has made.
    #[allow(clippy::box_collection, reason = "each rank has this, and few make any")]
    comms: Option<Box<Vec<usize>>>,
}

impl<C: Default> Default for Machine<C> {
    fn default() -> Machine<C> {
        Machine {
            cursor: C::default(),
            entered: Time::ZERO,
            word: 0,
            list: NONE,
            blocked: Blocked::default(),
            function: 0,
            comms: None,
        }
    }
}

/// The first half of a call.
enum Begun {
    Done(Answer),
    Blocks(Blocked, usize),
}

impl Begun {
    /// Returns what a first half answers that has a word for the second only if it waits.
    fn waiting(blocked: Blocked, word: Option<usize>) -> Begun {
        word.map_or(Begun::Done(Answer::Done), |word| Begun::Blocks(blocked, word))
    }
}

/// Ranks without a program, which the main loop drives.
pub struct Machines<'m, W: Workload> {
    mpi: &'m Mpi,
    workload: W,
    /// The ranks of this process, by world rank.
    machines: Block<Machine<W::Cursor>>,
    first: u32,
    lists: Lists,
    /// Ranks in a call that may fail.
    failing: FxHashSet<u32>,
    /// Handles of windows, by rank and number.
    windows: FxHashMap<(u32, u32), usize>,
    /// Handles of files, by rank and number.
    files: FxHashMap<(u32, u32), usize>,
    /// Handles of datatypes, by rank and number.
    types: FxHashMap<(u32, u32), usize>,
    /// Communicators that ranks copy without waiting, while they do.
    copies: Copies,
    /// The requests of a call that names some of its rank's.
    some: Vec<usize>,
    told: Told,
    /// Error sentences about calls that failed.
    failures: Vec<String>,
    resumed: u64,
    /// The recorders and the calls that they follow; `None` without a recorder.
    listening: Option<Listening>,
}

const DONE: Result<Begun> = Ok(Begun::Done(Answer::Done));

impl<'m, W: Workload> Machines<'m, W> {
    /// Returns the machines of this process's ranks of a run without payloads. They have not begun.
    pub fn new(mpi: &'m Mpi, workload: W) -> Machines<'m, W> {
        let (first, local) = {
            let world = mpi.world();
            (world.messages.ranks().first(), world.messages.ranks().local())
        };
        let machines = Block::new(first, local);
        Machines {
            mpi,
            workload,
            machines,
            first,
            lists: Lists::default(),
            failing: FxHashSet::default(),
            windows: FxHashMap::default(),
            files: FxHashMap::default(),
            types: FxHashMap::default(),
            copies: Copies::default(),
            some: Vec::new(),
            told: Told::default(),
            failures: Vec::new(),
            resumed: 0,
            listening: None,
        }
    }

    /// Runs them to their end; `tick` as for [`progress::run`]. A call that fails ends the run, and is told:
    /// by its own process, as what a program prints is, where there are several.
    pub fn run(&mut self, tick: &mut dyn FnMut(&World)) -> Ending {
        let mpi = self.mpi;
        let mut ending = progress::run(mpi, self, tick);
        ending.messages.splice(0..0, self.failures.drain(..));
        ending
    }

    /// Adds recorders before the calls begin, which are notified of them.
    pub fn listen(&mut self, recorders: Vec<Box<dyn Recorder>>) {
        if !recorders.is_empty() {
            self.listening = Some(Listening::new(&mut self.mpi.world(), recorders));
        }
    }

    /// Returns what recorders have found after the run, on process 0. Called on all processes.
    pub fn found(&mut self) -> Found {
        self.listening.take().map_or_else(Found::default, |listening| listening.end(self.mpi))
    }

    /// Returns how often a rank went on.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Returns the bytes that a rank takes here, besides its cursor's heap and what is open of it.
    pub const fn bytes_each() -> usize {
        size_of::<Machine<W::Cursor>>()
    }

    fn go_on(&mut self, rank: u32) -> Result<Outcome> {
        let at = rank as usize;
        let mut answer = match self.machines[at].blocked {
            Blocked::Unborn => {
                let mut world = self.mpi.world();
                world.messages.ranks_mut()[rank].phase = Phase::Active;
                world.messages.ranks_mut()[rank].clock = self.workload.begins_at(rank);
                if let Some(function) = self.workload.begins_with() {
                    world.messages.ranks_mut().leave_call(function, Time::ZERO);
                }
                Answer::Done
            }
            Blocked::Stage => match self.tolerated(rank, |machines| machines.end_stage(rank))? {
                Begun::Done(done) => {
                    self.leave(rank);
                    done
                }
                Begun::Blocks(blocked, word) => {
                    (self.machines[at].blocked, self.machines[at].word) = (blocked, word);
                    return Ok(Outcome::Blocked);
                }
            },
            blocked => {
                let ended = self.end(rank, blocked);
                match ended {
                    Err(_) if self.failing.remove(&rank) => {
                        self.leave(rank);
                        Answer::Done
                    }
                    ended => ended?,
                }
            }
        };
        loop {
            let is_copying = self.end_copies(rank);
            // Recorders are told of each call by itself, and a new communicator is known between two calls.
            if self.listening.is_none() && !is_copying {
                match self.row(rank)? {
                    Row::Over(false) => {}
                    Row::Over(true) => answer = Answer::Done,
                    Row::Stops(status) => return Ok(Outcome::Finished { status }),
                    Row::Blocks => return Ok(Outcome::Blocked),
                    Row::Looks => {
                        answer = self.end_unsettled_volley(rank)?;
                        continue;
                    }
                    Row::Waits(function, entered, requests) => {
                        (self.machines[at].entered, self.machines[at].function) = (entered, function);
                        if let Begun::Blocks(blocked, word) =
                            self.begin_completing(rank, Wait::All, requests)?
                        {
                            (self.machines[at].blocked, self.machines[at].word) = (blocked, word);
                            return Ok(Outcome::Blocked);
                        }
                        self.leave(rank);
                        answer = Answer::Done;
                        continue;
                    }
                    Row::Halts(function, entered, started) => {
                        (self.machines[at].entered, self.machines[at].function) = (entered, function);
                        if let Some(blocked) = self.halt(started)? {
                            (self.machines[at].blocked, self.machines[at].word) = blocked;
                            return Ok(Outcome::Blocked);
                        }
                        self.leave(rank);
                        answer = Answer::Done;
                        continue;
                    }
                }
            }
            let (computed, call) = self.ask(rank, &answer);
            self.mpi.world().messages.ranks_mut().charge(rank, computed);
            let Some(function) = self.workload.function(&self.machines[at].cursor, &call) else {
                answer = Answer::Done;
                match call {
                    Call::Compute(span) => self.mpi.world().messages.ranks_mut().charge(rank, span),
                    Call::Fail(why) => return Ok(self.end_run(rank, ErrorClass::OTHER, &why)),
                    Call::End => {
                        self.mpi.world().messages.ranks_mut()[rank].phase = Phase::Finalized;
                        return Ok(Outcome::Finished { status: 0 });
                    }
                    _ => {}
                }
                continue;
            };
            {
                let mut world = self.mpi.world();
                if call.polls() {
                    world.messages.ranks_mut().enter_poll();
                }
                let (entered, ordinary) = world
                    .enter_call(function, call.message().map_or(Course::Ends, |message| message.course()));
                (self.machines[at].entered, self.machines[at].function) = (entered, function);
                if !ordinary && let Some(Stop::Ends(status)) = world.must_stop() {
                    return Ok(Outcome::Finished { status });
                }
            }
            if self.listening.is_some() {
                self.tell_entered(rank, &call);
            }
            let ends = matches!(call, Call::End);
            match self.tolerated(rank, |machines| machines.begin(rank, call))? {
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

    /// Makes a part of a rank's call. A failure ends the call if it failed in the recording.
    #[inline(always)]
    fn tolerated(&mut self, rank: u32, part: impl FnOnce(&mut Self) -> Result<Begun>) -> Result<Begun> {
        let begun = part(self);
        if self.failing.is_empty() {
            return begun;
        }
        match begun {
            Ok(Begun::Blocks(blocked, word)) => Ok(Begun::Blocks(blocked, word)),
            Ok(done) => {
                self.failing.remove(&rank);
                Ok(done)
            }
            Err(_) if self.failing.remove(&rank) => DONE,
            Err(failure) => Err(failure),
        }
    }

    /// Returns what a rank calls next, and computes before.
    #[inline]
    fn ask(&mut self, rank: u32, answer: &Answer) -> (Span, Call) {
        let world = self.mpi.world();
        let Machine { cursor, comms, .. } = &mut self.machines[rank as usize];
        let made = comms.as_ref().map_or(&[][..], |comms| comms.as_slice());
        let knows = Known::Made(&world.objects.comms, made);
        self.workload.next(
            &Caller { rank, clock: world.messages.clock(rank), knows, first: 0 },
            cursor,
            answer,
        )
    }

    fn leave(&mut self, rank: u32) {
        let Machine { function, entered, .. } = self.machines[rank as usize];
        let mut world = self.mpi.world();
        world.messages.ranks_mut().leave_call(function, entered);
        if let Some(listening) = &mut self.listening {
            listening.returned(&mut world);
        }
    }

    #[cold]
    fn tell_entered(&mut self, rank: u32, call: &Call) {
        let Machine { cursor, function, entered, .. } = &self.machines[rank as usize];
        let site = self.workload.site(cursor);
        let comm = match call {
            Call::Collective(collective) | Call::Icollective(collective, _) => {
                Some(self.comm(rank, collective.comm))
            }
            _ => None,
        };
        let mut world = self.mpi.world();
        let made = Made {
            function: *function,
            name: world.messages.ranks().function_of(rank),
            site,
            entered: *entered,
        };
        let Some(listening) = &mut self.listening else { return };
        listening.site(site, || self.workload.site_name(site));
        listening.entered(&mut world, call, comm, made);
    }

    /// Begins a call; makes all of it, if there is nothing to wait for.
    fn begin(&mut self, rank: u32, call: Call) -> Result<Begun> {
        let mpi = self.mpi;
        if let Some(message) = call.message() {
            return self.begin_message(rank, message);
        }
        match call {
            Call::Send(..) | Call::Isend(..) | Call::Recv(_) | Call::Irecv(..) => {
                unreachable!("it is a message")
            }
            Call::SendReceive(exchange) => self.begin_exchange(rank, &exchange),
            Call::IsendReceive(exchange, number) => {
                let ((sent, to), (received, from)) =
                    (self.message(rank, &exchange.to), self.message(rank, &exchange.from));
                let request = mpi.isend_receive(sent, to, received, from, exchange.replaces)?;
                self.open(rank, number, request)
            }
            Call::Probe(envelope) => self.begin_probing(rank, envelope, None),
            Call::Mprobe(envelope, number) => self.begin_probing(rank, envelope, Some(number)),
            Call::Mrecv(number, bytes) => {
                let (buffer, message) = self.probed(rank, number, bytes);
                Ok(Begun::waiting(
                    Blocked::Receive,
                    mpi.begin_matched_receive(buffer, message)?.map(|node| node as usize),
                ))
            }
            Call::Imrecv(message, bytes, number) => {
                let (buffer, message) = self.probed(rank, message, bytes);
                let request = mpi.matched_ireceive(buffer, message)?;
                self.open(rank, number, request)
            }
            Call::Several(calls) => {
                for call in calls {
                    self.begin(rank, call)?;
                }
                DONE
            }
            Call::Complete(wait, requests) => self.begin_completing(rank, wait, requests),
            Call::FreeRequest(number) => self.free(rank, number),
            Call::Collective(collective) => {
                let word = mpi.begin_lengths(&self.lengths(rank, *collective))?;
                if word == ENDED { DONE } else { Ok(Begun::Blocks(Blocked::Collective, word)) }
            }
            Call::Icollective(collective, number) => {
                let request = mpi.start_lengths(&self.lengths(rank, *collective))?;
                self.open(rank, number, request)
            }
            Call::PersistentCollective(collective, number) => {
                let lengths = self.lengths(rank, *collective);
                let request =
                    mpi.persistent_collective(lengths.comm, move |mpi| mpi.start_lengths(&lengths))?;
                self.open(rank, number, request)
            }
            Call::Start(number) => {
                let request = self.list(rank).handles.get(number as usize).copied();
                mpi.start(request.unwrap_or(REQUEST_NULL)).map(|()| Begun::Done(Answer::Done))
            }
            Call::Dup(comm) => self.begin_dup(rank, comm),
            Call::Idup(comm, made, number) => self.begin_idup(rank, comm, made, number),
            Call::Split(comm, color, key) => self.begin_split(rank, comm, color, key),
            Call::Group(comm, members, tag) => self.begin_group(rank, comm, &members, tag),
            Call::Neighborhood(comm, neighborhood) => self.begin_neighborhood(rank, comm, *neighborhood),
            Call::Bridge(call) => self.begin_bridging(rank, *call),
            Call::Port(call) => self.begin_port(rank, *call),
            Call::FreeComm(comm) => self.free_comm(rank, comm),
            Call::Window(call) => self.begin_window(rank, *call),
            Call::File(call) => self.begin_file(rank, *call),
            Call::Type(call) => self.make_type(rank, *call),
            Call::Partitioned(call) => self.begin_partitioned(rank, *call),
            Call::Failing(call) => {
                self.failing.insert(rank);
                self.begin(rank, *call)
            }
            Call::Refused(comm) => {
                mpi.refuse_collective(self.comm(rank, comm));
                DONE
            }
            Call::Local | Call::Compute(_) | Call::Fail(_) => DONE,
            Call::End => {
                mpi.world().messages.ranks_mut()[rank].phase = Phase::Finalized;
                DONE
            }
        }
    }

    fn begin_message(&mut self, rank: u32, message: Message) -> Result<Begun> {
        let Machine { list, comms, .. } = &mut self.machines[rank as usize];
        let made = comms.as_ref().map_or(&[][..], |comms| comms.as_slice());
        let started = start(&mut self.mpi.world(), &mut self.lists, (list, made), message)?;
        Ok(self
            .halt(started)?
            .map_or(Begun::Done(Answer::Done), |(blocked, word)| Begun::Blocks(blocked, word)))
    }

    /// Begins `MPI_Probe` or, with a number for the message, `MPI_Mprobe`.
    fn begin_probing(&mut self, rank: u32, envelope: Envelope, message: Option<u32>) -> Result<Begun> {
        if self.mpi.begin_probe(self.message(rank, &envelope).1)? {
            // The second half asks again.
            self.list(rank).probed = Some((envelope, message));
            return Ok(Begun::Blocks(Blocked::Probe, 0));
        }
        self.end_probing(rank, envelope, message).map(Begun::Done)
    }

    fn end_probing(&mut self, rank: u32, envelope: Envelope, message: Option<u32>) -> Result<Answer> {
        let peer = self.message(rank, &envelope).1;
        match message {
            None => drop(self.mpi.end_probe(peer)?),
            Some(number) => {
                let (handle, _) = self.mpi.end_matched_probe(peer)?;
                self.list(rank).put_message(number, handle);
            }
        }
        self.release(rank);
        Ok(Answer::Done)
    }

    /// Takes out a message that was probed, and room for so many bytes of it.
    fn probed(&mut self, rank: u32, number: u32, bytes: u64) -> (Buffer, usize) {
        let message = self.list(rank).take_message(number);
        self.release(rank);
        (buffer_of(bytes), message)
    }

    /// Begins `MPI_Sendrecv`.
    fn begin_exchange(&mut self, rank: u32, &Exchange { to, from, replaces }: &Exchange) -> Result<Begun> {
        let mpi = self.mpi;
        let ((sent, to), (received, from)) = (self.message(rank, &to), self.message(rank, &from));
        let (send, receive) = if replaces {
            let send = mpi.isend(SendMode::Standard, sent, to)?;
            (send, mpi.ireceive(received, from)?)
        } else {
            let receive = mpi.ireceive(received, from)?;
            (mpi.isend(SendMode::Standard, sent, to)?, receive)
        };
        mpi.world().messages.flush_batch();
        if send == REQUEST_SENT {
            if mpi.begin_wait(receive)? {
                return Ok(Begun::Blocks(Blocked::Wait, receive));
            }
            return mpi.end_wait(receive).map(|_| Begun::Done(Answer::Done));
        }
        // Behind all other requests of the rank.
        let open = self.list(rank);
        let number = open.handles.len() as u32;
        open.handles.extend([receive, send]);
        self.begin_completing(rank, Wait::All, Requests::These([number, number + 1].into()))
    }

    /// Ends the call that a rank was blocked in.
    fn end(&mut self, rank: u32, blocked: Blocked) -> Result<Answer> {
        let word = self.machines[rank as usize].word;
        let answer = match blocked {
            Blocked::Unborn | Blocked::Stage => Answer::Done,
            Blocked::Send => self.mpi.end_send(word).map(|()| Answer::Done)?,
            Blocked::Receive => self.mpi.end_receive(word as u32).map(|()| Answer::Done)?,
            Blocked::Wait => self.mpi.end_wait(word).map(|_| Answer::Done)?,
            Blocked::Probe => {
                let (envelope, message) =
                    self.list(rank).probed.take().expect("what a rank waits for that probes");
                self.end_probing(rank, envelope, message)?
            }
            Blocked::Complete(wait) => self.end_completing(rank, wait, word != 0)?,
            Blocked::All => {
                if self.end_all(rank) {
                    return Ok(Answer::Done);
                }
                self.end_completing(rank, Wait::All, true)?
            }
            Blocked::Volley => return self.end_volley(rank),
            Blocked::Collective => self.mpi.end_collective(word, Addr::NULL).map(|()| Answer::Done)?,
            Blocked::Making => self.made(rank, word)?,
        };
        self.leave(rank);
        Ok(answer)
    }

    fn message(&self, rank: u32, envelope: &Envelope) -> (Buffer, Peer) {
        (buffer_of(envelope.bytes), (envelope.peer, envelope.tag, self.comm(rank, envelope.comm)))
    }

    fn lengths(&self, rank: u32, collective: Collective) -> Lengths {
        let Collective { kind, comm, root, bytes, blocks, is_irregular, reduction } = collective;
        let irregular = is_irregular;
        Lengths { kind, comm: self.comm(rank, comm), root, bytes, blocks, irregular, reduction }
    }

    fn comm(&self, rank: u32, comm: u32) -> usize {
        handle_of(self.machines[rank as usize].comms.as_ref().map_or(&[], |made| made.as_slice()), comm)
    }

    /// Ends the run as a rank's call has failed, and reports why.
    fn fail(&mut self, rank: u32, failure: &Failure) -> Outcome {
        let name = self.mpi.world().messages.ranks().function_of(rank);
        self.end_run(rank, failure.class, &format!("{name} failed: {}", failure.text))
    }

    /// Ends the run for a reason that a rank has, and reports it.
    fn end_run(&mut self, rank: u32, class: ErrorClass, why: &str) -> Outcome {
        let status = class.0.clamp(1, 125);
        let mut world = self.mpi.world();
        // What it started before has happened.
        world.messages.flush_batch();
        let at = world.messages.clock(rank);
        let place = self.workload.place(&self.machines[rank as usize].cursor);
        self.failures.push(format!("rank {rank} at {at}: {why}{place}"));
        world.set_abort(status);
        Outcome::Finished { status }
    }
}

impl<W: Workload> Runner for Machines<'_, W> {
    fn resume(&mut self, rank: u32) -> Outcome {
        let rank = self.first + rank;
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
            rank::memory::prefetch(&self.machines[(self.first + rank) as usize]);
        }
    }
}
