//! Attribute caching (MPI 5.0 section 7.7) on communicators, datatypes and windows.
//!
//! Attributes are a sparse overlay: an object without any costs nothing. The program's copy
//! and delete functions are not called here, because they may call MPI again: the caller takes
//! the list of what to copy or delete, and calls with no table borrowed.

use crate::abi;
use crate::error::{ErrorClass, Failure, Result};
use crate::handles::{Naming, Shared};
use rustc_hash::{FxHashMap, FxHasher};
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Kind of the object that has an attribute or an error handler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A communicator.
    Comm,
    /// A datatype (attributes only).
    Type,
    /// A window.
    Win,
    /// A file (error handlers only).
    File,
    /// A session (error handlers only).
    Session,
}

impl ObjectKind {
    /// Returns the noun in messages.
    pub fn noun(self) -> &'static str {
        match self {
            ObjectKind::Comm => "communicator",
            ObjectKind::Type => "datatype",
            ObjectKind::Win => "window",
            ObjectKind::File => "file",
            ObjectKind::Session => "session",
        }
    }
}

/// The null functions of the standard ABI: `MPI_*_NULL_COPY_FN`, `MPI_*_NULL_DELETE_FN`.
pub const NULL_FN: usize = abi::MPI_COMM_NULL_COPY_FN;
/// The copying function of the standard ABI: `MPI_*_DUP_FN`.
pub const DUP_FN: usize = abi::MPI_COMM_DUP_FN;
/// `MPI_KEYVAL_INVALID`
pub const KEYVAL_INVALID: usize = abi::MPI_KEYVAL_INVALID as usize;

/// Predefined attributes of communicators, with the standard ABI's keys. Their values are the
/// world's: they are no part of this table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(i32)]
#[allow(missing_docs, reason = "the names are MPI's")]
pub enum PredefinedAttribute {
    TagUb = abi::MPI_TAG_UB,
    Io = abi::MPI_IO,
    Host = abi::MPI_HOST,
    WtimeIsGlobal = abi::MPI_WTIME_IS_GLOBAL,
    Appnum = abi::MPI_APPNUM,
    LastUsedCode = abi::MPI_LASTUSEDCODE,
    UniverseSize = abi::MPI_UNIVERSE_SIZE,
    WinBase = abi::MPI_WIN_BASE,
    WinDispUnit = abi::MPI_WIN_DISP_UNIT,
    WinSize = abi::MPI_WIN_SIZE,
    WinCreateFlavor = abi::MPI_WIN_CREATE_FLAVOR,
    WinModel = abi::MPI_WIN_MODEL,
}

impl PredefinedAttribute {
    /// Returns the predefined attribute of a key, if it is one.
    pub fn from_key(key: i32) -> Option<PredefinedAttribute> {
        use PredefinedAttribute::*;
        [
            TagUb,
            Io,
            Host,
            WtimeIsGlobal,
            Appnum,
            LastUsedCode,
            UniverseSize,
            WinBase,
            WinDispUnit,
            WinSize,
            WinCreateFlavor,
            WinModel,
        ]
        .into_iter()
        .find(|&predefined| predefined as i32 == key)
    }
}

/// A key: whose it is, and what to do when its object is duplicated or freed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Keyval {
    /// The kind of object that it fits.
    pub object: ObjectKind,
    /// Address of the copy function, [`NULL_FN`] or [`DUP_FN`].
    pub copy: usize,
    /// Address of the delete function, or [`NULL_FN`].
    pub delete: usize,
    /// The program's `extra_state`.
    pub extra: usize,
    /// Calling convention of the functions; the edge gives it a meaning.
    pub convention: u8,
}

/// An attribute's value, which each language reads in its own way (MPI 5.0 section 19.3.7).
// MPI asks that what one language sets the other can read (MPI 5.0 section 19.3.7); C reads a Fortran integer
// through a pointer, hence its place on the heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttributeValue {
    /// Set in C: a pointer.
    Pointer(usize),
    /// Set in Fortran: an integer, in a place that lasts as long as the attribute.
    Integer(Rc<Cell<i64>>),
}

impl AttributeValue {
    /// Returns a value that is set in Fortran.
    pub fn integer(value: i64) -> AttributeValue {
        AttributeValue::Integer(Rc::new(Cell::new(value)))
    }
    /// Returns what C reads: the pointer, or one to the integer. Its lower half is the `int` that the
    /// deprecated calls of Fortran set.
    pub fn in_c(&self) -> usize {
        match self {
            AttributeValue::Pointer(pointer) => *pointer,
            AttributeValue::Integer(place) => place.as_ptr() as usize,
        }
    }
    /// Returns what Fortran reads: the integer, or the pointer as one.
    pub fn in_fortran(&self) -> i64 {
        match self {
            AttributeValue::Pointer(pointer) => *pointer as i64,
            AttributeValue::Integer(place) => place.get(),
        }
    }
    /// Returns a copy that does not change with this one.
    pub fn duplicate(&self) -> AttributeValue {
        match self {
            AttributeValue::Pointer(pointer) => AttributeValue::Pointer(*pointer),
            AttributeValue::Integer(place) => AttributeValue::integer(place.get()),
        }
    }
}

