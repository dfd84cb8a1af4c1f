//! Views (MPI 5.0 section 14.3): which bytes of a file a rank sees, and where they lie.

use crate::representation::Representation;
use objects::Objects;
use objects::datatype::Datatype;
use objects::datatype::layout::Sink;
use objects::datatype::predefined::BYTE;
use objects::error::{ErrorClass, Failure, Result};
use std::rc::Rc;

/// A view: of the file from `disp` on, tiled with filetypes, the data of these; positions in it are bytes of
/// that data, as they lie in the file.
pub struct View {
    /// Bytes of the file before it.
    pub(crate) disp: u64,
    /// The datatype as the program gave it.
    pub(crate) etype: Rc<Datatype>,
    pub(crate) filetype: Rc<Datatype>,
    /// Data representation in the file.
    pub(crate) representation: Representation,
    /// Bytes of an etype in the file.
    pub(crate) unit: u64,
    /// The filetype as it lies in the file.
    tile: Rc<Datatype>,
}

/// Arguments of `MPI_File_set_view`; datatypes are handles.
#[derive(Clone)]
pub struct NewView<'a> {
    /// Bytes, or `MPI_DISPLACEMENT_CURRENT`.
    pub disp: i64,
    /// Datatype in which accesses count.
    pub etype: usize,
    /// Datatype with which the file is tiled.
    pub filetype: usize,
    /// The data representation's name.
    pub datarep: &'a str,
}

impl View {
    /// Returns the view of the file as bytes, as it is after opening.
    pub(crate) fn plain(objects: &Objects) -> View {
        let byte = objects.types.get(BYTE).expect("MPI_BYTE is predefined").clone();
        let representation = Representation::Native;
        View { disp: 0, etype: byte.clone(), filetype: byte.clone(), representation, unit: 1, tile: byte }
    }

    /// Makes a view of these datatypes, in this representation; `writes` where the file may be written, so
    /// that its data may not overlap.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` for an etype without data or a filetype that is not made of etypes; `MPI_ERR_IO`, as
    /// ROMIO has it, where displacements are negative or descend.
    pub(crate) fn new(
        objects: &Objects,
        disp: u64,
        etype: Rc<Datatype>,
        filetype: Rc<Datatype>,
        representation: Representation,
        writes: bool,
    ) -> Result<View> {
        let (unit, tile) =
            (representation.in_file(objects, &etype)?.size, representation.in_file(objects, &filetype)?);
        if unit == 0 {
            return Err(wrong("the etype has no data: give one of at least a byte"));
        }
        if !tile.size.is_multiple_of(unit) {
            return Err(wrong(format!(
                "the filetype has {} bytes of data, which is no multiple of the etype's {unit}",
                tile.size
            )));
        }
        for (what, datatype) in [("etype", &etype), ("filetype", &filetype)] {
            let mut order = Order { end: 0, begin: 0, writes, wrong: None };
            let datatype = representation.in_file(objects, datatype)?;
            datatype.walk(1, &mut order);
            if datatype.size != 0 && datatype.extent() < 0 {
                order.wrong = Some("its extent is negative");
            }
            if let Some(why) = order.wrong {
                return Err(Failure::new(ErrorClass::IO, format!("the {what} cannot tile a file: {why}")));
            }
        }
        Ok(View { disp, etype, filetype, representation, unit, tile })
    }

    /// Returns what `MPI_File_get_view` tells: displacement, etype, filetype, and the representation's name.
    pub fn arguments(&self) -> (u64, &Rc<Datatype>, &Rc<Datatype>, &str) {
        (self.disp, &self.etype, &self.filetype, self.representation.name())
    }

    /// Implements `MPI_File_get_type_extent`. Returns the extent of a datatype in the file.
    ///
    /// # Errors
    /// What is no datatype with the file's sizes.
    pub fn extent_of(&self, objects: &Objects, datatype: &Rc<Datatype>) -> Result<i64> {
        Ok(self.representation.in_file(objects, datatype)?.extent())
    }

    /// Returns `true` if the view has any data.
    pub(crate) fn is_empty(&self) -> bool {
        self.tile.size == 0
    }

    /// Returns `true` if its bytes lie side by side in the file.
    pub(crate) fn is_dense(&self) -> bool {
        self.tile.contiguous
    }

    /// Returns the byte of the file at which the view begins, if its bytes are those from there on.
    #[inline]
    pub(crate) fn successive(&self) -> Option<u64> {
        (self.tile.contiguous && !self.is_empty() && self.representation.is_plain()).then_some(self.disp)
    }

    /// Calls `f(byte of the file, bytes)` for each piece of the view's bytes `from..from + bytes`, ascending;
    /// pieces that touch are one. O(pieces).
    pub(crate) fn pieces(&self, from: u64, bytes: u64, f: &mut dyn FnMut(u64, u64)) {
        if bytes == 0 || self.is_empty() {
            return;
        }
        if self.tile.contiguous {
            return f(self.disp.saturating_add(from), bytes);
        }
        let mut joined = BlockMerger { disp: self.disp, open: None, f };
        self.tile.walk_range(from..from + bytes, &mut joined);
        joined.end();
    }

    /// Returns the byte of the file at which the view's byte `at` lies.
    pub(crate) fn place(&self, at: u64) -> u64 {
        let mut first = self.disp;
        self.pieces(at, 1, &mut |place, _| first = place);
        first
    }

    /// Returns the first etype that begins at byte `end` of the file or behind: O(log^2) by bisection, as
    /// places ascend.
    pub(crate) fn etypes_before(&self, end: u64) -> u64 {
        if self.is_empty() || end <= self.disp {
            return 0;
        }
        // Data is no denser than bytes: as many etypes would fill the file.
        let (mut low, mut high) = (0, end / self.unit + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.place(middle * self.unit) >= end { high = middle } else { low = middle + 1 }
        }
        low
    }
}

