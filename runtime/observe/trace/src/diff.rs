//! Comparison of the calls of two traces: each rank's in order, call sites and times aside. That is how a
//! replay or a generated benchmark is checked against what was recorded.

use crate::template::{Field, Peer, Slot};
use crate::text;
use crate::trace::{Act, Made, RankCall, RankView, Trace};
use rustc_hash::FxHashMap;
use std::io::{Result, Write};

/// Ranks whose difference is told.
const TOLD: u32 = 8;

/// Tells what differs; answers whether nothing does. O(ranks, times what a rank does folded) for traces that
/// are folded alike, else all calls are looked at.
///
/// # Errors
/// If it cannot be written.
pub fn diff(a: &Trace, b: &Trace, out: &mut impl Write) -> Result<bool> {
    if a.ranks != b.ranks {
        writeln!(out, "the first trace has {} ranks, the second {}", a.ranks, b.ranks)?;
        return Ok(false);
    }
    let mut different = 0;
    for rank in 0..a.ranks {
        let mut pair = ViewPair { a: a.rank(rank), b: b.rank(rank), known: FxHashMap::default() };
        if pair.act_alike() {
            continue;
        }
        let Some((number, first, second)) = pair.first() else { continue };
        different += 1;
        if different <= TOLD {
            writeln!(out, "rank {rank}, call {number}:\n  {first}\n  {second}")?;
        }
    }
    if different > TOLD {
        writeln!(out, "and {} more ranks", different - TOLD)?;
    }
    Ok(different == 0)
}

struct ViewPair<'a> {
    a: RankView<'a>,
    b: RankView<'a>,
    known: FxHashMap<(Made, Made), bool>,
}

impl ViewPair<'_> {
    /// Returns `true` if both go through the same loops and calls.
    fn act_alike(&mut self) -> bool {
        let mut known = std::mem::take(&mut self.known);
        let alike = acts((&self.a, self.a.acts()), (&self.b, self.b.acts()), &mut known);
        self.known = known;
        alike
    }

    /// Returns the first call that differs, its number from 0, and what each trace has there.
    fn first(&mut self) -> Option<(u64, String, String)> {
        let mut known = std::mem::take(&mut self.known);
        let (mut a, mut b) = (self.a.calls(), self.b.calls());
        for number in 0.. {
            let (one, other) = match (a.next(), b.next()) {
                (None, None) => return None,
                pair => pair,
            };
            if let (Some(one), Some(other)) = (one, other)
                && *known
                    .entry((one.made, other.made))
                    .or_insert_with(|| same((&self.a, &one), (&self.b, &other)))
            {
                continue;
            }
            let shown = |view: &RankView, event: Option<RankCall>| match event {
                Some(event) => {
                    format!("{}  {}", text::event(view, &event), view.trace.site(event.template.site))
                }
                None => "no call any more".to_owned(),
            };
            return Some((number, shown(&self.a, one), shown(&self.b, other)));
        }
        None
    }
}

/// Returns `true` if two ranks go through the same loops and calls.
fn acts(
    (a, one): (&RankView, &[Act]),
    (b, other): (&RankView, &[Act]),
    known: &mut FxHashMap<(Made, Made), bool>,
) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|pair| match pair {
            (Act::Call(x), Act::Call(y)) => {
                *known.entry((*x, *y)).or_insert_with(|| same((a, &a.event(*x)), (b, &b.event(*y))))
            }
            (Act::Loop { turns, body }, Act::Loop { turns: count, body: with }) => {
                turns == count && acts((a, body), (b, with), known)
            }
            _ => false,
        })
}

/// Returns `true` if two calls are alike but for their sites.
fn same((a, one): (&RankView, &RankCall), (b, other): (&RankView, &RankCall)) -> bool {
    let (x, y) = (one.template, other.template);
    if a.trace.functions[x.function as usize] != b.trace.functions[y.function as usize]
        || x.code != y.code
        || one.numbers.len() != other.numbers.len()
        || x.fields.len() != y.fields.len()
        || !x.fields.iter().zip(&y.fields).all(|(x, y)| fields((a.trace, x), (b.trace, y)))
    {
        return false;
    }
    let (from, to) = (a.position(one), b.position(other));
    x.slots().iter().zip(one.numbers.iter().zip(other.numbers)).all(|(slot, (&x, &y))| match slot {
        Slot::Plain => x == y,
        Slot::Peer => Peer::of(x).rank(from) == Peer::of(y).rank(to),
    })
}

fn fields((a, x): (&Trace, &Field), (b, y): (&Trace, &Field)) -> bool {
    let names =
        |x: Option<u32>, y: Option<u32>| x.map(|x| &a.names[x as usize]) == y.map(|y| &b.names[y as usize]);
    match (x, y) {
        (Field::Comm(x), Field::Comm(y)) => names(*x, *y),
        (Field::Handle(class, x), Field::Handle(other, y)) => class == other && names(*x, *y),
        (Field::Text(x), Field::Text(y)) => names(Some(*x), Some(*y)),
        (Field::Datatype(Some(x)), Field::Datatype(Some(y))) => {
            let (x, y) = (a.types[*x as usize], b.types[*y as usize]);
            (x.size, x.extent) == (y.size, y.extent) && names(Some(x.name), Some(y.name))
        }
        (Field::List(x), Field::List(y)) => {
            x.len() == y.len()
                && x.iter().zip(y).all(|((length, x), (other, y))| length == other && fields((a, x), (b, y)))
        }
        (x, y) => x == y,
    }
}
