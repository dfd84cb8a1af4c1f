//! Processor time for each start or end of a flow: `cargo run --release -p xsim-bench-flow -- [NAME ...]`.
//!
//! Hosts of a full fat tree send messages in steps: a host begins its next step up to a microsecond after
//! the last message of its step before has arrived. Each case runs three times, large ones once, and the
//! best counts.

use engine::{Random, Time};
use network::{Delivered, Endpoint, Machine, Message, Network};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::process::ExitCode;

/// To whom a host sends in a step.
#[derive(Clone, Copy)]
enum StepPattern {
    /// To the host that is one more away in each step.
    Pairwise,
    /// To so many hosts at random.
    Random(u32),
    /// To the six neighbours in a cube.
    Halo,
    /// To host 0.
    Incast,
}

struct FlowCase {
    name: &'static str,
    network: &'static str,
    pattern: StepPattern,
    steps: u32,
    bytes: u64,
    /// `true` if sizes are up to twice the bytes.
    varies: bool,
    /// Microseconds an event to reach.
    target: f64,
    runs: u32,
}

/// The cost of a run.
struct Measured {
    seconds: f64,
    events: u64,
    most_flows: u64,
    end: Time,
}

const TREE_512: &str = "taperedtree:down=8x8x8,up=8x8,routing=dmodk,l=10ns,b=100Gbps,level=flow";
const TREE_4096: &str = "taperedtree:down=16x16x16,up=16x16,routing=dmodk,l=10ns,b=100Gbps,level=flow";
const TREE_65536: &str = "taperedtree:down=32x32x64,up=32x32,routing=dmodk,l=10ns,b=100Gbps,level=flow";

fn cases() -> Vec<FlowCase> {
    let case = |name, network, pattern, steps, target| FlowCase {
        name,
        network,
        pattern,
        steps,
        bytes: 64 << 10,
        varies: true,
        target,
        runs: 3,
    };
    let halo = |name, network, steps, target, varies, runs| FlowCase {
        varies,
        bytes: 128 << 10,
        runs,
        ..case(name, network, StepPattern::Halo, steps, target)
    };
    vec![
        case("pairwise", TREE_4096, StepPattern::Pairwise, 50, 0.4),
        case("random", TREE_4096, StepPattern::Random(1), 50, 1.2),
        halo("halo", TREE_4096, 10, 1.5, false, 3),
        case("incast", TREE_4096, StepPattern::Incast, 10, 1.0),
        case("random4", TREE_512, StepPattern::Random(4), 50, 6.0),
        halo("halo65536", TREE_65536, 10, 30e6 / (2.0 * 6.0 * 65_536.0 * 10.0), false, 1),
    ]
}

/// Processor seconds of this thread.
fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).map_or(0.0, |ns| ns * 1e-9)
}

/// Most memory of the process in MiB.
fn peak_memory() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1))
        .and_then(|kib| kib.parse::<f64>().ok())
        .map_or(0.0, |kib| kib / 1024.0)
}

