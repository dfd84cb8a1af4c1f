//! The inner parts alone: `cargo bench -p xsim-mpi --bench inner`. Whole runs are measured by benches/peer
//! and benches/scale.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use engine::{EventKey, EventQueue, Span, Time, Timed, TimingWheel};
use mpi::datatype::{Constructor, Old, Types};
use mpi::packing::Packing;
use mpi::point_to_point::SendMode;
use mpi::schedule::algorithm::{Parameters, find};
use mpi::schedule::{Blocks, Kind, Member, Shape, Step};
use mpi::wire::Wire;
use mpi::world::Phase;
use mpi::{Mpi, Setup};
use network::Machine;
use rank::Addr;
use std::hint::black_box;
use std::rc::Rc;

/// `MPI_COMM_WORLD`, `MPI_BYTE` and `MPI_DOUBLE` of the standard ABI.
const WORLD: usize = 0x101;
const BYTE: usize = 0x247;
const DOUBLE: usize = 0x214;

fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueueEvent(u64, u32);

impl Timed for QueueEvent {
    fn time(&self) -> u64 {
        self.0
    }
    fn rank(&self) -> u32 {
        self.1
    }
}

/// Takes the first event and adds one later, with 10,000 waiting.
fn queues(c: &mut Criterion) {
    const WAITING: u32 = 10_000;
    let mut group = c.benchmark_group("events");
    group.throughput(Throughput::Elements(1));
    group.bench_function("heap", |b| {
        let (mut queue, mut seed, mut sequence) = (EventQueue::new(), 1, 0u64);
        let mut push = |queue: &mut EventQueue<u32>, now: u64, seed: &mut u64| {
            sequence += 1;
            queue.push(
                EventKey { time: Time::from_ps(now + random(seed) % 1_000_000), source: 0, sequence },
                0,
            );
        };
        (0..WAITING).for_each(|_| push(&mut queue, 0, &mut seed));
        b.iter(|| {
            let (key, _) = queue.pop().unwrap();
            push(&mut queue, key.time.as_ps(), &mut seed);
        });
    });
    group.bench_function("wheel", |b| {
        let (mut wheel, mut seed) = (TimingWheel::new(10, 12), 1);
        (0..WAITING).for_each(|i| wheel.push(QueueEvent(random(&mut seed) % 1_000_000, i)));
        b.iter(|| {
            let event: QueueEvent = wheel.pop_until(u64::MAX).unwrap();
            wheel.push(QueueEvent(event.0 + random(&mut seed) % 1_000_000, event.1));
        });
    });
    group.finish();
}

/// A column of a matrix of 1,024 x 1,024 doubles, and its whole as one block.
fn datatypes(c: &mut Criterion) {
    let mut types = Types::new();
    let double = types.get(DOUBLE).unwrap().clone();
    let column = Constructor::Vector {
        count: 1024,
        blocklength: 1,
        stride: 1024,
        old: Old(double.clone()),
        large: false,
    };
    let column = types.create(0, column).unwrap();
    let column = types.get(column).unwrap().clone();
    let memory = vec![1.5f64; 1024 * 1024];
    let at = Addr(memory.as_ptr() as usize);
    let mut group = c.benchmark_group("pack");
    for (name, datatype, count) in [("column", column, 1), ("contiguous", double, 1024)] {
        group.throughput(Throughput::Bytes(8 * 1024));
        let mut out = Vec::with_capacity(8 * 1024);
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                datatype.pack(at, count, &mut out);
                black_box(&out);
            });
        });
    }
    group.finish();
}

fn setup(ranks: u32) -> Setup {
    let built = Machine::parse("star:l=0.5us,b=100Gbps").unwrap().build(ranks).unwrap();
    Setup::new(ranks, Wire::new(built, 1), &["MPI_Send"])
}

fn alone() -> Mpi {
    let mpi = Mpi::alone(setup(1), |_| panic!("nothing can wake the rank"), None);
    mpi.world().messages.ranks_mut()[0].phase = Phase::Active;
    mpi
}

/// The loop over clocks of a collective of 100,000 ranks that come at different times; a member.
fn batch(c: &mut Criterion) {
    const RANKS: u32 = 100_000;
    let mut group = c.benchmark_group("batch");
    group.throughput(Throughput::Elements(u64::from(RANKS)));
    for (kind, name) in
        [(Kind::Barrier, "dissemination"), (Kind::Allreduce, "recursive-doubling"), (Kind::Bcast, "binomial")]
    {
        let shape = Shape::regular(kind, RANKS, 8, 8);
        let schedule = find(kind, name).unwrap().schedule(&shape, &Parameters::default());
        let mpi = Mpi::new(setup(RANKS));
        let mut seed = 1;
        group.bench_function(format!("{kind:?} {name}"), |b| {
            b.iter(|| {
                let world = &mut *mpi.world();
                for rank in (0..RANKS).step_by(97) {
                    world.messages.ranks_mut().charge(rank, Span::from_ps(random(&mut seed) % 1_000));
                }
                mpi::collective::planes::time_collective(
                    &mut world.messages,
                    &world.objects,
                    &schedule,
                    &shape,
                );
            });
        });
    }
    group.finish();
}

/// A rank's messages to itself: as many sends, then receives in the same or in the opposite order.
fn matching(c: &mut Criterion) {
    let mut group = c.benchmark_group("matching");
    for (name, messages, backwards) in
        [("one", 1, false), ("1000 in order", 1000, false), ("1000 backwards", 1000, true)]
    {
        let (mpi, value) = (alone(), 7u32);
        let buffer = (Addr(&raw const value as usize), 4, BYTE);
        group.throughput(Throughput::Elements(messages));
        group.bench_function(name, |b| {
            b.iter(|| {
                for tag in 0..messages as i32 {
                    mpi.send(SendMode::Standard, buffer, (0, tag, WORLD)).unwrap();
                }
                for tag in 0..messages as i32 {
                    let tag = if backwards { messages as i32 - 1 - tag } else { tag };
                    mpi.receive(buffer, (0, tag, WORLD)).unwrap();
                }
            });
        });
    }
    group.finish();
}

/// The steps of an allreduce of 1,024 members, which the batch executor asks for: a round of all.
fn schedules(c: &mut Criterion) {
    let shape = Shape::regular(Kind::Allreduce, 1024, 1 << 20, 8);
    let none: Rc<[u32]> = Rc::new([]);
    let members: Vec<Member> = (0..1024)
        .map(|rank| {
            let block = Blocks::Uniform(shape.bytes);
            Member {
                rank,
                send: block.clone(),
                receive: block,
                sources: none.clone(),
                destinations: none.clone(),
            }
        })
        .collect();
    let mut group = c.benchmark_group("steps");
    group.throughput(Throughput::Elements(1024));
    for name in ["recursive-doubling", "rabenseifner", "ring"] {
        let schedule = find(Kind::Allreduce, name).unwrap().schedule(&shape, &Parameters::default());
        group.bench_function(name, |b| {
            b.iter_batched_ref(
                Vec::<Step>::new,
                |steps| {
                    for member in &members {
                        steps.clear();
                        schedule.round(member, 3, steps);
                        black_box(&steps);
                    }
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = inner;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = queues, datatypes, matching, schedules, batch
}
criterion_main!(inner);
