//! Comparison of the type signatures with which messages are sent and received (MPI 5.0 section 3.3.1), made
//! while a recorder wants to know (`-xsim-check`).
//!
//! Nothing of it changes a virtual time: messages go as they would, but each brings along what it was sent
//! as. While nobody wants to know there is nothing of it, and the branches that ask are those of
//! [`crate::waits`].

mod comparing;
pub mod members;
pub(crate) mod sends;

use members::Members;
use objects::Objects;
use objects::datatype::{Datatype, Signature, predefined};
use recorder::Finding;
use rustc_hash::FxHashMap;
use sends::Sends;
pub use sends::SentMessage;

/// A unit of a buffer's elements: of a datatype whose elements are all alike one of these, else one instance.
// Elements where that is possible: then any number of bytes is a whole number of them, and a receive with
// room left over can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Unit {
    signature: Signature,
    /// Bytes.
    size: u64,
    /// The datatype's identity: a predefined datatype's handle, or minus the combiner of one that the program
    /// made.
    name: i32,
}

impl Unit {
    fn of(datatype: &Datatype) -> Unit {
        let name = match datatype.constructor {
            objects::datatype::Constructor::Named(handle) => handle as i32,
            ref made => -made.combiner(),
        };
        let (signature, size) = datatype.alike().unwrap_or((datatype.signature, datatype.size));
        Unit { signature, size, name }
    }

    /// Returns `true` if `bytes` sent as these may be received as those; what holds no whole number of them
    /// cannot be told.
    fn matches(&self, other: &Unit, bytes: u64) -> bool {
        if self.signature == other.signature || self.size == 0 || other.size == 0 {
            return true;
        }
        if !bytes.is_multiple_of(self.size) || !bytes.is_multiple_of(other.size) {
            return true;
        }
        self.signature.times(bytes / self.size).matches(other.signature.times(bytes / other.size))
    }

    fn called(&self) -> String {
        match usize::try_from(self.name) {
            Ok(handle) => predefined::name(handle).unwrap_or("a datatype").to_owned(),
            Err(_) => match objects::datatype::combiner_name(-self.name) {
                Some(name) => format!("a datatype of MPI_Type_{name}"),
                None => "a datatype".to_owned(),
            },
        }
    }
}

/// Type, rank, function and call site with which a node's message was sent, or with which its receive was
/// posted.
#[derive(Clone, Copy, Default, Debug)]
struct Use {
    /// The number of its unit; 0: nobody has said, as of messages within collectives.
    unit: u32,
    rank: u32,
    site: u32,
    /// The number of a message.
    number: u32,
    function: u16,
}

/// The types of messages under way and of the receives that wait for them.
#[derive(Default)]
pub struct Types {
    /// By number, from 1 on.
    units: Vec<Unit>,
    numbers: FxHashMap<Unit, u32>,
    /// Numbers of the units of predefined datatypes, by handle.
    // Nearly all messages are of these, which so are not hashed.
    predefined: Vec<u32>,
    /// The message that is about to be delivered.
    sending: Use,
    /// By node. Of nodes that nobody spoke of there is what was there before.
    nodes: Vec<Use>,
    /// Call site of the pending call.
    site: u32,
    members: Members,
    sends: Sends,
    found: Vec<Finding>,
}

impl Types {
    /// Notes the receiver of the next message.
    #[inline]
    pub(crate) fn send_to(&mut self, to: u32) {
        self.sends.send_to(to);
    }

    fn number(&mut self, unit: Unit) -> u32 {
        let units = &mut self.units;
        *self.numbers.entry(unit).or_insert_with(|| {
            units.push(unit);
            units.len() as u32
        })
    }

    #[inline]
    fn number_of(&mut self, objects: &Objects, datatype: usize) -> u32 {
        match self.predefined.get(datatype) {
            Some(&number) if number != 0 => number,
            _ => self.number_of_any(objects, datatype),
        }
    }

    #[inline(never)]
    fn number_of_any(&mut self, objects: &Objects, datatype: usize) -> u32 {
        let Ok(kind) = objects.types.get(datatype) else { return 0 };
        let number = self.number(Unit::of(kind));
        if kind.is_predefined() {
            self.predefined.resize(self.predefined.len().max(datatype + 1), 0);
            self.predefined[datatype] = number;
        }
        number
    }

    #[inline]
    fn keep(&mut self, node: u32, what: Use) {
        match self.nodes.get_mut(node as usize) {
            Some(place) => *place = what,
            None => self.keep_beyond(node, what),
        }
    }

    #[cold]
    #[inline(never)]
    fn keep_beyond(&mut self, node: u32, what: Use) {
        self.nodes.resize(node as usize + 1, Use::default());
        self.nodes[node as usize] = what;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use objects::datatype::predefined::{BYTE, DOUBLE, FLOAT, INT};
    use objects::datatype::{Constructor, Old, Types as Datatypes};

    fn unit(types: &Datatypes, handle: usize) -> Unit {
        Unit::of(types.get(handle).unwrap())
    }

    #[test]
    fn elements_that_are_alike_match_in_any_number() {
        let mut types = Datatypes::new();
        let int = types.get(INT).unwrap().clone();
        let four =
            types.create(0, Constructor::Contiguous { count: 4, old: int.into(), large: false }).unwrap();
        let (int, four, float, byte) =
            (unit(&types, INT), unit(&types, four), unit(&types, FLOAT), unit(&types, BYTE));
        assert!(int.matches(&four, 12) && four.matches(&int, 4), "three of four, one of four");
        assert!(!int.matches(&float, 12) && !float.matches(&four, 16));
        assert!(byte.matches(&float, 12) && int.matches(&byte, 12), "bytes match anything");
        assert_eq!(
            (int.called().as_str(), four.called().as_str()),
            ("MPI_INT", "a datatype of MPI_Type_contiguous")
        );
    }

    #[test]
    fn records_are_compared_where_whole_ones_were_sent() {
        let mut types = Datatypes::new();
        let mut record = |first: usize| {
            let parts = [first, DOUBLE].map(|handle| Old::from(types.get(handle).unwrap()));
            let made = Constructor::Struct {
                blocklengths: Box::from([1i64, 1]),
                displacements: Box::from([0i64, 8]),
                types: Box::from(parts),
                large: false,
            };
            let handle = types.create(0, made).unwrap();
            unit(&types, handle)
        };
        let (ints, floats) = (record(INT), record(FLOAT));
        assert!(ints.matches(&ints, 24) && !ints.matches(&floats, 24));
        assert!(ints.matches(&floats, 4), "a part of one says nothing");
    }
}
