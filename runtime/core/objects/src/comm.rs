//! Communicators: one shared object a process, whatever the number of its members.

mod partner;
mod spawned;

use crate::error::{ErrorClass, Failure, Result};
use crate::group::Group;
use crate::handle::{self, COMM_NULL, COMM_SELF, COMM_WORLD};
use crate::handles::{Names, RankSet};
use crate::slab::Slab;
use crate::topology::Topology;
pub use partner::Consecutive;
use partner::Recent;
use rustc_hash::FxHashMap;
use spawned::Spawned;
use std::cell::Cell;
use std::rc::Rc;

/// A communicator.
// O(1) but for irregular groups: a rank's number in it is computed, never stored.
pub struct Comm {
    /// The context: messages match within it only.
    pub context: u32,
    /// The (local) group.
    pub group: Rc<Group>,
    /// The remote group of an intercommunicator.
    pub remote: Option<Rc<Group>>,
    /// The process topology.
    pub topology: Option<Rc<Topology>>,
    /// Index of the object through which the other side of an intercommunicator sees it.
    pub twin: Option<u32>,
    /// `true` if it is MPI_COMM_SELF or a duplicate: one member, whoever asks.
    pub is_self: bool,
    /// Members of the (local) group that are on this process.
    pub local: u32,
    /// Members of the remote group that are on this process.
    pub remote_local: u32,
    /// Members that have freed it.
    // Who has freed it, and not who has it: empty until the end of most communicators.
    released: RankSet,
}

impl Comm {
    fn new(context: u32, group: Rc<Group>) -> Comm {
        Comm {
            context,
            group,
            remote: None,
            topology: None,
            twin: None,
            is_self: false,
            local: u32::MAX,
            remote_local: 0,
            released: RankSet::default(),
        }
    }
    /// Returns the number of members of the (local) group.
    #[inline]
    pub fn size(&self) -> u32 {
        if self.is_self { 1 } else { self.group.size() }
    }
    /// Returns the rank of world rank `me` in it.
    #[inline]
    pub fn rank(&self, me: u32) -> u32 {
        if self.is_self { 0 } else { self.group.rank_of(me).unwrap_or(u32::MAX) }
    }
    /// Returns the number of ranks that messages can go to: the remote group's, or the group's.
    #[inline]
    pub fn peers(&self) -> u32 {
        self.remote.as_ref().map_or_else(|| self.size(), |remote| remote.size())
    }
    /// Returns `true` if it is an intercommunicator.
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }
    /// Returns the world rank behind `rank`, a destination or source.
    #[inline]
    pub fn peer(&self, rank: i32, me: u32, what: &str) -> Result<u32> {
        self.check_peer(rank, what)?;
        Ok(if self.is_self {
            me
        } else {
            self.remote.as_ref().unwrap_or(&self.group).world_rank(rank as u32)
        })
    }
    #[inline]
    fn check_peer(&self, rank: i32, what: &str) -> Result {
        if rank < 0 || rank as u32 >= self.peers() {
            return Err(self.outside(rank, what));
        }
        Ok(())
    }
    #[cold]
    fn outside(&self, rank: i32, what: &str) -> Box<Failure> {
        let whose = if self.is_inter() { "the remote group" } else { "the communicator" };
        Failure::new(
            ErrorClass::RANK,
            format!(
                "{what} {rank} is not a rank of {whose}, which has {} (0 to {})",
                self.peers(),
                i64::from(self.peers()) - 1
            ),
        )
    }
    /// Returns the number of members of a collective: both groups of an intercommunicator.
    pub fn members(&self) -> u32 {
        self.size() + self.remote.as_ref().map_or(0, |remote| remote.size())
    }
}

/// Behind those of `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
const FIRST_CONTEXT: u32 = 2;

