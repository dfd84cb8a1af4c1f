//! Flows, and those that one link bottlenecks by where its clock of service ends them.

use smallvec::SmallVec;

/// A flow.
#[derive(Default, Debug)]
pub(crate) struct Flow {
    /// The links that it crosses, each once.
    pub(crate) path: SmallVec<[u32; 8]>,
    pub(crate) weight: u32,
    /// The link that bottlenecks it; `NONE` while no link does.
    pub(crate) neck: u32,
    /// The index among the members of that link.
    pub(crate) slot: u32,
    /// Work left for each unit of weight, while no link bottlenecks it.
    pub(crate) left: u128,
    /// `true` if its last link is its bound, which is a link of its own.
    pub(crate) is_bounded: bool,
}

/// A flow of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupFlow {
    /// The flow ends where the clock reaches this.
    pub(crate) mark: u128,
    pub(crate) flow: u32,
}

/// A binary heap of members, the least mark first. Each flow has the index of its member.
#[derive(Default, Debug)]
pub(crate) struct Members(Vec<GroupFlow>);

impl Members {
    /// Returns the member that ends first.
    #[inline]
    pub(crate) fn first(&self) -> Option<&GroupFlow> {
        self.0.first()
    }

    /// Returns the number of members.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns a member by its index.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> &GroupFlow {
        &self.0[index]
    }

    /// Returns the members in no particular order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, GroupFlow> {
        self.0.iter()
    }

    /// Adds a member. O(log n).
    pub(crate) fn push(&mut self, member: GroupFlow, flows: &mut [Flow]) {
        self.0.push(member);
        self.rise(self.0.len() - 1, flows);
    }

    /// Removes the member at an index and returns it. O(log n).
    pub(crate) fn remove(&mut self, index: u32, flows: &mut [Flow]) -> GroupFlow {
        let index = index as usize;
        let member = self.0.swap_remove(index);
        if index < self.0.len() {
            self.sink(index, flows);
            self.rise(index, flows);
        }
        member
    }

    fn rise(&mut self, mut index: usize, flows: &mut [Flow]) {
        let member = self.0[index];
        while index > 0 {
            let parent = (index - 1) / 2;
            if self.0[parent].mark <= member.mark {
                break;
            }
            self.put(index, self.0[parent], flows);
            index = parent;
        }
        self.put(index, member, flows);
    }

    fn sink(&mut self, mut index: usize, flows: &mut [Flow]) {
        let member = self.0[index];
        loop {
            let mut child = 2 * index + 1;
            if child >= self.0.len() {
                break;
            }
            if self.0.get(child + 1).is_some_and(|other| other.mark < self.0[child].mark) {
                child += 1;
            }
            if member.mark <= self.0[child].mark {
                break;
            }
            self.put(index, self.0[child], flows);
            index = child;
        }
        self.put(index, member, flows);
    }

    fn put(&mut self, index: usize, member: GroupFlow, flows: &mut [Flow]) {
        self.0[index] = member;
        flows[member.flow as usize].slot = index as u32;
    }
}
