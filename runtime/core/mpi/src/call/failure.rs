//! The calls for failures of ranks: those that ULFM adds to MPI (Bland et al., "Post-failure recovery of MPI
//! communication capability", 2013), as MPICH and Open MPI name them. What is agreed on is the crate
//! `failure`.

use crate::Objects;
use crate::error::{ErrorClass, Failure, Result};
use crate::group::Group;
use crate::order::question::Question;
use crate::request::Status;
use crate::world::{Mpi, World};
use failure::Subject;
use p2p::faults::Faults;
use p2p::faults::ending::resume_pending;
use rank::Addr;
use std::rc::Rc;

impl World {
    /// Failures and revocations are reckoned with from now on.
    ///
    /// # Errors
    /// `MPI_ERR_UNSUPPORTED_OPERATION` where they cannot be.
    fn have_faults(&mut self) -> Result<&mut Faults> {
        if self.messages.fabric().is_shared() {
            let text = "what it does is not told on a packet network: choose an analytic machine";
            return Err(Failure::new(ErrorClass::UNSUPPORTED_OPERATION, text));
        }
        // One process cannot begin to reckon with failures in the middle of a run while others do not.
        if self.messages.peers().exist() && !self.run.tolerant {
            let text = "other native processes would not hear of it: start with -xsim-ft, or without mpirun";
            return Err(Failure::new(ErrorClass::UNSUPPORTED_OPERATION, text));
        }
        Ok(self.messages.have_faults())
    }

    /// Returns the members of a communicator, its peers behind them if it has any, and its context.
    fn everybody(&self, comm: usize) -> Result<(Vec<Rc<Group>>, u32)> {
        let communicator = self.objects.comms.get(comm)?;
        let members =
            if communicator.is_self { Group::of_one(self.messages.me()) } else { communicator.group.clone() };
        Ok((std::iter::once(members).chain(communicator.remote.clone()).collect(), communicator.context))
    }
}

impl Mpi {
    /// Checks that the mounted rank may enter a collective call on this communicator: not if it is known that
    /// it cannot come to an end.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED`, `MPIX_ERR_REVOKED`.
    #[cold]
    pub fn may_enter(&self, comm: usize) -> Result {
        self.look_up();
        let World { objects, messages, .. } = &*self.world();
        let Ok(index) = objects.comms.index(comm) else { return Ok(()) };
        let me = messages.me();
        if let Some(fault) =
            messages.faults().and_then(|faults| faults.fault_of_collective(objects, me, index))
        {
            return Err(fault.failure().after_entry());
        }
        Ok(())
    }

    /// Checks as [`Mpi::may_enter`] does, for an object that has a communicator, where it has one: a window,
    /// a file.
    ///
    /// # Errors
    /// As [`Mpi::may_enter`].
    pub(crate) fn may_meet(&self, comm_of: impl FnOnce(&Objects) -> Option<usize>) -> Result {
        let comm = {
            let world = self.world();
            world.messages.faults().and_then(|_| comm_of(&world.objects))
        };
        // What is no such object is found by the call itself.
        comm.map_or(Ok(()), |comm| self.may_enter(comm))
    }

    /// Lets the mounted rank see who has failed once nothing can come before its clock: it waits among ranks
    /// of which some may be known to have.
    #[cold]
    pub(crate) fn look_around(&self) {
        let mut world = self.world();
        let (me, clock) = (world.messages.me(), world.messages.clock(world.messages.me()));
        world.messages.failures().alarm(me, clock);
    }

    /// Waits until nothing can come before the mounted rank's clock: it asks what has happened.
    fn await_now(&self) {
        if self.world().messages.faults().is_some() {
            self.ask(Question::Instant);
            self.learn();
        }
    }

    /// Waits as [`Mpi::await_now`] does, in a call that asks nothing.
    fn look_up(&self) {
        self.ask(Question::Now);
        self.learn();
    }

    fn learn(&self) {
        let World { messages, .. } = &mut *self.world();
        let (me, clock) = (messages.me(), messages.clock(messages.me()));
        if let Some(faults) = messages.faults_mut() {
            faults.learn(me, clock);
        }
    }

