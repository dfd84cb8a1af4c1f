//! Names of objects.

use rustc_hash::FxHashMap;

/// Names that ranks gave to objects (`MPI_Type_set_name` and its like), in whatever encoding; nothing for the
/// unnamed.
#[derive(Default)]
pub struct Names {
    // By object and rank: ranks that share an object name it apart, and no object has room for a name that it
    // seldom gets.
    names: FxHashMap<(usize, u32), Box<[u8]>>,
}

impl Names {
    /// Sets the name that `rank` sees.
    pub fn set(&mut self, rank: u32, handle: usize, name: &[u8]) {
        self.names.insert((handle, rank), name.into());
    }
    /// Returns the name that `rank` set.
    pub fn get(&self, rank: u32, handle: usize) -> Option<&[u8]> {
        if self.names.is_empty() { None } else { self.names.get(&(handle, rank)).map(|name| &**name) }
    }
    /// Forgets the name, with the object.
    pub fn remove(&mut self, rank: u32, handle: usize) {
        if !self.names.is_empty() {
            self.names.remove(&(handle, rank));
        }
    }
}
