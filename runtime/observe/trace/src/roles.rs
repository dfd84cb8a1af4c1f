//! The arguments of a call by name: what a message goes to, how long it is, which requests it makes and
//! completes.

use crate::template::{Field, Peer, Position, Template};
use crate::trace::{RankCall, Trace};
use recorder::contribution::{Giver, SendVolume};

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    /// Kind of the argument.
    pub field: &'a Field,
    /// The numbers.
    pub numbers: &'a [i64],
}

impl Argument<'_> {
    /// Returns its number, if it is one.
    pub fn number(&self) -> Option<i64> {
        if matches!(self.field, Field::List(_)) { None } else { self.numbers.first().copied() }
    }
}

/// `MPI_PROC_NULL`.
const PROC_NULL: i32 = -3;
/// `MPI_ROOT`.
const ROOT: i32 = -4;

/// Returns the fields of an argument's elements with their numbers: the argument itself if it is no array.
fn elements<'a>(argument: Argument<'a>) -> Box<dyn Iterator<Item = (&'a Field, &'a [i64])> + 'a> {
    let Field::List(runs) = argument.field else {
        return Box::new(std::iter::once((argument.field, argument.numbers)));
    };
    let mut rest = argument.numbers;
    let fields = runs.iter().flat_map(|(length, field)| (0..*length).map(move |_| field));
    Box::new(fields.map_while(move |field| {
        let (own, behind) = rest.split_at_checked(usize::try_from(field.numbers()?).ok()?)?;
        rest = behind;
        Some((field, own))
    }))
}

/// Returns the bytes of blocks with these counts and these datatypes, one datatype for all or one for each;
/// of one of them alone, if it is named.
fn blocks(trace: &Trace, counts: Argument, types: Argument, own: Option<usize>) -> u64 {
    let size = |(field, numbers): (&Field, &[i64])| match field {
        Field::Datatype(Some(place)) => trace.types[*place as usize].size,
        Field::Datatype(None) => numbers.get(1).map_or(0, |&size| size as u64),
        _ => 0,
    };
    let one =
        if matches!(types.field, Field::List(_)) { None } else { Some(size((types.field, types.numbers))) };
    let mut each = elements(types).map(size);
    let is_list = matches!(counts.field, Field::List(_));
    let mut sum = 0u64;
    for (block, (_, numbers)) in elements(counts).enumerate() {
        let size = one.or_else(|| each.next()).unwrap_or(0);
        let count = numbers.first().map_or(0, |&count| u64::try_from(count).unwrap_or(0));
        if own.is_none_or(|own| own == block || !is_list) {
            sum = sum.saturating_add(count.saturating_mul(size));
        }
    }
    sum
}

/// Locations of the arguments in the numbers of a template's calls.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// By argument: its first number.
    places: Vec<usize>,
    names: Vec<String>,
}

impl Roles {
    /// Locates the arguments in the calls of a template; O(numbers).
    pub fn of(trace: &Trace, template: &Template) -> Roles {
        let mut at = 0usize;
        let places = template.fields.iter().map(|field| {
            let place = at;
            at =
                at.saturating_add(usize::try_from(field.numbers().unwrap_or(u64::MAX)).unwrap_or(usize::MAX));
            place
        });
        Roles {
            places: places.collect(),
            names: trace.functions[template.function as usize].arguments.clone(),
        }
    }

    /// Returns the argument of this name in the calls of `template`: what it is, and the place of its first
    /// number.
    pub fn place<'a>(&self, template: &'a Template, name: &str) -> Option<(&'a Field, usize)> {
        let index = self.names.iter().position(|known| known == name)?;
        Some((template.fields.get(index)?, *self.places.get(index)?))
    }

    /// Returns the argument of this name.
    pub fn find<'a>(&self, event: &RankCall<'a>, name: &str) -> Option<Argument<'a>> {
        let (field, at) = self.place(event.template, name)?;
        let end = at + usize::try_from(field.numbers()?).ok()?;
        Some(Argument { field, numbers: event.numbers.get(at..end)? })
    }

    /// Returns the bytes that the call sends, which `position` says of whom: those of one message, or what it
    /// brings to a collective. Where blocks are all alike one is counted, as profiles do ([`SendVolume`]).
    pub fn sent(&self, trace: &Trace, event: &RankCall, position: Position) -> u64 {
        let Some(SendVolume { giver, sent, in_place, own_block }) =
            SendVolume::of(&trace.functions[event.template.function as usize].name)
        else {
            return 0;
        };
        let peer = |name: &str| {
            self.find(event, name)
                .and_then(|rank| rank.number())
                .map(|number| Peer::of(number).rank(position))
        };
        let gives = match giver {
            Giver::All => true,
            Giver::Sender => peer("dest").is_none_or(|dest| dest >= 0),
            Giver::Root => {
                peer("root").is_some_and(|root| root == ROOT || i64::from(root) == i64::from(position.rank))
            }
            Giver::ToRoot => !peer("root").is_some_and(|root| root == ROOT || root == PROC_NULL),
        };
        let is_in_place = self.find(event, "sendbuf").is_some_and(|buffer| *buffer.field == Field::InPlace);
        let (counts, types) = if is_in_place { in_place } else { sent };
        match (self.find(event, counts).filter(|_| gives), self.find(event, types)) {
            (Some(counts), Some(types)) => {
                let own = (is_in_place && own_block).then_some(position.rank as usize);
                blocks(trace, counts, types, own)
            }
            _ => 0,
        }
    }
}