/// All communicators of a process.
pub struct Comms {
    slab: Slab<Comm>,
    /// Ranks of the first world, which the run began with.
    initial: u32,
    /// Ranks of the mounted rank's world, if that is the first; else 0.
    // So that the way of most messages asks one thing and not two.
    ranks: u32,
    /// Index of the mounted rank's world.
    world: u32,
    /// Worlds that were spawned and have ranks here, by their first ranks.
    spawned: Vec<Spawned>,
    /// By context: the other side of an intercommunicator, made here and not taken yet.
    // Both sides of an intercommunicator are made at once, because each holds the other: whoever comes second
    // must find its own.
    twins: FxHashMap<u32, usize>,
    // Never used again: a late message of a freed communicator can then meet nobody else's receive.
    contexts: u32,
    /// From one context of this process to its next one: each process has contexts of its own.
    stride: u32,
    /// This process's ranks: the first of them, and how many.
    own: (u32, u32),
    names: Names,
    /// By index: the communicator in whose context leaders meet.
    bridges: FxHashMap<u32, usize>,
    /// Communicators that all members of this process have freed and something under way may still need;
    /// lists of what goes together.
    freed: Vec<Vec<u32>>,
    /// The mounted rank, for whom a communicator that it freed is none any more.
    pub current: u32,
    recent: Cell<Recent>,
}

