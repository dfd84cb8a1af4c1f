//! Chunks of records from other processes, each dispatched to the part that it is of, while ranks run and
//! when none can.

use crate::remote::record::Take;
use crate::remote::stream::{Arrived, Kind, next_record};
use crate::world::World;
use engine::Time;
use p2p::peers::Peers;
use p2p::remote::message::message_arrived;

/// Chunks of records that are looked at before the ranks that they wake run.
// A megabyte: enough to wake many ranks, and little enough that what they need of it is still in the cache.
const CHUNKS: usize = 16;

impl World {
    /// Looks after the streams while ranks run: sends what is full (with `all`, everything), takes some of
    /// what has arrived.
    #[cold]
    pub(crate) fn look_after_streams(&mut self, all: bool) {
        if self.is_flooded() {
            if let Err(why) = self.messages.peers_mut().others().streams.flush(all) {
                self.messages.peers_mut().fail(&why);
            }
            self.messages.peers_mut().update_crowded();
        } else {
            self.exchange(all);
        }
    }

    /// Sends (with `all`, also chunks that are not full) and takes. Answers `(whether records came, whether
    /// all went out)`.
    pub(crate) fn exchange(&mut self, all: bool) -> (bool, bool) {
        let streams = &mut self.messages.peers_mut().others().streams;
        let mut result = streams.flush(all);
        let (mut news, mut chunks) = (false, 0);
        while let Ok(empty) = result {
            match self.messages.peers_mut().others().streams.receive() {
                Ok(Some(Arrived::Records(from, data))) => {
                    news = true;
                    chunks += 1;
                    self.records_arrived(from, &data);
                    if chunks < CHUNKS {
                        continue;
                    }
                }
                Ok(Some(Arrived::Control(from, data))) => {
                    self.control_arrived(from, data);
                    continue;
                }
                Ok(None) => {}
                Err(why) => {
                    result = Err(why);
                    continue;
                }
            }
            self.messages.peers_mut().update_crowded();
            return (news, empty);
        }
        let why = result.err().unwrap_or_default();
        self.messages.peers_mut().fail(&why)
    }

    pub(crate) fn records_arrived(&mut self, from: u32, data: &[u8]) {
        let mut data = Take(data);
        while let Some((kind, mut record)) = next_record(&mut data) {
            match kind {
                Kind::Message => message_arrived(&mut self.messages, from, record),
                Kind::Matched => {
                    let (request, at, receive) = Peers::take_matched(&mut record);
                    self.messages.finish_send(request, at, receive);
                }
                Kind::Abort => self.abort_arrived(record),
                Kind::Entries => self.messages.watching().entries_arrived(record),
                Kind::Failed => self.failure_arrived(record),
                Kind::Revoked => {
                    let (rank, context, at) = Peers::take_revoked(&mut record);
                    self.messages.failures().revoke(rank, context, at);
                    self.run.limit = self.run.limit.min(at);
                }
                Kind::Vain => {
                    let (ticket, fault) = Peers::take_vain(&mut record);
                    let request = self.messages.faults_mut().and_then(|faults| faults.redeem(ticket));
                    request.into_iter().for_each(|request| self.messages.fail_send(request, fault));
                }
                Kind::Launched => self.messages.fabric_mut().launched_arrived(from, record),
                Kind::Landed => {
                    let flight = record.u32();
                    self.land(flight, Time::from_ps(record.u64()));
                }
                Kind::Started => self.start_held_up_to(record.u64()),
                Kind::Chapter(chapter, kind) => {
                    self.chapters.of(chapter).record(
                        &mut self.messages,
                        &mut self.objects,
                        from,
                        kind,
                        record,
                    );
                }
            }
        }
    }
}
