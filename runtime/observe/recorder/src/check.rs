//! Findings: what of a program MPI does not promise to work (`check/faults.rs`), and what ranks leave behind
//! when they finalize MPI. The latter are objects that were not freed, requests that were not completed, and
//! messages that no rank received.

mod faults;

use crate::Symbols;
use crate::events::{Call, CallReturn, Class, CodeLocation, Finding, Leftover, Recorder};
use faults::{FaultFinding, FaultFindings};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Objects that one function made at one call site: class (as a number), function, site.
type Made = (usize, String, String);

/// A message that was never received: receiver, sender, tag, bytes.
type Message = (u32, Option<u32>, i32, u64);

/// Number of findings of one kind, and of the ranks that have them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct FindingCount {
    count: u64,
    ranks: u64,
    first: u32,
    last: u32,
}

impl FindingCount {
    /// Adds one more, of a rank that is no lower than those before.
    fn add(&mut self, rank: u32) {
        self.add_all(&FindingCount {
            count: 1,
            ranks: u64::from(self.count == 0 || self.last != rank),
            first: rank,
            last: rank,
        });
    }
    fn add_all(&mut self, other: &FindingCount) {
        self.first = if self.count == 0 { other.first } else { self.first.min(other.first) };
        self.last = self.last.max(other.last);
        self.count += other.count;
        self.ranks += other.ranks;
    }
}

/// Findings of one process.
#[derive(PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct ProcessFindings {
    // By name and not by number: a site has another number on each process.
    objects: Vec<(Made, FindingCount)>,
    messages: FindingCount,
    least: Option<Message>,
    faults: Vec<(FaultFinding, FindingCount)>,
    /// Places by their numbers, which other processes may name.
    sites: Vec<(u32, String)>,
}

/// Tells at the end of the run what was found (`-xsim-check`), folded by the place in the program: memory by
/// sites and not by ranks.
#[derive(Default)]
pub struct Check {
    symbols: Symbols,
    sites: FxHashMap<u32, String>,
    objects: BTreeMap<Made, FindingCount>,
    messages: FindingCount,
    least: Option<Message>,
    faults: FaultFindings,
}

/// Returns what an object is called in a sentence, and how a program gets rid of it.
fn words(class: Class) -> (&'static str, &'static str, &'static str) {
    let freed = "was never freed";
    match class {
        Class::Comm => ("a communicator", freed, "MPI_Comm_free"),
        Class::Datatype => ("a datatype", freed, "MPI_Type_free"),
        Class::Op => ("an operation", freed, "MPI_Op_free"),
        Class::Request => (
            "a request",
            "was never completed, or not freed if it is persistent",
            "MPI_Wait or MPI_Request_free",
        ),
        Class::Group => ("a group", freed, "MPI_Group_free"),
        Class::Info => ("an info object", freed, "MPI_Info_free"),
        Class::Errhandler => ("an error handler", freed, "MPI_Errhandler_free"),
        Class::Win => ("a window", freed, "MPI_Win_free"),
        Class::File => ("a file", "was never closed", "MPI_File_close"),
        Class::Session => ("a session", "was never finalized", "MPI_Session_finalize"),
        Class::Message => ("a probed message", "was never received", "MPI_Mrecv"),
        Class::Tool => (
            "a handle of the tool interface",
            freed,
            "the function of its kind, such as MPI_T_cvar_handle_free",
        ),
    }
}

/// Returns `true` if the objects that a function gives are the standard's own, which nobody frees (MPI 5.0
/// sections 11.10.4, 19.1.5).
fn gives_predefined(function: &str) -> bool {
    function == "MPI_Comm_get_parent" || function.starts_with("MPI_Type_create_f90_")
}

fn on_ranks(tally: &FindingCount) -> String {
    match tally.ranks {
        1 => format!("{} on rank {}", tally.count, tally.first),
        ranks => format!("{} on {ranks} ranks, the first of which is rank {}", tally.count, tally.first),
    }
}

fn object_sentence((class, function, site): &Made, tally: &FindingCount) -> String {
    let (what, state, way) = words(Class::ALL[*class]);
    format!("{what} that {function} made at {site} {state} ({}): call {way}", on_ranks(tally))
}

fn message_sentence((rank, source, tag, bytes): Message, tally: &FindingCount) -> String {
    let from = source.map_or_else(
        || "a rank of a communicator that was freed".to_owned(),
        |source| format!("rank {source}"),
    );
    let all = on_ranks(tally);
    format!(
        "rank {rank} never received a message of {bytes} bytes with tag {tag} from {from} ({all}): post a \
         receive for it, or do not send it"
    )
}

impl Check {
    fn take_part(&mut self) -> ProcessFindings {
        ProcessFindings {
            objects: std::mem::take(&mut self.objects).into_iter().collect(),
            messages: self.messages,
            least: self.least,
            faults: self.faults.take(),
            sites: self.sites.iter().map(|(&number, name)| (number, name.clone())).collect(),
        }
    }

