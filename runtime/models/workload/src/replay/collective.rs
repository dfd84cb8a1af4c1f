//! Collectives of a recording as a replay has them: which, with what it reduces, and how long its blocks are.

use super::arguments::{Arguments, Comm, Length, Refused, request};
use crate::workload::CommStanding;
use mpi::collective::Reducing;
use mpi::datatype;
use mpi::op::Predefined;
use mpi::request::{PROC_NULL, ROOT};
use mpi::schedule::{Blocks, Kind, begins};
use trace::trace::Cell;

/// The sizes of a collective's blocks.
#[derive(Debug)]
pub(super) enum Form {
    Nothing,
    Block(Length),
    /// The block that a member gives, unless that is in place, and the one that it gets.
    Exchange(Option<Length>, Length),
    /// A block of the root's call, and of others'.
    Rooted(Length, Length),
    /// A block for each member.
    Parts(Length),
    /// Blocks that the root knows; and what others give it, or get.
    RootBlocks {
        gathers: bool,
        blocks: Option<Box<[Length]>>,
        own: Option<Length>,
    },
    Allgatherv {
        own: Option<Length>,
        blocks: Box<[Length]>,
    },
    Alltoallv {
        send: Option<Box<[Length]>>,
        receive: Box<[Length]>,
    },
    ReduceScatter(Box<[Length]>),
    /// For each neighbour that it sends to, and for each that sends to it.
    Neighbors(Side, Side),
}

/// Blocks for or from neighbours.
#[derive(Debug)]
pub(super) enum Side {
    /// All so long.
    Even(Length),
    Each(Box<[Length]>),
}

/// With what a reduction reduces.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reducer {
    Predefined(Reducing),
    /// The program's operation with this number, on elements of so many bytes.
    Function {
        op: Cell,
        element: Cell,
    },
}

#[derive(Debug)]
pub(super) struct Collective {
    pub(super) kind: Kind,
    pub(super) comm: Comm,
    pub(super) root: Option<Cell>,
    form: Form,
    pub(super) reducer: Option<Reducer>,
    pub(super) request: Option<Cell>,
    /// `true` if the request is started later.
    pub(super) is_persistent: bool,
}

/// Returns what a call reduces.
fn reducing(call: &Arguments) -> Result<Reducer, Refused> {
    let Some(op) = call.name("op") else {
        return Ok(Reducer::Function {
            op: call.object("op")?.ok_or("its operation is not in the trace")?,
            element: call.datatype("datatype")?,
        });
    };
    let op = Predefined::ALL
        .iter()
        .find(|known| known.name() == op)
        .ok_or_else(|| format!("{op} is no operation"))?;
    let Some(name) = call.name("datatype") else {
        return Err("it reduces elements of a datatype that the program made".to_owned());
    };
    let datatype = datatype::predefined::named(name).ok_or_else(|| format!("{name} is no datatype"))?;
    Ok(Reducer::Predefined(Reducing::Predefined { op: op.handle(), datatype }))
}

