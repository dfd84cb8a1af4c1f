//! The messages of a shard's endpoints, in stretches of time.

use super::pattern::Destinations;
use super::{Prepared, TrafficRun};
use crate::packet::shard::{Feed, Offer};
use engine::Random;
use prefetch_index::prefetch_index;
use std::sync::Arc;

const BINS: u64 = 64;
/// About how many offers are made at once: what the second-level cache holds.
const CHUNK: usize = 2048;
/// Words of a bin between loading their sources and their turn.
const WORDS_AHEAD: usize = 2;

/// An endpoint that sends.
struct SendingEndpoint {
    random: Random,
    next: u64,
    /// Messages sent and to send.
    sent: u32,
    left: u32,
    /// Number in the job, number in the shard.
    member: u32,
    interface: u32,
    job: u16,
}

/// Calendar of the next message of each endpoint. Messages of different endpoints need no order among each
/// other, so that a stretch of time is generated endpoint by endpoint.
pub(super) struct Generator {
    sources: Vec<SendingEndpoint>,
    jobs: Vec<(Arc<Destinations>, u32, u8)>,
    /// One bit for each source in each bin: a bin's sources come in the order in which they and their
    /// interfaces lie in memory.
    bins: Vec<Vec<u64>>,
    /// Number of sources in each bin.
    counts: Vec<u32>,
    /// Number of the bin that is next.
    current: u64,
    /// Words taken of the bin before `current`; `None` unless that bin is taken in part.
    open: Option<usize>,
    waiting: usize,
    /// Picoseconds of a bin.
    width: u64,
    interval: f64,
    fixed: bool,
    bytes: u64,
    /// `true` for each endpoint that works; empty if none has failed.
    works: Arc<Vec<bool>>,
    left_out: u64,
}

impl Generator {
    /// For the endpoints of one shard.
    pub(super) fn new(traffic: &TrafficRun, prepared: &Prepared, endpoints: &[u32]) -> Generator {
        let jobs = prepared
            .destinations
            .iter()
            .zip(&prepared.jobs)
            .map(|(ready, job)| (ready.clone(), job.first, job.class))
            .collect();
        let mut this = Generator {
            sources: Vec::with_capacity(endpoints.len()),
            jobs,
            bins: Vec::new(),
            counts: vec![0; BINS as usize],
            current: 0,
            open: None,
            waiting: 0,
            width: (prepared.interval / 8.0) as u64 + 1,
            interval: prepared.interval,
            fixed: traffic.fixed,
            bytes: traffic.size,
            works: prepared.works.clone(),
            left_out: 0,
        };
        for (interface, &endpoint) in endpoints.iter().enumerate() {
            let Some(job) = prepared
                .jobs
                .iter()
                .position(|job| endpoint >= job.first && endpoint - job.first < job.count)
            else {
                continue;
            };
            let member = endpoint - prepared.jobs[job].first;
            if !this.jobs[job].0.sends(member) {
                continue;
            }
            if !this.works.is_empty() && !this.works[endpoint as usize] {
                this.left_out += traffic.packets;
                continue;
            }
            let mut random = Random::new(traffic.seed, u64::from(endpoint));
            // Equal gaps begin anywhere in the first, so that endpoints do not send in step.
            let share = if traffic.fixed { 1.0 - random.unit() } else { random.exponential() };
            let next = (share * prepared.interval * f64::from(this.jobs[job].0.round())) as u64;
            this.sources.push(SendingEndpoint {
                random,
                next,
                sent: 0,
                left: traffic.packets as u32,
                member,
                interface: interface as u32,
                job: job as u16,
            });
        }
        this.bins = vec![vec![0; this.sources.len().div_ceil(64)]; BINS as usize];
        for index in 0..this.sources.len() {
            this.file(index as u32);
        }
        this
    }

    /// Files a source under the bin of its next message, or the last bin if that is beyond it.
    #[inline]
    fn file(&mut self, index: u32) {
        let bin = (self.sources[index as usize].next / self.width).min(self.current + BINS - 1);
        let slot = (bin % BINS) as usize;
        self.bins[slot][index as usize / 64] |= 1 << (index % 64);
        self.counts[slot] += 1;
        self.waiting += 1;
    }

    fn bin(&self) -> Option<u64> {
        if self.open.is_some() {
            return Some(self.current - 1);
        }
        (self.waiting > 0)
            .then(|| (self.current..self.current + BINS).find(|bin| self.counts[(bin % BINS) as usize] > 0))
            .flatten()
    }
}

impl Feed for Generator {
    fn left_out(&self) -> u64 {
        self.left_out
    }

    fn next(&self) -> u64 {
        self.bin().map_or(u64::MAX, |bin| bin * self.width)
    }

    fn take(&mut self, offers: &mut Vec<Offer>) {
        let Some(bin) = self.bin() else { return };
        let slot = (bin % BINS) as usize;
        if self.open.is_none() {
            self.current = bin + 1;
            self.waiting -= std::mem::take(&mut self.counts[slot]) as usize;
        }
        let end = (bin + 1) * self.width;
        // A source may be filed into this very list, for the next round of bins, but only into a word that
        // was taken out.
        for word in self.open.take().unwrap_or(0)..self.bins[slot].len() {
            if offers.len() >= CHUNK {
                self.open = Some(word);
                return;
            }
            if let Some(&ahead) = self.bins[slot].get(word + WORDS_AHEAD) {
                members(word + WORDS_AHEAD, ahead)
                    .for_each(|index| prefetch_index(&self.sources, index as usize));
            }
            let taken = std::mem::take(&mut self.bins[slot][word]);
            members(word, taken).for_each(|index| self.generate(index, end, offers));
        }
    }
}

/// Returns the sources of a word of a bin.
#[inline]
fn members(word: usize, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let index = (bits != 0).then(|| word as u32 * 64 + bits.trailing_zeros());
        bits &= bits.wrapping_sub(1);
        index
    })
}

impl Generator {
    /// The messages of one source before `end`.
    #[inline]
    fn generate(&mut self, index: u32, end: u64, offers: &mut Vec<Offer>) {
        let source = &mut self.sources[index as usize];
        let (destinations, first, class) = &self.jobs[source.job as usize];
        let round = destinations.round();
        while source.left > 0 && source.next < end {
            let burst = round.min(source.left);
            for _ in 0..burst {
                let destination = first + destinations.of(source.member, source.sent, &mut source.random);
                source.sent += 1;
                if !self.works.is_empty() && !self.works[destination as usize] {
                    self.left_out += 1;
                    continue;
                }
                offers.push(Offer {
                    time: source.next,
                    interface: source.interface,
                    destination,
                    bytes: self.bytes,
                    class: *class,
                });
            }
            source.left -= burst;
            let gap = if self.fixed { 1.0 } else { source.random.exponential() };
            source.next += (gap * self.interval * f64::from(round)) as u64;
        }
        if source.left > 0 {
            self.file(index);
        }
    }
}
