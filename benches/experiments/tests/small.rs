//! A small part of the figures, against the formula with distances counted by hand.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// Makes figures and answers the rows of one: (series, x) to (measured, deviation, exact).
fn table(directory: &Path, name: &str) -> HashMap<(String, String), (f64, f64, f64)> {
    let text = std::fs::read_to_string(directory.join(name).with_extension("csv")).unwrap();
    let row = |line: &str| {
        let (before, rest) = line.split_once(",\"").unwrap();
        let (series, x) = before.split_once(',').unwrap();
        let numbers: Vec<f64> =
            rest.split_once("\",").unwrap().1.split(',').map(|number| number.parse().unwrap()).collect();
        ((series.to_owned(), x.to_owned()), (numbers[1], numbers[2], numbers[3]))
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn figures_have_the_formulas_values() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("figures");
    let _ = std::fs::remove_dir_all(&directory);
    let made = Command::new(env!("CARGO_BIN_EXE_xsim-experiments"))
        .args(["latency", "bandwidth", "nested", "pingpong", "--most", "8", "--runs", "3", "--out"])
        .arg(&directory)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

    let ring = table(&directory, "ring-latency");
    assert_eq!(ring.len(), 7 * 3);
    // A lap of 8 ranks in hops of 1 us; the integer adds 0.032 us to each message.
    for (series, hops) in [
        ("star", 16),
        ("ring", 8),
        ("one-way ring", 8),
        ("mesh", 14),
        ("torus", 10),
        ("twisted torus", 8),
        ("tree", 28),
    ] {
        let (measured, _, exact) = ring[&(series.to_owned(), "8".to_owned())];
        let expected = f64::from(hops) / 8.0 + 0.032;
        assert!(
            (measured - expected).abs() < 2e-6 && (exact - expected).abs() < 2e-6,
            "{series}: {measured} and {exact}, not {expected}"
        );
    }

    let random = table(&directory, "random-latency");
    assert_eq!(random.len(), 7 * 3);
    for (key, (measured, _, exact)) in &random {
        // No distance among 8 ranks is 7 hops from the mean, and there are 192 messages at least.
        assert!(
            (measured - exact).abs() < if key.1 == "8" { 1.0 } else { 2.0 },
            "{key:?}: {measured}, not {exact}"
        );
    }
    assert_eq!(random[&("star".to_owned(), "8".to_owned())], (2.032, 0.0, 2.032));

    let bandwidth = table(&directory, "bandwidth");
    let (measured, deviation, exact) = bandwidth[&("mesh 8x16".to_owned(), "0.1".to_owned())];
    assert!(
        (measured - 320_000_008.0).abs() < 1.0 && (exact - 320_000_008.0).abs() < 1.0 && deviation < 1.0,
        "{measured}"
    );

    let nested = table(&directory, "nested");
    assert_eq!(nested.len(), 6 * 4);
    // All cores in one processor: two hops of 0.1 us, and an integer at 10 Gbps.
    let (measured, _, exact) = nested[&("star".to_owned(), "8".to_owned())];
    assert!((measured - 0.2032).abs() < 1e-6 && (exact - 0.2032).abs() < 1e-6, "{measured}");

    for ((series, bytes), (measured, _, exact)) in table(&directory, "pingpong") {
        assert!((measured / exact - 1.0).abs() < 1e-3, "{series} {bytes}: {measured}, not {exact}");
    }
    for name in ["random-latency", "ring-latency", "bandwidth", "nested", "pingpong"] {
        let drawn = |extension| std::fs::read(directory.join(name).with_extension(extension)).unwrap();
        assert!(
            drawn("svg").starts_with(b"<svg") && drawn("png").starts_with(b"\x89PNG"),
            "{name} is not drawn"
        );
    }
}
