//! Subscriptions of recorders, and findings of `-xsim-check`.
//!
//! Nothing of it changes a virtual time. A message asks at three points, each behind one branch: when it
//! leaves (`note_sending`), when it meets its receive (`note_met_pair`), and when its receiver goes on
//! (`note_arrival_of`).

use crate::peers::Peers;
use crate::ranks::Ranks;
use crate::types::Types;
use crate::waits::{Sent, Waits};
use matcher::Matcher;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The findings about a run while it goes on.
pub struct Watch {
    /// `true` if a recorder subscribed to when messages leave or what they are sent as.
    pub(crate) noted: bool,
    /// Waits, and who causes them.
    pub(crate) waits: Option<Box<Waits>>,
    /// Type signatures of messages.
    pub(crate) types: Option<Box<Types>>,
    /// Messages and bytes that ranks have sent since these are counted.
    pub(crate) sent: Option<Box<FxHashMap<u32, Sent>>>,
    /// Uses of what works here and MPI does not promise (`-xsim-check`).
    // Noted where the world is only looked at; a set, so that a loop reports it once.
    findings: Option<RefCell<BTreeSet<String>>>,
}

impl Watch {
    /// Returns a watch without subscriptions; with `check` it reports what MPI does not promise.
    pub fn new(check: bool) -> Watch {
        Watch { noted: false, waits: None, types: None, sent: None, findings: check.then(RefCell::default) }
    }

    /// Returns `true` if a recorder subscribed to messages.
    #[inline(always)]
    pub fn is_noted(&self) -> bool {
        self.noted
    }

    /// Notes that a receive takes a message: both nodes are as they were. Returns the sender that waited for
    /// that.
    #[inline]
    pub(crate) fn note_met_pair(
        &mut self,
        (ranks, peers): (&Ranks, &Peers),
        matcher: &Matcher,
        receive: u32,
        message: u32,
    ) -> Option<u32> {
        self.note_taken(receive, message);
        self.compare_met((ranks, peers), matcher, receive, message)
    }

    /// Reports once that the mounted rank does something that works here and that MPI does not promise, if
    /// that is subscribed to.
    // The text is made only if it is subscribed to: calls that note findings are on hot paths.
    pub fn note_finding(&self, ranks: &Ranks, what: impl FnOnce() -> String) {
        let Some(findings) = &self.findings else { return };
        let me = ranks.me();
        let what = format!("{}: {}", ranks.function_of(me), what());
        if findings.borrow_mut().insert(what.clone()) {
            engine::stderr::line(format_args!("xsim: finding: rank {me} at {}: {what}", ranks.clock(me)));
        }
    }
}
