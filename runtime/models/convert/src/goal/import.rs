//! From GOAL to its graph, and from that to calls: operations are started without waiting, and waited for
//! where others are behind them.

use super::parse::{Parser, Statement};
use super::turns::{Turn, has_choice, turns};
use crate::lines::at;
use crate::writer::{BYTE, Message, Slots, Told, UNTOLD, Writer, given, request, result, status};
use ::goal::{Carrier, ExecutionUnit, GoalGraph, LogGops, Operations, ReadyOrder, Work};
use engine::Span;
use recorder::Value;
use rustc_hash::FxHashMap;
use std::io::BufRead;

/// The most operations of a cycle that a sentence names.
const MAX_NAMED: usize = 6;

/// Reads the graph of a text.
pub fn graph(from: impl BufRead) -> Result<GoalGraph, String> {
    let mut parser = Parser::new(from);
    let ranks = ranks(&mut parser)?;
    let mut graph = GoalGraph { ranks, blocks: Vec::new() };
    let mut lines: FxHashMap<u32, u64> = FxHashMap::default();
    while let Some((number, statement)) = parser.next()? {
        let Statement::Begin(rank) = statement else { return Err(at(number, "rank should stand here")) };
        if rank >= ranks {
            return Err(at(number, &format!("rank {rank} is not one of {ranks}")));
        }
        if let Some(first) = lines.insert(rank, number) {
            let why = format!("rank {rank} is there a second time: the first is in line {first}");
            return Err(at(number, &why));
        }
        let operations = operations(&mut parser, number, ranks)?;
        check_acyclic(rank, &operations).map_err(|why| at(number, &why))?;
        graph.blocks.push((rank, operations));
    }
    graph.blocks.sort_by_key(|(rank, _)| *rank);
    Ok(graph)
}

/// Returns what a file begins with.
fn ranks(parser: &mut Parser<impl BufRead>) -> Result<u32, String> {
    match parser.next()? {
        Some((number, Statement::Ranks(0))) => Err(at(number, "there are no ranks")),
        Some((_, Statement::Ranks(ranks))) => Ok(ranks),
        Some((number, _)) => Err(at(number, "num_ranks should stand here")),
        None => Err("there is nothing in it: num_ranks should be the first word".to_owned()),
    }
}

/// Refuses operations of which none can be the first.
pub(super) fn check_acyclic(rank: u32, operations: &Operations) -> Result<(), String> {
    let Err(cycle) = operations.text_order() else { return Ok(()) };
    let locations: Vec<String> =
        cycle.iter().take(MAX_NAMED).map(|&operation| operations.location(operation)).collect();
    let more = if cycle.len() > MAX_NAMED { ", ..." } else { "" };
    Err(format!("operations of rank {rank} wait for each other: {}{more}", locations.join(", ")))
}

/// Writes the calls of a graph, in the order in which its ranks start them by a model. Returns the number of
/// ranks for which the graph leaves a choice between orders that take different times.
///
/// # Errors
/// A sentence with an operation that takes another processor or interface than number 0.
// All ranks are in memory at once: what a rank starts first can depend on what others send.
pub(super) fn convert(graph: &GoalGraph, writer: &mut Writer, model: &LogGops) -> Result<u32, String> {
    for (rank, operations) in &graph.blocks {
        if let Some((operation, unit)) = operations.first_beyond() {
            let what = match unit.cpu {
                0 => format!("nic {}", unit.nic),
                cpu => format!("cpu {cpu}"),
            };
            let location = match operations.lines.is_empty() {
                true => format!("operation {operation} of rank {rank}"),
                false => operations.location(operation),
            };
            return Err(format!(
                "{location}: {what}: a rank of a trace has one processor and one interface, number 0; \
                 replay the file itself (xsim replay FILE)"
            ));
        }
    }
    let orders = ::goal::run(graph, Carrier::loggops(model), ReadyOrder::Text)?.orders;
    let mut choices = 0;
    let (none, mut next) = (Operations::default(), 0);
    for ((rank, operations), order) in graph.blocks.iter().zip(orders) {
        for rank in next..*rank {
            Calls::of(writer, rank, &none).make(&none, &[]);
        }
        next = rank + 1;
        let turns = turns(operations, order);
        choices += u32::from(has_choice(operations, &turns));
        Calls::of(writer, *rank, operations).make(operations, &turns);
    }
    for rank in next..graph.ranks {
        Calls::of(writer, rank, &none).make(&none, &[]);
    }
    Ok(choices)
}

