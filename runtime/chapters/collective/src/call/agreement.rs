//! Agreements of the members on a new communicator.

use crate::agreement::{Contribution, Resolve};
use crate::arguments::{Beside, CallArguments, CallMemory};
use crate::delivery::Delivery;
use crate::entrance::{EnteredCall, Entrance};
use crate::entry::Entry;
use crate::membership::{CallMembership, InstanceScope};
use crate::mode::Mode;
use crate::signature::CallSignature;
use objects::error::Result;
use objects::group::Group;
use schedule::{Blocks, Kind, Member, Shape};
use std::rc::Rc;

impl Entrance<'_> {
    /// Enters an agreement with the members of `comm` on a new communicator. `bytes` of each member's
    /// contribution cost time.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`; that members call something else.
    // Its time is that of a dissemination of so many bytes among all, which is how libraries find a free
    // context; the contributions themselves travel beside it, at no cost.
    #[inline(never)]
    pub fn join_agreement(
        &mut self,
        comm: usize,
        bytes: u64,
        (contribution, resolve): (Contribution, Resolve),
        mode: Mode,
    ) -> Result<EnteredCall> {
        let place = CallMembership::of(self.objects, comm)?;
        let sides = [Blocks::Uniform(bytes), Blocks::Uniform(bytes)].map(CallMemory::lengths);
        let mut call = CallArguments::of(Kind::Agree, mode, place, sides.into());
        call.brief.bytes = bytes;
        (call.beside, call.gathers) = (Beside::Agreement(contribution, resolve), mode == Mode::Blocking);
        self.make(&mut call)
    }

    /// Behaves as [`Entrance::join_agreement`], among the members of a group, who find each other by `key`.
    ///
    /// # Errors
    /// That members call something else.
    #[inline(never)]
    pub fn join_group(
        &mut self,
        group: Rc<Group>,
        key: (u32, i32, u32),
        bytes: u64,
        contribution: (Contribution, Resolve),
    ) -> Result<EnteredCall> {
        let (kind, size) = (Kind::Agree, group.size());
        let rank = group.rank_of(self.messages.me()).unwrap_or(0);
        let function = self.messages.ranks().strand().function();
        let (send, receive) = (Blocks::Uniform(bytes), Blocks::Uniform(bytes));
        let (sources, destinations) = Default::default();
        self.enter(Entry {
            place: InstanceScope::Group(key, group),
            signature: CallSignature { function, blocking: true, irregular: false, kind, root: None },
            shape: Shape { node: self.messages.fabric().wire().node, ..Shape::regular(kind, size, bytes, 1) },
            root_known: true,
            member: Member { rank, send, receive, sources, destinations },
            output_bytes: 0,
            input: Vec::new(),
            reduction: None,
            delivery: Delivery::None,
            agreement: Some(contribution),
            blocking: true,
        })
    }
}
