//! The options that every packet network understands.

use super::parameters::KeyedValues;
use crate::bandwidth::Bandwidth;
use crate::by_size::BySize;
use crate::packet::fabric::{Classes, Switching, Worm};
use crate::packet::flow::{FlowOptions, SizeFactors};
use crate::rails::RailSettings;
use crate::spec::{MAX_INTERFACES, Rail, did_you_mean, nearest};
use crate::topology::{LinkKind, Wrong};
use engine::Span;

/// Parameters that every topology accepts.
#[derive(Clone)]
pub(super) struct TopologyParameters {
    pub(super) latency: Span,
    pub(super) bandwidth: Bandwidth,
    pub(super) interface: Option<Bandwidth>,
    pub(super) ejection: Option<Bandwidth>,
    pub(super) lanes: Option<u32>,
    pub(super) routing: Option<String>,
    /// Bytes in favour of the minimal path, of the routings that choose between it and a detour.
    pub(super) bias: u64,
    pub(super) failures: Option<String>,
    /// The MPI library's own time for messages that pass the network.
    pub(super) delay: BySize,
    /// The time for which the MPI library of either end is busy with such a message.
    pub(super) service: BySize,
    /// `Some(true)` if interfaces serve flows in turn, `None` if the specification leaves it open.
    pub(super) round_robin: Option<bool>,
    pub(super) switching: Switching,
    /// The rules of flows, at their level.
    pub(super) flow: Option<FlowOptions>,
    /// The interfaces of nodes, if they have several.
    pub(super) rails: Option<RailSettings>,
}

/// Bytes from which on a message is a flow, unless given: the packet level's messages of one packet stay
/// below.
pub(crate) const FLOW_MIN: u32 = 4096;

/// Nodes that are wired together at most.
const MAX_WIRED_NODES: u32 = 1 << 20;

/// The common keys that mean something at the flow level, and those of topologies that do not.
const KEYS_OF_FLOWS: [&str; 20] = [
    "l",
    "b",
    "router",
    "nic",
    "ejection",
    "routing",
    "failures",
    "delay",
    "o",
    "level",
    "flowmin",
    "window",
    "share",
    "core",
    "crosstraffic",
    "bfactor",
    "lfactor",
    "nics",
    "rail",
    "wired",
];
/// Keys that mean nothing to packets.
const KEYS_OF_FLOWS_ALONE: [&str; 7] =
    ["flowmin", "window", "share", "core", "crosstraffic", "bfactor", "lfactor"];

