//! SST's DUMPI: files that a writer of the tests makes, as `libdumpi` would.

use convert::{Format, LogGops, Options};
use mpi::schedule::choose::Policy;
use trace::Trace;

const MAGIC: u64 = 0xffaa_dd44_554d_5049;
const END: u16 = 293;
/// Wall times, a thread, and statuses.
const MASK: u8 = 1 << 3 | 1 << 6 | 3;
const WORLD: u16 = 2;
const INT: u16 = 9;
const BYTE: u16 = 5;

/// Arguments of a call, greatest byte first.
#[derive(Clone, Default)]
struct Arguments(Vec<u8>);

impl Arguments {
    fn i(mut self, number: i32) -> Arguments {
        self.0.extend(number.to_be_bytes());
        self
    }
    fn h(mut self, number: u16) -> Arguments {
        self.0.extend(number.to_be_bytes());
        self
    }
    fn b(mut self, number: u8) -> Arguments {
        self.0.push(number);
        self
    }
    fn list(self, numbers: &[i32]) -> Arguments {
        numbers.iter().fold(self.i(numbers.len() as i32), |arguments, &number| arguments.i(number))
    }
    /// Appends bytes, source, cancelled, error and tag.
    fn statuses(self, all: &[(i32, i32, u8, u8, i32)]) -> Arguments {
        all.iter().fold(self.i(all.len() as i32), |arguments, &(bytes, source, cancelled, error, tag)| {
            arguments.i(bytes).i(source).b(cancelled).b(error).i(tag)
        })
    }
}

fn of() -> Arguments {
    Arguments::default()
}

/// Returns a message's count, datatype, other rank, tag and communicator.
fn message(count: i32, datatype: u16, peer: i32, tag: i32) -> Arguments {
    of().i(count).h(datatype).i(peer).i(tag).h(WORLD)
}

/// The file of one rank.
struct File {
    bytes: Vec<u8>,
    counts: Vec<u32>,
    microseconds: u32,
}

impl File {
    fn new() -> File {
        let mut file = File { bytes: MAGIC.to_be_bytes().to_vec(), counts: vec![0; 291], microseconds: 0 };
        // Biases of processor and of wall times, in seconds.
        file.bytes.extend([0, 0, 0, 7, 0x4d, 0x4b, 0x42, 0xe4]);
        // Without arguments.
        file.call(124, &of().i(0));
        file
    }

