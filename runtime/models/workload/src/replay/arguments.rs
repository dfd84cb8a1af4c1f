//! The arguments of a recorded call: where their numbers are, rank by rank.

use std::cell::RefCell;
use std::collections::BTreeSet;
use trace::Trace;
use trace::roles::Roles;
use trace::template::{Field, Template};
use trace::trace::Cell;

/// Elements of an array that a call may have.
const MAX_ELEMENTS: u64 = 1 << 31;

/// A communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comm {
    World,
    Own,
    /// By the rank's number for it.
    Made(Cell),
}

/// A count and the size of an element.
pub(super) type Length = (Cell, Cell);

/// The other side of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partner {
    /// The rank as [`trace::template::Peer`] has it.
    pub(super) rank: Cell,
    pub(super) tag: Cell,
    pub(super) comm: Comm,
    pub(super) length: Length,
}

/// The fields of a recorded status.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    pub(super) source: Cell,
    pub(super) tag: Cell,
    pub(super) bytes: Cell,
    pub(super) is_cancelled: Cell,
}

/// A datatype.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordedType {
    /// By its handle.
    Predefined(usize),
    /// By the rank's number for it.
    Made(Cell),
}

/// The arguments of one call.
pub(super) struct Arguments<'a> {
    pub(super) trace: &'a Trace,
    pub(super) template: &'a Template,
    pub(super) roles: &'a Roles,
    pub(super) cells: &'a [Cell],
    /// Columns that are asked for.
    pub(super) used: RefCell<&'a mut BTreeSet<u32>>,
}

/// The reason why a call cannot be replayed.
pub(super) type Refused = String;

impl<'a> Arguments<'a> {
    fn cell(&self, at: usize) -> Cell {
        if let Cell::Column(column) = self.cells[at] {
            self.used.borrow_mut().insert(column);
        }
        self.cells[at]
    }

    fn field(&self, name: &str) -> Result<(&'a Field, usize), Refused> {
        let missing = || format!("it has no argument {name}");
        let (field, at) = self.roles.place(self.template, name).ok_or_else(missing)?;
        if field.numbers().is_none_or(|numbers| at as u64 + numbers > self.cells.len() as u64) {
            return Err(missing());
        }
        Ok((field, at))
    }

    /// Returns a number; `None` where the call does not say it.
    pub(super) fn number(&self, name: &str) -> Option<Cell> {
        match self.field(name) {
            Ok((Field::Count | Field::Integer | Field::Logical | Field::Rank | Field::Tag, at)) => {
                Some(self.cell(at))
            }
            _ => None,
        }
    }

    pub(super) fn known(&self, name: &str) -> Result<Cell, Refused> {
        self.number(name).ok_or_else(|| format!("its argument {name} is not in the trace"))
    }

    pub(super) fn comm(&self, name: &str) -> Result<Comm, Refused> {
        match self.field(name)? {
            (Field::Comm(None), at) => Ok(Comm::Made(self.cell(at))),
            (Field::Comm(Some(known)), _) => match self.trace.names[*known as usize].as_str() {
                "MPI_COMM_WORLD" => Ok(Comm::World),
                "MPI_COMM_SELF" => Ok(Comm::Own),
                other => Err(format!("{other} is no communicator to use")),
            },
            _ => Err(format!("its argument {name} is not in the trace")),
        }
    }

    /// Returns the number of the communicator that the call made; `None` if it made none for this rank.
    pub(super) fn made(&self, name: &str) -> Result<Option<Cell>, Refused> {
        match self.field(name)? {
            (Field::Comm(None), at) => Ok(Some(self.cell(at))),
            (Field::Comm(Some(_)), _) => Ok(None),
            _ => Err(format!("its argument {name} is not in the trace")),
        }
    }

    fn size(&self, field: &Field, at: usize) -> Option<Cell> {
        match field {
            Field::Datatype(Some(place)) => Some(Cell::Same(self.trace.types[*place as usize].size as i64)),
            Field::Datatype(None) => Some(self.cell(at + 1)),
            _ => None,
        }
    }

    /// Returns the size of the datatype of this name.
    pub(super) fn datatype(&self, name: &str) -> Result<Cell, Refused> {
        let (field, at) = self.field(name)?;
        self.size(field, at).ok_or_else(|| format!("its argument {name} is not in the trace"))
    }

