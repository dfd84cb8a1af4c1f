//! Subarrays and distributed arrays (MPI 5.0 sections 5.1.3 and 5.1.4).

use super::constructor::{DISTRIBUTE_DFLT_DARG, Darray, Distribution, Order, arg};
use crate::error::Result;

pub(super) fn validate_subarray(sizes: &[i64], subsizes: &[i64], starts: &[i64]) -> Result {
    if sizes.is_empty() {
        return Err(arg("ndims is 0; a subarray has at least one dimension"));
    }
    for dim in 0..sizes.len() {
        let (size, subsize, start) = (sizes[dim], subsizes[dim], starts[dim]);
        if size < 1 {
            return Err(arg(format!("array_of_sizes[{dim}] is {size}; it must be positive")));
        }
        if subsize < 1 || subsize > size {
            return Err(arg(format!(
                "array_of_subsizes[{dim}] is {subsize}; it must be from 1 to the size {size}"
            )));
        }
        if start < 0 || start > size - subsize {
            return Err(arg(format!(
                "array_of_starts[{dim}] is {start}; the subarray must lie within 0..{size}"
            )));
        }
    }
    Ok(())
}

pub(super) fn validate_darray(darray: &Darray) -> Result {
    let Darray { size, rank, gsizes, distribs, dargs, psizes, .. } = darray;
    if gsizes.is_empty() {
        return Err(arg("ndims is 0; a distributed array has at least one dimension"));
    }
    if *size < 1 || *rank < 0 || rank >= size {
        return Err(arg(format!("rank is {rank} of size {size}; it must be from 0 to size - 1")));
    }
    let mut processes = 1i64;
    for dim in 0..gsizes.len() {
        let (gsize, darg, psize) = (gsizes[dim], dargs[dim], psizes[dim]);
        if gsize < 1 {
            return Err(arg(format!("array_of_gsizes[{dim}] is {gsize}; it must be positive")));
        }
        if psize < 1 {
            return Err(arg(format!("array_of_psizes[{dim}] is {psize}; it must be positive")));
        }
        if darg != DISTRIBUTE_DFLT_DARG && darg < 1 {
            return Err(arg(format!(
                "array_of_dargs[{dim}] is {darg}; it must be positive or MPI_DISTRIBUTE_DFLT_DARG"
            )));
        }
        match distribs[dim] {
            Distribution::None if psize != 1 => {
                return Err(arg(format!(
                    "array_of_psizes[{dim}] is {psize}; a dimension with MPI_DISTRIBUTE_NONE needs 1"
                )));
            }
            Distribution::Block
                if darg != DISTRIBUTE_DFLT_DARG
                    && i128::from(darg) * i128::from(psize) < i128::from(gsize) =>
            {
                return Err(arg(format!(
                    "array_of_dargs[{dim}] is {darg}; {psize} blocks of it do not cover the {gsize} elements \
                     of the dimension"
                )));
            }
            _ => {}
        }
        processes = processes.saturating_mul(psize);
    }
    if processes != *size {
        return Err(arg(format!("the product of array_of_psizes is {processes}; it must be size, {size}")));
    }
    Ok(())
}

/// A process's share of one dimension: `block` indices from `first` on, again every `cycle`, below `size`.
// Subarrays and all distributions in one form: what a process owns of a dimension is a block that repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CyclicBlock {
    pub size: u64,
    pub first: u64,
    pub block: u64,
    pub cycle: u64,
}

impl CyclicBlock {
    /// Returns how many full blocks there are, and the length of a last, shorter one.
    pub(super) fn blocks(&self) -> (u64, u64) {
        if self.first >= self.size {
            return (0, 0);
        }
        let span = self.size - self.first;
        let (full, rest) = (span / self.cycle, span % self.cycle);
        if rest >= self.block { (full + 1, 0) } else { (full, rest) }
    }
}

/// The shares of a subarray, fastest dimension first.
pub(super) fn subarray_shares(
    sizes: &[i64],
    subsizes: &[i64],
    starts: &[i64],
    order: Order,
) -> Vec<CyclicBlock> {
    let share = |dim: usize| CyclicBlock {
        size: sizes[dim] as u64,
        first: starts[dim] as u64,
        block: subsizes[dim] as u64,
        cycle: sizes[dim] as u64,
    };
    fastest_first(sizes.len(), order).map(share).collect()
}

/// The shares of a process of a distributed array, fastest dimension first. The process grid
/// is in C order whatever the array's order is.
pub(super) fn darray_shares(darray: &Darray) -> Vec<CyclicBlock> {
    let ndims = darray.gsizes.len();
    let mut coordinates = vec![0u64; ndims];
    let mut rest = darray.rank as u64;
    for dim in (0..ndims).rev() {
        let psize = darray.psizes[dim] as u64;
        coordinates[dim] = rest % psize;
        rest /= psize;
    }
    let share = |dim: usize| {
        let (size, processes) = (darray.gsizes[dim] as u64, darray.psizes[dim] as u64);
        let default = darray.dargs[dim] == DISTRIBUTE_DFLT_DARG;
        let block = match darray.distribs[dim] {
            Distribution::None => size,
            Distribution::Block if default => size.div_ceil(processes),
            Distribution::Cyclic if default => 1,
            Distribution::Block | Distribution::Cyclic => darray.dargs[dim] as u64,
        };
        let first = coordinates[dim].saturating_mul(block);
        CyclicBlock { size, first, block, cycle: block.saturating_mul(processes) }
    };
    fastest_first(ndims, darray.order).map(share).collect()
}

fn fastest_first(ndims: usize, order: Order) -> impl Iterator<Item = usize> {
    (0..ndims).map(move |at| match order {
        Order::C => ndims - 1 - at,
        Order::Fortran => at,
    })
}