impl Comms {
    /// Makes `MPI_COMM_WORLD` of the first `ranks`, and `MPI_COMM_SELF`, on process `process` of `processes`
    /// with the ranks `own`.
    pub fn new(ranks: u32, own: (u32, u32), (process, processes): (u32, u32)) -> Comms {
        let mut slab = Slab::default();
        slab.insert(Comm {
            local: ranks.saturating_sub(own.0).min(own.1),
            ..Comm::new(0, Group::world(ranks))
        });
        slab.insert(Comm { is_self: true, ..Comm::new(1, Group::of_one(0)) });
        Comms {
            slab,
            initial: ranks,
            ranks,
            world: 0,
            spawned: Vec::new(),
            twins: FxHashMap::default(),
            contexts: FIRST_CONTEXT + process,
            stride: processes,
            own,
            names: Names::default(),
            bridges: FxHashMap::default(),
            freed: Vec::new(),
            current: 0,
            recent: Cell::new(Recent::NONE),
        }
    }
    /// This rank's calls are served now.
    // Asked at every switch: of a run that spawns nothing two words that are in the cache.
    #[inline(always)]
    pub fn mount(&mut self, rank: u32) {
        self.current = rank;
        if rank >= self.initial || self.world != 0 {
            self.enter_world(rank);
        }
    }
    /// Makes one side's half of an intercommunicator in a context that both sides have agreed on: made by the
    /// side that comes first on this process, taken over by the other.
    pub fn make_side(&mut self, local: Rc<Group>, remote: Rc<Group>, context: u32) -> usize {
        if let Some(twin) = self.twins.remove(&context) {
            return twin;
        }
        let (first, count) = self.own;
        let others_here = remote.members_between(first, count) > 0;
        let before = self.continue_contexts(Some(context));
        let (mine, theirs) = self.make_inter(local, remote);
        self.restore_contexts(before);
        if others_here {
            self.twins.insert(context, theirs);
        }
        mine
    }
    /// The slab index of a handle.
    // The two that everybody has are told by value, before anything is decoded.
    #[inline]
    pub fn index(&self, handle: usize) -> Result<u32> {
        match handle {
            COMM_WORLD => Ok(self.world),
            COMM_SELF => Ok(1),
            _ => match handle::decode(handle) {
                Some(index)
                    if self.slab.get(index).is_some_and(|comm| !comm.released.contains(self.current)) =>
                {
                    Ok(index)
                }
                _ => Err(Self::invalid(handle)),
            },
        }
    }
    #[cold]
    fn invalid(handle: usize) -> Box<Failure> {
        let why = if handle == COMM_NULL {
            "MPI_COMM_NULL is not a communicator to use here".to_owned()
        } else {
            format!("communicator handle {handle:#x} is not valid: it was freed, or never made")
        };
        Failure::new(ErrorClass::COMM, why)
    }
    /// Returns the communicator behind a handle.
    #[inline(always)]
    pub fn get(&self, handle: usize) -> Result<&Comm> {
        if handle == COMM_WORLD {
            return Ok(&self.slab[self.world]);
        }
        Ok(&self.slab[self.index(handle)?])
    }
    /// Returns the communicator at an index.
    #[inline]
    pub fn at(&self, index: u32) -> &Comm {
        &self.slab[index]
    }
    /// Returns the communicator at an index, to change.
    #[inline]
    pub fn at_mut(&mut self, index: u32) -> &mut Comm {
        &mut self.slab[index]
    }
    /// Returns the handle of an index.
    pub fn handle(index: u32) -> usize {
        match index {
            0 => COMM_WORLD,
            1 => COMM_SELF,
            _ => handle::encode(index),
        }
    }
    /// Makes a communicator and returns its handle; all its members on this process use this one object.
    /// `MPI_COMM_NULL` if it has none here.
    pub fn make(
        &mut self,
        group: Rc<Group>,
        remote: Option<Rc<Group>>,
        topology: Option<Rc<Topology>>,
    ) -> usize {
        let (first, count) = self.own;
        // Counted once here, so that collectives need not ask where members are.
        let here = |group: &Rc<Group>| {
            if self.stride == 1 { group.size() } else { group.members_between(first, count) }
        };
        let (local, remote_local) = (here(&group), remote.as_ref().map_or(0, here));
        if local + remote_local == 0 && group.size() > 0 {
            // Processes with members take a context now, and all must go on with the same ones.
            self.contexts += self.stride;
            return COMM_NULL;
        }
        let index = self.insert(group, remote, topology);
        (self.slab[index].local, self.slab[index].remote_local) = (local, remote_local);
        Comms::handle(index)
    }
    fn insert(&mut self, group: Rc<Group>, remote: Option<Rc<Group>>, topology: Option<Rc<Topology>>) -> u32 {
        let context = self.reserve_context();
        self.slab.insert(Comm { remote, topology, ..Comm::new(context, group) })
    }
    /// Returns the context that the next communicator gets.
    pub fn next_context(&self) -> u32 {
        assert!(self.contexts < 1 << 31, "no more than 2^31 communicators can be made");
        self.contexts
    }
    /// Reserves a context for a communicator that is made later.
    pub fn reserve_context(&mut self) -> u32 {
        let context = self.next_context();
        self.contexts += self.stride;
        context
    }
    /// Goes on with the contexts of another process, from `context` on; the answer restores this one's own.
    pub fn continue_contexts(&mut self, context: Option<u32>) -> Option<u32> {
        context.map(|context| std::mem::replace(&mut self.contexts, context))
    }
    /// Restores the contexts after [`continue_contexts`](Self::continue_contexts).
    pub fn restore_contexts(&mut self, before: Option<u32>) {
        if let Some(before) = before {
            self.contexts = before;
        }
    }
    /// Makes an intercommunicator and returns its two handles, seen from its two sides, with one context.
    pub fn make_inter(&mut self, one: Rc<Group>, other: Rc<Group>) -> (usize, usize) {
        let first = self.make(one.clone(), Some(other.clone()), None);
        let second = self.make(other, Some(one), None);
        if first == COMM_NULL {
            return (COMM_NULL, COMM_NULL);
        }
        let context = self.slab[handle::decode(first).expect("made above")].context;
        let index = handle::decode(second).expect("made above");
        // One context for both sides, so that what one sends the other's receive can match.
        self.slab[index].context = context;
        self.slab[index].twin = handle::decode(first);
        self.slab[handle::decode(first).expect("made above")].twin = Some(index);
        (first, second)
    }
    /// Makes a communicator like `handle` in a context that only the meeting of leaders uses.
    pub fn bridge_handle(&mut self, handle: usize) -> Result<usize> {
        let index = self.index(handle)?;
        if let Some(bridge) = self.bridges.get(&index) {
            return Ok(*bridge);
        }
        let comm = &self.slab[index];
        let (group, remote, context, is_self) =
            (comm.group.clone(), comm.remote.clone(), comm.context, comm.is_self);
        let at = self.insert(group, remote, None);
        let bridge = Comms::handle(at);
        // The same context for both sides of an intercommunicator: derived from the original one.
        // A half of all contexts that no other communicator gets: an intercommunicator is made while messages
        // of the user's own are under way.
        self.slab[at].context = context | 1 << 31;
        self.slab[at].is_self = is_self;
        self.bridges.insert(index, bridge);
        Ok(bridge)
    }
    /// Returns the communicator at an index, if it was not freed.
    pub fn alive(&self, index: u32) -> Option<&Comm> {
        self.slab.get(index)
    }
    /// Returns the object of an intercommunicator's other side.
    pub fn twin(&self, index: u32) -> Option<u32> {
        self.slab.get(index)?.twin
    }
    /// Makes a communicator of one member, whoever asks: a duplicate of MPI_COMM_SELF.
    pub fn make_self(&mut self, topology: Option<Rc<Topology>>) -> usize {
        let group = self.slab[1].group.clone();
        let index = self.insert(group, None, topology);
        self.slab[index].is_self = true;
        Comms::handle(index)
    }
    /// Returns the communicator of `rank` with this context (for reports).
    pub fn by_context(&self, context: u32, rank: u32) -> Option<&Comm> {
        self.index_of_context(context, rank).map(|index| &self.slab[index])
    }
    /// Returns the index of the communicator of `rank` with this context. O(communicators).
    pub fn index_of_context(&self, context: u32, rank: u32) -> Option<u32> {
        let is_of =
            |comm: &Comm| comm.context == context && (comm.is_self || comm.group.rank_of(rank).is_some());
        self.slab.iter().find(|(_, comm)| is_of(comm)).map(|(index, _)| index)
    }
    /// Frees it for one member. Returns `true` if it was the last one of this process: then object and index,
    /// and both sides of an intercommunicator, go with the next [`Comms::remove_freed`] that may take them.
    /// O(1).
    ///
    /// # Errors
    /// `MPI_ERR_COMM` for a predefined communicator, and for one that the mounted rank does not have.
    pub fn release(&mut self, handle: usize) -> Result<bool> {
        if handle == COMM_WORLD || handle == COMM_SELF {
            return Err(Failure::new(ErrorClass::COMM, "MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed"));
        }
        let index = self.index(handle)?;
        // Its index may be another communicator's soon.
        self.recent.set(Recent::NONE);
        let comm = &mut self.slab[index];
        // The object goes with its last member here: until then the others' messages and collectives use it
        // (MPI 5.0 section 7.4.3).
        comm.released.insert(self.current);
        // The two sides of an intercommunicator share what is kept of their collectives: they go together.
        let sides: Vec<u32> = std::iter::once(index).chain(comm.twin).collect();
        let last = sides
            .iter()
            .all(|&side| self.slab[side].released.len() >= self.slab[side].local.min(self.slab[side].size()));
        if last {
            let bridges = sides
                .iter()
                .filter_map(|side| self.bridges.remove(side).and_then(handle::decode))
                .collect::<Vec<u32>>();
            self.freed.push([sides, bridges].concat());
        }
        Ok(last)
    }
    /// Removes what all members of this process have freed and nothing needs any more (`needs` is told index
    /// and communicator): the indices that are free from now on. O(communicators that are freed and still
    /// needed).
    // Who frees a communicator may have left a call on it with an error, or not have completed it yet: the
    // members elsewhere still get from its agents what they wait for.
    pub fn remove_freed(&mut self, needs: impl Fn(u32, &Comm) -> bool) -> Vec<u32> {
        let slab = &self.slab;
        let (kept, gone): (Vec<Vec<u32>>, Vec<Vec<u32>>) =
            std::mem::take(&mut self.freed).into_iter().partition(|together| {
                together.iter().any(|&index| slab.get(index).is_some_and(|comm| needs(index, comm)))
            });
        self.freed = kept;
        let gone = gone.concat();
        for &index in &gone {
            self.slab.remove(index);
        }
        gone
    }
    /// Implements `MPI_Comm_set_name`.
    pub fn set_name(&mut self, rank: u32, handle: usize, name: &[u8]) -> Result {
        self.index(handle)?;
        self.names.set(rank, handle, name);
        Ok(())
    }
    /// Implements `MPI_Comm_get_name`.
    pub fn name(&self, rank: u32, handle: usize) -> Result<&[u8]> {
        if handle == COMM_NULL {
            return Ok(b"MPI_COMM_NULL");
        }
        self.index(handle)?;
        Ok(match (self.names.get(rank, handle), handle) {
            (Some(name), _) => name,
            (None, COMM_WORLD) => b"MPI_COMM_WORLD",
            (None, COMM_SELF) => b"MPI_COMM_SELF",
            (None, _) if handle == self.parent() => b"MPI_COMM_PARENT",
            _ => b"",
        })
    }
    /// Forgets a rank's name for it.
    pub fn forget_name(&mut self, rank: u32, handle: usize) {
        self.names.remove(rank, handle);
    }
    /// Returns the text by which messages name a communicator.
    pub fn describe(&self, handle: usize) -> String {
        match handle {
            COMM_WORLD => "MPI_COMM_WORLD".to_owned(),
            COMM_SELF => "MPI_COMM_SELF".to_owned(),
            _ => format!("communicator {handle:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn comms(ranks: u32, me: u32) -> Comms {
        Comms { current: me, ..Comms::new(ranks, (0, ranks), (0, 1)) }
    }

    #[test]
    fn a_communicator_goes_with_the_last_member_that_frees_it() {
        let mut comms = comms(3, 0);
        let handle = comms.make(Group::world(3), None, None);
        let index = comms.index(handle).unwrap();
        for me in 0..3 {
            comms.current = me;
            assert!(comms.get(handle).is_ok());
            assert_eq!(comms.release(handle).unwrap(), me == 2);
            assert!(comms.get(handle).is_err_and(|failure| failure.text.contains("freed")));
            assert_eq!(comms.known_partner(handle, 0), None);
        }
        // What is still needed stays, and its index is nobody else's.
        assert_eq!(comms.remove_freed(|needed, _| needed == index), []);
        assert!(comms.alive(index).is_some());
        assert_eq!(comms.remove_freed(|_, _| false), [index]);
        assert!(comms.alive(index).is_none());
    }

    #[test]
    fn both_sides_of_an_intercommunicator_go_together() {
        let mut comms = comms(3, 0);
        let (one, other) = comms.make_inter(Group::range(0, 1, 2), Group::range(2, 1, 1));
        let sides = [one, other].map(|handle| comms.index(handle).unwrap());
        assert_eq!(comms.at(sides[0]).context, comms.at(sides[1]).context);
        assert_eq!((comms.twin(sides[0]), comms.twin(sides[1])), (Some(sides[1]), Some(sides[0])));
        assert_eq!(
            (comms.at(sides[0]).peers(), comms.at(sides[1]).peers(), comms.at(sides[0]).members()),
            (1, 2, 3)
        );
        for (me, handle) in [(2, other), (0, one)] {
            comms.current = me;
            assert!(!comms.release(handle).unwrap());
        }
        comms.current = 1;
        assert!(comms.release(one).unwrap());
        assert_eq!(comms.remove_freed(|index, _| index == sides[1]), []);
        let mut gone = comms.remove_freed(|_, _| false);
        gone.sort_unstable();
        assert_eq!(gone, sides);
    }

    #[test]
    fn the_predefined_ones_stay() {
        let mut comms = comms(2, 1);
        assert!(comms.release(COMM_WORLD).is_err() && comms.release(COMM_SELF).is_err());
        assert!(comms.get(COMM_NULL).is_err_and(|failure| failure.text.contains("MPI_COMM_NULL")));
        let own = comms.get(COMM_SELF).unwrap();
        assert_eq!((own.size(), own.rank(1), own.peer(0, 1, "destination").unwrap()), (1, 0, 1));
    }

    #[test]
    fn processes_never_give_the_same_context() {
        let contexts = |process| {
            let mut comms = Comms::new(6, (2 * process, 2), (process, 3));
            (0..4).map(|_| comms.reserve_context()).collect::<Vec<u32>>()
        };
        let mut all = [contexts(0), contexts(1), contexts(2), vec![0, 1]].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 14);
    }

    proptest! {
        #[test]
        fn what_is_remembered_of_a_communicator_is_what_is_found(
            calls in prop::collection::vec((0usize..6, 0u32..8, -2i32..9), 1..60),
            stride in 1i64..3,
        ) {
            let mut comms = comms(8, 0);
            let (one, other) = comms.make_inter(Group::range(0, 1, 3), Group::range(3, 1, 5));
            let made = [
                COMM_WORLD,
                COMM_SELF,
                comms.make(Group::range(1, stride, 3), None, None),
                comms.make(Group::from_ranks(vec![5, 0, 7]), None, None),
                one,
                other,
            ];
            for (which, me, rank) in calls {
                let handle = made[which];
                if comms.get(handle).unwrap().rank(me) == u32::MAX {
                    continue;
                }
                comms.current = me;
                prop_assert_eq!(
                    comms.known_partner(handle, rank),
                    comms.partner(handle, rank, "source").ok()
                );
                prop_assert_eq!(comms.known_context(handle, rank), comms.context_from(handle, rank).ok());
            }
        }
    }
}
