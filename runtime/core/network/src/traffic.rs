//! Synthetic traffic on a packet network: patterns, arrival processes, jobs, sweeps and their reports.
//!
//! Every endpoint sends messages by a [`TrafficPattern`] with exponential or equal gaps. The same seed
//! gives the same messages, and the same bytes in the report's `simulated` part, on any number of threads.

mod generator;
mod pattern;
mod plot;
mod report;
mod sweep;

use crate::bandwidth::Bandwidth;
use crate::machine::MachineError;
use crate::message::{Endpoint, Message};
use crate::model::Shared;
use crate::packet::report::each_link;
use crate::packet::run::{Progress, Stopped, run as run_shards, thread_seconds};
use crate::packet::shard::{Feed, Router, RouterVisitor, Shard, ShardAssignment, build, with_router};
use crate::packet::{FlowNetwork, PacketFabric, PacketSpec, Statistics};
pub use crate::packet::{JobReport, LinkEnd, LinkReport};
use engine::{Span, Time};
use generator::Generator;
use pattern::Destinations;
pub use pattern::TrafficPattern;
pub(crate) use pattern::shuffled;
pub use plot::{heat_map, latency_load};
use report::TrafficResults;
pub use report::{HostReport, SimulatedReport, TrafficReport};
use std::sync::Arc;
use std::time::Instant;
pub use sweep::{SweepPoint, SweepReport, sweep};

/// Rate at which an endpoint sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// One message in so long, on average.
    Interval(Span),
    /// This share of the bandwidth into the network, above 0 and at most 1.
    Rate(f64),
}

/// A contiguous set of endpoints that send to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficJob {
    /// Name in reports.
    pub name: String,
    /// Its first endpoint.
    pub first: u32,
    /// Number of endpoints.
    pub count: u32,
    /// Communication pattern, which gives each endpoint its destinations.
    pub pattern: TrafficPattern,
    /// Traffic class of its messages.
    pub class: u8,
}

/// Parameters of a run of synthetic traffic.
#[derive(Clone)]
pub struct TrafficRun {
    /// The network.
    pub spec: PacketSpec,
    /// The jobs; none means one of all endpoints with `pattern`.
    pub jobs: Vec<TrafficJob>,
    /// The pattern without jobs.
    pub pattern: TrafficPattern,
    /// Sides for `stencil3d` and `tornado`; found if not given.
    pub grid: Option<Vec<u32>>,
    /// Payload of a message in bytes.
    pub size: u64,
    /// Sending rate of each endpoint.
    pub pace: Pace,
    /// Equal gaps instead of exponential ones.
    pub fixed: bool,
    /// Messages of each endpoint.
    pub packets: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads.
    pub threads: u32,
    /// Shares of the sending time at its start and end whose messages are not counted in latencies.
    pub margins: (f64, f64),
}

/// Why traffic cannot be run, or did not end: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrafficError {
    /// The input is impossible.
    Input(String),
    /// The network deadlocked.
    Deadlock(String),
}

impl std::fmt::Display for TrafficError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TrafficError::Input(sentence) | TrafficError::Deadlock(sentence) => f.write_str(sentence),
        }
    }
}
impl std::error::Error for TrafficError {}
impl From<MachineError> for TrafficError {
    fn from(error: MachineError) -> Self {
        TrafficError::Input(error.to_string())
    }
}
impl From<Stopped> for TrafficError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Deadlock(sentence) => TrafficError::Deadlock(sentence),
            Stopped::EndOfTime(sentence) => TrafficError::Input(sentence),
        }
    }
}
impl From<String> for TrafficError {
    fn from(sentence: String) -> Self {
        TrafficError::Input(sentence)
    }
}

/// A run that is ready.
struct Prepared {
    fabric: Arc<PacketFabric>,
    jobs: Vec<TrafficJob>,
    /// Picoseconds between two messages of an endpoint.
    interval: f64,
    /// The smallest packet on the wire.
    smallest: u32,
    /// The last picosecond at which something may happen.
    last: u64,
    statistics: Statistics,
    /// Destinations of the endpoints, one table per job.
    destinations: Vec<Arc<Destinations>>,
    /// `true` for each endpoint that works; empty if none has failed.
    works: Arc<Vec<bool>>,
}

