//! What is counted while packets move.

use super::histogram::OctaveHistogram;
use super::port::Packet;
use std::sync::Arc;

/// The packets of one job.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct JobStatistics {
    /// From giving the message to the network to the packet's last byte, in picoseconds.
    pub latency: OctaveHistogram,
    /// From giving a message to the network to the last byte of its last packet, in picoseconds, where
    /// messages have several packets.
    pub messages: OctaveHistogram,
    /// Packets by the number of routers that they passed.
    pub hops: Vec<u64>,
    /// Packets that arrived, those before the warm-up's end included.
    pub packets: u64,
    /// Bytes that arrived, headers included.
    pub bytes: u64,
    /// When the last packet arrived, in picoseconds.
    pub last_arrival: u64,
    /// Packets that arrived within the window.
    pub window_packets: u64,
    /// Bytes that arrived within the window.
    pub window_bytes: u64,
}

/// Counters of one shard, or of the whole network after `merge`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// One for each job; without jobs one.
    pub jobs: Vec<JobStatistics>,
    /// Packets created before are delivered, but not counted in latency and hops, in picoseconds.
    pub warmup: u64,
    /// Throughput is what arrives from the first to before the second, in picoseconds.
    pub window: (u64, u64),
    job_of: Option<Arc<Vec<u16>>>,
    /// Packets of every message; 0 if messages differ, and then they are not counted.
    message_packets: u32,
}

impl Statistics {
    /// `job_of` gives each endpoint's job below `jobs`.
    pub fn new(jobs: usize, job_of: Option<Arc<Vec<u16>>>, warmup: u64, window: (u64, u64)) -> Statistics {
        let jobs = vec![JobStatistics::default(); jobs.max(1)];
        Statistics { jobs, warmup, window, job_of, message_packets: 0 }
    }

    /// Counts messages, all of so many packets.
    pub fn with_messages(self, packets: u32) -> Statistics {
        Statistics { message_packets: packets, ..self }
    }

    #[inline]
    pub(crate) fn record(&mut self, packet: &Packet, at: u64) {
        let job = self.job_of.as_ref().map_or(0, |jobs| jobs[packet.source as usize] as usize);
        let job = &mut self.jobs[job];
        job.packets += 1;
        job.bytes += u64::from(packet.size);
        job.last_arrival = job.last_arrival.max(at);
        if at >= self.window.0 && at < self.window.1 {
            job.window_packets += 1;
            job.window_bytes += u64::from(packet.size);
        }
        if packet.created < self.warmup {
            return;
        }
        job.latency.add(at - packet.created);
        let hops = packet.hops as usize;
        if hops >= job.hops.len() {
            job.hops.resize(hops + 1, 0);
        }
        job.hops[hops] += 1;
    }

    /// Returns counters of a network of flows, where each message counts as a packet.
    pub(crate) fn of_flows() -> Statistics {
        Statistics::new(1, None, 0, (0, u64::MAX)).with_messages(1)
    }

    /// Counts a message that was not cut: from an endpoint, given to the network at `created`, whose last
    /// byte came at `at`.
    pub(crate) fn record_whole(
        &mut self,
        source: u32,
        (created, at): (u64, u64),
        bytes: u64,
        routers: usize,
    ) {
        let job = self.job_of.as_ref().map_or(0, |jobs| jobs[source as usize] as usize);
        let job = &mut self.jobs[job];
        job.packets += 1;
        job.bytes += bytes;
        job.last_arrival = job.last_arrival.max(at);
        if at >= self.window.0 && at < self.window.1 {
            job.window_packets += 1;
            job.window_bytes += bytes;
        }
        if created >= self.warmup {
            job.latency.add(at - created);
            if routers >= job.hops.len() {
                job.hops.resize(routers + 1, 0);
            }
            job.hops[routers] += 1;
        }
    }

    /// Returns `true` if packets of so early a message are counted, to know when it is whole.
    #[inline]
    pub(crate) fn counts_packets_of(&self, created: u64) -> bool {
        self.message_packets > 1 && created >= self.warmup
    }

    /// Counts the message whose last packet this is. The packets of a destination come by one link, and so in
    /// the order of their time.
    pub(crate) fn record_message(&mut self, packet: &Packet, at: u64) {
        let job = self.job_of.as_ref().map_or(0, |jobs| jobs[packet.source as usize] as usize);
        self.jobs[job].messages.add(at - packet.created);
    }

    /// Counts a message of any number of packets, given to the network at `created`, whose last byte came at
    /// `at`.
    #[inline]
    pub(crate) fn record_tracked(&mut self, created: u64, at: u64) {
        self.jobs[0].messages.add(at - created);
    }

    /// Adds another shard's counts.
    pub fn merge(&mut self, other: &Statistics) {
        for (job, more) in self.jobs.iter_mut().zip(&other.jobs) {
            job.merge(more);
        }
    }

    /// Packets of every message; 0 if messages differ.
    pub fn message_packets(&self) -> u32 {
        self.message_packets
    }

    /// Latencies of a job's messages: where each is a packet, those of the packets.
    pub fn messages<'a>(&self, job: &'a JobStatistics) -> &'a OctaveHistogram {
        if self.message_packets == 1 { &job.latency } else { &job.messages }
    }

    /// Returns all jobs together.
    pub fn total(&self) -> JobStatistics {
        let mut total = JobStatistics::default();
        self.jobs.iter().for_each(|job| total.merge(job));
        total
    }
}

impl JobStatistics {
    fn merge(&mut self, other: &JobStatistics) {
        self.latency.merge(&other.latency);
        self.messages.merge(&other.messages);
        if self.hops.len() < other.hops.len() {
            self.hops.resize(other.hops.len(), 0);
        }
        for (count, more) in self.hops.iter_mut().zip(&other.hops) {
            *count += more;
        }
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.last_arrival = self.last_arrival.max(other.last_arrival);
        self.window_packets += other.window_packets;
        self.window_bytes += other.window_bytes;
    }

    /// Mean number of routers passed.
    pub fn mean_hops(&self) -> f64 {
        let (mut sum, mut count) = (0u128, 0u128);
        for (hops, &packets) in self.hops.iter().enumerate() {
            sum += hops as u128 * u128::from(packets);
            count += u128::from(packets);
        }
        if count == 0 { 0.0 } else { sum as f64 / count as f64 }
    }
}
