//! Amounts of a type in packed bytes: instances, basic elements, and back.

use super::Datatype;
use super::constructor::Constructor;
use super::kind::Element;
use std::ops::Range;

impl Datatype {
    /// Returns how many instances `bytes` packed bytes are (`MPI_Get_count`); none for a fraction.
    pub fn count_of(&self, bytes: u64) -> Option<u64> {
        match (self.size, bytes) {
            (0, 0) => Some(0),
            (0, _) => None,
            (size, bytes) => bytes.is_multiple_of(size).then(|| bytes / size),
        }
    }

    /// Returns how many basic elements `bytes` packed bytes are (`MPI_Get_elements`); none where they end
    /// within an element.
    pub fn elements(&self, bytes: u64) -> Option<u64> {
        match (self.size, bytes) {
            (0, 0) => Some(0),
            (0, _) => None,
            (size, bytes) => {
                Some((bytes / size).saturating_mul(self.element_count) + self.elements_within(bytes % size)?)
            }
        }
    }

    /// Counts as [`elements`](Self::elements) does, for the beginning of one instance.
    // By the constructor and not by the type map: O(depth of nesting), however many elements a type has.
    fn elements_within(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        match &self.constructor {
            Constructor::Struct { blocklengths, types, .. } => {
                let (mut rest, mut elements) = (bytes, 0);
                for (&length, old) in blocklengths.iter().zip(types) {
                    let field = old.size * length as u64;
                    if rest < field {
                        return Some(elements + old.elements(rest)?);
                    }
                    rest -= field;
                    elements += old.element_count * length as u64;
                }
                Some(elements)
            }
            constructor => match (constructor.datatypes().first(), self.element) {
                (Some(old), _) => old.elements(bytes),
                (None, Some(Element::Pair(value, _))) if bytes == value.size() => Some(1),
                (None, _) => (bytes == self.size).then_some(self.element_count),
            },
        }
    }

    /// Returns the packed bytes of the first `elements` basic elements (`MPI_Status_set_elements`);
    /// none beyond 64 bits.
    pub fn bytes_of_elements(&self, elements: u64) -> Option<u64> {
        if self.element_count == 0 {
            return (elements == 0).then_some(0);
        }
        let (whole, mut rest) = (elements / self.element_count, elements % self.element_count);
        let mut bytes = self.size.checked_mul(whole)?;
        if rest != 0 {
            match &self.constructor {
                Constructor::Struct { blocklengths, types, .. } => {
                    for (&length, old) in blocklengths.iter().zip(types) {
                        let field = rest.min(old.element_count * length as u64);
                        bytes = bytes.checked_add(old.bytes_of_elements(field)?)?;
                        rest -= field;
                    }
                }
                constructor => {
                    let part = match (constructor.datatypes().first(), self.element) {
                        (Some(old), _) => old.bytes_of_elements(rest)?,
                        (None, Some(Element::Pair(value, _))) => value.size(),
                        (None, _) => self.size,
                    };
                    bytes = bytes.checked_add(part)?;
                }
            }
        }
        Some(bytes)
    }

    /// Returns which packed range holds the instances `range`.
    pub fn packed_range(&self, range: Range<u64>) -> Range<u64> {
        range.start * self.size..range.end * self.size
    }
}
