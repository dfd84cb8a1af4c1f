//! The seam through which a run's calls are listened to. Traces, timelines, profiles and logs are recorders,
//! each one file.
//!
//! Who makes the calls (the C boundary, or ranks without a program) reads the arguments, names the objects
//! and tells the recorders; these know nothing of handles and addresses. All of it is in a rank's own order.
//! Ranks come in the order in which the host runs them, which differs from one number of native processes to
//! another, so that a file of several ranks is put in order at the end.

use crate::call_profile::CallProfile;
use crate::collective::{CollectiveKind, CollectiveUse};
use crate::critical_path::CriticalPath;
use crate::traffic::Traffic;
use crate::waiting::{Entries, ReceivedMessage, Returned};
use engine::{Span, Time};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A call of an MPI function by a rank.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The rank, in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The function's row in the table of MPI functions; its `_c` variant is the same function.
    pub function: u16,
    /// The name: `MPI_Send`.
    pub name: &'static str,
    /// The place in the program that made it: a number that [`Recorder::site`] has explained; 0: nobody
    /// asked, or it is not known.
    pub site: u32,
    /// The rank's clock on entry, after what it computed before.
    pub entered: Time,
    /// In the order of the standard. On entry results are [`Value::Unknown`].
    pub arguments: &'a [ArgumentValue],
}

impl Call<'_> {
    /// Returns the argument of this name.
    pub fn argument(&self, name: &str) -> Option<&Value> {
        self.arguments.iter().find(|argument| argument.name == name).map(|argument| &argument.value)
    }
}

/// Outcome of a call: the rank's clock and the error code on return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallReturn {
    /// The rank's clock.
    pub at: Time,
    /// The error code that the call returned.
    pub code: i32,
    /// The name, unless the program made it: `MPI_SUCCESS`.
    pub name: Option<&'static str>,
}

/// One argument. What a call reads and writes has its value of before the call.
#[derive(Clone, PartialEq, Debug)]
pub struct ArgumentValue {
    /// The standard's name for it.
    pub name: &'static str,
    /// The argument's value.
    pub value: Value,
    /// `true` if the call alone says it.
    pub result: bool,
}

/// An address in a program or a library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeLocation {
    /// The file that holds the code.
    pub file: PathBuf,
    /// The address within it, as its symbols have it.
    pub address: u64,
}

/// An opaque object as an argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ObjectArgument {
    /// The standard's own: `MPI_COMM_WORLD`, `MPI_REQUEST_NULL`.
    Named(&'static str),
    /// Made by the program.
    Made {
        /// Counts the objects of a kind that a rank has seen, from 1 in the order in which it saw them.
        number: u32,
        /// The least number from 1 that no other object of the kind had when this one was seen: it comes
        /// again once the object is gone, so that the turns of a loop look alike.
        slot: u32,
    },
}

/// Membership of a rank in a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommMembership {
    /// The rank in the (local) group.
    pub rank: u32,
    /// Ranks that its messages can go to: of an intercommunicator those of the remote group.
    pub peers: u32,
    /// The rank in `MPI_COMM_WORLD` of rank 0 of the (local) group, and of the group that its messages go to.
    pub leaders: (u32, u32),
}

/// Returns how far the rank `to` is behind `from`, round `peers` ranks: the shorter way, forwards if both are
/// as long; O(1).
pub fn distance(from: u32, to: u32, peers: u32) -> i32 {
    let ahead = if to >= from { to - from } else { to + (peers - from) };
    if ahead > peers / 2 { (i64::from(ahead) - i64::from(peers)) as i32 } else { ahead as i32 }
}

/// Status of a message that was received, or of an operation that is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedStatus {
    /// The source in its communicator, or `MPI_ANY_SOURCE` (-1) or `MPI_PROC_NULL` (-3).
    pub source: i32,
    /// The tag, or `MPI_ANY_TAG` (-2).
    pub tag: i32,
    /// Payload, in bytes.
    pub bytes: i64,
    /// `true` if the operation was cancelled.
    pub cancelled: bool,
}

/// The kinds of objects of which nothing but their name or number is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "each is MPI's word")]
pub enum Class {
    Comm,
    Datatype,
    Op,
    Request,
    Group,
    Info,
    Errhandler,
    Win,
    File,
    Session,
    Message,
    Tool,
}

