//! One action: from the words of a line to a call.

use super::datatypes::{numbered, operation};
use crate::Options;
use crate::writer::{BYTE, Message, Slots, Told, Type, Writer, buffer, count, counts, displacements, given};
use engine::Span;
use recorder::{ArgumentValue, Class, ObjectArgument, Value};
use std::collections::BTreeMap;
use std::collections::VecDeque;

/// State of a rank between its actions.
pub struct Rank {
    number: u32,
    /// In which volumes are told where no datatype is.
    default: Type,
    slots: Slots<Told>,
    /// Open requests by source, destination and tag, in order.
    open: BTreeMap<(i32, i32, i32), VecDeque<u32>>,
    is_over: bool,
}

/// The words behind an action's name, from the left.
struct Words<'w> {
    words: &'w [&'w str],
    at: usize,
}

impl<'w> Words<'w> {
    fn next(&mut self, what: &str) -> Result<&'w str, String> {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word.ok_or_else(|| format!("the line ends where {what} should be"))
    }

    /// Reads a number that may be written as 1e6 and has no fraction to speak of.
    fn volume(&mut self, what: &str) -> Result<u64, String> {
        let word = self.next(what)?;
        let wrong = || format!("'{word}' stands where {what} should, a number from 0 to 2^62");
        if let Ok(number) = word.parse::<u64>() {
            return if number < 1 << 62 { Ok(number) } else { Err(wrong()) };
        }
        let number = word.parse::<f64>().ok().filter(|number| (0.0..4.6e18).contains(number));
        number.map(|number| number.trunc() as u64).ok_or_else(wrong)
    }

    fn amount(&mut self, what: &str) -> Result<f64, String> {
        let word = self.next(what)?;
        let amount = word.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
        amount.ok_or_else(|| format!("'{word}' stands where {what} should, a number of at least 0"))
    }

    fn rank(&mut self, what: &str, ranks: u32, any: bool) -> Result<i32, String> {
        let word = self.next(what)?;
        let rank =
            word.parse::<i32>().ok().filter(|&rank| rank >= 0 && (rank as u32) < ranks || any && rank == -1);
        rank.ok_or_else(|| format!("'{word}' stands where {what} should, one of {ranks} ranks"))
    }

    fn tag(&mut self, any: bool) -> Result<i32, String> {
        let word = self.next("a tag")?;
        let tag = word.parse::<i32>().ok().filter(|&tag| tag >= 0 || any);
        // Any negative number is any tag; the writer's is -2.
        tag.map(|tag| if tag < 0 { -2 } else { tag }).ok_or_else(|| format!("'{word}' is no tag"))
    }

    fn root(&mut self, ranks: u32) -> Result<i32, String> {
        if self.at >= self.words.len() { Ok(0) } else { self.rank("the root", ranks, false) }
    }

    fn datatype(&mut self, default: Type) -> Result<Type, String> {
        if self.at >= self.words.len() {
            return Ok(default);
        }
        let word = self.next("a datatype")?;
        let known = word.parse().ok().and_then(numbered);
        known.ok_or_else(|| format!("'{word}' is no number of a datatype with a size"))
    }

    fn volumes(&mut self, what: &str, count: u32) -> Result<Vec<u64>, String> {
        (0..count).map(|_| self.volume(what)).collect()
    }

    fn end(&self) -> Result<(), String> {
        match self.words.get(self.at) {
            Some(word) => Err(format!("'{word}' is more than the action has")),
            None => Ok(()),
        }
    }
}

fn root(root: i32) -> ArgumentValue {
    given("root", Value::Rank(root))
}

/// Returns what is reduced: a datatype, by how many elements of it one is told, and the operation.
fn reduced(told: Type) -> (ArgumentValue, u64, ArgumentValue) {
    let (datatype, elements, operation) = match operation(told) {
        Some(operation) => (told, 1, operation),
        None => (BYTE, told.size, "MPI_BOR"),
    };
    (
        datatype.of("datatype"),
        elements,
        given("op", Value::Handle(Class::Op, ObjectArgument::Named(operation))),
    )
}

impl Rank {
    /// Returns the state before its first action.
    pub fn new(number: u32) -> Rank {
        Rank { number, default: BYTE, slots: Slots::default(), open: BTreeMap::new(), is_over: false }
    }

