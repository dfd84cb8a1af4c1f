//! A trace of a walk: the calls of ranks that follow a model, told to the recorder as a run would tell them.

use crate::script::{Stop, Writing, follow};
use crate::writer::{BYTE, Message, Slots, Told, Type, Writer, blocks_of, buffer, count, given};
use engine::Span;
use mpi::abi::{MPI_DOUBLE, MPI_FLOAT, MPI_MAX, MPI_MIN, MPI_PROD, MPI_SUM, MPI_UNSIGNED_CHAR};
use mpi::collective::Reducing;
use mpi::schedule::Kind;
use recorder::{ArgumentValue, Class, ObjectArgument, Value};
use std::path::Path;
use trace::trace::Comms;
use workload::{Call, Collective, Envelope, Requests, Script, Wait, Walk};

/// Writes what so many ranks call in a walk, and what they compute between, to a file. O(calls of all ranks).
///
/// # Errors
/// A sentence: the file cannot be written, or a call depends on what the run decides.
pub fn walked(walk: &mut Walk, ranks: u32, to: &Path) -> Result<(), String> {
    let mut writer = Writer::create(to, ranks)?;
    let told = (0..ranks).try_for_each(|rank| tell(walk, rank, &mut writer));
    if told.is_err() {
        // What was begun is no trace.
        let _ = std::fs::remove_file(to);
    }
    told?;
    writer.finish()
}

fn tell(walk: &mut Walk, rank: u32, writer: &mut Writer) -> Result<(), String> {
    let comms = Comms::default();
    writer.init(rank);
    let mut telling = Telling { writer, rank, slots: Slots::default() };
    follow(&mut Script::of(walk, &comms, rank), &mut telling, &|why| why.to_string())?;
    writer.call(rank, "MPI_Finalize", &[]);
    Ok(())
}

/// The calls of one rank.
struct Telling<'w> {
    writer: &'w mut Writer,
    rank: u32,
    slots: Slots<Told>,
}

impl Writing for Telling<'_> {
    fn compute(&mut self, span: Span) -> std::io::Result<()> {
        if span != Span::ZERO {
            self.writer.compute(self.rank, span);
        }
        Ok(())
    }

    fn call(&mut self, call: Call) -> Result<(), Stop> {
        match call {
            Call::Isend(_, envelope, _) => self.message("MPI_Isend", envelope),
            Call::Irecv(envelope, _) => self.message("MPI_Irecv", envelope),
            Call::Complete(Wait::All, Requests::All) => self.writer.wait_all(self.rank, &mut self.slots),
            Call::Collective(collective) => self.collective(&collective),
            Call::Local => {}
            // A walk has no other calls but receives of random messages.
            _ => {
                let why = "messages to random ranks are received in the order in which they come, which the \
                    run decides: write the program (xsim aspen generate) and record that (-xsim-trace)";
                return Err(Stop::Refused(why.to_owned()));
            }
        }
        Ok(())
    }
}

impl Telling<'_> {
    fn message(&mut self, name: &'static str, Envelope { peer, tag, bytes, .. }: Envelope) {
        self.writer.message(
            self.rank,
            name,
            Message { peer, tag, count: bytes, datatype: BYTE },
            &mut self.slots,
        );
    }

    fn collective(&mut self, Collective { kind, root, bytes, reduction, .. }: &Collective) {
        let comm = self.writer.world(self.rank);
        let root = root.map(|root| given("root", Value::Rank(root)));
        let (name, mut arguments) = match kind {
            Kind::Barrier => ("MPI_Barrier", Vec::new()),
            Kind::Bcast => ("MPI_Bcast", vec![buffer("buffer"), count("count", *bytes), BYTE.of("datatype")]),
            Kind::Allreduce => ("MPI_Allreduce", reduced(*bytes, reduction.as_ref())),
            Kind::Reduce => ("MPI_Reduce", reduced(*bytes, reduction.as_ref())),
            Kind::Scan => ("MPI_Scan", reduced(*bytes, reduction.as_ref())),
            Kind::Allgather => ("MPI_Allgather", blocks_of(*bytes)),
            Kind::Alltoall => ("MPI_Alltoall", blocks_of(*bytes)),
            Kind::Gather => ("MPI_Gather", blocks_of(*bytes)),
            Kind::Scatter => ("MPI_Scatter", blocks_of(*bytes)),
            other => unreachable!("models have no {other:?}"),
        };
        arguments.extend(root);
        arguments.push(comm);
        self.writer.call(self.rank, name, &arguments);
    }
}

/// Returns what is reduced, of the datatype and by the operation that a walk takes.
fn reduced(bytes: u64, reduction: Option<&Reducing>) -> Vec<ArgumentValue> {
    let Some(Reducing::Predefined { op, datatype }) = reduction else {
        unreachable!("models have no functions")
    };
    let datatype = match *datatype {
        MPI_DOUBLE => Type { name: "MPI_DOUBLE", size: 8 },
        MPI_FLOAT => Type { name: "MPI_FLOAT", size: 4 },
        MPI_UNSIGNED_CHAR => Type { name: "MPI_UNSIGNED_CHAR", size: 1 },
        other => unreachable!("a walk does not reduce datatype {other}"),
    };
    let op = match *op {
        MPI_SUM => "MPI_SUM",
        MPI_MIN => "MPI_MIN",
        MPI_MAX => "MPI_MAX",
        MPI_PROD => "MPI_PROD",
        other => unreachable!("models have no operation {other}"),
    };
    let op = given("op", Value::Handle(Class::Op, ObjectArgument::Named(op)));
    vec![
        buffer("sendbuf"),
        buffer("recvbuf"),
        count("count", bytes / datatype.size),
        datatype.of("datatype"),
        op,
    ]
}
