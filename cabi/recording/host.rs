//! Meanings of handles, statuses and communicators in the simulated world.

use crate::alone;
use crate::args::{CText, StatusPointer};
use crate::fortran;
use call_recording::Host;
use call_recording::objects::{Membership, RelativeBase};
use call_recording::parameter::RecordedParameter;
use mpi::Objects;
use mpi::handle::REQUEST_SENT;
use mpi::point_to_point::FIRST_MEMORY;
use mpi::regions::Region;
use mpi::topology::Topology;
use rank::Addr;
use rank::memory::load;
use recorder::{Class, RecordedStatus, Touch};

/// The simulated world.
pub struct SimulatedMpi;

impl Host for SimulatedMpi {
    const STATUS: usize = 32;

    fn status(at: Addr, k: usize) -> RecordedStatus {
        let status = StatusPointer(at.offset((Self::STATUS * k) as i64)).get();
        RecordedStatus {
            source: status.source,
            tag: status.tag,
            bytes: status.bytes,
            cancelled: status.cancelled,
        }
    }

    fn handle(_: Option<Class>, at: Addr, k: usize) -> usize {
        load(at.offset(8 * k as i64))
    }

    fn number(_: &RecordedParameter, number: i32) -> i32 {
        number
    }

    fn distinct(request: usize) -> Option<usize> {
        (request == REQUEST_SENT).then(|| alone::mpi().distinct_sent())
    }

    #[inline(always)]
    fn forget(_: Class, _: usize) {}

    fn text(at: Addr) -> Vec<u8> {
        CText(at).bytes()
    }

    fn fortran_status(given: Addr) -> Addr {
        fortran::status(given)
    }

    fn fortran_buffer(given: Addr) -> Addr {
        fortran::buffer(given)
    }

    fn fortran_weights(given: Addr) -> Addr {
        fortran::weights(given)
    }

    fn fortran_base(given: Addr) -> Addr {
        fortran::descriptor::base(given)
    }

    fn fortran_text(given: Addr) -> (Addr, usize) {
        fortran::descriptor::text(given)
    }

    fn world() -> RelativeBase {
        let world = alone::mpi().world();
        RelativeBase { rank: world.messages.me(), peers: world.messages.ranks().size() }
    }

    #[inline]
    fn position(comm: usize) -> Option<RelativeBase> {
        let world = alone::mpi().world();
        let comm = world.objects.comms.get(comm).ok()?;
        let rank = comm.rank(world.messages.me());
        (rank < comm.size()).then(|| RelativeBase { rank, peers: comm.peers() })
    }

    fn membership(handle: usize) -> Option<Membership> {
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

    fn is_dynamic(window: usize) -> bool {
        let world = alone::mpi().world();
        world
            .objects
            .wins
            .get(&world.objects.comms, window)
            .is_ok_and(|window| window.flavor == mpi::win::Flavor::Dynamic)
    }

    fn context(comm: usize) -> Option<u32> {
        alone::mpi().world().objects.comms.get(comm).ok().map(|comm| comm.context)
    }

    fn neighbors(comm: usize) -> Option<(usize, usize)> {
        alone::mpi().neighbor_counts(comm).ok()
    }

    fn dimensions(comm: usize) -> Option<usize> {
        let world = alone::mpi().world();
        match world.objects.comms.get(comm).ok()?.topology.as_deref()? {
            Topology::Cart(cart) => Some(cart.ndims()),
            _ => None,
        }
    }

    fn datatype(handle: usize) -> Option<(u64, i64)> {
        alone::mpi().world().objects.types.get(handle).ok().map(|datatype| (datatype.size, datatype.extent()))
    }

    fn members(group: usize) -> Option<Vec<i32>> {
        let world = alone::mpi().world();
        let group = world.objects.groups.get(world.messages.me(), group).ok()?;
        Some(group.iter().map(|rank| rank as i32).collect())
    }

    fn file_size(file: usize) -> Option<i64> {
        alone::mpi().files(|files, _, objects| files.size(objects, file)).ok().map(|size| size as i64)
    }

    fn opened_size(file: usize) -> Option<i64> {
        let world = alone::mpi().world();
        world.objects.files.get(&world.objects.comms, file).ok().map(|file| file.size as i64)
    }

    fn source(comm: usize, source: i32) -> Option<u32> {
        let world = alone::mpi().world();
        world.objects.comms.get(comm).ok()?.peer(source, world.messages.me(), "source").ok()
    }
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
