//! The matcher against a model of two lists, which looks at every entry each time.

use engine::Time;
use matcher::envelope::{Envelope, Pattern};
use matcher::node::{Node, State, flag};
use matcher::queue::key;
use matcher::{Matcher, Pending};
use proptest::prelude::*;

const CONTEXT: u32 = 3;
const RANK: u32 = 7;

#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive { source: u32, tag: i32, time: u64 },
    Post { source: Option<u32>, tag: Option<i32>, blocking: bool },
    Decide,
    Cancel(usize),
    Probe { source: Option<u32>, tag: Option<i32> },
    Safe(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let any_source = proptest::option::weighted(0.6, 0..3u32);
    let any_tag = proptest::option::weighted(0.7, 0..3i32);
    prop_oneof![
        6 => (0..3u32, 0..3i32, 1..20u64).prop_map(|(source, tag, time)| Step::Arrive { source, tag, time }),
        6 => (any_source.clone(), any_tag.clone(), any::<bool>())
            .prop_map(|(source, tag, blocking)| Step::Post { source, tag, blocking }),
        3 => Just(Step::Decide),
        1 => (0..8usize).prop_map(Step::Cancel),
        2 => (any_source, any_tag).prop_map(|(source, tag)| Step::Probe { source, tag }),
        1 => (0..20u64).prop_map(Step::Safe),
    ]
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Message {
    node: u32,
    source: u32,
    tag: i32,
    time: u64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Receive {
    node: u32,
    source: Option<u32>,
    tag: Option<i32>,
}

impl Receive {
    fn accepts(&self, message: &Message) -> bool {
        self.source.is_none_or(|source| source == message.source)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// Posted receives and unexpected messages, in the order in which they came.
#[derive(Default)]
struct Lists {
    posted: Vec<Receive>,
    unexpected: Vec<Message>,
    safe: u64,
}

impl Lists {
    fn first_message(&self, receive: &Receive) -> Option<Message> {
        self.unexpected.iter().find(|message| receive.accepts(message)).copied()
    }

    fn first_receive(&self, message: &Message) -> Option<Receive> {
        self.posted.iter().find(|receive| receive.accepts(message)).copied()
    }

    fn has_wildcards(&self) -> bool {
        self.posted.iter().any(|receive| receive.source.is_none())
    }

    fn remove(&mut self, receive: Option<u32>, message: Option<u32>) {
        self.posted.retain(|other| Some(other.node) != receive);
        self.unexpected.retain(|other| Some(other.node) != message);
    }

    /// Matches a message that arrives with the first posted receive that accepts it, unless that is for any
    /// source, or an earlier message of its sender is still there that the receive accepts. Returns the
    /// receive's node; `None` if the message is unexpected.
    fn arrive(&mut self, message: Message) -> Option<u32> {
        let first = self.first_receive(&message);
        let met = first.filter(|receive| receive.source.is_some() && self.first_message(receive).is_none());
        match met {
            Some(receive) => self.remove(Some(receive.node), None),
            None => self.unexpected.push(message),
        }
        met.map(|receive| receive.node)
    }

    /// Returns the least by (time, source) of the first messages of all sources that a receive accepts.
    fn best(&self, receive: &Receive) -> Option<Message> {
        let firsts = (0..3).filter_map(|source| {
            self.unexpected
                .iter()
                .find(|message| message.source == source && receive.accepts(message))
                .copied()
        });
        firsts.min_by_key(|message| (message.time, message.source))
    }

    fn post(&mut self, receive: Receive, blocking: bool, clock: u64) -> Option<u32> {
        let found = match receive.source {
            Some(_) => self.first_message(&receive).filter(|message| self.first_receive(message).is_none()),
            None if self.has_wildcards() => None,
            None => self
                .best(&receive)
                .filter(|message| message.time < self.safe && (blocking || message.time < clock)),
        };
        match found {
            Some(message) => self.remove(None, Some(message.node)),
            None => self.posted.push(receive),
        }
        found.map(|message| message.node)
    }

    /// Returns the least (time, source) of all pairs of a receive for any source and a message. The message
    /// is the first of its source that the receive accepts, and the receive the first posted that accepts the
    /// message.
    fn choice(&self) -> Option<(u64, u32, u32, u32)> {
        let mut least: Option<(u64, u32, u32, u32)> = None;
        for receive in self.posted.iter().filter(|receive| receive.source.is_none()) {
            for source in 0..3 {
                let first = self
                    .unexpected
                    .iter()
                    .find(|message| message.source == source && receive.accepts(message));
                let Some(message) = first.filter(|message| self.first_receive(message) == Some(*receive))
                else {
                    continue;
                };
                if least.is_none_or(|least| (message.time, message.source) < (least.0, least.1)) {
                    least = Some((message.time, message.source, receive.node, message.node));
                }
            }
        }
        least
    }

    /// Matches named receives with what they may take now, in the order of posting. Returns the pairs.
    fn rematch(&mut self) -> Vec<(u32, u32)> {
        let mut met = Vec::new();
        for receive in self.posted.clone() {
            if receive.source.is_some()
                && let Some(message) = self.first_message(&receive)
                && self.first_receive(&message) == Some(receive)
            {
                self.remove(Some(receive.node), Some(message.node));
                met.push((receive.node, message.node));
            }
        }
        met
    }
}

fn receive_node(pattern: &Pattern) -> Node {
    Node {
        context: CONTEXT,
        tag: pattern.tag.unwrap_or(-1),
        source: pattern.source.unwrap_or(u32::MAX),
        key: key(pattern),
        flags: if pattern.source.is_none() { flag::WILD } else { 0 }
            | if pattern.tag.is_none() { flag::ANY_TAG } else { 0 },
        state: State::Posted,
        ..Node::default()
    }
}

fn rematch(matcher: &mut Matcher, pending: &mut Pending, time: Time) -> Vec<(u32, u32)> {
    let receives = matcher.to_rematch(pending);
    receives
        .into_iter()
        .filter_map(|receive| Some((receive, matcher.rematch(pending, receive, time)?)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn each_message_meets_the_receive_that_a_list_says(steps in proptest::collection::vec(step(), 1..60)) {
        let (mut matcher, mut pending, mut lists) =
            (Matcher::new(true), Pending::default(), Lists::default());
        let clock = 10;
        for step in steps {
            match step {
                Step::Arrive { source, tag, time } => {
                    let envelope = Envelope::new(CONTEXT, source, tag);
                    let node = matcher.alloc(Node::of(&envelope, Time::from_ps(time), 0, State::Unexpected));
                    let met = matcher.arrive(RANK, &mut pending, node);
                    prop_assert_eq!(met, lists.arrive(Message { node, source, tag, time }));
                }
                Step::Post { source, tag, blocking } => {
                    let pattern = Pattern { context: CONTEXT, source, tag };
                    let node = matcher.alloc(receive_node(&pattern));
                    let met = matcher.post(RANK, &mut pending, node, blocking, Time::from_ps(clock));
                    prop_assert_eq!(met, lists.post(Receive { node, source, tag }, blocking, clock));
                }
                Step::Decide => {
                    let choice = matcher.first_choice(RANK, &pending);
                    let expected = lists.choice();
                    prop_assert_eq!(
                        choice.map(|c| (c.time.as_ps(), c.source, c.receive, c.message)),
                        expected
                    );
                    if let Some(choice) = choice {
                        matcher.decide(RANK, &mut pending, (choice.receive, choice.message), choice.time);
                        lists.remove(Some(choice.receive), Some(choice.message));
                        prop_assert_eq!(rematch(&mut matcher, &mut pending, choice.time), lists.rematch());
                    }
                }
                Step::Cancel(which) => {
                    let Some(receive) = lists.posted.get(which).copied() else { continue };
                    prop_assert!(matcher.cancel(RANK, &mut pending, receive.node, Time::from_ps(clock)));
                    lists.remove(Some(receive.node), None);
                    prop_assert_eq!(rematch(&mut matcher, &mut pending, Time::ZERO), lists.rematch());
                }
                Step::Probe { source, tag } => {
                    let seen = matcher.probe(&pending, &Pattern { context: CONTEXT, source, tag });
                    let receive = Receive { node: 0, source, tag };
                    let expected =
                        if source.is_some() { lists.first_message(&receive) } else { lists.best(&receive) };
                    prop_assert_eq!(seen.map(|(message, _)| message), expected.map(|message| message.node));
                }
                Step::Safe(time) => {
                    matcher.set_safe(Time::from_ps(time));
                    lists.safe = time;
                }
            }
            let wildcards = lists.posted.iter().filter(|receive| receive.source.is_none()).count();
            prop_assert_eq!(pending.wildcards() as usize, wildcards);
            prop_assert_eq!(
                matcher.receives(&pending).collect::<Vec<_>>(),
                lists.posted.iter().map(|r| r.node).collect::<Vec<_>>()
            );
            prop_assert_eq!(
                matcher.messages(&pending).collect::<Vec<_>>(),
                lists.unexpected.iter().map(|m| m.node).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_message_that_is_put_back_lies_before_those_sent_later(count in 1..8usize, taken in 0..8usize) {
        let (mut matcher, mut pending) = (Matcher::new(true), Pending::default());
        let messages: Vec<u32> = (0..count)
            .map(|number| {
                let envelope = Envelope::new(CONTEXT, 0, number as i32);
                let node =
                    matcher.alloc(Node::of(&envelope, Time::from_ps(number as u64), 0, State::Unexpected));
                prop_assert_eq!(matcher.arrive(RANK, &mut pending, node), None);
                Ok(node)
            })
            .collect::<Result<_, TestCaseError>>()?;
        let taken = messages[taken % count];
        matcher.remove_message(&mut pending, taken);
        matcher.put_back(&mut pending, taken);
        prop_assert_eq!(matcher.messages(&pending).collect::<Vec<_>>(), messages);
    }
}

#[test]
fn a_blocked_receive_is_taken_only_alone_and_unwatched() {
    let (mut matcher, mut pending) = (Matcher::new(true), Pending::default());
    let envelope = Envelope::new(CONTEXT, 1, 2);
    let pattern = Pattern::exactly(&envelope);
    let blocked = Node { flags: flag::WAITED, bytes: 8, ..receive_node(&pattern) };
    let first = matcher.alloc(blocked);
    assert_eq!(matcher.post(RANK, &mut pending, first, true, Time::ZERO), None);
    assert_eq!(matcher.take_blocked(&mut pending, &envelope, 9), None, "it has no room");
    assert_eq!(matcher.take_blocked(&mut pending, &Envelope::new(CONTEXT, 1, 3), 8), None, "another tag");
    pending.set_polling(true);
    assert_eq!(matcher.take_blocked(&mut pending, &envelope, 8), None, "its rank polls");
    pending.set_polling(false);
    assert_eq!(matcher.take_blocked(&mut pending, &envelope, 8), Some(first));
    assert!(!pending.has_posted());
}

#[test]
fn a_rank_is_once_in_the_list_of_decisions_out_of_date() {
    let (mut matcher, mut pending) = (Matcher::new(true), Pending::default());
    matcher.mark_dirty(RANK, &mut pending);
    matcher.mark_dirty(RANK, &mut pending);
    assert_eq!((matcher.next_dirty(), matcher.next_dirty()), (Some(RANK), None));
    assert!(pending.is_dirty());
    pending.set_clean();
    matcher.mark_dirty(RANK, &mut pending);
    assert!(matcher.has_dirty());
}
