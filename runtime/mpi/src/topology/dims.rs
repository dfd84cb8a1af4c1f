//! Balanced grids: `MPI_Dims_create`.

use crate::error::{ErrorClass, Failure, Result};

/// Fills the zeros of `dims` so that the product is `nodes`, the new ones non-increasing and as
/// close to each other as divisors allow (MPI 5.0 section 8.5.2): of all ways, the one with the
/// least greatest dimension, of those the one with the least next, and so on.
///
/// # Errors
/// `MPI_ERR_DIMS` for a negative dimension and where the given ones do not divide `nodes`.
pub fn dims_create(nodes: i32, dims: &mut [i32]) -> Result {
    if nodes < 1 {
        return Err(Failure::new(ErrorClass::ARG, format!("nnodes is {nodes}; it must be positive")));
    }
    if let Some(at) = dims.iter().position(|&dim| dim < 0) {
        return Err(Failure::new(ErrorClass::DIMS, format!("dims[{at}] is {}; pass 0 for a free dimension or a positive size", dims[at])));
    }
    let given: i64 = dims.iter().filter(|&&dim| dim > 0).fold(1, |product: i64, &dim| product.saturating_mul(i64::from(dim)));
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    let fits = i64::from(nodes) % given == 0 && (free > 0 || given == i64::from(nodes));
    if !fits {
        return Err(Failure::new(
            ErrorClass::DIMS,
            format!("the given dimensions multiply to {given}, with which {free} free ones cannot make {nodes} nodes"),
        ));
    }
    let mut found = balanced((i64::from(nodes) / given) as u32, free).into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = found.next().expect("one for each free dimension") as i32;
    }
    Ok(())
}

/// `parts` factors of `nodes`, non-increasing and balanced as [`dims_create`] says.
pub fn balanced(nodes: u32, parts: usize) -> Vec<u32> {
    let divisors = divisors(nodes);
    let mut found = Vec::with_capacity(parts);
    if parts > 0 {
        let complete = search(&divisors, nodes, parts, nodes, &mut found);
        debug_assert!(complete, "nodes itself and ones always do");
    }
    found
}

/// Appends the best `parts` factors of `rest` of at most `most`; false where there are none.
fn search(divisors: &[u32], rest: u32, parts: usize, most: u32, found: &mut Vec<u32>) -> bool {
    if parts == 1 {
        if rest <= most {
            found.push(rest);
        }
        return rest <= most;
    }
    let root = f64::from(rest).powf(1.0 / parts as f64) as u32;
    let from = divisors.partition_point(|&divisor| divisor < root);
    for &divisor in &divisors[from..] {
        // The greatest factor is at least the root: less cannot reach the product.
        if divisor > most {
            return false;
        }
        if !rest.is_multiple_of(divisor) || u64::from(divisor).saturating_pow(parts as u32) < u64::from(rest) {
            continue;
        }
        found.push(divisor);
        if search(divisors, rest / divisor, parts - 1, divisor, found) {
            return true;
        }
        found.pop();
    }
    false
}

fn divisors(nodes: u32) -> Vec<u32> {
    let low: Vec<u32> =
        (1..).take_while(|&d| u64::from(d) * u64::from(d) <= u64::from(nodes)).filter(|&d| nodes.is_multiple_of(d)).collect();
    let high = low.iter().rev().map(|&d| nodes / d).filter(|&d| u64::from(d) * u64::from(d) != u64::from(nodes));
    low.iter().copied().chain(high).filter(|&d| d > 0).collect()
}
