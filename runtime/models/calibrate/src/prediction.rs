//! Times that a machine gives lone messages.

use crate::table::Row;
use engine::{EndOfTime, Span, Time};
use network::{Built, Endpoint, Machine, Message, Network};

/// The machine's time for a measured row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// The row.
    pub row: Row,
    /// The machine's time in seconds.
    pub seconds: f64,
}

impl Prediction {
    /// Returns by how much the machine is off, in parts of what was measured; below nought it is too fast.
    pub fn error(&self) -> f64 {
        self.seconds / self.row.seconds - 1.0
    }
}

/// Returns the times of rows on a machine: lone messages from the first rank to rank `to`, as the simulator
/// itself has them. Above the eager limit a message follows its handshake, two empty messages.
///
/// # Errors
/// A sentence, if the machine cannot be built, a message never arrives, or virtual time does not hold it.
pub fn predict(specification: &str, to: u32, rows: &[Row]) -> Result<Vec<Prediction>, String> {
    let machine = Machine::parse(specification).map_err(|why| why.to_string())?;
    let overheads = machine.overheads.send + machine.overheads.receive;
    let limit = machine.overheads.eager_limit;
    let mut lone =
        LoneMessages { built: machine.build(to + 1).map_err(|why| why.to_string())?, to, now: Time::ZERO };
    let mut one = |row: &Row| -> Result<Prediction, String> {
        let handshake = match limit.is_some_and(|limit| row.bytes > limit) {
            true => lone.time(0, false)? + lone.time(0, true)?,
            false => Span::ZERO,
        };
        let seconds = (handshake + lone.time(row.bytes, false)? + overheads).as_ps() as f64 * 1e-12;
        Ok(Prediction { row: *row, seconds })
    };
    // One of 2^60 bytes, say.
    let caught = |row: &Row| {
        EndOfTime::catch(|| one(row)).unwrap_or_else(|EndOfTime(_)| {
            Err(format!(
                "a message of {} bytes takes longer on this machine than virtual time holds (213 days): \
                leave it out, or measure larger messages",
                row.bytes
            ))
        })
    };
    rows.iter().map(caught).collect()
}

/// Messages between two ranks of a machine, each alone.
struct LoneMessages {
    built: Built,
    to: u32,
    now: Time,
}

impl LoneMessages {
    /// Returns the time of a message to rank `to`, or of one `back`.
    fn time(&mut self, bytes: u64, back: bool) -> Result<Span, String> {
        let (from, to) = if back { (self.to, 0) } else { (0, self.to) };
        let message = Message { source: Endpoint(from), destination: Endpoint(to), bytes, id: 0, class: 0 };
        match &mut self.built.network {
            Network::Formula(network) => Ok(network.latency(message.source, message.destination, bytes)),
            Network::Shared(network) => {
                let (mut delivered, now) = (Vec::new(), self.now);
                let arrival = network.send(now, &message);
                if arrival.is_none() && !network.advance_to_delivery(Time::MAX, &mut delivered) {
                    return Err(format!("a message of {bytes} bytes never arrives"));
                }
                let arrival = arrival.or(delivered.first().map(|delivered| delivered.at)).unwrap_or(now);
                // The next message finds nothing of this one.
                self.now = arrival + Span::from_ps(1_000_000_000_000);
                Ok(arrival.since(now))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_above_the_eager_limit_follows_two_empty_ones() {
        let row = |bytes: u64| Row { bytes, seconds: 1e-6, resolution: 0.0, file: 0, line: 1 };
        for network in ["star:l=1us,b=8Gbps", "star:l=1us,b=8Gbps,nic=8Gbps", "star:l=1us,b=8Gbps,level=flow"]
        {
            let times = |rank: &str| {
                let found = predict(&format!("{network}{rank}"), 1, &[row(0), row(1000), row(1001)]).unwrap();
                found.iter().map(|at| (at.seconds * 1e9).round()).collect::<Vec<f64>>()
            };
            let plain = times("");
            let handshake = 2.0 * plain[0];
            assert_eq!(times("/rank:eager=1000"), [plain[0], plain[1], plain[2] + handshake], "{network}");
        }
    }

    #[test]
    fn a_time_that_virtual_time_does_not_hold_is_a_sentence() {
        let row = Row { bytes: 1 << 60, seconds: 1.0, resolution: 0.0, file: 0, line: 1 };
        let why = predict("star:l=1us,b=1Mbps", 1, &[row]).unwrap_err();
        assert!(why.contains("longer on this machine than virtual time holds"), "{why}");
    }
}
