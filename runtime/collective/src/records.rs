//! What other processes tell of collectives.

use crate::instance::Collectives;
use engine::record::Take;
use message::Messages;
use message::remote::stream::Kind;
use objects::Objects;

impl Collectives {
    /// A record of one of the kinds that collectives write, from process `from`; `None` if it is of another kind.
    pub fn record_arrived(&mut self, messages: &mut Messages, objects: &mut Objects, from: u32, kind: Kind, record: Take) -> Option<()> {
        match kind {
            Kind::Collective => self.collective_record(messages, objects, record),
            Kind::Ready => self.ready_arrived(messages, objects, from, record),
            Kind::Go => self.go_arrived(messages, objects, record),
            Kind::Round => self.round_arrived(messages, objects, from, record),
            Kind::Data => self.data_arrived(messages, objects, from, record),
            Kind::Contributions => self.contributions_arrived(messages, objects, record),
            Kind::Outcome => self.outcome_arrived(messages, objects, record),
            Kind::Leader => self.bridges.leader_arrived(record),
            Kind::Message | Kind::Matched | Kind::Abort => return None,
        }
        Some(())
    }
}
