//! Reductions with functions of the program whose members are all here. They run in the data plane as others
//! do, but the main loop calls the functions: each may run only while its own rank is mounted, and the last
//! member that enters is still running.

use crate::gathering::Data;
use crate::gathering::results::ReductionLayout;
use crate::instance::Collectives;
use crate::membership::group_of;
use crate::reduction::MemberReductions;
use objects::Objects;
use objects::group::Group;
use p2p::Messages;
use schedule::data::steps::{DataPlane, Rows};
use schedule::segments::ProcessSegment;
use schedule::{Schedule, Shape};
use std::rc::Rc;

/// A reduction whose members are all in.
// Taken out of the instance whole, so that nothing of the world is borrowed while the program's functions
// run: they may call MPI's `MPI_Type_size` and the like.
pub(crate) struct FunctionWork {
    index: u32,
    shape: Shape,
    schedule: Rc<dyn Schedule>,
    group: Rc<Group>,
    functions: MemberReductions,
    input: Vec<u8>,
    stride: usize,
    /// Offsets at which blocks begin, where each member keeps a block of its own.
    begins: Option<Rc<[u64]>>,
    results: Option<Rows>,
}

impl FunctionWork {
    /// Calls the functions: `mounted` runs something while a rank (world number) is mounted.
    pub(crate) fn run(&mut self, mounted: &mut dyn FnMut(u32, &mut dyn FnMut())) {
        let (functions, group) = (&self.functions, &self.group);
        let mut combine = |member: u32, left: &[u8], right: &mut Vec<u8>| {
            if let Some(reduction) = functions.get(member) {
                mounted(group.world_rank(member), &mut || reduction.call(left, right));
            }
        };
        let members = ReductionLayout { shape: &self.shape, begins: self.begins.as_ref() };
        let input = Rows::even(std::mem::take(&mut self.input), self.stride);
        let mut plane =
            DataPlane::new(ProcessSegment::whole(self.shape.size), self.schedule.clone(), &members, input);
        plane.advance(&members, &mut combine, &mut Vec::new());
        let fits = plane.faults().is_empty();
        let (output, input) = plane.into_rows();
        self.input = input.into_bytes();
        // All or nothing: results of which some members' steps did not fit are thrown away, and the
        // contributions are still there.
        self.results = fits.then_some(output);
    }
}

impl Collectives {
    /// Takes the next reduction with functions that waits for the main loop.
    pub(crate) fn next_functions(&mut self, objects: &Objects) -> Option<FunctionWork> {
        loop {
            let index = self.functions.pop_front()?;
            let schedule = schedule::choose::choose(&self.instance(index).shape, &self.policy);
            let instance = self.instance_mut(index);
            let shape = instance.shape.clone();
            let Some(gathering) = &mut instance.gathering else { continue };
            let functions = gathering.functions.take().expect("a reduction with functions");
            let (input, stride) = match std::mem::replace(&mut gathering.data, Data::Nothing) {
                Data::Each(input, stride) => (input, stride),
                _ => (Vec::new(), 0),
            };
            let begins = gathering.varied.as_ref().and_then(|varied| varied.begins()).cloned();
            let place = instance.place.clone();
            let group = group_of(objects, &place);
            return Some(FunctionWork {
                index,
                shape,
                schedule,
                group,
                functions: *functions,
                input,
                stride,
                begins,
                results: None,
            });
        }
    }

    /// Lets the members leave: the functions have been called.
    pub(crate) fn functions_called(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        work: FunctionWork,
    ) {
        let mut gathering = self.instance_mut(work.index).gathering.take().expect("it is gathered");
        let Some(results) = work.results else {
            // The steps do not fit together: event by event, who is wrong is told so.
            gathering.data = Data::Each(work.input, work.stride);
            gathering.functions = Some(Box::new(work.functions));
            self.instance_mut(work.index).gathering = Some(gathering);
            self.expand(messages, objects, work.index);
            self.start_instance(messages, objects, work.index);
            return;
        };
        gathering.take_results(&work.shape, results);
        self.pass_through(messages, objects, work.index, gathering, work.schedule);
    }
}