    /// Appends a call 10 microseconds after the one before, which takes 5.
    fn call(&mut self, function: u16, arguments: &Arguments) {
        self.counts[usize::from(function)] += 1;
        self.bytes.extend(function.to_be_bytes());
        self.bytes.push(MASK);
        self.bytes.extend([0, 0]);
        for at in [self.microseconds + 10, self.microseconds + 15] {
            self.bytes.extend(3u16.to_be_bytes());
            self.bytes.extend((at * 1000).to_be_bytes());
        }
        self.microseconds += 15;
        self.bytes.extend(&arguments.0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.call(125, &of());
        self.bytes.extend(END.to_be_bytes());
        let header = self.bytes.len() as u64;
        self.bytes.extend([1, 0, 0]);
        // Time, names and no mesh.
        self.bytes.extend([0; 8 + 2 + 2 + 4 + 4]);
        let footer = self.bytes.len() as u64;
        self.bytes.extend(0xf007_fee7_u64.to_be_bytes());
        self.counts.iter().for_each(|count| self.bytes.extend(count.to_be_bytes()));
        self.bytes.extend(vec![0; 4 * 291]);
        let sizes = self.bytes.len() as u64;
        self.bytes.extend(10u32.to_be_bytes());
        (0..10).for_each(|number| self.bytes.extend(u32::to_be_bytes(if number == 9 { 4 } else { 0 })));
        for number in [MAGIC, sizes, 0, 0, header, 8, footer, 0] {
            self.bytes.extend(number.to_be_bytes());
        }
        self.bytes
    }
}

fn packed(files: &[Vec<u8>]) -> Vec<u8> {
    files
        .iter()
        .flat_map(|file| (file.len() as u32).to_le_bytes().into_iter().chain(file.iter().copied()))
        .collect()
}

fn read(files: &[Vec<u8>]) -> Result<Trace, String> {
    convert::read(
        Format::Dumpi,
        &packed(files),
        &Options { flops: 1e9, policy: Policy::default(), loggops: LogGops::default(), without: Vec::new() },
    )
}

fn shown(trace: &Trace, rank: u32) -> Vec<String> {
    let view = trace.rank(rank);
    view.calls().map(|event| trace::text::event(&view, &event)).collect()
}

#[track_caller]
fn has(calls: &[String], parts: &[&str]) {
    assert_eq!(calls.len(), parts.len(), "{calls:#?}");
    for (call, part) in calls.iter().zip(parts) {
        assert!(call.contains(part), "{part}: {call}");
    }
}

/// Makes two ranks with messages, a split, a datatype of their own and collectives.
fn example() -> Vec<Vec<u8>> {
    let rank = |rank: i32| {
        let (other, mut file) = (1 - rank, File::new());
        // What a status says that nobody filled in.
        let garbage = (1_606_419_960, 9, 0, 96, 65);
        file.call(8, &message(3, INT, other, 1337).i(2));
        file.call(12, &message(4, INT, -1, -1).i(3));
        file.call(18, &of().i(2).list(&[2, 3]).statuses(&[garbage, garbage]));
        // A vector of two blocks of three, which is sent, and received from anybody with a status that is
        // true.
        file.call(36, &of().i(2).i(3).i(8).h(INT).h(28));
        file.call(0, &message(2, 28, other, 4));
        file.call(1, &message(100, BYTE, -1, 4).statuses(&[(48, other, 0, 0, 4)]));
        // Both in a communicator in reverse order.
        file.call(86, &of().h(WORLD).i(5).i(-rank).h(4));
        file.call(65, &of().i(6).h(INT).b(3).h(4));
        file.call(53, &of().i(7).h(INT).i(1).h(4));
        file.call(
            61,
            &of()
                .i(2)
                .list(&[1, 2])
                .list(&[0, 1])
                .h(INT)
                .list(&[rank + 1, rank + 1])
                .list(&[0, 9])
                .h(INT)
                .h(WORLD),
        );
        file.finish()
    };
    vec![rank(0), rank(1)]
}

#[test]
fn records_become_calls() {
    let trace = read(&example()).unwrap();
    has(
        &shown(&trace, 0),
        &[
            "MPI_Init",
            "count=3, datatype=MPI_INT, dest=1, tag=1337, comm=MPI_COMM_WORLD",
            "count=4, datatype=MPI_INT, source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG",
            "MPI_Waitall(count=2",
            "count=48, datatype=MPI_BYTE, dest=1, tag=4",
            "count=100, datatype=MPI_BYTE, source=1, tag=4",
            "MPI_Comm_create(comm=MPI_COMM_WORLD, group=group#1, newcomm=comm#1",
            "MPI_Allreduce(sendbuf=..., recvbuf=..., count=6, datatype=MPI_INT, op=MPI_SUM, comm=comm#1",
            "MPI_Bcast(buffer=..., count=7, datatype=MPI_INT, root=1, comm=comm#1",
            "sendcounts=[4, 8]",
            "MPI_Finalize",
        ],
    );
    let groups = trace.comms.groups().unwrap();
    let members: Vec<Vec<u32>> = groups.values().map(|members| members.to_vec()).collect();
    assert_eq!(members, [vec![1, 0]]);
}

#[test]
fn computation_lies_between_calls_and_datatypes_are_made_in_it() {
    let trace = read(&example()).unwrap();
    let mut times = trace::times::Reading::new(&trace.times[&1]).unwrap();
    let mut all = Vec::new();
    while let Some((computed, took)) = times.next().unwrap() {
        all.push((computed.as_ps() / 1_000_000, took.as_ps() / 1_000_000));
    }
    // Nothing is known of before MPI_Init; MPI_Type_vector took 5 us between two computations of 10.
    let mut expected = vec![(10, 5); 11];
    (expected[0], expected[4]) = ((0, 5), (25, 5));
    assert_eq!(all, expected);
}

#[test]
fn what_is_no_call_of_a_trace_is_refused_by_its_name_and_byte() {
    let refused = |function: u16, arguments: Arguments| {
        let mut file = File::new();
        file.call(function, &arguments);
        read(&[file.finish()]).unwrap_err()
    };
    for (error, why) in [
        (refused(24, of().i(2)), "byte 37: MPI_Cancel: MPI_Cancel is not made into a call of a trace"),
        (refused(0, message(1, 77, 0, 0)), "nothing says how long datatype 77 is"),
        (refused(0, message(1, INT, 5, 0)), "a message of rank 5 in a communicator of 1"),
        (refused(0, of().i(1).h(INT).i(0).i(0).h(30)), "communicator 30"),
        (refused(124, of().i(0)), "a second time"),
        (refused(85, of().h(WORLD).h(9).h(4)), "in a way that is not read"),
        (refused(290, of()), "no function has the number 290"),
    ] {
        assert!(error.contains(why) && error.contains("rank 0"), "{error}");
    }
}

#[test]
fn files_that_are_cut_or_changed_anywhere_are_read_or_refused() {
    let files = example();
    // Counts of calls are many, and alike.
    for at in (0..files[1].len()).filter(|at| !(600..2660).contains(at) || at % 50 == 0) {
        let mut cut = files.clone();
        cut[1].truncate(at);
        let error = read(&cut).unwrap_err();
        assert!(error.contains("rank 1: byte"), "{error}");
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = files.clone();
            changed[1][at] = value;
            if let Ok(trace) = read(&changed) {
                assert!(!shown(&trace, 1).is_empty());
            }
        }
    }
}

/// Measures the speed of reading: `cargo test --release -p xsim-convert --test dumpi -- --ignored
/// --nocapture`.
#[test]
#[ignore = "it says how long a million calls take, and nothing else"]
fn a_million_calls_take_so_long() {
    let rank = |rank: i32| {
        let mut file = File::new();
        for turn in 0..100_000 {
            file.microseconds %= 1_000_000;
            file.call(12, &message(8, INT, 1 - rank, 1).i(2));
            file.call(8, &message(8 + turn % 4, INT, 1 - rank, 1).i(3));
            file.call(18, &of().i(2).list(&[2, 3]).i(0));
            file.call(65, &of().i(6).h(INT).b(3).h(WORLD));
            file.call(82, &of().h(WORLD).i(rank));
        }
        file.finish()
    };
    let files = packed(&[rank(0), rank(1)]);
    let begin = std::time::Instant::now();
    let trace = convert::read(
        Format::Dumpi,
        &files,
        &Options { flops: 1e9, policy: Policy::default(), loggops: LogGops::default(), without: Vec::new() },
    )
    .unwrap();
    let took = begin.elapsed().as_secs_f64();
    println!(
        "{} calls of {} bytes in {took:.3} s: {:.0} a second",
        1_000_004,
        files.len(),
        1_000_004.0 / took
    );
    assert_eq!(trace.length(), Some(800_004));
}
