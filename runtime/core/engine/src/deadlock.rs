//! Words of the sentences about deadlocks.

/// Returns how many of so many ranks wait for what never comes, as a clause.
pub fn waiting(waiting: usize, ranks: u32) -> String {
    match (waiting, ranks) {
        (1, 1) => "the only rank waits and nothing can wake it".to_owned(),
        (1, _) => format!("1 of {ranks} ranks waits and nothing can wake it"),
        _ => format!("{waiting} of {ranks} ranks wait and nothing can wake them"),
    }
}

#[cfg(test)]
mod tests {
    use super::waiting;

    #[test]
    fn a_single_rank_waits_and_several_wait() {
        assert_eq!(waiting(1, 1), "the only rank waits and nothing can wake it");
        assert_eq!(waiting(1, 2), "1 of 2 ranks waits and nothing can wake it");
        assert_eq!(waiting(2, 2), "2 of 2 ranks wait and nothing can wake them");
    }
}
