//! The objects of one rank by name or number. Handles are reused and differ from one number of processes to another; numbers count
//! what the rank has seen.

use super::HANDLES;
use crate::state;
use observe::recorder::{Class, Object, Value};
use rustc_hash::FxHashMap;

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
#[derive(Default)]
pub struct Objects {
    numbers: FxHashMap<(Class, usize), u32>,
    counts: FxHashMap<Class, u32>,
    pending: FxHashMap<(Class, usize), Pending>,
}

/// The name of a predefined handle.
pub fn name(handle: usize) -> Option<&'static str> {
    HANDLES.binary_search_by_key(&handle, |&(value, _)| value).ok().map(|index| HANDLES[index].1)
}

impl Objects {
    /// The object behind a handle; one that is seen for the first time gets the next number.
    pub fn object(&mut self, class: Class, handle: usize) -> Object {
        name(handle).map_or_else(|| Object::Number(self.number(class, handle)), Object::Named)
    }

    /// The number of an object.
    pub fn number(&mut self, class: Class, handle: usize) -> u32 {
        let count = self.counts.entry(class).or_default();
        *self.numbers.entry((class, handle)).or_insert_with(|| {
            *count += 1;
            *count
        })
    }

    /// A handle has become invalid: whatever has the same value later is another object.
    pub fn forget(&mut self, class: Class, handle: usize) {
        self.numbers.remove(&(class, handle));
        self.pending.remove(&(class, handle));
    }

    /// What a request or a message is has become known.
    pub fn keep(&mut self, class: Class, handle: usize, pending: Pending) {
        self.pending.insert((class, handle), pending);
    }

    /// What is known of a request or a message.
    pub fn pending(&self, class: Class, handle: usize) -> Option<Pending> {
        self.pending.get(&(class, handle)).copied()
    }

    /// A communicator; unknown where the handle is none.
    pub fn comm(&mut self, handle: usize) -> Value {
        let known = state::mpi().world().objects.comms.get(handle).ok().map(|comm| (comm.context, comm.size()));
        match known {
            Some((context, size)) => Value::Comm { object: self.object(Class::Comm, handle), context: Some(context), size },
            None => name(handle).map_or(Value::Unknown, |name| Value::Comm { object: Object::Named(name), context: None, size: 0 }),
        }
    }

    /// A datatype; unknown where the handle is none.
    pub fn datatype(&mut self, handle: usize) -> Value {
        let known = state::mpi().world().objects.types.get(handle).ok().map(|datatype| (datatype.size, datatype.extent()));
        match known {
            Some((size, extent)) => Value::Datatype { object: self.object(Class::Datatype, handle), size, extent },
            None => name(handle).map_or(Value::Unknown, |name| Value::Datatype { object: Object::Named(name), size: 0, extent: 0 }),
        }
    }
}

/// The context of a communicator.
pub fn context(comm: usize) -> Option<u32> {
    state::mpi().world().objects.comms.get(comm).ok().map(|comm| comm.context)
}

/// The world rank of a source in a communicator of the mounted rank.
pub fn source(comm: usize, source: i32) -> Option<u32> {
    let world = state::mpi().world();
    world.objects.comms.get(comm).ok()?.peer(source, world.messages.me(), "source").ok()
}
