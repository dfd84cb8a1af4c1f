//! Selection of what a timeline shows.

use recorder::RankList;

/// So many ranks are shown unless others are asked for.
const RANKS: u32 = 4096;
/// Ranks in each block of neighbours that is shown of more ranks: messages between neighbours remain visible.
const BLOCK: u32 = 64;

/// Returns the ranks that are shown where nobody has chosen: all up to 4,096; of more, 64 blocks of 64
/// neighbouring ranks, whose first ranks lie at equal distances (rounded down).
pub fn default_ranks(ranks: u32) -> RankList {
    if ranks <= RANKS {
        return RankList::all();
    }
    let blocks = RANKS / BLOCK;
    let first = |block: u32| (u64::from(block) * u64::from(ranks) / u64::from(blocks)) as u32;
    RankList::of((0..blocks).map(|block| (first(block), first(block) + BLOCK - 1)).collect())
}

/// Some MPI functions, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionSelection(Vec<String>);

impl FunctionSelection {
    /// Reads `MPI_Send,MPI_I*`; nothing is all functions.
    ///
    /// # Errors
    /// A sentence, if a name is empty.
    pub fn parse(text: &str) -> Result<FunctionSelection, String> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        let is_name =
            |name: &String| !name.is_empty() && !name.strip_suffix('*').unwrap_or(name).contains('*');
        if !names.iter().all(is_name) {
            return Err(
                "write names of functions with commas between them, such as MPI_Send,MPI_Allreduce; MPI_I* \
                 is all that begin so"
                    .to_owned(),
            );
        }
        Ok(FunctionSelection(names))
    }

    /// Returns `true` if the function is among them; O(names).
    pub fn contains(&self, function: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|name| is_named(name, function))
    }

    /// Returns the first name that no function has.
    pub fn unknown(&self, functions: &[&str]) -> Option<&str> {
        self.0
            .iter()
            .find(|name| !functions.iter().any(|function| is_named(name, function)))
            .map(String::as_str)
    }
}

fn is_named(name: &str, function: &str) -> bool {
    name.strip_suffix('*').map_or(name == function, |begin| function.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_ranks_blocks_of_neighbours_are_shown() {
        assert_eq!(default_ranks(4096), RankList::all());
        let ranks = default_ranks(1_000_000);
        let shown: Vec<u32> = (0..1_000_000).filter(|&rank| ranks.contains(rank)).collect();
        assert_eq!(
            (shown.len(), &shown[..2], &shown[63..66]),
            (4096, [0, 1].as_slice(), [63, 15_625, 15_626].as_slice())
        );
        // Blocks do not overlap where they are closest.
        assert_eq!((0..4097).filter(|&rank| default_ranks(4097).contains(rank)).count(), 4096);
    }

    #[test]
    fn functions_are_named_whole_or_by_their_beginning() {
        let functions = FunctionSelection::parse("MPI_Send, MPI_I*").unwrap();
        let chosen =
            ["MPI_Send", "MPI_Isend", "MPI_Ssend", "MPI_Sendrecv"].map(|name| functions.contains(name));
        assert_eq!(chosen, [true, true, false, false]);
        assert!(FunctionSelection::default().contains("MPI_Recv"));
        assert_eq!(functions.unknown(&["MPI_Isend", "MPI_Recv"]), Some("MPI_Send"));
        assert!(
            FunctionSelection::parse("é").is_ok()
                && FunctionSelection::parse("MPI_Send,").is_err()
                && FunctionSelection::parse("MPI_*nd").is_err()
        );
    }
}
