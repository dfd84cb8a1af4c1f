//! Values as numbers, as the options of a run read them.

use engine::Span;
use network::Bandwidth;

/// The unit in which numbers of a kind are compared and drawn; empty for those without.
pub type Unit = &'static str;

/// Reads `0.5us` as 5e-7 and `s`, `8Gbps` as 8e9 and `bit/s`. Returns `None` if it is no number with a unit
/// that options know.
pub fn quantity(text: &str) -> Option<(f64, Unit)> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Ok(number) = text.parse::<f64>() {
        return Some((number, ""));
    }
    if let Ok(span) = text.parse::<Span>() {
        return Some((span.as_ps() as f64 * 1e-12, "s"));
    }
    if let Ok(bandwidth) = text.parse::<Bandwidth>() {
        return Some((bandwidth.as_bits_per_second(), "bit/s"));
    }
    if let Some(bytes) = network::packet::parse_bytes(text) {
        return Some((bytes as f64, "B"));
    }
    network::flop_rate(text).ok().map(|rate| (rate, "flop/s"))
}

/// Returns the numbers of one unit, and the unit. Nought is of any.
pub fn quantities(values: &[String]) -> Option<(Vec<f64>, Unit)> {
    let all: Vec<(f64, Unit)> = values.iter().map(|value| quantity(value)).collect::<Option<_>>()?;
    let unit = all.iter().find(|(number, _)| *number != 0.0).map_or("", |(_, unit)| unit);
    let is_one = all.iter().all(|(number, other)| *other == unit || *number == 0.0);
    is_one.then(|| (all.into_iter().map(|(number, _)| number).collect(), unit))
}

/// Returns the number at the beginning, and what is behind it.
pub fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_unit_are_numbers() {
        let of = |text: &str| quantities(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("100Mbps 1Gbps 1GB/s"), Some((vec![1e8, 1e9, 8e9], "bit/s")));
        assert_eq!(of("0 1ms"), Some((vec![0.0, 1e-3], "s")));
        assert_eq!(of("64KiB 1MB"), Some((vec![65_536.0, 1e6], "B")));
        assert_eq!(of("5Gflops"), Some((vec![5e9], "flop/s")));
        assert_eq!(of("8 .5"), Some((vec![8.0, 0.5], "")));
        for text in ["ring linear", "1us 1kB", "inf", "1us 2", "nan"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