pub(super) fn collective(call: &Arguments, name: &str) -> Result<Collective, Refused> {
    let unknown = || "there is no replay of this function".to_owned();
    let (name, is_persistent) = name.strip_suffix("_init").map_or((name, false), |name| (name, true));
    // Nonblocking ones are named like the others.
    let known = [
        "Ineighbor",
        "Iallgather",
        "Iallreduce",
        "Ialltoall",
        "Ibarrier",
        "Ibcast",
        "Iexscan",
        "Igather",
        "Ireduce",
        "Iscan",
        "Iscatter",
    ];
    let starts = known.iter().any(|known| name.starts_with(known));
    let plain = if starts { name[1..].to_lowercase() } else { name.to_lowercase() };
    let (sent, received) = (("sendcount", "sendtype"), ("recvcount", "recvtype"));
    let length = |(count, datatype): (&str, &str)| call.length(count, datatype);
    let blocks = |counts: &str, datatype: &str| -> Result<Box<[Length]>, Refused> {
        Ok(call.lengths(counts, datatype)?.into())
    };
    let own = |buffer: &str, length: Result<Length, Refused>| {
        if call.is_in_place(buffer) { Ok(None) } else { length.map(Some) }
    };
    let (kind, form) = match plain.as_str() {
        "barrier" => (Kind::Barrier, Form::Nothing),
        "bcast" => (Kind::Bcast, Form::Block(length(("count", "datatype"))?)),
        "gather" => (Kind::Gather, Form::Rooted(length(received)?, length(sent)?)),
        "scatter" => (Kind::Scatter, Form::Rooted(length(sent)?, length(received)?)),
        "allgather" => (Kind::Allgather, Form::Exchange(own("sendbuf", length(sent))?, length(received)?)),
        "alltoall" => (Kind::Alltoall, Form::Exchange(own("sendbuf", length(sent))?, length(received)?)),
        "reduce" => (Kind::Reduce, Form::Block(length(("count", "datatype"))?)),
        "allreduce" => (Kind::Allreduce, Form::Block(length(("count", "datatype"))?)),
        "scan" => (Kind::Scan, Form::Block(length(("count", "datatype"))?)),
        "exscan" => (Kind::Exscan, Form::Block(length(("count", "datatype"))?)),
        "reduce_scatter_block" => (Kind::ReduceScatter, Form::Parts(length(("recvcount", "datatype"))?)),
        "reduce_scatter" => (Kind::ReduceScatter, Form::ReduceScatter(blocks("recvcounts", "datatype")?)),
        "gatherv" => {
            let known = if call.list("recvcounts")?.is_some() {
                Some(blocks("recvcounts", "recvtype")?)
            } else {
                None
            };
            (
                Kind::Gather,
                Form::RootBlocks { gathers: true, blocks: known, own: own("sendbuf", length(sent))? },
            )
        }
        "scatterv" => {
            let known = if call.list("sendcounts")?.is_some() {
                Some(blocks("sendcounts", "sendtype")?)
            } else {
                None
            };
            (
                Kind::Scatter,
                Form::RootBlocks { gathers: false, blocks: known, own: own("recvbuf", length(received))? },
            )
        }
        "allgatherv" => {
            let form = Form::Allgatherv {
                own: own("sendbuf", length(sent))?,
                blocks: blocks("recvcounts", "recvtype")?,
            };
            (Kind::Allgather, form)
        }
        "alltoallv" | "alltoallw" => {
            let of = |side: &str| {
                if plain == "alltoallv" { format!("{side}type") } else { format!("{side}types") }
            };
            let send =
                if call.is_in_place("sendbuf") { None } else { Some(blocks("sendcounts", &of("send"))?) };
            (Kind::Alltoall, Form::Alltoallv { send, receive: blocks("recvcounts", &of("recv"))? })
        }
        "neighbor_allgather" | "neighbor_alltoall" => {
            (Kind::Neighbor, Form::Neighbors(Side::Even(length(sent)?), Side::Even(length(received)?)))
        }
        "neighbor_allgatherv" => (
            Kind::Neighbor,
            Form::Neighbors(Side::Even(length(sent)?), Side::Each(blocks("recvcounts", "recvtype")?)),
        ),
        "neighbor_alltoallv" | "neighbor_alltoallw" => {
            let of = |side: &str| {
                if plain == "neighbor_alltoallv" { format!("{side}type") } else { format!("{side}types") }
            };
            let send = Side::Each(blocks("sendcounts", &of("send"))?);
            (Kind::Neighbor, Form::Neighbors(send, Side::Each(blocks("recvcounts", &of("recv"))?)))
        }
        _ => return Err(unknown()),
    };
    let reduces =
        matches!(kind, Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter | Kind::Scan | Kind::Exscan);
    Ok(Collective {
        kind,
        comm: call.comm("comm")?,
        root: call.number("root"),
        form,
        reducer: if reduces { Some(reducing(call)?) } else { None },
        request: if starts || is_persistent { request(call)? } else { None },
        is_persistent,
    })
}

/// The bytes and the blocks of a [`crate::Collective`].
pub(super) type Lengths = (u64, Option<(Blocks, Blocks)>);

/// Blocks of these sizes.
fn each(sizes: &[u64]) -> Blocks {
    Blocks::Each(begins(sizes.iter().copied()).collect())
}

/// Returns the sizes of blocks, which can be added up.
fn summable(blocks: &[Length], bytes: &impl Fn(Length) -> u64) -> Result<Vec<u64>, Box<str>> {
    let sizes: Vec<u64> = blocks.iter().map(|&length| bytes(length)).collect();
    let sum = sizes.iter().try_fold(0u64, |sum, &size| sum.checked_add(size));
    sum.map(|_| sizes).ok_or_else(|| "its blocks have more than 2^64 bytes together".into())
}

/// A member's part in a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CollectiveRole {
    /// The root.
    Root,
    /// One of the root's own group in an intercommunicator, which has no part.
    Outside,
    /// Any other.
    Member,
}

