//! What a recorded call is to a replay.

use super::arguments::{Arguments, Comm, Length, Partner, Received, Refused};
use mpi::collective::Reducing;
use mpi::datatype;
use mpi::op::Predefined;
use mpi::p2p::SendMode;
use mpi::schedule::{Blocks, Kind, begins};
use std::rc::Rc;
use trace::trace::Cell;

/// Requests by number: the same for all ranks, as ranks without a program number them (from 0); or as the trace does, `None` for null ones.
#[derive(Debug)]
pub(super) enum Slots {
    Same(Rc<[u32]>),
    Each(Box<[Option<Cell>]>),
}

impl Slots {
    pub(super) fn len(&self) -> usize {
        match self {
            Slots::Same(slots) => slots.len(),
            Slots::Each(cells) => cells.len(),
        }
    }
}

/// Which requests of the call's were complete.
#[derive(Debug)]
pub(super) enum Completed {
    All,
    /// The one at this index.
    One(Cell),
    Some(Box<[Cell]>),
}

/// How a communicator is made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Make {
    Dup,
    Split {
        color: Cell,
        key: Cell,
    },
    /// Of those that the trace has in the communicator with this number.
    Among(Cell),
    /// The rank gets none.
    Nothing,
}

/// The sizes of a collective's blocks.
#[derive(Debug)]
pub(super) enum Form {
    Nothing,
    Block(Length),
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
    /// Whether the request is started later.
    pub(super) is_persistent: bool,
}

/// What a call is.
#[derive(Debug)]
pub(super) enum Operation {
    /// Nothing that takes time, or that others depend on.
    Local,
    /// A poll that leaves what it asks for as it is, and whether it found it.
    Look {
        flag: Cell,
    },
    /// Nothing that can be replayed, for this reason.
    Refused(Refused),
    Send {
        mode: SendMode,
        to: Partner,
        request: Option<Cell>,
    },
    Receive {
        from: Partner,
        status: Option<Received>,
    },
    Ireceive {
        from: Partner,
        request: Cell,
    },
    /// With a message: `MPI_Mprobe`.
    Probe {
        from: Partner,
        status: Option<Received>,
        flag: Option<Cell>,
        message: Option<Cell>,
    },
    /// `MPI_Mrecv`, with a request `MPI_Imrecv`; a null message is one of nobody.
    ReceiveProbed {
        message: Option<Cell>,
        length: Length,
        request: Option<Cell>,
    },
    Exchange {
        to: Partner,
        from: Partner,
        status: Option<Received>,
        request: Option<Cell>,
        replaces: bool,
    },
    Complete {
        flag: Option<Cell>,
        requests: Slots,
        completed: Completed,
        statuses: Box<[Option<Received>]>,
    },
    /// What is started later; what that is [`super::plan::Plan::persistent`] has.
    Persistent {
        request: Cell,
    },
    Start {
        requests: Box<[Cell]>,
    },
    FreeRequest {
        request: Option<Cell>,
    },
    Collective(Collective),
    Make {
        comm: Comm,
        how: Make,
    },
    FreeComm {
        comm: Comm,
    },
    /// An operation is made, which is commutative or not.
    MakeOp {
        op: Cell,
        commutes: Cell,
    },
}

