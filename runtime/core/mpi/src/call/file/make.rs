//! Opening files (MPI 5.0 section 14.2.1): all members agree; the object has a communicator of its own.

use collective::agreement::{AgreedHandles, Contribution, Contributions};
use collective::bridges::Bridges;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use objects::file::File;
use p2p::Messages;

/// Makes the file that the first member could open.
pub(super) fn open(
    _: &mut Bridges,
    _: &Messages,
    objects: &mut Objects,
    comm: u32,
    contributions: Contributions,
) -> Result<AgreedHandles> {
    let (_, home, first) = &contributions[0];
    let Contribution::File(amode, opened) = first else {
        return Err(Failure::new(ErrorClass::INTERN, "the first member of a file brought no file"));
    };
    let (name, size) = match &**opened {
        Ok((name, size)) => (name.clone(), *size),
        Err((class, why)) => return Err(Failure::new(ErrorClass(*class), &**why)),
    };
    let differs =
        |contribution: &Contribution| !matches!(contribution, Contribution::File(other, _) if other == amode);
    if let Some((member, ..)) = contributions.iter().find(|(.., contribution)| differs(contribution)) {
        let text = format!(
            "rank {member} of the communicator opens the file with another amode than rank 0: all must give \
             the same"
        );
        return Err(Failure::new(ErrorClass::NOT_SAME, text));
    }
    let communicator = objects.comms.at(comm);
    let (is_self, group) = (communicator.is_self, communicator.group.clone());
    let comm = if is_self { objects.comms.make_self(None) } else { objects.comms.make(group, None, None) };
    if comm == objects::handle::COMM_NULL {
        return Ok(AgreedHandles::Same(objects::file::FILE_NULL));
    }
    let file = File {
        comm,
        amode: *amode,
        name: (*name).into(),
        size,
        home: *home,
        owner: is_self.then_some(*home),
    };
    Ok(AgreedHandles::Same(objects.files.make(&objects.comms, file)?))
}
