//! Making windows (MPI 5.0 section 12.2): all members agree, the last to enter makes the object and a
//! communicator of its own for it.

use collective::agreement::{AgreedHandles, Contribution, Contributions};
use collective::bridges::Bridges;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use objects::win::{Exposed, Flavor, Units, WIN_NULL, Win};
use p2p::Messages;

/// The members' memory and displacement units.
type Parts = (Vec<Exposed>, Vec<i64>);

fn parts(contributions: &Contributions) -> Parts {
    let part = |contribution: &Contribution| match *contribution {
        Contribution::Window(base, size, unit) => (Exposed { base: base as usize, size }, unit),
        _ => (Exposed { base: 0, size: 0 }, 1),
    };
    contributions.iter().map(|(.., contribution)| part(contribution)).unzip()
}

fn make(
    objects: &mut Objects,
    comm: u32,
    flavor: Flavor,
    owner: u32,
    (exposed, units): Parts,
) -> Result<AgreedHandles> {
    let communicator = objects.comms.at(comm);
    let is_self = communicator.is_self;
    let group = communicator.group.clone();
    let comm = if is_self { objects.comms.make_self(None) } else { objects.comms.make(group, None, None) };
    if comm == objects::handle::COMM_NULL {
        return Ok(AgreedHandles::Same(WIN_NULL));
    }
    let win = Win {
        comm,
        flavor,
        exposed: exposed.into(),
        units: Units::of(units.iter().copied()),
        owner: is_self.then_some(owner),
    };
    Ok(AgreedHandles::Same(objects.wins.make(&objects.comms, win)?))
}

macro_rules! flavors {
    ($($name:ident $flavor:ident;)*) => { $(
        pub(super) fn $name(
            _: &mut Bridges, _: &Messages, objects: &mut Objects, comm: u32, contributions: Contributions
        ) -> Result<AgreedHandles> {
            let owner = contributions[0].1;
            make(objects, comm, Flavor::$flavor, owner, parts(&contributions))
        }
    )* };
}
flavors! {
    create Create;
    allocate Allocate;
    dynamic Dynamic;
}

/// One piece of memory for all members, each of whom has its part behind that of the rank before it.
// One piece for all members, in the order of ranks, as `MPI_Win_allocate_shared` lays it out unless told
// otherwise (MPI 5.0 section 12.2.3).
pub(super) fn shared(
    _: &mut Bridges,
    messages: &Messages,
    objects: &mut Objects,
    comm: u32,
    contributions: Contributions,
) -> Result<AgreedHandles> {
    let owner = contributions[0].1;
    // Lengths alone lie nowhere, and so on whatever process.
    if !messages.payloads().are_carried() {
        return make(objects, comm, Flavor::Shared, owner, parts(&contributions));
    }
    if let Some((_, far, _)) = contributions.iter().find(|(_, rank, _)| !messages.ranks().is_local(*rank)) {
        return Err(Failure::new(
            ErrorClass::RMA_SHARED,
            format!(
                "rank {far} of MPI_COMM_WORLD is on another process of this run, so that its memory cannot \
                 be shared: use a communicator of MPI_Comm_split_type with MPI_COMM_TYPE_SHARED, and \
                 processes that do not cut the nodes of the machine"
            ),
        ));
    }
    let (mut exposed, units) = parts(&contributions);
    let bytes = exposed.iter().try_fold(0u64, |sum, part| sum.checked_add(part.size)).unwrap_or(u64::MAX);
    let Some(memory) = rank::heap::allocate(usize::try_from(bytes).unwrap_or(usize::MAX)) else {
        return Err(Failure::new(
            ErrorClass::NO_MEM,
            format!("there is no memory for the {bytes} bytes of the window's members together"),
        ));
    };
    let mut at = memory.0;
    for part in &mut exposed {
        part.base = at;
        at += part.size as usize;
    }
    make(objects, comm, Flavor::Shared, owner, (exposed, units))
}
