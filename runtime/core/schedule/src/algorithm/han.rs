//! The compositions of Open MPI's han component (5.0.8, ompi/mca/coll/han, its defaults). Segments of 64 KiB
//! pass a stage in the nodes by the tuned component's tables, and one between nodes by the libnbc component's
//! rules (ompi/mca/coll/libnbc).

use std::rc::Rc;

use super::levels::{BufferStart, Build, INPUT, NodeLevels, OUTPUT, SCRATCH, StagePlan};
use super::parameters::Parameters;
use super::pipelined::{Pipelined, SegmentStage};
use super::staged::{GroupSchedule, StageMembers, Staged};
use super::{bcast, find, of, reduce, two_level};
use crate::{Buffer, Kind, Schedule, Shape, tuned};

const SEGMENT_BYTES: u64 = 65_536;
const NOTHING: BufferStart = (Buffer::Nothing, 0);

/// Returns `true` if there are two levels, the operation commutes and all nodes are full.
pub(super) fn supported_balanced(shape: &Shape) -> bool {
    two_level::supported_commutative(shape) && shape.size.is_multiple_of(shape.node)
}

/// Builds what the tuned component's tables say.
fn by_tables(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    let (name, fanout) = tuned::decide(shape, 1);
    let algorithm = find(shape.kind, name).filter(|algorithm| (algorithm.supports)(shape));
    let algorithm = algorithm.or_else(|| of(shape.kind).next()).expect("every kind has an algorithm");
    algorithm.schedule(shape, &Parameters { segment: 0, fanout })
}

/// Builds the broadcast of the libnbc component.
fn nonblocking_bcast(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let segment = if shape.bytes < 524_288 { 8192 } else { 32_768 };
    match shape.bytes {
        _ if shape.size <= 4 => bcast::linear(shape, parameters),
        0..65_536 => bcast::binomial(shape, parameters),
        _ => bcast::pipeline(shape, &Parameters { segment, fanout: 0 }),
    }
}

/// Builds the reduction of the libnbc component.
fn nonblocking_reduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    if shape.size > 2 && shape.elements() >= 1 << shape.size.ilog2() {
        reduce::rabenseifner(shape, parameters)
    } else if shape.size > 4 || shape.bytes < 65_536 {
        reduce::binomial(shape, parameters)
    } else {
        reduce::pipeline(shape, &Parameters { segment: 8192, fanout: 0 })
    }
}

/// A message in segments.
struct MessageSegments<'a> {
    shape: &'a Shape,
    parameters: &'a Parameters,
    /// Bytes of a segment, of whole elements.
    segment: u64,
}

impl<'a> MessageSegments<'a> {
    fn new(shape: &'a Shape, parameters: &'a Parameters) -> MessageSegments<'a> {
        let (segment, _) =
            Parameters { segment: SEGMENT_BYTES, fanout: 0 }.segments(shape.bytes, shape.element);
        MessageSegments { shape, parameters, segment: segment.min(shape.bytes) }
    }
    /// Returns a stage whose parts on a segment `parts` makes, given whether it is the first.
    fn stage(&self, lag: u32, parts: impl Fn(&NodeLevels, bool) -> Vec<GroupSchedule>) -> SegmentStage {
        let rest = (self.shape.bytes - 1) % self.segment + 1;
        let staged = |bytes: u64, first: bool| {
            let shape = Shape { bytes, ..self.shape.clone() };
            let levels = NodeLevels::new(&shape, self.parameters);
            Staged::new("segment", shape.size, self.shape.bytes).then(parts(&levels, first))
        };
        let (first, middle, last) =
            (staged(self.segment, true), staged(self.segment, false), staged(rest, false));
        SegmentStage { lag, first, middle, last }
    }
    fn finish(&self, stages: Vec<SegmentStage>) -> Rc<dyn Schedule> {
        Pipelined::schedule("han", self.shape.size, self.shape.bytes, self.segment, stages)
    }
}

