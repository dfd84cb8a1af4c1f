//! Link bandwidth as an exact rational, and the time that bytes need at it.

use engine::{EndOfTime, Span};
use flow::Capacity;
use std::fmt;
use std::str::FromStr;

/// Picoseconds that one byte needs at one bit per second.
const PICOSECONDS_PER_BYTE: u128 = 8_000_000_000_000;

/// Bits per second as an exact fraction, or infinite.
///
/// Reads and prints decimal bit rates (`bps kbps Mbps Gbps Tbps`, powers of 1000), byte rates
/// (`B/s kB/s MB/s GB/s TB/s`, powers of 1000; `KiB/s MiB/s GiB/s`, powers of 1024) and `inf`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bandwidth {
    bits: u64,
    /// Zero means an infinite bandwidth.
    seconds: u64,
}

const UNITS: [(&str, u64); 13] = [
    ("Tbps", 1_000_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("kbps", 1_000),
    ("bps", 1),
    ("TB/s", 8_000_000_000_000),
    ("GB/s", 8_000_000_000),
    ("MB/s", 8_000_000),
    ("kB/s", 8_000),
    ("B/s", 8),
    ("GiB/s", 8 << 30),
    ("MiB/s", 8 << 20),
    ("KiB/s", 8 << 10),
];

/// So many digits times the largest unit fit 128 bits.
const MAX_DIGITS: usize = 25;
/// Fewer where the unit is a byte's, since these print in bits with up to ten digits more.
const MAX_BYTE_DIGITS: usize = 15;

impl Bandwidth {
    /// Bytes take no time.
    pub const INFINITE: Bandwidth = Bandwidth { bits: 1, seconds: 0 };

    /// `bits / seconds` bits per second; `None` for zero bits, for a fraction of no
    /// seconds, or where the picoseconds per byte do not fit 63 bits over 63 bits.
    fn from_fraction(bits: u128, seconds: u128) -> Option<Bandwidth> {
        if bits == 0 || seconds == 0 {
            return None;
        }
        let common = gcd(bits, seconds);
        let (bits, seconds) = (u64::try_from(bits / common).ok()?, u64::try_from(seconds / common).ok()?);
        let bandwidth = Bandwidth { bits, seconds };
        let (picoseconds, bytes) = bandwidth.picoseconds_per_bytes();
        (picoseconds < 1 << 63 && bytes < 1 << 63).then_some(bandwidth)
    }

    /// `gigabits` x 10^9 bits per second.
    pub fn from_gbps(gigabits: u32) -> Bandwidth {
        Bandwidth::from_fraction(u128::from(gigabits.max(1)) * 1_000_000_000, 1)
            .expect("a 32-bit number of Gbps fits")
    }

    /// Returns `true` if bytes take no time.
    pub fn is_infinite(self) -> bool {
        self.seconds == 0
    }

    /// Bits per second, rounded to the nearest double.
    pub fn as_bits_per_second(self) -> f64 {
        if self.is_infinite() { f64::INFINITY } else { self.bits as f64 / self.seconds as f64 }
    }

    /// Returns so many times the bandwidth, divided by a number; `None` out of range.
    pub(crate) fn scaled(self, times: u32, over: u32) -> Option<Bandwidth> {
        if self.is_infinite() {
            return Some(self);
        }
        let (bits, seconds) = (u128::from(self.bits), u128::from(self.seconds));
        Bandwidth::from_fraction(bits * u128::from(times), seconds * u128::from(over))
    }

    /// Returns the exact time of a byte as a reduced fraction (picoseconds, bytes).
    fn picoseconds_per_bytes(self) -> (u128, u128) {
        let picoseconds = PICOSECONDS_PER_BYTE * u128::from(self.seconds);
        let common = gcd(picoseconds, u128::from(self.bits));
        (picoseconds / common, u128::from(self.bits) / common)
    }

    /// Returns `true` if this is the narrower of the two.
    pub(crate) fn is_below(self, other: Bandwidth) -> bool {
        u128::from(self.bits) * u128::from(other.seconds) < u128::from(other.bits) * u128::from(self.seconds)
    }
}

/// Returns the greatest common divisor, at least 1.
pub(crate) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// Why a text is not a bandwidth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseBandwidthError(String);

impl fmt::Display for ParseBandwidthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for ParseBandwidthError {}

impl FromStr for Bandwidth {
    type Err = ParseBandwidthError;

    fn from_str(text: &str) -> Result<Bandwidth, ParseBandwidthError> {
        let error = |why: &str| {
            ParseBandwidthError(format!(
                "'{text}' is not a bandwidth: {why} (write for example 100Gbps, 8.8Gbps, 0.1bps, 12.5GB/s or \
                 inf)"
            ))
        };
        if text == "inf" {
            return Ok(Bandwidth::INFINITE);
        }
        let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = (&text[..split], text[split..].trim_start());
        let digits = number.len();
        let (number, decimals) =
            decimal(number).ok_or_else(|| error("it does not start with a decimal number"))?;
        let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(error(
                "the unit is not one of bps, kbps, Mbps, Gbps, Tbps, B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, \
                 MiB/s, GiB/s",
            ));
        };
        if !unit.ends_with("bps") && digits > MAX_BYTE_DIGITS {
            return Err(error("it has too many digits"));
        }
        if number == 0 {
            return Err(error("zero bandwidth would never deliver a byte"));
        }
        let seconds = 10u128.pow(decimals);
        Bandwidth::from_fraction(number * u128::from(scale), seconds)
            .ok_or_else(|| error("it is too small, too large or too fine"))
    }
}

