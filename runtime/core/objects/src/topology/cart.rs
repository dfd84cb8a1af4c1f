//! Cartesian grids (MPI 5.0 section 8.5.1): ranks in row-major order.

use super::NOBODY;
use crate::error::{ErrorClass, Failure, Result};

/// A grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart {
    /// Ranks along each dimension.
    pub dims: Box<[u32]>,
    /// `true` if the dimension wraps around, by dimension.
    pub periods: Box<[bool]>,
}

impl Cart {
    /// Makes a grid for a communicator of `size` ranks, of which it takes the first; no dimensions are one
    /// rank.
    ///
    /// # Errors
    /// `MPI_ERR_DIMS` for a dimension that is not positive, and a grid greater than `size`.
    pub fn new(dims: &[i32], periods: &[bool], size: u32) -> Result<Cart> {
        if let Some(at) = dims.iter().position(|&dim| dim < 1) {
            return Err(Failure::new(
                ErrorClass::DIMS,
                format!("dims[{at}] is {}; a dimension must be positive", dims[at]),
            ));
        }
        let ranks = dims.iter().fold(1u64, |product, &dim| product.saturating_mul(dim as u64));
        if ranks > u64::from(size) {
            return Err(Failure::new(
                ErrorClass::DIMS,
                format!(
                    "the grid {dims:?} has {ranks} places, but the communicator only {size} ranks; \
                     MPI_Dims_create finds dimensions that fit"
                ),
            ));
        }
        Ok(Cart { dims: dims.iter().map(|&dim| dim as u32).collect(), periods: periods.into() })
    }

    /// Returns the number of positions in the grid.
    pub fn size(&self) -> u32 {
        self.dims.iter().product()
    }

    /// Returns the number of dimensions.
    pub fn ndims(&self) -> usize {
        self.dims.len()
    }

    /// `MPI_Cart_rank`: coordinates wrap around in periodic dimensions.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a coordinate outside a dimension that does not wrap.
    // Row-major, last dimension fastest (MPI 5.0 section 8.2): Horner's rule over the dimensions.
    pub fn rank(&self, coords: &[i32]) -> Result<u32> {
        let mut rank = 0;
        for (dim, (&coord, (&size, &wraps))) in
            coords.iter().zip(self.dims.iter().zip(&self.periods)).enumerate()
        {
            let inside = wrap(i64::from(coord), size, wraps).ok_or_else(|| {
                Failure::new(
                    ErrorClass::ARG,
                    format!(
                        "coords[{dim}] is {coord}; the dimension has {size} places and does not wrap around"
                    ),
                )
            })?;
            rank = rank * size + inside;
        }
        Ok(rank)
    }

    /// Implements `MPI_Cart_coords`, for a rank below the size.
    pub fn coords(&self, rank: u32) -> Vec<u32> {
        let mut rest = rank;
        let mut coords = vec![0; self.dims.len()];
        for (coord, &size) in coords.iter_mut().zip(&self.dims).rev() {
            *coord = rest % size;
            rest /= size;
        }
        coords
    }

    /// Implements `MPI_Cart_shift` at `rank`. Returns source and destination, [`NOBODY`] beyond the border.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a direction that is no dimension, `MPI_ERR_TOPOLOGY` for a grid without any.
    pub fn shift(&self, rank: u32, direction: i32, displacement: i32) -> Result<(u32, u32)> {
        if self.dims.is_empty() {
            return Err(Failure::new(ErrorClass::TOPOLOGY, "the grid has no dimensions to shift along"));
        }
        let dim = usize::try_from(direction).ok().filter(|&dim| dim < self.ndims()).ok_or_else(|| {
            Failure::new(
                ErrorClass::ARG,
                format!("direction is {direction}; it must be from 0 to {}", self.ndims() - 1),
            )
        })?;
        Ok(self.along(rank, dim, i64::from(displacement)))
    }

    // From the rank, without taking all coordinates apart: one stride a dimension.
    fn along(&self, rank: u32, dim: usize, displacement: i64) -> (u32, u32) {
        let stride: u32 = self.dims[dim + 1..].iter().product();
        let (size, wraps) = (self.dims[dim], self.periods[dim]);
        let coord = rank / stride % size;
        let at = |coord: i64, by: i64| {
            wrap(coord + by, size, wraps)
                .map_or(NOBODY, |to| (i64::from(rank) + (i64::from(to) - coord) * i64::from(stride)) as u32)
        };
        (at(i64::from(coord), -displacement), at(i64::from(coord), displacement))
    }

    /// Returns the neighbours of neighbourhood collectives: for each dimension the one in negative, then
    /// the one in positive direction.
    pub fn neighbors(&self, rank: u32) -> Vec<u32> {
        let mut list = Vec::with_capacity(2 * self.ndims());
        self.append_neighbors(rank, &mut list);
        list
    }

    /// Appends the [`neighbors`](Self::neighbors) to `list`.
    pub(crate) fn append_neighbors(&self, rank: u32, list: &mut Vec<u32>) {
        for dim in 0..self.ndims() {
            list.extend(<[u32; 2]>::from(self.along(rank, dim, 1)));
        }
    }

    /// `MPI_Cart_sub` at `rank`: the subgrid, which one of them it is (a color), and the rank in it.
    // What stays makes the key, what goes the color, both in row-major order: ranks in a part keep their
    // order.
    pub fn sub(&self, rank: u32, remain: &[bool]) -> (Cart, u32, u32) {
        let coords = self.coords(rank);
        let (mut color, mut key) = (0, 0);
        for ((&coord, &size), &stays) in coords.iter().zip(&self.dims).zip(remain) {
            let number = if stays { &mut key } else { &mut color };
            *number = *number * size + coord;
        }
        let kept = |at: &usize| remain[*at];
        let dims = (0..self.ndims()).filter(kept).map(|at| self.dims[at]).collect();
        let periods = (0..self.ndims()).filter(kept).map(|at| self.periods[at]).collect();
        (Cart { dims, periods }, color, key)
    }
}

fn wrap(coord: i64, size: u32, wraps: bool) -> Option<u32> {
    if wraps {
        Some(coord.rem_euclid(i64::from(size)) as u32)
    } else {
        (0..i64::from(size)).contains(&coord).then_some(coord as u32)
    }
}
