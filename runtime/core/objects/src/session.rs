//! Sessions (MPI 5.0 section 11.3): a rank's own handles to MPI, and what was derived from each.
//!
//! The runtime behind all of them is one, so a session holds no more than what it was asked for. Which groups
//! and communicators come from it matters to one thing alone, the buffer that is attached to a session, and
//! is kept for those ranks only that have opened sessions.
//!
//! While one is open, calls are allowed outside the time between `MPI_Init` and `MPI_Finalize`
//! (`cabi/edge.rs`, on the path that such calls took before to their refusal, so that others pay nothing).

use crate::error::{ErrorClass, Failure, Result};
use crate::group::Group;
use crate::handle;
use crate::slab::Slab;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// `MPI_SESSION_NULL`
pub const SESSION_NULL: usize = crate::abi::MPI_SESSION_NULL;

/// The process sets that there are, in the order of `MPI_Session_get_nth_pset`: the two that MPI 5.0 section
/// 11.3.2 asks for.
pub const PROCESS_SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// A session of one rank.
struct Session {
    /// World rank.
    owner: u32,
    /// Thread support of the rank: one of `MPI_THREAD_SINGLE` to `MPI_THREAD_MULTIPLE`.
    threads: i32,
}

/// All sessions of a process's ranks.
#[derive(Default)]
pub struct Sessions {
    slab: Slab<Session>,
    /// Sessions that a rank has open, for those that have any.
    // A count beside the sessions themselves: whether a rank has any is asked on each call that it makes
    // before MPI_Init, and must not walk them.
    open: FxHashMap<u32, u32>,
    /// Handles of groups and of communicators, each with its rank, that were derived from a session.
    groups: FxHashMap<(u32, usize), usize>,
    comms: FxHashMap<(u32, usize), usize>,
}

impl Sessions {
    /// Implements `MPI_Session_init`. Returns the handle.
    pub fn open(&mut self, rank: u32, threads: i32) -> usize {
        *self.open.entry(rank).or_default() += 1;
        handle::encode(self.slab.insert(Session { owner: rank, threads }))
    }

    fn get(&self, rank: u32, handle: usize) -> Result<&Session> {
        // The handles of all ranks are places in one slab: another rank's session would be found under its
        // number.
        let found = handle::decode(handle).and_then(|index| self.slab.get(index));
        found.filter(|session| session.owner == rank).ok_or_else(|| {
            let why = if handle == SESSION_NULL {
                "MPI_SESSION_NULL is no session to use here".to_owned()
            } else {
                format!(
                    "session handle {handle:#x} is not valid: it was finalized, or never made by \
                     MPI_Session_init"
                )
            };
            Failure::new(ErrorClass::SESSION, why)
        })
    }

    /// Checks that the rank has this session.
    ///
    /// # Errors
    /// `MPI_ERR_SESSION` if it has not.
    pub fn check(&self, rank: u32, handle: usize) -> Result {
        self.get(rank, handle).map(|_| ())
    }

    /// Returns what the rank may do with threads.
    ///
    /// # Errors
    /// `MPI_ERR_SESSION`.
    pub fn threads(&self, rank: u32, handle: usize) -> Result<i32> {
        self.get(rank, handle).map(|session| session.threads)
    }

    /// Returns `true` if the rank has any session open, so that it may call MPI outside the time between
    /// `MPI_Init` and `MPI_Finalize`.
    pub fn any(&self, rank: u32) -> bool {
        self.open.contains_key(&rank)
    }

