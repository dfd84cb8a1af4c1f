//! Meanings of handles, statuses and communicators in the simulated world. Files here that read arguments
//! know nothing else of it: the recorder of real runs (`cabi/tracer`) compiles the same files over a `host`
//! of the machine's own MPI.

use super::objects::{Membership, RelativeBase};
use super::parameter::RecordedParameter;
use crate::alone;
use crate::args::{CText, StatusPointer};
use crate::fortran;
use mpi::Objects;
use mpi::handle::REQUEST_SENT;
use mpi::point_to_point::FIRST_MEMORY;
use mpi::regions::Region;
use mpi::topology::Topology;

use rank::Addr;
use rank::memory::load;
use recorder::{Class, RecordedStatus, Touch};

/// Bytes of a status.
pub const STATUS: usize = 32;

/// Returns element `k` of an array of statuses of the program.
pub fn status(at: Addr, k: usize) -> RecordedStatus {
    let status = StatusPointer(at.offset((STATUS * k) as i64)).get();
    RecordedStatus {
        source: status.source,
        tag: status.tag,
        bytes: status.bytes,
        cancelled: status.cancelled,
    }
}

/// Returns element `k` of an array of handles as C has them.
pub fn handle(_: Option<Class>, at: Addr, k: usize) -> usize {
    load(at.offset(8 * k as i64))
}

/// Returns a number in the memory of the program, which may be a constant.
pub fn number(_: &RecordedParameter, number: i32) -> i32 {
    number
}

/// Returns the handle that a request gets in place of one that several have.
pub fn distinct(request: usize) -> Option<usize> {
    (request == REQUEST_SENT).then(|| alone::mpi().distinct_sent())
}

/// Records that a handle is that of no object any more.
#[inline(always)]
pub fn forget(_: Class, _: usize) {}

/// Text of C, without its end.
pub fn text(at: Addr) -> Vec<u8> {
    CText(at).bytes()
}

/// Returns Fortran's argument for a status: null if it is ignored.
pub fn fortran_status(given: Addr) -> Addr {
    fortran::status(given)
}

/// Returns Fortran's argument for a buffer.
pub fn fortran_buffer(given: Addr) -> Addr {
    fortran::buffer(given)
}

/// Returns Fortran's argument for the weights of edges.
pub fn fortran_weights(given: Addr) -> Addr {
    fortran::weights(given)
}

/// Returns Fortran's argument for a buffer, in a descriptor.
pub fn fortran_base(given: Addr) -> Addr {
    fortran::descriptor::base(given)
}

/// Returns Fortran's argument for a text, in a descriptor: where it is, and its length.
pub fn fortran_text(given: Addr) -> (Addr, usize) {
    fortran::descriptor::text(given)
}

/// Returns the mounted rank in the world.
pub fn world() -> RelativeBase {
    let world = alone::mpi().world();
    RelativeBase { rank: world.messages.me(), peers: world.messages.ranks().size() }
}

/// Returns what the mounted rank is in a communicator; `None` if it is no member or the handle is none.
#[inline]
pub fn position(comm: usize) -> Option<RelativeBase> {
    let world = alone::mpi().world();
    let comm = world.objects.comms.get(comm).ok()?;
    let rank = comm.rank(world.messages.me());
    (rank < comm.size()).then(|| RelativeBase { rank, peers: comm.peers() })
}

/// Returns a communicator as the mounted rank sees it; `None` if the handle is none.
pub fn membership(handle: usize) -> Option<Membership> {
    let world = alone::mpi().world();
    let comm = world.objects.comms.get(handle).ok()?;
    let me = world.messages.me();
    let leader = if comm.is_self { me } else { comm.group.world_rank(0) };
    let remote = comm.remote.as_ref().map_or(leader, |remote| remote.world_rank(0));
    Some(Membership {
        context: comm.context,
        size: comm.size(),
        peers: comm.peers(),
        rank: comm.rank(me),
        leaders: (leader, remote),
        is_inter: comm.is_inter(),
    })
}

/// Returns `true` if memory is attached to a window and detached while it is there.
pub fn is_dynamic(window: usize) -> bool {
    let world = alone::mpi().world();
    world
        .objects
        .wins
        .get(&world.objects.comms, window)
        .is_ok_and(|window| window.flavor == mpi::win::Flavor::Dynamic)
}

/// Returns the context of a communicator.
pub fn context(comm: usize) -> Option<u32> {
    alone::mpi().world().objects.comms.get(comm).ok().map(|comm| comm.context)
}

/// Returns how many neighbours send to the mounted rank in a communicator, and how many it sends to.
pub fn neighbors(comm: usize) -> Option<(usize, usize)> {
    alone::mpi().neighbor_counts(comm).ok()
}

/// Returns how many dimensions the grid of a communicator has; `None` if it has no grid.
pub fn dimensions(comm: usize) -> Option<usize> {
    let world = alone::mpi().world();
    match world.objects.comms.get(comm).ok()?.topology.as_deref()? {
        Topology::Cart(cart) => Some(cart.ndims()),
        _ => None,
    }
}

/// Returns the size and the extent of a datatype.
pub fn datatype(handle: usize) -> Option<(u64, i64)> {
    alone::mpi().world().objects.types.get(handle).ok().map(|datatype| (datatype.size, datatype.extent()))
}

/// Returns the size of a datatype that the mounted rank may use; 0 where the handle is none.
pub fn size(handle: usize) -> u64 {
    let world = alone::mpi().world();
    let types = &world.objects.types;
    types
        .plain_size(handle)
        .or_else(|| types.usable(world.messages.me(), handle).ok().map(|kind| kind.size))
        .unwrap_or(0)
}

/// Returns the memory of so many elements; `None` if there is none.
pub fn region(at: usize, elements: u64, datatype: usize, touch: Touch) -> Option<Region> {
    region_of(&alone::mpi().world().objects, at, elements, datatype, touch)
}

/// [`region`], for who looks at the world already.
#[inline]
pub fn region_of(
    objects: &Objects,
    at: usize,
    elements: u64,
    datatype: usize,
    touch: Touch,
) -> Option<Region> {
    match objects.types.plain_size(datatype) {
        Some(size) => Region::plain(at, size.checked_mul(elements)?, touch),
        None => Region::of(at, elements, objects.types.get(datatype).ok()?, touch),
    }
}

/// Returns `true` if data cannot be at an address: `MPI_BOTTOM`, `MPI_IN_PLACE`.
pub fn is_no_memory(at: usize) -> bool {
    at < FIRST_MEMORY
}

/// Returns the world rank of a source in a communicator of the mounted rank.
pub fn source(comm: usize, source: i32) -> Option<u32> {
    let world = alone::mpi().world();
    world.objects.comms.get(comm).ok()?.peer(source, world.messages.me(), "source").ok()
}
