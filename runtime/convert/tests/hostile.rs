//! Whatever a file says, there is a trace or a sentence that names a line.

use convert::{Format, Options};
use mpi::schedule::choose::Policy;
use proptest::prelude::*;

const GOAL: [&str; 24] = [
    "num_ranks",
    "rank",
    "{",
    "}",
    "l1",
    "l2",
    "l3",
    ":",
    "send",
    "recv",
    "calc",
    "b",
    "to",
    "from",
    "tag",
    "cpu",
    "nic",
    "requires",
    "irequires",
    "0",
    "1",
    "-1",
    "18446744073709551615",
    "\n",
];
const TI: [&str; 30] = [
    "init",
    "finalize",
    "compute",
    "send",
    "recv",
    "isend",
    "irecv",
    "wait",
    "waitall",
    "test",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "alltoall",
    "alltoallv",
    "gather",
    "gatherv",
    "allgatherv",
    "scatterv",
    "reducescatter",
    "scan",
    "sendRecv",
    "0",
    "1",
    "-1",
    "1e6",
    "1e300",
    "\n0",
    "\n1",
];

fn read(format: Format, text: &[u8]) {
    let options = Options { flops: 1e9, policy: Policy::default() };
    match convert::read(format, text, &options) {
        Ok(trace) => (0..trace.ranks).for_each(|rank| {
            trace.rank(rank).calls().take(100).for_each(drop);
        }),
        Err(why) => assert!(!why.is_empty()),
    }
}

proptest! {
    #[test]
    fn words_of_the_languages_in_any_order_are_read_or_refused(
        goal in prop::collection::vec(0..GOAL.len(), 0..60),
        ti in prop::collection::vec(0..TI.len(), 0..60),
    ) {
        let text = |words: &[&str], chosen: &[usize]| chosen.iter().map(|&word| words[word]).collect::<Vec<_>>().join(" ");
        read(Format::Goal, text(&GOAL, &goal).as_bytes());
        read(Format::Goal, format!("num_ranks 2\nrank 1 {{\n{}\n}}", text(&GOAL, &goal)).as_bytes());
        read(Format::Ti, text(&TI, &ti).as_bytes());
        read(Format::Ti, format!("0 init\n1 init\n0 {}", text(&TI, &ti)).as_bytes());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(Format::Goal, &bytes);
        read(Format::Ti, &bytes);
    }
}
