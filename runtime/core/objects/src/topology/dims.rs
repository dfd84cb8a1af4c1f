//! Balanced grids: `MPI_Dims_create`.

use std::cell::RefCell;

use crate::error::{ErrorClass, Failure, Result};

/// Fills the zeros of `dims` so that the product is `nodes`, the new ones non-increasing and as
/// close to each other as divisors allow (MPI 5.0 section 8.5.2), by the rule of [`balanced`].
///
/// # Errors
/// `MPI_ERR_DIMS` for a negative dimension and where the given ones do not divide `nodes`.
pub fn dims_create(nodes: i32, dims: &mut [i32]) -> Result {
    if nodes < 1 {
        return Err(Failure::new(ErrorClass::ARG, format!("nnodes is {nodes}; it must be positive")));
    }
    if let Some(at) = dims.iter().position(|&dim| dim < 0) {
        return Err(Failure::new(
            ErrorClass::DIMS,
            format!("dims[{at}] is {}; pass 0 for a free dimension or a positive size", dims[at]),
        ));
    }
    let given: i64 = dims
        .iter()
        .filter(|&&dim| dim > 0)
        .fold(1, |product: i64, &dim| product.saturating_mul(i64::from(dim)));
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    let fits = i64::from(nodes) % given == 0 && (free > 0 || given == i64::from(nodes));
    if !fits {
        return Err(Failure::new(
            ErrorClass::DIMS,
            format!(
                "the given dimensions multiply to {given}, with which {free} free ones cannot make {nodes} \
                 nodes"
            ),
        ));
    }
    let mut found = remembered((i64::from(nodes) / given) as u32, free).into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = found.next().expect("one for each free dimension") as i32;
    }
    Ok(())
}

/// [`balanced`], which all ranks of a program ask for alike.
// All ranks of a program ask the same, and the search may take microseconds: a million of them would take
// seconds.
fn remembered(nodes: u32, parts: usize) -> Vec<u32> {
    thread_local! { static LAST: RefCell<(u32, Vec<u32>)> = const { RefCell::new((0, Vec::new())) } }
    LAST.with_borrow_mut(|(number, factors)| {
        if (*number, factors.len()) != (nodes, parts) {
            (*number, *factors) = (nodes, balanced(nodes, parts));
        }
        factors.clone()
    })
}

/// `parts` factors of `nodes`, non-increasing, with the least difference between the greatest and
/// the smallest (J. Träff, F. Lübbe, "Specification Guideline Violations by MPI_Dims_create",
/// EuroMPI 2015); among equals the one with the greatest smallest factor, then the greatest next.
/// A prime above the square root of what it divides must be a factor of its own: the rest is
/// balanced without it. MPICH decides alike, so programs get the same grids.
// Splitting large primes off first keeps the search small: what is left has only small factors, and few
// divisors.
pub fn balanced(nodes: u32, parts: usize) -> Vec<u32> {
    let mut found = Vec::with_capacity(parts);
    let mut rest = nodes;
    let mut primes = primes(nodes);
    while let [.., before, prime] = primes[..]
        && found.len() + 1 < parts
        && before != prime
        && u64::from(prime) * u64::from(prime) > u64::from(rest)
    {
        found.push(prime);
        rest /= prime;
        primes.pop();
    }
    let left = parts - found.len();
    if left == 1 {
        found.push(rest);
    } else if left > 1 {
        let guess = guess(&primes, left);
        let mut search = Search {
            divisors: divisors(rest),
            range: guess[0] - guess[left - 1],
            best: guess,
            chosen: Vec::new(),
        };
        search.run(rest, left, 0);
        found.append(&mut search.best);
    }
    found
}

/// Guesses a good first answer: the primes, greatest first, each to the smallest factor so far.
fn guess(primes: &[u32], parts: usize) -> Vec<u32> {
    let mut factors = vec![1; parts];
    for prime in primes.iter().rev() {
        *factors.iter_mut().min().expect("some parts") *= prime;
    }
    factors.sort_unstable_by(|a, b| b.cmp(a));
    factors
}

/// Tries factors in ascending order.
// Depth first with the best range so far as a bound. Starting from a good guess, hardly anything is left to
// try.
struct Search {
    divisors: Vec<u32>,
    chosen: Vec<u32>,
    best: Vec<u32>,
    range: u32,
}

impl Search {
    /// Completes `chosen` by `left` (at least two) factors of `rest`, of divisors from `from` on.
    fn run(&mut self, rest: u32, left: usize, from: usize) {
        let least = self.chosen.first().copied();
        if left == 2 {
            let until = self.divisors.partition_point(|&f| u64::from(f) * u64::from(f) <= u64::from(rest));
            let Some(&factor) =
                self.divisors[from..until.max(from)].iter().rev().find(|&&f| rest.is_multiple_of(f))
            else {
                return;
            };
            let range = rest / factor - least.unwrap_or(factor);
            // At a tie the later one, which has the greater smallest factor, since factors are tried in
            // ascending order.
            if range <= self.range {
                self.range = range;
                self.best =
                    [rest / factor, factor].into_iter().chain(self.chosen.iter().rev().copied()).collect();
            }
            return;
        }
        // The greatest factor will be at least the root, less what rounding may have added.
        let root = (f64::from(rest).powf(1.0 / left as f64) as u32).saturating_sub(1);
        for at in from..self.divisors.len() {
            let factor = self.divisors[at];
            let smallest = least.unwrap_or(factor);
            if u64::from(factor).saturating_pow(left as u32) > u64::from(rest)
                || factor - smallest > self.range
            {
                break;
            }
            if rest.is_multiple_of(factor) && root.saturating_sub(smallest) <= self.range {
                self.chosen.push(factor);
                self.run(rest / factor, left - 1, at);
                self.chosen.pop();
            }
        }
    }
}

/// Returns the prime factors, ascending.
fn primes(nodes: u32) -> Vec<u32> {
    let (mut rest, mut found, mut factor) = (nodes, Vec::new(), 2u32);
    while u64::from(factor) * u64::from(factor) <= u64::from(rest) {
        while rest.is_multiple_of(factor) {
            found.push(factor);
            rest /= factor;
        }
        factor += 1;
    }
    if rest > 1 {
        found.push(rest);
    }
    found
}

fn divisors(nodes: u32) -> Vec<u32> {
    let low: Vec<u32> = (1..)
        .take_while(|&d| u64::from(d) * u64::from(d) <= u64::from(nodes))
        .filter(|&d| nodes.is_multiple_of(d))
        .collect();
    let high =
        low.iter().rev().map(|&d| nodes / d).filter(|&d| u64::from(d) * u64::from(d) != u64::from(nodes));
    low.iter().copied().chain(high).filter(|&d| d > 0).collect()
}
