//! Making communicators (MPI 5.0 chapters 7.4, 7.6 and 8.5): all members agree, the last to enter makes the
//! objects.

use crate::collective::agreement::{AgreedHandles, Contribution};
use crate::collective::bridges::Bridges;
use crate::collective::membership::sides;
use crate::collective::mode::Mode;
use crate::error::{ErrorClass, Failure, Result};
use crate::group::Group;
use crate::handle::COMM_NULL;
use crate::messages::Messages;
use crate::request::UNDEFINED;
use crate::topology::Topology;
use crate::world::Mpi;
use objects::Objects;
use rank::Addr;
use std::rc::Rc;

pub(super) type Contributions = Vec<(u32, u32, Contribution)>;

/// Bytes that each member contributes to the agreement on a context.
pub(super) const CONTEXT_BYTES: u64 = 8;
/// In place of the context that a group is found in, where it has no communicator: none has this one.
const NO_PARENT: u32 = u32::MAX;

/// The handle for each side of an intercommunicator, by member.
// Each side has an object of its own, since its local group is the other's remote one.
fn by_side(objects: &Objects, comm: u32, first_side: usize, second_side: usize) -> AgreedHandles {
    let (first, second) = sides(objects, comm);
    AgreedHandles::Each(
        (0..first.size() + second.size())
            .map(|member| if member < first.size() { first_side } else { second_side })
            .collect(),
    )
}

fn make_two_sided(objects: &mut Objects, comm: u32, one: Rc<Group>, other: Rc<Group>) -> AgreedHandles {
    let (first, second) = objects.comms.make_inter(one, other);
    by_side(objects, comm, first, second)
}

pub(super) fn both_groups(objects: &Objects, comm: u32) -> (Rc<Group>, Rc<Group>) {
    let communicator = objects.comms.at(comm);
    let (local, remote) =
        (communicator.group.clone(), communicator.remote.clone().expect("an intercommunicator"));
    if local.world_rank(0) < remote.world_rank(0) { (local, remote) } else { (remote, local) }
}

fn duplicate(
    _: &mut Bridges,
    _: &Messages,
    objects: &mut Objects,
    comm: u32,
    _: Contributions,
) -> Result<AgreedHandles> {
    let communicator = objects.comms.at(comm);
    if communicator.is_self {
        let topology = communicator.topology.clone();
        return Ok(AgreedHandles::Same(objects.comms.make_self(topology)));
    }
    if communicator.remote.is_some() {
        let (one, other) = both_groups(objects, comm);
        return Ok(make_two_sided(objects, comm, one, other));
    }
    let (group, topology) = (communicator.group.clone(), communicator.topology.clone());
    Ok(AgreedHandles::Same(objects.comms.make(group, None, topology)))
}

/// Members of each color in the order (key, member): `(color, key, member, world rank)` sorted.
// By key, at a tie by the rank in the old communicator (MPI 5.0 section 7.4.2); `sort_unstable` is enough, as
// members differ.
fn sorted_colors(contributions: &Contributions, members: std::ops::Range<u32>) -> Vec<(i32, i32, u32, u32)> {
    let mut colors: Vec<_> = contributions
        .iter()
        .filter(|(member, ..)| members.contains(member))
        .filter_map(|(member, world, contribution)| match contribution {
            Contribution::Split(Some(color), key) => Some((*color, *key, *member, *world)),
            _ => None,
        })
        .collect();
    colors.sort_unstable();
    colors
}

fn chunks_by_color(sorted: &[(i32, i32, u32, u32)]) -> impl Iterator<Item = &[(i32, i32, u32, u32)]> {
    sorted.chunk_by(|a, b| a.0 == b.0)
}

fn group_of(chunk: &[(i32, i32, u32, u32)]) -> Rc<Group> {
    Group::from_ranks(chunk.iter().map(|entry| entry.3).collect())
}

