//! The objects of one rank by name or number. Handles are reused and differ from one number of processes to another; numbers count
//! what the rank has seen.

use super::host;
use super::parameter::HANDLES;
use crate::function::Function;
use observe::recorder::{Class, Leftover, Member, Object, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::LazyLock;

/// What is known of a request or of a probed message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    /// The request's number.
    pub number: u32,
    /// Whether it receives.
    pub receives: bool,
    /// Its communicator.
    pub comm: usize,
    /// The context of its communicator.
    pub context: Option<u32>,
}

/// The objects that a rank has seen and not freed.
pub struct Objects {
    made: FxHashMap<u64, Made>,
    /// The call under way, which makes what is seen for the first time, and its site.
    pub maker: (Function, u32),
    /// Of requests and probed messages, if a recorder wants to know what receives have learned.
    pending: Option<FxHashMap<u64, Pending>>,
    /// Few, and mostly communicators and requests: looked for one by one.
    classes: SmallVec<[(Class, Seen); 2]>,
}

/// What is known of an object.
#[derive(Clone, Copy)]
struct Made {
    number: u32,
    slot: u32,
    maker: (Function, u32),
}

/// The objects of a class that were seen.
#[derive(Default)]
struct Seen {
    count: u32,
    /// A bit for each slot that is taken, from 1 on.
    taken: SmallVec<[u64; 1]>,
}

impl Seen {
    /// The next object's number, and the least slot that is free.
    fn next(&mut self, maker: (Function, u32)) -> Made {
        self.count += 1;
        let word = self.taken.iter().position(|&word| word != u64::MAX).unwrap_or(self.taken.len());
        if word == self.taken.len() {
            self.taken.push(0);
        }
        let bit = self.taken[word].trailing_ones();
        self.taken[word] |= 1 << bit;
        Made { number: self.count, slot: word as u32 * 64 + bit + 1, maker }
    }
    fn free(&mut self, slot: u32) {
        self.taken[(slot - 1) as usize / 64] &= !(1 << ((slot - 1) % 64));
    }
}

/// A class and a handle in one word: handles are below 2^60.
fn key(class: Class, handle: usize) -> u64 {
    (handle as u64) << 4 | class as u64
}

/// Predefined handles are below this.
pub const PREDEFINED: usize = 0x1000;

/// The name of a predefined handle; O(1).
pub fn name(handle: usize) -> Option<&'static str> {
    static NAMES: LazyLock<Vec<Option<&'static str>>> = LazyLock::new(|| {
        let mut names = vec![None; PREDEFINED];
        HANDLES.iter().for_each(|&(value, name)| names[value] = Some(name));
        names
    });
    if handle < PREDEFINED { NAMES[handle] } else { None }
}

impl Objects {
    /// Of a rank that has seen nothing; with `matches` it is kept what requests are for.
    pub fn new(matches: bool) -> Objects {
        Objects {
            made: FxHashMap::default(),
            maker: (Function::Init, 0),
            pending: matches.then(FxHashMap::default),
            classes: SmallVec::new(),
        }
    }

    /// The object behind a handle; one that is seen for the first time gets the next number.
    pub fn object(&mut self, class: Class, handle: usize) -> Object {
        if let Some(name) = name(handle) {
            return Object::Named(name);
        }
        let Made { number, slot, .. } = self.made(class, handle);
        Object::Made { number, slot }
    }

    fn made(&mut self, class: Class, handle: usize) -> Made {
        let (classes, maker) = (&mut self.classes, self.maker);
        *self.made.entry(key(class, handle)).or_insert_with(|| {
            let place = classes.iter().position(|&(known, _)| known == class).unwrap_or_else(|| {
                classes.push((class, Seen::default()));
                classes.len() - 1
            });
            classes[place].1.next(maker)
        })
    }