/// What begins the names of functions that change nothing beyond their rank.
const LOCAL: [&str; 27] = [
    "Type_",
    "Group_",
    "Op_",
    "Info_",
    "Attr_",
    "Keyval_",
    "Errhandler_",
    "Error_",
    "Comm_get_",
    "Comm_set_",
    "Comm_create_keyval",
    "Comm_create_errhandler",
    "Comm_free_",
    "Comm_delete_",
    "Comm_remote_",
    "Graph_get",
    "Graph_map",
    "Graph_neighbors",
    "Dist_graph_neighbors",
    "Pack",
    "Unpack",
    "Status_",
    "Buffer_",
    "Grequest_",
    "Add_error_",
    "Remove_error_",
    "T_",
];
/// The names of others.
const LOCALS: [&str; 34] = [
    "Init",
    "Init_thread",
    "Finalize",
    "Pcontrol",
    "Alloc_mem",
    "Free_mem",
    "Address",
    "Cancel",
    "Reduce_local",
    "Comm_rank",
    "Comm_size",
    "Comm_compare",
    "Comm_group",
    "Comm_test_inter",
    "Comm_attach_buffer",
    "Comm_detach_buffer",
    "Comm_call_errhandler",
    "Cart_coords",
    "Cart_get",
    "Cart_map",
    "Cart_rank",
    "Cart_shift",
    "Cartdim_get",
    "Graphdims_get",
    "Dims_create",
    "Topo_test",
    "Test_cancelled",
    "Get_address",
    "Get_count",
    "Get_elements",
    "Get_elements_x",
    "Get_processor_name",
    "Get_version",
    "Get_library_version",
];

fn is_local(name: &str) -> bool {
    LOCALS.contains(&name) || LOCAL.iter().any(|begin| name.starts_with(begin))
}

fn mode(name: &str) -> SendMode {
    match name {
        "Ssend" | "Issend" | "Ssend_init" => SendMode::Synchronous,
        // Its data has left the program's buffer, so that it goes at once, as one whose receive is posted.
        "Bsend" | "Ibsend" | "Bsend_init" | "Rsend" | "Irsend" | "Rsend_init" => SendMode::Ready,
        _ => SendMode::Standard,
    }
}

/// With what a call reduces.
fn reducing(call: &Arguments) -> Result<Reducer, Refused> {
    let Some(op) = call.name("op") else {
        return Ok(Reducer::Function {
            op: call.object("op")?.ok_or("its operation is not in the trace")?,
            element: call.datatype("datatype")?,
        });
    };
    let op = Predefined::ALL.iter().find(|known| known.name() == op).ok_or_else(|| format!("{op} is no operation"))?;
    let Some(name) = call.name("datatype") else { return Err("it reduces elements of a datatype that the program made".to_owned()) };
    let datatype = datatype::predefined::named(name).ok_or_else(|| format!("{name} is no datatype"))?;
    Ok(Reducer::Predefined(Reducing::Predefined { op: op.handle(), datatype }))
}

impl Operation {
    /// What a call is.
    pub(super) fn of(call: &Arguments) -> Operation {
        let name = &call.trace.functions[call.template.function as usize].name;
        let name = name.strip_prefix("MPI_").unwrap_or(name);
        if name == "Op_create"
            && let (Ok(Some(op)), Some(commutes)) = (call.object("op"), call.number("commute"))
        {
            return Operation::MakeOp { op, commutes };
        }
        if is_local(name) {
            return Operation::Local;
        }
        if call.template.code != 0 {
            return Operation::Refused(format!("it failed with error {} when it was recorded", call.template.code));
        }
        Operation::made(call, name).unwrap_or_else(Operation::Refused)
    }

