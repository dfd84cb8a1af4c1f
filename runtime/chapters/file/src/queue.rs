//! Requests that wait at a file's home, or at the servers, until nothing comes before them.

use crate::access::HomeRequest;
use crate::state::OpenFiles;
use objects::Objects;
use p2p::Messages;

impl OpenFiles {
    /// Returns the number of the next request of a rank of the process.
    pub(crate) fn number(&mut self, messages: &Messages, origin: u32) -> u32 {
        if self.asked.is_empty() {
            self.asked = vec![0; messages.ranks().local() as usize];
        }
        let asked = &mut self.asked[(origin - messages.ranks().first()) as usize];
        *asked += 1;
        *asked
    }

    /// Queues an access at its home until nothing comes before it.
    pub(crate) fn wait_for_turn(&mut self, messages: &mut Messages, objects: &Objects, access: HomeRequest) {
        if let Some(home) = objects.files.alive(access.file).map(|file| file.home) {
            let place = access.action.place(home);
            self.wait_at(messages, place, access);
        }
    }

    /// Queues an access at a rank.
    pub(crate) fn wait_at(&mut self, messages: &mut Messages, rank: u32, access: HomeRequest) {
        let index = self.accesses.insert(access);
        self.arrivals.push(messages, rank, self.accesses[index].turn(index));
    }
}
