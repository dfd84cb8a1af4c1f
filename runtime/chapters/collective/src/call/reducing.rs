//! Collectives that reduce (MPI 5.0 sections 6.9 to 6.11).

use crate::area::{IN_PLACE, MemberElements};
use crate::arguments::{CallArguments, CallMemory};
use crate::entrance::{EnteredCall, Entrance};
use crate::membership::CallMembership;
use crate::mode::Mode;
use objects::error::{ErrorClass, Failure, Result};
use p2p::point_to_point::view;
use rank::Addr;
use schedule::{Blocks, Kind, begins};

impl Entrance<'_> {
    /// Checks that the mounted rank may reduce in place.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` for a rank that is not the root, and in an intercommunicator, where the data of a
    /// group goes to the other (MPI 5.0 sections 6.2.3 and 6.9.1).
    #[cold]
    fn may_be_in_place(&self, root: Option<i32>, comm: usize) -> Result {
        let communicator = self.objects.comms.get(comm)?;
        let why = match root {
            // A root only receives, and the others of its group do nothing: what they name as a send buffer
            // is ignored.
            Some(root) if communicator.is_inter() && root < 0 => return Ok(()),
            _ if communicator.is_inter() => {
                "an intercommunicator, where a rank cannot reduce in place; pass a send buffer".to_owned()
            }
            Some(root) if root >= 0 && root as u32 != communicator.rank(self.messages.me()) => {
                format!(
                    "rank {}, and the root is rank {root}: only the root may reduce in place; pass a send \
                     buffer elsewhere",
                    communicator.rank(self.messages.me())
                )
            }
            _ => return Ok(()),
        };
        Err(Failure::new(ErrorClass::BUFFER, format!("the send buffer is MPI_IN_PLACE at {why}")))
    }

    /// Enters the mounted rank into `MPI_Reduce`, `MPI_Allreduce`, `MPI_Scan` or `MPI_Exscan`.
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    pub fn join_reduction(
        &mut self,
        kind: Kind,
        send: Addr,
        receive: Addr,
        (count, datatype): (i64, usize),
        op: usize,
        root: Option<i32>,
        comm: usize,
        mode: Mode,
    ) -> Result<EnteredCall> {
        let mut place = CallMembership::of(self.objects, comm)?;
        if send == IN_PLACE {
            self.may_be_in_place(root, comm)?;
        }
        let from = if send == IN_PLACE { receive } else { send };
        let mut gets = true;
        if let Some(root) = root {
            place = place.with_root(root)?;
            gets = place.is_root;
        } else if matches!(kind, Kind::Scan | Kind::Exscan) && place.is_inter() {
            let why = "the communicator is an intercommunicator, where this reduction is not defined; pass \
                an intracommunicator";
            return Err(Failure::new(ErrorClass::COMM, why));
        }
        // In an intercommunicator the root only receives, and its group's others do nothing (MPI 5.0 section
        // 6.2.3).
        let is_silent = place.is_inter() && place.is_root || place.is_outside;
        let source = match is_silent {
            true => CallMemory::none(),
            false => CallMemory::block(view(self.objects, (from, count, datatype))?),
        };
        // The result of an exclusive scan is undefined at rank 0 (MPI 5.0 section 6.11.2): its buffer is not
        // touched.
        let target = if kind == Kind::Exscan && place.member == 0 {
            CallMemory::unseen(source.bytes())
        } else if gets {
            CallMemory::block(view(self.objects, (receive, count, datatype))?)
        } else {
            CallMemory::opposite(&source)
        };
        let mut call = CallArguments::of(kind, mode, place, (source, target));
        let bytes = call.send.bytes().max(call.receive.bytes());
        (call.brief.root, call.brief.bytes, call.brief.reduction) = (root, bytes, Some((op, datatype)));
        let is_even = call.send.as_view().is_some_and(|view| view.layout.is_none() && view.bytes != 0);
        if is_even && mode == Mode::Blocking && matches!(kind, Kind::Allreduce | Kind::Scan) {
            call.elements = Some((count, datatype, op));
        }
        self.make(&mut call)
    }

    /// Enters the mounted rank into `MPI_Reduce_scatter` or `MPI_Reduce_scatter_block`.
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    pub fn join_reduce_scatter(
        &mut self,
        send: Addr,
        receive: Addr,
        counts: MemberElements,
        datatype: usize,
        op: usize,
        comm: usize,
        mode: Mode,
    ) -> Result<EnteredCall> {
        let place = CallMembership::of(self.objects, comm)?;
        // Each member keeps a block of the ranks of its own group, of an intercommunicator as well.
        let members = self.objects.comms.at(place.comm).size();
        // With overflow looked for: each count is valid, their sum need not be.
        let (total, own) = match counts {
            MemberElements::Same(count) => (count.checked_mul(i64::from(members)), count),
            MemberElements::Each(counts) => {
                let total = counts.iter().try_fold(0i64, |sum, &count| sum.checked_add(count));
                (total, counts[place.rank as usize])
            }
        };
        let Some(total) = total else {
            return Err(Failure::new(
                ErrorClass::COUNT,
                format!("the counts of {members} members are beyond 2^63 elements together"),
            ));
        };
        if send == IN_PLACE {
            self.may_be_in_place(None, comm)?;
        }
        let from = if send == IN_PLACE { receive } else { send };
        let source = view(self.objects, (from, total, datatype))?;
        let size = self.objects.types.get(datatype)?.size;
        let (bytes, irregular) = (source.bytes, matches!(counts, MemberElements::Each(_)));
        let blocks = match counts {
            MemberElements::Same(count) => Blocks::Uniform(count as u64 * size),
            MemberElements::Each(counts) => {
                Blocks::Each(begins(counts.iter().map(|&count| count as u64 * size)).collect())
            }
        };
        let target = match mode == Mode::Entering {
            true => CallMemory::unseen(own as u64 * size),
            false => CallMemory::block(view(self.objects, (receive, own, datatype))?),
        };
        let sides = (CallMemory::One(source, blocks), target);
        let mut call = CallArguments::of(Kind::ReduceScatter, mode, place, sides);
        (call.brief.bytes, call.brief.irregular) = (bytes, irregular);
        call.brief.reduction = Some((op, datatype));
        // The blocks of an irregular one are read again by the second half of the call.
        call.gathers = !irregular || call.halved;
        self.make(&mut call)
    }
}
