//! The main loop drives ranks without a stack: state machines that send and receive.

use mpi::handle::COMM_WORLD;
use mpi::point_to_point::{Buffer, Peer, SendMode};
use mpi::progress::{self, Ending};
use mpi::runner::{Outcome, Runner};
use mpi::wire::Wire;
use mpi::world::Phase;
use mpi::{Mpi, Setup};
use network::Machine;
use rank::Addr;

const BYTE: usize = mpi::abi::MPI_BYTE;
const TAG: i32 = 3;

/// State of a rank, which sends a token and receives that of the rank before it in each of its rounds.
#[derive(Clone, Default)]
struct Place {
    rounds: u32,
    /// The receive for which it is blocked.
    expected: Option<u32>,
    /// Whose token it has.
    token: u64,
    arrived: u64,
}

/// Ranks in a ring, as state machines.
struct Ring<'a> {
    mpi: &'a Mpi,
    places: Vec<Place>,
    rounds: u32,
}

impl Ring<'_> {
    fn peer(&self, rank: u32, step: i32) -> Peer {
        ((rank as i32 + step).rem_euclid(self.places.len() as i32), TAG, COMM_WORLD)
    }

    fn buffer(word: &mut u64) -> Buffer {
        (Addr(std::ptr::from_mut(word) as usize), 8, BYTE)
    }
}

impl Runner for Ring<'_> {
    fn resume(&mut self, rank: u32) -> Outcome {
        let (to, from) = (self.peer(rank, 1), self.peer(rank, -1));
        let place = &mut self.places[rank as usize];
        if place.rounds == 0 && place.expected.is_none() {
            self.mpi.world().messages.ranks_mut()[rank].phase = Phase::Active;
            place.token = u64::from(rank);
        }
        loop {
            if let Some(expected) = place.expected.take() {
                self.mpi.end_receive(expected).expect("the message has come");
            } else {
                self.mpi
                    .send(SendMode::Standard, Ring::buffer(&mut place.token), to)
                    .expect("the ranks exist");
                place.expected =
                    self.mpi.begin_receive(Ring::buffer(&mut place.arrived), from).expect("the ranks exist");
                if place.expected.is_some() {
                    return Outcome::Blocked;
                }
            }
            place.token = place.arrived;
            place.rounds += 1;
            if place.rounds == self.rounds {
                self.mpi.world().messages.ranks_mut()[rank].phase = Phase::Finalized;
                return Outcome::Finished { status: 0 };
            }
        }
    }

    fn mounted(&mut self, _: u32, call: impl FnOnce()) {
        call();
    }
}

/// Lets a ring of so many ranks run, of which `silent` blocks for ever: how that ends, who has whose token,
/// the latest clock.
fn ring(ranks: u32, rounds: u32) -> (Ending, Vec<u64>, u64) {
    let built = Machine::parse("star:l=1us,b=8Gbps").unwrap().build(ranks).unwrap();
    let mpi = Mpi::new(Setup::new(ranks, Wire::new(built, 1), &["MPI_Send"]));
    let mut ring = Ring { mpi: &mpi, places: vec![Place::default(); ranks as usize], rounds };
    let ending = progress::run(&mpi, &mut ring, &mut |_| {});
    let tokens = ring.places.iter().map(|place| place.token).collect();
    let latest = mpi.world().messages.ranks().latest().as_ps();
    (ending, tokens, latest)
}

#[test]
fn ranks_without_a_stack_send_and_receive() {
    for ranks in [2, 3, 64] {
        let (ending, tokens, latest) = ring(ranks, 5);
        assert_eq!((ending.status, ending.messages.as_slice()), (0, [].as_slice()));
        let expected: Vec<u64> = (0..ranks).map(|rank| u64::from((rank + 5 * ranks - 5) % ranks)).collect();
        assert_eq!(tokens, expected, "after five rounds a rank has the token of the fifth before it");
        let (_, _, once) = ring(ranks, 1);
        assert_eq!(latest, 5 * once, "each round takes as long");
    }
}

#[test]
fn a_rank_without_a_stack_that_waits_for_ever_is_a_deadlock() {
    let built = Machine::parse("star:l=1us").unwrap().build(2).unwrap();
    let mpi = Mpi::new(Setup::new(2, Wire::new(built, 1), &["MPI_Send"]));
    struct Waits<'a>(&'a Mpi, u64);
    impl Runner for Waits<'_> {
        fn resume(&mut self, rank: u32) -> Outcome {
            self.0.world().messages.ranks_mut()[rank].phase = Phase::Active;
            let buffer = (Addr(std::ptr::from_mut(&mut self.1) as usize), 8, BYTE);
            let expected =
                self.0.begin_receive(buffer, (1 - rank as i32, TAG, COMM_WORLD)).expect("the ranks exist");
            assert!(expected.is_some(), "nobody sends");
            Outcome::Blocked
        }
        fn mounted(&mut self, _: u32, call: impl FnOnce()) {
            call();
        }
    }
    let ending = progress::run(&mpi, &mut Waits(&mpi, 0), &mut |_| {});
    assert_eq!(ending.status, 1);
    assert!(ending.messages.iter().any(|message| message.contains("deadlock")), "{:?}", ending.messages);
}