    /// Returns the name of an object or datatype of the standard.
    pub(super) fn name(&self, argument: &str) -> Option<&'a str> {
        let name = match self.field(argument).ok()?.0 {
            Field::Handle(_, Some(name)) => *name,
            Field::Datatype(Some(place)) => self.trace.types[*place as usize].name,
            _ => return None,
        };
        Some(&self.trace.names[name as usize])
    }

    pub(super) fn is_in_place(&self, name: &str) -> bool {
        matches!(self.field(name), Ok((Field::InPlace, _)))
    }

    pub(super) fn length(&self, count: &str, datatype: &str) -> Result<Length, Refused> {
        Ok((self.known(count)?, self.datatype(datatype)?))
    }

    pub(super) fn partner(&self, [rank, tag, count, datatype]: [&str; 4]) -> Result<Partner, Refused> {
        let length = self.length(count, datatype)?;
        Ok(Partner { rank: self.known(rank)?, tag: self.known(tag)?, comm: self.comm("comm")?, length })
    }

    /// Returns the elements of an array, each with the place of its first number; `None` if the call says
    /// nothing of it.
    pub(super) fn list(&self, name: &str) -> Result<Option<Vec<(&'a Field, usize)>>, Refused> {
        let (runs, mut at) = match self.field(name)? {
            (Field::List(runs), at) => (runs, at),
            // No address is an array without elements, as of a rank without neighbours.
            (Field::Null, _) => return Ok(Some(Vec::new())),
            _ => return Ok(None),
        };
        let length = runs.iter().fold(0u64, |sum, (length, _)| sum.saturating_add(*length));
        if length > MAX_ELEMENTS {
            return Err(format!("its argument {name} has {length} elements"));
        }
        let mut elements = Vec::with_capacity(length as usize);
        for (length, field) in runs {
            for _ in 0..*length {
                elements.push((field, at));
                at += field.numbers().unwrap_or(0) as usize;
            }
        }
        Ok(Some(elements))
    }

    /// Returns the text of this name, where the trace has it.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.text_index(name).map(|text| self.trace.names[text as usize].as_str())
    }

    /// Returns the index of a text among the trace's names.
    pub(super) fn text_index(&self, name: &str) -> Option<u32> {
        match self.field(name).ok()?.0 {
            Field::Text(text) => Some(*text),
            _ => None,
        }
    }

    /// Returns the datatype of this name, or those of an array.
    pub(super) fn types(&self, name: &str) -> Result<Vec<RecordedType>, Refused> {
        let unknown = || format!("its argument {name} is not in the trace");
        let of = |(field, at): (&Field, usize)| match field {
            Field::Datatype(Some(place)) => {
                let name = &self.trace.names[self.trace.types[*place as usize].name as usize];
                let known = mpi::datatype::predefined::named(name);
                known.map(RecordedType::Predefined).ok_or_else(|| format!("{name} is no datatype"))
            }
            Field::Datatype(None) => Ok(RecordedType::Made(self.cell(at))),
            _ => Err(unknown()),
        };
        match self.list(name)? {
            Some(elements) => elements.into_iter().map(of).collect(),
            None => Ok(vec![of(self.field(name)?)?]),
        }
    }

    /// Returns the numbers of an array.
    pub(super) fn numbers(&self, name: &str) -> Result<Vec<Cell>, Refused> {
        let elements = self.list(name)?.ok_or_else(|| format!("its argument {name} is not in the trace"))?;
        Ok(elements
            .into_iter()
            .filter(|(field, _)| field.numbers() == Some(1))
            .map(|(_, at)| self.cell(at))
            .collect())
    }

    /// Counts and sizes of the blocks of a `v` or, with an array of datatypes, of a `w` form.
    pub(super) fn lengths(&self, counts: &str, datatype: &str) -> Result<Vec<Length>, Refused> {
        let counts = self.numbers(counts)?;
        if let Some(types) = self.list(datatype)? {
            let sizes = types.iter().map(|&(field, at)| self.size(field, at));
            return counts
                .into_iter()
                .zip(sizes)
                .map(|(count, size)| Some((count, size?)))
                .collect::<Option<_>>()
                .ok_or_else(|| format!("its argument {datatype} is not in the trace"));
        }
        let size = self.datatype(datatype)?;
        Ok(counts.into_iter().map(|count| (count, size)).collect())
    }

    /// Returns the number of a request or message; `None` of a null one.
    pub(super) fn object(&self, name: &str) -> Result<Option<Cell>, Refused> {
        match self.field(name)? {
            (Field::Handle(_, None), at) => Ok(Some(self.cell(at))),
            _ => Ok(None),
        }
    }

    /// Returns the requests of an array, or the one request of a call for one.
    pub(super) fn requests(&self) -> Result<Vec<Option<Cell>>, Refused> {
        if self.roles.place(self.template, "request").is_some() {
            return Ok(vec![self.object("request")?]);
        }
        let elements = self.list("array_of_requests")?.unwrap_or_default();
        Ok(elements
            .into_iter()
            .map(|(field, at)| matches!(field, Field::Handle(_, None)).then(|| self.cell(at)))
            .collect())
    }

    fn status_at(&self, (field, at): (&Field, usize)) -> Option<Received> {
        matches!(field, Field::Status).then(|| Received {
            source: self.cell(at),
            tag: self.cell(at + 1),
            bytes: self.cell(at + 2),
            is_cancelled: self.cell(at + 3),
        })
    }

    pub(super) fn status(&self) -> Option<Received> {
        self.status_at(self.field("status").ok()?)
    }

    /// Returns the statuses of a call that completes requests: the one, or those of the array.
    pub(super) fn statuses(&self) -> Result<Vec<Option<Received>>, Refused> {
        if let Some((field, at)) = self.roles.place(self.template, "status") {
            return Ok(vec![self.status_at((field, at))]);
        }
        Ok(self
            .list("array_of_statuses")?
            .unwrap_or_default()
            .into_iter()
            .map(|element| self.status_at(element))
            .collect())
    }
}

/// Returns the request of a call that makes one, or names one.
pub(super) fn request(call: &Arguments) -> Result<Option<Cell>, Refused> {
    call.object("request")?.map(Some).ok_or_else(|| "its request is not in the trace".to_owned())
}