    /// Lets the mounted rank, which begins a call, learn who has failed if it was notified of a failure.
    #[cold]
    pub fn catch_up(&self) {
        let behind = {
            let world = self.world();
            world.messages.faults().is_some_and(|faults| faults.is_behind(world.messages.me()))
        };
        if behind {
            self.look_up();
        }
    }

    /// Implements `MPIX_Comm_revoke`.
    ///
    /// A message without payload goes down a binomial tree of the members, from the rank that revokes.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`; `MPI_ERR_UNSUPPORTED_OPERATION` on packet networks, and on several processes without
    /// `-xsim-ft`.
    pub fn comm_revoke(&self, comm: usize) -> Result {
        let (groups, context) = self.world().everybody(comm)?;
        self.world().have_faults()?;
        self.look_up();
        let world = &mut *self.world();
        let messages = &mut world.messages;
        messages.flush_batch();
        let (me, clock) = (messages.me(), messages.clock(messages.me()));
        if messages.faults().is_some_and(|faults| faults.is_revoked(me, context)) {
            return Ok(());
        }
        let all: Vec<u32> = groups
            .iter()
            .flat_map(|group| (0..group.size()).map(|member| group.world_rank(member)))
            .collect();
        let from = all.iter().position(|&rank| rank == me).unwrap_or(0);
        // Told now, and not by an alarm: what the rank does next is on a revoked communicator.
        let mut told = vec![clock; all.len()];
        for relative in 1..all.len() {
            let (child, parent) =
                ((from + relative) % all.len(), (from + (relative & (relative - 1))) % all.len());
            let way = messages
                .fabric()
                .wire()
                .way(all[parent], all[child], 0)
                .max(messages.fabric().lookahead(false));
            told[relative] = told[relative & (relative - 1)] + way;
            messages.ranks_mut().profile_mut().message(0);
            match messages.ranks().is_local(all[child]) {
                true => messages.failures().revoke(all[child], context, told[relative]),
                false => messages.peers_mut().send_revoked(all[child], context, told[relative]),
            }
        }
        messages.failures().revoke(me, context, clock);
        world.run.limit = world.run.limit.min(clock);
        world.ring(me, clock);
        Ok(())
    }