impl TrafficRun {
    fn prepare(&self) -> Result<Prepared, TrafficError> {
        self.spec.check_synthetic()?;
        let fabric = Arc::new(self.spec.fabric(None)?);
        let endpoints = fabric.topology.endpoints();
        let jobs = if self.jobs.is_empty() {
            vec![TrafficJob {
                name: "all".to_owned(),
                first: 0,
                count: endpoints,
                pattern: self.pattern.clone(),
                class: 0,
            }]
        } else {
            self.jobs.clone()
        };
        check_jobs(&jobs, endpoints, fabric.switching.classes.count())?;
        if self.grid.is_some() && !jobs.iter().any(|job| job.pattern.has_grid()) {
            return Err(format!(
                "--grid gives sides to stencil3d and tornado, but the pattern is {}; leave it out",
                jobs[0].pattern.name()
            )
            .into());
        }
        if self.packets == 0 || self.packets > u64::from(u32::MAX) {
            return Err(format!("--packets {} is not between 1 and 4294967295", self.packets).into());
        }
        if self.threads == 0 || self.threads > 256 {
            return Err(format!("--threads {} is not between 1 and 256", self.threads).into());
        }
        if self.threads > 1 && self.spec.is_of_flows() {
            return Err("level=flow runs on one thread; leave --threads out".to_owned().into());
        }
        if self.threads > 1 && fabric.switching.wormhole.is_some() {
            return Err("switching=wormhole runs on one thread; leave --threads out".to_owned().into());
        }
        if self.threads > 1 && fabric.routing.looks_far() {
            return Err(format!(
                "routing {} looks at queues of other routers, so it runs on one thread; leave --threads out",
                fabric.routing.name()
            )
            .into());
        }
        let payload = u64::from(fabric.switching.payload);
        let full = self.size / payload;
        let rest = (self.size % payload) as u32;
        let smallest =
            if self.size == 0 || rest > 0 { fabric.switching.wire(rest) } else { fabric.switching.packet() };
        let wire = full * u64::from(fabric.switching.packet())
            + if self.size == 0 || rest > 0 { u64::from(fabric.switching.wire(rest)) } else { 0 };
        let link = &fabric.links[fabric.injection_link(0) as usize];
        let sending = wire as f64 * picoseconds_per_byte(link.bandwidth);
        let interval = match self.pace {
            Pace::Interval(span) => span.as_ps() as f64,
            Pace::Rate(rate) if rate > 0.0 && rate <= 1.0 => sending / rate,
            Pace::Rate(rate) => {
                return Err(format!(
                    "--rate {rate} is not above 0 and at most 1, the share of the bandwidth into the network"
                )
                .into());
            }
        };
        let duration = interval * self.packets as f64;
        if duration > 1e18 {
            return Err(format!(
                "{} messages every {:.0} ns would take more than 10^6 s; lower --packets or the interval",
                self.packets,
                interval / 1e3
            )
            .into());
        }
        let from = (duration * self.margins.0) as u64;
        let to = (duration * (1.0 - self.margins.1)) as u64;
        let window = if self.margins == (0.0, 0.0) { (0, u64::MAX) } else { (from, to) };
        let job_of = (jobs.len() > 1).then(|| {
            let mut job_of = vec![0u16; endpoints as usize];
            for (index, job) in jobs.iter().enumerate() {
                job_of[job.first as usize..(job.first + job.count) as usize].fill(index as u16);
            }
            Arc::new(job_of)
        });
        // A message without bytes is a packet, and so is a flow.
        let packets = if self.spec.is_of_flows() { 1 } else { self.size.div_ceil(payload).max(1) };
        let packets = u32::try_from(packets).map_err(|_| {
            format!("--size {} makes more than 2^32 packets of a message; raise packet=", self.size)
        })?;
        let statistics = Statistics::new(jobs.len(), job_of, from, window).with_messages(packets);
        let mut works: Vec<bool> = (0..endpoints).map(|endpoint| fabric.topology.works(endpoint)).collect();
        if works.iter().all(|&works| works) {
            works.clear();
        }
        // An interface sends ahead what it has credit for.
        let ahead = u64::from(fabric.switching.buffer) * u64::from(fabric.switching.lanes);
        let last = match self.spec.is_of_flows() {
            true => u64::MAX,
            false => fabric.last_event(ahead).ok_or_else(|| fabric.too_slow())?,
        };
        let destinations =
            jobs.iter().map(|job| self.destinations(job, &fabric).map(Arc::new)).collect::<Result<_, _>>()?;
        Ok(Prepared {
            fabric,
            jobs,
            interval,
            smallest,
            last,
            statistics,
            destinations,
            works: Arc::new(works),
        })
    }