    fn made(call: &Arguments, name: &str) -> Result<Operation, Refused> {
        Ok(match name {
            "Send" | "Ssend" | "Bsend" | "Rsend" | "Isend" | "Issend" | "Ibsend" | "Irsend" | "Send_init" | "Ssend_init" | "Bsend_init"
            | "Rsend_init" => {
                let to = call.partner(["dest", "tag", "count", "datatype"])?;
                let request = if name.starts_with('I') || name.ends_with("_init") { request(call)? } else { None };
                Operation::Send { mode: mode(name), to, request }
            }
            "Recv" => Operation::Receive { from: call.partner(["source", "tag", "count", "datatype"])?, status: call.status() },
            "Irecv" | "Recv_init" => {
                let request = request(call)?.ok_or("its request is not in the trace")?;
                Operation::Ireceive { from: call.partner(["source", "tag", "count", "datatype"])?, request }
            }
            "Probe" | "Iprobe" | "Mprobe" | "Improbe" => {
                let nothing = (Cell::Same(0), Cell::Same(0));
                let from = Partner { rank: call.known("source")?, tag: call.known("tag")?, comm: call.comm("comm")?, length: nothing };
                let message = if name.contains("mprobe") || name.contains("Mprobe") { call.object("message")? } else { None };
                Operation::Probe { from, status: call.status(), flag: call.number("flag"), message }
            }
            "Mrecv" | "Imrecv" => {
                let request = if name == "Imrecv" { request(call)? } else { None };
                Operation::ReceiveProbed { message: call.object("message")?, length: call.length("count", "datatype")?, request }
            }
            "Sendrecv" | "Isendrecv" => Operation::Exchange {
                to: call.partner(["dest", "sendtag", "sendcount", "sendtype"])?,
                from: call.partner(["source", "recvtag", "recvcount", "recvtype"])?,
                status: call.status(),
                request: if name == "Isendrecv" { request(call)? } else { None },
                replaces: false,
            },
            "Sendrecv_replace" | "Isendrecv_replace" => Operation::Exchange {
                to: call.partner(["dest", "sendtag", "count", "datatype"])?,
                from: call.partner(["source", "recvtag", "count", "datatype"])?,
                status: call.status(),
                request: if name.starts_with('I') { request(call)? } else { None },
                replaces: true,
            },
            "Wait" | "Test" | "Waitall" | "Testall" | "Waitany" | "Testany" | "Waitsome" | "Testsome" => completing(call, name)?,
            "Request_get_status" | "Request_get_status_all" | "Request_get_status_any" => Operation::Look { flag: call.known("flag")? },
            "Request_get_status_some" => Operation::Look { flag: call.known("outcount")? },
            "Start" | "Startall" => Operation::Start { requests: call.requests()?.into_iter().flatten().collect() },
            "Request_free" => Operation::FreeRequest { request: call.object("request")? },
            "Comm_dup" | "Comm_dup_with_info" => Operation::Make { comm: call.comm("comm")?, how: Make::Dup },
            "Comm_split" => {
                Operation::Make { comm: call.comm("comm")?, how: Make::Split { color: call.known("color")?, key: call.known("key")? } }
            }
            "Comm_split_type" | "Cart_sub" | "Comm_create" => making(call, "comm", "newcomm")?,
            "Cart_create" => making(call, "comm_old", "comm_cart")?,
            "Graph_create" => making(call, "comm_old", "comm_graph")?,
            "Dist_graph_create" | "Dist_graph_create_adjacent" => making(call, "comm_old", "comm_dist_graph")?,
            "Comm_free" => Operation::FreeComm { comm: call.comm("comm")? },
            _ => Operation::Collective(collective(call, name)?),
        })
    }

    /// What says whether it has found something, if it is a poll.
    pub(super) fn flag(&self) -> Option<Cell> {
        match self {
            Operation::Probe { flag, .. } | Operation::Complete { flag, .. } => *flag,
            Operation::Look { flag } => Some(*flag),
            _ => None,
        }
    }
}

fn request(call: &Arguments) -> Result<Option<Cell>, Refused> {
    call.object("request")?.map(Some).ok_or_else(|| "its request is not in the trace".to_owned())
}

fn making(call: &Arguments, comm: &str, made: &str) -> Result<Operation, Refused> {
    let how = call.made(made)?.map_or(Make::Nothing, Make::Among);
    Ok(Operation::Make { comm: call.comm(comm)?, how })
}

