//! Readiness of a distributed collective: its processes find out that all members are in everywhere.
//!
//! Each tells the process of the first member when its own are in, with its part of a reduction in a tree;
//! that one tells all to go on. A process that says that it is ready tells how often members have had to go
//! on one by one, so that nobody counts it who has started since.

use crate::gathering::Gathering;
use crate::instance::Collectives;
use crate::membership::InstanceScope;
use crate::remote::kind::CollectiveRecordKind;
use crate::remote::readies::{Readies, Ready, ShapeDigest};
use crate::remote::spread::Ident;
use engine::record::{Put, Take};
use objects::Objects;
use p2p::Messages;
use schedule::Kind as Collective;
use schedule::Shape;
use schedule::data::partial::{Partial, ReductionTree};
use schedule::time::Clocks;

impl Collectives {
    /// Reports to the process of the first member that all members of this process are in, with what a
    /// reduction has here.
    pub(crate) fn ready_distributed(&mut self, messages: &mut Messages, objects: &mut Objects, index: u32) {
        if self.instance(index).agreement.is_some() {
            self.contribute(messages, objects, index);
        }
        let instance = self.instance(index);
        let ident = instance.ident.expect("members are elsewhere");
        let gathering = instance.gathering.as_deref().expect("gathered");
        let segments = gathering.distributed().segments.clone();
        let me = messages.peers().remote().expect("several processes").me;
        let (signature, ..) = instance.describe();
        let InstanceScope::Comm(comm) = instance.place else {
            unreachable!("groups of their own are not gathered")
        };
        let group = &objects.comms.at(comm).group;
        let own = segments.of_process(me);
        let clock = own
            .clone()
            .map(|member| messages.ranks()[group.world_rank(member)].clock.as_ps())
            .collect::<Clocks>()
            .equal();
        let ready = Ready {
            epoch: self.epoch,
            rank: instance.first_rank,
            function: signature.function,
            root: signature.root.unwrap_or(u32::MAX),
            shape: ShapeDigest::of(&instance.shape),
            clock,
            // A reduction's data goes along with the word that is sent anyway, and its result with the
            // answer: no round more than a barrier has.
            partials: if messages.payloads().are_carried() {
                self.reduce_own(&instance.shape, gathering, own)
            } else {
                Vec::new()
            },
        };
        let mut body = Vec::new();
        ident.put(&mut body);
        ready.put(&mut body);
        let leader = segments.process(0);
        if leader == me {
            self.ready_arrived(messages, objects, me, Take(&body));
        } else {
            messages.peers_mut().others().streams.put(leader, CollectiveRecordKind::Ready.kind(), &body);
        }
    }

    fn reduce_own(&self, shape: &Shape, gathering: &Gathering, own: std::ops::Range<u32>) -> Vec<Partial> {
        let Some(association) = self.association_of(shape) else { return Vec::new() };
        let mut tree = ReductionTree::new(
            gathering.kernel().expect("an operation of MPI's own"),
            association,
            shape.size,
        );
        tree.members(own, |member| gathering.contribution(shape, member));
        tree.finish()
    }

    /// Notes, on the process of the first member, that another process, or this one, is ready.
    pub(crate) fn ready_arrived(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        from: u32,
        mut record: Take,
    ) {
        let ident = Ident::take(&mut record);
        let ready = Ready::take(&mut record);
        let readies = self.spread.readies.entry(ident).or_default();
        // Who was ready in an earlier epoch has started event by event since, with all others, and will not
        // go this way.
        if ready.epoch < readies.epoch {
            return;
        }
        if ready.epoch > readies.epoch {
            // Who was ready before has started event by event since.
            *readies = Readies { epoch: ready.epoch, by_process: Vec::new() };
        }
        readies.by_process.push((from, ready));
        let arrived = readies.by_process.len();
        let Some(&index) = self.spread.instances.get(&ident) else { return };
        let Some(gathering) = &self.instance(index).gathering else { return };
        if arrived < gathering.distributed().segments.processes().count() {
            return;
        }
        let mut readies = self.spread.readies.remove(&ident).expect("found above").by_process;
        // Partials combine in the order of members, not of arrival: the bits of a floating-point sum depend
        // on it.
        readies.sort_by_key(|(process, _)| *process);
        self.all_ready(messages, objects, index, ident, readies);
    }

