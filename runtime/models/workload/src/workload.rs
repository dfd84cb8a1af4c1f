//! Workloads: what ranks without a program do, and what they know when they are asked for their next call.

use crate::call::{Answer, Awaited, Call, Message, Partners, Series, Start, Volley};
use crate::function::Function;
use engine::{Span, Time};
use mpi::comm;
use mpi::handle::{COMM_NULL, COMM_SELF, COMM_WORLD};
use mpi::volley::MAX_MESSAGES;
use std::rc::Rc;
use trace::trace::Comms;

/// A rank that is asked for its next call.
pub struct Caller<'a> {
    /// The rank in its `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The clock.
    pub clock: Time,
    pub(crate) knows: Known<'a>,
    /// The first rank of that world among all ranks of the run.
    pub(crate) first: u32,
}

/// The source of a rank's number in a communicator and of the number of its peers there.
#[derive(Clone, Copy)]
pub(crate) enum Known<'a> {
    /// MPI, of the communicators that the rank has made.
    Made(&'a comm::Comms, &'a [usize]),
    /// The communicators that a trace recorded: no rank runs.
    Recorded(&'a Comms),
}

/// A rank's standing in a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommStanding {
    /// The rank in the (local) group.
    pub rank: u32,
    /// The ranks of the (local) group.
    pub size: u32,
    /// The ranks that messages can go to.
    pub peers: u32,
    /// `true` in an intercommunicator.
    pub is_inter: bool,
}

impl Caller<'_> {
    /// The rank in a communicator, and how many its messages can go to there; `None` where the rank has no
    /// such communicator.
    // Made are those of the mounted rank, which is the one that is asked.
    #[inline]
    pub fn position(&self, comm: u32) -> Option<(u32, u32)> {
        match self.knows {
            Known::Made(comms, made) => comms.position(handle_of(made, comm)),
            Known::Recorded(_) if comm == Call::SELF => Some((0, 1)),
            Known::Recorded(comms) => {
                comms.member(self.rank, comm - Call::SELF).map(|member| (member.rank, member.peers))
            }
        }
    }

    /// Returns the rank's standing in a communicator; `None` where it has no such communicator.
    pub fn standing(&self, comm: u32) -> Option<CommStanding> {
        if let Known::Made(comms, made) = self.knows {
            let comm = comms.get(handle_of(made, comm)).ok()?;
            let (rank, size) = (comm.rank(comms.current), comm.size());
            return Some(CommStanding { rank, size, peers: comm.peers(), is_inter: comm.is_inter() });
        }
        let (rank, peers) = self.position(comm)?;
        let recorded = match self.knows {
            Known::Recorded(comms) if comm > Call::SELF => comms.instance(self.rank, comm - Call::SELF),
            _ => None,
        };
        let (size, is_inter) =
            recorded.map_or((peers, false), |(local, remote, size)| (size, local != remote));
        Some(CommStanding { rank, size, peers, is_inter })
    }

    /// Returns the caller as the ranks from `first` on see it that are a world of their own.
    #[inline]
    pub(crate) fn of_world(&self, first: u32) -> Caller<'_> {
        Caller { rank: self.rank - first, first, ..*self }
    }

    /// Returns how many communicators it has made.
    #[inline]
    pub fn made(&self) -> u32 {
        match self.knows {
            Known::Made(_, made) => made.len() as u32,
            Known::Recorded(comms) => comms.len() as u32,
        }
    }
}

/// Returns the handle of a communicator; `MPI_COMM_NULL`, with which calls fail, where the rank has made none
/// of that number.
#[inline]
pub(crate) fn handle_of(made: &[usize], comm: u32) -> usize {
    match comm {
        Call::WORLD => COMM_WORLD,
        Call::SELF => COMM_SELF,
        number => made.get(number as usize - 2).copied().unwrap_or(COMM_NULL),
    }
}

/// A source of the calls that ranks without a program make.
pub trait Workload {
    /// A rank's position in its calls. Each rank has one cursor.
    type Cursor: Clone + Default;

    /// Returns what a rank calls next, and what it computes before that, after its last call was answered so;
    /// a rank that begins is told [`Answer::Done`].
    fn next(&mut self, caller: &Caller, cursor: &mut Self::Cursor, answer: &Answer) -> (Span, Call);

    /// Returns a rank's next call with the number of its function and what the rank computes before it, if
    /// that is known to be a message whatever the last call's result was. Returns `None`, and the rank is
    /// where it was, if [`Workload::next`] is to be asked.
    fn message(&mut self, _: &Caller, _: &mut Self::Cursor) -> Option<(Span, u16, Message)> {
        None
    }

    /// Returns what a rank's next calls are, if several are known to be messages that are alike.
    fn series(&mut self, _: &Caller, _: &Self::Cursor) -> Option<Series> {
        None
    }

