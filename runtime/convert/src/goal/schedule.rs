//! In which order a rank does its operations, and what it waits for before each.

use super::parse::Work;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The operations of one rank.
#[derive(Default)]
pub struct Operations {
    pub works: Vec<Work>,
    /// An operation, the one before it, and whether it is enough that this has begun.
    pub edges: Vec<(u32, u32, bool)>,
}

/// One step of the rank's: an operation, and those that are over before it begins.
pub struct Turn {
    pub operation: u32,
    pub behind: Vec<u32>,
}

impl Operations {
    /// Returns all operations in the order of the text, but each behind those that it waits for.
    ///
    /// # Errors
    /// An operation that waits for itself through others.
    pub fn text_order(&self) -> Result<Vec<u32>, u32> {
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
            Some(at) => Err(at as u32),
            None => Ok(order),
        }
    }

    /// Returns the operations that start in this order, each with those whose end it waits for.
    /// Operations that are not in it follow in the order of the text.
    pub fn turns(&self, mut started: Vec<u32>) -> Vec<Turn> {
        let count = self.works.len();
        if started.len() < count {
            let mut is_started = vec![false; count];
            started.iter().for_each(|&operation| is_started[operation as usize] = true);
            let order = self.text_order().unwrap_or_default();
            started.extend(order.into_iter().filter(|&operation| !is_started[operation as usize]));
        }
        let mut behind = vec![Vec::new(); count];
        for &(later, earlier, starts) in &self.edges {
            if !starts {
                behind[later as usize].push(earlier);
            }
        }
        started
            .into_iter()
            .map(|operation| Turn { operation, behind: std::mem::take(&mut behind[operation as usize]) })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(count: usize, edges: &[(u32, u32, bool)]) -> Operations {
        Operations { works: vec![Work::Calculate(1); count], edges: edges.to_vec() }
    }

    #[test]
    fn operations_come_behind_those_that_they_wait_for_and_else_in_the_order_of_the_text() {
        let operations = operations(5, &[(0, 3, false), (1, 0, true), (4, 2, false), (4, 0, false)]);
        assert_eq!(operations.text_order().unwrap(), [2, 3, 0, 1, 4]);
        let turns = operations.turns(vec![2, 3]);
        assert_eq!(turns.iter().map(|turn| turn.operation).collect::<Vec<_>>(), [2, 3, 0, 1, 4]);
        assert_eq!(
            turns.iter().map(|turn| turn.behind.clone()).collect::<Vec<_>>(),
            [vec![], vec![], vec![3], vec![], vec![2, 0]]
        );
    }

    #[test]
    fn operations_that_wait_for_each_other_are_found() {
        assert_eq!(operations(4, &[(1, 2, false), (2, 3, true), (3, 1, false)]).text_order().err(), Some(1));
    }
}
