//! The objects of one rank by name or number. Handles are reused and differ from one number of processes to
//! another; numbers count what the rank has seen.

use crate::function::Function;
use crate::host::Host;
use crate::parameter::HANDLES;
use recorder::slots::Slots;
use recorder::{Class, CommMembership, Leftover, ObjectArgument, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::LazyLock;

/// Facts about a request or a probed message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    /// The request's number.
    pub number: u32,
    /// `true` if it receives.
    pub receives: bool,
    /// Its communicator.
    pub comm: usize,
    /// The context of its communicator.
    pub context: Option<u32>,
}

/// The objects that a rank has seen and not freed.
pub struct TracedObjects<H> {
    /// All but requests that are kept in `requests`.
    others: Option<Rc<Others>>,
    /// Requests, unless a recorder records the results of receives. They have no other number then.
    requests: Slots,
    /// Requests and probed messages by key, if a recorder records the results of receives.
    pending: Option<Box<FxHashMap<u64, Pending>>>,
    /// The call under way, which makes what is seen for the first time, and its site.
    pub maker: (Function, u32),
    host: PhantomData<H>,
}

/// Objects that ranks which did alike have seen: kept once for all of these.
// A map of few, and of those that many ranks have, as they made it: communicators, datatypes, windows.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Others {
    /// In no order: the latest are asked for most.
    few: Vec<(u64, TracedObject)>,
    /// Instead, if there are more.
    many: Option<Box<ObjectTable>>,
    /// Few, and mostly communicators: looked for one by one.
    classes: Vec<(Class, SeenClass)>,
}

/// Objects by [`key`]. None is equal to another: nobody shares it.
#[derive(Clone, Default)]
struct ObjectTable(FxHashMap<u64, TracedObject>);

impl PartialEq for ObjectTable {
    fn eq(&self, _: &ObjectTable) -> bool {
        false
    }
}

impl Eq for ObjectTable {}

impl Hash for ObjectTable {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// More objects are a table of the rank's own.
const MAX_LISTED: usize = 16;

/// Sets of objects that ranks have seen, each stored once.
#[derive(Default)]
pub struct ObjectSets {
    all: FxHashSet<Rc<Others>>,
    /// Number of sets that were left when those of no rank were last removed.
    left: usize,
}

impl ObjectSets {
    /// Replaces `others` by a stored set that is equal, or stores it; O(objects).
    fn share(&mut self, others: &mut Rc<Others>) {
        if let Some(equal) = self.all.get(others) {
            *others = equal.clone();
            return;
        }
        if self.all.len() > 2 * self.left + 1000 {
            self.all.retain(|others| Rc::strong_count(others) > 1);
            self.left = self.all.len();
        }
        self.all.insert(others.clone());
    }
}

/// An object's number, slot and maker.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TracedObject {
    number: u32,
    slot: u32,
    maker: (Function, u32),
}

/// The objects of a class that were seen.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct SeenClass {
    count: u32,
    /// A bit for each slot that is taken, from 1 on.
    taken: SmallVec<[u64; 1]>,
}

impl SeenClass {
    /// Takes the next object's number, and the least slot that is free.
    fn next(&mut self, maker: (Function, u32)) -> TracedObject {
        self.count += 1;
        let word = self.taken.iter().position(|&word| word != u64::MAX).unwrap_or(self.taken.len());
        if word == self.taken.len() {
            self.taken.push(0);
        }
        let bit = self.taken[word].trailing_ones();
        self.taken[word] |= 1 << bit;
        TracedObject { number: self.count, slot: word as u32 * 64 + bit + 1, maker }
    }
    fn free(&mut self, slot: u32) {
        self.taken[(slot - 1) as usize / 64] &= !(1 << ((slot - 1) % 64));
    }
}

impl Others {
    #[inline]
    fn find(&self, key: u64) -> Option<TracedObject> {
        match &self.many {
            None => self.few.iter().rfind(|&&(known, _)| known == key).map(|&(_, made)| made),
            Some(many) => many.0.get(&key).copied(),
        }
    }

    fn add(&mut self, class: Class, key: u64, maker: (Function, u32)) -> TracedObject {
        let place = self.classes.iter().position(|&(known, _)| known == class).unwrap_or_else(|| {
            self.classes.push((class, SeenClass::default()));
            self.classes.len() - 1
        });
        let made = self.classes[place].1.next(maker);
        if self.many.is_none() && self.few.len() == MAX_LISTED {
            self.many = Some(Box::new(ObjectTable(self.few.drain(..).collect())));
        }
        match &mut self.many {
            None => self.few.push((key, made)),
            Some(many) => _ = many.0.insert(key, made),
        }
        made
    }

