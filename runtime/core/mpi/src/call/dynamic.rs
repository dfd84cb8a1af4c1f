//! The calls of dynamic processes (MPI 5.0 chapter 11), as far as they block. What a call means is the crate
//! `dynamic`.

use crate::collective::membership::root_member;
use crate::error::{ErrorClass, Failure, Result};
use crate::handle::COMM_SELF;
use crate::world::{Mpi, World};
use collective::agreement::Met;
use dynamic::{Command, Dynamic, IntercommSide, Members, Reply};
use objects::Objects;
use objects::group::Group;
use p2p::Messages;
use std::rc::Rc;

/// The function by which one side of an intercommunicator asks for the other with what its root gives: the
/// handle of its request.
type Asks<T> = fn(&mut Dynamic, &mut Messages, &mut Objects, &T, Members) -> Result<usize>;

/// A question of a root whose communicator is to meet another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MeetingRequest {
    /// `MPI_Comm_accept` at this port.
    Accept(Box<str>),
    /// `MPI_Comm_connect` at this port.
    Connect(Box<str>),
    /// `MPI_Comm_join` at a socket that both ends call so.
    Join(Box<str>),
}

/// A question about published names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameRequest {
    /// `MPI_Publish_name` of a service and its port.
    Publish(Box<str>, Box<str>),
    /// `MPI_Unpublish_name` of a service and its port.
    Unpublish(Box<str>, Box<str>),
    /// `MPI_Lookup_name` of a service.
    LookUp(Box<str>),
}

impl Mpi {
    /// Returns what a call goes through, while nothing else has the world.
    fn dynamic<T>(&self, call: impl FnOnce(&mut Dynamic, &mut Messages, &mut Objects) -> T) -> T {
        let World { objects, messages, chapters, .. } = &mut *self.world();
        call(&mut chapters.dynamic, messages, objects)
    }

    /// Waits for an answer.
    fn reply(&self, request: usize) -> Result<Reply> {
        if self.world().messages.faults().is_some() {
            self.look_around();
        }
        self.wait(request)?;
        Ok(self.dynamic(|dynamic, _, _| dynamic.take_reply()))
    }

    /// Implements `MPI_Open_port`. Returns the name.
    pub fn open_port(&self) -> String {
        self.dynamic(|dynamic, messages, _| dynamic.open_port(messages))
    }

    /// Implements `MPI_Close_port`.
    ///
    /// # Errors
    /// As [`Dynamic::close_port`].
    pub fn close_port(&self, name: &str) -> Result {
        self.dynamic(|dynamic, messages, _| dynamic.close_port(messages, name))
    }

    /// Implements `MPI_Publish_name`.
    ///
    /// # Errors
    /// `MPI_ERR_SERVICE` if the name is published already.
    pub fn publish_name(&self, service: &str, port: &str) -> Result {
        let request = self.dynamic(|dynamic, messages, _| dynamic.publish(messages, service, port));
        self.reply(request).map(drop)
    }

    /// Implements `MPI_Unpublish_name`.
    ///
    /// # Errors
    /// `MPI_ERR_SERVICE` if the name is not published with this port.
    pub fn unpublish_name(&self, service: &str, port: &str) -> Result {
        let request = self.dynamic(|dynamic, messages, _| dynamic.unpublish(messages, service, port));
        self.reply(request).map(drop)
    }

    /// Implements `MPI_Lookup_name`. Returns the port.
    ///
    /// # Errors
    /// `MPI_ERR_NAME` if there is none.
    pub fn look_up_name(&self, service: &str) -> Result<Box<str>> {
        let request = self.dynamic(|dynamic, messages, _| dynamic.look_up(messages, service));
        match self.reply(request)? {
            Reply::Port(port) => Ok(port),
            _ => Err(no_such_answer()),
        }
    }

    /// Implements `MPI_Comm_accept`. Returns the new handle. `port` is asked for at the root alone.
    ///
    /// # Errors
    /// At all members: `MPI_ERR_PORT`; `MPI_ERR_COMM` for an intercommunicator, or if both sides have a rank
    /// in common; `MPI_ERR_ROOT`.
    pub fn comm_accept(
        &self,
        comm: usize,
        root: i32,
        port: impl FnOnce() -> Result<String>,
    ) -> Result<usize> {
        self.meet_other_side(
            comm,
            root,
            "MPI_Comm_accept",
            port,
            |dynamic, messages, objects, port, members| dynamic.accept(messages, objects, port, members),
        )
        .map(|(handle, _)| handle)
    }

    /// Implements `MPI_Comm_connect`. Returns the new handle. `port` is asked for at the root alone.
    ///
    /// # Errors
    /// As [`Mpi::comm_accept`].
    pub fn comm_connect(
        &self,
        comm: usize,
        root: i32,
        port: impl FnOnce() -> Result<String>,
    ) -> Result<usize> {
        self.meet_other_side(
            comm,
            root,
            "MPI_Comm_connect",
            port,
            |dynamic, messages, objects, port, members| dynamic.connect(messages, objects, port, members),
        )
        .map(|(handle, _)| handle)
    }

    /// Implements `MPI_Comm_join`. Returns the new handle. Both ends of the socket call it by the same name.
    ///
    /// # Errors
    /// `MPI_ERR_COMM` if both ends are of one rank.
    pub fn comm_join(&self, socket: &str) -> Result<usize> {
        self.meet_other_side(
            COMM_SELF,
            0,
            "MPI_Comm_join",
            || Ok(socket),
            |dynamic, messages, objects, socket, members|
                Ok(dynamic.join(messages, objects, socket, members)),
        )
        .map(|(handle, _)| handle)
    }

