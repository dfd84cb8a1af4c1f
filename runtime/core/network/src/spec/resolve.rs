//! The sizes of all levels, once the number of ranks is known.

use super::{LevelSpec, join};
use crate::machine::MachineError;

/// The most endpoints of a network: their number, too, fits 32 bits.
const MAX_ENDPOINTS: u64 = u32::MAX as u64;

/// Returns the sides of every level, the open level made just large enough for `ranks`. `fixed` has the
/// endpoints of levels whose options give their size.
pub(super) fn resolve(
    levels: &[LevelSpec],
    fixed: &[Option<u64>],
    ranks: Option<u32>,
) -> Result<Vec<Vec<u32>>, MachineError> {
    let specification = join(levels);
    let ranks = ranks.filter(|&ranks| ranks > 0);
    let too_large = || {
        MachineError::new(format!(
            "the network '{specification}' has more than the 2^32 - 1 endpoints that are possible"
        ))
    };
    let size = |level: &LevelSpec, fixed: Option<u64>| fixed.or_else(|| level.topology.size.given());
    let given = levels
        .iter()
        .zip(fixed)
        .try_fold(1u64, |product, (level, &fixed)| product.checked_mul(size(level, fixed)?))
        .ok_or_else(too_large)?;
    let others = |open: &LevelSpec| given / open.topology.size.given().unwrap_or(1);
    let mut sides = Vec::with_capacity(levels.len());
    for level in levels {
        let count = match (level.topology.size.is_open(), ranks) {
            (false, _) => 0,
            (true, Some(ranks)) => u64::from(ranks).div_ceil(others(level)) as u32,
            (true, None) => {
                return Err(MachineError::new(format!(
                    "the level '{level}' of the network takes its size from the number of ranks, which is \
                     not known here; give the level a size or say how many ranks there are"
                )));
            }
        };
        sides.push(level.topology.size.sides(level.topology.row.sizing, count));
    }
    let sizes = sides.iter().flatten().map(|&side| u64::from(side)).chain(fixed.iter().flatten().copied());
    let endpoints = sizes.into_iter().try_fold(1u64, |product, size| product.checked_mul(size));
    let endpoints = endpoints.filter(|&endpoints| endpoints <= MAX_ENDPOINTS).ok_or_else(too_large)?;
    match ranks {
        Some(ranks) if u64::from(ranks) > endpoints => Err(MachineError::new(format!(
            "the network '{specification}' has {endpoints} endpoints, too few for {ranks} ranks; \
             use at most {endpoints} ranks, enlarge the network or leave one size open"
        ))),
        _ => Ok(sides),
    }
}