fn split(
    _: &mut Bridges,
    _: &Messages,
    objects: &mut Objects,
    comm: u32,
    contributions: Contributions,
) -> Result<AgreedHandles> {
    let mut handles = vec![COMM_NULL; contributions.len()];
    let communicator = objects.comms.at(comm);
    if communicator.is_self {
        let handle = match &contributions[0].2 {
            Contribution::Split(Some(_), _) => objects.comms.make_self(None),
            _ => COMM_NULL,
        };
        return Ok(AgreedHandles::Same(handle));
    }
    if communicator.remote.is_some() {
        let middle = sides(objects, comm).0.size();
        let (one, other) =
            (sorted_colors(&contributions, 0..middle), sorted_colors(&contributions, middle..u32::MAX));
        for chunk in chunks_by_color(&one) {
            // A color on one side alone makes no communicator: there is nobody on the other side (MPI 5.0
            // section 7.4.2).
            let Some(twin) = chunks_by_color(&other).find(|twin| twin[0].0 == chunk[0].0) else { continue };
            let (first, second) = objects.comms.make_inter(group_of(chunk), group_of(twin));
            chunk.iter().for_each(|entry| handles[entry.2 as usize] = first);
            twin.iter().for_each(|entry| handles[entry.2 as usize] = second);
        }
        return Ok(AgreedHandles::Each(handles));
    }
    let sorted = sorted_colors(&contributions, 0..u32::MAX);
    for chunk in chunks_by_color(&sorted) {
        let handle = objects.comms.make(group_of(chunk), None, None);
        chunk.iter().for_each(|entry| handles[entry.2 as usize] = handle);
    }
    Ok(AgreedHandles::Each(handles))
}

/// Members whose groups are equal share a communicator; who is not in its own group gets none.
// Some members' groups may be empty or not contain them: they take part in the agreement all the same, which
// is collective.
fn create(
    _: &mut Bridges,
    _: &Messages,
    objects: &mut Objects,
    comm: u32,
    contributions: Contributions,
) -> Result<AgreedHandles> {
    let mut handles = vec![COMM_NULL; contributions.len()];
    let inter = objects.comms.at(comm).remote.is_some();
    let is_self = objects.comms.at(comm).is_self;
    if inter {
        let middle = sides(objects, comm).0.size();
        let group_on = |first: bool| {
            contributions.iter().filter(|(member, ..)| (*member < middle) == first).find_map(
                |(_, world, contribution)| match contribution {
                    Contribution::Group(group, _) if group.rank_of(*world).is_some() => Some(group.clone()),
                    _ => None,
                },
            )
        };
        if let (Some(one), Some(other)) = (group_on(true), group_on(false)) {
            let (first, second) = objects.comms.make_inter(one.clone(), other.clone());
            for (member, rank, _) in &contributions {
                if one.rank_of(*rank).is_some() && *member < middle {
                    handles[*member as usize] = first;
                } else if other.rank_of(*rank).is_some() && *member >= middle {
                    handles[*member as usize] = second;
                }
            }
        }
        return Ok(AgreedHandles::Each(handles));
    }
    let mut made: Vec<(u32, usize)> = Vec::new();
    for (member, rank, contribution) in &contributions {
        let Contribution::Group(group, topology) = contribution else { continue };
        if group.rank_of(*rank).is_none() {
            continue;
        }
        if is_self {
            return Ok(AgreedHandles::Same(objects.comms.make_self(topology.clone())));
        }
        // Groups of one call are equal or disjoint (MPI 5.0 section 7.4.2): the first member tells them
        // apart.
        let leader = group.world_rank(0);
        let handle = match made.iter().rev().find(|(first, _)| *first == leader) {
            Some((_, handle)) => *handle,
            None => {
                let handle = objects.comms.make(group.clone(), None, topology.clone());
                made.push((leader, handle));
                handle
            }
        };
        handles[*member as usize] = handle;
    }
    Ok(AgreedHandles::Each(handles))
}

fn distributed_graph(
    _: &mut Bridges,
    _: &Messages,
    objects: &mut Objects,
    comm: u32,
    contributions: Contributions,
) -> Result<AgreedHandles> {
    let group = objects.comms.at(comm).group.clone();
    let is_self = objects.comms.at(comm).is_self;
    let topology = Rc::new(Topology::distributed(
        contributions.len() as u32,
        contributions.into_iter().map(|(member, _, contribution)| (member, contribution)),
    )?);
    Ok(AgreedHandles::Same(if is_self {
        objects.comms.make_self(Some(topology))
    } else {
        objects.comms.make(group, None, Some(topology))
    }))
}

/// Returns what a member of `MPI_Comm_split` contributes.
fn color_of(color: i32, key: i32) -> Result<Contribution> {
    if color < 0 && color != UNDEFINED {
        return Err(Failure::new(
            ErrorClass::ARG,
            format!("color {color} is negative: use 0 or more, or MPI_UNDEFINED"),
        ));
    }
    Ok(Contribution::Split((color != UNDEFINED).then_some(color), key))
}

