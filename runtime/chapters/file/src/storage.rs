//! The time that accesses take of the machine's file system, where it has one (docs/reference/files.md).
//! Servers' queues are one thing for all files, so that they have one place: the process of rank 0 of
//! `MPI_COMM_WORLD`, which serves requests in the order of their arrival.

use crate::access::{HomeAction, HomeRequest};
use crate::state::OpenFiles;
use crate::view::View;
use engine::Time;
use network::{Servers, Storage};
use objects::Objects;
use p2p::Messages;
use p2p::remote::shared::Way;

/// The rank at whose process the servers are.
pub(crate) const PLACE: u32 = 0;

/// Returns the server on which a file begins: by its name without directories, so that files of one program
/// spread and a run takes the same time wherever its files are.
fn first_server(name: &str, servers: u32) -> u32 {
    let name = name.rsplit('/').next().unwrap_or_default();
    // FNV-1a: fixed for ever, and different for names that differ in a digit.
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    ((hash >> 32) % u64::from(servers)) as u32
}

impl OpenFiles {
    pub(crate) fn first_server(&self, objects: &Objects, file: u32, storage: &Storage) -> u32 {
        first_server(&objects.files.at(file).name, storage.servers)
    }

    /// Returns what an access to a view's bytes asks of the servers; nothing where files take no time or
    /// nothing is accessed.
    pub(crate) fn load_of(
        &self,
        messages: &Messages,
        objects: &Objects,
        file: u32,
        view: &View,
        (from, bytes): (u64, u64),
    ) -> Option<HomeAction> {
        let storage = messages.fabric().wire().storage.as_ref().filter(|_| bytes != 0)?;
        let first = self.first_server(objects, file, storage);
        let mut loads = vec![0; storage.servers as usize];
        view.pieces(from, bytes, &mut |at, len| storage.share(first, at, len, &mut loads));
        let busy = (0..).zip(loads).filter(|(_, load)| *load != 0);
        Some(HomeAction::Serve(busy.collect()))
    }

    /// Sends a request to the servers, which takes their latency and no message of the network.
    pub(crate) fn ask_servers(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        mut access: HomeRequest,
        leaves: Time,
    ) {
        let Some(Storage { latency, .. }) = messages.fabric().wire().storage else {
            unreachable!("asked of a machine that has them")
        };
        access.arrival = leaves + latency;
        if messages.ranks().is_local(PLACE) {
            self.wait_at(messages, PLACE, access);
        } else {
            self.tell_access(messages, objects, &access, Way::Arrives(access.arrival));
        }
    }

    /// Serves a request at the servers. Returns the time at which its origin knows that all is done.
    pub(crate) fn serve_load(&mut self, messages: &Messages, loads: &[(u32, u64)], at: Time) -> Time {
        let Some(storage) = &messages.fabric().wire().storage else {
            unreachable!("asked of a machine that has them")
        };
        let servers = self.servers.get_or_insert_with(|| Servers::new(storage));
        servers.serve(at, loads) + storage.latency
    }
}
