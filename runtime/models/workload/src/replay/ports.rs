//! Ports of a recording, as a replay has them.

use super::arguments::{Arguments, Comm, Refused};
use super::{Cursor, Refusal, Replay};
use crate::call::Call;
use crate::ports::PortCall;
use crate::workload::Caller;
use mpi::call::dynamic::{MeetingRequest, NameRequest};
use trace::trace::Cell;

/// Beginning of the names of ports.
const PORT: &str = "xsim-port:";

/// A call about ports or published names, with its arguments.
#[derive(Debug)]
pub(super) enum RecordedPort {
    /// A call that needs no number of the trace.
    Plain(PortCall),
    /// Communicator and root of a call that meets another side, and what the root asks.
    Meet(Comm, Cell, MeetingRequest),
    /// The new communicator of `MPI_Comm_join`.
    Join(Cell),
}

/// Returns what a function is that is about ports; `None` of another.
pub(super) fn port(call: &Arguments, name: &str) -> Result<Option<RecordedPort>, Refused> {
    let text = |name: &str| -> Result<Box<str>, Refused> {
        Ok(call.text(name).ok_or_else(|| format!("its argument {name} is not in the trace"))?.into())
    };
    let port = || {
        let port = text("port_name")?;
        // What failed may have been given anything.
        if call.template.code == 0 && !port.starts_with(PORT) {
            return Err(format!("its port '{port}' is of another MPI"));
        }
        Ok(port)
    };
    // The root alone says it.
    let at_root = || if call.text("port_name").is_some() { port() } else { Ok(Box::default()) };
    let meet = |asks: MeetingRequest| -> Result<RecordedPort, Refused> {
        Ok(RecordedPort::Meet(call.comm("comm")?, call.known("root")?, asks))
    };
    let plain = |call: PortCall| Ok(Some(RecordedPort::Plain(call)));
    match name {
        "Open_port" => plain(PortCall::Open),
        "Close_port" => plain(PortCall::Close(port()?)),
        "Publish_name" => plain(PortCall::Name(NameRequest::Publish(text("service_name")?, port()?))),
        "Unpublish_name" => plain(PortCall::Name(NameRequest::Unpublish(text("service_name")?, port()?))),
        "Lookup_name" => plain(PortCall::Name(NameRequest::LookUp(text("service_name")?))),
        "Comm_accept" => meet(MeetingRequest::Accept(at_root()?)).map(Some),
        "Comm_connect" => meet(MeetingRequest::Connect(at_root()?)).map(Some),
        "Comm_join" => {
            let made = call.made("intercomm")?.ok_or("the trace does not say which rank it met")?;
            Ok(Some(RecordedPort::Join(made)))
        }
        _ => Ok(None),
    }
}

impl Replay<'_> {
    /// Returns a call about ports.
    pub(super) fn port(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        port: &RecordedPort,
    ) -> Result<Call, Refusal> {
        // Names of ports count all ranks of a run.
        if caller.first != 0 {
            return Err("it is about ports, which the first of several jobs alone has".into());
        }
        let call = match port {
            RecordedPort::Plain(call) => call.clone(),
            RecordedPort::Meet(comm, root, asks) => {
                let comm = self.comm(caller, cursor, *comm)?;
                let root = self.rank(caller, comm, self.number(cursor, *root))?;
                PortCall::Meet(comm, root, asks.clone())
            }
            RecordedPort::Join(made) => {
                // Both ends know the two sides of what they make.
                let (own, other, _) = self.instance(caller, cursor, *made)?;
                let (one, other) = (own.min(other), own.max(other));
                let socket = format!("{} {} {} {}", one.leader, one.number, other.leader, other.number);
                PortCall::Meet(Call::SELF, 0, MeetingRequest::Join(socket.into()))
            }
        };
        Ok(Call::Port(Box::new(call)))
    }
}