#[cold]
fn wrong(text: impl Into<String>) -> Box<Failure> {
    Failure::new(ErrorClass::TYPE, text)
}

/// Joins blocks that touch.
struct BlockMerger<'a> {
    disp: u64,
    open: Option<(u64, u64)>,
    f: &'a mut dyn FnMut(u64, u64),
}

impl BlockMerger<'_> {
    fn end(&mut self) {
        if let Some((at, len)) = self.open.take() {
            (self.f)(at, len);
        }
    }
}

impl Sink for BlockMerger<'_> {
    fn block(&mut self, at: i64, len: u64) {
        let at = self.disp.wrapping_add_signed(at);
        match &mut self.open {
            Some((begin, length)) if *begin + *length == at => *length += len,
            _ => {
                self.end();
                self.open = Some((at, len));
            }
        }
    }
}

/// Looks whether blocks ascend.
struct Order {
    begin: i64,
    end: i64,
    writes: bool,
    wrong: Option<&'static str>,
}

impl Sink for Order {
    fn block(&mut self, at: i64, len: u64) {
        if at < 0 {
            self.wrong = Some("it has a negative displacement");
        } else if at < self.begin {
            self.wrong = Some("its displacements descend");
        } else if self.writes && at < self.end {
            self.wrong = Some("its data overlaps, and the file is open for writing");
        }
        (self.begin, self.end) = (at, at.saturating_add_unsigned(len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use objects::comm::Comms;
    use objects::datatype::Constructor;
    use objects::info::Info;
    use proptest::prelude::*;

    fn objects() -> Objects {
        Objects::new(Comms::new(1, (0, 1), (0, 1)), Info::default())
    }

    /// Blocks of etypes with gaps between them, and a hole at the end.
    fn filetype(
        objects: &Objects,
        unit: u64,
        blocks: &[(i64, i64)],
        hole: i64,
    ) -> (Rc<Datatype>, Rc<Datatype>, Vec<u64>, u64) {
        let byte = objects.types.get(BYTE).unwrap().clone();
        let etype =
            Datatype::new(Constructor::Contiguous { count: unit as i64, old: byte.into(), large: false })
                .unwrap();
        let (mut at, mut displacements, mut lengths, mut map) = (0, Vec::new(), Vec::new(), Vec::new());
        for &(gap, length) in blocks {
            at += gap;
            displacements.push(at);
            lengths.push(length);
            map.extend((at as u64)..(at + length * unit as i64) as u64);
            at += length * unit as i64;
        }
        let indexed = Constructor::Hindexed {
            blocklengths: lengths.into(),
            displacements: displacements.into(),
            old: etype.clone().into(),
            large: false,
        };
        let old = Datatype::new(indexed).unwrap();
        let tile =
            Datatype::new(Constructor::Resized { lb: 0, extent: at + hole, old: old.into(), large: false })
                .unwrap();
        (etype, tile, map, (at + hole) as u64)
    }

    proptest! {
        #[test]
        fn a_view_sees_the_bytes_of_a_plain_map(
            unit in 1u64..9,
            blocks in prop::collection::vec((0i64..6, 0i64..4), 1..6),
            hole in 0i64..7,
            disp in 0u64..20,
            range in (0u64..200, 0u64..90),
            end in 0u64..400,
        ) {
            let objects = objects();
            let (etype, tile, map, extent) = filetype(&objects, unit, &blocks, hole);
            prop_assume!(!map.is_empty());
            let view = View::new(&objects, disp, etype, tile, Representation::Native, true).unwrap();
            // The model: every byte of the view by itself.
            let place =
                |at: u64| disp + at / map.len() as u64 * extent + map[(at % map.len() as u64) as usize];
            let mut seen = Vec::new();
            let mut before = None;
            view.pieces(range.0, range.1, &mut |at, len| {
                assert!(before.is_none_or(|end| end != at), "pieces that touch are one");
                before = Some(at + len);
                seen.extend(at..at + len);
            });
            prop_assert_eq!(seen, (range.0..range.0 + range.1).map(place).collect::<Vec<_>>());
            prop_assert_eq!(view.place(range.0), place(range.0));
            let first = (0..).find(|etype| place(etype * unit) >= end).unwrap();
            prop_assert_eq!(view.etypes_before(end), first);
        }
    }

    #[test]
    fn a_filetype_that_cannot_tile_a_file_is_refused() {
        let objects = objects();
        let byte = objects.types.get(BYTE).unwrap().clone();
        let blocks = |displacements: &[i64]| {
            let constructor = Constructor::HindexedBlock {
                blocklength: 4,
                displacements: displacements.into(),
                old: byte.clone().into(),
                large: false,
            };
            Datatype::new(constructor).unwrap()
        };
        let int = objects.types.get(objects::datatype::predefined::INT).unwrap().clone();
        let view = |filetype, writes| {
            View::new(&objects, 0, int.clone(), filetype, Representation::Native, writes).map(|_| ())
        };
        for (displacements, word) in [(&[-4, 8][..], "negative"), (&[8, 0], "descend"), (&[0, 2], "overlaps")]
        {
            let failure = view(blocks(displacements), true).unwrap_err();
            assert!(failure.class == ErrorClass::IO && failure.text.contains(word), "{failure}");
        }
        assert!(
            view(blocks(&[0, 2]), false).is_ok()
                && view(byte.clone(), true).unwrap_err().text.contains("multiple")
        );
    }
}
