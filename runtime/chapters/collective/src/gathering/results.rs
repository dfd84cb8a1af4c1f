//! Results that a collective makes of its members' contributions, all at once.

use crate::gathering::varied::reduce_scatter::blocks;
use crate::gathering::{Data, Gathering};
use schedule::data::steps::{DataPlane, Rows};
use schedule::data::{association, movement};
use schedule::segments::ProcessSegment;
use schedule::{Kind, Member, Members, Schedule, Shape};
use std::rc::Rc;

/// Members of a reduction; `begins` says where blocks begin of which each keeps its own.
pub(crate) struct ReductionLayout<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) begins: Option<&'a Rc<[u64]>>,
}

impl Members for ReductionLayout<'_> {
    fn prototype(&self) -> Member {
        self.shape.prototype()
    }
    fn describe(&self, member: &mut Member) {
        if let Some(begins) = self.begins {
            (member.send, member.receive) = blocks(begins, member.rank);
        }
    }
    fn output(&self, rank: u32) -> u64 {
        match self.begins {
            Some(begins) => begins[rank as usize + 1] - begins[rank as usize],
            None => self.shape.output(rank),
        }
    }
}

impl Gathering {
    /// Turns contributions into results; false, and nothing has changed, if members contradict each other.
    pub(crate) fn complete(&mut self, shape: &Shape, schedule: &Rc<dyn Schedule>) -> bool {
        if let Some(varied) = &mut self.varied {
            let fits = varied.fits();
            if !fits || !varied.is_reduced() {
                return fits;
            }
        }
        match shape.kind {
            // Nothing to compute: contributions lie as their results do.
            Kind::Barrier | Kind::Agree | Kind::Bcast | Kind::Scatter | Kind::Gather | Kind::Allgather => {
                true
            }
            Kind::Alltoall => {
                if let Data::Each(data, _) = &mut self.data {
                    movement::transpose(data, shape.size as usize, shape.bytes as usize);
                }
                true
            }
            _ => self.reduce(shape, schedule),
        }
    }

    fn reduce(&mut self, shape: &Shape, schedule: &Rc<dyn Schedule>) -> bool {
        let Some(kernel) = self.kernel() else { return false };
        let Data::Each(data, stride) = &mut self.data else { return true };
        // Members' operands are folded in the order in which the algorithm's messages would combine them: the
        // bits are those of its steps, at a fraction of their cost, and all members get one copy.
        if let Some(association) = schedule.association() {
            self.data = Data::One(association::reduce(association, data, *stride, kernel));
            return true;
        }
        let (input, stride) = (Rows::even(std::mem::take(data), *stride), *stride);
        let begins = self.varied.as_ref().and_then(|varied| varied.begins()).cloned();
        let members = ReductionLayout { shape, begins: begins.as_ref() };
        let mut plane = DataPlane::new(ProcessSegment::whole(shape.size), schedule.clone(), &members, input);
        plane.advance(&members, &mut |_, left, right| kernel(left, right), &mut Vec::new());
        let fits = plane.faults().is_empty();
        let (output, input) = plane.into_rows();
        match fits {
            true => self.take_results(shape, output),
            false => self.data = Data::Each(input.into_bytes(), stride),
        }
        fits
    }

    /// Stores the results of a reduction that took the data pass, by member. In a reduction to a root only
    /// the root has one.
    pub(crate) fn take_results(&mut self, shape: &Shape, results: Rows) {
        let (results, stride) = (results.into_bytes(), shape.block() as usize);
        self.data = match shape.kind {
            _ if results.is_empty() => Data::Nothing,
            Kind::Reduce => Data::One(results),
            _ => Data::Each(results, stride),
        };
    }
}
