//! Order of operations that become ready together.

/// Order of operations of one kind that become ready together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadyOrder {
    /// The order of the dependencies by which they became ready, and at the start of the text.
    Text,
    /// The order in which LogGOPSim built with GNU's C++ library takes them: `std::sort` keeps the order of
    /// at most 16.
    Gnu,
}

/// Longest range that `std::sort` of GNU's C++ library does not partition.
const LONGEST_WHOLE: usize = 16;

impl ReadyOrder {
    /// Sorts operations by a key.
    pub fn sort<T: Copy>(self, all: &mut [T], key: impl Fn(T) -> u8) {
        if self == ReadyOrder::Gnu {
            partition(all, &key);
        }
        // Its last pass, an insertion sort, is stable.
        all.sort_by_key(|&one| key(one));
    }
}

/// Partitions a range until its parts are short: Hoare's scheme around the median of three.
fn partition<T: Copy>(mut all: &mut [T], key: &impl Fn(T) -> u8) {
    while all.len() > LONGEST_WHOLE {
        let (middle, last) = (all.len() / 2, all.len() - 1);
        let [a, b, c] = [1, middle, last].map(|at| key(all[at]));
        let median = match (a < b, b < c, a < c) {
            (true, true, _) | (false, false, false) => middle,
            (true, false, true) | (false, true, false) => last,
            (true, false, false) | (false, _, true) => 1,
        };
        all.swap(0, median);
        let pivot = key(all[0]);
        let (mut low, mut high) = (1, all.len());
        loop {
            while key(all[low]) < pivot {
                low += 1;
            }
            high -= 1;
            while pivot < key(all[high]) {
                high -= 1;
            }
            if low >= high {
                break;
            }
            all.swap(low, high);
            low += 1;
        }
        let (front, back) = all.split_at_mut(low);
        partition(back, key);
        all = front;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys that look random.
    fn keys(count: u32, seed: u32) -> Vec<(u8, u32)> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (state >> 16) % 3 + 1
        };
        (0..count).map(|at| (next() as u8, at)).collect()
    }

    #[test]
    fn up_to_16_keep_their_order() {
        for count in 0..=16 {
            let mut sorted = keys(count, count);
            ReadyOrder::Gnu.sort(&mut sorted, |(key, _)| key);
            assert!(sorted.is_sorted());
        }
    }

    #[test]
    fn more_are_in_the_order_of_gnus_sort() {
        // From a program of `std::sort` (g++ 12.2).
        for (count, seed, expected) in EXPECTED {
            let mut sorted = keys(*count, *seed);
            ReadyOrder::Gnu.sort(&mut sorted, |(key, _)| key);
            assert_eq!(sorted.iter().map(|&(_, at)| at).collect::<Vec<_>>(), *expected);
            let mut plain = keys(*count, *seed);
            ReadyOrder::Text.sort(&mut plain, |(key, _)| key);
            assert!(plain.is_sorted() && plain != sorted);
        }
    }

    const EXPECTED: &[(u32, u32, &[u32])] = &[
        (17, 1, &[1, 2, 3, 4, 9, 12, 5, 15, 10, 16, 0, 14, 13, 11, 8, 7, 6]),
        (
            40,
            7,
            &[
                39, 18, 0, 22, 11, 34, 35, 36, 6, 3, 38, 24, 29, 26, 30, 31, 19, 28, 32, 16, 15, 14, 13, 33,
                9, 5, 37, 20, 27, 25, 23, 21, 17, 12, 10, 8, 7, 4, 2, 1,
            ],
        ),
        (
            100,
            3,
            &[
                70, 26, 28, 31, 34, 35, 41, 44, 48, 52, 54, 56, 63, 1, 71, 73, 74, 75, 79, 81, 88, 91, 93,
                94, 99, 21, 25, 18, 2, 12, 11, 6, 9, 14, 15, 7, 57, 5, 55, 58, 60, 16, 61, 86, 85, 65, 67,
                10, 8, 76, 77, 80, 51, 0, 27, 23, 98, 30, 32, 33, 96, 95, 38, 39, 3, 19, 45, 46, 90, 17, 49,
                84, 92, 83, 82, 4, 87, 97, 89, 62, 47, 24, 29, 22, 20, 36, 37, 40, 42, 43, 78, 50, 53, 59,
                13, 64, 66, 68, 69, 72,
            ],
        ),
    ];
}
