//! Lower and upper bounds of a type map (MPI 5.0 section 5.1, equations for lb and ub).

use crate::error::{ErrorClass, Failure, Result};

/// Outline of a type map, in 128 bits, so that building it cannot overflow.
// Markers and data apart, because markers of any part decide for the whole (MPI 5.0 section 5.1.6), whatever
// the data does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    /// First and one past the last byte of data; none for an empty map.
    data: Option<(i128, i128)>,
    /// Least lower-bound marker and greatest upper-bound marker (from `MPI_Type_create_resized`
    /// and the array constructors): where there are any, they alone decide.
    marks: Option<(i128, i128)>,
    /// The strictest alignment of the basic elements, which rounds the extent up (the epsilon
    /// of the standard's equation).
    align: u64,
}

fn merge(a: Option<(i128, i128)>, b: Option<(i128, i128)>) -> Option<(i128, i128)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

impl Bounds {
    /// An empty map.
    pub(super) const EMPTY: Bounds = Bounds { data: None, marks: None, align: 0 };

    /// Returns the strictest alignment of the elements, at least 1.
    pub(super) fn align(&self) -> u64 {
        self.align.max(1)
    }

    /// Returns one block of data.
    pub(super) fn of_block(at: i128, len: u64, align: u64) -> Bounds {
        Bounds { data: Some((at, at + i128::from(len))), marks: None, align }
    }

    /// Returns both maps together.
    pub(super) fn union(self, other: Bounds) -> Bounds {
        Bounds {
            data: merge(self.data, other.data),
            marks: merge(self.marks, other.marks),
            align: self.align.max(other.align),
        }
    }

    /// Returns the map moved by `by` bytes.
    pub(super) fn shift(self, by: i128) -> Bounds {
        let shift = |pair: (i128, i128)| (pair.0.saturating_add(by), pair.1.saturating_add(by));
        Bounds { data: self.data.map(shift), marks: self.marks.map(shift), align: self.align }
    }

    /// Returns the bounds of `count` copies, `stride` bytes apart.
    pub(super) fn repeat(self, count: u64, stride: i128) -> Bounds {
        match count {
            0 => Bounds::default(),
            1 => self,
            // First and last copy: those between lie between.
            _ => self.union(self.shift(stride.saturating_mul(i128::from(count - 1)))),
        }
    }

    /// Returns this data with markers at `lb` and `ub` in place of any others.
    pub(super) fn marked(self, lb: i128, ub: i128) -> Bounds {
        Bounds { marks: Some((lb, ub)), ..self }
    }

    /// Returns lower and upper bound.
    pub(super) fn bounds(&self) -> Result<(i64, i64)> {
        let (lb, ub) = match (self.marks, self.data) {
            (Some(marks), _) => marks,
            (None, Some((low, high))) => {
                let align = i128::from(self.align.max(1));
                (
                    low,
                    low.saturating_add((high.saturating_sub(low)).saturating_add(align - 1) / align * align),
                )
            }
            (None, None) => (0, 0),
        };
        fits(lb, ub)
    }

    /// Returns the first and one past the last byte of data.
    pub(super) fn true_bounds(&self) -> Result<(i64, i64)> {
        let (lb, ub) = self.data.unwrap_or((0, 0));
        fits(lb, ub)
    }
}

fn fits(lb: i128, ub: i128) -> Result<(i64, i64)> {
    match (i64::try_from(lb), i64::try_from(ub), i64::try_from(ub.saturating_sub(lb))) {
        (Ok(lb), Ok(ub), Ok(_)) => Ok((lb, ub)),
        _ => Err(overflow()),
    }
}

/// Returns the failure of a type whose outline exceeds 64 bits.
#[cold]
pub(super) fn overflow() -> Box<Failure> {
    Failure::new(
        ErrorClass::ARG,
        "the datatype reaches beyond 2^63 bytes: a size, displacement or extent overflows; check counts, \
         strides and displacements",
    )
}
