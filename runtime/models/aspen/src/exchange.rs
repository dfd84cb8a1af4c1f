//! The messages of a step between ranks on a grid, one by one: who walks a model for a million ranks keeps no
//! lists of them.

use crate::communication::{CommunicationPattern, Message, Step, Wave};
use crate::error::AspenError;
use crate::grid::Grid;

/// A step's directions: in each a rank sends to the one side and receives from the other.
#[derive(Clone, Debug)]
pub struct StepExchange {
    grid: Option<Grid>,
    /// Steps on the grid, and the bytes of a message that way.
    directions: Vec<([i64; 3], u64)>,
    periodic: bool,
    wave: Option<Wave>,
}

impl StepExchange {
    /// Returns the directions of a step on so many ranks; none for collective operations, random messages and
    /// those without a receiver.
    ///
    /// # Errors
    /// So many ranks make no grid, as for [`Step::grid`].
    pub fn new(step: &Step, ranks: u64) -> Result<StepExchange, AspenError> {
        Ok(StepExchange::on(step, step.grid(ranks)?))
    }

    pub(crate) fn on(step: &Step, grid: Option<Grid>) -> StepExchange {
        let even = |directions: Vec<[i64; 3]>| {
            directions.into_iter().map(|direction| (direction, step.bytes())).collect()
        };
        let (directions, periodic, wave) = match step.pattern {
            CommunicationPattern::Neighbors(neighbors) => {
                let bytes = |direction: [i64; 3]| {
                    Some((direction, neighbors.items(direction, step.count)? * step.size))
                };
                (
                    neighbors.directions().into_iter().filter_map(bytes).collect(),
                    neighbors.periodic,
                    neighbors.wave,
                )
            }
            CommunicationPattern::Sweep(wave) => {
                let one = if wave == Wave::Up { 1 } else { -1 };
                (even(vec![[one, 0, 0], [0, one, 0]]), false, None)
            }
            CommunicationPattern::Shift { axis, up, periodic } => {
                let mut direction = [0; 3];
                direction[axis] = if up { 1 } else { -1 };
                (even(vec![direction]), periodic, None)
            }
            CommunicationPattern::Collective(..)
            | CommunicationPattern::Random
            | CommunicationPattern::Unaddressed => (Vec::new(), false, None),
        };
        StepExchange { grid, directions, periodic, wave }
    }

    /// Returns how many directions there are.
    pub fn len(&self) -> usize {
        self.directions.len()
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.directions.is_empty()
    }

    /// Returns what a rank sends in a direction, if somebody is there.
    pub fn sends(&self, rank: u64, direction: usize) -> Option<Message> {
        self.message(rank, direction, false)
    }

    /// Returns what a rank receives in a direction, from the side that it looks away from.
    pub fn receives(&self, rank: u64, direction: usize) -> Option<Message> {
        self.message(rank, direction, true)
    }

    fn message(&self, rank: u64, direction: usize, receives: bool) -> Option<Message> {
        let (step, bytes) = self.directions[direction];
        let grid = self.grid.as_ref()?;
        let peer =
            grid.away(grid.place(rank), if receives { step.map(|one| -one) } else { step }, self.periodic)?;
        let allowed = match self.wave {
            None => true,
            Some(wave) if (wave == Wave::Up) == receives => peer < rank,
            Some(_) => peer > rank,
        };
        allowed.then_some(Message { peer, bytes })
    }
}
