//! Collectives that reduce (MPI 5.0 sections 6.9 to 6.11).

use super::Beside;
use crate::area::area;
use crate::area::{Area, BufferArgument, IN_PLACE, MemberElements};
use crate::brief::{Brief, Bring};
use crate::entrance::{EnteredCall, Entrance};
use crate::mode::Mode;
use crate::reduction::reduction;
use objects::error::{ErrorClass, Failure, Result};
use p2p::point_to_point::view;
use p2p::request::PROC_NULL;
use p2p::view::BufferView;
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
        if send == IN_PLACE {
            self.may_be_in_place(root, comm)?;
        }
        let from = if send == IN_PLACE { receive } else { send };
        let all_receive = matches!(kind, Kind::Allreduce | Kind::Scan);
        let (is_root, inter) = match root {
            Some(root) => {
                let (is_root, _, _, inter) = self.rooted(comm, root)?;
                (is_root, inter)
            }
            None => {
                if matches!(kind, Kind::Scan | Kind::Exscan) && self.objects.comms.get(comm)?.is_inter() {
                    let why = "the communicator is an intercommunicator, where this reduction is not \
                        defined; pass an intracommunicator";
                    return Err(Failure::new(ErrorClass::COMM, why));
                }
                (true, false)
            }
        };
        // The result of an exclusive scan is undefined at rank 0 (MPI 5.0 section 6.11.2): its buffer is not
        // touched.
        let first = kind == Kind::Exscan && self.objects.comms.get(comm)?.rank(self.messages.me()) == 0;
        let brief = Brief { root, reduction: Some((op, datatype)), ..Brief::of(kind, mode, comm) };
        if !inter && self.may_gather() {
            let source = view(self.objects, (from, count, datatype))?;
            let target = if is_root && !first {
                view(self.objects, (receive, count, datatype))?
            } else {
                BufferView::none()
            };
            let brief = Brief { bytes: source.bytes, ..brief };
            if let Some(part) = self.join_gathering(&brief, &source, &target)? {
                if all_receive && mode == Mode::Blocking && source.layout.is_none() && source.bytes != 0 {
                    // So the next member's call with these arguments need not have its operation and datatype
                    // looked up (`joins_again`).
                    self.note_elements((count, datatype, op));
                }
                return Ok(part);
            }
        }
        let outside = inter && root == Some(PROC_NULL);
        let beside = match reduction(self.messages, self.objects, op, datatype) {
            // Operation and datatype of one that takes no part have no meaning.
            Err(_) if outside => Beside::Nothing,
            reduction => Beside::Reduction(reduction?),
        };
        let buffer = |at| BufferArgument::One((at, count, datatype));
        // In an intercommunicator the root only receives, and its group's others do nothing (MPI 5.0 section
        // 6.2.3).
        let silent = outside || inter && is_root;
        let source = if silent { Area::none() } else { area(self.objects, &buffer(from), 1)? };
        let gets = is_root && !outside;
        let mut target =
            if gets { area(self.objects, &buffer(receive), 1)? } else { Area::opposite(&source) };
        if first {
            target.views.clear();
        }
        let brief = Brief { bytes: source.bytes.max(target.bytes), ..brief };
        self.general(&brief, beside, source, target)
    }

    /// Enters a reduction of which each keeps a block of its own size, if it may gather: its first half.
    fn gather_reduce_scatter(
        &mut self,
        source: &BufferView,
        counts: &[i64],
        (op, datatype): (usize, usize),
        comm: usize,
    ) -> Result<Option<EnteredCall>> {
        let size = self.objects.types.get(datatype)?.size;
        let begins: Vec<u64> = begins(counts.iter().map(|&count| count as u64 * size)).collect();
        let brief = Brief {
            irregular: true,
            bytes: source.bytes,
            reduction: Some((op, datatype)),
            ..Brief::of(Kind::ReduceScatter, Mode::Blocking, comm)
        };
        self.try_gathering(&brief, source, BufferView::none(), &mut Bring::Begins(&begins))
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
        let (members, me, holds) = self.members(comm)?;
        // With overflow looked for: each count is valid, their sum need not be.
        let (total, own) = match counts {
            MemberElements::Same(count) => (count.checked_mul(i64::from(members)), count),
            MemberElements::Each(counts) => {
                (counts.iter().try_fold(0i64, |sum, &count| sum.checked_add(count)), counts[me as usize])
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
        let brief = Brief { reduction: Some((op, datatype)), ..Brief::of(Kind::ReduceScatter, mode, comm) };
        if holds
            && mode == Mode::Entering
            && let MemberElements::Each(counts) = counts
        {
            let source = view(self.objects, (from, total, datatype))?;
            if let Some(part) = self.gather_reduce_scatter(&source, counts, (op, datatype), comm)? {
                return Ok(part);
            }
        }
        if holds && let MemberElements::Same(count) = counts {
            let source = view(self.objects, (from, total, datatype))?;
            let target = view(self.objects, (receive, count, datatype))?;
            if let Some(part) =
                self.join_gathering(&Brief { bytes: source.bytes, ..brief }, &source, &target)?
            {
                return Ok(part);
            }
        }
        let reduction = reduction(self.messages, self.objects, op, datatype)?;
        let mut source = area(self.objects, &BufferArgument::One((from, total, datatype)), 1)?;
        let size = self.objects.types.get(datatype)?.size;
        source.blocks = match counts {
            MemberElements::Same(count) => Blocks::Uniform(count as u64 * size),
            MemberElements::Each(counts) => {
                Blocks::Each(begins(counts.iter().map(|&count| count as u64 * size)).collect())
            }
        };
        let target = area(self.objects, &BufferArgument::One((receive, own, datatype)), 1)?;
        let brief =
            Brief { irregular: matches!(counts, MemberElements::Each(_)), bytes: source.bytes, ..brief };
        self.general(&brief, Beside::Reduction(reduction), source, target)
    }
}