/// Keys that every topology understands, with what they mean.
pub const COMMON_KEYS: [(&str, &str); 37] = [
    ("l", "latency of a link (0ns)"),
    ("b", "bandwidth of a link (100Gbps)"),
    ("router", "time between a packet's arrival at a router and its routing (90ns)"),
    ("nic", "bandwidth of the link from an endpoint into the network (as the network's)"),
    (
        "nicq",
        "rr: an interface serves its pairs of source and destination in turn, a packet each (MPI programs' \
         default); fifo: whole messages in their order (synthetic traffic's)",
    ),
    ("ejection", "bandwidth of the link from the network to an endpoint (as the network's)"),
    ("vcs", "virtual channels of a link (as many as the routing needs)"),
    ("buf", "input buffer of each virtual channel (64KiB)"),
    ("packet", "most payload of a packet (4KiB)"),
    ("header", "bytes each packet has beside its payload (0)"),
    ("chunk", "bytes that cut-through waits for; a flit of wormhole switching (64)"),
    (
        "switching",
        "saf (store-and-forward, the default), cut (virtual cut-through) or wormhole (flit by flit)",
    ),
    ("credit", "time a credit takes back (the link's latency)"),
    ("outq", "bytes an output takes ahead in order of arrival; beyond them inputs take turns (one packet)"),
    ("crossbar", "yes: an input sends to one output at a time; islip: the same, matched once a cycle (no)"),
    (
        "cycle",
        "with crossbar=islip, time between two matchings (what a whole packet takes on a link); with \
         switching=wormhole, a router's clock (what a flit takes)",
    ),
    ("speedup", "with switching=wormhole, steps of a router in a cycle (1)"),
    (
        "queue",
        "voq (an input has a queue for each output, the default) or fifo (one for each virtual channel, and \
         crossbar=yes at least)",
    ),
    (
        "turnaround",
        "with queue=fifo or switching=wormhole, time from a packet's leaving until the next of its virtual \
         channel asks for an output (0ns)",
    ),
    ("classes", "traffic classes, a lower number first (1)"),
    ("weights", "traffic classes by weight instead, such as 4:2:1"),
    ("routing", "the routing algorithm (the topology's first)"),
    ("bias", "bytes that ugal-l, ugal-g and par count in favour of the minimal path (30 chunks)"),
    ("failures", "file of failed links, routers and endpoints"),
    ("delay", "under MPI, time of the MPI library by size, beside the network's: 0.2us;64KiB:3us@10GB/s (0)"),
    ("o", "under MPI, time by size for which the MPI library of either end is busy with a message (0)"),
    ("level", "packet (messages are cut into packets) or flow (messages share links max-min fair)"),
    (
        "flowmin",
        "with level=flow, bytes from which on a message is a flow; shorter ones wait in interfaces alone \
         (4KiB)",
    ),
    ("window", "with level=flow, bytes of a flow under way: it gets this a round trip at most (no bound)"),
    ("share", "with level=flow, even: flows share links evenly; latency: in inverse proportion to it (even)"),
    (
        "crosstraffic",
        "with level=flow, on: acknowledgements take a twentieth of a flow on its way back (off)",
    ),
    ("core", "with level=flow, shared; fatpipe: each flow has all of the links between routers (shared)"),
    ("bfactor", "with level=flow, the part of the bandwidth that a message has, by size: 0.9;64KiB:1 (1)"),
    ("lfactor", "with level=flow, factor of the latency by size of a message: 2;64KiB:1 (1)"),
    ("nics", "under MPI, interfaces of a node, each an endpoint of the network (1)"),
    ("rail", "with nics, the interface of a message: rank, socket, peer or stripe (rank)"),
    (
        "wired",
        "with nics, nodes in a row whose first interfaces are endpoints in a row, then their second ones (1)",
    ),
];

/// Reads their values; `default_routing` is that of networks that name none. The error names the key that is
/// wrong.
pub(super) fn common(parameters: &KeyedValues, default_routing: &str) -> Result<TopologyParameters, Wrong> {
    let flow = flow_options(parameters)?;
    let bandwidth = parameters.bandwidth("b")?.unwrap_or(Bandwidth::from_gbps(100));
    let lanes = parameters.number("vcs")?;
    if let Some(lanes @ (0 | 129..)) = lanes {
        return Err(parameters.wrong("vcs", format!("vcs={lanes} is not between 1 and 128")));
    }
    Ok(TopologyParameters {
        latency: parameters.span("l")?.unwrap_or(Span::ZERO),
        bandwidth,
        interface: parameters.bandwidth("nic")?,
        ejection: parameters.bandwidth("ejection")?,
        bias: bias(parameters, default_routing)?,
        lanes,
        routing: parameters.text("routing").map(str::to_owned),
        failures: parameters.text("failures").map(str::to_owned),
        delay: by_size(parameters, "delay")?,
        service: by_size(parameters, "o")?,
        round_robin: interface_queue(parameters)?,
        switching: switching(parameters, bandwidth)?,
        flow,
        rails: rails(parameters)?,
    })
}

