//! The word that was meant.

/// Returns the candidate nearest to `word`: the same but for case, '-', '_' and '=', or a few letters away.
/// Of several the first.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bare = |text: &str| {
        text.chars().filter(|c| !"-_=".contains(*c)).flat_map(char::to_lowercase).collect::<Vec<char>>()
    };
    let word = bare(word);
    // A letter of four may be wrong, one of one to three may not.
    let most = word.len() / 4;
    let distances = candidates.into_iter().map(|candidate| (distance(&word, &bare(candidate)), candidate));
    distances
        .filter(|&(distance, _)| distance <= most)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Returns `; did you mean '...'?`, or nothing where no candidate is near.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(String::new, |meant| format!("; did you mean '{meant}'?"))
}

/// Returns how many letters must be inserted, removed, changed or exchanged with their neighbour (Damerau
/// 1964).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_a_few_letters_away() {
        let names = ["star", "fattree", "dragonfly", "torus", "ethernet-2core"];
        for (word, meant) in [
            ("fat-tree", Some("fattree")),
            ("FatTree", Some("fattree")),
            ("dargonfly", Some("dragonfly")),
            ("dragonflies", None),
            ("stra", Some("star")),
            ("sar", None),
            ("ethernet-2cores", Some("ethernet-2core")),
            ("infiniband", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
    }
}
