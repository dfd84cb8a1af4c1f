//! Agreements of the members on a new communicator.

use crate::agreement::{Contribution, Resolve};
use crate::brief::{Brief, Bring};
use crate::delivery::Delivery;
use crate::entrance::membership;
use crate::entrance::{EnteredCall, Entrance};
use crate::entry::Entry;
use crate::instance::InstanceScope;
use crate::mode::Mode;
use crate::signature::CallSignature;
use objects::error::Result;
use objects::group::Group;
use p2p::view::BufferView;
use schedule::{Blocks, Kind, Member, Shape};
use std::rc::Rc;

impl Entrance<'_> {
    fn agreement(
        &self,
        place: InstanceScope,
        (size, rank): (u32, u32),
        bytes: u64,
        agreement: (Contribution, Resolve),
        mode: Mode,
    ) -> Entry {
        let none: Rc<[u32]> = Rc::new([]);
        let function = self.messages.ranks().strand().function();
        Entry {
            place,
            signature: CallSignature {
                function,
                blocking: mode == Mode::Blocking,
                irregular: false,
                kind: Kind::Agree,
                root: None,
            },
            shape: Shape {
                kind: Kind::Agree,
                size,
                root: 0,
                irregular: false,
                bytes,
                // Its time is that of a dissemination of so many bytes among all, which is how libraries find
                // a free context; the contributions themselves travel beside it, at no cost.
                element: 1,
                commutative: true,
                sides: None,
                predefined: true,
                cartesian: false,
                node: self.messages.fabric().wire().node,
            },
            root_known: true,
            member: Member {
                rank,
                send: Blocks::Uniform(bytes),
                receive: Blocks::Uniform(bytes),
                sources: none.clone(),
                destinations: none,
            },
            output_bytes: 0,
            input: Vec::new(),
            reduction: None,
            delivery: Delivery::None,
            agreement: Some(agreement),
            blocking: mode == Mode::Blocking,
        }
    }
    /// Enters an agreement with the members of `comm` on a new communicator. `bytes` of each member's
    /// contribution cost time.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`; that members call something else.
    #[inline(never)]
    pub fn join_agreement(
        &mut self,
        comm: usize,
        bytes: u64,
        contribution: (Contribution, Resolve),
        mode: Mode,
    ) -> Result<EnteredCall> {
        let mut bring = Bring::Agreement(contribution.0, contribution.1);
        if mode == Mode::Blocking && self.may_gather() {
            let brief = Brief { bytes, ..Brief::of(Kind::Agree, mode, comm) };
            if let Some(part) =
                self.try_gathering(&brief, &BufferView::none(), BufferView::none(), &mut bring)?
            {
                return Ok(part);
            }
        }
        // Given back by a gathering that declined; contributions may be lists of edges, which are not worth a
        // copy.
        let Bring::Agreement(contribution, resolve) = bring else {
            unreachable!("only an agreement that was entered takes it")
        };
        let index = self.objects.comms.index(comm)?;
        let (size, rank, _) = membership(self.objects, index);
        let entry =
            self.agreement(InstanceScope::Comm(index), (size, rank), bytes, (contribution, resolve), mode);
        self.enter(entry)
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
        let size = group.size();
        let rank = group.rank_of(self.messages.me()).unwrap_or(0);
        let entry = self.agreement(
            InstanceScope::Group(key, group),
            (size, rank),
            bytes,
            contribution,
            Mode::Blocking,
        );
        self.enter(entry)
    }
}