    /// Implements `MPI_Comm_spawn` and `MPI_Comm_spawn_multiple`. Returns the new handle, and at the root how
    /// many of each command were started. `commands` is asked for at the root alone.
    ///
    /// # Errors
    /// At all members: `MPI_ERR_SPAWN`, and what `commands` fails with; `MPI_ERR_COMM` for an
    /// intercommunicator; `MPI_ERR_ROOT`.
    pub fn comm_spawn(
        &self,
        comm: usize,
        root: i32,
        commands: impl FnOnce() -> Result<Vec<Command>>,
    ) -> Result<(usize, Option<Rc<[u32]>>)> {
        self.meet_other_side(
            comm,
            root,
            "MPI_Comm_spawn",
            commands,
            |dynamic, messages, objects, commands, members| {
                Ok(dynamic.spawn(messages, objects, commands, members))
            },
        )
    }

    /// The root of a communicator meets that of another one, then all members make their half of the
    /// intercommunicator.
    // What the root fails with goes to all: the others wait for it and cannot know.
    fn meet_other_side<T>(
        &self,
        comm: usize,
        root: i32,
        what: &str,
        given: impl FnOnce() -> Result<T>,
        asks: Asks<T>,
    ) -> Result<(usize, Option<Rc<[u32]>>)> {
        let mut spawned = None;
        let met: Option<Met> = self.root_side(comm, root, what)?.map(|members| {
            let given = given();
            let asked = given.and_then(|given| {
                self.dynamic(|dynamic, messages, objects| asks(dynamic, messages, objects, &given, members))
            });
            let met = asked.and_then(|request| match self.reply(request)? {
                Reply::Met(IntercommSide { group, context }) => Ok((group, context)),
                Reply::Spawned(IntercommSide { group, context }, counts) => {
                    spawned = Some(counts);
                    Ok((group, context))
                }
                Reply::Done | Reply::Port(_) => Err(no_such_answer()),
            });
            met.map_err(|failure| (failure.class.0, failure.text.into()))
        });
        Ok((self.comm_with_met(comm, met)?, spawned))
    }

    /// Returns the members of a communicator, if the mounted rank is the root.
    fn root_side(&self, comm: usize, root: i32, what: &str) -> Result<Option<Members>> {
        self.intra(comm, what)?;
        let World { objects, messages, .. } = &*self.world();
        let index = objects.comms.index(comm)?;
        let (me, communicator) = (messages.me(), objects.comms.at(index));
        let group = if communicator.is_self { Group::of_one(me) } else { communicator.group.clone() };
        let is_root = root_member(objects, index, root)? == Some(communicator.rank(me));
        Ok(is_root.then_some(Members { group, context: communicator.context }))
    }

    /// Begins a call that meets another side: returns the request that the root waits for, or why it has
    /// none; `None` for other ranks. `asks` is looked at by the root alone. All members go on with
    /// [`Mpi::begin_comm_with_met`].
    ///
    /// # Errors
    /// `MPI_ERR_COMM` for an intercommunicator; `MPI_ERR_ROOT`.
    pub fn begin_meeting(
        &self,
        comm: usize,
        root: i32,
        asks: &MeetingRequest,
    ) -> Result<Option<Result<usize>>> {
        let what = match asks {
            MeetingRequest::Accept(_) => "MPI_Comm_accept",
            MeetingRequest::Connect(_) => "MPI_Comm_connect",
            MeetingRequest::Join(_) => "MPI_Comm_join",
        };
        let members = self.root_side(comm, root, what)?;
        Ok(members.map(|members| {
            self.dynamic(|dynamic, messages, objects| match asks {
                MeetingRequest::Accept(port) => dynamic.accept(messages, objects, port, members),
                MeetingRequest::Connect(port) => dynamic.connect(messages, objects, port, members),
                MeetingRequest::Join(socket) => Ok(dynamic.join(messages, objects, socket, members)),
            })
        }))
    }

    /// Ends the wait of a root that has begun a meeting: returns the side that it met.
    pub fn end_meeting(&self, asked: Result<usize>) -> Met {
        let met = asked.and_then(|request| {
            self.end_wait(request)?;
            match self.dynamic(|dynamic, _, _| dynamic.take_reply()) {
                Reply::Met(IntercommSide { group, context }) => Ok((group, context)),
                _ => Err(no_such_answer()),
            }
        });
        met.map_err(|failure| (failure.class.0, failure.text.into()))
    }

    /// Begins a question about names; returns its request, for [`Mpi::end_name_request`].
    pub fn begin_name_request(&self, asks: &NameRequest) -> usize {
        self.dynamic(|dynamic, messages, _| match asks {
            NameRequest::Publish(service, port) => dynamic.publish(messages, service, port),
            NameRequest::Unpublish(service, port) => dynamic.unpublish(messages, service, port),
            NameRequest::LookUp(service) => dynamic.look_up(messages, service),
        })
    }

    /// Ends a question about names, whose request is complete.
    ///
    /// # Errors
    /// `MPI_ERR_SERVICE`, `MPI_ERR_NAME`.
    pub fn end_name_request(&self, request: usize) -> Result {
        self.end_wait(request)?;
        drop(self.dynamic(|dynamic, _, _| dynamic.take_reply()));
        Ok(())
    }
}

fn no_such_answer() -> Box<Failure> {
    Failure::new(ErrorClass::INTERN, "the answer is not one to this question")
}
