//! What is decided of a file, kept by the process of its first member.

use crate::meeting::Meeting;
use crate::state::Files;
use objects::Objects;
use objects::abi::MPI_MODE_APPEND;
use std::collections::BTreeMap;

/// A file at home.
pub(crate) struct Home {
    /// The shared pointer, in etypes.
    pub(crate) shared: u64,
    /// Meetings that members have entered, by number.
    pub(crate) meetings: BTreeMap<u32, Meeting>,
}

impl Files {
    /// What is decided here of a file.
    pub(crate) fn home(&mut self, objects: &Objects, file: u32) -> &mut Home {
        if !self.homes.contains_key(&file) {
            let shared = self.end_on_opening(objects, file);
            self.homes.insert(file, Home { shared, meetings: BTreeMap::new() });
        }
        self.homes.get_mut(&file).expect("made above")
    }

    /// Where pointers are when a file is opened: at its beginning, with `MPI_MODE_APPEND` at its end (MPI 5.0 section 14.2.1).
    pub(crate) fn end_on_opening(&mut self, objects: &Objects, file: u32) -> u64 {
        let appends = objects.files.alive(file).is_some_and(|object| object.amode & MPI_MODE_APPEND != 0);
        if !appends {
            return 0;
        }
        self.host(objects, file).and_then(|host| host.size()).unwrap_or_default()
    }
}