fn completing(call: &Arguments, name: &str) -> Result<Operation, Refused> {
    let (mut all, mut statuses) = (call.requests()?, call.statuses()?);
    // Null requests count only where an index tells which one it is.
    if matches!(name, "Wait" | "Waitall" | "Test" | "Testall") {
        statuses.resize(all.len(), None);
        (all, statuses) = all.into_iter().zip(statuses).filter(|(request, _)| request.is_some()).unzip();
    }
    let same = |request: &Option<Cell>| match request {
        Some(Cell::Same(number)) => u32::try_from(number - 1).ok(),
        _ => None,
    };
    let requests = all.iter().map(same).collect::<Option<Rc<[u32]>>>().map_or_else(|| Slots::Each(all.into()), Slots::Same);
    let (flag, completed) = match name {
        "Wait" | "Waitall" => (None, Completed::All),
        "Test" | "Testall" => (Some(call.known("flag")?), Completed::All),
        "Waitany" => (None, Completed::One(call.known("index")?)),
        "Testany" => {
            (Some(call.known("flag")?), Completed::One(call.number("index").unwrap_or(Cell::Same(mpi::request::UNDEFINED.into()))))
        }
        "Waitsome" => (None, Completed::Some(indices(call)?)),
        _ => (Some(call.known("outcount")?), Completed::Some(indices(call)?)),
    };
    Ok(Operation::Complete { flag, requests, completed, statuses: statuses.into() })
}

fn indices(call: &Arguments) -> Result<Box<[Cell]>, Refused> {
    Ok(if call.list("array_of_indices")?.is_some() { call.numbers("array_of_indices")?.into() } else { Box::default() })
}

