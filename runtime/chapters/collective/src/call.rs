//! The collective calls of MPI 5.0 chapter 6: from a program's buffers to blocks, and back.

pub(crate) mod agreement;
pub(crate) mod lengths;
pub(crate) mod moving;
pub(crate) mod neighbor;
pub(crate) mod reducing;

use crate::arguments::{Beside, CallArguments};
use crate::delivery::Delivery;
use crate::entrance::{EnteredCall, Entrance};
use crate::entry::Entry;
use crate::membership::InstanceScope;
use crate::reduction::Operands;
use objects::error::Result;
use p2p::handle;
use p2p::view::BufferView;
use schedule::{Blocks, Member, NOBODY};
use std::rc::Rc;

impl Entrance<'_> {
    /// Enters the mounted rank: it gathers, or is an agent.
    // Agents take every call there is; gathering is an offer before it, which may decline at no cost.
    fn make(&mut self, call: &mut CallArguments) -> Result<EnteredCall> {
        let Some((index, member, request)) =
            self.collectives.enter_gathering(self.messages, self.objects, call)?
        else {
            return self.make_agent(call);
        };
        let (request, target) = (request.map(handle::of_cold), call.receive.take_target());
        Ok(self.collectives.entered(self.messages, self.objects, index, member, request, target))
    }

    /// Enters the mounted rank as an agent: with all that is given packed, and all that is received kept
    /// until it is delivered.
    #[cold]
    #[inline(never)]
    fn make_agent(&mut self, call: &mut CallArguments) -> Result<EnteredCall> {
        let entry = self.entry_of(call)?;
        self.enter(entry)
    }

    /// Enters the mounted rank as an agent.
    fn enter(&mut self, entry: Entry) -> Result<EnteredCall> {
        let (instance, member, request) =
            self.collectives.enter_collective(self.messages, self.objects, entry)?;
        Ok(self.collectives.entered(
            self.messages,
            self.objects,
            instance,
            member,
            request.map(handle::of_cold),
            BufferView::none(),
        ))
    }

    fn entry_of(&self, call: &mut CallArguments) -> Result<Entry> {
        let (messages, objects, place) = (&*self.messages, &*self.objects, call.place);
        let operands = match call.operands(messages, objects) {
            // Operation and datatype of one that takes no part have no meaning.
            Err(_) if place.is_outside => None,
            operands => operands?,
        };
        let shape = call.shape(messages, objects, operands.as_ref().map(Operands::properties));
        let reduction = match operands.map(|operands| operands.reduction(messages, objects)).transpose() {
            Err(_) if place.is_outside => None,
            reduction => reduction?,
        };
        let signature = call.signature(messages);
        let (mut input, mut send) = (Vec::with_capacity(call.send.bytes() as usize), call.send.blocks());
        call.send.append_to(&mut input);
        let (mut sources, mut destinations) = <(Rc<[u32]>, Rc<[u32]>)>::default();
        if let Beside::Neighbors { topology, each } = &call.beside {
            (sources, destinations, _) = topology.neighbors(place.rank);
            if !each {
                // Every neighbour gets the same block: the schedule sees one block a neighbour.
                (input, send) = (input.repeat(destinations.len()), Blocks::Uniform(call.send.bytes()));
            }
        }
        let delivery = match call.halved {
            true => Delivery::None,
            // Beyond the edge of a grid there is nobody, and the block of nobody keeps what it had (MPI 5.0
            // section 8.6).
            false if sources.contains(&NOBODY) => Delivery::From(call.receive.views(), sources.clone()),
            false => Delivery::To(call.receive.views()),
        };
        let receive = call.receive.blocks();
        Ok(Entry {
            signature,
            place: InstanceScope::Comm(place.comm),
            root_known: !place.is_outside,
            shape,
            input,
            member: Member { rank: place.member, send, receive, sources, destinations },
            output_bytes: call.receive.bytes(),
            reduction,
            delivery,
            agreement: call.beside.take_agreement(),
            blocking: call.brief.blocking,
        })
    }
}
