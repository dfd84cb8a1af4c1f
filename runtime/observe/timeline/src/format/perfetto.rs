//! Perfetto's protobuf: a track for each rank with a slice for each call, flows for messages, counters.
//!
//! The declarations are the part of `protos/perfetto/trace/trace_packet.proto`, `track_event/*.proto` and
//! `interned_data.proto` of Perfetto 59 that is used. Names are sent once and then meant by number. Times are
//! nanoseconds, rounded down, which keeps the order of events.

use super::{Counter, Output, TimelineEvent, TimelineHeader};
use crate::record::CallRecord;
use prost::Message as _;
use std::io::{self, Write};

#[derive(Clone, PartialEq, prost::Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(uint32, tag = "13")]
    sequence_flags: u32,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TrackEvent {
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    category_iids: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, tag = "9")]
    kind: i32,
    #[prost(uint64, optional, tag = "10")]
    name_iid: Option<u64>,
    #[prost(uint64, tag = "11")]
    track_uuid: u64,
    #[prost(int64, optional, tag = "30")]
    counter_value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

/// `TrackEvent.Type`.
mod kind {
    pub const SLICE_BEGIN: i32 = 1;
    pub const SLICE_END: i32 = 2;
    pub const INSTANT: i32 = 3;
    pub const COUNTER: i32 = 4;
}

#[derive(Clone, PartialEq, prost::Message)]
struct DebugAnnotation {
    #[prost(uint64, tag = "1")]
    name_iid: u64,
    #[prost(bool, optional, tag = "2")]
    bool_value: Option<bool>,
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
    #[prost(int64, optional, tag = "4")]
    int_value: Option<i64>,
    #[prost(uint64, optional, tag = "17")]
    string_value_iid: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct InternedData {
    #[prost(message, repeated, tag = "1")]
    event_categories: Vec<InternedName>,
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "3")]
    debug_annotation_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "29")]
    debug_annotation_string_values: Vec<InternedName>,
}