/// Returns the interfaces of nodes, if `nics` is given.
fn rails(parameters: &KeyedValues) -> Result<Option<RailSettings>, Wrong> {
    let Some(count) = parameters.number("nics")? else {
        return match ["rail", "wired"].into_iter().find(|key| parameters.text(key).is_some()) {
            None => Ok(None),
            Some(key) => {
                Err(parameters.wrong(key, format!("{key}=... needs several interfaces a node; add nics=2")))
            }
        };
    };
    if !(1..=MAX_INTERFACES).contains(&count) {
        let why = format!("nics={count} is not a number from 1 to {MAX_INTERFACES}");
        return Err(parameters.wrong("nics", why));
    }
    let rail = parameters.text("rail").map_or(Ok(Rail::default()), Rail::parse);
    let rail = rail.map_err(|why| parameters.wrong("rail", why))?;
    let wired = parameters.positive("wired", 1)?;
    if wired > MAX_WIRED_NODES {
        let why = format!("wired={wired} is not a number of nodes from 1 to {MAX_WIRED_NODES}");
        return Err(parameters.wrong("wired", why));
    }
    Ok(Some(RailSettings { count, rail, wired }))
}

fn by_size(parameters: &KeyedValues, key: &'static str) -> Result<BySize, Wrong> {
    let given = parameters.text(key).map_or(Ok(BySize::default()), str::parse);
    given.map_err(|why| parameters.wrong(key, why))
}

/// Returns the rules of flows, if the level is theirs.
fn flow_options(parameters: &KeyedValues) -> Result<Option<FlowOptions>, Wrong> {
    match parameters.text("level") {
        None | Some("packet") => {
            match KEYS_OF_FLOWS_ALONE.into_iter().find(|key| parameters.text(key).is_some()) {
                None => Ok(None),
                Some(key) => {
                    let why = format!("{key}=... needs level=flow; packets have no flows");
                    Err(parameters.wrong(key, why))
                }
            }
        }
        Some("flow") => {
            let of_packets =
                COMMON_KEYS.iter().map(|(key, _)| *key).filter(|key| !KEYS_OF_FLOWS.contains(key));
            if let Some(key) = of_packets.into_iter().find(|key| parameters.text(key).is_some()) {
                return Err(parameters.wrong(key, no_flow_has(key)));
            }
            flow_rules(parameters).map(Some)
        }
        Some(other) => {
            let meant = nearest(other, ["packet", "flow"]).unwrap_or("packet");
            let why = format!("level={other} is neither packet nor flow; did you mean 'level={meant}'?");
            Err(parameters.wrong("level", why))
        }
    }
}

/// Returns the sentence on a key that networks of flows do not have.
pub(super) fn no_flow_has(key: &str) -> String {
    format!(
        "{key}=... is for packets; level=flow has neither packets nor buffers, so leave {key}= out or take \
         level=packet"
    )
}

/// Reads the rules of flows.
fn flow_rules(parameters: &KeyedValues) -> Result<FlowOptions, Wrong> {
    let is_second = |key: &'static str, first: &str, second: &str| match parameters.text(key) {
        None => Ok(false),
        Some(text) if text == first => Ok(false),
        Some(text) if text == second => Ok(true),
        Some(other) => {
            let meant = did_you_mean(other, [first, second]);
            let why = format!("{key}={other} is neither {first} nor {second}{meant}");
            Err(parameters.wrong(key, why))
        }
    };
    let factors = |key: &'static str| {
        let given = parameters.text(key).map_or(Ok(SizeFactors::default()), str::parse);
        given.map_err(|why| parameters.wrong(key, format!("{key}: {why}")))
    };
    let window = match parameters.text("window") {
        None => None,
        Some(_) => Some(parameters.bytes("window", 0, 1)?.into()),
    };
    Ok(FlowOptions {
        min: parameters.bytes("flowmin", FLOW_MIN, 0)?.into(),
        window,
        by_latency: is_second("share", "even", "latency")?,
        fat_core: is_second("core", "shared", "fatpipe")?,
        cross_traffic: is_second("crosstraffic", "off", "on")?,
        bandwidth: factors("bfactor")?,
        latency: factors("lfactor")?,
    })
}

