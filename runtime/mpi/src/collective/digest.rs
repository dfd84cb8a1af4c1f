//! What a collective makes of its members' contributions, all at once.

use crate::collective::contributions::{Data, Together};
use crate::collective::lockstep;
use crate::collective::schedule::{Digest, Kind, Schedule, Shape};

/// `data` as blocks in rows of `rows`: block `j` of row `i` changes places with block `i` of row `j`.
fn transpose(data: &mut [u8], rows: usize, block: usize) {
    const TILE: usize = 32;
    for top in (0..rows).step_by(TILE) {
        for left in (top..rows).step_by(TILE) {
            for row in top..(top + TILE).min(rows) {
                for column in left.max(row + 1)..(left + TILE).min(rows) {
                    let (one, other) = ((row * rows + column) * block, (column * rows + row) * block);
                    let (low, high) = data.split_at_mut(other);
                    match block {
                        8 => {
                            let (a, b) = (&mut low[one..one + 8], &mut high[..8]);
                            let (left, right): ([u8; 8], [u8; 8]) = (a.try_into().expect("8 bytes"), b.try_into().expect("8 bytes"));
                            a.copy_from_slice(&right);
                            b.copy_from_slice(&left);
                        }
                        _ => low[one..one + block].swap_with_slice(&mut high[..block]),
                    }
                }
            }
        }
    }
}

/// All contributions reduced in the association of [`Digest::Pairs`].
fn reduce_pairs(data: &mut [u8], stride: usize, (among, folded): (u32, u32), kernel: crate::op::Kernel) -> Vec<u8> {
    let mut combine = |left: usize, right: usize| {
        let (low, high) = data.split_at_mut(right * stride);
        kernel(&low[left * stride..][..stride], &mut high[..stride]);
    };
    for pair in 0..folded as usize {
        combine(2 * pair, 2 * pair + 1);
    }
    let member = |position: usize| if position < folded as usize { 2 * position + 1 } else { position + folded as usize };
    let mut width = 1;
    while width < among as usize {
        for last in (2 * width - 1..among as usize).step_by(2 * width) {
            combine(member(last - width), member(last));
        }
        width *= 2;
    }
    data[member(among as usize - 1) * stride..][..stride].to_vec()
}

/// All contributions reduced in the association of [`Digest::Rows`].
fn reduce_rows(data: &mut [u8], stride: usize, top: usize, kernel: crate::op::Kernel) -> Vec<u8> {
    let size = data.len() / stride;
    let place = |position: usize| (top + position) % size * stride;
    let mut width = 1;
    while width < size {
        for middle in (width..size).step_by(2 * width) {
            // A row's result is where its last position was.
            let (left, right) = (place(middle - 1), place((middle + width).min(size) - 1));
            let (low, high) = data.split_at_mut(left.max(right));
            if left < right {
                kernel(&low[left..][..stride], &mut high[..stride]);
            } else {
                kernel(&high[..stride], &mut low[right..][..stride]);
            }
        }
        width *= 2;
    }
    data[place(size - 1)..][..stride].to_vec()
}

impl Together {
    /// Turns contributions into results; false if only the schedule's steps can.
    pub(super) fn digest(&mut self, shape: &Shape, schedule: &dyn Schedule) -> bool {
        if let Some(varied) = &mut self.varied {
            let fits = varied.fits();
            if !fits || !varied.is_reduced() {
                return fits;
            }
        }
        match shape.kind {
            Kind::Barrier | Kind::Agree | Kind::Bcast | Kind::Scatter | Kind::Gather | Kind::Allgather => true,
            Kind::Alltoall => {
                if let Data::Each(data, _) = &mut self.data {
                    transpose(data, shape.size as usize, shape.bytes as usize);
                }
                true
            }
            _ => {
                let Some((_, reduction)) = &self.reduction else { return false };
                let Some(kernel) = reduction.kernel else { return false };
                let Data::Each(data, stride) = &mut self.data else { return true };
                if let Some(digest) = schedule.digest() {
                    self.data = Data::One(match digest {
                        Digest::Pairs { among, folded } => reduce_pairs(data, *stride, (among, folded), kernel),
                        Digest::Rows { top } => reduce_rows(data, *stride, top as usize, kernel),
                    });
                    return true;
                }
                let begins = self.varied.as_ref().and_then(|varied| varied.begins());
                let mut combine = |_: u32, left: &[u8], right: &mut Vec<u8>| kernel(left, right);
                let Some(results) = lockstep::reduce_all(shape, schedule, &mut combine, data, *stride, begins) else { return false };
                self.take_results(shape, results);
                true
            }
        }
    }
}
