//! Numbers for people: short, with units.

/// Returns a length of time in picoseconds with four significant digits: `1.25 us`, `340 ns`.
pub fn short(ps: u64) -> String {
    let (scale, unit) = match ps {
        0 => return "0 s".into(),
        1_000_000_000_000.. => (1e12, "s"),
        1_000_000_000.. => (1e9, "ms"),
        1_000_000.. => (1e6, "us"),
        1_000.. => (1e3, "ns"),
        _ => (1.0, "ps"),
    };
    format!("{} {unit}", significant(ps as f64 / scale))
}

/// Returns the bytes in decimal units with four significant digits: `1.5 MB`.
pub fn bytes(count: u128) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let step = (count.max(1).ilog10() / 3).min(6);
    format!("{} {}", significant(count as f64 / 10f64.powi(3 * step as i32)), units[step as usize])
}

fn significant(value: f64) -> String {
    if value >= 10_000.0 {
        return grouped(value.round() as u128);
    }
    let before = if value >= 1.0 { value.log10() as usize + 1 } else { 1 };
    let text = format!("{value:.*}", 4usize.saturating_sub(before));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Returns `1234567` as `1,234,567`.
pub fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a part of a whole in percent: `12 %`, `3.4 %` below ten, `0 %` of nothing.
pub fn percent(part: u128, whole: u128) -> String {
    if part == 0 || whole == 0 {
        return "0 %".into();
    }
    let share = part as f64 * 100.0 / whole as f64;
    if share >= 9.95 {
        format!("{share:.0} %")
    } else if share >= 0.05 {
        format!("{share:.1} %")
    } else {
        "<0.1 %".into()
    }
}

/// Returns a share of 1 as a percentage.
pub fn share(part: f64) -> String {
    percent((part * 1e9).round() as u128, 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_digits() {
        assert_eq!(
            [0, 1, 50, 994, 996, 10_000].map(|part| percent(part, 10_000)),
            ["0 %", "<0.1 %", "0.5 %", "9.9 %", "10 %", "100 %"]
        );
    }

    #[test]
    fn numbers_are_short() {
        for (ps, text) in [
            (0, "0 s"),
            (999, "999 ps"),
            (1_250, "1.25 ns"),
            (999_999_999, "1000 us"),
            (1_000_000_000_000, "1 s"),
            (3_600_000_000_000_000, "3600 s"),
        ] {
            assert_eq!(short(ps), text);
        }
        assert_eq!(
            (bytes(0), bytes(1500), bytes(u128::MAX).ends_with("EB")),
            ("0 B".into(), "1.5 kB".into(), true)
        );
        assert_eq!(
            (grouped(0), grouped(999), grouped(1000), grouped(1234567)),
            ("0".into(), "999".into(), "1,000".into(), "1,234,567".into())
        );
    }
}
