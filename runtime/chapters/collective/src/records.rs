//! Records of collectives from other processes.

use crate::instance::Collectives;
use crate::remote::kind::CollectiveRecordKind;
use engine::record::Take;
use objects::Objects;
use p2p::Messages;

impl Collectives {
    /// Handles a record of this chapter, from process `from`.
    pub(crate) fn record_arrived(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        from: u32,
        kind: u8,
        record: Take,
    ) {
        match CollectiveRecordKind::ALL[usize::from(kind)] {
            CollectiveRecordKind::Step => self.collective_record(messages, objects, record),
            CollectiveRecordKind::Ready => self.ready_arrived(messages, objects, from, record),
            CollectiveRecordKind::Go => self.go_arrived(messages, objects, record),
            CollectiveRecordKind::Round => self.round_arrived(messages, objects, from, record),
            CollectiveRecordKind::Data => self.data_arrived(messages, objects, from, record),
            CollectiveRecordKind::Contributions => self.contributions_arrived(messages, objects, record),
            CollectiveRecordKind::Outcome => self.outcome_arrived(messages, objects, record),
            CollectiveRecordKind::Leader => self.bridges.leader_arrived(record),
        }
    }
}