    /// What was not freed, in the order in which it was seen.
    pub fn left_over(&self) -> Vec<Leftover> {
        let mut left: Vec<_> = self.made.iter().map(|(key, made)| (Class::ALL[(key & 15) as usize], made)).collect();
        left.sort_unstable_by_key(|(class, made)| (*class as usize, made.number));
        let told = |(class, made): (Class, &Made)| Leftover::Object { class, function: made.maker.0.name(), site: made.maker.1 };
        left.into_iter().map(told).collect()
    }

    /// A handle has become invalid: whatever has the same value later is another object.
    pub fn forget(&mut self, class: Class, handle: usize) {
        if let Some(made) = self.made.remove(&key(class, handle))
            && let Some((_, seen)) = self.classes.iter_mut().find(|(known, _)| *known == class)
        {
            seen.free(made.slot);
        }
        if let Some(pending) = &mut self.pending {
            pending.remove(&key(class, handle));
        }
        host::forget(class, handle);
    }

    /// What a request or a message is has become known; its number is put in.
    pub fn keep(&mut self, class: Class, handle: usize, what: impl FnOnce() -> Pending) {
        let number = self.made(class, handle).number;
        if let Some(pending) = &mut self.pending {
            pending.insert(key(class, handle), Pending { number, ..what() });
        }
    }

    /// What is known of a request or a message.
    pub fn pending(&self, class: Class, handle: usize) -> Option<Pending> {
        self.pending.as_ref()?.get(&key(class, handle)).copied()
    }

    /// What a handle of a class says.
    pub fn of_class(&mut self, class: Class, handle: usize) -> Value {
        match class {
            Class::Comm => self.comm(handle),
            Class::Datatype => self.datatype(handle),
            class => Value::Handle(class, self.object(class, handle)),
        }
    }

    /// A communicator; unknown where the handle is none.
    fn comm(&mut self, handle: usize) -> Value {
        match host::membership(handle) {
            Some(comm) => Value::Comm {
                object: self.object(Class::Comm, handle),
                context: Some(comm.context),
                size: comm.size,
                member: comm.member(),
            },
            None => name(handle).map_or(Value::Unknown, |name| Value::Comm {
                object: Object::Named(name),
                context: None,
                size: 0,
                member: None,
            }),
        }
    }

    /// A datatype; unknown where the handle is none.
    fn datatype(&mut self, handle: usize) -> Value {
        match host::datatype(handle) {
            Some((size, extent)) => Value::Datatype { object: self.object(Class::Datatype, handle), size, extent },
            None => name(handle).map_or(Value::Unknown, |name| Value::Datatype { object: Object::Named(name), size: 0, extent: 0 }),
        }
    }
}

/// What a rank may be told relative to: the caller's rank, and how many there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The calling rank.
    pub rank: u32,
    /// Ranks that its messages can go to.
    pub peers: u32,
}

/// What the calling rank is in a communicator; in the world if it is no member or there is none.
pub fn position(comm: Option<usize>) -> Position {
    match comm.and_then(host::membership).filter(|comm| comm.rank < comm.size) {
        Some(comm) => Position { rank: comm.rank, peers: comm.peers },
        None => host::world(),
    }
}

/// The size and the extent of a datatype.
pub fn size_and_extent(datatype: usize) -> [u64; 2] {
    host::datatype(datatype).map_or([0; 2], |(size, extent)| [size, extent as u64])
}

/// A communicator as the calling rank sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Membership {
    /// What tells communicators apart on all ranks.
    pub context: u32,
    /// Members of the (local) group.
    pub size: u32,
    /// Ranks that messages can go to.
    pub peers: u32,
    /// The calling rank; not below `size` if it is no member.
    pub rank: u32,
    /// The rank in the world of rank 0 of the (local) group, and of the group that messages go to.
    pub leaders: (u32, u32),
    /// Whether messages go to another group.
    pub is_inter: bool,
}

impl Membership {
    /// What the calling rank is in it, if it is a member.
    fn member(&self) -> Option<Member> {
        let Membership { rank, peers, leaders, .. } = *self;
        (rank < self.size).then_some(Member { rank, peers, leaders })
    }
}