impl Class {
    /// All classes, each in the place of its number (`class as usize`).
    pub const ALL: [Class; 12] = [
        Class::Comm,
        Class::Datatype,
        Class::Op,
        Class::Request,
        Class::Group,
        Class::Info,
        Class::Errhandler,
        Class::Win,
        Class::File,
        Class::Session,
        Class::Message,
        Class::Tool,
    ];

    /// Returns what an object of the class is called where it is shown by its number: `request#1`.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Comm => "comm",
            Class::Datatype => "datatype",
            Class::Op => "op",
            Class::Request => "request",
            Class::Group => "group",
            Class::Info => "info",
            Class::Errhandler => "errhandler",
            Class::Win => "win",
            Class::File => "file",
            Class::Session => "session",
            Class::Message => "message",
            Class::Tool => "handle",
        }
    }
}

/// Value of an argument.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A result that is not there: the call has not returned, has failed, or found nothing.
    Unknown,
    /// A null pointer.
    Null,
    /// A buffer in the rank's memory. Addresses differ from run to run.
    Buffer(u64),
    /// `MPI_IN_PLACE`.
    InPlace,
    /// Another address: a callback, a value that is handed through, the place of what was allocated.
    Address(u64),
    /// A count of elements, bytes or others, a displacement or an extent.
    Count(i64),
    /// Any other number.
    Integer(i64),
    /// A truth value.
    Logical(bool),
    /// A rank of the call's communicator, or a negative number with a meaning.
    Rank(i32),
    /// A tag, or `MPI_ANY_TAG`.
    Tag(i32),
    /// A communicator.
    Comm {
        /// The communicator.
        object: ObjectArgument,
        /// Context, which identifies the communicator on all ranks; `None` for a null handle.
        context: Option<u32>,
        /// Members of its (local) group.
        size: u32,
        /// Membership of the calling rank; `None` if it is no member, or if the handle is null.
        member: Option<CommMembership>,
    },
    /// A datatype.
    Datatype {
        /// The datatype.
        object: ObjectArgument,
        /// Bytes of one element.
        size: u64,
        /// From one element to the next, in bytes.
        extent: i64,
    },
    /// Any other object.
    Handle(Class, ObjectArgument),
    /// A status.
    Status(RecordedStatus),
    /// Text.
    Text(String),
    /// An array.
    List(Vec<Value>),
}

/// A receive that has learned its message. Messages of one source, tag and communicator are received in the
/// order in which they were sent, so that this tells which send it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matched {
    /// The receive's request; `None` for a blocking one.
    pub request: Option<u32>,
    /// The sender, in `MPI_COMM_WORLD`; `None` if the communicator has been freed.
    pub source: Option<u32>,
    /// The context of the communicator.
    pub context: Option<u32>,
    /// Status of the message.
    pub status: RecordedStatus,
}

/// An object or a message that a rank leaves behind when it finalizes MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leftover {
    /// An object that it has not freed, or a request that it has not completed.
    Object {
        /// Kind of the object.
        class: Class,
        /// The name of the function in a call of which the rank first saw it, as a rule the one that made it.
        function: &'static str,
        /// Site of that call ([`Call::site`]).
        site: u32,
    },
    /// A message that it has not received.
    Message {
        /// The sender, in `MPI_COMM_WORLD`; `None` if the communicator has been freed.
        source: Option<u32>,
        /// The tag.
        tag: i32,
        /// Payload, in bytes.
        bytes: u64,
    },
}

/// A call that a finding is about: its rank, function and site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Party {
    /// The rank, in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The name of the function.
    pub function: &'static str,
    /// Site of the call ([`Call::site`]), as the process of the rank numbers sites.
    pub site: u32,
    /// The process that has the rank, if it is another one than this.
    pub process: Option<u32>,
}

/// Access of a pending operation, or of a call, to the program's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Touch {
    /// It sends from there.
    Reads,
    /// It receives into it.
    Writes,
}

