//! Integer virtual time: an instant (`Time`) and a length (`Span`), both in picoseconds.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

/// An instant of virtual time, in picoseconds since the simulated program's start.
///
/// `u64` picoseconds reach 213 days. Arithmetic that leaves this range unwinds
/// with [`EndOfTime`]; the C boundary turns it into an error of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Time(u64);

/// A length of virtual time, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Span(u64);

/// The payload that unwinds where virtual time would pass 2^64 picoseconds: a sentence for the user, who
/// asked for too slow a machine. It is no defect, so nothing is printed on the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndOfTime(pub String);

impl EndOfTime {
    /// Unwinds to whoever tells the user.
    #[cold]
    #[inline(never)]
    pub fn reached(sentence: impl Into<String>) -> ! {
        std::panic::resume_unwind(Box::new(EndOfTime(sentence.into())))
    }

    /// Runs `f`, whose state nobody uses again if it fails.
    ///
    /// # Errors
    /// The end of time, if `f` came to it; panics pass.
    pub fn catch<R>(f: impl FnOnce() -> R) -> Result<R, EndOfTime> {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
        result.map_err(|unwound| {
            *unwound.downcast::<EndOfTime>().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

#[cold]
#[inline(never)]
fn overflow() -> ! {
    EndOfTime::reached(
        "virtual time passed 2^64 picoseconds (213 days); reduce link latencies, message sizes or compute \
         factors",
    )
}

impl Time {
    /// The start of the simulated program.
    pub const ZERO: Time = Time(0);
    /// Later than every instant that can occur: "never".
    pub const MAX: Time = Time(u64::MAX);

    /// Returns the instant `ps` picoseconds after the start.
    #[inline]
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }
    /// Picoseconds since the start.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Seconds since the start, rounded to the nearest double.
    #[inline]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// Returns how long after `earlier` this is; zero if it is not after.
    #[inline]
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
    /// Returns `self + span`, or `Time::MAX` where that does not fit (for bounds, never for clocks).
    #[inline]
    pub fn saturating_add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than anything that can occur.
    pub const MAX: Span = Span(u64::MAX);

    /// Returns a length of `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Span {
        Span(ps)
    }
    /// Returns a length of `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Span {
        match ns.checked_mul(1000) {
            Some(ps) => Span(ps),
            None => Span(u64::MAX),
        }
    }
    /// Returns the picosecond nearest to `seconds`; `None` if negative, not finite or beyond 213 days.
    pub fn from_seconds(seconds: f64) -> Option<Span> {
        let ps = (seconds * 1e12).round();
        (ps >= 0.0 && ps < u64::MAX as f64).then_some(Span(ps as u64))
    }
    /// Picoseconds.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Seconds, rounded to the nearest double.
    #[inline]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// Returns `self * n`, or `None` beyond the range.
    #[inline]
    pub fn checked_mul(self, n: u64) -> Option<Span> {
        self.0.checked_mul(n).map(Span)
    }
    /// Returns `self + other`, or `None` beyond the range.
    #[inline]
    pub fn checked_add(self, other: Span) -> Option<Span> {
        self.0.checked_add(other.0).map(Span)
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        match self.0.checked_add(span.0) {
            Some(t) => Time(t),
            None => overflow(),
        }
    }
}
impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}
impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        match self.0.checked_add(other.0) {
            Some(t) => Span(t),
            None => overflow(),
        }
    }
}
impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}
impl Sub for Span {
    type Output = Span;
    /// Returns `self - other`, zero where `other` is longer.
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}
impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, n: u64) -> Span {
        match self.0.checked_mul(n) {
            Some(t) => Span(t),
            None => overflow(),
        }
    }
}
impl Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, |a, b| a + b)
    }
}

const UNITS: [(&str, u64); 7] = [
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ms", 1_000_000_000),
    ("min", 60_000_000_000_000),
    ("s", 1_000_000_000_000),
];

/// The reason why a text is not a length of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseSpanError(String);

impl fmt::Display for ParseSpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for ParseSpanError {}

impl FromStr for Span {
    type Err = ParseSpanError;

