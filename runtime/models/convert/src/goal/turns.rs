//! The order in which a rank of a trace does its operations, and what it waits for before each.

use ::goal::{Operations, Work};

/// One step of the rank's: an operation, and those that are over before it begins.
pub struct Turn {
    pub operation: u32,
    pub behind: Vec<u32>,
}

/// Returns the operations that start in this order, each with those whose end it waits for.
/// Operations that are not in it follow in the order of the text.
pub fn turns(operations: &Operations, mut started: Vec<u32>) -> Vec<Turn> {
    let count = operations.works.len();
    if started.len() < count {
        let mut is_started = vec![false; count];
        started.iter().for_each(|&operation| is_started[operation as usize] = true);
        let order = operations.text_order().unwrap_or_default();
        started.extend(order.into_iter().filter(|&operation| !is_started[operation as usize]));
    }
    let mut behind = vec![Vec::new(); count];
    for &(later, earlier, starts) in &operations.edges {
        if !starts {
            behind[later as usize].push(earlier);
        }
    }
    started
        .into_iter()
        .map(|operation| Turn { operation, behind: std::mem::take(&mut behind[operation as usize]) })
        .collect()
}

/// Returns `true` if an operation comes behind a computation or a wait of another one's that it does not
/// depend on: in another order it could begin earlier. O(operations and dependencies).
pub fn has_choice(operations: &Operations, turns: &[Turn]) -> bool {
    let count = operations.works.len();
    let mut earlier = vec![Vec::new(); count];
    for &(later, before, starts) in &operations.edges {
        earlier[later as usize].push((before, starts));
    }
    // Computations and waits are numbered as the rank comes to them. An operation knows the last number that
    // it depends on; each number depends on the one before, or this function has returned.
    let (mut last, mut reached, mut ends) = (0u32, vec![0u32; count], vec![None; count]);
    for turn in turns {
        let operation = turn.operation as usize;
        let known = earlier[operation].iter().map(|&(before, starts)| {
            let end = if starts { None } else { ends[before as usize] };
            end.unwrap_or(reached[before as usize])
        });
        if known.max().unwrap_or(0) < last {
            return true;
        }
        let open = |&&before: &&u32| ends[before as usize].is_none();
        let waits: Vec<u32> = turn.behind.iter().filter(open).copied().collect();
        if !waits.is_empty() {
            last += 1;
            waits.iter().for_each(|&before| ends[before as usize] = Some(last));
        }
        reached[operation] = last;
        if let Work::Calculate(time) = operations.works[operation] {
            last += u32::from(time > 0);
            ends[operation] = Some(last);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(works: Vec<Work>, edges: &[(u32, u32, bool)]) -> Operations {
        Operations { works, edges: edges.to_vec(), ..Operations::default() }
    }

    #[test]
    fn operations_that_never_start_follow_in_the_order_of_the_text() {
        let edges = [(0, 3, false), (1, 0, true), (4, 2, false), (4, 0, false)];
        let turns = turns(&operations(vec![Work::Calculate(1); 5], &edges), vec![2, 3]);
        assert_eq!(turns.iter().map(|turn| turn.operation).collect::<Vec<_>>(), [2, 3, 0, 1, 4]);
        assert_eq!(
            turns.iter().map(|turn| turn.behind.clone()).collect::<Vec<_>>(),
            [vec![], vec![], vec![3], vec![], vec![2, 0]]
        );
    }

    #[test]
    fn a_choice_is_an_operation_behind_work_that_it_does_not_wait_for() {
        let receive = |tag| Work::Receive { bytes: 1, from: 1, tag };
        let chooses = |works: &[Work], edges: &[(u32, u32, bool)]| {
            let operations = operations(works.to_vec(), edges);
            let order = operations.text_order().unwrap();
            has_choice(&operations, &turns(&operations, order))
        };
        let calc = Work::Calculate(5);
        assert!(!chooses(&[calc, calc, receive(0)], &[(1, 0, false), (2, 1, false)]), "a chain");
        assert!(!chooses(&[receive(0), receive(1), calc], &[(2, 0, false), (2, 1, false)]), "two at once");
        assert!(!chooses(&[receive(0), calc, calc], &[(1, 0, true), (2, 1, false)]), "starts");
        assert!(chooses(&[calc, calc], &[]), "two computations");
        assert!(!chooses(&[Work::Calculate(0), calc], &[]), "a computation of no time");
        assert!(chooses(&[receive(0), receive(1), calc, calc], &[(2, 0, false), (3, 1, false)]), "branches");
        assert!(chooses(&[receive(0), calc, receive(1)], &[(1, 0, false)]), "behind a wait");
    }
}