    fn remove(&mut self, class: Class, key: u64) {
        let made = match &mut self.many {
            None => {
                self.few.iter().rposition(|&(known, _)| known == key).map(|place| self.few.remove(place).1)
            }
            Some(many) => many.0.remove(&key),
        };
        if let Some(made) = made
            && let Some((_, seen)) = self.classes.iter_mut().find(|(known, _)| *known == class)
        {
            seen.free(made.slot);
        }
    }

    fn all(&self) -> impl Iterator<Item = (u64, TracedObject)> {
        let many = self.many.iter().flat_map(|many| many.0.iter().map(|(&key, &made)| (key, made)));
        self.few.iter().copied().chain(many)
    }
}

/// Returns a class and a handle in one word: handles are below 2^60.
fn key(class: Class, handle: usize) -> u64 {
    (handle as u64) << 4 | class as u64
}

/// Predefined handles are below this.
pub const PREDEFINED: usize = 0x1000;

/// Returns the name of a predefined handle; O(1).
#[inline]
pub fn name(handle: usize) -> Option<&'static str> {
    static NAMES: LazyLock<Vec<Option<&'static str>>> = LazyLock::new(|| {
        let mut names = vec![None; PREDEFINED];
        HANDLES.iter().for_each(|&(value, name)| names[value] = Some(name));
        names
    });
    if handle < PREDEFINED { NAMES[handle] } else { None }
}

impl<H: Host> TracedObjects<H> {
    /// Makes the objects of a rank that has seen nothing. With `matches`, facts about its requests are kept.
    pub fn new(matches: bool) -> TracedObjects<H> {
        TracedObjects {
            others: None,
            requests: Slots::default(),
            pending: matches.then(Box::default),
            maker: (Function::Init, 0),
            host: PhantomData,
        }
    }

    /// Returns the object behind a handle; one that is seen for the first time gets the next number.
    #[inline]
    pub fn object(&mut self, class: Class, handle: usize) -> ObjectArgument {
        if let Some(name) = name(handle) {
            return ObjectArgument::Named(name);
        }
        let (number, slot) = self.numbers(class, handle);
        ObjectArgument::Made { number, slot }
    }

    /// Returns `true` if an object is among the requests that have a slot and nothing else.
    #[inline]
    fn is_in_slots(&self, class: Class) -> bool {
        class == Class::Request && self.pending.is_none()
    }

