//! Axes of pictures: marks at round values beside and below them, and scales of shades.
//!
//! Pictures are stretched by the browser and texts are not, so that marks are texts of the page at
//! percentages of a picture's sides.

use crate::units::{grouped, short};
use maud::{Markup, html};

/// Marks that an axis along has at most, and one upwards.
pub const MARKS_ALONG: u64 = 8;
pub const MARKS_UP: u64 = 4;

/// A text at a place from 0, the begin of an axis, to 1.
pub struct AxisMark {
    at: f64,
    text: String,
}

/// Returns marks at multiples of 1, 2 or 5 times a power of ten, at most `most` behind the first at 0, for an
/// axis up to `end`.
pub fn marks(end: u128, most: u64, text: impl Fn(u128) -> String) -> Vec<AxisMark> {
    let at = |value: u128| value as f64 / end.max(1) as f64;
    round_values(end, most).map(|value| AxisMark { at: at(value), text: text(value) }).collect()
}

/// Returns multiples of a round step up to `end`, from 0.
fn round_values(end: u128, most: u64) -> impl Iterator<Item = u128> {
    let step = round_step(end, most);
    (0..=u128::from(most)).map(move |index| index * step).take_while(move |&value| value <= end)
}

/// Returns the least of 1, 2, 5, 10, 20, ... of which at most `most` fit into `end`.
fn round_step(end: u128, most: u64) -> u128 {
    let mut power = 1u128;
    loop {
        for step in [power, power.saturating_mul(2), power.saturating_mul(5)] {
            if end / step <= most.into() {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Returns marks of ranks in the middle of their columns; blocks of ranks share a column.
pub fn rank_marks(ranks: u64, columns: u64, most: u64) -> Vec<AxisMark> {
    let last = ranks.saturating_sub(1);
    let per_column = ranks.max(1).div_ceil(columns.max(1));
    let middle = |rank: u128| ((rank as u64 / per_column) as f64 + 0.5) / columns.max(1) as f64;
    round_values(last.into(), most).map(|rank| AxisMark { at: middle(rank), text: grouped(rank) }).collect()
}

/// Returns marks of shares of 1: 0, 50 and 100 %.
pub fn share_marks() -> Vec<AxisMark> {
    [0.0, 0.5, 1.0].map(|at| AxisMark { at, text: format!("{} %", at * 100.0) }).into()
}

/// Returns marks of virtual time up to the end of a run.
pub fn time_marks(time_ps: u64) -> Vec<AxisMark> {
    marks(time_ps.into(), MARKS_ALONG, |ps| short(ps as u64))
}

/// The direction in which values grow beside a picture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Upright {
    Up,
    Down,
}

/// Returns a picture with marks beside and below it; those below are renewed by `script.js` where `zoom_ps`
/// is the length of a run.
pub fn framed(
    picture: Markup,
    class: &str,
    way: Upright,
    beside: &[AxisMark],
    below: &[AxisMark],
    zoom_ps: Option<u64>,
) -> Markup {
    let side = if way == Upright::Up { "bottom" } else { "top" };
    html! {
        div class=(format!("plot {class}")) {
            div class="beside" aria-hidden="true" {
                @for mark in beside { span style=(format!(
                    "{side}:calc({:.2}% - .7em)", mark.at * 100.0)) { (mark.text) } }
            }
            (picture)
            div class="below" aria-hidden="true" data-zoom=[zoom_ps] {
                @for mark in below { span style=(format!("left:{:.2}%", mark.at * 100.0)) { (mark.text) } }
            }
        }
    }
}

/// Returns lines at the heights of marks, for a picture of so many columns and this height.
pub fn grid(beside: &[AxisMark], columns: f64, height: f64) -> String {
    let inner = beside.iter().filter(|mark| mark.at > 0.0 && mark.at < 1.0);
    inner.map(|mark| format!("M0 {}H{columns}", (height * (1.0 - mark.at)).round())).collect()
}

/// Returns the shades of a picture in their order, with what the lightest and the darkest stand for.
pub fn scale(class: &str, shades: u32, least: &str, most: &str, how: &str) -> Markup {
    html! {
        p class="scale soft" {
            span { (least) }
            svg viewBox=(format!("0 0 {shades} 1")) preserveAspectRatio="none" aria-hidden="true" {
                @for shade in 0..shades {
                    rect class=(class) x=(shade) width="1" height="1"
                        fill-opacity=(format!("{:.2}", f64::from(shade + 1) / f64::from(shades))) {}
                }
            }
            span { (most) }
            span { (how) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_at_round_values_within_the_axis() {
        let texts = |end: u128, most| {
            marks(end, most, |value| value.to_string()).into_iter().map(|mark| mark.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(64, 4), ["0", "20", "40", "60"]);
        assert_eq!(texts(7_053, 8), ["0", "1000", "2000", "3000", "4000", "5000", "6000", "7000"]);
        assert_eq!((texts(0, 4), texts(1, 4)), (vec!["0".to_owned()], vec!["0".to_owned(), "1".to_owned()]));
        assert!(marks(u128::MAX, 4, |_| String::new()).len() <= 5);
        for end in 1..2_000u128 {
            let count = texts(end, 8).len();
            assert!((2..=9).contains(&count), "{count} marks up to {end}");
        }
    }

    #[test]
    fn marks_of_ranks_stand_at_their_columns() {
        let at = |ranks, columns| {
            rank_marks(ranks, columns, 4).iter().map(|mark| (mark.text.clone(), mark.at)).collect::<Vec<_>>()
        };
        assert_eq!(
            at(4, 4),
            [("0".into(), 0.125), ("1".into(), 0.375), ("2".into(), 0.625), ("3".into(), 0.875)]
        );
        // Blocks of 256: rank 500 is in the second of four.
        assert_eq!(at(1024, 4)[1], ("500".to_owned(), 0.375));
        assert_eq!(at(100_000, 100)[1].0, "20,000");
    }
}