impl Mpi {
    pub(super) fn made(
        &self,
        comm: usize,
        contribution: Contribution,
        resolve: crate::collective::agreement::Resolve,
    ) -> Result<usize> {
        Ok(self.agree(comm, CONTEXT_BYTES, contribution, resolve, Mode::Blocking)?.1)
    }

    pub(crate) fn intra(&self, comm: usize, what: &str) -> Result {
        if self.world().objects.comms.get(comm)?.is_inter() {
            return Err(Failure::new(
                ErrorClass::COMM,
                format!("{what} needs an intracommunicator, and this is an intercommunicator"),
            ));
        }
        Ok(())
    }

    /// Implements `MPI_Comm_dup`, without attributes. Returns the new handle.
    pub fn comm_dup(&self, comm: usize) -> Result<usize> {
        self.made(comm, Contribution::Nothing, duplicate)
    }

    /// `MPI_Comm_idup`: the request; the new handle is stored at `target` when it completes.
    // The handle is not known yet, and only its rank can store it: the agent keeps where to.
    pub fn comm_idup(&self, comm: usize, target: Addr) -> Result<usize> {
        let (request, _) =
            self.agree(comm, CONTEXT_BYTES, Contribution::Nothing, duplicate, Mode::Nonblocking)?;
        let request = request.expect("a nonblocking call makes a request");
        {
            let world = &mut *self.world();
            world.chapters.collectives.store_outcome(&mut world.messages, request, target)
        };
        Ok(request)
    }

    /// Implements `MPI_Comm_split`. Returns the new handle.
    pub fn comm_split(&self, comm: usize, color: i32, key: i32) -> Result<usize> {
        self.made(comm, color_of(color, key)?, split)
    }

    /// Begins `MPI_Comm_dup`; returns a word for [`Mpi::end_comm`], and whether the rank has to wait until
    /// then.
    pub fn begin_comm_dup(&self, comm: usize) -> Result<(usize, bool)> {
        self.begin_agreement(comm, CONTEXT_BYTES, Contribution::Nothing, duplicate)
    }

    /// Begins `MPI_Comm_split`, as [`Mpi::begin_comm_dup`].
    pub fn begin_comm_split(&self, comm: usize, color: i32, key: i32) -> Result<(usize, bool)> {
        self.begin_agreement(comm, CONTEXT_BYTES, color_of(color, key)?, split)
    }

    /// Ends a call that makes a communicator; returns the new handle.
    pub fn end_comm(&self, waited: usize) -> Result<usize> {
        self.end_agreement(waited)
    }

    /// Implements `MPI_Comm_create`. Returns the new handle.
    pub fn comm_create(&self, comm: usize, group: Rc<Group>) -> Result<usize> {
        let outside = {
            let world = self.world();
            let communicator = world.objects.comms.get(comm)?;
            !communicator.is_self && !group.is_within(&communicator.group)
        };
        if outside {
            return Err(Failure::new(
                ErrorClass::GROUP,
                "the group has a rank that is not in the communicator's group",
            ));
        }
        self.made(comm, Contribution::Group(group, None), create)
    }

    /// `MPI_Comm_create_group`: only the group's members call it, and their messages alone cost time.
    // By the group and the tag and not by the order of calls: others of the communicator do not call it (MPI
    // 5.0 section 7.4.2).
    pub fn comm_create_group(&self, comm: usize, group: Rc<Group>, tag: i32) -> Result<usize> {
        let context = self.world().objects.comms.get(comm)?.context;
        self.made_in_group(group, context, tag)
    }

    /// Makes a communicator of this group, whose members find each other by the context of what they have in
    /// common.
    fn made_in_group(&self, group: Rc<Group>, context: u32, tag: i32) -> Result<usize> {
        if group.rank_of(self.world().messages.me()).is_none() {
            return Ok(COMM_NULL);
        }
        let key = (context, tag, group.world_rank(0));
        self.agree_in_group(
            group.clone(),
            key,
            CONTEXT_BYTES,
            Contribution::Group(group, None),
            create_in_group,
        )
    }

