//! Sequences side by side: one in which each of them is contained in order.

/// Pairs of elements that are compared at most.
const MAX_PAIRS: usize = 20_000_000;

/// A sequence that has all others in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Aligned {
    /// Keys.
    pub keys: Vec<u32>,
    /// For each sequence, in their order, where its elements are.
    pub places: Vec<Vec<usize>>,
}

/// Returns the sequences as one, by longest common subsequences, the longest first: what others do is mostly
/// a part of it. `None` if they are too long.
pub fn align(sequences: &[Vec<u32>]) -> Option<Aligned> {
    let mut order: Vec<usize> = (0..sequences.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(sequences[place].len()));
    let mut aligned = Aligned { keys: Vec::new(), places: vec![Vec::new(); sequences.len()] };
    for place in order {
        let (keys, old, new) = merge(&aligned.keys, &sequences[place])?;
        aligned.keys = keys;
        aligned.places.iter_mut().flatten().for_each(|at| *at = old[*at]);
        aligned.places[place] = new;
    }
    Some(aligned)
}

/// Merges two sequences into one. Returns it, and where the elements of each are in it.
fn merge(a: &[u32], b: &[u32]) -> Option<(Vec<u32>, Vec<usize>, Vec<usize>)> {
    let width = b.len() + 1;
    if a.len().checked_mul(b.len())? > MAX_PAIRS {
        return None;
    }
    // How much the ends of both have in common, from each pair of places on.
    let mut best = vec![0u32; width * (a.len() + 1)];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            let both = if a[i] == b[j] { best[(i + 1) * width + j + 1] + 1 } else { 0 };
            best[i * width + j] = both.max(best[(i + 1) * width + j]).max(best[i * width + j + 1]);
        }
    }
    let (mut keys, mut of_a, mut of_b) = (Vec::new(), Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let is_both = i < a.len()
            && j < b.len()
            && a[i] == b[j]
            && best[i * width + j] == best[(i + 1) * width + j + 1] + 1;
        let is_first = j == b.len() || i < a.len() && best[(i + 1) * width + j] >= best[i * width + j + 1];
        if is_both || is_first {
            of_a.push(keys.len());
        }
        if is_both || !is_first {
            of_b.push(keys.len());
        }
        keys.push(if is_both || is_first { a[i] } else { b[j] });
        i += usize::from(is_both || is_first);
        j += usize::from(is_both || !is_first);
    }
    Some((keys, of_a, of_b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_left_out_has_a_place() {
        let aligned = align(&[vec![1, 5], vec![1, 2, 3, 5], vec![1, 4, 5]]).unwrap();
        assert_eq!(aligned.keys.len(), 5);
        assert_eq!(aligned.places[0], [0, 4]);
    }

    proptest! {
        #[test]
        fn each_sequence_is_in_it_in_order(
            sequences in prop::collection::vec(prop::collection::vec(0u32..4, 0..12), 1..5),
        ) {
            let aligned = align(&sequences).unwrap();
            for (sequence, places) in sequences.iter().zip(&aligned.places) {
                prop_assert!(places.is_sorted_by(|a, b| a < b));
                prop_assert_eq!(
                    places.iter().map(|&at| aligned.keys[at]).collect::<Vec<_>>(),
                    sequence.clone()
                );
            }
        }
    }
}