    /// Returns a sentence for each finding.
    fn sentences(mut parts: Vec<ProcessFindings>) -> Vec<String> {
        let (mut objects, mut messages, mut least) =
            (BTreeMap::<Made, FindingCount>::new(), FindingCount::default(), None);
        let mut faults = BTreeMap::<FaultFinding, FindingCount>::new();
        for at in 0..parts.len() {
            for (fault, tally) in std::mem::take(&mut parts[at].faults) {
                let site = |process: u32, number: u32| {
                    let sites = parts.get(process as usize).map_or(&[][..], |part| &part.sites[..]);
                    sites.iter().find(|site| site.0 == number).map(|site| site.1.clone())
                };
                faults.entry(fault.placed(site)).or_default().add_all(&tally);
            }
        }
        for part in parts {
            for (made, tally) in part.objects {
                objects.entry(made).or_default().add_all(&tally);
            }
            messages.add_all(&part.messages);
            least = least.into_iter().chain(part.least).min();
        }
        let messages = least.map(|message| message_sentence(message, &messages));
        let faults =
            faults.iter().map(|(fault, tally)| format!("{fault} ({}): {}", on_ranks(tally), fault.way()));
        faults
            .chain(objects.iter().map(|(made, tally)| object_sentence(made, tally)))
            .chain(messages)
            .collect()
    }
}

impl Recorder for Check {
    fn wants(&self, _rank: u32) -> bool {
        true
    }

    // Whoever listens to nothing but what is left behind is told of no calls.
    fn wants_calls(&self) -> bool {
        false
    }

    fn call(&mut self, _call: &Call, _left: &CallReturn) {}

    fn unfinished(&mut self, _call: &Call) {}

    fn wants_sites(&self) -> bool {
        true
    }

    fn site(&mut self, number: u32, place: &CodeLocation) {
        self.sites.insert(number, self.symbols.name(place));
    }

    fn wants_findings(&self) -> bool {
        true
    }

    fn found(&mut self, finding: &Finding) {
        self.faults.add(finding, &self.sites);
    }

    fn left_over(&mut self, rank: u32, what: &Leftover) {
        match *what {
            Leftover::Object { function, .. } if gives_predefined(function) => {}
            Leftover::Object { class, function, site } => {
                let site = self.sites.get(&site).map_or("an unknown place", String::as_str);
                self.objects
                    .entry((class as usize, function.to_owned(), site.to_owned()))
                    .or_default()
                    .add(rank);
            }
            Leftover::Message { source, tag, bytes } => {
                self.messages.add(rank);
                // The order in which several lie there is that of the host.
                self.least = self.least.into_iter().chain([(rank, source, tag, bytes)]).min();
            }
        }
    }

    fn part(&mut self) -> Vec<u8> {
        serde_json::to_vec(&self.take_part()).expect("plain data always has a JSON form")
    }

    fn merge(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        let read = |part: &Vec<u8>| {
            serde_json::from_slice(part).map_err(|why| format!("a process's findings cannot be read: {why}"))
        };
        let parts: Vec<ProcessFindings> = parts.iter().map(read).collect::<Result<_, _>>()?;
        if parts.len() > 1 {
            engine::stderr::line(format_args!(
                "xsim: -xsim-check looks for sends that need a buffer in runs of one process"
            ));
        }
        for sentence in Check::sentences(parts) {
            engine::stderr::line(format_args!("xsim: finding: {sentence}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(check: &mut Check, rank: u32, comms: u32, message: Option<u64>) {
        for _ in 0..comms {
            check
                .left_over(rank, &Leftover::Object { class: Class::Comm, function: "MPI_Comm_dup", site: 0 });
        }
        check.left_over(
            rank,
            &Leftover::Object { class: Class::Datatype, function: "MPI_Type_create_f90_real", site: 0 },
        );
        if let Some(bytes) = message {
            check.left_over(rank, &Leftover::Message { source: Some(9), tag: 5, bytes });
        }
    }

    #[test]
    fn findings_are_folded_by_place_and_are_the_same_on_any_number_of_processes() {
        let of = |split: &[(u32, u32)]| {
            let part = |&(first, end): &(u32, u32)| {
                let mut check = Check::default();
                (first..end)
                    .for_each(|rank| left(&mut check, rank, rank % 3, (rank > 2).then_some(u64::from(rank))));
                check.take_part()
            };
            Check::sentences(split.iter().map(part).collect())
        };
        let whole = of(&[(0, 7)]);
        assert_eq!(whole, of(&[(0, 3), (3, 5), (5, 7)]));
        assert_eq!(
            whole,
            [
                "a communicator that MPI_Comm_dup made at an unknown place was never freed (6 on 4 ranks, \
                 the first of which is rank 1): call MPI_Comm_free",
                "rank 3 never received a message of 3 bytes with tag 5 from rank 9 (4 on 4 ranks, the first \
                 of which is rank 3): post a receive for it, or do not send it",
            ]
        );
    }

    #[test]
    fn nothing_left_is_no_finding() {
        assert!(Check::sentences(vec![Check::default().take_part()]).is_empty());
    }
}
