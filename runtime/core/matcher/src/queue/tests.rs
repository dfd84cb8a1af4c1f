use super::long::Long;
use super::*;
use crate::envelope::{Envelope, fingerprint};
use crate::node::{State, flag};
use proptest::prelude::*;

/// One step of a queue's life.
#[derive(Clone, Debug)]
enum Step {
    Push { source: u32, tag: i32, arrival: u64 },
    First { source: Option<u32>, tag: Option<i32>, taken: usize },
    Best { tag: Option<i32>, taken: usize },
    Remove { which: usize },
    RemoveAll,
}

fn step() -> impl Strategy<Value = Step> {
    let tag = 0..3i32;
    prop_oneof![
        // More arrive than leave, so that queues grow beyond one block and shrink again.
        800 => (0..6u32, tag.clone(), 0..40u64)
            .prop_map(|(source, tag, arrival)| Step::Push { source, tag, arrival }),
        200 => (proptest::option::of(0..6u32), proptest::option::of(tag.clone()), 0..3usize)
            .prop_map(|(source, tag, taken)| Step::First { source, tag, taken }),
        200 => (proptest::option::of(tag), 0..3usize).prop_map(|(tag, taken)| Step::Best { tag, taken }),
        200 => (0..600usize).prop_map(|which| Step::Remove { which }),
        // An indexed queue that is empty gives its room to the next.
        1 => Just(Step::RemoveAll),
    ]
}

fn message(source: u32, tag: i32, arrival: u64) -> Node {
    Node::of(&Envelope::new(7, source, tag), Time::from_ps(arrival), 0, State::Unexpected)
}