/// Something in the program that MPI does not promise to work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// A call touches memory that an operation touches which is not complete, or that it touches itself with
    /// another buffer; one of both writes it (MPI 5.0 sections 3.7.2, 6.1).
    Overlap {
        /// The call, and what it does.
        call: (Party, Touch),
        /// The operation that was started before, and what it does; `None` if the call itself has both
        /// buffers.
        pending: Option<(Party, Touch)>,
    },
    /// A message is received with another type signature than it was sent with (MPI 5.0 section 3.3.1).
    Types {
        /// The receive, and what its datatype is called.
        receive: (Party, String),
        /// The send.
        send: (Party, String),
    },
    /// A member of a collective call has another type signature than the one that all are compared with (MPI
    /// 5.0 section 6.1).
    Collective {
        /// The member's call, and how often it has which datatype.
        member: (Party, String),
        /// The root's, or rank 0's of the communicator.
        first: (Party, String),
    },
    /// Memory that an operation under way touches was written or freed before the operation was complete (MPI
    /// 5.0 section 3.7.2).
    Disturbed {
        /// The operation, and what it does.
        operation: (Party, Touch),
        /// Freed, else written.
        freed: bool,
    },
    /// A call is given a request that was completed before, such as a copy of its handle (MPI 5.0 section
    /// 3.7.3).
    Stale {
        /// The call.
        call: Party,
    },
    /// A standard send returns only because its message is buffered (MPI 5.0 section 3.5).
    Unbuffered {
        /// The send.
        send: Party,
        /// The operations that ranks would wait for if no message were buffered.
        waits: String,
    },
}

/// A successful call in words that identify it. Calls with equal words are of one function and site, and
/// their arguments are equal, except for buffers and addresses, and for ranks above 0 that are no roots.
/// These are equally far ([`distance`]) from the caller in the call's communicator (the world where there is
/// none).
#[derive(Clone, Copy, Debug)]
pub struct CallKey<'a> {
    /// The rank, in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The number for the communicator of the call, if that is one that the program made; else 0.
    pub comm: u32,
    /// The rank's clock on entry.
    pub entered: Time,
    /// Opaque encoding of the call, which only its producer can decode.
    pub words: &'a [u64],
}