    fn destinations(&self, job: &TrafficJob, fabric: &PacketFabric) -> Result<Destinations, String> {
        let group = |member: u32| fabric.topology.group(fabric.topology.attachment(job.first + member).0);
        Destinations::new(job.pattern.clone(), job.count, self.grid.as_deref(), self.seed, group)
    }

    /// Runs it. `progress` is told the simulated picoseconds and the packets delivered so far by one of the
    /// threads.
    pub fn run(&self, progress: Progress<'_>) -> Result<TrafficReport, TrafficError> {
        if self.spec.is_of_flows() {
            return self.run_flows(progress);
        }
        let started = Instant::now();
        let prepared = self.prepare()?;
        let switching = &prepared.fabric.switching;
        with_router(switching, PacketRun { traffic: self, prepared: &prepared, started, progress })
    }

    /// Runs it at the flow level, on one thread.
    fn run_flows(&self, progress: Progress<'_>) -> Result<TrafficReport, TrafficError> {
        let started = Instant::now();
        let prepared = self.prepare()?;
        let all = ShardAssignment::new(&prepared.fabric, 1).endpoints.pop().unwrap_or_default();
        let mut feed = Generator::new(self, &prepared, &all);
        let mut network = FlowNetwork::over(&prepared.fabric, prepared.statistics.clone());
        let built = Instant::now();
        let cpu = thread_seconds();
        let (mut offers, mut delivered, mut deliveries, mut id) = (Vec::new(), Vec::new(), 0u64, 0u64);
        loop {
            let next = feed.next();
            // At one instant messages are sent before anything else happens.
            let limit = Time::from_ps(next.saturating_sub(1));
            while network.advance_to_delivery(limit, &mut delivered) {
                deliveries += 1;
                if deliveries.is_multiple_of(1 << 16) {
                    progress(delivered[0].at.as_ps(), network.statistics.jobs[0].packets);
                }
                delivered.clear();
            }
            if next == u64::MAX {
                break;
            }
            while feed.next() == next {
                feed.take(&mut offers);
            }
            offers.sort_unstable_by_key(|offer| (offer.time, offer.interface));
            for offer in offers.drain(..) {
                let source = Endpoint(all[offer.interface as usize]);
                let destination = Endpoint(offer.destination);
                let message = Message { source, destination, bytes: offer.bytes, id, class: 0 };
                network.send(Time::from_ps(offer.time), &message);
                id += 1;
            }
        }
        if let Some(sentence) = network.stuck() {
            return Err(TrafficError::Input(sentence));
        }
        let host = HostReport::new(1, started, built, thread_seconds() - cpu, network.instants);
        let statistics = network.statistics.clone();
        let each_link = network.each_link(statistics.total().last_arrival);
        let found = TrafficResults { statistics, each_link, messages_left_out: feed.left_out() };
        Ok(TrafficReport::new(self, &prepared, found, host))
    }

