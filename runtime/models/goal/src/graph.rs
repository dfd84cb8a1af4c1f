//! Operations of ranks, and which of them wait for which.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Any source, in a receive.
pub const ANY_SOURCE: i32 = -1;
/// Any tag, in a receive.
pub const ANY_TAG: i32 = -2;

/// Work of an operation: a send, a receive or a computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Sends so many bytes to a rank, with a tag.
    Send {
        /// Payload.
        bytes: u64,
        /// Receiving rank.
        to: i32,
        /// Tag of the message.
        tag: i32,
    },
    /// Receives so many bytes from a rank or [`ANY_SOURCE`], with a tag or [`ANY_TAG`].
    Receive {
        /// Length of the buffer.
        bytes: u64,
        /// Sending rank.
        from: i32,
        /// Tag of the message.
        tag: i32,
    },
    /// Computes for so many nanoseconds.
    Calculate(u64),
}

/// Processor and interface of its rank that an operation takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct ExecutionUnit {
    /// Number of the processor.
    pub cpu: u8,
    /// Number of the interface.
    pub nic: u8,
}

/// The operations of one rank.
#[derive(Clone, Default, Debug)]
pub struct Operations {
    /// Each operation's work.
    pub works: Vec<Work>,
    /// Dependencies: an operation, the one before it, and whether it is enough that this has begun.
    pub edges: Vec<(u32, u32, bool)>,
    /// Processor and interface of each operation; those beyond the end take number 0 of both.
    pub units: Vec<ExecutionUnit>,
    /// The line of the text of each operation; empty if there is no text.
    pub lines: Vec<u64>,
}

impl Operations {
    /// Returns the processor and interface of an operation.
    pub fn unit(&self, operation: u32) -> ExecutionUnit {
        self.units.get(operation as usize).copied().unwrap_or_default()
    }

    /// Returns the first operation that takes another processor or interface than number 0, and which.
    pub fn first_beyond(&self) -> Option<(u32, ExecutionUnit)> {
        let found = self.units.iter().position(|unit| *unit != ExecutionUnit::default())?;
        Some((found as u32, self.units[found]))
    }

    /// Returns the line of an operation in its file, or its number.
    pub fn location(&self, operation: u32) -> String {
        match self.lines.get(operation as usize) {
            Some(line) => format!("line {line}"),
            None => format!("operation {operation}"),
        }
    }

    /// Returns all operations in the order of the text, but each behind those that it waits for.
    ///
    /// # Errors
    /// Operations each of which waits for the next, and the last for the first.
    pub fn text_order(&self) -> Result<Vec<u32>, Vec<u32>> {
        let count = self.works.len();
        let (mut missing, mut before) = (vec![0u32; count], vec![Vec::new(); count]);
        for &(later, earlier, _) in &self.edges {
            missing[later as usize] += 1;
            before[earlier as usize].push(later);
        }
        let mut ready: BinaryHeap<Reverse<u32>> =
            (0..count as u32).filter(|&at| missing[at as usize] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(count);
        while let Some(Reverse(operation)) = ready.pop() {
            order.push(operation);
            for &later in &before[operation as usize] {
                missing[later as usize] -= 1;
                if missing[later as usize] == 0 {
                    ready.push(Reverse(later));
                }
            }
        }
        match missing.iter().position(|&missing| missing > 0) {
            Some(at) => Err(self.cycle(at as u32, &missing)),
            None => Ok(order),
        }
    }

    /// Returns a cycle that can be reached from an operation, all of which wait.
    fn cycle(&self, from: u32, missing: &[u32]) -> Vec<u32> {
        let mut earlier_of = vec![None; missing.len()];
        for &(later, earlier, _) in &self.edges {
            if missing[earlier as usize] > 0 {
                earlier_of[later as usize] = Some(earlier);
            }
        }
        let (mut at, mut position, mut path) = (from, vec![usize::MAX; missing.len()], Vec::new());
        loop {
            if position[at as usize] != usize::MAX {
                return path.split_off(position[at as usize]);
            }
            position[at as usize] = path.len();
            path.push(at);
            match earlier_of[at as usize] {
                Some(earlier) => at = earlier,
                // An operation that waits has one before it that waits.
                None => return path,
            }
        }
    }
}

/// The operations of all ranks.
#[derive(Clone, Default, Debug)]
pub struct GoalGraph {
    /// Number of ranks.
    pub ranks: u32,
    /// Ranks that have operations, each at most once, and these. The operations have no cycle.
    pub blocks: Vec<(u32, Operations)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(count: usize, edges: &[(u32, u32, bool)]) -> Operations {
        Operations { works: vec![Work::Calculate(1); count], edges: edges.to_vec(), ..Operations::default() }
    }

    #[test]
    fn operations_come_behind_those_that_they_wait_for_and_else_in_the_order_of_the_text() {
        let operations = operations(5, &[(0, 3, false), (1, 0, true), (4, 2, false), (4, 0, false)]);
        assert_eq!(operations.text_order().unwrap(), [2, 3, 0, 1, 4]);
    }

    #[test]
    fn a_cycle_is_found_without_what_leads_to_it() {
        let edges = [(0, 1, false), (1, 2, false), (2, 3, true), (3, 1, false), (4, 0, false)];
        assert_eq!(operations(6, &edges).text_order().err(), Some(vec![1, 2, 3]));
        assert_eq!(operations(1, &[(0, 0, true)]).text_order().err(), Some(vec![0]));
    }
}