/// Returns what a receive from any source takes, said as plainly as MPI does.
fn best_of(list: &[u32], pattern: &Pattern, taken: &[u32], nodes: &Nodes) -> Option<u32> {
    let fitting: Vec<u32> = list
        .iter()
        .copied()
        .filter(|&index| pattern.accepts(&nodes[index]) && !taken.contains(&index))
        .collect();
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
                    let expected = list
                        .iter()
                        .copied()
                        .find(|&index| pattern.accepts(&nodes[index]) && !taken.contains(&index));
                    let found = queues.first(queue, &pattern, &taken, &nodes);
                    prop_assert_eq!(found.map(|(node, _)| node), expected);
                    if let Some((node, place)) = found
                        && taken.is_empty()
                    {
                        queues.remove(&mut queue, place, &nodes);
                        list.retain(|&index| index != node);
                        nodes.free(node);
                    }
                }
                Step::Best { tag, taken } => {
                    let pattern = Pattern { context: 7, source: None, tag };
                    let taken: Vec<u32> = best_of(&list, &pattern, &[], &nodes)
                        .into_iter()
                        .chain(list.iter().copied())
                        .take(taken)
                        .collect();
                    prop_assert_eq!(
                        queues.best(queue, &pattern, &taken, &nodes).map(|(node, _)| node),
                        best_of(&list, &pattern, &taken, &nodes)
                    );
                }
                Step::RemoveAll => {
                    for node in list.drain(..) {
                        prop_assert!(queues.remove_node(&mut queue, node, &nodes));
                        nodes.free(node);
                    }
                }
                Step::Remove { which } if which < list.len() => {
                    let node = list.remove(which);
                    prop_assert!(queues.remove_node(&mut queue, node, &nodes));
                    nodes.free(node);
                }
                Step::Remove { .. } => {
                    prop_assert!(!queues.remove_node(&mut queue, nodes.alloc(message(0, 0, 0)), &nodes))
                }
            }
            prop_assert_eq!(queues.iter(queue).collect::<Vec<_>>(), list.clone());
            prop_assert_eq!(queues.length(queue), list.len());
            prop_assert_eq!(queue.is_empty(), list.is_empty());
        }
    }

    #[test]
    fn a_queue_of_receives_answers_as_a_plain_list(
        named in any::<bool>(),
        steps in proptest::collection::vec((0..7u32, -1..3i32, 0..6u32, 0..3i32, any::<bool>()), 1..900),
    ) {
        let (mut nodes, mut queues, mut queue) = (Nodes::new(), Queues::<Entry>::default(), Queue::default());
        let mut list: Vec<u32> = Vec::new();
        for (from, tag, source, sent, arrives) in steps {
            let mut flags = 0;
            let (from, tag) = if named { (from % 6, tag.max(0)) } else { (from, tag) };
            if from == 6 {
                flags |= flag::WILD
            }
            if tag == -1 {
                flags |= flag::ANY_TAG
            }
            let mut node =
                Node { context: 7, source: from, tag, flags, state: State::Posted, ..Node::default() };
            node.key = key(&Pattern::of(&node));
            let index = nodes.alloc(node);
            queues.push(&mut queue, index, &nodes);
            list.push(index);
            if arrives {
                let envelope = Envelope::new(7, source, sent);
                let message = message(source, sent, 0);
                let expected =
                    list.iter().copied().find(|&index| Pattern::of(&nodes[index]).accepts(&message));
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
    let alike = [(3, 0), (3 + (1 << 15), 0), (3, 0x8001), (3 + (1 << 15), 0x8001)];
    assert!(alike.iter().all(|&(source, tag)| fingerprint(7, source, tag) == fingerprint(7, 3, 0)));
    let mut nodes = Nodes::new();
    let (mut messages, mut unexpected) = (Queues::<Timed>::default(), Queue::default());
    let (mut receives, mut posted) = (Queues::<Entry>::default(), Queue::default());
    let indices = alike.map(|(source, tag)| nodes.alloc(message(source, tag, 0)));
    for index in indices {
        messages.push(&mut unexpected, index, &nodes);
        receives.push(&mut posted, index, &nodes);
    }
    for (&(source, tag), index) in alike.iter().zip(indices) {
        let envelope = Envelope::new(7, source, tag);
        let exactly = messages.first(unexpected, &Pattern::exactly(&envelope), &[], &nodes);
        assert_eq!(exactly.map(|(node, _)| node), Some(index));
        assert_eq!(messages.first_like(unexpected, &envelope, &nodes).map(|(node, _)| node), Some(index));
        assert_eq!(receives.first_for(posted, &envelope, &nodes).map(|(node, _)| node), Some(index));
        let any = Pattern { context: 7, source: Some(source), tag: None };
        let first = alike.iter().position(|&(one, _)| one == source).map(|at| indices[at]);
        assert_eq!(messages.first(unexpected, &any, &[], &nodes).map(|(node, _)| node), first);
    }
}

#[test]
fn chains_of_tags_that_are_gone_are_given_back() {
    let mut nodes = Nodes::new();
    let mut long = Long::new(true);
    for source in 0..300 {
        long.push(nodes.alloc(message(source, 0, 0)), &nodes);
    }
    for tag in 1..10_000 {
        let node = nodes.alloc(message(1, tag, 0));
        long.push(node, &nodes);
        let place = long.place_of(node, &nodes).expect("what was appended");
        long.remove(place, &nodes);
        nodes.free(node);
    }
    assert!(long.chains() < 2_000, "{} chains for 300 messages", long.chains());
}

#[test]
fn what_was_taken_out_behind_one_that_stays_is_given_back() {
    let mut nodes = Nodes::new();
    let mut long = Long::new(true);
    let stays: Vec<u32> = (0..300).map(|source| nodes.alloc(message(source, 0, 0))).collect();
    stays.iter().for_each(|&node| long.push(node, &nodes));
    for turn in 0..100_000 {
        let node = nodes.alloc(message(turn % 7, 1, u64::from(turn)));
        long.push(node, &nodes);
        let place = long.place_of(node, &nodes).expect("what was appended");
        long.remove(place, &nodes);
        nodes.free(node);
    }
    assert!(long.capacity() < 4_096, "room for {} of 301 messages", long.capacity());
    assert_eq!(long.iter().collect::<Vec<_>>(), stays);
    for (source, &node) in (0..).zip(&stays) {
        assert_eq!(long.first_like(&Envelope::new(7, source, 0)).map(|(found, _)| found), Some(node));
    }
}
