//! The open requests of ranks: most ranks have none, and a rank that has some has them for a short while.

use mpi::handle::REQUEST_NULL;

/// A rank without open requests.
pub(crate) const NONE: u32 = u32::MAX;

/// The requests that one rank has made and not completed all of.
#[derive(Default)]
pub(crate) struct Open {
    /// The number of the first.
    pub(crate) first: u32,
    /// Handles; [`REQUEST_NULL`] for those that are complete.
    pub(crate) handles: Vec<usize>,
    /// Those of them, by number, that the call in which the rank is names; `None` for all.
    pub(crate) asked: Option<Box<[u32]>>,
}

/// Lists of requests, used again by other ranks when a rank has none any more.
#[derive(Default)]
pub(crate) struct Lists {
    lists: Vec<Open>,
    free: Vec<u32>,
}

impl Lists {
    pub(crate) fn get(&mut self, list: u32) -> &mut Open {
        &mut self.lists[list as usize]
    }

    /// A list of its own for a rank whose next request has this number.
    pub(crate) fn take(&mut self, first: u32) -> u32 {
        let list = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Open::default());
            self.lists.len() as u32 - 1
        });
        self.get(list).first = first;
        list
    }

    /// Gives a list back if all its requests are complete: whether it was.
    pub(crate) fn release(&mut self, list: u32) -> bool {
        let open = &mut self.lists[list as usize];
        let over = open.handles.iter().all(|&handle| handle == REQUEST_NULL);
        if over {
            open.handles.clear();
            open.asked = None;
            self.free.push(list);
        }
        over
    }
}