    /// Begins `MPI_Comm_create_group` by a member of the group, as [`Mpi::begin_comm_dup`]; without a
    /// communicator of `MPI_Comm_create_from_group`.
    pub fn begin_comm_create_group(
        &self,
        comm: Option<usize>,
        group: Rc<Group>,
        tag: i32,
    ) -> Result<(usize, bool)> {
        let context = match comm {
            Some(comm) => self.world().objects.comms.get(comm)?.context,
            None => NO_PARENT,
        };
        let key = (context, tag, group.world_rank(0));
        self.begin_agreement_in_group(
            group.clone(),
            key,
            CONTEXT_BYTES,
            Contribution::Group(group, None),
            create_in_group,
        )
    }

    /// Implements `MPI_Comm_create_from_group`, with a tag instead of its string, as
    /// [`comm_create_group`](Self::comm_create_group) without a parent.
    pub fn comm_create_from_group(&self, group: Rc<Group>, tag: i32) -> Result<usize> {
        self.made_in_group(group, NO_PARENT, tag)
    }

    /// Implements `MPI_Cart_create` and `MPI_Graph_create`: the first ranks of `comm` get the topology.
    pub fn comm_with_topology(&self, comm: usize, topology: Topology, ranks: u32) -> Result<usize> {
        self.made(comm, self.with_topology(comm, topology, ranks)?, create)
    }

    /// Begins [`Mpi::comm_with_topology`], as [`Mpi::begin_comm_dup`].
    pub fn begin_comm_with_topology(
        &self,
        comm: usize,
        topology: Topology,
        ranks: u32,
    ) -> Result<(usize, bool)> {
        self.begin_agreement(comm, CONTEXT_BYTES, self.with_topology(comm, topology, ranks)?, create)
    }

    fn with_topology(&self, comm: usize, topology: Topology, ranks: u32) -> Result<Contribution> {
        self.intra(comm, "a process topology")?;
        let group = {
            let world = self.world();
            let communicator = world.objects.comms.get(comm)?;
            if ranks > communicator.size() {
                return Err(Failure::new(
                    ErrorClass::DIMS,
                    format!(
                        "the topology has {ranks} places, the communicator only {} ranks",
                        communicator.size()
                    ),
                ));
            }
            if communicator.is_self {
                Group::from_ranks(vec![world.messages.me()])
            } else if ranks == communicator.size() {
                communicator.group.clone()
            } else {
                communicator.group.prefix(ranks)
            }
        };
        Ok(Contribution::Group(group, Some(Rc::new(topology))))
    }

    /// `MPI_Cart_sub`: splits by color, and gives each part its topology.
    // The first member of each part sets its topology, the others find it there: a grid's parts are alike.
    pub fn comm_split_with_topology(
        &self,
        comm: usize,
        color: i32,
        key: i32,
        topology: Topology,
    ) -> Result<usize> {
        let handle = self.comm_split(comm, color, key)?;
        self.set_topology(handle, topology)?;
        Ok(handle)
    }

    /// Sets the topology of a communicator of [`Mpi::comm_split_with_topology`], unless it has it.
    pub fn set_topology(&self, comm: usize, topology: Topology) -> Result {
        let mut world = self.world();
        let index = world.objects.comms.index(comm)?;
        world.objects.comms.at_mut(index).topology.get_or_insert_with(|| Rc::new(topology));
        Ok(())
    }

    /// Implements `MPI_Dist_graph_create` and `MPI_Dist_graph_create_adjacent`.
    pub fn comm_with_edges(&self, comm: usize, contribution: Contribution) -> Result<usize> {
        self.intra(comm, "a process topology")?;
        self.made(comm, contribution, distributed_graph)
    }

    /// Begins [`Mpi::comm_with_edges`], as [`Mpi::begin_comm_dup`].
    pub fn begin_comm_with_edges(&self, comm: usize, contribution: Contribution) -> Result<(usize, bool)> {
        self.intra(comm, "a process topology")?;
        self.begin_agreement(comm, CONTEXT_BYTES, contribution, distributed_graph)
    }
}

fn create_in_group(
    _: &mut Bridges,
    _: &Messages,
    objects: &mut Objects,
    _: u32,
    contributions: Contributions,
) -> Result<AgreedHandles> {
    let Some((.., Contribution::Group(group, _))) = contributions.first() else {
        return Ok(AgreedHandles::Same(COMM_NULL));
    };
    Ok(AgreedHandles::Same(objects.comms.make(group.clone(), None, None)))
}
