//! Messages that lie at ranks without a receive that takes them: what sends wait for, and what a receive
//! missed.

use crate::node::flag;
use crate::remote::record::{Put, Take};
use crate::request::Body;
use crate::world::World;
use p2p::envelope::{Envelope, Pattern};

/// The most tags or ranks that a sentence names.
const MAX_NAMED: usize = 3;

/// A message whose sender waits for its receive.
pub(super) struct OpenSend {
    /// The sender's world rank.
    from: u32,
    /// The sender's request, by its number in the sender's process.
    request: u32,
    /// The receiver's world rank.
    pub(super) to: u32,
    tag: i32,
    is_above_eager_limit: bool,
}

impl OpenSend {
    /// Returns the sender and its request, which name the send among those of all processes.
    pub(super) fn key(&self) -> (u32, u32) {
        (self.from, self.request)
    }

    /// Returns what the send is, without its destination.
    pub(super) fn text(&self) -> String {
        let kind = if self.is_above_eager_limit {
            "a standard send above the eager limit"
        } else {
            "a synchronous send"
        };
        format!("tag={}; {kind} that no rank receives", self.tag)
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.u32(self.from);
        out.u32(self.request);
        out.u32(self.to);
        out.i32(self.tag);
        out.u8(self.is_above_eager_limit.into());
    }

    /// Reads what [`put`](Self::put) wrote.
    pub(super) fn take(from: &mut Take) -> OpenSend {
        let (sender, request, to, tag) = (from.u32(), from.u32(), from.u32(), from.i32());
        OpenSend { from: sender, request, to, tag, is_above_eager_limit: from.u8() != 0 }
    }
}

/// Returns the messages at ranks of this process whose senders wait for their receives; O(messages that lie
/// there).
pub(super) fn open_sends(world: &World) -> Vec<OpenSend> {
    let messages = &world.messages;
    let lying = messages.ranks().own_started().flat_map(|rank| {
        messages.matcher().messages(&messages.ranks()[rank].pending).map(move |at| (rank, at))
    });
    let open = lying.filter_map(|(to, message)| {
        let node = &messages.matcher()[message];
        if !node.has(flag::SYNCHRONOUS | flag::RENDEZVOUS) {
            return None;
        }
        let (request, tag, is_above_eager_limit) =
            (node.data[1] as u32, node.tag, node.has(flag::RENDEZVOUS));
        let sender = messages.requests().get(request)?;
        // Of a send of another process a stand-in of its request is here.
        let request = if let Body::Away { request, .. } = sender.body { request } else { request };
        Some(OpenSend { from: sender.owner, request, to, tag, is_above_eager_limit })
    });
    open.collect()
}

/// Returns the world rank behind a rank of the communicator of `rank` with this context.
pub(super) fn world_rank(world: &World, rank: u32, context: u32, peer: u32) -> u32 {
    let comm = world.objects.comms.by_context(context, rank);
    comm.map_or(peer, |comm| comm.peer(peer as i32, rank, "source").unwrap_or(peer))
}

/// Returns a sentence about messages that lie at a rank and miss a pattern by one part of it: by their tag,
/// else by their communicator, else by their source. Returns `None` if there are none.
pub(super) fn instead(world: &World, rank: u32, pattern: &Pattern) -> Option<String> {
    let messages = &world.messages;
    let lying: Vec<Envelope> = messages
        .matcher()
        .unreceived(&messages.ranks()[rank].pending)
        .map(|(envelope, _)| envelope)
        .collect();
    let source = |envelope: &Envelope| world_rank(world, rank, envelope.context, envelope.source);
    let has_tag = |envelope: &&Envelope| pattern.tag.is_none_or(|tag| tag == envelope.tag);
    let has_source = |envelope: &&Envelope| pattern.source.is_none_or(|wanted| wanted == envelope.source);
    let here = || lying.iter().filter(|envelope| envelope.context == pattern.context);

    let by_tag: Vec<&Envelope> = here().filter(has_source).collect();
    if !by_tag.is_empty() {
        return Some(match pattern.source {
            Some(_) => {
                sentence("of that source with tag", by_tag.iter().map(|envelope| i64::from(envelope.tag)))
            }
            None => {
                let first = by_tag[0];
                let of_first = by_tag.iter().filter(|envelope| envelope.source == first.source);
                sentence(
                    &format!("of rank {} with tag", source(first)),
                    of_first.map(|envelope| i64::from(envelope.tag)),
                )
            }
        });
    }
    let wanted = pattern.source.map(|wanted| world_rank(world, rank, pattern.context, wanted));
    let is_of_program =
        |envelope: &&Envelope| world.objects.comms.by_context(envelope.context, rank).is_some();
    let elsewhere = lying
        .iter()
        .filter(|envelope| envelope.context != pattern.context)
        .filter(has_tag)
        .filter(is_of_program);
    if elsewhere.into_iter().any(|envelope| wanted.is_none_or(|wanted| wanted == source(envelope))) {
        return Some("a message that fits lies there unmatched, in another communicator".to_owned());
    }
    let by_source: Vec<&Envelope> = here().filter(has_tag).collect();
    (!by_source.is_empty())
        .then(|| sentence("with that tag of rank", by_source.iter().map(|envelope| source(envelope).into())))
}

/// Returns "a message of that source with tag 7 lies there unmatched", with each value once.
fn sentence(what: &str, values: impl Iterator<Item = i64>) -> String {
    let mut distinct: Vec<i64> = values.collect();
    distinct.sort_unstable();
    distinct.dedup();
    if let [value] = distinct[..] {
        return format!("a message {what} {value} lies there unmatched");
    }
    let named: Vec<String> = distinct.iter().take(MAX_NAMED).map(i64::to_string).collect();
    let more = match distinct.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("messages {what}s {}{more} lie there unmatched", named.join(", "))
}