/// One attribute of an object.
// With its keyval and not only the number: a key may be freed while attributes still have its functions to
// call.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The key that the program uses.
    pub key: i32,
    /// Functions and state with which the key was created; they outlive the key.
    pub keyval: Rc<Keyval>,
    /// The program's value.
    pub value: AttributeValue,
}

/// An object of a rank: kind, number or handle, world rank.
pub type Place = (ObjectKind, u64, u32);

/// Every key and attribute of this process.
pub struct Attributes {
    keys: Shared<Keyval>,
    // By object: duplicating and freeing go through all of an object's attributes in the order in which they
    // were set.
    values: FxHashMap<Place, Vec<Attribute>>,
}

impl Default for Attributes {
    fn default() -> Self {
        Self::new()
    }
}

impl Attributes {
    /// Makes attributes without keys.
    pub fn new() -> Attributes {
        let naming = Naming { noun: "attribute key", class: ErrorClass::KEYVAL, null: KEYVAL_INVALID };
        Attributes { keys: Shared::new(naming), values: FxHashMap::default() }
    }

    /// Implements `MPI_*_create_keyval`.
    pub fn create_key(&mut self, rank: u32, keyval: Keyval) -> Result<i32> {
        let mut hasher = FxHasher::default();
        keyval.hash(&mut hasher);
        self.keys
            .intern(rank, hasher.finish(), |have| *have == keyval, || Ok(Rc::new(keyval)))
            .map(|key| key as i32)
    }