    /// Returns the next call of a rank's series, and what the rank computes before it; `None`, and the rank
    /// is where it was, if it is with none of these partners.
    fn start(&mut self, _: &Caller, _: &mut Self::Cursor, _: &Partners) -> Option<(Span, Start)> {
        None
    }

    /// Behaves as [`Workload::message`], if the call is known to wait for requests.
    fn wait(&mut self, _: &Caller, _: &mut Self::Cursor) -> Option<(Span, u16, &Awaited)> {
        None
    }

    /// Returns `true` if a rank's next calls may be a volley.
    fn has_volley(&self, _: &Self::Cursor) -> bool {
        false
    }

    /// Returns a rank's next calls, if they are known to be a volley. Writes into `others` with whom its
    /// messages are, if all are among those whom sends and receives in a communicator of this number may be
    /// with. Returns `None` otherwise, and the rank is where it was.
    fn volley(
        &self,
        _: &Self::Cursor,
        _with: impl FnOnce(u32) -> Option<[Partners; 2]>,
        _others: &mut [u32; MAX_MESSAGES],
    ) -> Option<Rc<Volley>> {
        None
    }

    /// Makes the calls of the rank's volley: `computed` gets what it computes before each, nothing if that is
    /// nothing.
    fn fire(&mut self, _: &Caller, _: &mut Self::Cursor, computed: &mut Vec<Span>) {
        computed.clear();
    }

    /// Returns the number of the call's MPI function among the names of the run ([`mpi::Setup`]); `None` of
    /// what is no call. Those of [`Function`] unless the workload has others.
    fn function(&self, _: &Self::Cursor, call: &Call) -> Option<u16> {
        Function::of(call).map(|function| function as u16)
    }

    /// Returns the function with which a rank begins, if it is not one of its calls.
    fn begins_with(&self) -> Option<u16> {
        Some(Function::Init as u16)
    }

    /// Returns when a rank begins.
    fn begins_at(&self, _: u32) -> Time {
        Time::ZERO
    }

    /// Returns where a rank is, for messages: a part of a sentence, or nothing.
    fn place(&self, _: &Self::Cursor) -> String {
        String::new()
    }

    /// Returns where a rank's last call is made, by a number, for recorders.
    fn site(&self, _: &Self::Cursor) -> u32 {
        0
    }

    /// Returns what a site is called.
    fn site_name(&self, _: u32) -> String {
        "no program".to_owned()
    }
}

impl<W: Workload> Workload for &mut W {
    type Cursor = W::Cursor;
    fn next(&mut self, caller: &Caller, cursor: &mut Self::Cursor, answer: &Answer) -> (Span, Call) {
        (**self).next(caller, cursor, answer)
    }
    #[inline(always)]
    fn message(&mut self, caller: &Caller, cursor: &mut Self::Cursor) -> Option<(Span, u16, Message)> {
        (**self).message(caller, cursor)
    }
    #[inline(always)]
    fn series(&mut self, caller: &Caller, cursor: &Self::Cursor) -> Option<Series> {
        (**self).series(caller, cursor)
    }
    #[inline(always)]
    fn start(
        &mut self,
        caller: &Caller,
        cursor: &mut Self::Cursor,
        partners: &Partners,
    ) -> Option<(Span, Start)> {
        (**self).start(caller, cursor, partners)
    }
    #[inline(always)]
    fn wait(&mut self, caller: &Caller, cursor: &mut Self::Cursor) -> Option<(Span, u16, &Awaited)> {
        (**self).wait(caller, cursor)
    }
    #[inline(always)]
    fn has_volley(&self, cursor: &Self::Cursor) -> bool {
        (**self).has_volley(cursor)
    }
    #[inline(always)]
    fn volley(
        &self,
        cursor: &Self::Cursor,
        with: impl FnOnce(u32) -> Option<[Partners; 2]>,
        others: &mut [u32; MAX_MESSAGES],
    ) -> Option<Rc<Volley>> {
        (**self).volley(cursor, with, others)
    }
    #[inline(always)]
    fn fire(&mut self, caller: &Caller, cursor: &mut Self::Cursor, computed: &mut Vec<Span>) {
        (**self).fire(caller, cursor, computed);
    }
    fn function(&self, cursor: &Self::Cursor, call: &Call) -> Option<u16> {
        (**self).function(cursor, call)
    }
    fn begins_with(&self) -> Option<u16> {
        (**self).begins_with()
    }
    fn begins_at(&self, rank: u32) -> Time {
        (**self).begins_at(rank)
    }
    fn place(&self, cursor: &Self::Cursor) -> String {
        (**self).place(cursor)
    }
    fn site(&self, cursor: &Self::Cursor) -> u32 {
        (**self).site(cursor)
    }
    fn site_name(&self, site: u32) -> String {
        (**self).site_name(site)
    }
}
