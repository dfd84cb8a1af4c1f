//! Accesses to memory that only its mounted rank reaches, its globals and its stack: the main loop mounts the rank before anybody runs.

use crate::access::Held;
use crate::atomic::Bytes;
use engine::Time;
use message::chapter::Errand;

/// An access to be done while its target is mounted.
// Holds the access whole, and finds what it finds here: nothing of the world is borrowed while the target is
// mounted.
pub(crate) struct Piece {
    pub(crate) access: Held,
    base: usize,
    /// When it has its turn.
    pub(crate) at: Time,
    /// What it found.
    pub(crate) found: Bytes,
}

impl Piece {
    pub(crate) fn new(access: Held, base: usize, at: Time) -> Piece {
        Piece { access, base, at, found: Bytes::new() }
    }
}

/// All that there is to be done, in the order in which it was decided.
pub(crate) struct Mounted(pub(crate) Vec<Piece>);

impl Errand for Mounted {
    fn run(&mut self, mounted: &mut dyn FnMut(u32, &mut dyn FnMut())) {
        // Targets do not see each other's memory: each is mounted once.
        // A stable sort: of one target the order in which it was decided stays. O(pieces log pieces) against a
        // switch of images for each.
        self.0.sort_by_key(|piece| piece.access.target);
        for pieces in self.0.chunk_by_mut(|one, other| one.access.target == other.access.target) {
            mounted(pieces[0].access.target, &mut || {
                for piece in pieces.iter_mut() {
                    piece.found = piece.access.run(piece.base);
                }
            });
        }
    }
}
