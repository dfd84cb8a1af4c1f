//! A program's ranks as state machines, which the main loop of the library drives.

use super::channels::{Channels, connect};
use super::program::{Op, Outcome, Program, Seen, Step};
use engine::Span;
use mpi::batch::Batching;
use mpi::handle::COMM_WORLD;
use mpi::point_to_point::{Buffer, Peer, SendMode};
use mpi::remote::Remote;
use mpi::request::{ANY_SOURCE, ANY_TAG, RequestArray, Status};
use mpi::runner::{self, Runner};
use mpi::wire::Wire;
use mpi::world::Phase;
use mpi::{Mpi, Setup, progress};
use network::Machine;
use p2p::ranks::effort::Course;
use rank::Addr;

const BYTE: usize = mpi::abi::MPI_BYTE;
/// The longest message.
const LONGEST: usize = 300;

/// Call in which a rank is blocked.
#[derive(Clone, Copy)]
enum Blocked {
    Send(usize),
    Receive(u32),
    Asks,
}

struct Place {
    next: usize,
    blocked: Option<Blocked>,
    requests: Vec<usize>,
    steps: Vec<Step>,
}

struct Driver<'a> {
    mpi: &'a Mpi,
    program: &'a Program,
    first: u32,
    places: Vec<Place>,
    /// Nobody looks at what is sent.
    payload: [u8; LONGEST],
}

fn peer(from: Option<u32>, tag: Option<i32>) -> Peer {
    (from.map_or(ANY_SOURCE, |from| from as i32), tag.unwrap_or(ANY_TAG), COMM_WORLD)
}

fn seen(status: &Status) -> Seen {
    Some((status.source as u32, status.tag))
}

/// Outcome of a call: its answer if it is over, else the reason why its rank is blocked.
type Progress = Result<(Option<usize>, Seen), Blocked>;

impl Driver<'_> {
    fn buffer(&mut self, bytes: u64) -> Buffer {
        (Addr(self.payload.as_mut_ptr() as usize), bytes as i64, BYTE)
    }

    fn array(&mut self, at: usize, many: usize) -> RequestArray {
        let requests = &mut self.places[at].requests;
        RequestArray {
            at: Addr(requests.as_mut_ptr() as usize),
            count: requests.len().min(many) as u32,
            wide: true,
        }
    }

    /// Begins a call.
    fn begin(&mut self, at: usize, op: Op) -> Progress {
        let mpi = self.mpi;
        mpi.world().enter_call(self.places[at].next as u16, Course::Ends);
        match op {
            Op::Compute(time) => {
                let me = self.first + at as u32;
                mpi.world().messages.ranks_mut().charge(me, Span::from_ps(time));
            }
            Op::Send { to, tag, bytes, synchronous } => {
                let mode = if synchronous { SendMode::Synchronous } else { SendMode::Standard };
                let buffer = self.buffer(bytes);
                let request = {
                    let world = &mut *mpi.world();
                    world.messages.start_send(
                        &world.objects,
                        mode,
                        buffer,
                        (to as i32, tag, COMM_WORLD),
                        Batching::Never,
                    )
                };
                let waits = mpi.begin_pause(request.expect("the ranks exist")).expect("the ranks exist");
                waits.map_or(Ok(()), |request| Err(Blocked::Send(request)))?;
            }
            Op::Receive { from, tag } => {
                let buffer = self.buffer(LONGEST as u64);
                match mpi.begin_receive(buffer, peer(from, tag)).expect("the ranks exist") {
                    Some(node) => return Err(Blocked::Receive(node)),
                    None => return Ok((None, seen(&mpi.latest_status()))),
                }
            }
            Op::Post { from, tag } => {
                let buffer = self.buffer(LONGEST as u64);
                let request = mpi.ireceive(buffer, peer(from, tag)).expect("the ranks exist");
                self.places[at].requests.push(request);
            }
            Op::WaitAny(many) => {
                let blocks = mpi.begin_wait_any(self.array(at, many));
                return if blocks { Err(Blocked::Asks) } else { Ok(self.answer(at, op)) };
            }
            Op::TestAny(many) => {
                mpi.world().messages.ranks_mut().enter_poll();
                let blocks = mpi.begin_test_any(self.array(at, many));
                return if blocks { Err(Blocked::Asks) } else { Ok(self.answer(at, op)) };
            }
            Op::Probe { from, tag } => {
                let blocks = mpi.begin_probe(peer(from, tag)).expect("the ranks exist");
                return if blocks { Err(Blocked::Asks) } else { Ok(self.answer(at, op)) };
            }
            Op::Iprobe { from, tag } => {
                mpi.world().messages.ranks_mut().enter_poll();
                let blocks = mpi.begin_iprobe(peer(from, tag)).expect("the ranks exist");
                return if blocks { Err(Blocked::Asks) } else { Ok(self.answer(at, op)) };
            }
        }
        Ok((None, None))
    }

    /// Ends a call that blocked.
    fn end(&mut self, at: usize, op: Op, blocked: Blocked) -> (Option<usize>, Seen) {
        match blocked {
            Blocked::Send(request) => {
                self.mpi.end_send(request).expect("it was sent");
                (None, None)
            }
            Blocked::Receive(node) => {
                self.mpi.end_receive(node).expect("the buffer is long enough");
                (None, seen(&self.mpi.latest_status()))
            }
            Blocked::Asks => self.answer(at, op),
        }
    }

    fn answer(&mut self, at: usize, op: Op) -> (Option<usize>, Seen) {
        let mpi = self.mpi;
        match op {
            Op::WaitAny(many) | Op::TestAny(many) => {
                let array = self.array(at, many);
                let (index, status) = match op {
                    Op::WaitAny(_) => mpi.end_wait_any(array).expect("the buffers are long enough"),
                    _ => {
                        let (_, index, status) =
                            mpi.end_test_any(array).expect("the buffers are long enough");
                        (index, status)
                    }
                };
                let Ok(index) = usize::try_from(index) else { return (None, None) };
                self.places[at].requests.remove(index);
                (Some(index), seen(&status))
            }
            Op::Probe { from, tag } => {
                (None, seen(&mpi.end_probe(peer(from, tag)).expect("the ranks exist")))
            }
            Op::Iprobe { from, tag } => {
                (None, mpi.end_iprobe(peer(from, tag)).expect("the ranks exist").as_ref().and_then(seen))
            }
            _ => unreachable!("these ask"),
        }
    }
}