    /// Makes the calls of an action.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn action(
        &mut self,
        name: &str,
        words: &[&str],
        writer: &mut Writer,
        ranks: u32,
        options: &Options,
    ) -> Result<(), String> {
        if self.is_over {
            return Err(format!("rank {} has finalized before", self.number));
        }
        let words = &mut Words { words, at: 0 };
        match name {
            "init" => {
                // Any word says that datatypes are told by doubles.
                self.default =
                    if words.words.is_empty() { BYTE } else { Type { name: "MPI_DOUBLE", size: 8 } };
                words.at = words.words.len();
                writer.init(self.number);
            }
            "finalize" => self.finish(writer),
            "compute" => self.operate(words.amount("the operations")?, writer, options)?,
            "sleep" => {
                let seconds = words.amount("the seconds")?;
                let ps = Some(seconds * 1e12).filter(|ps| *ps < 9.2e18);
                let ps = ps.ok_or_else(|| format!("{seconds} seconds are beyond the end of time"))?;
                writer.compute(self.number, Span::from_ps(ps.round() as u64));
            }
            // They take no time there, and collectives are those of all ranks.
            "comm_size" | "comm_split" | "comm_dup" | "location" => return Ok(()),
            "send" | "isend" | "recv" | "irecv" => self.message(name, words, writer, ranks)?,
            "sendRecv" | "sendrecv" => self.exchange(words, writer, ranks)?,
            "wait" | "test" => self.wait(name, words, writer, ranks)?,
            "waitall" => {
                words.at = words.words.len();
                self.wait_all(writer);
            }
            _ => self.collective(name, words, writer, ranks, options)?,
        }
        words.end()
    }

    /// Ends a rank without an action that finalizes: waits for its open requests, as SMPI does, and finalizes
    /// MPI.
    pub fn finish(&mut self, writer: &mut Writer) {
        if !self.is_over {
            self.wait_all(writer);
            writer.call(self.number, "MPI_Finalize", &[]);
            self.is_over = true;
        }
    }

    fn operate(&self, operations: f64, writer: &mut Writer, options: &Options) -> Result<(), String> {
        let span = options
            .time(operations)
            .ok_or_else(|| format!("{operations} operations take longer than time goes"))?;
        writer.compute(self.number, span);
        Ok(())
    }

    fn message(
        &mut self,
        name: &str,
        words: &mut Words,
        writer: &mut Writer,
        ranks: u32,
    ) -> Result<(), String> {
        let receives = name.ends_with("recv");
        let peer = words.rank("the other rank", ranks, receives)?;
        let tag = words.tag(receives)?;
        // The size of -1 asks for the message that comes first: we know as little of it, and have room for
        // all.
        let size = if receives && words.words.get(words.at).is_some_and(|word| word.starts_with('-')) {
            words.at += 1;
            1 << 40
        } else {
            words.volume("the size")?
        };
        let datatype = words.datatype(self.default)?;
        let name = match name {
            "send" => "MPI_Send",
            "isend" => "MPI_Isend",
            "recv" => "MPI_Recv",
            _ => "MPI_Irecv",
        };
        let slot =
            writer.message(self.number, name, Message { peer, tag, count: size, datatype }, &mut self.slots);
        if slot != 0 {
            let key =
                if receives { (peer, self.number as i32, tag) } else { (self.number as i32, peer, tag) };
            self.open.entry(key).or_default().push_back(slot);
        }
        Ok(())
    }

    fn exchange(&mut self, words: &mut Words, writer: &mut Writer, ranks: u32) -> Result<(), String> {
        let (sent, to) = (words.volume("the size sent")?, words.rank("the destination", ranks, false)?);
        let (received, from) = (words.volume("the size received")?, words.rank("the source", ranks, true)?);
        let (sends, receives) = (words.datatype(self.default)?, words.datatype(self.default)?);
        let to = Message { peer: to, tag: 0, count: sent, datatype: sends };
        let from = Message { peer: from, tag: 0, count: received, datatype: receives };
        writer.exchange_in(writer.world(self.number), self.number, to, from);
        Ok(())
    }

    fn wait(&mut self, name: &str, words: &mut Words, writer: &mut Writer, ranks: u32) -> Result<(), String> {
        let (source, destination) =
            (words.rank("the source", ranks, true)?, words.rank("the destination", ranks, false)?);
        let key = (source, destination, words.tag(true)?);
        // A request that a test has found may be waited for once more.
        let Some(slots) = self.open.get_mut(&key) else { return Ok(()) };
        if name == "test" {
            // What it finds depends on the machine. As one that finds nothing it changes nothing: whoever
            // tests waits in the end.
            let slot = *slots.front().expect("nothing empty is kept");
            writer.test_in_vain(self.number, slot);
            return Ok(());
        }
        let slot = slots.pop_front().expect("nothing empty is kept");
        if slots.is_empty() {
            self.open.remove(&key);
        }
        writer.complete(self.number, &[slot], false, &mut self.slots);
        Ok(())
    }

    fn wait_all(&mut self, writer: &mut Writer) {
        self.open.clear();
        writer.wait_all(self.number, &mut self.slots);
    }

    fn collective(
        &mut self,
        name: &str,
        words: &mut Words,
        writer: &mut Writer,
        ranks: u32,
        options: &Options,
    ) -> Result<(), String> {
        let comm = writer.world(self.number);
        let (sendbuf, recvbuf) = (buffer("sendbuf"), buffer("recvbuf"));
        let mut operations = 0.0;
        let (name, arguments) = match name {
            "barrier" => ("MPI_Barrier", vec![comm]),
            "bcast" => {
                let (size, from) = (words.volume("the size")?, words.root(ranks)?);
                let datatype = words.datatype(self.default)?;
                (
                    "MPI_Bcast",
                    vec![buffer("buffer"), count("count", size), datatype.of("datatype"), root(from), comm],
                )
            }
            "reduce" | "allreduce" | "scan" | "exscan" => {
                let size = words.volume("the size")?;
                operations = words.amount("the operations")?;
                let to = if name == "reduce" { Some(words.root(ranks)?) } else { None };
                let (datatype, elements, op) = reduced(words.datatype(self.default)?);
                let mut arguments =
                    vec![sendbuf, recvbuf, count("count", size.saturating_mul(elements)), datatype, op];
                arguments.extend(to.map(root));
                arguments.push(comm);
                let name = match name {
                    "reduce" => "MPI_Reduce",
                    "allreduce" => "MPI_Allreduce",
                    "scan" => "MPI_Scan",
                    _ => "MPI_Exscan",
                };
                (name, arguments)
            }
            "alltoall" | "allgather" | "gather" | "scatter" => {
                let (sent, received) = (words.volume("the size sent")?, words.volume("the size received")?);
                let at = if matches!(name, "gather" | "scatter") { Some(words.root(ranks)?) } else { None };
                let (sends, receives) = (words.datatype(self.default)?, words.datatype(self.default)?);
                let mut arguments = vec![sendbuf, count("sendcount", sent), sends.of("sendtype"), recvbuf];
                arguments.extend([count("recvcount", received), receives.of("recvtype")]);
                arguments.extend(at.map(root));
                arguments.push(comm);
                let name = match name {
                    "alltoall" => "MPI_Alltoall",
                    "allgather" => "MPI_Allgather",
                    "gather" => "MPI_Gather",
                    _ => "MPI_Scatter",
                };
                (name, arguments)
            }
            "gatherv" | "allgatherv" => {
                let sent = words.volume("the size sent")?;
                let received = words.volumes("a size received", ranks)?;
                let at = if name == "gatherv" { Some(words.root(ranks)?) } else { None };
                let (sends, receives) = (words.datatype(self.default)?, words.datatype(self.default)?);
                if name == "allgatherv" {
                    // Displacements may follow.
                    words.at = words.words.len();
                }
                let knows = at.is_none_or(|at| at as u32 == self.number);
                let mut arguments = vec![sendbuf, count("sendcount", sent), sends.of("sendtype"), recvbuf];
                if knows {
                    arguments.extend([counts("recvcounts", &received), displacements("displs", &received)]);
                } else {
                    arguments.extend([given("recvcounts", Value::Null), given("displs", Value::Null)]);
                }
                arguments.push(receives.of("recvtype"));
                arguments.extend(at.map(root));
                arguments.push(comm);
                (if at.is_some() { "MPI_Gatherv" } else { "MPI_Allgatherv" }, arguments)
            }
            "scatterv" => {
                let sent = words.volumes("a size sent", ranks)?;
                let (received, at) = (words.volume("the size received")?, words.root(ranks)?);
                let (sends, receives) = (words.datatype(self.default)?, words.datatype(self.default)?);
                let mut arguments = vec![sendbuf];
                if at as u32 == self.number {
                    arguments.extend([counts("sendcounts", &sent), displacements("displs", &sent)]);
                } else {
                    arguments.extend([given("sendcounts", Value::Null), given("displs", Value::Null)]);
                }
                arguments.extend([
                    sends.of("sendtype"),
                    recvbuf,
                    count("recvcount", received),
                    receives.of("recvtype"),
                    root(at),
                    comm,
                ]);
                ("MPI_Scatterv", arguments)
            }
            "alltoallv" => {
                words.volume("the size of the buffer sent from")?;
                let sent = words.volumes("a size sent", ranks)?;
                words.volume("the size of the buffer received into")?;
                let received = words.volumes("a size received", ranks)?;
                let (sends, receives) = (words.datatype(self.default)?, words.datatype(self.default)?);
                let mut arguments = vec![
                    sendbuf,
                    counts("sendcounts", &sent),
                    displacements("sdispls", &sent),
                    sends.of("sendtype"),
                    recvbuf,
                ];
                arguments.extend([
                    counts("recvcounts", &received),
                    displacements("rdispls", &received),
                    receives.of("recvtype"),
                    comm,
                ]);
                ("MPI_Alltoallv", arguments)
            }
            "reducescatter" => {
                let mut received = words.volumes("a size received", ranks)?;
                operations = words.amount("the operations")?;
                let (datatype, elements, op) = reduced(words.datatype(self.default)?);
                received.iter_mut().for_each(|size| *size = size.saturating_mul(elements));
                let arguments = vec![sendbuf, recvbuf, counts("recvcounts", &received), datatype, op, comm];
                ("MPI_Reduce_scatter", arguments)
            }
            other => return Err(format!("'{other}' is no action that is known")),
        };
        writer.call(self.number, name, &arguments);
        self.operate(operations, writer, options)
    }
}
