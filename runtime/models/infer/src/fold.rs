//! Loops in a sequence of steps.

use crate::steps::{RunSteps, StepAction};

/// The most steps of a loop's body that are looked for.
const LONGEST: usize = 64;

/// A step or a loop.
#[derive(Clone, Debug)]
pub enum ModelNode {
    /// A step, with the seconds computed before it all the times that it happens, and how often that is.
    Step {
        /// The kind of the step.
        what: StepAction,
        /// Seconds in all.
        computed: f64,
        /// Number of times that it happens.
        times: f64,
    },
    /// A sequence that is repeated, one time after the other.
    Loop {
        /// Number of repetitions.
        count: u64,
        /// The nodes.
        body: Vec<ModelNode>,
    },
}

impl ModelNode {
    /// Returns `true` if both do the same, times of computation aside.
    fn is_like(&self, other: &ModelNode) -> bool {
        match (self, other) {
            (ModelNode::Step { what, .. }, ModelNode::Step { what: other, .. }) => what == other,
            (ModelNode::Loop { count, body }, ModelNode::Loop { count: times, body: other }) => {
                count == times && are_alike(body, other)
            }
            _ => false,
        }
    }

    /// Adds the computation of another time.
    fn add(&mut self, other: &ModelNode) {
        match (self, other) {
            (
                ModelNode::Step { computed, times, .. },
                ModelNode::Step { computed: more, times: also, .. },
            ) => {
                *computed += more;
                *times += also;
            }
            (ModelNode::Loop { body, .. }, ModelNode::Loop { body: other, .. }) => add_all(body, other),
            _ => {}
        }
    }
}

fn are_alike(a: &[ModelNode], b: &[ModelNode]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_like(b))
}

fn add_all(body: &mut [ModelNode], other: &[ModelNode]) {
    body.iter_mut().zip(other).for_each(|(mine, other)| mine.add(other));
}

/// Returns the steps of a run as loops. O(steps * 64 ^ 2), of which nearly all comparisons end at once.
pub fn fold(run: &RunSteps) -> Vec<ModelNode> {
    let mut nodes: Vec<ModelNode> = Vec::new();
    for step in &run.steps {
        nodes.push(ModelNode::Step { what: step.what.clone(), computed: step.computed, times: 1.0 });
        while shorten(&mut nodes) {}
    }
    nodes
}

/// Makes the end of a sequence a turn of the loop before it, or the first two turns of a new one.
fn shorten(nodes: &mut Vec<ModelNode>) -> bool {
    for length in 1..=LONGEST.min(nodes.len()) {
        let end = nodes.len() - length;
        if end > 0
            && let (before, turn) = nodes.split_at_mut(end)
            && let Some(ModelNode::Loop { count, body }) = before.last_mut()
            && are_alike(body, turn)
        {
            *count += 1;
            add_all(body, turn);
            nodes.truncate(end);
            return true;
        }
        if end >= length && are_alike(&nodes[end - length..end], &nodes[end..]) {
            let turn = nodes.split_off(end);
            let mut body = nodes.split_off(end - length);
            add_all(&mut body, &turn);
            nodes.push(ModelNode::Loop { count: 2, body });
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::ModelStep;
    use aspen::{Collective, Operation};

    fn run(bytes: &[u64]) -> RunSteps {
        let step = |&bytes: &u64| ModelStep {
            what: StepAction::Collective(Collective::Bcast, Operation::Sum, bytes),
            computed: 1.0,
        };
        RunSteps { ranks: 2, steps: bytes.iter().map(step).collect() }
    }

    fn shown(nodes: &[ModelNode]) -> String {
        let one = |node: &ModelNode| match node {
            ModelNode::Step { what: StepAction::Collective(_, _, bytes), computed, .. } => {
                format!("{bytes}/{computed} ")
            }
            ModelNode::Step { .. } => String::new(),
            ModelNode::Loop { count, body } => format!("{count}({})", shown(body)),
        };
        nodes.iter().map(one).collect()
    }

    #[test]
    fn turns_become_loops_within_loops() {
        assert_eq!(shown(&fold(&run(&[7, 7, 7]))), "3(7/3 )");
        assert_eq!(shown(&fold(&run(&[1, 2, 1, 2, 3]))), "2(1/2 2/2 )3/1 ");
        assert_eq!(shown(&fold(&run(&[1, 2, 2, 9, 1, 2, 2, 9]))), "2(1/2 2(2/4 )9/2 )");
        assert_eq!(shown(&fold(&run(&[5, 1, 1, 2]))), "5/1 2(1/2 )2/1 ");
    }
}
