//! Values by number, each kept once: the dictionaries of a trace, and what ranks share while it is recorded.

use crate::codec::{Put, Reader, Result};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use std::borrow::Borrow;
use std::hash::Hash;

/// Values that differ, each by its place from 0: the order in which they came.
#[derive(Clone, Debug)]
pub struct Dictionary<T>(IndexSet<T, FxBuildHasher>);

/// Texts by their places.
pub type Names = Dictionary<String>;

impl<T> Default for Dictionary<T> {
    fn default() -> Dictionary<T> {
        Dictionary(IndexSet::default())
    }
}

/// Equal values in equal places: a set alone would not look at the order, which is what numbers mean.
impl<T: PartialEq> PartialEq for Dictionary<T> {
    fn eq(&self, other: &Dictionary<T>) -> bool {
        self.0.iter().eq(&other.0)
    }
}

impl<T: Eq> Eq for Dictionary<T> {}

impl<T: Hash + Eq> Dictionary<T> {
    /// Returns the place of a value, which is added behind the others if it is new; O(1).
    ///
    /// # Panics
    /// At the 2^32nd value.
    pub fn place(&mut self, value: T) -> u32 {
        numbered(self.0.insert_full(value).0)
    }

    /// Returns the place of a value that is there; O(1).
    #[inline]
    pub fn find<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> Option<u32>
    where
        T: Borrow<Q>,
    {
        self.0.get_index_of(value).map(numbered)
    }

    /// Returns the place of a value that is copied only if it is new; O(1).
    ///
    /// # Panics
    /// At the 2^32nd value.
    pub fn place_of<Q: Hash + Eq + ?Sized>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q> + for<'a> From<&'a Q>,
    {
        let known = self.0.get_index_of(value);
        numbered(known.unwrap_or_else(|| self.0.insert_full(T::from(value)).0))
    }
}

fn numbered(place: usize) -> u32 {
    u32::try_from(place).expect("a trace has fewer than 2^32 values of a kind")
}

impl<T> Dictionary<T> {
    /// Returns the value in a place.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, place: u32) -> &T {
        &self.0[place as usize]
    }
    /// Returns all values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.0.iter()
    }
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Returns `true` if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Returns all values in order, as they are.
    pub fn into_values(self) -> impl ExactSizeIterator<Item = T> {
        self.0.into_iter()
    }
}

impl<T: Hash + Eq> FromIterator<T> for Dictionary<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Dictionary<T> {
        Dictionary(values.into_iter().collect())
    }
}

/// Appends texts, for [`Names::read`].
pub fn write_texts(texts: impl ExactSizeIterator<Item = impl AsRef<str>>, bytes: &mut Vec<u8>) {
    bytes.number(texts.len() as u64);
    texts.for_each(|text| bytes.text(text.as_ref()));
}

impl Names {
    /// Appends them.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        write_texts(self.iter(), bytes);
    }

    /// Reads what [`Names::write`] wrote.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader) -> Result<Names> {
        let count = reader.count(1, "names")?;
        (0..count).map(|_| reader.text().map(str::to_owned)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_first_coming() {
        let mut names = Names::default();
        assert_eq!(["b", "a", "b"].map(|name| names.place_of(name)), [0, 1, 0]);
        assert_eq!((names.place("c".into()), names.get(1).as_str(), names.len()), (2, "a", 3));
        let other = ["a", "b", "c"].map(str::to_owned).into_iter().collect();
        assert_ne!(names, other, "other places");
        let mut bytes = Vec::new();
        names.write(&mut bytes);
        assert_eq!(Names::read(&mut Reader::new(&bytes)).unwrap(), names);
    }
}