/// Returns one stage between the members that have the root's place in their nodes.
fn between(
    levels: &NodeLevels,
    kind: Kind,
    build: Build,
    input: BufferStart,
    output: BufferStart,
) -> Vec<GroupSchedule> {
    let Shape { node, root, .. } = *levels.shape;
    let group = StageMembers::Column { node, offset: root % node };
    vec![levels.part(group, levels.count, StagePlan { kind, build, root: root / node }, input, output)]
}

fn within(levels: &NodeLevels, kind: Kind) -> StagePlan {
    StagePlan { kind, build: by_tables, root: levels.shape.root % levels.shape.node }
}

/// Between nodes and then in the nodes, the next segment meanwhile.
// The first segment is sent by a blocking call, for which libnbc has no algorithm.
pub(super) fn han_bcast(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let segments = MessageSegments::new(shape, parameters);
    let up = segments.stage(0, |levels, first| {
        let build: Build = if first { by_tables } else { nonblocking_bcast };
        between(levels, Kind::Bcast, build, INPUT, OUTPUT)
    });
    let low = segments.stage(1, |levels, _| {
        let stage = within(levels, Kind::Bcast);
        let mut parts = levels.at_home(stage, INPUT, OUTPUT);
        parts.extend(levels.elsewhere(stage, OUTPUT, OUTPUT));
        parts
    });
    segments.finish(vec![up, low])
}

/// Builds a reduction in the nodes and then between nodes, the next segment meanwhile.
pub(super) fn han_reduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let segments = MessageSegments::new(shape, parameters);
    let up =
        segments.stage(1, |levels, _| between(levels, Kind::Reduce, nonblocking_reduce, SCRATCH, OUTPUT));
    let low = segments.stage(0, |levels, _| levels.everywhere(within(levels, Kind::Reduce), INPUT, SCRATCH));
    segments.finish(vec![up, low])
}

/// Builds an allreduce in the nodes to their leaders, to member 0, to the leaders and in the nodes, four
/// segments side by side.
pub(super) fn han_allreduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let segments = MessageSegments::new(shape, parameters);
    let stages = vec![
        segments.stage(2, |levels, _| between(levels, Kind::Bcast, nonblocking_bcast, OUTPUT, OUTPUT)),
        segments.stage(1, |levels, _| between(levels, Kind::Reduce, nonblocking_reduce, SCRATCH, OUTPUT)),
        segments.stage(0, |levels, _| levels.everywhere(within(levels, Kind::Reduce), INPUT, SCRATCH)),
        segments.stage(3, |levels, _| levels.everywhere(within(levels, Kind::Bcast), OUTPUT, OUTPUT)),
    ];
    segments.finish(stages)
}

/// Builds a barrier in the nodes, one between leaders, and one in the nodes again.
pub(super) fn han_barrier(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let levels = NodeLevels::new(shape, parameters);
    let stage = within(&levels, Kind::Barrier);
    Staged::new("han", shape.size, 0)
        .then(levels.everywhere(stage, NOTHING, NOTHING))
        .then(levels.between(stage, NOTHING, NOTHING))
        .then(levels.everywhere(stage, NOTHING, NOTHING))
        .finish()
}

/// Builds an allgather in the nodes to their leaders, between leaders, and in the nodes, each by the tables.
pub(super) fn han_allgather(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let sized = |blocks: u32| Shape { bytes: shape.bytes * u64::from(blocks), ..shape.clone() };
    let (whole, all) = (sized(shape.node), sized(shape.size));
    let levels = |shape| NodeLevels::new(shape, parameters);
    let stage = |kind, build| StagePlan { kind, build, root: 0 };
    Staged::new("han", shape.size, whole.bytes)
        .then(levels(shape).everywhere(stage(Kind::Gather, by_tables), INPUT, SCRATCH))
        .then(levels(&whole).between(stage(Kind::Allgather, by_tables), SCRATCH, OUTPUT))
        .then(levels(&all).everywhere(stage(Kind::Bcast, by_tables), OUTPUT, OUTPUT))
        .finish()
}
