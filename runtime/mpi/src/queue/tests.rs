use super::*;
use crate::node::{NIL, State};
use proptest::prelude::*;

/// One step of a queue's life.
#[derive(Clone, Debug)]
enum Step {
    Push { source: u32, tag: i32, arrival: u64 },
    First { source: Option<u32>, tag: Option<i32>, taken: usize },
    Best { tag: Option<i32>, taken: usize },
    Remove { which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let tag = 0..3i32;
    prop_oneof![
        // More arrive than leave, so that queues grow beyond one block and shrink again.
        4 => (0..6u32, tag.clone(), 0..40u64).prop_map(|(source, tag, arrival)| Step::Push { source, tag, arrival }),
        1 => (proptest::option::of(0..6u32), proptest::option::of(tag.clone()), 0..3usize)
            .prop_map(|(source, tag, taken)| Step::First { source, tag, taken }),
        1 => (proptest::option::of(tag), 0..3usize).prop_map(|(tag, taken)| Step::Best { tag, taken }),
        1 => (0..600usize).prop_map(|which| Step::Remove { which }),
    ]
}

fn message(source: u32, tag: i32, arrival: u64) -> Node {
    Node { context: 7, source, tag, arrival: Time::from_ps(arrival), next: NIL, state: State::Unexpected, ..Node::default() }
}

/// What a receive from any source takes, said as plainly as MPI does.
fn best_of(list: &[u32], pattern: &Pattern, taken: &[u32], nodes: &Nodes) -> Option<u32> {
    let fitting: Vec<u32> = list.iter().copied().filter(|&index| pattern.accepts(&nodes[index]) && !taken.contains(&index)).collect();
    let mut heads: Vec<u32> = Vec::new();
    for index in fitting {
        if !heads.iter().any(|&head| nodes[head].source == nodes[index].source) {
            heads.push(index);
        }
    }
    heads.into_iter().min_by_key(|&index| (nodes[index].arrival, nodes[index].source))
}

proptest! {
    #[test]
    fn a_queue_of_messages_answers_as_a_plain_list(steps in proptest::collection::vec(step(), 1..1200)) {
        let (mut nodes, mut queues, mut queue) = (Nodes::new(), Queues::<Timed>::default(), Queue::default());
        let mut list: Vec<u32> = Vec::new();
        for step in steps {
            match step {
                Step::Push { source, tag, arrival } => {
                    let index = nodes.alloc(message(source, tag, arrival));
                    queues.push(&mut queue, index, &nodes);
                    list.push(index);
                }
                Step::First { source, tag, taken } => {
                    let pattern = Pattern { context: 7, source, tag };
                    let taken: Vec<u32> = list.iter().copied().take(taken).collect();
                    let expected = list.iter().copied().find(|&index| pattern.accepts(&nodes[index]) && !taken.contains(&index));
                    let found = queues.first(queue, &pattern, &taken, &nodes);
                    prop_assert_eq!(found.map(|(node, _)| node), expected);
                    if let Some((node, place)) = found && taken.is_empty() {
                        queues.remove(&mut queue, place, &nodes);
                        list.retain(|&index| index != node);
                        nodes.free(node);
                    }
                }
                Step::Best { tag, taken } => {
                    let pattern = Pattern { context: 7, source: None, tag };
                    let taken: Vec<u32> = best_of(&list, &pattern, &[], &nodes).into_iter().chain(list.iter().copied()).take(taken).collect();
                    prop_assert_eq!(queues.best(queue, &pattern, &taken, &nodes).map(|(node, _)| node), best_of(&list, &pattern, &taken, &nodes));
                }
                Step::Remove { which } if which < list.len() => {
                    let node = list.remove(which);
                    prop_assert!(queues.remove_node(&mut queue, node, &nodes));
                    nodes.free(node);
                }
                Step::Remove { .. } => prop_assert!(!queues.remove_node(&mut queue, nodes.alloc(message(0, 0, 0)), &nodes)),
            }
            prop_assert_eq!(queues.iter(queue).collect::<Vec<_>>(), list.clone());
            prop_assert_eq!(queues.length(queue), list.len());
            prop_assert_eq!(queue.is_empty(), list.is_empty());
        }
    }

    #[test]
    fn a_queue_of_receives_answers_as_a_plain_list(steps in proptest::collection::vec((0..7u32, -1..3i32, 0..6u32, 0..3i32, any::<bool>()), 1..900)) {
        let (mut nodes, mut queues, mut queue) = (Nodes::new(), Queues::<Entry>::default(), Queue::default());
        let mut list: Vec<u32> = Vec::new();
        for (from, tag, source, sent, arrives) in steps {
            let mut flags = 0;
            if from == 6 { flags |= flag::WILD }
            if tag == -1 { flags |= flag::ANY_TAG }
            let index = nodes.alloc(Node { context: 7, source: from, tag, flags, state: State::Posted, ..Node::default() });
            queues.push(&mut queue, index, &nodes);
            list.push(index);
            if arrives {
                let envelope = Envelope { context: 7, source, tag: sent };
                let message = message(source, sent, 0);
                let expected = list.iter().copied().find(|&index| Pattern::of(&nodes[index]).accepts(&message));
                let found = queues.first_for(queue, &envelope, &nodes);
                prop_assert_eq!(found.map(|(node, _)| node), expected);
                if let Some((node, place)) = found {
                    queues.remove(&mut queue, place, &nodes);
                    list.retain(|&index| index != node);
                    nodes.free(node);
                }
            }
            prop_assert_eq!(queues.iter(queue).collect::<Vec<_>>(), list.clone());
        }
    }
}

#[test]
fn sources_and_tags_with_the_same_digest_are_told_apart() {
    let (mut nodes, mut queues, mut queue) = (Nodes::new(), Queues::<Timed>::default(), Queue::default());
    let far = nodes.alloc(message(3 + (1 << 16), 5, 0));
    let near = nodes.alloc(message(3, 5, 0));
    queues.push(&mut queue, far, &nodes);
    queues.push(&mut queue, near, &nodes);
    let from = |source| Pattern { context: 7, source: Some(source), tag: None };
    assert_eq!(queues.first(queue, &from(3), &[], &nodes).map(|(node, _)| node), Some(near));
    assert_eq!(queues.first(queue, &from(3 + (1 << 16)), &[], &nodes).map(|(node, _)| node), Some(far));
}
