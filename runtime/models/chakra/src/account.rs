//! Time of a rank: how much it computes, and how much it communicates meanwhile.

use crate::node::{ChakraNode, ChakraStream, NodeWork};
use crate::rank::RankGraph;
use engine::{Span, Time};

/// Account of a rank's time, kept in the order of time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RankAccount {
    /// `true` if computations of the host's processor count: where no others are.
    counts_cpu: bool,
    computing: u32,
    communicating: u32,
    since: Time,
    /// Time in which it computed.
    pub computed: Span,
    /// Time in which it communicated and did not compute.
    pub exposed: Span,
    /// Time at which its last node ended.
    pub end: Time,
}

impl RankAccount {
    /// Returns the account of a rank that has done nothing.
    pub fn of(rank: &RankGraph) -> RankAccount {
        let on_device =
            |node: &ChakraNode| matches!(node.work, NodeWork::Compute(_)) && node.stream != ChakraStream::Cpu;
        RankAccount { counts_cpu: !rank.nodes.iter().any(on_device), ..RankAccount::default() }
    }

    /// Notes that a node begins.
    pub fn begin(&mut self, node: &ChakraNode, now: Time) {
        self.pass(now);
        if let Some(counter) = self.counter(node) {
            *counter += 1;
        }
    }

    /// Notes that a node ends.
    pub fn end(&mut self, node: &ChakraNode, now: Time) {
        self.pass(now);
        if let Some(counter) = self.counter(node) {
            *counter -= 1;
        }
        self.end = now;
    }

    fn counter(&mut self, node: &ChakraNode) -> Option<&mut u32> {
        match node.work {
            NodeWork::Compute(_) if node.stream != ChakraStream::Cpu || self.counts_cpu => {
                Some(&mut self.computing)
            }
            NodeWork::Send { .. } | NodeWork::Receive { .. } | NodeWork::Collective(_) => {
                Some(&mut self.communicating)
            }
            _ => None,
        }
    }

    fn pass(&mut self, now: Time) {
        let passed = now.since(std::mem::replace(&mut self.since, now));
        if self.computing > 0 {
            self.computed += passed;
        } else if self.communicating > 0 {
            self.exposed += passed;
        }
    }
}
