//! What messages cost the ranks themselves.

use crate::bandwidth::{Bandwidth, ParseBandwidthError, Serialization};
use engine::Span;
use std::fmt;
use std::str::FromStr;

/// Processor costs of messages at a rank, in the manner of LogGP (Alexandrov, Ionescu, Schauser and Scheiman,
/// "LogGP: Incorporating Long Messages into the LogP Model", SPAA 1995). All are zero by default. They are
/// the rank's own, so they leave a network's order free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Overheads {
    /// Processor time to send a message (o of LogGP).
    pub send: Span,
    /// Processor time to receive a message (o of LogGP).
    pub receive: Span,
    /// The least time between two messages that a rank sends, or between two that it receives (g).
    pub gap: Span,
    /// Messages of more bytes than this wait for their receiver (rendezvous); `None` lets all go at once.
    pub eager_limit: Option<u64>,
    /// Rate at which a collective's reduction combines bytes of an operand; `None` takes no time.
    pub reduce: Option<Bandwidth>,
    /// Time of a copy inside a collective; `None` takes no time.
    pub copy: Option<CopyCost>,
}

/// The time of one copy of contiguous bytes. Reads and prints `SPAN@BANDWIDTH`, where `@BANDWIDTH` (no time
/// for bytes) may be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyCost {
    span: Span,
    bandwidth: Bandwidth,
}

impl CopyCost {
    /// Returns the time of each copy, and the line of its bytes.
    pub fn line(&self) -> (Span, Serialization) {
        (self.span, Serialization::new(self.bandwidth))
    }
}

impl FromStr for CopyCost {
    type Err = String;

    fn from_str(text: &str) -> Result<CopyCost, String> {
        let (span, bandwidth) = match text.split_once('@') {
            Some((span, bandwidth)) => {
                let bandwidth = bandwidth.trim().parse();
                (span, bandwidth.map_err(|why: ParseBandwidthError| why.to_string())?)
            }
            None => (text, Bandwidth::INFINITE),
        };
        let span = span.trim().parse().map_err(|why: engine::ParseSpanError| why.to_string())?;
        Ok(CopyCost { span, bandwidth })
    }
}

impl fmt::Display for CopyCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.span)?;
        if self.bandwidth.is_infinite() { Ok(()) } else { write!(f, "@{}", self.bandwidth) }
    }
}
