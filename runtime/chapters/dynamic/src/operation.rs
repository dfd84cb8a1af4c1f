//! Operations under way: what a rank has asked and waits for.

use crate::CHAPTER;
use crate::ask::{Answer, Ask, Command, IntercommSide, NOBODY, PortAction, Reply};
use crate::broken::{Members, Parties};
use crate::port::{OpenPort, PortName};
use crate::state::{Dynamic, NAMES};
use engine::Time;
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::handle;
use p2p::node::NIL;
use p2p::request::Body;

/// An operation that a rank of this process waits for.
pub(crate) struct Operation {
    pub(crate) rank: u32,
    /// The program's request for it; none of one that has ended with an error.
    pub(crate) request: u32,
    pub(crate) answer: Option<Answer>,
    /// The awaited event in words, for the report of a deadlock.
    pub(crate) waits: String,
    /// The ranks that must not fail until it completes, if it is to meet another side.
    pub(crate) parties: Option<Parties>,
}

impl Dynamic {
    /// Implements `MPI_Open_port` for the mounted rank. Returns the name.
    pub fn open_port(&mut self, messages: &Messages) -> String {
        let owner = messages.me();
        let opened = self.opened.entry(owner).or_default();
        let name = PortName { owner, number: *opened };
        *opened += 1;
        self.ports.insert(name, OpenPort::default());
        name.to_string()
    }

    /// Implements `MPI_Close_port` for the mounted rank. A rank that connects at a later time finds it
    /// closed, and so does one that waits there.
    ///
    /// # Errors
    /// `MPI_ERR_PORT` if the rank has no such port open.
    pub fn close_port(&mut self, messages: &mut Messages, name: &str) -> Result {
        let name = PortName::parse(name, messages.ranks().size())?;
        match self.ports.get_mut(&name) {
            Some(port) if name.owner == messages.me() && !port.closing => port.closing = true,
            _ => return Err(name.not_open()),
        }
        self.ask(messages, name.owner, PortAction::Close(name), NOBODY);
        Ok(())
    }

    /// The mounted rank's side of an intercommunicator.
    // The context is this process's next: which of them both sides take they know once they have met.
    fn side(objects: &mut Objects, members: &Members) -> IntercommSide {
        IntercommSide { group: members.group.clone(), context: objects.comms.reserve_context() }
    }

    /// Implements `MPI_Comm_accept` for the mounted rank and a group. Returns the handle of the request that
    /// meets the side that connects.
    ///
    /// # Errors
    /// `MPI_ERR_PORT` for what is no port's name.
    pub fn accept(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        port: &str,
        members: Members,
    ) -> Result<usize> {
        let name = PortName::parse(port, messages.ranks().size())?;
        let action = PortAction::Accept(name, Dynamic::side(objects, &members));
        let parties = Parties { members, owner: Some(name.owner) };
        Ok(self.begin(
            messages,
            name.owner,
            action,
            format!("somebody who connects to port '{name}'"),
            Some(parties),
        ))
    }

    /// Implements `MPI_Comm_connect` for the mounted rank and a group. Returns the handle of the request that
    /// meets the side that accepts.
    ///
    /// # Errors
    /// `MPI_ERR_PORT` for what is no port's name.
    pub fn connect(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        port: &str,
        members: Members,
    ) -> Result<usize> {
        let name = PortName::parse(port, messages.ranks().size())?;
        let action = PortAction::Connect(name, Dynamic::side(objects, &members));
        let waits = format!("somebody who accepts at port '{name}' (rank {} opened it)", name.owner);
        Ok(self.begin(
            messages,
            name.owner,
            action,
            waits,
            Some(Parties { members, owner: Some(name.owner) }),
        ))
    }

    /// Implements `MPI_Comm_join` for the mounted rank at one end of a socket, which both ends call by this
    /// name. Returns the handle of the request that meets the other.
    pub fn join(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        socket: &str,
        members: Members,
    ) -> usize {
        let action = PortAction::Join(socket.into(), Dynamic::side(objects, &members));
        let waits = "MPI_Comm_join at the other end of its socket".to_owned();
        self.begin(messages, NAMES, action, waits, Some(Parties { members, owner: None }))
    }

    /// Implements `MPI_Publish_name` for the mounted rank. Returns the handle of its request.
    pub fn publish(&mut self, messages: &mut Messages, service: &str, port: &str) -> usize {
        let waits = format!("service '{service}' to be published");
        self.begin(messages, NAMES, PortAction::Publish(service.into(), port.into()), waits, None)
    }

    /// Implements `MPI_Unpublish_name` for the mounted rank. Returns the handle of its request.
    pub fn unpublish(&mut self, messages: &mut Messages, service: &str, port: &str) -> usize {
        let waits = format!("service '{service}' to be unpublished");
        self.begin(messages, NAMES, PortAction::Unpublish(service.into(), port.into()), waits, None)
    }

    /// Implements `MPI_Lookup_name` for the mounted rank. Returns the handle of its request.
    pub fn look_up(&mut self, messages: &mut Messages, service: &str) -> usize {
        self.begin(
            messages,
            NAMES,
            PortAction::Look(service.into()),
            format!("service '{service}' to be looked up"),
            None,
        )
    }

    /// Implements `MPI_Comm_spawn` and its kin for the mounted rank and a group. Returns the handle of the
    /// request that meets the spawned ranks.
    pub fn spawn(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        commands: &[Command],
        members: Members,
    ) -> usize {
        let side = Dynamic::side(objects, &members);
        let world = objects.comms.reserve_context();
        self.begin(
            messages,
            NAMES,
            PortAction::Spawn(commands.into(), side, world),
            "ranks to be spawned".to_owned(),
            None,
        )
    }

    /// Sends a request of the mounted rank, which waits for the answer. Returns the request's handle.
    fn begin(
        &mut self,
        messages: &mut Messages,
        place: u32,
        action: PortAction,
        waits: String,
        parties: Option<Parties>,
    ) -> usize {
        messages.flush_batch();
        let rank = messages.me();
        let index = self.operations.insert(Operation { rank, request: 0, answer: None, waits, parties });
        let request =
            messages.requests_mut().make(rank, Body::Chapter { chapter: CHAPTER, token: [index, 0] });
        self.operations[index].request = request;
        self.ask(messages, place, action, index);
        handle::of_cold(request)
    }

    fn ask(&mut self, messages: &mut Messages, place: u32, action: PortAction, operation: u32) {
        let origin = messages.me();
        // What is answered is no message of the place's rank, which pays nothing for it and may not even run.
        messages.fabric_mut().expect_handshakes();
        messages.flush_batch();
        let leaves = messages.departures().inject(origin);
        let asked = self.asked.entry(origin).or_default();
        *asked += 1;
        let ask = Ask { place, origin, arrival: Time::MAX, sequence: *asked, action, operation };
        self.send(messages, ask, leaves);
    }

    /// Takes the answer to an operation, which is back at its rank's process.
    pub(crate) fn answered(&mut self, messages: &mut Messages, operation: u32, answer: Answer, at: Time) {
        let Some(operation) = self.operations.get_mut(operation).filter(|operation| operation.request != NIL)
        else {
            return;
        };
        operation.answer = Some(answer);
        messages.finish_request(operation.request, at);
    }

    /// Returns what the operation that the mounted rank has completed last was answered.
    pub fn take_reply(&mut self) -> Reply {
        std::mem::take(&mut self.reply)
    }
}
