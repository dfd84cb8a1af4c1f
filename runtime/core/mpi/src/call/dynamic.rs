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
        self.intra(comm, what)?;
        let members = {
            let World { objects, messages, .. } = &*self.world();
            let index = objects.comms.index(comm)?;
            let (me, communicator) = (messages.me(), objects.comms.at(index));
            let group = if communicator.is_self { Group::of_one(me) } else { communicator.group.clone() };
            let is_root = root_member(objects, index, root)? == Some(communicator.rank(me));
            is_root.then_some(Members { group, context: communicator.context })
        };
        let met: Option<Met> = members.map(|members| {
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
}

fn no_such_answer() -> Box<Failure> {
    Failure::new(ErrorClass::INTERN, "the answer is not one to this question")
}