/// `12.50` as (1250, 2): digits without the point, and how many of them are decimals.
fn decimal(number: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = whole.len() + fraction.len();
    if digits == 0 || digits > MAX_DIGITS || fraction.contains('.') {
        return None;
    }
    Some((format!("{whole}{fraction}").parse().ok()?, fraction.len() as u32))
}

impl fmt::Display for Bandwidth {
    /// Exact, in the largest bit unit of which there is at least one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_infinite() {
            return f.write_str("inf");
        }
        let (bits, seconds) = (u128::from(self.bits), u128::from(self.seconds));
        let &(unit, scale) =
            UNITS[..5].iter().find(|&&(_, scale)| bits >= u128::from(scale) * seconds).unwrap_or(&UNITS[4]);
        let below = u128::from(scale) * seconds;
        let (whole, mut rest) = (bits / below, bits % below);
        let mut fraction = String::new();
        while rest != 0 {
            rest *= 10;
            fraction.push(char::from(b'0' + (rest / below) as u8));
            rest %= below;
        }
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{whole}{point}{fraction}{unit}")
    }
}
impl fmt::Debug for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The time between a message's first and last byte at one bandwidth, the `s/b` of
/// `L = h*l + s/b` (Jones and Engelmann, "Simulation of Large-Scale HPC Architectures", section III).
///
/// Exact, then rounded to the nearest picosecond, halves up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Serialization {
    picoseconds: u64,
    bytes: u64,
    /// Half of `bytes`, which turns the truncating division into a rounding one.
    half: u64,
    /// ceil(2^(63+k) / bytes) with k = ceil(log2 bytes): `(n * magic) >> (63 + k)` is
    /// n / bytes for every n below 2^63 (Granlund and Montgomery, "Division by invariant integers
    /// using multiplication", PLDI 1994, theorem 4.2).
    magic: u64,
    shift: u32,
    /// The largest message whose n stays below 2^63.
    limit: u64,
}

impl Serialization {
    /// Prepares the arithmetic for links of this bandwidth.
    pub fn new(bandwidth: Bandwidth) -> Serialization {
        let (picoseconds, bytes) = bandwidth.picoseconds_per_bytes();
        let (picoseconds, bytes) = (picoseconds as u64, bytes as u64);
        let half = bytes / 2;
        let log = u64::BITS - (bytes - 1).leading_zeros();
        let limit = ((1u64 << 63) - 1 - half).checked_div(picoseconds).unwrap_or(u64::MAX);
        let magic = (1u128 << (63 + log)).div_ceil(u128::from(bytes)) as u64;
        Serialization { picoseconds, bytes, half, magic, shift: 63 + log, limit }
    }

    /// `s/b`. Unwinds with [`EndOfTime`] beyond 2^64 ps (213 days), as clocks do.
    #[inline(always)]
    pub fn time(&self, bytes: u64) -> Span {
        if bytes <= self.limit {
            // The bound rules overflow out, and with infinite bandwidth `picoseconds` is 0.
            let n = bytes.wrapping_mul(self.picoseconds) + self.half;
            return Span::from_ps(((u128::from(n) * u128::from(self.magic)) >> self.shift) as u64);
        }
        self.long_time_or_panic(bytes)
    }

    #[cold]
    #[inline(never)]
    fn long_time_or_panic(&self, bytes: u64) -> Span {
        match self.long_time(bytes) {
            Some(span) => span,
            None => overflow(bytes),
        }
    }

    /// `s/b`, or `None` beyond 2^64 ps.
    pub fn checked_time(&self, bytes: u64) -> Option<Span> {
        if bytes <= self.limit { Some(self.time(bytes)) } else { self.long_time(bytes) }
    }

    #[cold]
    fn long_time(&self, bytes: u64) -> Option<Span> {
        let exact = u128::from(bytes) * u128::from(self.picoseconds) + u128::from(self.half);
        u64::try_from(exact / u128::from(self.bytes)).ok().map(Span::from_ps)
    }

    /// Returns `s/b` in picoseconds; saturates.
    pub(crate) fn span(&self, bytes: u64) -> u64 {
        self.checked_time(bytes).map_or(u64::MAX, Span::as_ps)
    }

    /// Returns the exact time of a byte as a reduced fraction: picoseconds over bytes.
    pub fn picoseconds_per_byte(&self) -> (u64, u64) {
        (self.picoseconds, self.bytes)
    }

