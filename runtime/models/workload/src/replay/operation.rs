//! Calls of a recording as a replay has them.

use super::arguments::{Arguments, Comm, Length, Partner, Received, Refused, request};
use super::bridge::{RecordedBridge, bridge};
use super::collective::{Collective, collective};
use super::file::{RecordedFile, file};
use super::hints::{InfoOperation, info};
use super::making::{Make, making};
use super::partitioned::{RecordedPartitions, partitioned};
use super::ports::{RecordedPort, port};
use super::types::{RecordedLayout, layout};
use super::window::{RecordedWindow, window};
use mpi::error::ErrorClass;
use mpi::point_to_point::SendMode;
use std::rc::Rc;
use trace::trace::Cell;

/// Requests by number: the same for all ranks, as ranks without a program number them (from 0); or as the
/// trace does, `None` for null ones.
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

/// The requests of a call that were complete.
#[derive(Debug)]
pub(super) enum Completed {
    All,
    /// The one at this index.
    One(Cell),
    Some(Box<[Cell]>),
    /// One, but the trace does not say which: the first that is complete in the replay.
    Any,
}

/// The operation of a call.
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
    /// A persistent request is made. The operation that it starts is in [`super::plan::Plan::persistent`].
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
    /// A communicator is made of this one, if of any.
    Make {
        comm: Option<Comm>,
        how: Make,
    },
    /// An intercommunicator is made or merged.
    Bridge(RecordedBridge),
    /// A call about ports or published names.
    Port(RecordedPort),
    FreeComm {
        comm: Comm,
    },
    Window(RecordedWindow),
    File(RecordedFile),
    Partitioned(RecordedPartitions),
    /// A call that failed.
    Failed(Box<Operation>),
    /// A collective on this communicator that was refused to the rank.
    RefusedCollective(Comm),
    /// A datatype is made or freed, where there are files.
    Type(RecordedLayout),
    /// So is an info object.
    Info(InfoOperation),
    /// An operation is made, which is commutative or not.
    MakeOp {
        op: Cell,
        commutes: Cell,
    },
}

