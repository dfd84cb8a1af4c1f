//! The seam for what MPI has beside messages of its own: collectives, and whatever else keeps operations
//! under way (windows, files). A chapter is a crate that implements [`Chapter`], and a line where `mpi` lists
//! them (`runtime/core/mpi/src/chapters.rs`).
//!
//! Its requests are [`Body::Chapter`](crate::request::Body::Chapter), its messages on a shared network
//! [`Flight::Chapter`](crate::flight::Flight::Chapter), what it tells other processes
//! [`Kind::Chapter`](crate::remote::stream::Kind::Chapter): nobody but the chapter looks into these.

pub mod arrivals;
pub mod id;

use crate::Messages;
use crate::request::{RequestArray, Status};
use engine::Time;
use engine::record::Take;
use id::Token;
use objects::Objects;
use objects::error::Result;
use rustc_hash::FxHashMap;
use std::any::Any;

/// Operations of one chapter, under way in this process. What blocks is not here: calls begin and end.
// One trait for all that the loop, requests, networks, processes and reports ask, so that the next chapter of
// MPI is a crate and a row, and no other place knows which chapters there are. What only some need has the
// answer of those that do not: a chapter says no more than it has.
pub trait Chapter {
    /// Returns `true` if something can go on now. Asked at every switch: O(1).
    fn has_work(&self) -> bool;

    /// Goes on as far as it can by itself; what needs a function of the program then.
    fn work(&mut self, messages: &mut Messages, objects: &Objects) -> Option<Box<dyn Errand>>;

    /// Takes back a callback that [`Chapter::work`] returned, after it has run.
    fn done(&mut self, _: &mut Messages, _: &Objects, _: Box<dyn Errand>) {
        unreachable!("a chapter that gives errands takes them back")
    }

    /// Returns `true` if operations are held back that could begin, if nothing else can run.
    fn holds(&self) -> bool {
        false
    }

    /// Nothing else can run, or everywhere nothing else can (`agreed`): what is held back begins. False if
    /// nothing was.
    fn start_held(&mut self, _: &mut Messages, _: &Objects, _agreed: bool) -> bool {
        false
    }

    /// The mounted rank asks whether these requests are complete: what is held back may not keep the answer
    /// waiting.
    fn asked(&mut self, _: &mut Messages, _: &Objects, _: RequestArray) {}

    /// Moves what a complete request got into the program's memory, ahead of its completion; its rank is
    /// mounted.
    fn deliver(&mut self, objects: &Objects, token: Token);

    /// Moves the mounted rank's clock to where a request that it completes leaves it; it was done at `done`.
    /// What costs the rank time beyond that is charged here, because parts of it may lie before `done`.
    fn reach(&mut self, messages: &mut Messages, _: Token, done: Time) {
        messages.ranks.advance(messages.ranks.me(), done);
    }

    /// The mounted rank completes a request, which is gone already: its status.
    ///
    /// # Errors
    /// What the operation failed with.
    fn finish(&mut self, messages: &mut Messages, objects: &Objects, token: Token) -> Result<Status>;

    /// Checks that the mounted rank may free its persistent request of this number.
    ///
    /// # Errors
    /// Why it may not.
    fn may_free(&self, _: &Messages, _: u32) -> Result {
        Ok(())
    }

    /// Frees what belongs to the persistent request of this number, which the mounted rank has freed.
    fn freed(&mut self, _: u32) {}

    /// A shared network delivered a message of the chapter, which is in its own words.
    fn landed(&mut self, words: [u32; 4], at: Time);

    /// A record of the chapter's own kind, from process `from`.
    fn record(&mut self, messages: &mut Messages, objects: &mut Objects, from: u32, kind: u8, record: Take);

    /// The mounted rank starts a persistent operation: which, and how often it was started before; `None`
    /// when it has.
    fn starting(&mut self, _: Option<(u32, u32)>) {}

    /// Returns `true` if something under way needs a communicator (its index) that all its members of this
    /// process have freed.
    fn needs_comm(&self, _: u32) -> bool {
        false
    }

    /// Forgets a communicator that is no more; another may get its index.
    fn forget_comm(&mut self, _: u32) {}

    /// Returns the first thing of `rank` that must wait until nothing can come before it: when that is, and
    /// because of which rank (world numbers). A chapter that adds one marks the rank dirty
    /// ([`Matcher::mark_dirty`](matcher::Matcher::mark_dirty)). Called whenever something happened to the
    /// rank: O(1).
    #[inline]
    fn first_open(&self, _: u32) -> Option<(Time, u32)> {
        None
    }

    /// Nothing comes before the first open thing of `rank`: that happens now, and so does what follows it
    /// before `until`. Nobody acts because of it before its own time.
    fn decide(&mut self, _: &mut Messages, _: &mut Objects, _rank: u32, _until: Time) {
        unreachable!("nothing of this chapter waits for time")
    }

    /// Returns what a blocked rank waits for, if it is something of this chapter: with `token`, the operation
    /// of that request.
    fn wait_of(
        &self,
        messages: &Messages,
        objects: &Objects,
        rank: u32,
        token: Option<Token>,
    ) -> Option<Wait>;

    /// For the report of a deadlock: what the other processes must know of what is open here.
    fn open(&self, messages: &Messages, objects: &Objects) -> Vec<u8>;

    /// Returns what all processes told ([`Chapter::open`], in their order), together.
    fn explain(&self, told: &[Vec<u8>]) -> Explanation;
}

/// A deferred callback that runs code of the program while a rank is mounted.
pub trait Errand: Any {
    /// Does it: `mounted` calls something while a rank (world number) is mounted.
    fn run(&mut self, mounted: &mut dyn FnMut(u32, &mut dyn FnMut()));
}

/// Description of what a blocked rank waits for, in a deadlock's report.
#[derive(Clone, Default)]
pub struct Wait {
    /// As this process sees it.
    pub text: String,
    /// The operation's name, the same on all processes, if others take part in it.
    pub name: Option<Vec<u8>>,
}

/// Facts about a chapter's pending operations, combined from the reports of all processes.
#[derive(Default)]
pub struct Explanation {
    /// Descriptions of what an operation's members wait for, by the operation's name on all processes.
    pub waits: FxHashMap<Vec<u8>, String>,
    /// Sentences about the whole.
    pub notes: Vec<String>,
}

impl Explanation {
    /// Makes the explanation of chapters whose [`Chapter::open`] tells pairs of what an operation is called
    /// and what its members wait for.
    pub fn of_pairs(told: &[Vec<u8>]) -> Explanation {
        let mut known = Explanation::default();
        for told in told {
            let mut told = Take(told);
            while !told.is_empty() {
                let (name, text) =
                    (told.bytes().to_vec(), String::from_utf8_lossy(told.bytes()).into_owned());
                known.waits.insert(name, text);
            }
        }
        known
    }
}

/// The first few ranks of a list that ascends, as ranges: "ranks 0-3, 7".
// Ranges, because what ranks have in common in a report (who is missing, who is refused) mostly holds of
// neighbours.
pub fn ranks_text(ranks: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let shown: Vec<String> = ranges
        .iter()
        .take(6)
        .map(|(a, b)| if a == b { format!("{a}") } else { format!("{a}-{b}") })
        .collect();
    format!(
        "rank{} {}{}",
        if ranks.len() == 1 { "" } else { "s" },
        shown.join(", "),
        if ranges.len() > 6 { ", ..." } else { "" }
    )
}
