//! Collective calls that ranks have entered, for those who wait for them elsewhere when they have failed:
//! they take part in these to the end.

use crate::remote::spread::Ident;
use engine::record::{Put, Take};
use rustc_hash::FxHashMap;

/// Numbers of calls that ranks have entered: those of this process, where ranks can fail, and of others those
/// that have failed.
// Of freed communicators, too: who has freed one is through with its calls there, and others may not be.
#[derive(Default)]
pub(crate) struct Departed {
    /// By rank and name, without its number.
    made: FxHashMap<(u32, Ident), u32>,
}

impl Departed {
    /// Records that a rank has entered a call, or been refused it.
    pub(super) fn enters(&mut self, rank: u32, ident: Ident) {
        let made = self.made.entry((rank, Ident { call: 0, ..ident })).or_default();
        *made = (*made).max(ident.call + 1);
    }

    /// Returns `true` if a rank had entered a call when it failed.
    pub(crate) fn had_entered(&self, rank: u32, ident: &Ident) -> bool {
        self.made.get(&(rank, Ident { call: 0, ..*ident })).is_some_and(|&made| made > ident.call)
    }

    /// Writes the calls that a rank of this process had entered to `out`, for other processes, and forgets
    /// them. O(all that ranks of this process have entered).
    pub(super) fn put(&mut self, rank: u32, out: &mut Vec<u8>) {
        let of_rank = self.made.iter().filter(|((of, _), _)| *of == rank);
        let mut idents: Vec<Ident> =
            of_rank.map(|(&(_, ident), &made)| Ident { call: made, ..ident }).collect();
        idents.sort_unstable_by_key(|ident| (ident.context, ident.key, ident.print));
        out.u32(idents.len() as u32);
        idents.iter().for_each(|ident| ident.put(out));
        self.made.retain(|(of, _), _| *of != rank);
    }

    /// Reads the calls that a rank of another process had entered from `record`.
    pub(super) fn take(&mut self, rank: u32, record: &mut Take) {
        for _ in 0..record.u32() {
            let ident = Ident::take(record);
            self.made.insert((rank, Ident { call: 0, ..ident }), ident.call);
        }
    }
}
