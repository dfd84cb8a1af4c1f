//! Machines from drawn tables: their own parser reads them, and their messages take what was measured.

use calibrate::{Calibrated, Row, calibrate, fit, predict};
use network::Machine;
use proptest::prelude::*;
use std::path::Path;

fn rows(times: impl IntoIterator<Item = (u64, f64)>) -> Vec<Row> {
    let mut rows: Vec<Row> = times
        .into_iter()
        .zip(1..)
        .map(|((bytes, seconds), line)| Row { bytes, seconds, resolution: 1e-12, file: 0, line })
        .collect();
    rows.sort_by_key(|row| row.bytes);
    rows
}

fn powers() -> impl Iterator<Item = u64> {
    std::iter::once(0).chain((0..23).map(|power| 1u64 << power))
}

/// Returns the machine of accepted rows, which is read back; a refusal is a sentence with the remedy.
fn machine(test: &str, rows: &[Row]) -> Result<Option<Calibrated>, TestCaseError> {
    let made = fit(rows).and_then(|lines| calibrate(&lines, None, None));
    match made {
        Ok(made) => {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.toml"));
            std::fs::write(&path, made.file("drawn", "a test")).unwrap();
            let back = Machine::parse(path.to_str().unwrap());
            prop_assert!(back.is_ok(), "{}: {:?}", made.specification, back.err().map(|why| why.to_string()));
            Ok(Some(made))
        }
        Err(why) => {
            prop_assert!(why.contains("measure") || why.contains("a line needs"), "{why}");
            Ok(None)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Lines with steps and noise.
    #[test]
    fn the_machine_of_any_accepted_table_is_read_back(
        latency in 1e-7f64..1e-4,
        bytes_per_second in 1e7f64..5e10,
        step in (0u32..23, 0.0f64..4.0, 0.3f64..3.0),
        noise in prop::collection::vec(-1.0f64..1.0, 24),
        most in 0.0f64..0.3,
    ) {
        let (power, jump, slope) = step;
        let time = |bytes: u64| match bytes <= 1 << power {
            true => latency + bytes as f64 / bytes_per_second,
            false => latency * (1.0 + jump) + slope * bytes as f64 / bytes_per_second,
        };
        let noisy = powers().zip(noise).map(|(bytes, noise)| (bytes, time(bytes) * (1.0 + most * noise)));
        machine("accepted", &rows(noisy))?;
    }

    /// Anything else.
    #[test]
    fn the_machine_of_arbitrary_rows_is_read_back_or_refused(
        times in prop::collection::vec((0u64..1 << 40, 1e-12f64..1e6), 0..40),
    ) {
        machine("arbitrary", &rows(times))?;
    }

    /// Eager lines that copy, and a rendezvous: what the machine says is what was measured.
    #[test]
    fn a_message_beyond_the_step_of_a_protocol_takes_what_was_measured(
        latency in 2e-7f64..1e-5,
        power in 9u32..17,
        jump in 0.0f64..5.0,
        bytes_per_second in 1e9f64..2e10,
        copies in 1.0f64..3.0,
    ) {
        let time = |bytes: u64| match bytes <= 1 << power {
            true => latency + copies * bytes as f64 / bytes_per_second,
            false => (1.0 + jump) * latency + bytes as f64 / bytes_per_second,
        };
        let rows = rows(powers().map(|bytes| (bytes, time(bytes))));
        let made = machine("protocol", &rows)?.expect("exact lines");
        for at in predict(&made.specification, 1, &rows).unwrap() {
            prop_assert!(at.error().abs() < 0.03, "{}: {} bytes", made.specification, at.row.bytes);
        }
    }
}
