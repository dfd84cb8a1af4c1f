//! One member of a collective that goes through the rounds on its own: its buffers, and how far it is.

use crate::agreement::takes_part_without_data;
use crate::delivery::Delivery;
use crate::reduction::Reduction;
use engine::Time;
use objects::error::{ErrorClass, Failure};
use p2p::Messages;
use p2p::view::BufferView;
use schedule::data::steps::{Rows, SizeMismatch};
use schedule::{Blocks, Buffer, Member, Members, Slice, member_of};
use std::rc::Rc;

/// Progress of a member through its collective.
// Held --(all are in, or nothing else can run)--> Running --(last round)--> Done
//   \------------------(the planes, or no part in it)------------------------^
// A member that waits for a message within a round is Running, with `waiting` set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AgentState {
    /// Entered, not started.
    Held,
    /// Moving through its rounds.
    Running,
    /// Through, at its clock; its rank goes on when nothing can come before that. Only where others go on
    /// when a rank fails.
    Finished,
    /// Through.
    Done,
}

/// One member of an instance.
// Three hundred bytes and its buffers, which is why members that may gather are no agents (`Gathering`). In a
// box, so that an instance of which few members ever become one does not have the room for all.
pub(crate) struct Agent {
    pub(crate) rank: u32,
    pub(crate) clock: Time,
    pub(crate) stage: AgentState,
    pub(super) round: u32,
    /// Receives of the round that are complete, then local steps done.
    pub(super) cursor: u32,
    // A round may be begun again after each message that it waited for; what it sends is sent once.
    pub(super) sent: bool,
    // Whoever delivers looks here: an arrival that nobody waits for moves nobody, and is found when its round
    // comes.
    pub(super) waiting: Option<u32>,
    pub(crate) member: Member,
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) scratch: Vec<u8>,
    pub(crate) reduction: Option<Rc<Reduction>>,
    pub(super) delivery: Delivery,
    /// The time from which the member's next message may leave. A nonblocking collective has the rank's
    /// interface for itself. With a gap, its messages keep their distance from each other and from those that
    /// the rank sent before the call, not from those that it sends meanwhile.
    pub(super) nic_free: Time,
    /// The request of a nonblocking call; a blocking one has none.
    pub(crate) request: Option<u32>,
    pub(crate) failure: Option<Box<Failure>>,
    /// `true` if the rank's call was refused: nobody waits for this member's result.
    pub(crate) refused: bool,
    /// `true` if its rank has gone on with an error, because another has failed or the communicator is
    /// revoked. It takes part to the end.
    pub(crate) gone: bool,
    /// The rank for want of whose data it has too little to give.
    pub(crate) missing: Option<u32>,
}

impl Agent {
    /// Returns a member that has entered a blocking call; its result is taken from it when it leaves.
    pub(crate) fn entered(
        rank: u32,
        clock: Time,
        member: Member,
        input: Vec<u8>,
        output_bytes: u64,
        reduction: Option<Rc<Reduction>>,
    ) -> Agent {
        Agent {
            rank,
            clock,
            stage: AgentState::Held,
            round: 0,
            cursor: 0,
            sent: false,
            waiting: None,
            member,
            input,
            output: vec![0; output_bytes as usize],
            scratch: Vec::new(),
            reduction,
            delivery: Delivery::None,
            nic_free: Time::ZERO,
            request: None,
            failure: None,
            refused: false,
            gone: false,
            missing: None,
        }
    }
    /// Returns `true` if its rank does something else meanwhile: it has gone on from a nonblocking call, or
    /// from one that it was refused.
    // Then time that passes in the collective is not the rank's: neither its clock, its waiting nor its
    // interface has a part in it.
    pub(super) fn is_by_itself(&self) -> bool {
        self.request.is_some() || self.refused || self.gone
    }
    pub(crate) fn round(&self) -> u32 {
        self.round
    }
    /// Records that a message had another size than this member expects: the call fails when it is collected.
    #[cold]
    pub(crate) fn mismatch(&mut self, from: u32, got: u64, expected: u64) {
        let class = if got > expected { ErrorClass::TRUNCATE } else { ErrorClass::COUNT };
        let text = format!(
            "mismatched sizes: rank {from} of the communicator sent {got} bytes where this rank expects \
             {expected}; all members must give matching counts and datatypes"
        );
        self.failure.get_or_insert_with(|| Failure::new(class, text));
    }
    /// Returns `true` if it has all of a slice; if not, the call fails when it is collected.
    // Asked before each access, because lengths come from the program: members may contradict each other and
    // themselves, and who is wrong gets an error class (MPI 5.0 section 6.2 leaves it open) rather than a
    // crash of all.
    pub(crate) fn covers(&mut self, slice: Slice) -> bool {
        let length = match slice.buffer {
            Buffer::Input => self.input.len(),
            Buffer::Output => self.output.len(),
            Buffer::Scratch => self.scratch.len(),
            Buffer::Nothing => return true,
        } as u64;
        let needed = slice.offset + slice.bytes;
        if needed > length {
            self.falls_short(slice.buffer, length, needed);
        }
        needed <= length
    }
    // The first fault is kept: later ones mostly follow from it.
    #[cold]
    fn falls_short(&mut self, buffer: Buffer, length: u64, needed: u64) {
        let side = if buffer == Buffer::Input { "sends" } else { "receives" };
        let text = format!(
            "mismatched sizes: this rank {side} {length} bytes where its own counts for the members ask for \
             {needed}; the counts of a rank must agree with each other and with those of the others"
        );
        self.failure.get_or_insert_with(|| Failure::new(ErrorClass::COUNT, text));
    }
    /// Records a fault of this member that the data plane found: the call fails when it is collected.
    #[cold]
    pub(crate) fn fails(&mut self, fault: SizeMismatch) {
        match fault {
            SizeMismatch::Mismatch { from, got, expected } => self.mismatch(from, got, expected),
            SizeMismatch::Short { buffer, length, needed } => self.falls_short(buffer, length, needed),
            SizeMismatch::Missing { from } => {
                let text = format!("no message from member {from} in its round");
                self.failure.get_or_insert_with(|| Failure::new(ErrorClass::INTERN, text));
            }
        }
    }
    /// Copies `from` into `into`.
    pub(super) fn copy(&mut self, from: Slice, into: Slice) {
        if self.covers(from) && self.covers(into) {
            let bytes = buffer_of(self, from).to_vec();
            buffer_mut(self, into).copy_from_slice(&bytes);
        }
    }
    /// `into = left op right` with MPI's own operation; `into` is one of the two.
    // `right` is combined in place where it can be. Taking the whole buffer out for that moves three words,
    // copying the slice all of it.
    pub(super) fn reduce(&mut self, left: Slice, right: Slice, into: Slice) {
        let Some(kernel) = self.reduction.as_ref().and_then(|reduction| reduction.kernel) else { return };
        if into.bytes == 0 || !self.covers(left) || !self.covers(right) {
            return;
        }
        if right == into && left.buffer != into.buffer {
            let mut target = std::mem::take(self.vec_mut(into.buffer));
            let range = into.offset as usize..(into.offset + into.bytes) as usize;
            kernel(buffer_of(self, left), &mut target[range]);
            *self.vec_mut(into.buffer) = target;
            return;
        }
        let first = buffer_of(self, left).to_vec();
        let mut second = buffer_of(self, right).to_vec();
        kernel(&first, &mut second);
        buffer_mut(self, into).copy_from_slice(&second);
    }
    /// Returns one of its buffers whole.
    fn vec_mut(&mut self, buffer: Buffer) -> &mut Vec<u8> {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            _ => &mut self.scratch,
        }
    }

    /// Notes that what it has to give is incomplete, because the call was refused to this rank. A member that
    /// only passes data on does not fail.
    #[cold]
    pub(super) fn lacks(&mut self, rank: u32) {
        self.missing.get_or_insert(rank);
        if !self.output.is_empty() {
            self.failure.get_or_insert_with(|| takes_part_without_data(rank));
        }
    }
}