    /// Reads `2us`, `0.32us`, `5ns`, `1.5s`, `0`: a decimal number and a unit of
    /// `ps ns us µs ms s min`. Exact: a fraction of a picosecond is an error.
    fn from_str(text: &str) -> Result<Span, ParseSpanError> {
        let error = |why: &str| {
            ParseSpanError(format!(
                "'{text}' is not a length of time: {why} (write for example 2us, 0.5ns, 1.25ms)"
            ))
        };
        let body = text.trim();
        let split = body.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(body.len());
        let (number, unit) = (&body[..split], body[split..].trim());
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(error("it does not start with a decimal number"));
        }
        let scale = match UNITS.iter().find(|(name, _)| *name == unit) {
            Some(&(_, scale)) => u128::from(scale),
            None if unit.is_empty() && number.bytes().all(|b| b == b'0' || b == b'.') => 1,
            None if unit.is_empty() => return Err(error("the unit is missing")),
            None => return Err(error("the unit is not one of ps, ns, us, ms, s, min")),
        };
        let fraction = fraction.trim_end_matches('0');
        let digits = |s: &str| if s.is_empty() { Ok(0u128) } else { s.parse::<u128>() };
        if whole.len() > 20 || fraction.len() > 15 {
            return Err(error("it has too many digits"));
        }
        let whole = digits(whole).map_err(|_| error("it is too long"))?;
        let part = digits(fraction).map_err(|_| error("it is too long"))?;
        let ten = 10u128.pow(fraction.len() as u32);
        if (part * scale) % ten != 0 {
            return Err(error("it is finer than a picosecond"));
        }
        let ps = whole * scale + part * scale / ten;
        u64::try_from(ps).map(Span).map_err(|_| error("it is beyond 213 days"))
    }
}

impl fmt::Display for Span {
    /// Writes the exact span, in the largest unit that needs at most three decimals, such as `1.25us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = match self.0 {
            0 => return f.write_str("0s"),
            ps if ps >= 1_000_000_000_000 => ("s", 1_000_000_000_000u64),
            ps if ps >= 1_000_000_000 => ("ms", 1_000_000_000),
            ps if ps >= 1_000_000 => ("us", 1_000_000),
            ps if ps >= 1_000 => ("ns", 1_000),
            _ => ("ps", 1),
        };
        let digits = scale.ilog10() as usize;
        let fraction = self.0 % scale;
        let text = format!("{}.{:0digits$}", self.0 / scale, fraction);
        let text =
            if fraction == 0 { format!("{}", self.0 / scale) } else { text.trim_end_matches('0').to_owned() };
        write!(f, "{text}{unit}")
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Span(self.0), f)
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{self}")
    }
}
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_exactly() {
        for (text, ps) in [
            ("2us", 2_000_000),
            ("0.32us", 320_000),
            ("1.5s", 1_500_000_000_000),
            ("0", 0),
            (".5ns", 500),
            ("7 ns", 7_000),
        ] {
            assert_eq!(text.parse::<Span>().unwrap().as_ps(), ps, "{text}");
        }
    }

    #[test]
    fn bad_spans_say_why() {
        for (text, why) in [
            ("2", "unit is missing"),
            ("2lightyears", "not one of"),
            ("0.1ps", "finer"),
            ("us", "decimal number"),
            ("1e3us", "not one of"),
            ("99999999999s", "213 days"),
        ] {
            let message = text.parse::<Span>().unwrap_err().to_string();
            assert!(message.contains(why), "{text}: {message}");
        }
    }

    #[test]
    fn display_reads_back() {
        for ps in [0, 1, 999, 1_000, 1_234_567, 320_000, 1_000_000_000_000, 61_000_000_000_001] {
            let span = Span::from_ps(ps);
            assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }
    }

    #[test]
    fn overflow_of_a_clock_is_an_error() {
        assert!(EndOfTime::catch(|| Time::MAX + Span::from_ps(1)).unwrap_err().0.contains("213 days"));
        assert!(EndOfTime::catch(|| Span::from_ps(1 << 63) * 2).is_err());
        assert_eq!(EndOfTime::catch(|| Time::ZERO + Span::from_ps(1)), Ok(Time::from_ps(1)));
        let panic = std::panic::catch_unwind(|| EndOfTime::catch(|| std::panic::resume_unwind(Box::new(5))));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&5));
    }
}
