//! Flows, and those that one link bottlenecks by where its clock of service ends them.

use smallvec::SmallVec;

/// A flow.
#[derive(Default, Debug)]
pub(crate) struct Flow {
    /// The links that it crosses, each once: those of its path and its bound, then those on its way back.
    pub(crate) path: SmallVec<[u32; 8]>,
    /// The number of links that are not on its way back.
    pub(crate) forward: u32,
    pub(crate) weight: u32,
    /// The weight of its acknowledgements, on its way back.
    pub(crate) back_weight: u32,
    /// The link that bottlenecks it; `NONE` while no link does.
    pub(crate) neck: u32,
    /// The index among the members of that link.
    pub(crate) slot: u32,
    /// Work left for each unit of weight, while no link bottlenecks it.
    pub(crate) left: u128,
    /// `true` if its last link that is not on its way back is its bound, which is a link of its own.
    pub(crate) is_bounded: bool,
    /// `true` if it crosses links on its way back.
    pub(crate) has_back: bool,
}

impl Flow {
    /// Returns the weight with which it crosses the link at an index of its path.
    #[inline]
    pub(crate) fn weight_at(&self, hop: usize) -> u32 {
        if self.has_back && hop >= self.forward as usize { self.back_weight } else { self.weight }
    }

    /// Returns the weight with which it crosses a link of its path.
    #[inline]
    pub(crate) fn weight_on(&self, link: u32) -> u32 {
        let is_back = || self.path[self.forward as usize..].contains(&link);
        if self.has_back && is_back() { self.back_weight } else { self.weight }
    }

    /// Calls `cross` with each link of its path and the weight with which it crosses that.
    // Two loops: few networks have cross traffic, and these are the innermost of a solution.
    #[inline(always)]
    pub(crate) fn each_crossing(&self, mut cross: impl FnMut(u32, u32)) {
        if self.has_back {
            self.path.iter().enumerate().for_each(|(hop, &link)| cross(link, self.weight_at(hop)));
        } else {
            self.path.iter().for_each(|&link| cross(link, self.weight));
        }
    }

    /// Returns the links of its path, each with the weight with which it crosses that.
    #[inline]
    pub(crate) fn crossings(&self) -> impl Iterator<Item = (u32, u32)> {
        self.path.iter().enumerate().map(|(hop, &link)| (link, self.weight_at(hop)))
    }
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
