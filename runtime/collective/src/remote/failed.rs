//! A rank has failed: processes tell each other which collective calls it had entered, for those who wait for it elsewhere.

use crate::broken::member_of;
use crate::entry::home;
use crate::instance::{Collectives, Place};
use crate::remote::spread::{Ident, is_spread};
use engine::record::{Put, Take};
use message::Messages;
use objects::Objects;

impl Collectives {
    /// What a rank of this process, which has failed, had entered, for the other processes.
    // O(communicators + calls under way), once a failure.
    pub fn put_entered(&self, messages: &Messages, objects: &Objects, rank: u32, out: &mut Vec<u8>) {
        let mut calls = Vec::new();
        for comm in self.calls.begun() {
            let place = Place::Comm(comm);
            let Some(communicator) = objects.comms.alive(comm).filter(|communicator| is_spread(messages, communicator)) else { continue };
            if let Some(member) = member_of(objects, &place, rank) {
                let made = self.calls.of(home(objects, comm), member);
                calls.push((communicator.context, made));
            }
        }
        out.u32(calls.len() as u32);
        for (context, made) in calls {
            out.u32(context);
            out.u32(made);
        }
        for instance in self.instances() {
            if let Some(ident) = instance.ident.filter(|ident| ident.as_call().is_none())
                && let Some(member) = member_of(objects, &instance.place, rank)
                && (instance.has(member) || instance.joined.contains(member))
            {
                ident.put(out);
            }
        }
    }

    /// What a rank of another process had entered when it failed.
    pub fn take_entered(&mut self, rank: u32, record: &mut Take) {
        let departed = &mut self.spread.departed;
        for _ in 0..record.u32() {
            let (context, made) = (record.u32(), record.u32());
            departed.calls.insert((rank, context), made);
        }
        while !record.is_empty() {
            departed.open.insert((rank, Ident::take(record)));
        }
    }
}