    /// Implements `MPIX_Comm_is_revoked`. Returns `true` if the mounted rank has been notified of it by now.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn comm_is_revoked(&self, comm: usize) -> Result<bool> {
        let context = self.world().objects.comms.get(comm)?.context;
        self.await_now();
        let mut world = self.world();
        let me = world.messages.me();
        let revoked = world.messages.faults().is_some_and(|faults| faults.is_revoked(me, context));
        if !revoked {
            world.messages.ranks_mut().fail_poll();
        }
        Ok(revoked)
    }

    /// Returns the members of a communicator that have failed, in the order in which they did: those of which
    /// the mounted rank knows by now, with their places among all that have failed.
    fn known_failed(&self, comm: usize) -> Result<(Vec<(u32, u32)>, u32)> {
        self.world().objects.comms.get(comm)?;
        self.await_now();
        let world = self.world();
        let (groups, context) = world.everybody(comm)?;
        let clock = world.messages.clock(world.messages.me());
        let known = world
            .messages
            .faults()
            .into_iter()
            .flat_map(|faults| groups.iter().flat_map(|group| faults.known_in(group, clock)));
        let mut failed: Vec<(u32, u32)> = known.map(|(place, failed)| (place, failed.rank)).collect();
        failed.sort_unstable();
        Ok((failed, context))
    }

    /// Implements `MPIX_Comm_get_failed`. Returns the group of those that have failed, in the order in which
    /// they did.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn comm_get_failed(&self, comm: usize) -> Result<Rc<Group>> {
        let (failed, _) = self.known_failed(comm)?;
        // Who asks over and over waits for a failure: time must pass.
        self.world().messages.ranks_mut().fail_poll();
        Ok(Group::from_ranks(failed.into_iter().map(|(_, rank)| rank).collect()))
    }

    /// Implements `MPIX_Comm_ack_failed`: acknowledges the first `count` (at most) of those that
    /// [`Mpi::comm_get_failed`] gives. Returns how many are then.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn comm_ack_failed(&self, comm: usize, count: u32) -> Result<u32> {
        let (failed, context) = self.known_failed(comm)?;
        let mut world = self.world();
        let me = world.messages.me();
        let Some(faults) = world.messages.faults_mut() else { return Ok(0) };
        if let Some((place, _)) = failed.get(failed.len().min(count as usize).wrapping_sub(1)) {
            faults.acknowledge(me, context, place + 1);
        }
        let acknowledged = faults.acknowledged(me, context);
        resume_pending(&mut world.messages, context);
        Ok(failed.iter().filter(|(place, _)| *place < acknowledged).count() as u32)
    }

    /// Implements `MPIX_Comm_failure_get_acked`. Returns the group of those that are acknowledged.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn comm_failure_get_acked(&self, comm: usize) -> Result<Rc<Group>> {
        let (failed, context) = self.known_failed(comm)?;
        let world = self.world();
        let acknowledged =
            world.messages.faults().map_or(0, |faults| faults.acknowledged(world.messages.me(), context));
        Ok(Group::from_ranks(
            failed.into_iter().filter(|(place, _)| *place < acknowledged).map(|(_, rank)| rank).collect(),
        ))
    }

    /// Implements `MPIX_Comm_iagree`, of which `MPIX_Comm_agree` is the first half. Returns the request. The
    /// flag that is agreed on goes to `target` when it completes.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`; `MPI_ERR_UNSUPPORTED_OPERATION` as [`Mpi::comm_revoke`].
    pub fn comm_iagree(&self, comm: usize, flag: i32, target: Addr) -> Result<usize> {
        self.enter_agreement(comm, Subject::Flag, (flag, target))
    }

    /// Implements `MPIX_Comm_agree`: the flag goes to `target`, whatever the outcome.
    ///
    /// # Errors
    /// As [`Mpi::comm_iagree`]; `MPIX_ERR_PROC_FAILED` if a member has failed and not all have acknowledged
    /// that.
    pub fn comm_agree(&self, comm: usize, flag: i32, target: Addr) -> Result {
        let request = self.comm_iagree(comm, flag, target)?;
        self.await_agreement(request)
    }

    /// Implements `MPIX_Comm_shrink`. Returns the handle of a communicator of those that have not failed; of
    /// an intercommunicator none if a side has no member left.
    ///
    /// # Errors
    /// As [`Mpi::comm_iagree`].
    pub fn comm_shrink(&self, comm: usize) -> Result<usize> {
        let request = self.enter_agreement(comm, Subject::Survivors, (0, Addr::NULL))?;
        self.await_agreement(request)?;
        Ok(self.world().chapters.failures.made())
    }

    /// Waits for an agreement of the mounted rank, which nothing but its outcome ends.
    // So its rank may run ahead of what others are told meanwhile, as it does when it computes: no decision
    // is needed of each member.
    fn await_agreement(&self, request: usize) -> Result {
        let waits = self.world().messages.completing().await_one(request)?;
        if waits {
            self.block();
        }
        self.finish_one(request).map(|_: (Status, usize)| ())
    }

    fn enter_agreement(&self, comm: usize, subject: Subject, flag: (i32, Addr)) -> Result<usize> {
        let world = &mut *self.world();
        world.have_faults()?;
        let index = world.objects.comms.index(comm)?;
        let World { objects, messages, chapters, .. } = world;
        chapters.failures.enter(messages, objects, index, subject, flag)
    }
}

/// Action of the mounted rank once its clock reaches a failure or an abort.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It ends with this exit status.
    Ends(i32),
    /// It has failed: it never goes on.
    Rests,
}

impl Mpi {
    /// Blocks the mounted rank for ever: it has got to the time of its failure.
    pub fn rest(&self) -> ! {
        loop {
            {
                let mut world = self.world();
                world.messages.flush_batch();
                let me = world.messages.me();
                world.mark_dirty(me);
            }
            self.block();
        }
    }
}
