//! Datatypes of a recording: made again where views of files are made of them.

use super::arguments::{Arguments, RecordedType, Refused};
use super::{Cursor, Refusal, Replay};
use crate::call::Call;
use crate::file::{TypeCall, TypeLayout, TypeName, TypeShape};
use crate::workload::Caller;
use trace::trace::Cell;

/// A call that makes or frees a datatype.
#[derive(Debug)]
pub(super) struct RecordedLayout {
    number: Cell,
    /// `None` where it is freed.
    made: Option<RecordedShape>,
}

/// A constructor, its numbers and its datatypes.
type RecordedShape = (TypeShape, Box<[RecordedNumbers]>, Box<[RecordedType]>);

/// An argument of a constructor.
#[derive(Debug)]
enum RecordedNumbers {
    Plain(Box<[Cell]>),
    /// A rank, as [`trace::template::Peer`] has it.
    Rank(Cell),
}

/// The arguments of constructors that are numbers, in their order.
const CONSTRUCTORS: [(&str, TypeShape, &[&str]); 15] = [
    ("Type_dup", TypeShape::Dup, &[]),
    ("Type_contiguous", TypeShape::Contiguous, &["count"]),
    ("Type_vector", TypeShape::Vector, &["count", "blocklength", "stride"]),
    ("Type_create_hvector", TypeShape::Hvector, &["count", "blocklength", "stride"]),
    ("Type_indexed", TypeShape::Indexed, &["array_of_blocklengths", "array_of_displacements"]),
    ("Type_create_hindexed", TypeShape::Hindexed, &["array_of_blocklengths", "array_of_displacements"]),
    ("Type_create_indexed_block", TypeShape::IndexedBlock, &["blocklength", "array_of_displacements"]),
    ("Type_create_hindexed_block", TypeShape::HindexedBlock, &["blocklength", "array_of_displacements"]),
    ("Type_create_struct", TypeShape::Struct, &["array_of_blocklengths", "array_of_displacements"]),
    (
        "Type_create_subarray",
        TypeShape::Subarray,
        &["array_of_sizes", "array_of_subsizes", "array_of_starts", "order"],
    ),
    (
        "Type_create_darray",
        TypeShape::Darray,
        &[
            "size",
            "rank",
            "array_of_gsizes",
            "array_of_distribs",
            "array_of_dargs",
            "array_of_psizes",
            "order",
        ],
    ),
    ("Type_create_resized", TypeShape::Resized, &["lb", "extent"]),
    ("Type_create_f90_real", TypeShape::F90Real, &["p", "r"]),
    ("Type_create_f90_complex", TypeShape::F90Complex, &["p", "r"]),
    ("Type_create_f90_integer", TypeShape::F90Integer, &["r"]),
];

/// Returns what a function is that makes or frees a datatype; `None` of another, and of one that made none.
pub(super) fn layout(call: &Arguments, name: &str) -> Result<Option<RecordedLayout>, Refused> {
    if name == "Type_free" {
        return Ok(match call.types("datatype")?[..] {
            [RecordedType::Made(number)] => Some(RecordedLayout { number, made: None }),
            _ => None,
        });
    }
    let Some((_, shape, names)) = CONSTRUCTORS.iter().find(|(known, ..)| *known == name) else {
        return Ok(None);
    };
    let made = call.types("newtype").unwrap_or_default();
    let [RecordedType::Made(number)] = made[..] else { return Ok(None) };
    let numbers = |name: &&str| -> Result<RecordedNumbers, Refused> {
        if *name == "rank" {
            return call.known(name).map(RecordedNumbers::Rank);
        }
        let cells = match call.number(name) {
            Some(cell) => vec![cell],
            None => call.numbers(name)?,
        };
        Ok(RecordedNumbers::Plain(cells.into()))
    };
    let of = match shape {
        TypeShape::F90Real | TypeShape::F90Complex | TypeShape::F90Integer => Vec::new(),
        TypeShape::Struct => call.types("array_of_types")?,
        _ => call.types("oldtype")?,
    };
    let numbers = names.iter().map(numbers).collect::<Result<_, _>>()?;
    Ok(Some(RecordedLayout { number, made: Some((*shape, numbers, of.into())) }))
}

impl Replay<'_> {
    /// Returns a call that makes or frees a datatype.
    pub(super) fn layout(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        layout: &RecordedLayout,
    ) -> Result<Call, Refusal> {
        let made = layout.made.as_ref().map(|(shape, numbers, of)| {
            let list = |numbers: &RecordedNumbers| -> Result<Box<[i64]>, Refusal> {
                match numbers {
                    RecordedNumbers::Plain(cells) => {
                        Ok(cells.iter().map(|&cell| self.number(cursor, cell)).collect())
                    }
                    RecordedNumbers::Rank(cell) => {
                        let rank = self.rank(caller, Call::WORLD, self.number(cursor, *cell))?;
                        Ok([i64::from(rank)].into())
                    }
                }
            };
            Ok::<_, Refusal>(TypeLayout {
                shape: *shape,
                numbers: numbers.iter().map(list).collect::<Result<_, _>>()?,
                of: of.iter().map(|&of| self.type_name(cursor, of)).collect(),
            })
        });
        let number = self.slot(cursor, layout.number);
        Ok(Call::Type(Box::new(TypeCall { number, made: made.transpose()? })))
    }

    pub(super) fn type_name(&self, cursor: &Cursor, of: RecordedType) -> TypeName {
        match of {
            RecordedType::Predefined(handle) => TypeName::Predefined(handle),
            RecordedType::Made(cell) => TypeName::Made(self.slot(cursor, cell)),
        }
    }
}