    /// Implements `MPI_*_free_keyval`; attributes with the key stay until they are deleted.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` for a key that is unknown, freed, or of another kind of object.
    pub fn free_key(&mut self, rank: u32, object: ObjectKind, key: i32) -> Result {
        match self.key(rank, object, key) {
            Ok(_) => self.keys.release(rank, key as usize).map(|_| ()),
            // While an attribute keeps the key in use, freeing it again is no error either.
            // O(attributes), and only for a key that is none any more.
            Err(_)
                if self.values.iter().any(|(place, list)| {
                    place.2 == rank && list.iter().any(|attribute| attribute.key == key)
                }) =>
            {
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Returns what a key was made with.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` for a key that is unknown, freed, predefined, or of another kind of object.
    pub fn key(&self, rank: u32, object: ObjectKind, key: i32) -> Result<&Rc<Keyval>> {
        if PredefinedAttribute::from_key(key).is_some() {
            return Err(Failure::new(
                ErrorClass::KEYVAL,
                format!("{key} is the key of a predefined attribute, which cannot be changed"),
            ));
        }
        let keyval = self.keys.held(rank, key as u32 as usize)?;
        if keyval.object != object {
            let (have, want) = (keyval.object.noun(), object.noun());
            return Err(Failure::new(
                ErrorClass::KEYVAL,
                format!("attribute key {key} is for a {have}; pass one made for a {want}"),
            ));
        }
        Ok(keyval)
    }

    /// The value of an attribute, if it is set. A freed key serves as long as the attribute is set
    /// (MPI 5.0 section 7.7.2, on `MPI_Comm_free_keyval`).
    ///
    /// # Errors
    /// As for [`key`](Self::key).
    // Whether the key exists is asked second: an attribute that is there proves that it did.
    pub fn get(&self, place: Place, key: i32) -> Result<Option<&Attribute>> {
        let found =
            self.values.get(&place).and_then(|list| list.iter().find(|attribute| attribute.key == key));
        if found.is_none() {
            self.key(place.2, place.0, key)?;
        }
        Ok(found)
    }

    /// Returns an attribute of an object as it is set, whether its key is freed or not.
    pub fn find(&self, place: Place, key: i32) -> Option<&Attribute> {
        self.values.get(&place)?.iter().find(|attribute| attribute.key == key)
    }

    /// Sets an attribute. A value that was set before must have been deleted by its function
    /// first; it is then replaced, and counts as set now.
    ///
    /// # Errors
    /// As for [`key`](Self::key).
    pub fn set(&mut self, place: Place, key: i32, value: AttributeValue) -> Result {
        let keyval = match self.get(place, key)? {
            Some(attribute) => attribute.keyval.clone(),
            None => self.key(place.2, place.0, key)?.clone(),
        };
        let list = self.values.entry(place).or_default();
        // At the end again: what is set last is deleted first.
        list.retain(|attribute| attribute.key != key);
        list.push(Attribute { key, keyval, value });
        Ok(())
    }

    /// Sets a copied attribute whose key may have been freed since.
    pub fn set_copy(&mut self, place: Place, source: &Attribute, value: AttributeValue) {
        self.values.entry(place).or_default().push(Attribute { value, ..source.clone() });
    }

    /// Forgets an attribute, after its delete function succeeded.
    pub fn remove(&mut self, place: Place, key: i32) {
        if let Some(list) = self.values.get_mut(&place) {
            list.retain(|attribute| attribute.key != key);
            if list.is_empty() {
                self.values.remove(&place);
            }
        }
    }

    /// Returns `true` if no object of any rank has one.
    #[inline]
    pub fn are_none(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the attributes of an object in the order in which they were set: copy in this order,
    /// delete in the reverse (as MPI 5.0 section 11.2.4 asks for `MPI_COMM_SELF`).
    pub fn list(&self, place: Place) -> Vec<Attribute> {
        if self.values.is_empty() { Vec::new() } else { self.values.get(&place).cloned().unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyval(object: ObjectKind) -> Keyval {
        Keyval { object, copy: DUP_FN, delete: NULL_FN, extra: 0, convention: 0 }
    }

    #[test]
    fn attributes_are_each_ranks_own_and_listed_as_set() {
        let mut attributes = Attributes::new();
        let a = attributes.create_key(0, keyval(ObjectKind::Comm)).unwrap();
        let b = attributes.create_key(0, keyval(ObjectKind::Comm)).unwrap();
        assert_eq!(attributes.create_key(1, keyval(ObjectKind::Comm)).unwrap(), a);
        assert_ne!(a, b);
        let place = (ObjectKind::Comm, 7, 0);
        attributes.set(place, a, AttributeValue::Pointer(10)).unwrap();
        attributes.set(place, b, AttributeValue::Pointer(20)).unwrap();
        attributes.set(place, a, AttributeValue::Pointer(30)).unwrap();
        assert_eq!(
            attributes.list(place).iter().map(|x| (x.key, x.value.in_c())).collect::<Vec<_>>(),
            [(b, 20), (a, 30)]
        );
        assert!(attributes.get((ObjectKind::Comm, 7, 1), a).unwrap().is_none());
        attributes.remove(place, b);
        assert!(attributes.get(place, b).unwrap().is_none());
    }

    #[test]
    fn each_language_reads_a_value_in_its_own_way() {
        let (set_in_c, set_in_fortran) = (AttributeValue::Pointer(0x1000), AttributeValue::integer(-7));
        assert_eq!((set_in_c.in_c(), set_in_c.in_fortran()), (0x1000, 0x1000));
        assert_eq!(set_in_fortran.in_fortran(), -7);
        let copy = set_in_fortran.duplicate();
        assert_eq!(copy, set_in_fortran);
        assert_ne!(copy.in_c(), set_in_fortran.in_c());
        assert_eq!(set_in_fortran.clone().in_c(), set_in_fortran.in_c());
    }

    #[test]
    fn a_freed_key_leaves_its_attributes() {
        let mut attributes = Attributes::new();
        let key = attributes.create_key(0, keyval(ObjectKind::Type)).unwrap();
        let place = (ObjectKind::Type, 0x1000, 0);
        attributes.set(place, key, AttributeValue::Pointer(5)).unwrap();
        attributes.free_key(0, ObjectKind::Type, key).unwrap();
        assert!(attributes.get(place, key).unwrap().is_some());
        assert!(attributes.get((ObjectKind::Type, 0x1002, 0), key).is_err());
        attributes.free_key(0, ObjectKind::Type, key).unwrap();
        let list = attributes.list(place);
        attributes.set_copy((ObjectKind::Type, 0x1001, 0), &list[0], AttributeValue::integer(6));
        assert_eq!(attributes.list((ObjectKind::Type, 0x1001, 0))[0].value, AttributeValue::integer(6));
    }

    #[test]
    fn keys_fit_one_kind_of_object() {
        let mut attributes = Attributes::new();
        let key = attributes.create_key(0, keyval(ObjectKind::Win)).unwrap();
        assert!(
            attributes
                .set((ObjectKind::Comm, 0, 0), key, AttributeValue::integer(1))
                .unwrap_err()
                .text
                .contains("window")
        );
        assert_eq!(attributes.get((ObjectKind::Comm, 0, 0), 0).unwrap_err().class, ErrorClass::KEYVAL);
        assert!(
            attributes
                .set((ObjectKind::Comm, 0, 0), 501, AttributeValue::integer(1))
                .unwrap_err()
                .text
                .contains("predefined")
        );
        assert!(attributes.key(0, ObjectKind::Comm, -5).is_err());
    }
}
