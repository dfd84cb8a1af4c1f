//! The parameters of the LogGOPS model.

use std::str::FromStr;

/// The parameters of the LogGOPS model, in nanoseconds and bytes. The overhead per byte is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogGops {
    /// L: latency.
    pub latency: u64,
    /// o: processor time of a message, at the sender and at the receiver.
    pub overhead: u64,
    /// g: interface time of a message.
    pub gap: u64,
    /// G: interface time of a byte.
    pub gap_per_byte: u64,
    /// S: the longest message that does not wait for its receive, in bytes.
    pub eager: u64,
}

impl Default for LogGops {
    /// Returns LogGOPSim's defaults.
    fn default() -> LogGops {
        LogGops { latency: 2500, overhead: 1500, gap: 1000, gap_per_byte: 6, eager: 65535 }
    }
}

impl std::fmt::Display for LogGops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LogGops { latency, overhead, gap, gap_per_byte, eager } = self;
        write!(f, "L={latency},o={overhead},g={gap},G={gap_per_byte},S={eager}")
    }
}

impl FromStr for LogGops {
    type Err = String;

    /// Parses `L=2500,o=1500,g=1000,G=6,S=65535`. A parameter that is left out keeps LogGOPSim's default.
    fn from_str(text: &str) -> Result<LogGops, String> {
        let mut found = LogGops::default();
        for part in text.split(',') {
            let (name, value) =
                part.split_once('=').ok_or_else(|| format!("'{part}' is no parameter: write L=2500"))?;
            let field = match name {
                "L" => &mut found.latency,
                "o" => &mut found.overhead,
                "g" => &mut found.gap,
                "G" => &mut found.gap_per_byte,
                "S" => &mut found.eager,
                _ => {
                    return Err(format!(
                        "'{name}' is no parameter: L, o, g and G (nanoseconds) and S (bytes) are"
                    ));
                }
            };
            *field = value.parse().map_err(|_| format!("{name}={value} is no whole number"))?;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_and_others_keep_loggopsims_defaults() {
        assert_eq!(
            "L=3,S=7".parse::<LogGops>().unwrap(),
            LogGops { latency: 3, eager: 7, ..LogGops::default() }
        );
        assert_eq!(LogGops::default().to_string().parse::<LogGops>().unwrap(), LogGops::default());
        for (text, part) in [("L", "'L'"), ("x=3", "'x'"), ("o=1.5", "o=1.5"), ("g=-1", "g=-1")] {
            assert!(text.parse::<LogGops>().unwrap_err().contains(part), "{text}");
        }
    }
}
