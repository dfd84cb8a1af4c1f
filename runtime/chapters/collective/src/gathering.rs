//! Collectives that a process holds in a few words a member until the last one enters.
//!
//! While its members come in, a collective keeps a bit and the packed contribution of each. Where the result
//! goes stays on the blocked member's own stack; a member of a nonblocking call goes on (`pending.rs`). When
//! all are in and message times are a formula, the [`planes`](crate::planes) advance the clocks, and the
//! result is what the collective means.
//!
//! Whatever needs more (a gap where members go on, members that must start before all are in) becomes agents,
//! and runs as any other collective.
//!
//! A member enters ([`Gathering::enter`]), the last one completes it ([`Gathering::complete`]), and each
//! takes its result ([`Gathering::take`]). Blocks that differ from member to member are in `varied`.

pub(crate) mod entering;
pub(crate) mod latest;
pub(crate) mod pending;
pub(crate) mod results;
#[cfg(test)]
mod tests;
pub(crate) mod varied;

use crate::agent::pack;
use crate::arguments::CallArguments;
use crate::blocks::BlockList;
use crate::gathering::pending::Pending;
use crate::gathering::varied::Varied;
use crate::reduction::MemberReductions;
use crate::reduction::Reduction;
use crate::remote::passage::Distributed;
use engine::Time;
use p2p::view::BufferView;
use rank::{Addr, memory};
use schedule::{Blocks, Kind, Members, Shape};
use std::rc::Rc;

/// The state that a process keeps of a collective whose members are coming in: a bit and the packed
/// contribution of each. A blocked member keeps where its result goes on its own stack; one of a nonblocking
/// call leaves that, its clock and its request in `pending`. So a barrier of a million ranks takes 125 KB
/// here, where an agent each would take 300 MB.
pub(crate) struct Gathering {
    /// The first member on this process; `joined` and `data` count from it.
    pub(super) first: u32,
    // A bit a member. A count alone would not tell a report who is missing, nor an expansion who is in.
    joined: Box<[u64]>,
    pub(crate) data: Data,
    /// State of an instance with members on other processes.
    pub(super) distributed: Option<Box<Distributed>>,
    /// Operation and datatype, and their handles.
    pub(super) reduction: Option<((usize, usize), Rc<Reduction>)>,
    /// Each member's reduction, where it uses a function of the program.
    pub(super) functions: Option<Box<MemberReductions>>,
    /// The clock of all who are in, while they have the same.
    // Enough for all in programs without noise; then the time plane has one number to move instead of one for
    // each member.
    pub(super) clock: Option<Time>,
    /// State of a nonblocking call.
    pub(super) pending: Option<Pending>,
    /// Blocks of members that have more than one size, in place of `data`.
    pub(super) varied: Option<Box<Varied>>,
    pub(super) complete: bool,
}

/// The memory that a member takes its result into.
pub(crate) enum ResultMemory<'a> {
    /// One stretch.
    View(&'a BufferView),
    /// Blocks that differ, of a collective of them.
    List(&'a BlockList<'a>),
    /// Named when the member entered a call that does not wait.
    Pending,
}

/// Packed contributions; once the collective is complete, results.
pub(crate) enum Data {
    Nothing,
    /// One block: the root's alone, or the same for all.
    One(Vec<u8>),
    /// A block of this many bytes for each member.
    Each(Vec<u8>, usize),
}

