//! Collectives as a chapter of MPI: what the main loop, requests, other processes and a deadlock's report ask
//! of them.

use crate::functions::FunctionWork;
use crate::instance::Collectives;
use crate::membership::InstanceScope;
use crate::reduction::UserReduction;
use crate::report;
use engine::Time;
use engine::record::Take;
use objects::Objects;
use objects::error::{FailureScope, Result};
use p2p::Messages;
use p2p::chapter::id::Token;
use p2p::chapter::{Chapter, Errand, Explanation, Wait};
use p2p::request::{RequestArray, Status};
use std::any::Any;

/// Reduction work that needs functions of the program.
enum ReductionWork {
    /// One step of a member that goes on event by event.
    Step(UserReduction),
    /// All of a reduction whose members are in.
    Whole(FunctionWork),
}

impl Errand for ReductionWork {
    fn run(&mut self, mounted: &mut dyn FnMut(u32, &mut dyn FnMut())) {
        match self {
            ReductionWork::Step(step) => mounted(step.rank, &mut || step.run()),
            ReductionWork::Whole(work) => work.run(mounted),
        }
    }
}

// Members go on by arrivals of messages whose times are known: nothing of a collective is an open decision.
impl Chapter for Collectives {
    #[inline]
    fn has_work(&self) -> bool {
        self.has_movable()
    }
    // Agents before functions: those may need the answer of one that is waited for already, and functions
    // need a switch each.
    fn work(&mut self, messages: &mut Messages, objects: &Objects) -> Option<Box<dyn Errand>> {
        self.run_agents(messages, objects);
        let work = match self.user.take() {
            Some(step) => Some(ReductionWork::Step(step)),
            None => self.next_functions(objects).map(ReductionWork::Whole),
        };
        work.map(|work| Box::new(work) as Box<dyn Errand>)
    }
    fn done(&mut self, messages: &mut Messages, objects: &Objects, errand: Box<dyn Errand>) {
        match (errand as Box<dyn Any>).downcast::<ReductionWork>().map(|work| *work) {
            Ok(ReductionWork::Step(step)) => self.user_reduced(step),
            Ok(ReductionWork::Whole(work)) => self.functions_called(messages, objects, work),
            Err(_) => unreachable!("an errand comes back to the chapter that gave it"),
        }
    }
    fn holds(&self) -> bool {
        self.has_held()
    }
    fn start_held(&mut self, messages: &mut Messages, objects: &Objects, agreed: bool) -> bool {
        // Processes count what they started together, so that a word of readiness from before is known to be
        // out of date (`remote/ready.rs`).
        self.epoch += u64::from(agreed);
        self.start_all_held(messages, objects)
    }
    fn asked(&mut self, messages: &mut Messages, objects: &Objects, requests: RequestArray) {
        self.start_tested(messages, objects, requests);
    }
    fn deliver(&mut self, objects: &Objects, [instance, member]: Token) {
        self.deliver_collective(objects, instance, member);
    }
    fn finish(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        [instance, member]: Token,
    ) -> Result<Status> {
        let scope = match self.instance(instance).place {
            InstanceScope::Comm(comm) => Some(FailureScope::Comm(comm)),
            _ => None,
        };
        let finished = self.finish_collective(messages, objects, instance, member);
        finished.map(|_| Status::EMPTY).map_err(|failure| failure.within(scope))
    }
    fn landed(&mut self, [instance, to, from, round]: [u32; 4], at: Time) {
        self.collective_arrival(instance, to, from, round, at);
    }
    fn record(&mut self, messages: &mut Messages, objects: &mut Objects, from: u32, kind: u8, record: Take) {
        self.record_arrived(messages, objects, from, kind, record);
    }
    fn starting(&mut self, start: Option<(u32, u32)>) {
        self.starting = start;
    }
    fn needs_comm(&self, comm: u32) -> bool {
        self.calls.are_open(comm)
    }
    fn forget_comm(&mut self, comm: u32) {
        self.calls.forget(comm);
    }
    fn wait_of(
        &self,
        messages: &Messages,
        objects: &Objects,
        rank: u32,
        token: Option<Token>,
    ) -> Option<Wait> {
        let _ = messages;
        let instance = match token {
            Some([instance, _]) => instance,
            None => self.waiting_instance(objects, rank)?,
        };
        Some(report::wait_for(self.instance(instance), objects))
    }
    fn open(&self, messages: &Messages, objects: &Objects) -> Vec<u8> {
        report::open(self, messages, objects)
    }
    fn explain(&self, told: &[Vec<u8>]) -> Explanation {
        report::explain(told)
    }
}