    fn all_ready(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        ident: Ident,
        readies: Vec<(u32, Ready)>,
    ) {
        let root = readies.iter().map(|(_, ready)| ready.root).find(|&root| root != u32::MAX);
        let first = &readies[0].1;
        let other = readies.iter().map(|(_, ready)| ready).find(|ready| {
            ready.shape != first.shape
                || ready.root != u32::MAX && Some(ready.root) != root
                || (ready.root == u32::MAX) != (first.root == u32::MAX)
        });
        if let Some(other) = other {
            self.differ(messages, objects, index, first, other);
        }
        let common = first.clock.filter(|_| readies.iter().all(|(_, ready)| ready.clock == first.clock));
        let processes: Vec<u32> = readies.iter().map(|(process, _)| *process).collect();
        let mut result = Vec::new();
        let instance = self.instance(index);
        let gathering = instance.gathering.as_deref().expect("gathered");
        if messages.payloads().are_carried()
            && let Some(association) = self.association_of(&instance.shape)
        {
            let mut tree = ReductionTree::new(
                gathering.kernel().expect("an operation of MPI's own"),
                association,
                instance.size,
            );
            tree.push_all(readies.into_iter().flat_map(|(_, ready)| ready.partials).collect());
            result = tree.result();
        }
        // Only the root's process has use for the result.
        let alone = (instance.shape.kind == Collective::Reduce)
            .then(|| gathering.distributed().segments.process(instance.shape.root));
        let mut body = Vec::new();
        ident.put(&mut body);
        body.u8(u8::from(common.is_some()));
        let short = body.len();
        body.extend_from_slice(&result);
        let remote = messages.peers_mut().others();
        for process in processes.into_iter().filter(|&process| process != remote.me) {
            let whole = alone.is_none_or(|root| root == process);
            remote.streams.put(
                process,
                CollectiveRecordKind::Go.kind(),
                if whole { &body } else { &body[..short] },
            );
        }
        self.go(messages, objects, index, common.is_some(), result);
    }

    fn differ(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        one: &Ready,
        other: &Ready,
    ) -> ! {
        let instance = self.instance(index);
        let (signature, ..) = instance.describe();
        let describe = |ready: &Ready| {
            let signature = crate::signature::CallSignature {
                function: ready.function,
                root: (ready.root != u32::MAX).then_some(ready.root),
                kind: Collective::ALL[ready.shape.kind as usize],
                ..signature
            };
            let shape = Shape {
                kind: signature.kind,
                bytes: ready.shape.bytes,
                element: ready.shape.element,
                predefined: ready.shape.flags & 2 != 0,
                ..instance.shape.clone()
            };
            format!(
                "rank {} of MPI_COMM_WORLD called {} with {}",
                ready.rank,
                signature.describe(messages.ranks().names()),
                shape.describe()
            )
        };
        let text = format!(
            "mismatched collectives on {}: {}, {}; all members must call the same collectives in the same \
             order with matching arguments",
            objects.comms.describe(objects::comm::Comms::handle(instance.comm())),
            describe(one),
            describe(other)
        );
        messages.peers_mut().fail(&text)
    }

    pub(crate) fn go_arrived(&mut self, messages: &mut Messages, objects: &Objects, mut record: Take) {
        let ident = Ident::take(&mut record);
        let common = record.u8() != 0;
        let index = *self.spread.instances.get(&ident).expect("its members are in");
        self.go(messages, objects, index, common, record.0.to_vec());
    }

    /// A member has entered an instance as an agent: whether it waits for the members of all processes, to
    /// pass the rounds with them. Processes may decide differently: who goes on event by event makes the
    /// others do so.
    // The first member decides for the process, and only a fresh instance can wait: what has been sent cannot
    // be taken back.
    pub(crate) fn hold_agent(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        index: u32,
        member: u32,
    ) -> bool {
        let instance = self.instance(index);
        if instance.gathering.is_none() {
            let Some(distributed) = self.distributed_agents(messages, objects, index, member) else {
                return false;
            };
            let own = distributed.segments.of_process(messages.peers_mut().others().me);
            let gathering = Gathering::of_agents(own.start, own.end - own.start, distributed);
            self.instance_mut(index).gathering = Some(Box::new(gathering));
            self.hold(index);
        }
        let clock = messages.ranks()[messages.me()].clock;
        let instance = self.instance_mut(index);
        instance.gathering.as_mut().expect("found or made above").join(member, clock, instance.arrived == 1);
        if instance.arrived == instance.here {
            self.ready_distributed(messages, objects, index);
        }
        true
    }
}