impl CollectiveRole {
    /// Returns the part of a rank where the root is this one.
    pub(super) fn of(me: &CommStanding, root: Option<i32>) -> CollectiveRole {
        match root {
            Some(ROOT) if me.is_inter => CollectiveRole::Root,
            Some(PROC_NULL) if me.is_inter => CollectiveRole::Outside,
            Some(root) if !me.is_inter && u32::try_from(root) == Ok(me.rank) => CollectiveRole::Root,
            _ => CollectiveRole::Member,
        }
    }
}

impl Collective {
    /// Returns `true` for a v or w form.
    pub(super) fn is_irregular(&self) -> bool {
        !matches!(
            self.form,
            Form::Nothing | Form::Block(_) | Form::Exchange(..) | Form::Rooted(..) | Form::Parts(_)
        )
    }

    /// Returns the sizes for a member; `bytes` says how many a length is.
    ///
    /// # Errors
    /// If the call has blocks for another number of members.
    pub(super) fn lengths(
        &self,
        role: CollectiveRole,
        me: &CommStanding,
        bytes: &impl Fn(Length) -> u64,
    ) -> Result<Lengths, Box<str>> {
        let sizes = |blocks: &[Length], members: u32| -> Result<Vec<u64>, Box<str>> {
            if blocks.len() != members as usize {
                return Err(format!(
                    "the trace has {} blocks of the call, and its communicator {members} members",
                    blocks.len()
                )
                .into());
            }
            summable(blocks, bytes)
        };
        // In place is what the rank itself has among the others' blocks, which has no place between groups.
        let own = |own: &Option<Length>, sizes: &[u64]| {
            own.map_or_else(|| sizes.get(me.rank as usize).copied().unwrap_or(0), bytes)
        };
        let uniform = |send, receive| Some((Blocks::Uniform(send), Blocks::Uniform(receive)));
        let is_root = role == CollectiveRole::Root;
        Ok(match &self.form {
            Form::Nothing => (0, None),
            // Nothing goes to or comes from the others of the root's group.
            Form::Block(_) | Form::Rooted(..) | Form::RootBlocks { .. }
                if role == CollectiveRole::Outside =>
            {
                (0, uniform(0, 0))
            }
            Form::Block(length) if is_root && me.is_inter && self.kind == Kind::Reduce => {
                (bytes(*length), uniform(0, bytes(*length)))
            }
            Form::Block(length) => (bytes(*length), None),
            Form::Exchange(send, receive) => {
                let (send, receive) = (send.map_or(0, bytes), bytes(*receive));
                (receive, if me.is_inter { uniform(send, receive) } else { None })
            }
            Form::Rooted(root, _) if is_root && me.is_inter => {
                let block = bytes(*root);
                (block, if self.kind == Kind::Gather { uniform(0, block) } else { uniform(block, 0) })
            }
            Form::Rooted(root, others) => (bytes(if is_root { *root } else { *others }), None),
            Form::Parts(length) => (bytes(*length).saturating_mul(me.size.into()), None),
            Form::RootBlocks { gathers, blocks, own: length } => {
                let (one, all) = match (is_root, blocks) {
                    (true, Some(blocks)) => {
                        let sizes = sizes(blocks, me.peers)?;
                        let one = if me.is_inter { 0 } else { own(length, &sizes) };
                        (Blocks::Uniform(one), each(&sizes))
                    }
                    _ => {
                        let one = Blocks::Uniform(length.map_or(0, bytes));
                        (one.clone(), one)
                    }
                };
                (0, Some(if *gathers { (one, all) } else { (all, one) }))
            }
            Form::Allgatherv { own: length, blocks } => {
                let sizes = sizes(blocks, me.peers)?;
                (sizes.iter().sum(), Some((Blocks::Uniform(own(length, &sizes)), each(&sizes))))
            }
            Form::Alltoallv { send, receive } => {
                let receive = each(&sizes(receive, me.peers)?);
                let send = match send {
                    Some(send) => each(&sizes(send, me.peers)?),
                    None => receive.clone(),
                };
                (0, Some((send, receive)))
            }
            Form::Neighbors(send, receive) => {
                let side = |side: &Side| -> Result<Blocks, Box<str>> {
                    Ok(match side {
                        Side::Even(length) => Blocks::Uniform(bytes(*length)),
                        Side::Each(blocks) => each(&summable(blocks, bytes)?),
                    })
                };
                (0, Some((side(send)?, side(receive)?)))
            }
            Form::ReduceScatter(blocks) => {
                let sizes = sizes(blocks, me.size)?;
                (sizes.iter().sum(), Some((each(&sizes), Blocks::Uniform(own(&None, &sizes)))))
            }
        })
    }
}