    /// Implements `MPI_Session_finalize`. What was derived from the session is no longer its own.
    ///
    /// # Errors
    /// `MPI_ERR_SESSION`.
    pub fn close(&mut self, rank: u32, handle: usize) -> Result {
        self.check(rank, handle)?;
        self.slab.remove(handle::decode(handle).expect("looked up above"));
        if let Some(count) = self.open.get_mut(&rank) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(&rank);
            }
        }
        // O(all that was derived on this process): a session is finalized once, but derived from often.
        let stays = |key: &(u32, usize), session: &mut usize| key.0 != rank || *session != handle;
        self.groups.retain(stays);
        self.comms.retain(stays);
        Ok(())
    }

    /// Returns the group of a process set, whose name is told apart from others in any case; `world` is all
    /// ranks.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if there is no such set.
    pub fn process_set(rank: u32, name: &str, world: &Rc<Group>) -> Result<Rc<Group>> {
        match PROCESS_SETS.iter().position(|set| set.eq_ignore_ascii_case(name)) {
            Some(0) => Ok(world.clone()),
            Some(_) => Ok(Group::of_one(rank)),
            None => Err(Failure::new(
                ErrorClass::ARG,
                format!(
                    "there is no process set '{name}': MPI_Session_get_nth_pset names those that there are, \
                     {}",
                    PROCESS_SETS.join(" and ")
                ),
            )),
        }
    }

    /// Records that a group of the rank's is from a session.
    pub fn derive_group(&mut self, rank: u32, group: usize, session: usize) {
        self.groups.insert((rank, group), session);
    }

    /// Records that a group of the rank's is made of others: of their session, if they have one.
    pub fn inherit_group(&mut self, rank: u32, from: &[usize], to: usize) {
        if self.groups.is_empty() {
            return;
        }
        match from.iter().find_map(|&group| self.groups.get(&(rank, group)).copied()) {
            Some(session) => drop(self.groups.insert((rank, to), session)),
            // A handle comes back once its group is freed, and must not bring that group's session along.
            None => drop(self.groups.remove(&(rank, to))),
        }
    }

    /// Records that a communicator of the rank's is made of a group: of its session, if it has one.
    pub fn derive_comm(&mut self, rank: u32, group: usize, comm: usize) {
        if let Some(&session) = self.groups.get(&(rank, group)) {
            self.comms.insert((rank, comm), session);
        }
    }

    /// Records that a communicator of the rank's is made of another one.
    pub fn inherit_comm(&mut self, rank: u32, from: usize, to: usize) {
        if !self.comms.is_empty()
            && let Some(&session) = self.comms.get(&(rank, from))
        {
            self.comms.insert((rank, to), session);
        }
    }

    /// Forgets a communicator that the rank has freed.
    pub fn forget_comm(&mut self, rank: u32, comm: usize) {
        if !self.comms.is_empty() {
            self.comms.remove(&(rank, comm));
        }
    }

    /// Returns the session that a communicator of the rank's was derived from.
    pub fn of_comm(&self, rank: u32, comm: usize) -> Option<usize> {
        self.comms.get(&(rank, comm)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_of_the_rank_that_opened_it() {
        let mut sessions = Sessions::default();
        let (one, two) = (sessions.open(3, 0), sessions.open(3, 2));
        assert!(sessions.any(3) && !sessions.any(4));
        assert_eq!(sessions.threads(3, two).unwrap(), 2);
        assert_eq!(sessions.check(4, one).unwrap_err().class, ErrorClass::SESSION);
        assert_eq!(sessions.check(3, SESSION_NULL).unwrap_err().class, ErrorClass::SESSION);
        sessions.close(3, one).unwrap();
        assert!(sessions.close(3, one).is_err() && sessions.any(3));
        sessions.close(3, two).unwrap();
        assert!(!sessions.any(3));
    }

    #[test]
    fn what_is_derived_stays_of_its_session_until_that_is_closed() {
        let mut sessions = Sessions::default();
        let session = sessions.open(0, 0);
        sessions.derive_group(0, 100, session);
        sessions.inherit_group(0, &[90, 100], 101);
        sessions.derive_comm(0, 101, 7);
        sessions.inherit_comm(0, 7, 8);
        sessions.inherit_comm(0, 6, 9);
        assert_eq!([7, 8, 9].map(|comm| sessions.of_comm(0, comm)), [Some(session), Some(session), None]);
        assert_eq!(sessions.of_comm(1, 7), None);
        // Another group under a handle that is used again.
        sessions.inherit_group(0, &[90], 101);
        sessions.derive_comm(0, 101, 10);
        assert_eq!(sessions.of_comm(0, 10), None);
        sessions.close(0, session).unwrap();
        assert_eq!(sessions.of_comm(0, 8), None);
    }

    #[test]
    fn process_sets_are_named_in_any_case() {
        let world = Group::world(5);
        assert_eq!(Sessions::process_set(3, "mpi://world", &world).unwrap().size(), 5);
        assert_eq!(Sessions::process_set(3, "mpi://SELF", &world).unwrap().world_rank(0), 3);
        assert_eq!(Sessions::process_set(3, "mpi://", &world).unwrap_err().class, ErrorClass::ARG);
    }
}
