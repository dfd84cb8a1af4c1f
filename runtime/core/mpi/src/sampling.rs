//! Blocks of computation that run a few times and are charged their mean from then on.

use engine::Span;
use rustc_hash::FxHashMap;

/// The ranks that share samples of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Whose {
    /// One rank: each rank runs the block as often as is asked.
    Rank(u32),
    /// All ranks of the process.
    All,
}

/// A block: its place in the program (a number of [`Samples::place`]) and who shares its samples.
pub type Block = (u32, Whose);

/// Conditions under which a block has run often enough.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Enough {
    /// At least so many samples.
    pub count: u64,
    /// The standard error of the mean is at most this part of the mean; 0 or less asks for the count alone.
    pub precision: f64,
}

/// Mean and spread of a block's cost (B. P. Welford, Technometrics 4(3), 1962), in picoseconds.
// Welford's recurrence: sums of squares of picoseconds would lose all digits of a small spread.
#[derive(Clone, Copy, Default, Debug)]
struct Account {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Account {
    fn add(&mut self, sample: Span) {
        let sample = sample.as_ps() as f64;
        self.count += 1;
        let off = sample - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (sample - self.mean);
    }
    fn is(&self, enough: Enough) -> bool {
        let count = self.count as f64;
        // One sample has no spread.
        let error =
            if self.count < 2 { f64::INFINITY } else { (self.squares / (count - 1.0) / count).sqrt() };
        self.count >= enough.count.max(1)
            && (enough.precision <= 0.0 || error <= enough.precision * self.mean)
    }
}

/// All blocks of a process.
#[derive(Default)]
pub struct Samples {
    places: FxHashMap<(String, i32), u32>,
    accounts: FxHashMap<Block, Account>,
    /// Blocks that run now, by rank, innermost last: what the rank had computed when they began.
    // A stack a rank: blocks nest, and a rank may be switched away from within one.
    open: FxHashMap<u32, Vec<(Block, Span)>>,
}

impl Samples {
    /// Returns the number of a file and line of the program.
    pub fn place(&mut self, file: &str, line: i32) -> u32 {
        if let Some(place) = self.places.get(&(file.to_owned(), line)) {
            return *place;
        }
        let place = self.places.len() as u32;
        self.places.insert((file.to_owned(), line), place);
        place
    }
    /// Returns what a block is to be charged instead of running, once it has run often enough.
    pub fn cost(&self, block: Block, enough: Enough) -> Option<Span> {
        let account = self.accounts.get(&block)?;
        account.is(enough).then(|| Span::from_ps(account.mean.round() as u64))
    }
    /// Begins a block of `rank`, which has computed for `computed` so far.
    pub fn begin(&mut self, rank: u32, block: Block, computed: Span) {
        self.open.entry(rank).or_default().push((block, computed));
    }
    /// It has come to the end of the last block that it began.
    // What the rank computed, not host time: other ranks that ran meanwhile are not in it.
    pub fn end(&mut self, rank: u32, computed: Span) {
        let Some((block, before)) = self.open.get_mut(&rank).and_then(Vec::pop) else { return };
        let cost = Span::from_ps(computed.as_ps().saturating_sub(before.as_ps()));
        self.accounts.entry(block).or_default().add(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(samples: &mut Samples, block: Block, cost: u64) {
        samples.begin(3, block, Span::from_ps(50));
        samples.end(3, Span::from_ps(50 + cost));
    }

    #[test]
    fn the_mean_is_charged_after_so_many_samples() {
        let mut samples = Samples::default();
        let block = (samples.place("a.c", 7), Whose::Rank(3));
        let enough = Enough { count: 3, precision: 0.0 };
        for cost in [10, 20, 60] {
            assert_eq!(samples.cost(block, enough), None);
            run(&mut samples, block, cost);
        }
        assert_eq!(samples.cost(block, enough), Some(Span::from_ps(30)));
        assert_eq!(samples.cost((block.0, Whose::All), enough), None);
        assert_eq!((samples.place("a.c", 7), samples.place("a.c", 8), samples.place("b.c", 7)), (0, 1, 2));
    }

    #[test]
    fn blocks_that_vary_run_until_the_mean_is_known_well_enough() {
        let mut samples = Samples::default();
        let enough = Enough { count: 2, precision: 0.1 };
        let runs_of = |samples: &mut Samples, place: u32, cost: &dyn Fn(u64) -> u64| {
            let block = (place, Whose::All);
            (0..).find(|&run_number| {
                let known = samples.cost(block, enough).is_some();
                if !known {
                    run(samples, block, cost(run_number));
                }
                known
            })
        };
        assert_eq!(runs_of(&mut samples, 0, &|_| 1000), Some(2));
        let varying = runs_of(&mut samples, 1, &|n| if n % 2 == 0 { 500 } else { 1500 }).unwrap();
        // A deviation of half the mean needs about 25 samples for a tenth.
        assert!((20..35).contains(&varying), "{varying}");
    }

    #[test]
    fn blocks_inside_blocks_are_counted_apart() {
        let mut samples = Samples::default();
        let (outer, inner) = ((0, Whose::All), (1, Whose::All));
        samples.begin(0, outer, Span::from_ps(0));
        samples.begin(0, inner, Span::from_ps(10));
        samples.end(0, Span::from_ps(14));
        samples.end(0, Span::from_ps(20));
        let once = Enough { count: 1, precision: 0.0 };
        assert_eq!(samples.cost(inner, once), Some(Span::from_ps(4)));
        assert_eq!(samples.cost(outer, once), Some(Span::from_ps(20)));
    }
}