/// Returns `Some(true)` if interfaces serve flows in turn, `None` if `nicq` is not given.
fn interface_queue(parameters: &KeyedValues) -> Result<Option<bool>, Wrong> {
    match parameters.text("nicq") {
        None => Ok(None),
        Some("rr") => Ok(Some(true)),
        Some("fifo") => Ok(Some(false)),
        Some(other) => {
            let why = format!(
                "nicq={other} is neither rr (a packet of each pair in turn) nor fifo (whole messages in \
                 their order)"
            );
            Err(parameters.wrong("nicq", why))
        }
    }
}

fn classes(parameters: &KeyedValues) -> Result<Classes, Wrong> {
    match (parameters.text("weights"), parameters.number("classes")?) {
        (Some(_), Some(_)) => {
            Err(parameters.wrong("classes", "'classes' and 'weights' exclude each other; give one of them"))
        }
        (Some(weights), None) => {
            Ok(Classes::Weighted(weight_list(weights).map_err(|why| parameters.wrong("weights", why))?))
        }
        (None, Some(count)) if (1..=8).contains(&count) => Ok(Classes::Strict(count as u8)),
        (None, Some(count)) => {
            Err(parameters.wrong("classes", format!("classes={count} is not between 1 and 8")))
        }
        (None, None) => Ok(Classes::Strict(1)),
    }
}

/// Returns how routers switch, but for what depends on the topology and its routing.
fn switching(parameters: &KeyedValues, bandwidth: Bandwidth) -> Result<Switching, Wrong> {
    let (store_and_forward, by_flits) = match parameters.text("switching") {
        None | Some("saf") => (true, false),
        Some("cut") => (false, false),
        Some("wormhole") => (false, true),
        Some(other) => {
            let why = format!(
                "switching={other} is neither saf (store-and-forward) nor cut (cut-through) nor wormhole"
            );
            return Err(parameters.wrong("switching", why));
        }
    };
    let payload = parameters.bytes("packet", 4096, 1)?;
    let mut switching = Switching {
        store_and_forward,
        chunk: parameters.bytes("chunk", 64, 1)?,
        payload,
        header: parameters.bytes("header", 0, 0)?,
        lanes: 1,
        buffer: parameters.bytes("buf", 65536, 1)?,
        slotted: false,
        router: parameters.span("router")?.unwrap_or(Span::from_ns(90)).as_ps(),
        credit: parameters.span("credit")?.map(Span::as_ps),
        output: parameters.bytes("outq", payload, 0)?,
        crossbar: false,
        fifo: None,
        cycle: None,
        wormhole: None,
        classes: classes(parameters)?,
        round_robin: false,
    };
    // The event of a credit has 24 bits for its bytes, beside the virtual channel.
    if u64::from(switching.payload) + u64::from(switching.header) >= 1 << 24 {
        return Err(parameters
            .wrong("packet", "a packet with its header must stay below 16 MiB; lower packet= or header="));
    }
    let cycle = parameters.span("cycle")?;
    if cycle == Some(Span::ZERO) {
        return Err(parameters.wrong("cycle", "cycle=0 leaves no time between two matchings"));
    }
    let matched = inputs(parameters, &mut switching, by_flits)?;
    if cycle.is_some() && !matched && !by_flits {
        return Err(parameters.wrong("cycle", "cycle=... needs crossbar=islip or switching=wormhole"));
    }
    if by_flits {
        switching.wormhole = Some(worm(parameters, &switching, bandwidth)?);
    } else if parameters.text("speedup").is_some() {
        return Err(parameters.wrong("speedup", "speedup=... needs switching=wormhole"));
    }
    if matched {
        let whole = || LinkKind::new("", Span::ZERO, bandwidth).time(switching.packet());
        switching.cycle = Some(cycle.map_or_else(whole, Span::as_ps));
    }
    Ok(switching)
}