/// Entry into a region of the program, exit from one, or a level of `MPI_Pcontrol`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionEvent<'a> {
    /// It goes into one of this name, within those that it is in.
    Begin(&'a str),
    /// It leaves the one of this name, which is the last that it went into.
    End(&'a str),
    /// `MPI_Pcontrol` with this level, which holds until the next; 1 is the normal one (MPI 5.0 section
    /// 15.2.4).
    Level(i32),
}

/// Listens to the calls of a process's ranks. Virtual times do not depend on whether anybody listens.
pub trait Recorder {
    /// Returns `true` if it listens to this rank; asked once a call. Where another recorder does, it is told
    /// all the same.
    fn wants(&self, rank: u32) -> bool;
    /// Returns `true` if it is to be told of calls by [`Recorder::call`], [`Recorder::recognize`] and
    /// [`Recorder::unfinished`]. If no recorder is, arguments are not read.
    fn wants_calls(&self) -> bool {
        true
    }
    /// Returns `true` if it is to be told by [`Recorder::returned`], [`Recorder::gathered`] and
    /// [`Recorder::traffic`] what calls waited for. To find that out takes its time of the host at each
    /// message.
    fn wants_waits(&self) -> bool {
        false
    }
    /// Records what a profile needs of a call that has returned.
    fn returned(&mut self, _call: &Returned) {}
    /// Takes a call that had not returned when the run ended: what it did up to then.
    fn unreturned(&mut self, _call: &Returned) {}
    /// Returns `true` if it is to be told by [`Recorder::received`] of the messages of the ranks that it
    /// wants; only one that wants waits may.
    fn wants_messages(&self) -> bool {
        false
    }
    /// Records a message that was received in the call that comes next ([`Recorder::returned`] or
    /// [`Recorder::unreturned`]).
    fn received(&mut self, _message: &ReceivedMessage) {}
    /// Records when all members of the collective `id` have entered it. Told before or after the calls of
    /// these members return.
    fn gathered(&mut self, _id: (u32, u32), _entries: &Entries) {}
    /// Takes a rank's clock at the end of the run, of each rank of this process; called before
    /// [`Recorder::end`] if the recorder wants waits.
    fn finished(&mut self, _rank: u32, _at: Time) {}
    /// Takes all that the ranks of this process have sent; called before [`Recorder::end`].
    fn traffic(&mut self, _traffic: &Traffic) {}
    /// Tells the kinds of collectives that the calls of this process were ([`Returned::collective`]), from
    /// number 1 on; told before [`Recorder::end`] to who wants waits.
    fn collectives(&mut self, _kinds: &[(CollectiveKind, CollectiveUse)]) {}
    /// Records a call that has returned. Calls from within callbacks come before the call that the callback
    /// was for.
    fn call(&mut self, call: &Call, left: &CallReturn);
    /// Returns `true` if it knows calls again by their words, and wants nothing of calls that have not
    /// returned. If all recorders do, [`Recorder::recognize`] is asked first.
    fn recognizes(&self) -> bool {
        false
    }
    /// Recognizes a call that has returned, and that is all if the result is `true`: else [`Recorder::call`]
    /// gets the same call next.
    fn recognize(&mut self, _call: &CallKey, _left: &CallReturn) -> bool {
        false
    }
    /// Takes a call that had not returned when the run ended, or was left by an exception: [`Recorder::call`]
    /// did not get it.
    fn unfinished(&mut self, call: &Call);
    /// Returns `true` if it is to be told by [`Recorder::matched`].
    fn wants_matches(&self) -> bool {
        false
    }
    /// Takes the message of a receive, in the call that is reported next.
    fn matched(&mut self, _rank: u32, _matched: &Matched) {}
    /// Returns `true` if it is to be told by [`Recorder::left_over`] and [`Recorder::found`]. To find that
    /// out takes its time of the host at each call.
    fn wants_findings(&self) -> bool {
        false
    }
    /// Takes a finding, of a rank of this process: of a message or a collective call that of the receiver or
    /// member.
    fn found(&mut self, _finding: &Finding) {}
    /// Takes what a rank that has finalized MPI has left behind. Called before [`Recorder::end`], ranks in
    /// their order.
    fn left_over(&mut self, _rank: u32, _what: &Leftover) {}
    /// Records that the rank computed for `span` from `from` on, outside MPI.
    fn computed(&mut self, _rank: u32, _from: Time, _span: Span) {}
    /// Switches the recording of a rank on from now on, or off, as the program wants; it is on at the
    /// beginning.
    fn listen(&mut self, _rank: u32, _on: bool) {}
    /// Notes that a rank goes into a region of the program or leaves one. Returns `true` if that fits what it
    /// gave before.
    fn region(&mut self, _rank: u32, _at: Time, _region: RegionEvent) -> bool {
        true
    }
    /// Returns `true` if calls are to have their [`Call::site`].
    fn wants_sites(&self) -> bool {
        false
    }
    /// Calls with site `number` are made here: where they return to. Told before the first of them.
    fn site(&mut self, _number: u32, _place: &CodeLocation) {}
    /// Calls with site `number` are made at a place of this name, which is in no program that runs: calls of
    /// a trace. Told before the first of them.
    fn named_site(&mut self, _number: u32, _name: &str) {}
    /// Returns how many callers of a site are to be told by [`Recorder::chain`]; only one that wants sites
    /// may ask for any. To find them out takes its time of the host at each call.
    fn wants_chains(&self) -> u32 {
        0
    }
    /// Calls with this chain come from where these frames return to, innermost first: those behind the frame
    /// of the site, fewer if the rank began there. Told before the first of them; a chain is of one function
    /// and site.
    fn chain(&mut self, _number: u32, _places: &[CodeLocation]) {}
    /// Ends the recording: no more calls of this process come.
    ///
    /// # Errors
    /// A sentence, if something could not be written.
    fn end(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// Returns what the first process is to know of this one when it brings the parts together; asked after
    /// [`Recorder::end`].
    fn part(&mut self) -> Vec<u8> {
        Vec::new()
    }
    /// Returns what it found out for the report of the run, on the first process, after [`Recorder::merge`].
    fn profile(&mut self) -> Option<CallProfile> {
        None
    }
    /// Returns what the run's time depends on, if it found that out, on the first process, after
    /// [`Recorder::merge`].
    fn critical_path(&mut self) -> Option<CriticalPath> {
        None
    }
    /// Brings the parts of all processes, by number, together on the first of them, after all have ended.
    ///
    /// # Errors
    /// A sentence, if something could not be read or written.
    fn merge(&mut self, _parts: Vec<Vec<u8>>) -> Result<(), String> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Class;

    #[test]
    fn classes_stand_in_the_places_of_their_numbers() {
        assert!(Class::ALL.iter().enumerate().all(|(place, &class)| class as usize == place));
    }
}
