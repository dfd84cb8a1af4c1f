//! A parallel file system, as far as it takes time.

use crate::bandwidth::{Bandwidth, Serialization};
use engine::{Span, Time};
use std::fmt;

/// Servers that files are striped over. A request goes to each server that holds some of its bytes and is
/// served there after those that came before it: that is all that clients share. How requests and data get to
/// the servers is the latency alone, beside the network of messages.
#[derive(Clone, PartialEq, Debug)]
pub struct Storage {
    /// Number of servers.
    pub servers: u32,
    /// Bytes of a file that lie on one server before those on the next.
    pub stripe: u64,
    /// Bandwidth at which a server reads or writes.
    pub bandwidth: Bandwidth,
    /// From a rank to a server, and back.
    pub latency: Span,
}

impl Default for Storage {
    /// Returns one server of 1 GB/s, 50 us away; stripes of 1 MiB, as Lustre's.
    fn default() -> Storage {
        Storage {
            servers: 1,
            stripe: 1 << 20,
            bandwidth: Bandwidth::from_gbps(8),
            latency: Span::from_ns(50_000),
        }
    }
}

impl Storage {
    /// Adds the bytes `at..at + bytes` of a file to what each server has to do; the file begins on server
    /// `first`. O(servers).
    pub fn share(&self, first: u32, at: u64, bytes: u64, loads: &mut [u64]) {
        let servers = u64::from(self.servers);
        let (mut at, end) = (at, at.saturating_add(bytes));
        let round = self.stripe.saturating_mul(servers);
        // Whole rounds are the same for all servers.
        let rounds = (end - at) / round;
        loads.iter_mut().for_each(|load| *load += rounds * self.stripe);
        at += rounds * round;
        while at < end {
            let stripe = at / self.stripe;
            let until = end.min((stripe + 1).saturating_mul(self.stripe));
            loads[((u64::from(first) + stripe) % servers) as usize] += until - at;
            at = until;
        }
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "storage:servers={},stripe={},b={},l={}",
            self.servers, self.stripe, self.bandwidth, self.latency
        )
    }
}

/// The servers' queues: each serves one request at a time, in the order in which it is given them.
#[derive(Debug)]
pub struct Servers {
    free: Vec<Time>,
    speed: Serialization,
}

impl Servers {
    /// Makes servers that are all idle.
    pub fn new(storage: &Storage) -> Servers {
        Servers {
            free: vec![Time::ZERO; storage.servers as usize],
            speed: Serialization::new(storage.bandwidth),
        }
    }

    /// Serves a request that is there at `at`, of so many bytes on each of these servers; returns when the
    /// last of them is through. O(servers of the request).
    pub fn serve(&mut self, at: Time, loads: &[(u32, u64)]) -> Time {
        let mut done = at;
        for &(server, bytes) in loads {
            let free = &mut self.free[server as usize];
            *free = at.max(*free) + self.speed.time(bytes);
            done = done.max(*free);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_byte_lies_on_the_server_of_its_stripe(
            servers in 1u32..6,
            stripe in 1u64..9,
            first in 0u32..6,
            at in 0u64..100,
            bytes in 0u64..200,
        ) {
            let storage = Storage { servers, stripe, ..Storage::default() };
            let mut loads = vec![0; servers as usize];
            storage.share(first % servers, at, bytes, &mut loads);
            let mut want = vec![0; servers as usize];
            for byte in at..at + bytes {
                want[((u64::from(first % servers) + byte / stripe) % u64::from(servers)) as usize] += 1;
            }
            prop_assert_eq!(loads, want);
        }
    }

    #[test]
    fn requests_wait_for_those_before_them_at_their_servers_alone() {
        let storage = Storage { servers: 2, ..Storage::default() };
        let mut servers = Servers::new(&storage);
        let us = |us: u64| Time::from_ps(us * 1_000_000);
        // 1 GB/s: a byte takes a nanosecond.
        assert_eq!(servers.serve(us(10), &[(0, 5000)]), us(15));
        assert_eq!(servers.serve(us(11), &[(0, 1000), (1, 3000)]), us(16));
        assert_eq!(servers.serve(us(12), &[(1, 1000)]), us(15));
        assert_eq!(servers.serve(us(30), &[]), us(30));
    }
}