/// Refuses a computation that does not end before time does.
pub(super) fn most_nanoseconds(time: u64) -> Result<(), String> {
    time.checked_mul(1000).map(drop).ok_or_else(|| format!("{time} nanoseconds are beyond the end of time"))
}

/// Reads the operations of a rank whose block begins at line `begin`.
fn operations(parser: &mut Parser<impl BufRead>, begin: u64, ranks: u32) -> Result<Operations, String> {
    let mut operations = Operations::default();
    let mut labels: FxHashMap<String, u32> = FxHashMap::default();
    // A dependency may stand before what it names.
    let mut dependencies = Vec::new();
    loop {
        let Some((number, statement)) = parser.next()? else {
            return Err(at(begin, "the block that begins here has no end"));
        };
        match statement {
            Statement::End => break,
            Statement::Operation(label, work, unit) => {
                if let Work::Send { to: peer, .. } | Work::Receive { from: peer, .. } = work
                    && peer >= ranks as i32
                {
                    return Err(at(number, &format!("rank {peer} is not one of {ranks}")));
                }
                if let Work::Calculate(time) = work {
                    most_nanoseconds(time).map_err(|why| at(number, &why))?;
                }
                let place = operations.works.len() as u32;
                operations.works.push(work);
                operations.lines.push(number);
                if unit != ExecutionUnit::default() {
                    operations.units.resize(place as usize, ExecutionUnit::default());
                    operations.units.push(unit);
                }
                if let Some(label) = label
                    && let Some(_) = labels.insert(label.clone(), place)
                {
                    return Err(at(number, &format!("the label {label} is there a second time")));
                }
            }
            Statement::Requires { label, other, starts } => dependencies.push((number, label, other, starts)),
            Statement::Begin(_) | Statement::Ranks(_) => {
                return Err(at(number, "the block of the rank before has no end"));
            }
        }
    }
    for (number, label, other, starts) in dependencies {
        let find = |label: &str| {
            labels
                .get(label)
                .copied()
                .ok_or_else(|| at(number, &format!("no operation has the label {label}")))
        };
        let (later, earlier) = (find(&label)?, find(&other)?);
        if later == earlier {
            return Err(at(number, &format!("{label} waits for itself")));
        }
        operations.edges.push((later, earlier, starts));
    }
    Ok(operations)
}

/// The calls of one rank.
struct Calls<'w> {
    writer: &'w mut Writer,
    rank: u32,
    slots: Slots<Told>,
    /// The request of each operation that is under way; 0 of others.
    requests: Vec<u32>,
}