/// Returns what inputs do: their queues, and how many outputs they send to at a time. Whether they are
/// matched with outputs.
fn inputs(parameters: &KeyedValues, switching: &mut Switching, by_flits: bool) -> Result<bool, Wrong> {
    let (crossbar, matched) = match parameters.text("crossbar") {
        None | Some("no") => (false, false),
        Some("yes") => (true, false),
        Some("islip") => (true, true),
        Some(other) => {
            return Err(
                parameters.wrong("crossbar", format!("crossbar={other} is none of no, yes and islip"))
            );
        }
    };
    if matched && switching.classes.count() > 1 {
        return Err(parameters
            .wrong("crossbar", "crossbar=islip knows no traffic classes; leave classes and weights out"));
    }
    let turnaround = parameters.span("turnaround")?;
    switching.fifo = match parameters.text("queue") {
        None | Some("voq") if turnaround.is_none() || by_flits => None,
        None | Some("voq") => {
            return Err(
                parameters.wrong("turnaround", "turnaround=... needs queue=fifo or switching=wormhole")
            );
        }
        Some("fifo") => Some(turnaround.unwrap_or(Span::ZERO).as_ps()),
        Some(other) => {
            let why = format!(
                "queue={other} is neither voq (a queue for each output) nor fifo (one for each virtual \
                 channel)"
            );
            return Err(parameters.wrong("queue", why));
        }
    };
    if switching.fifo.is_some() && parameters.text("crossbar") == Some("no") {
        return Err(parameters.wrong(
            "crossbar",
            "queue=fifo sends from an input to one output at a time; leave crossbar=no out",
        ));
    }
    switching.crossbar = crossbar || switching.fifo.is_some();
    Ok(matched)
}

/// Wormhole switching's own keys.
fn worm(parameters: &KeyedValues, switching: &Switching, bandwidth: Bandwidth) -> Result<Worm, Wrong> {
    if let Some(key) = ["queue", "crossbar"].into_iter().find(|key| parameters.text(key).is_some()) {
        let why = format!(
            "{key}=... has no effect with switching=wormhole, whose routers have queues and a crossbar of \
             their own; leave it out"
        );
        return Err(parameters.wrong(key, why));
    }
    if switching.classes.count() > 1 {
        return Err(parameters.wrong(
            "switching",
            "switching=wormhole knows no traffic classes; leave classes and weights out",
        ));
    }
    let flit = switching.chunk.min(switching.packet());
    let cycle = parameters
        .span("cycle")?
        .map_or_else(|| LinkKind::new("", Span::ZERO, bandwidth).time(flit), Span::as_ps);
    let speedup = parameters.text("speedup").unwrap_or("1");
    let times = speedup.parse::<f64>().ok().filter(|times| (1.0..=64.0).contains(times));
    let times = times.ok_or_else(|| {
        parameters.wrong("speedup", format!("speedup={speedup} is not a number from 1 to 64"))
    })?;
    let step = ((cycle as f64 / times) as u64).max(1);
    Ok(Worm { flit, step, turnaround: parameters.span("turnaround")?.unwrap_or(Span::ZERO).as_ps() })
}

/// BookSim2's `adaptive_threshold` of 30 flits is the default, a flit being what cut-through waits for.
fn bias(parameters: &KeyedValues, default_routing: &str) -> Result<u64, Wrong> {
    let chunk = parameters.bytes("chunk", 64, 1)?;
    let routing = parameters.text("routing").unwrap_or(default_routing);
    if parameters.text("bias").is_some() && !matches!(routing, "ugal-l" | "ugal-g" | "par") {
        let why = "bias=... is for routings that choose between the minimal path and a detour; add \
            routing=ugal-l, ugal-g or par";
        return Err(parameters.wrong("bias", why));
    }
    parameters
        .bytes("bias", 0, 0)
        .map(|bytes| if parameters.text("bias").is_some() { u64::from(bytes) } else { 30 * u64::from(chunk) })
}

fn weight_list(text: &str) -> Result<Vec<u32>, String> {
    let error = || format!("weights={text} is not a list of 1 to 8 weights from 1 to 1000, such as 4:2:1");
    let weights: Vec<u32> =
        text.split(':').map(|w| w.parse().map_err(|_| error())).collect::<Result<_, _>>()?;
    if weights.len() > 8 || weights.iter().any(|&w| w == 0 || w > 1000) { Err(error()) } else { Ok(weights) }
}
