//! What other processes tell of collectives.

use crate::instance::Collectives;
use crate::remote::kind::Told;
use engine::record::Take;
use message::Messages;
use objects::Objects;

impl Collectives {
    /// A record of this chapter, from process `from`.
    pub(crate) fn record_arrived(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        from: u32,
        kind: u8,
        record: Take,
    ) {
        match Told::ALL[usize::from(kind)] {
            Told::Step => self.collective_record(messages, objects, record),
            Told::Ready => self.ready_arrived(messages, objects, from, record),
            Told::Go => self.go_arrived(messages, objects, record),
            Told::Round => self.round_arrived(messages, objects, from, record),
            Told::Data => self.data_arrived(messages, objects, from, record),
            Told::Contributions => self.contributions_arrived(messages, objects, record),
            Told::Outcome => self.outcome_arrived(messages, objects, record),
            Told::Leader => self.bridges.leader_arrived(record),
        }
    }
}