impl Calls<'_> {
    fn of<'w>(writer: &'w mut Writer, rank: u32, operations: &Operations) -> Calls<'w> {
        Calls { writer, rank, slots: Slots::default(), requests: vec![0; operations.works.len()] }
    }

    fn make(mut self, operations: &Operations, turns: &[Turn]) {
        self.writer.init(self.rank);
        for (place, turn) in turns.iter().enumerate() {
            self.wait_for(&turn.behind);
            // What the next operation is behind is waited for at once.
            let blocks = turns.get(place + 1).is_some_and(|next| next.behind.contains(&turn.operation));
            self.work(turn.operation, operations.works[turn.operation as usize], blocks);
        }
        let open: Vec<u32> = self.slots.iter().map(|(slot, _)| slot).collect();
        self.wait(&open);
        self.writer.call(self.rank, "MPI_Finalize", &[]);
    }

    fn work(&mut self, operation: u32, work: Work, blocks: bool) {
        let (sends, bytes, peer, tag) = match work {
            Work::Calculate(time) => return self.writer.compute(self.rank, Span::from_ps(time * 1000)),
            Work::Send { bytes, to, tag } => (true, bytes, to, tag),
            Work::Receive { bytes, from, tag } => (false, bytes, from, tag),
        };
        let name = match (sends, blocks) {
            (true, true) => "MPI_Send",
            (true, false) => "MPI_Isend",
            (false, true) => "MPI_Recv",
            (false, false) => "MPI_Irecv",
        };
        let message = Message { peer, tag, count: bytes, datatype: BYTE };
        self.requests[operation as usize] = self.writer.message(self.rank, name, message, &mut self.slots);
    }

    fn wait_for(&mut self, operations: &[u32]) {
        let mut open: Vec<u32> = operations
            .iter()
            .map(|&operation| std::mem::take(&mut self.requests[operation as usize]))
            .collect();
        open.retain(|&slot| slot > 0);
        self.wait(&open);
    }

    fn wait(&mut self, open: &[u32]) {
        let closed: Vec<Value> =
            open.iter().map(|&slot| status(self.slots.close(slot).unwrap_or(UNTOLD))).collect();
        match *open {
            [] => {}
            [one] => {
                let [told] = closed.try_into().expect("one status");
                self.writer.call(
                    self.rank,
                    "MPI_Wait",
                    &[given("request", request(one)), result("status", told)],
                );
            }
            // A processor sees to a message when it comes, whichever that is, and not to all of them when the
            // last has come.
            _ => {
                let requests = Value::List(open.iter().map(|&slot| request(slot)).collect());
                let arguments = [
                    given("count", Value::Count(open.len() as i64)),
                    given("array_of_requests", requests),
                    result("index", Value::Unknown),
                    result("status", Value::Unknown),
                ];
                open.iter().for_each(|_| self.writer.call(self.rank, "MPI_Waitany", &arguments));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, rank: u32) -> Vec<String> {
        let trace = super::super::read(text.as_bytes(), &LogGops::default()).unwrap();
        let mut out = Vec::new();
        trace::show::rank(&trace, rank, &mut out).unwrap();
        let names = String::from_utf8(out).unwrap();
        let name = |line: &str| Some(line[line.find("MPI_")?..].split('(').next()?.to_owned());
        names.lines().filter_map(name).collect()
    }

    #[test]
    fn what_others_are_behind_is_waited_for() {
        let text = "num_ranks 3\n\
            rank 0 {\n\
            l1: recv 8b from 1\n\
            l2: recv 8b from 2\n\
            l3: calc 5\n\
            l3 requires l1\n\
            l4: send 8b to 1\n\
            l4 irequires l3\n\
            }\n\
            rank 1 {\n\
            l1: send 8b to 0\n\
            l2: recv 8b from 0\n\
            l2 requires l1\n\
            l3: calc 9\n\
            l3 requires l2 }\n";
        assert_eq!(
            shown(text, 0),
            [
                "MPI_Init",
                "MPI_Irecv",
                "MPI_Irecv",
                "MPI_Wait",
                "MPI_Isend",
                "MPI_Waitany",
                "MPI_Waitany",
                "MPI_Finalize"
            ]
        );
        assert_eq!(shown(text, 1), ["MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Finalize"]);
        assert_eq!(shown(text, 2), ["MPI_Init", "MPI_Finalize"]);
    }

    #[test]
    fn errors_name_the_line_and_the_reason() {
        for (text, line, why) in [
            ("rank 0 {\n}", 1, "num_ranks"),
            ("num_ranks 0", 1, "no ranks"),
            ("num_ranks 2\nrank 2 {\n}", 2, "rank 2 is not one of 2"),
            ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}", 4, "a second time"),
            ("num_ranks 2\nrank 0 {\nl1: send 1b to 5\n}", 3, "rank 5"),
            ("num_ranks 2\nrank 0 {\nl1: calc 1\nl1: calc 2\n}", 4, "label l1"),
            ("num_ranks 2\nrank 0 {\nl1: calc 1\nl1 requires l7\n}", 4, "label l7"),
            (
                "num_ranks 2\nrank 0 {\nl1: calc 1\nl2: calc 1\nl1 requires l2\nl2 requires l1\n}",
                2,
                "wait for each other: line 3, line 4",
            ),
            ("num_ranks 1\nrank 0 {\nl1: calc 1\nl1 irequires l1\n}", 4, "l1 waits for itself"),
            ("num_ranks 1\nrank 0 {\nl1: calc 1 cpu 1000\n}", 3, "'1000' stands where the processor"),
            ("num_ranks 2\nrank 0 {\nl1: calc 1\n", 2, "no end"),
            (
                "num_ranks 2\nrank 0 {\nl1: calc 18446744073709551\nl2: calc 18446744073709552\n}",
                4,
                "end of time",
            ),
        ] {
            let error = graph(text.as_bytes()).unwrap_err();
            assert!(error.starts_with(&format!("line {line}: ")) && error.contains(why), "{error}");
        }
    }
}