/// `EventCategory`, `EventName`, `DebugAnnotationName`, `InternedString`: alike on the wire.
#[derive(Clone, PartialEq, prost::Message)]
struct InternedName {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    sibling_order_rank: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct CounterDescriptor {
    #[prost(string, tag = "6")]
    unit_name: String,
}

/// `TracePacket.SequenceFlags`.
const INCREMENTAL_STATE_CLEARED: u32 = 1;
const NEEDS_INCREMENTAL_STATE: u32 = 2;
/// `TrackDescriptor.ChildTracksOrdering`.
const EXPLICIT: i32 = 3;
const SEQUENCE: u32 = 1;
/// The track that those of ranks are in; counters follow, then ranks.
const RANKS: u64 = 1;
const CATEGORY: u64 = 1;
const OF_REGIONS: u64 = 2;
/// Names of annotations, by their numbers from 1.
const ANNOTATIONS: [&str; 7] = ["site", "bytes", "wait_ps", "unfinished", "to", "tag", "from"];
const SITE: u64 = 1;
const BYTES: u64 = 2;
const WAIT: u64 = 3;
const UNFINISHED: u64 = 4;
const TO: u64 = 5;
const TAG: u64 = 6;
const FROM: u64 = 7;

fn of_counter(counter: Counter) -> u64 {
    RANKS + 1 + counter as u64
}

fn of_rank(rank: u32) -> u64 {
    RANKS + 1 + Counter::ALL.len() as u64 + u64::from(rank)
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<InternedName> {
    (1..).zip(names).map(|(iid, name)| InternedName { iid, name: name.to_owned() }).collect()
}

fn number(name_iid: u64, value: u64) -> DebugAnnotation {
    DebugAnnotation { name_iid, uint_value: Some(value), ..DebugAnnotation::default() }
}

pub struct Perfetto<W> {
    out: W,
    bytes: Vec<u8>,
    /// The names of what is sent and received, behind those of functions; those of regions follow.
    send: u64,
}

impl<W: Write> Perfetto<W> {
    /// Writes tracks and names.
    pub fn begin(out: W, head: &TimelineHeader) -> io::Result<Perfetto<W>> {
        let functions = head
            .functions
            .iter()
            .map(String::as_str)
            .chain(["send", "receive"])
            .chain(head.regions.iter().map(String::as_str));
        let mut perfetto = Perfetto { out, bytes: Vec::new(), send: head.functions.len() as u64 + 1 };
        perfetto.packet(&TracePacket {
            interned_data: Some(InternedData {
                event_categories: names(["MPI", "region"]),
                event_names: names(functions),
                debug_annotation_names: names(ANNOTATIONS),
                debug_annotation_string_values: names(head.sites.iter().map(String::as_str)),
            }),
            trusted_packet_sequence_id: SEQUENCE,
            sequence_flags: INCREMENTAL_STATE_CLEARED | NEEDS_INCREMENTAL_STATE,
            ..TracePacket::default()
        })?;
        let ordering = Some(EXPLICIT);
        perfetto.track(TrackDescriptor {
            uuid: RANKS,
            name: "ranks".to_owned(),
            child_ordering: ordering,
            ..TrackDescriptor::default()
        })?;
        for counter in Counter::ALL {
            let (uuid, name) = (of_counter(counter), counter.name().to_owned());
            let counter =
                Some(CounterDescriptor { unit_name: name.split(' ').next().unwrap_or_default().to_owned() });
            perfetto.track(TrackDescriptor { uuid, name, counter, ..TrackDescriptor::default() })?;
        }
        for &rank in &head.ranks {
            let (parent_uuid, sibling_order_rank) = (Some(RANKS), Some(rank as i32));
            let name = format!("rank {rank}");
            perfetto.track(TrackDescriptor {
                uuid: of_rank(rank),
                name,
                parent_uuid,
                sibling_order_rank,
                ..TrackDescriptor::default()
            })?;
        }
        Ok(perfetto)
    }

    fn packet(&mut self, packet: &TracePacket) -> io::Result<()> {
        // `Trace.packet`: field 1, with its length before it.
        const KEY: u8 = 1 << 3 | 2;
        self.bytes.clear();
        self.bytes.push(KEY);
        packet.encode_length_delimited(&mut self.bytes).map_err(io::Error::other)?;
        self.out.write_all(&self.bytes)
    }

    fn track(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.packet(&TracePacket {
            trusted_packet_sequence_id: SEQUENCE,
            track_descriptor: Some(track),
            ..TracePacket::default()
        })
    }

    fn happens(&mut self, at: u64, event: TrackEvent) -> io::Result<()> {
        self.packet(&TracePacket {
            timestamp: Some(at / 1000),
            trusted_packet_sequence_id: SEQUENCE,
            track_event: Some(event),
            sequence_flags: NEEDS_INCREMENTAL_STATE,
            ..TracePacket::default()
        })
    }
}

fn annotations(call: &CallRecord) -> Vec<DebugAnnotation> {
    let mut all = Vec::with_capacity(3);
    all.push(DebugAnnotation {
        name_iid: SITE,
        string_value_iid: Some(u64::from(call.site) + 1),
        ..DebugAnnotation::default()
    });
    if call.bytes > 0 {
        all.push(number(BYTES, call.bytes));
    }
    if call.wait > 0 {
        all.push(number(WAIT, call.wait));
    }
    if !call.returned {
        all.push(DebugAnnotation {
            name_iid: UNFINISHED,
            bool_value: Some(true),
            ..DebugAnnotation::default()
        });
    }
    all
}

impl<W: Write> Output for Perfetto<W> {
    fn event(&mut self, event: &TimelineEvent) -> io::Result<()> {
        let of = |kind: i32, track_uuid: u64| TrackEvent { kind, track_uuid, ..TrackEvent::default() };
        match *event {
            TimelineEvent::Entered { rank, at, call } => {
                let (name_iid, category_iids) = (Some(u64::from(call.function) + 1), vec![CATEGORY]);
                let debug_annotations = annotations(&call);
                self.happens(
                    at,
                    TrackEvent {
                        name_iid,
                        category_iids,
                        debug_annotations,
                        ..of(kind::SLICE_BEGIN, of_rank(rank))
                    },
                )
            }
            TimelineEvent::Began { rank, at, region } => {
                let (name_iid, category_iids) = (Some(self.send + 2 + u64::from(region)), vec![OF_REGIONS]);
                self.happens(
                    at,
                    TrackEvent { name_iid, category_iids, ..of(kind::SLICE_BEGIN, of_rank(rank)) },
                )
            }
            TimelineEvent::Ended { rank, at, .. } => self.happens(at, of(kind::SLICE_END, of_rank(rank))),
            TimelineEvent::Left { rank, at, .. } => self.happens(at, of(kind::SLICE_END, of_rank(rank))),
            TimelineEvent::Sent { rank, at, message } => {
                let tag = DebugAnnotation {
                    name_iid: TAG,
                    int_value: Some(message.tag.into()),
                    ..DebugAnnotation::default()
                };
                let debug_annotations =
                    vec![number(TO, message.to.into()), tag, number(BYTES, message.bytes)];
                let (name_iid, flow_ids) = (Some(self.send), vec![message.id]);
                self.happens(
                    at,
                    TrackEvent { name_iid, flow_ids, debug_annotations, ..of(kind::INSTANT, of_rank(rank)) },
                )
            }
            TimelineEvent::Received { rank, at, id, from } => {
                let (name_iid, terminating_flow_ids) = (Some(self.send + 1), vec![id]);
                let debug_annotations = vec![number(FROM, from.into())];
                self.happens(
                    at,
                    TrackEvent {
                        name_iid,
                        terminating_flow_ids,
                        debug_annotations,
                        ..of(kind::INSTANT, of_rank(rank))
                    },
                )
            }
            TimelineEvent::Counted { counter, at, value } => self.happens(
                at,
                TrackEvent { counter_value: Some(value), ..of(kind::COUNTER, of_counter(counter)) },
            ),
            TimelineEvent::Waits { .. }
            | TimelineEvent::Waited { .. }
            | TimelineEvent::Computes { .. }
            | TimelineEvent::Computed { .. } => Ok(()),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
