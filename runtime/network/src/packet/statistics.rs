//! What is counted while packets move.

use super::histogram::Histogram;
use super::port::Packet;
use std::sync::Arc;

/// The use of one direction of a cable, and of the input buffer at its end.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct LinkUse {
    /// Bytes sent, headers included.
    pub bytes: u64,
    /// Picoseconds during which it sent.
    pub busy: u64,
    /// Picoseconds that packets waited for it or for credit, summed over packets.
    pub blocked: u64,
    /// Bytes of the buffer at the end times nanoseconds that they were occupied.
    pub occupancy: u64,
}

/// The packets of one job.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct JobStatistics {
    /// From giving the message to the network to the packet's last byte, in picoseconds.
    pub latency: Histogram,
    /// How many packets passed so many routers.
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
}

impl Statistics {
    /// `job_of` gives each endpoint's job below `jobs`.
    pub fn new(jobs: usize, job_of: Option<Arc<Vec<u16>>>, warmup: u64, window: (u64, u64)) -> Statistics {
        Statistics { jobs: vec![JobStatistics::default(); jobs.max(1)], warmup, window, job_of }
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

    /// Adds another shard's counts.
    pub fn merge(&mut self, other: &Statistics) {
        for (job, more) in self.jobs.iter_mut().zip(&other.jobs) {
            job.merge(more);
        }
    }

    /// All jobs together.
    pub fn total(&self) -> JobStatistics {
        let mut total = JobStatistics::default();
        self.jobs.iter().for_each(|job| total.merge(job));
        total
    }
}

impl JobStatistics {
    fn merge(&mut self, other: &JobStatistics) {
        self.latency.merge(&other.latency);
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