impl Runner for Driver<'_> {
    fn resume(&mut self, rank: u32) -> runner::Outcome {
        let (at, me) = (rank as usize, self.first + rank);
        self.mpi.world().messages.ranks_mut()[me].phase = Phase::Active;
        while let Some(&op) = self.program[me as usize].get(self.places[at].next) {
            let (index, seen) = match self.places[at].blocked.take() {
                Some(blocked) => self.end(at, op, blocked),
                None => match self.begin(at, op) {
                    Ok(answer) => answer,
                    Err(blocked) => {
                        self.places[at].blocked = Some(blocked);
                        return runner::Outcome::Blocked;
                    }
                },
            };
            let clock = self.mpi.world().messages.clock(me).as_ps();
            let place = &mut self.places[at];
            place.steps.push(Step { call: place.next, index, seen, clock });
            place.next += 1;
        }
        self.mpi.world().messages.ranks_mut()[me].phase = Phase::Finalized;
        runner::Outcome::Finished { status: 0 }
    }

    fn mounted(&mut self, _: u32, call: impl FnOnce()) {
        call();
    }
}

/// Returns what the ranks of one process saw.
fn run_process(program: &Program, (machine, cancels): (&str, bool), channels: Option<Channels>) -> Outcome {
    let ranks = program.len() as u32;
    let built = Machine::parse(machine).unwrap().build(ranks).unwrap();
    let remote = channels.map(|channels| Remote::new(Box::new(channels), ranks));
    let (first, local) = remote
        .as_ref()
        .map_or((0, ranks), |remote| (remote.blocks.first(remote.me), remote.blocks.count(remote.me)));
    let mpi = Mpi::new(Setup { remote, cancels, ..Setup::new(ranks, Wire::new(built, 1), &["a call"; 32]) });
    let place = |_| Place { next: 0, blocked: None, requests: Vec::new(), steps: Vec::new() };
    let mut driver =
        Driver { mpi: &mpi, program, first, places: (0..local).map(place).collect(), payload: [0; LONGEST] };
    progress::run(&mpi, &mut driver, &mut |_| {});
    driver.places.into_iter().map(|place| place.steps).collect()
}

/// Returns what the ranks see on such a machine, spread over so many processes; matches are held as in a
/// program that `cancels`.
pub fn run(program: &Program, on: (&str, bool), processes: u32) -> Outcome {
    if processes == 1 {
        return run_process(program, on, None);
    }
    std::thread::scope(|scope| {
        let run = |channels| scope.spawn(move || run_process(program, on, Some(channels)));
        let threads: Vec<_> = connect(processes).into_iter().map(run).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a process ran through")).collect()
    })
}