fn collective(call: &Arguments, name: &str) -> Result<Collective, Refused> {
    let unknown = || "there is no replay of this function".to_owned();
    let (name, is_persistent) = name.strip_suffix("_init").map_or((name, false), |name| (name, true));
    // Nonblocking ones are named like the others.
    let known = ["Iallgather", "Iallreduce", "Ialltoall", "Ibarrier", "Ibcast", "Iexscan", "Igather", "Ireduce", "Iscan", "Iscatter"];
    let starts = known.iter().any(|known| name.starts_with(known));
    let plain = if starts { name[1..].to_lowercase() } else { name.to_lowercase() };
    let (sent, received) = (("sendcount", "sendtype"), ("recvcount", "recvtype"));
    let length = |(count, datatype): (&str, &str)| call.length(count, datatype);
    let blocks = |counts: &str, datatype: &str| -> Result<Box<[Length]>, Refused> { Ok(call.lengths(counts, datatype)?.into()) };
    let own = |buffer: &str, length: Result<Length, Refused>| if call.is_in_place(buffer) { Ok(None) } else { length.map(Some) };
    let (kind, form) = match plain.as_str() {
        "barrier" => (Kind::Barrier, Form::Nothing),
        "bcast" => (Kind::Bcast, Form::Block(length(("count", "datatype"))?)),
        "gather" => (Kind::Gather, Form::Rooted(length(received)?, length(sent)?)),
        "scatter" => (Kind::Scatter, Form::Rooted(length(sent)?, length(received)?)),
        "allgather" => (Kind::Allgather, Form::Block(length(received)?)),
        "alltoall" => (Kind::Alltoall, Form::Block(length(received)?)),
        "reduce" => (Kind::Reduce, Form::Block(length(("count", "datatype"))?)),
        "allreduce" => (Kind::Allreduce, Form::Block(length(("count", "datatype"))?)),
        "scan" => (Kind::Scan, Form::Block(length(("count", "datatype"))?)),
        "exscan" => (Kind::Exscan, Form::Block(length(("count", "datatype"))?)),
        "reduce_scatter_block" => (Kind::ReduceScatter, Form::Parts(length(("recvcount", "datatype"))?)),
        "reduce_scatter" => (Kind::ReduceScatter, Form::ReduceScatter(blocks("recvcounts", "datatype")?)),
        "gatherv" => {
            let known = if call.list("recvcounts")?.is_some() { Some(blocks("recvcounts", "recvtype")?) } else { None };
            (Kind::Gather, Form::RootBlocks { gathers: true, blocks: known, own: own("sendbuf", length(sent))? })
        }
        "scatterv" => {
            let known = if call.list("sendcounts")?.is_some() { Some(blocks("sendcounts", "sendtype")?) } else { None };
            (Kind::Scatter, Form::RootBlocks { gathers: false, blocks: known, own: own("recvbuf", length(received))? })
        }
        "allgatherv" => {
            let form = Form::Allgatherv { own: own("sendbuf", length(sent))?, blocks: blocks("recvcounts", "recvtype")? };
            (Kind::Allgather, form)
        }
        "alltoallv" | "alltoallw" => {
            let of = |side: &str| if plain == "alltoallv" { format!("{side}type") } else { format!("{side}types") };
            let send = if call.is_in_place("sendbuf") { None } else { Some(blocks("sendcounts", &of("send"))?) };
            (Kind::Alltoall, Form::Alltoallv { send, receive: blocks("recvcounts", &of("recv"))? })
        }
        _ => return Err(unknown()),
    };
    let reduces = matches!(kind, Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter | Kind::Scan | Kind::Exscan);
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

/// What [`crate::Collective`] has as bytes and blocks.
pub(super) type Lengths = (u64, Option<(Blocks, Blocks)>);

/// Blocks of these sizes.
fn each(sizes: &[u64]) -> Blocks {
    Blocks::Each(begins(sizes.iter().copied()).collect())
}

impl Collective {
    /// The sizes for member `me`; `bytes` says how many a length is.
    ///
    /// # Errors
    /// If the call has blocks for another number of members.
    pub(super) fn lengths(&self, is_root: bool, (me, members): (u32, u32), bytes: &impl Fn(Length) -> u64) -> Result<Lengths, Box<str>> {
        let sizes = |blocks: &[Length]| -> Result<Vec<u64>, Box<str>> {
            if blocks.len() != members as usize {
                return Err(format!("the trace has {} blocks of the call, and its communicator {members} members", blocks.len()).into());
            }
            let sizes: Vec<u64> = blocks.iter().map(|&length| bytes(length)).collect();
            let sum = sizes.iter().try_fold(0u64, |sum, &size| sum.checked_add(size));
            sum.map(|_| sizes).ok_or_else(|| "its blocks have more than 2^64 bytes together".into())
        };
        let own = |own: &Option<Length>, sizes: &[u64]| own.map_or_else(|| sizes[me as usize], bytes);
        Ok(match &self.form {
            Form::Nothing => (0, None),
            Form::Block(length) => (bytes(*length), None),
            Form::Rooted(root, others) => (bytes(if is_root { *root } else { *others }), None),
            Form::Parts(length) => (bytes(*length).saturating_mul(members.into()), None),
            Form::RootBlocks { gathers, blocks, own: length } => {
                let (one, all) = match (is_root, blocks) {
                    (true, Some(blocks)) => {
                        let sizes = sizes(blocks)?;
                        (Blocks::Uniform(own(length, &sizes)), each(&sizes))
                    }
                    _ => {
                        let one = Blocks::Uniform(length.map_or(0, bytes));
                        (one.clone(), one)
                    }
                };
                (0, Some(if *gathers { (one, all) } else { (all, one) }))
            }
            Form::Allgatherv { own: length, blocks } => {
                let sizes = sizes(blocks)?;
                (sizes.iter().sum(), Some((Blocks::Uniform(own(length, &sizes)), each(&sizes))))
            }
            Form::Alltoallv { send, receive } => {
                let receive = each(&sizes(receive)?);
                let send = match send {
                    Some(send) => each(&sizes(send)?),
                    None => receive.clone(),
                };
                (0, Some((send, receive)))
            }
            Form::ReduceScatter(blocks) => {
                let sizes = sizes(blocks)?;
                (sizes.iter().sum(), Some((each(&sizes), Blocks::Uniform(sizes[me as usize]))))
            }
        })
    }
}