// A nonblocking member is told by its request, a blocked one is woken; one that was never blocked (it is
// entering right now, and finds itself through) has nothing to be told.
pub(crate) fn agent_done(messages: &mut Messages, agent: &mut Agent) {
    match agent.request {
        Some(request) => messages.finish_request(request, agent.clock),
        None => {
            if let Some(strand) = messages.ranks_mut().unblock(agent.rank) {
                messages.ready_mut().wake(strand);
            }
        }
    }
}

/// Part of a member's buffer; nothing where the buffer ends before (its counts contradict each other).
// An empty slice and not a panic: `covers` has noted the fault already, and the member goes on so that the
// others do not wait for it.
pub(crate) fn buffer_of(agent: &Agent, slice: Slice) -> &[u8] {
    let range = slice.offset as usize..(slice.offset + slice.bytes) as usize;
    let buffer: &[u8] = match slice.buffer {
        Buffer::Input => &agent.input,
        Buffer::Output => &agent.output,
        Buffer::Scratch => &agent.scratch,
        Buffer::Nothing => &[],
    };
    buffer.get(range).unwrap_or(&[])
}

/// Returns the slice of [`buffer_of`], to write.
pub(crate) fn buffer_mut(agent: &mut Agent, slice: Slice) -> &mut [u8] {
    let range = slice.offset as usize..(slice.offset + slice.bytes) as usize;
    let buffer: &mut [u8] = match slice.buffer {
        Buffer::Input => &mut agent.input,
        Buffer::Output => &mut agent.output,
        Buffer::Scratch => &mut agent.scratch,
        Buffer::Nothing => &mut [],
    };
    buffer.get_mut(range).unwrap_or(&mut [])
}

/// Packs views one behind the other.
pub(crate) fn pack(views: &[BufferView]) -> Vec<u8> {
    let mut out = Vec::with_capacity(views.iter().map(|view| view.bytes as usize).sum());
    for view in views {
        view.append_to(&mut out);
    }
    out
}

/// Members that have agents, in a row from `first` on.
pub(crate) struct AgentMembers<'a> {
    pub(crate) agents: &'a [Option<Box<Agent>>],
    pub(crate) first: u32,
}

impl AgentMembers<'_> {
    pub(crate) fn agent(&self, rank: u32) -> &Agent {
        self.agents[(rank - self.first) as usize].as_ref().expect("all members are in")
    }
    /// Returns what members contribute.
    pub(crate) fn inputs(&self) -> Rows {
        Rows::of(self.agents.iter().flatten().map(|agent| agent.input.as_slice()))
    }
    /// Computes `right = left op right` with the operation of a member, which is MPI's own.
    pub(crate) fn combine(&self, member: u32, left: &[u8], right: &mut [u8]) {
        if let Some(kernel) = self.agent(member).reduction.as_ref().and_then(|reduction| reduction.kernel) {
            kernel(left, right);
        }
    }
}

impl Members for AgentMembers<'_> {
    fn prototype(&self) -> Member {
        member_of(0, Blocks::Uniform(0), Blocks::Uniform(0))
    }
    fn describe(&self, member: &mut Member) {
        member.clone_from(&self.agent(member.rank).member);
    }
    fn output(&self, rank: u32) -> u64 {
        self.agent(rank).output.len() as u64
    }
}