    /// Returns the capacity of such a link; `None` if bytes take no time.
    pub(crate) fn capacity(&self) -> Option<Capacity> {
        let (picoseconds, bytes) = self.picoseconds_per_byte();
        (picoseconds > 0).then_some(Capacity { bytes, picoseconds })
    }

    /// Returns `true` if bytes take longer than at another bandwidth.
    pub(crate) fn is_slower_than(&self, other: &Serialization) -> bool {
        u128::from(self.picoseconds) * u128::from(other.bytes)
            > u128::from(other.picoseconds) * u128::from(self.bytes)
    }
}

#[cold]
#[inline(never)]
fn overflow(bytes: u64) -> ! {
    EndOfTime::reached(format!(
        "a message of {bytes} bytes would be on its way for more than 2^64 picoseconds (213 days); raise the \
         network's bandwidth b"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ps(bandwidth: &str, bytes: u64) -> u64 {
        Serialization::new(bandwidth.parse().unwrap()).time(bytes).as_ps()
    }

    #[test]
    fn bytes_take_their_exact_time() {
        assert_eq!(ps("1Gbps", 1), 8_000);
        assert_eq!(ps("100Gbps", 1 << 20), 80 << 20);
        assert_eq!(ps("8.8Gbps", 11), 10_000);
        assert_eq!(ps("9.6Gbps", 1), 833, "833.33 rounds down");
        assert_eq!(ps("12Gbps", 1), 667, "666.67 rounds up");
        assert_eq!(ps("16Tbps", 1), 1, "half a picosecond rounds up");
        assert_eq!(ps("0.1bps", 4), 320_000_000_000_000, "the paper's slowest link: 320 s for an int");
        assert_eq!(ps("1GB/s", 3), 3_000);
        assert_eq!(ps("1KiB/s", 1024), 1_000_000_000_000);
        assert_eq!(ps("inf", u64::MAX), 0);
    }

    #[test]
    fn bad_bandwidths_say_why() {
        for (text, why) in [
            ("", "decimal number"),
            ("fast", "decimal number"),
            ("1.2.3Gbps", "decimal number"),
            ("1", "unit"),
            ("1gbps", "unit"),
            ("0Gbps", "never deliver"),
            ("0.00000000000000001bps", "too small"),
            ("9999999999999999999999999Tbps", "too large"),
        ] {
            let message = text.parse::<Bandwidth>().unwrap_err().to_string();
            assert!(message.contains(why), "{text}: {message}");
        }
    }

    #[test]
    fn a_message_beyond_213_days_is_an_error() {
        let line = Serialization::new("1bps".parse().unwrap());
        let EndOfTime(why) =
            *std::panic::catch_unwind(|| line.time(u64::MAX)).unwrap_err().downcast().unwrap();
        assert!(why.contains("213 days") && why.contains("raise the network's bandwidth"), "{why}");
    }

    #[test]
    fn narrower_compares_exactly() {
        let read = |s: &str| s.parse::<Bandwidth>().unwrap();
        assert!(read("8.8Gbps").is_below(read("9.6Gbps")));
        assert!(read("1Tbps").is_below(Bandwidth::INFINITE));
        assert!(!Bandwidth::INFINITE.is_below(read("1Tbps")));
        assert!(!Bandwidth::INFINITE.is_below(Bandwidth::INFINITE));
        assert!(!read("1GB/s").is_below(read("8Gbps")));
    }

    prop_compose! {
        fn bandwidth()(
            whole in 0u64..100_000, fraction in 0u32..1_000_000, unit in 0usize..UNITS.len()
        ) -> String {
            format!("{whole}.{fraction:06}{}", UNITS[unit].0)
        }
    }

    proptest! {
        #[test]
        fn time_is_the_rounded_fraction(text in bandwidth(), bytes: u64, small in 0u64..100_000_000) {
            let Ok(bandwidth) = text.parse::<Bandwidth>() else { return Ok(()) };
            let line = Serialization::new(bandwidth);
            for bytes in [bytes, small] {
                let numerator = 2 * PICOSECONDS_PER_BYTE * u128::from(bandwidth.seconds);
                let exact = numerator
                    .checked_mul(u128::from(bytes))
                    .map(|n| (n + u128::from(bandwidth.bits)) / (2 * u128::from(bandwidth.bits)));
                let Some(exact) = exact else { continue };
                prop_assert_eq!(
                    line.checked_time(bytes).map(|s| u128::from(s.as_ps())),
                    u64::try_from(exact).ok().map(u128::from)
                );
            }
        }

        #[test]
        fn display_reads_back(text in bandwidth()) {
            let Ok(bandwidth) = text.parse::<Bandwidth>() else { return Ok(()) };
            prop_assert_eq!(bandwidth.to_string().parse::<Bandwidth>().unwrap(), bandwidth);
        }

        #[test]
        fn parser_never_panics(text in ".*") {
            let _ = text.parse::<Bandwidth>();
        }
    }
}