impl Gathering {
    /// Makes a gathering for `count` members from `first` on.
    pub(super) fn new(first: u32, count: u32) -> Gathering {
        let joined = vec![0; (count as usize).div_ceil(64)].into();
        Gathering {
            first,
            joined,
            data: Data::Nothing,
            distributed: None,
            reduction: None,
            clock: None,
            pending: None,
            varied: None,
            functions: None,
            complete: false,
        }
    }
    /// Makes a gathering for agents, which the instance keeps.
    pub(crate) fn of_agents(first: u32, count: u32, distributed: Box<Distributed>) -> Gathering {
        Gathering { distributed: Some(distributed), ..Gathering::new(first, count) }
    }
    pub(crate) fn has(&self, member: u32) -> bool {
        let member = member.wrapping_sub(self.first);
        self.joined.get(member as usize / 64).is_some_and(|word| word >> (member % 64) & 1 != 0)
    }
    /// Enters a member, whose rank is mounted and which makes this call at `clock`. `arrived` members of
    /// `here` are in; a call that does not wait has a request.
    // While its rank is mounted: later nobody could read a contribution on its stack.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        shape: &Shape,
        (arrived, here): (u32, u32),
        clock: Time,
        request: Option<u32>,
        call: &CallArguments,
    ) {
        let (member, first) = (call.place.member, arrived == 0);
        self.join(member, clock, first);
        if let (Some(pending), Some(request)) = (&mut self.pending, request) {
            pending.enter(member - self.first, first, clock, request, &call.receive.target());
        }
        self.contribute(shape, here, call);
    }
    /// Reads what a member gives to a reduction of stretches, whose rank is mounted. Returns `false`, and
    /// nothing has happened, if others gave none.
    #[inline(always)]
    pub(crate) fn read_operand(&mut self, member: u32, from: Addr) -> bool {
        let Data::Each(data, stride) = &mut self.data else { return false };
        memory::read(from, &mut data[(member - self.first) as usize * *stride..][..*stride]);
        true
    }
    /// Records that a member is in; `first` if nobody was.
    #[inline]
    pub(crate) fn join(&mut self, member: u32, clock: Time, first: bool) {
        let member = member - self.first;
        self.joined[member as usize / 64] |= 1 << (member % 64);
        if first {
            self.clock = Some(clock);
        } else if self.clock != Some(clock) {
            self.clock = None;
        }
    }
    /// Removes a member that was in and leaves before all are.
    pub(crate) fn part(&mut self, member: u32) {
        let member = member - self.first;
        self.joined[member as usize / 64] &= !(1 << (member % 64));
    }
    /// Returns what the other processes have to do with it; there are some.
    pub(crate) fn distributed(&self) -> &Distributed {
        self.distributed.as_ref().expect("members are elsewhere")
    }
    pub(crate) fn distributed_mut(&mut self) -> &mut Distributed {
        self.distributed.as_mut().expect("members are elsewhere")
    }
    /// Returns the operation of a reduction.
    pub(crate) fn kernel(&self) -> Option<objects::op::Kernel> {
        self.reduction.as_ref().and_then(|(_, reduction)| reduction.kernel)
    }
    pub(crate) fn set_complete(&mut self) {
        self.complete = true;
    }
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }
    /// Takes what a member gives, whose rank is mounted; `here` members are on this process.
    fn contribute(&mut self, shape: &Shape, here: u32, call: &CallArguments) {
        let member = call.place.member;
        if let Some(varied) = &mut self.varied {
            varied.enter(call);
            if !varied.is_reduced() {
                return;
            }
        }
        let Some(view) = call.send.as_view().filter(|view| view.bytes != 0) else { return };
        let bytes = view.bytes as usize;
        // What the root brings is there once and not for each member: a broadcast of 1 MB to a million ranks
        // takes 1 MB.
        if matches!(shape.kind, Kind::Bcast | Kind::Scatter) {
            self.data = Data::One(pack(std::slice::from_ref(view)));
            return;
        }
        if let Data::Nothing = self.data {
            self.data = Data::Each(vec![0; bytes * here as usize], bytes);
        }
        let Data::Each(data, stride) = &mut self.data else { return };
        // Read straight to its place among the others: for gathers this is the result already.
        let place = &mut data[(member - self.first) as usize * *stride..][..bytes];
        match &view.layout {
            None => memory::read(view.buffer, place),
            Some(_) => place.copy_from_slice(&pack(std::slice::from_ref(view))),
        }
    }
    pub(crate) fn contribution(&self, shape: &Shape, member: u32) -> &[u8] {
        if let Some(varied) = self.varied.as_ref().filter(|varied| !varied.is_reduced()) {
            return varied.contribution(member);
        }
        match &self.data {
            Data::One(bytes) if member == shape.root => bytes,
            Data::Each(data, stride) => &data[(member - self.first) as usize * stride..][..*stride],
            _ => &[],
        }
    }
    /// Blocks that a member that is in sends and receives, and its packed bytes out.
    pub(super) fn buffers(&self, shape: &Shape, member: u32) -> (Blocks, Blocks, u64) {
        let block = Blocks::Uniform(shape.block());
        let Some(varied) = &self.varied else { return (block.clone(), block, shape.output(member)) };
        let (send, receive) = varied.blocks(member);
        (send, receive, varied.output(member))
    }
    /// Returns the packed result of a member of a complete reduction of which each keeps a block of its own
    /// size; `None` of other collectives.
    fn kept(&self, member: u32) -> Option<&[u8]> {
        let begins = self.varied.as_ref()?.begins()?;
        let (Data::Each(results, _), member) = (&self.data, member as usize) else { return Some(&[]) };
        Some(&results[begins[member] as usize..begins[member + 1] as usize])
    }
    /// Copies the result of a member of a complete collective, whose rank is mounted, into its memory.
    pub(crate) fn take(&mut self, shape: &Shape, member: u32, into: ResultMemory) {
        match into {
            ResultMemory::View(target) => self.deliver(shape, member, target),
            ResultMemory::Pending => {
                let bytes = self.buffers(shape, member).2;
                let Some(pending) = &mut self.pending else { return };
                let target = pending.take_target(member - self.first, bytes);
                self.deliver(shape, member, &target);
                if let Some(varied) = &mut self.varied {
                    varied.delivered(member);
                }
            }
            ResultMemory::List(list) => {
                if let Some(kept) = self.kept(member) {
                    list.fill(kept);
                } else if let Some(varied) = &mut self.varied {
                    varied.deliver_to(member, list);
                }
            }
        }
    }
    // Straight from the contributions, without a copy for each member. What a member gets is known by place
    // alone.
    #[inline]
    fn deliver(&self, shape: &Shape, member: u32, target: &BufferView) {
        if let Some(varied) = &self.varied {
            return varied.deliver(member, target);
        }
        if target.bytes == 0 {
            // What all know is right already; a scan's first member and a root that gave the data get
            // nothing.
            return;
        }
        let (block, place) = (target.bytes as usize, (member - self.first) as usize);
        let whole: &[u8] = match &self.data {
            Data::Nothing => &[],
            Data::One(bytes) if shape.kind == Kind::Scatter => &bytes[place * block..],
            Data::One(bytes) => bytes,
            // A gather's and an allgather's result is all contributions, one behind the other.
            Data::Each(data, _) if matches!(shape.kind, Kind::Gather | Kind::Allgather) => data,
            Data::Each(data, stride) => &data[place * stride..],
        };
        target.fill(whole);
    }
}
