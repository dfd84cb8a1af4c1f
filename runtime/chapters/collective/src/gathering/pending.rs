//! The state that a nonblocking collective keeps of the members that have entered and gone on, while its
//! members gather.
//!
//! Nothing else of a member matters to it: without overheads a rank's messages do not hold each other up. So
//! the time at which a member is through follows from the clocks at which all have entered, whatever they do
//! meanwhile.

use engine::Time;
use p2p::node::NIL;
use p2p::view::BufferView;
use rank::Addr;
use rustc_hash::FxHashMap;

/// By a member's place among those of the process.
pub(crate) struct Pending {
    requests: Vec<u32>,
    /// The time at which they entered: one clock while that is the same.
    // A vector only once two members have entered at different times: programs without noise never make one.
    clock: Time,
    clocks: Vec<Time>,
    /// Addresses of the members' results; empty until one member has an address.
    // Eight bytes a member, and none where nobody gets anything; what is laid out is rare and elsewhere.
    targets: Vec<Addr>,
    /// Memory of results that are not contiguous, by member.
    scattered: FxHashMap<u32, BufferView>,
}

impl Pending {
    pub(crate) fn new(members: u32) -> Pending {
        let requests = vec![NIL; members as usize];
        Pending {
            requests,
            clock: Time::ZERO,
            clocks: Vec::new(),
            targets: Vec::new(),
            scattered: FxHashMap::default(),
        }
    }
    /// Records that a member is in; `first` if nobody was.
    pub(crate) fn enter(&mut self, place: u32, first: bool, clock: Time, request: u32, target: &BufferView) {
        self.requests[place as usize] = request;
        if first {
            self.clock = clock;
        } else if self.clocks.is_empty() && clock != self.clock {
            self.clocks = vec![self.clock; self.requests.len()];
        }
        if let Some(place) = self.clocks.get_mut(place as usize) {
            *place = clock;
        }
        if target.bytes == 0 {
            return;
        }
        if target.layout.is_some() {
            self.scattered.insert(place, target.clone());
            return;
        }
        if self.targets.is_empty() {
            self.targets = vec![Addr::NULL; self.requests.len()];
        }
        self.targets[place as usize] = target.buffer;
    }
    pub(crate) fn request(&self, place: u32) -> u32 {
        self.requests[place as usize]
    }
    pub(crate) fn clock(&self, place: u32) -> Time {
        self.clocks.get(place as usize).copied().unwrap_or(self.clock)
    }
    /// Returns where a result of `bytes` goes.
    pub(crate) fn target(&self, place: u32, bytes: u64) -> BufferView {
        if let Some(view) = self.scattered.get(&place) {
            return view.clone();
        }
        match self.targets.get(place as usize) {
            Some(&buffer) if buffer != Addr::NULL => BufferView { buffer, layout: None, bytes },
            _ => BufferView::none(),
        }
    }
    /// [`Pending::target`], once: afterwards it goes nowhere.
    // Once: a request whose data was asked for early (`MPI_Request_get_status`) is completed later, when the
    // program may have changed the buffer.
    pub(crate) fn take_target(&mut self, place: u32, bytes: u64) -> BufferView {
        let target = self.target(place, bytes);
        self.scattered.remove(&place);
        if let Some(place) = self.targets.get_mut(place as usize) {
            *place = Addr::NULL;
        }
        target
    }
}