    /// Builds the shards with their traffic. Each is built by a thread of its own, so that no two have small
    /// things side by side in memory: what one processor writes others would wait for.
    fn shards<R: Router>(&self, prepared: &Prepared, partition: &ShardAssignment) -> Vec<Shard<R>> {
        let shard = |me: usize| {
            let mut shard =
                build(&prepared.fabric, partition, me, self.bucket(prepared), &prepared.statistics);
            shard.feed = Some(Box::new(Generator::new(self, prepared, &partition.endpoints[me])));
            shard
        };
        let count = partition.endpoints.len();
        if count == 1 {
            return vec![shard(0)];
        }
        std::thread::scope(|scope| {
            let builders: Vec<_> = (0..count).map(|me| scope.spawn(move || shard(me))).collect();
            let built = builders
                .into_iter()
                .map(|builder| builder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            built.collect()
        })
    }

    /// log2 of a bucket's picoseconds: some ten events in a bucket, which are sorted quickly, and hardly an
    /// empty one.
    fn bucket(&self, prepared: &Prepared) -> u32 {
        let endpoints: u32 = prepared.jobs.iter().map(|job| job.count).sum();
        let events = f64::from(endpoints.max(1)) * 6.0 / prepared.interval.max(1.0);
        (20.0 / events.max(1e-9)).log2().clamp(6.0, 18.0) as u32
    }
}

/// A run at the packet level, for each kind of router.
struct PacketRun<'a> {
    traffic: &'a TrafficRun,
    prepared: &'a Prepared,
    started: Instant,
    progress: Progress<'a>,
}

impl RouterVisitor for PacketRun<'_> {
    type Output = Result<TrafficReport, TrafficError>;

    fn visit<R: Router>(self) -> Self::Output {
        let PacketRun { traffic, prepared, started, progress } = self;
        let fabric = &prepared.fabric;
        let threads = traffic.threads.min(fabric.topology.routers());
        let partition = ShardAssignment::new(fabric, threads);
        let mut shards = traffic.shards::<R>(prepared, &partition);
        let built = Instant::now();
        let cpu_s = run_shards(&mut shards, fabric.lookahead(prepared.smallest), prepared.last, progress)?;
        let host = HostReport::new(threads, started, built, cpu_s, shards.iter().map(|s| s.events).sum());
        let mut statistics = prepared.statistics.clone();
        shards.iter().for_each(|shard| statistics.merge(&shard.statistics));
        let each_link = each_link(&shards, statistics.total().last_arrival);
        let messages_left_out =
            shards.iter().filter_map(|shard| shard.feed.as_ref()).map(|feed| feed.left_out()).sum();
        Ok(TrafficReport::new(
            traffic,
            prepared,
            TrafficResults { statistics, each_link, messages_left_out },
            host,
        ))
    }
}

fn picoseconds_per_byte(bandwidth: Bandwidth) -> f64 {
    8e12 / bandwidth.as_bits_per_second()
}

fn check_jobs(jobs: &[TrafficJob], endpoints: u32, classes: u8) -> Result<(), String> {
    let mut sorted: Vec<&TrafficJob> = jobs.iter().collect();
    sorted.sort_by_key(|job| job.first);
    for pair in sorted.windows(2) {
        if pair[0].first + pair[0].count > pair[1].first {
            return Err(format!(
                "jobs {} and {} share endpoints; give each its own",
                pair[0].name, pair[1].name
            ));
        }
    }
    for job in jobs {
        if job.count == 0 || u64::from(job.first) + u64::from(job.count) > u64::from(endpoints) {
            return Err(format!(
                "job {} has endpoints {} to {}, but the network has 0 to {}",
                job.name,
                job.first,
                u64::from(job.first) + u64::from(job.count) - 1,
                endpoints - 1
            ));
        }
        if job.class >= classes {
            return Err(format!(
                "job {} is of traffic class {}, but the network has {classes}; raise classes=",
                job.name, job.class
            ));
        }
    }
    if jobs.len() > 1000 {
        return Err("there are more than 1000 jobs".to_owned());
    }
    Ok(())
}
