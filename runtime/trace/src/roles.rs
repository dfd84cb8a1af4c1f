//! The arguments of a call by name: what a message goes to, how long it is, which requests it makes and completes.

use crate::template::{Field, Template};
use crate::trace::{Event, Trace};

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    /// What it is.
    pub field: &'a Field,
    /// Its numbers.
    pub numbers: &'a [i64],
}

impl Argument<'_> {
    /// Its number, if it is one.
    pub fn number(&self) -> Option<i64> {
        if matches!(self.field, Field::List(_)) { None } else { self.numbers.first().copied() }
    }
}

/// Where the arguments of a template's calls are.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// By argument: its first number.
    places: Vec<usize>,
    names: Vec<String>,
}

impl Roles {
    /// Of a template's calls; O(numbers).
    pub fn of(trace: &Trace, template: &Template) -> Roles {
        let mut at = 0usize;
        let places = template.fields.iter().map(|field| {
            let place = at;
            at = at.saturating_add(usize::try_from(field.numbers().unwrap_or(u64::MAX)).unwrap_or(usize::MAX));
            place
        });
        Roles { places: places.collect(), names: trace.functions[template.function as usize].arguments.clone() }
    }

    /// The argument of this name in the calls of `template`: what it is, and the place of its first number.
    pub fn place<'a>(&self, template: &'a Template, name: &str) -> Option<(&'a Field, usize)> {
        let index = self.names.iter().position(|known| known == name)?;
        Some((template.fields.get(index)?, *self.places.get(index)?))
    }

    /// The argument of this name.
    pub fn find<'a>(&self, event: &Event<'a>, name: &str) -> Option<Argument<'a>> {
        let (field, at) = self.place(event.template, name)?;
        let end = at + usize::try_from(field.numbers()?).ok()?;
        Some(Argument { field, numbers: event.numbers.get(at..end)? })
    }

    /// The bytes that a count and a datatype of these names say.
    pub fn bytes(&self, trace: &Trace, event: &Event, (count, datatype): (&str, &str)) -> Option<u64> {
        let count = u64::try_from(self.find(event, count)?.number()?).ok()?;
        let datatype = self.find(event, datatype)?;
        let size = match datatype.field {
            Field::Datatype(Some(place)) => trace.types[*place as usize].size,
            Field::Datatype(None) => datatype.numbers[1] as u64,
            _ => return None,
        };
        count.checked_mul(size)
    }

    /// The bytes that the call sends: those of one message, or what it brings to a collective.
    pub fn sent(&self, trace: &Trace, event: &Event) -> u64 {
        let named = self.bytes(trace, event, ("sendcount", "sendtype"));
        named.or_else(|| self.bytes(trace, event, ("count", "datatype"))).unwrap_or(0)
    }
}