/// The hosts and their steps.
struct Hosts {
    pattern: StepPattern,
    count: u32,
    side: u32,
    random: Random,
    /// Steps that each has begun, and messages of it that are under way.
    begun: Vec<u32>,
    waits: Vec<u32>,
    ready: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Hosts {
    fn destination(&mut self, host: u32, step: u32, index: u32) -> u32 {
        let (count, side) = (self.count, self.side);
        match self.pattern {
            StepPattern::Pairwise => (host + 1 + step) % count,
            StepPattern::Random(_) => self.random.below(count),
            StepPattern::Incast => 0,
            StepPattern::Halo => {
                (host + [1, count - 1, side, count - side, side * side, count - side * side][index as usize])
                    % count
            }
        }
    }

    fn messages(&self) -> u32 {
        match self.pattern {
            StepPattern::Random(messages) => messages,
            StepPattern::Halo => 6,
            StepPattern::Pairwise | StepPattern::Incast => 1,
        }
    }

    /// Makes a host ready up to a microsecond after `at`.
    fn rest(&mut self, host: u32, at: u64) {
        let pause = u64::from(self.random.below(1000)) * 1000;
        self.ready.push(Reverse((at + pause, host)));
    }
}

fn run(case: &FlowCase) -> Result<Measured, String> {
    let machine = Machine::parse(case.network).map_err(|error| error.to_string())?;
    let Network::Shared(mut network) = machine.build(1).map_err(|error| error.to_string())?.network else {
        return Err(format!("{} is no shared network", case.network));
    };
    let count = network.endpoints() as u32;
    let mut hosts = Hosts {
        pattern: case.pattern,
        count,
        side: f64::from(count).cbrt().round() as u32,
        random: Random::new(1, 0),
        begun: vec![0; count as usize],
        waits: vec![0; count as usize],
        ready: BinaryHeap::new(),
    };
    (0..count).for_each(|host| hosts.rest(host, 0));
    let (mut messages, mut arrived, mut most_flows, mut end) = (0u64, 0u64, 0, Time::ZERO);
    let mut delivered: Vec<Delivered> = Vec::new();
    let started = thread_seconds();
    loop {
        // At one instant hosts send before anything is delivered.
        let limit = hosts.ready.peek().map_or(u64::MAX, |&Reverse((at, _))| at).checked_sub(1);
        if limit.is_some_and(|limit| network.advance_to_delivery(Time::from_ps(limit), &mut delivered)) {
            for Delivered { id, at } in delivered.drain(..) {
                let host = id as u32;
                (arrived, end) = (arrived + 1, at);
                hosts.waits[host as usize] -= 1;
                if hosts.waits[host as usize] == 0 {
                    hosts.rest(host, at.as_ps());
                }
            }
            continue;
        }
        let Some(Reverse((at, host))) = hosts.ready.pop() else { break };
        let step = hosts.begun[host as usize];
        if step == case.steps {
            continue;
        }
        hosts.begun[host as usize] += 1;
        for index in 0..hosts.messages() {
            let destination = hosts.destination(host, step, index);
            let bytes = if case.varies {
                case.bytes + case.bytes * u64::from(hosts.random.below(1000)) / 1000
            } else {
                case.bytes
            };
            if destination != host {
                let (source, destination) = (Endpoint(host), Endpoint(destination));
                let id = messages << 32 | u64::from(host);
                network.send(Time::from_ps(at), &Message { source, destination, bytes, id, class: 0 });
                messages += 1;
                hosts.waits[host as usize] += 1;
            }
        }
        most_flows = most_flows.max(messages - arrived);
        if hosts.waits[host as usize] == 0 {
            hosts.rest(host, at);
        }
    }
    if arrived != messages {
        return Err(format!("{} of {messages} messages arrived", arrived));
    }
    Ok(Measured { seconds: thread_seconds() - started, events: 2 * messages, most_flows, end })
}

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let cases = cases();
    if let Some(unknown) = names.iter().find(|name| cases.iter().all(|case| case.name != name.as_str())) {
        let known: Vec<&str> = cases.iter().map(|case| case.name).collect();
        eprintln!("there is no case '{unknown}'; take of {}", known.join(", "));
        return ExitCode::from(2);
    }
    for case in cases.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name)) {
        let mut best: Option<Measured> = None;
        for _ in 0..case.runs {
            match run(case) {
                Ok(found) if best.as_ref().is_none_or(|best| found.seconds < best.seconds) => {
                    best = Some(found)
                }
                Ok(_) => {}
                Err(error) => {
                    eprintln!("{}: {error}", case.name);
                    return ExitCode::FAILURE;
                }
            }
        }
        let Some(Measured { seconds, events, most_flows, end }) = best else { continue };
        println!(
            "{:10} {:.3} us an event (to reach {:.2}), {events} events in {seconds:.2} s, at most \
             {most_flows} flows at once, {:.6} s simulated, {:.0} MiB",
            case.name,
            seconds * 1e6 / events as f64,
            case.target,
            end.as_seconds(),
            peak_memory()
        );
    }
    ExitCode::SUCCESS
}
