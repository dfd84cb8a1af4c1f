//! The messages of one round, by receiver.

/// No message.
const NONE: u32 = u32::MAX;

struct Letter<T> {
    from: u32,
    next: u32,
    content: T,
}

/// Messages that were sent in a round and not received. Sending is O(1); receiving is O(messages that wait
/// for the same receiver), which is O(1) where they are received in the order in which they were sent, as in
/// most schedules. Memory: 8 bytes a receiver, once.
pub(crate) struct Mailbox<T> {
    /// The first and the last message that was not taken, by receiver.
    lists: Vec<(u32, u32)>,
    // One vector for all receivers, lists through it: a queue each would be an allocation each.
    letters: Vec<Letter<T>>,
    // A round of a tree touches few of a million receivers: clearing must not look at all of them.
    touched: Vec<u32>,
}

impl<T: Copy> Mailbox<T> {
    pub(crate) fn new(receivers: usize) -> Mailbox<T> {
        Mailbox { lists: vec![(NONE, NONE); receivers], letters: Vec::new(), touched: Vec::new() }
    }
    #[inline]
    pub(crate) fn push(&mut self, to: u32, from: u32, content: T) {
        let letter = self.letters.len() as u32;
        self.letters.push(Letter { from, next: NONE, content });
        let (head, tail) = &mut self.lists[to as usize];
        match *tail {
            NONE => {
                self.touched.push(to);
                *head = letter;
            }
            last => self.letters[last as usize].next = letter,
        }
        *tail = letter;
    }
    /// Takes the oldest message from `from` to `to` that was not taken: messages between two members match in
    /// the order in which they were sent.
    #[inline]
    pub(crate) fn take(&mut self, to: u32, from: u32) -> Option<T> {
        let (mut before, mut at) = (NONE, self.lists[to as usize].0);
        while at != NONE {
            let Letter { from: sender, next, content } = self.letters[at as usize];
            if sender == from {
                match before {
                    NONE => self.lists[to as usize].0 = next,
                    before => self.letters[before as usize].next = next,
                }
                if next == NONE {
                    self.lists[to as usize].1 = before;
                }
                return Some(content);
            }
            (before, at) = (at, next);
        }
        None
    }
    /// Forgets all messages, in time proportional to how many there were.
    pub(crate) fn clear(&mut self) {
        for to in self.touched.drain(..) {
            self.lists[to as usize] = (NONE, NONE);
        }
        self.letters.clear();
    }
}
