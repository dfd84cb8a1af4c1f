//! Data of a distributed collective that another process has sent.

use crate::instance::Collectives;
use crate::remote::spread::Ident;
use engine::record::Take;
use objects::Objects;
use p2p::Messages;

impl Collectives {
    pub(crate) fn data_arrived(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        from: u32,
        mut record: Take,
    ) {
        let ident = Ident::take(&mut record);
        let index = *self.spread.instances.get(&ident).expect("its members are in");
        let distributed = self.instance_mut(index).gathering.as_mut().expect("gathered").distributed_mut();
        distributed.data.push((from, record.0.to_vec()));
        if distributed.passage.is_some() {
            self.advance_distributed(messages, objects, index);
        }
    }
}