    /// Returns the number and the slot of an object; O(objects) where there are few.
    #[inline]
    fn numbers(&mut self, class: Class, handle: usize) -> (u32, u32) {
        if self.is_in_slots(class) {
            let slot = self.requests.number(handle);
            return (slot, slot);
        }
        let key = key(class, handle);
        let known = self.others.as_ref().and_then(|others| others.find(key));
        let TracedObject { number, slot, .. } = known.unwrap_or_else(|| {
            let maker = self.maker;
            self.change(|others| others.add(class, key, maker))
        });
        (number, slot)
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut Others) -> T) -> T {
        let mut others = self.others.take().unwrap_or_default();
        let changed = change(Rc::make_mut(&mut others));
        self.others = Some(others);
        changed
    }

    /// Keeps what has changed with other ranks that have seen the same; O(1) if nothing has.
    #[inline]
    pub fn share(&mut self, known: &mut ObjectSets) {
        if let Some(others) = &mut self.others
            && Rc::strong_count(others) == 1
            && others.many.is_none()
        {
            known.share(others);
        }
    }

    /// Returns the request with this slot, where requests have nothing else.
    #[inline]
    pub fn request(&self, slot: u32) -> Option<usize> {
        self.requests.handle(slot)
    }

    /// Returns what was not freed, in the order in which it was seen; where it is not kept what requests are
    /// for, without these.
    pub fn left_over(&self) -> Vec<Leftover> {
        let mut left: Vec<_> = self
            .others
            .iter()
            .flat_map(|others| others.all())
            .map(|(key, made)| (Class::ALL[(key & 15) as usize], made))
            .collect();
        left.sort_unstable_by_key(|(class, made)| (*class as usize, made.number));
        let told = |(class, made): (Class, TracedObject)| Leftover::Object {
            class,
            function: made.maker.0.name(),
            site: made.maker.1,
        };
        left.into_iter().map(told).collect()
    }

    /// Forgets a handle that has become invalid: whatever has the same value later is another object.
    #[inline]
    pub fn forget(&mut self, class: Class, handle: usize) {
        if self.is_in_slots(class) {
            self.requests.free(handle);
        } else {
            let key = key(class, handle);
            if self.others.as_ref().is_some_and(|others| others.find(key).is_some()) {
                self.change(|others| others.remove(class, key));
            }
            if let Some(pending) = &mut self.pending {
                pending.remove(&key);
            }
        }
        H::forget(class, handle);
    }

    /// Stores the facts about a request or a probed message, with its number filled in, if such facts are
    /// kept.
    #[inline]
    pub fn keep(&mut self, class: Class, handle: usize, what: Pending) {
        let (number, _) = self.numbers(class, handle);
        if let Some(pending) = &mut self.pending {
            pending.insert(key(class, handle), Pending { number, ..what });
        }
    }

    /// Returns `true` if it is kept what requests are for.
    #[inline]
    pub fn keeps_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Returns the slot of a request, which is looked for first behind `last`, another's: programs name them
    /// in the order in which they made them.
    #[inline]
    pub fn request_slot(&mut self, handle: usize, last: u32) -> u32 {
        if self.pending.is_some() {
            return self.numbers(Class::Request, handle).1;
        }
        if self.requests.handle(last + 1) == Some(handle) { last + 1 } else { self.requests.number(handle) }
    }

    /// The request with this slot, where requests have nothing else, is no more, unless it has this handle.
    #[inline]
    pub fn free_unless(&mut self, slot: u32, handle: usize) {
        if let Some(before) = self.requests.handle(slot)
            && before != handle
        {
            self.requests.free_slot(slot);
            H::forget(Class::Request, before);
        }
    }

    /// Returns what is known of a request or a message.
    pub fn pending(&self, class: Class, handle: usize) -> Option<Pending> {
        self.pending.as_ref()?.get(&key(class, handle)).copied()
    }

    /// Returns what a handle of a class says.
    pub fn of_class(&mut self, class: Class, handle: usize) -> Value {
        match class {
            Class::Comm => self.comm(handle),
            Class::Datatype => self.datatype(handle),
            class => Value::Handle(class, self.object(class, handle)),
        }
    }

    /// Returns a communicator; unknown where the handle is none.
    fn comm(&mut self, handle: usize) -> Value {
        match H::membership(handle) {
            Some(comm) => Value::Comm {
                object: self.object(Class::Comm, handle),
                context: Some(comm.context),
                size: comm.size,
                member: comm.member(),
            },
            None => name(handle).map_or(Value::Unknown, |name| Value::Comm {
                object: ObjectArgument::Named(name),
                context: None,
                size: 0,
                member: None,
            }),
        }
    }

    /// Returns a datatype; unknown where the handle is none.
    fn datatype(&mut self, handle: usize) -> Value {
        match H::datatype(handle) {
            Some((size, extent)) => {
                Value::Datatype { object: self.object(Class::Datatype, handle), size, extent }
            }
            None => name(handle).map_or(Value::Unknown, |name| Value::Datatype {
                object: ObjectArgument::Named(name),
                size: 0,
                extent: 0,
            }),
        }
    }
}

/// The base of relative ranks: the caller's rank, and the number of ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelativeBase {
    /// The calling rank.
    pub rank: u32,
    /// Ranks that its messages can go to.
    pub peers: u32,
}

/// Returns the size and the extent of a datatype.
pub fn size_and_extent<H: Host>(datatype: usize) -> [u64; 2] {
    H::datatype(datatype).map_or([0; 2], |(size, extent)| [size, extent as u64])
}

/// A communicator as the calling rank sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Membership {
    /// The context, which identifies the communicator on all ranks.
    pub context: u32,
    /// Members of the (local) group.
    pub size: u32,
    /// Ranks that messages can go to.
    pub peers: u32,
    /// The calling rank; not below `size` if it is no member.
    pub rank: u32,
    /// The rank in the world of rank 0 of the (local) group, and of the group that messages go to.
    pub leaders: (u32, u32),
    /// `true` if messages go to another group.
    pub is_inter: bool,
}

impl Membership {
    /// Returns what the calling rank is in it, if it is a member.
    fn member(&self) -> Option<CommMembership> {
        let Membership { rank, peers, leaders, .. } = *self;
        (rank < self.size).then_some(CommMembership { rank, peers, leaders })
    }
}