/// Prefixes of the names of functions that change nothing beyond their rank.
const LOCAL: [&str; 44] = [
    "Type_",
    "File_get_",
    "File_delete",
    "File_set_errhandler",
    "File_create_errhandler",
    "File_call_errhandler",
    "Register_datarep",
    "Win_get_",
    "Win_set_",
    "Win_create_keyval",
    "Win_create_errhandler",
    "Win_free_keyval",
    "Win_delete_",
    "Win_call_errhandler",
    "Win_attach",
    "Win_detach",
    "Win_shared_query",
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
    "Session_",
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

/// The reason why ranks that are spawned are refused.
const SPAWNED: &str = "there is no replay of spawned ranks";

/// Errors of calls that meet a rank that has failed, or a communicator that was revoked.
const AFTER_FAILURES: [i32; 3] =
    [ErrorClass::PROC_FAILED.0, ErrorClass::PROC_FAILED_PENDING.0, ErrorClass::REVOKED.0];

/// Errors with which a collective ends after it has begun: another member's was refused, or is too long.
const LATE: [i32; 4] =
    [ErrorClass::OTHER.0, ErrorClass::TRUNCATE.0, ErrorClass::IN_STATUS.0, ErrorClass::NOT_SAME.0];

/// Beginnings of the names of collectives.
const COLLECTIVES: [&str; 14] = [
    "Barrier",
    "Bcast",
    "Gather",
    "Scatter",
    "Allgather",
    "Alltoall",
    "Reduce",
    "Allreduce",
    "Scan",
    "Exscan",
    "Neighbor",
    "Comm_dup",
    "Comm_split",
    "Win_",
];

fn is_collective(name: &str) -> bool {
    let begins = |name: &str| COLLECTIVES.iter().any(|begin| name.starts_with(begin));
    begins(name) || name.strip_prefix('I').is_some_and(|rest| begins(&capitalized(rest)))
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn is_local(name: &str) -> bool {
    // Its pointer is with the file's first rank.
    name != "File_get_position_shared"
        && (LOCALS.contains(&name) || LOCAL.iter().any(|begin| name.starts_with(begin)))
}

fn mode(name: &str) -> SendMode {
    match name {
        "Ssend" | "Issend" | "Ssend_init" => SendMode::Synchronous,
        // Its data has left the program's buffer, so that it goes at once, as one whose receive is posted.
        "Bsend" | "Ibsend" | "Bsend_init" | "Rsend" | "Irsend" | "Rsend_init" => SendMode::Ready,
        _ => SendMode::Standard,
    }
}

impl Operation {
    /// Returns what a call is; `has_files` if the trace has any.
    pub(super) fn of(call: &Arguments, has_files: bool) -> Operation {
        let name = &call.trace.functions[call.template.function as usize].name;
        let name = name.strip_prefix("MPI_").unwrap_or(name);
        if name == "Op_create"
            && let (Ok(Some(op)), Some(commutes)) = (call.object("op"), call.number("commute"))
        {
            return Operation::MakeOp { op, commutes };
        }
        if has_files && call.template.code == 0 {
            match layout(call, name) {
                Ok(Some(layout)) => return Operation::Type(layout),
                Ok(None) => {}
                Err(why) => return Operation::Refused(why),
            }
            match info(call, name) {
                Ok(Some(info)) => return Operation::Info(info),
                Ok(None) => {}
                Err(why) => return Operation::Refused(why),
            }
        }
        if name == "Comm_get_parent" && matches!(call.made("parent"), Ok(Some(_))) {
            return Operation::Refused(SPAWNED.to_owned());
        }
        if is_local(name) {
            return Operation::Local;
        }
        if call.template.code != 0 {
            return Operation::failed(call, name);
        }
        Operation::made(call, name).unwrap_or_else(Operation::Refused)
    }

    /// Returns what a call is that failed: the same again, unless MPI refused it for its arguments.
    fn failed(call: &Arguments, name: &str) -> Operation {
        let code = call.template.code;
        if AFTER_FAILURES.contains(&code) {
            return Operation::Refused(format!(
                "it failed with error {code} when it was recorded, because of a rank that had failed"
            ));
        }
        let made = Operation::made(call, name);
        if name.starts_with("Comm_spawn") {
            return Operation::Refused(SPAWNED.to_owned());
        }
        match (made, call.comm("comm")) {
            (Ok(Operation::Collective(_) | Operation::Make { .. }), Ok(comm)) if !LATE.contains(&code) => {
                Operation::RefusedCollective(comm)
            }
            (Ok(Operation::Bridge(RecordedBridge::Merge { comm, .. })), _) if !LATE.contains(&code) => {
                Operation::RefusedCollective(comm)
            }
            (Ok(made), _) => Operation::Failed(Box::new(made)),
            (Err(_), Ok(comm)) if is_collective(name) => Operation::RefusedCollective(comm),
            // Of no object, so that nothing happened.
            (Err(_), _) => Operation::Local,
        }
    }

    fn made(call: &Arguments, name: &str) -> Result<Operation, Refused> {
        Ok(match name {
            "Send" | "Ssend" | "Bsend" | "Rsend" | "Isend" | "Issend" | "Ibsend" | "Irsend" | "Send_init"
            | "Ssend_init" | "Bsend_init" | "Rsend_init" => {
                let to = call.partner(["dest", "tag", "count", "datatype"])?;
                let request =
                    if name.starts_with('I') || name.ends_with("_init") { request(call)? } else { None };
                Operation::Send { mode: mode(name), to, request }
            }
            "Recv" => Operation::Receive {
                from: call.partner(["source", "tag", "count", "datatype"])?,
                status: call.status(),
            },
            "Irecv" | "Recv_init" => {
                let request = request(call)?.ok_or("its request is not in the trace")?;
                Operation::Ireceive { from: call.partner(["source", "tag", "count", "datatype"])?, request }
            }
            "Probe" | "Iprobe" | "Mprobe" | "Improbe" => {
                let nothing = (Cell::Same(0), Cell::Same(0));
                let from = Partner {
                    rank: call.known("source")?,
                    tag: call.known("tag")?,
                    comm: call.comm("comm")?,
                    length: nothing,
                };
                let message = if name.contains("mprobe") || name.contains("Mprobe") {
                    call.object("message")?
                } else {
                    None
                };
                Operation::Probe { from, status: call.status(), flag: call.number("flag"), message }
            }
            "Mrecv" | "Imrecv" => {
                let request = if name == "Imrecv" { request(call)? } else { None };
                Operation::ReceiveProbed {
                    message: call.object("message")?,
                    length: call.length("count", "datatype")?,
                    request,
                }
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
            "Wait" | "Test" | "Waitall" | "Testall" | "Waitany" | "Testany" | "Waitsome" | "Testsome" => {
                completing(call, name)?
            }
            "Request_get_status" | "Request_get_status_all" | "Request_get_status_any" => {
                Operation::Look { flag: call.known("flag")? }
            }
            "Request_get_status_some" => Operation::Look { flag: call.known("outcount")? },
            "Start" | "Startall" => {
                Operation::Start { requests: call.requests()?.into_iter().flatten().collect() }
            }
            "Request_free" => Operation::FreeRequest { request: call.object("request")? },
            // All communication of the communicator is complete when it is disconnected.
            "Comm_free" | "Comm_disconnect" => Operation::FreeComm { comm: call.comm("comm")? },
            _ => match making(call, name)? {
                Some(making) => making,
                None => match bridge(call, name)? {
                    Some(bridge) => Operation::Bridge(bridge),
                    None => Operation::in_subsystem(call, name)?,
                },
            },
        })
    }

    /// Returns what a call is that is of a subsystem of its own, or a collective.
    fn in_subsystem(call: &Arguments, name: &str) -> Result<Operation, Refused> {
        if let Some(window) = window(call, name)? {
            return Ok(Operation::Window(window));
        }
        if let Some(file) = file(call, name)? {
            return Ok(Operation::File(file));
        }
        if let Some(port) = port(call, name)? {
            return Ok(Operation::Port(port));
        }
        if name.starts_with("Comm_spawn") {
            return Err(SPAWNED.to_owned());
        }
        match partitioned(call, name)? {
            Some(call) => Ok(Operation::Partitioned(call)),
            None => Ok(Operation::Collective(collective(call, name)?)),
        }
    }

    /// Returns what says whether it has found something, if it is a poll.
    pub(super) fn flag(&self) -> Option<Cell> {
        match self {
            Operation::Probe { flag, .. } | Operation::Complete { flag, .. } => *flag,
            Operation::Look { flag } => Some(*flag),
            Operation::Window(window) => window.flag(),
            Operation::Partitioned(call) => call.flag(),
            _ => None,
        }
    }
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
    let requests = all
        .iter()
        .map(same)
        .collect::<Option<Rc<[u32]>>>()
        .map_or_else(|| Slots::Each(all.into()), Slots::Same);
    let (flag, completed) = match name {
        "Wait" | "Waitall" => (None, Completed::All),
        "Test" | "Testall" => (Some(call.known("flag")?), Completed::All),
        "Waitany" => (None, call.number("index").map_or(Completed::Any, Completed::One)),
        "Testany" => (
            Some(call.known("flag")?),
            Completed::One(call.number("index").unwrap_or(Cell::Same(mpi::request::UNDEFINED.into()))),
        ),
        "Waitsome" => (None, Completed::Some(indices(call)?)),
        _ => (Some(call.known("outcount")?), Completed::Some(indices(call)?)),
    };
    Ok(Operation::Complete { flag, requests, completed, statuses: statuses.into() })
}

fn indices(call: &Arguments) -> Result<Box<[Cell]>, Refused> {
    Ok(if call.list("array_of_indices")?.is_some() {
        call.numbers("array_of_indices")?.into()
    } else {
        Box::default()
    })
}
