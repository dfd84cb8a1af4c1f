//! Profiles of a run's time, call site by call site (`-xsim-profile`, docs/reference/report.md). They are
//! folded while the run goes on, so that memory grows with the number of call sites and, by a few words each,
//! with the ranks. It does not grow with their product or with time.

mod chains;
mod collectives;
mod critical;
mod gatherings;
mod load;
mod moments;
mod order;
mod places;
mod regions;
mod series;
mod tally;

use chains::ChainCosts;
use collectives::CollectiveProfile;
pub use critical::Critical;
use engine::{Span, Time};
use gatherings::PendingCollectives;
use load::{Blocks, Load};
use order::{ClassifiedWait, Order};
use places::SiteNumbers;
use recorder::call_profile::{CallProfile, SiteCost};
use recorder::collective::{CollectiveKind, CollectiveUse};
use recorder::traffic::Matrix;
use recorder::waiting::{Entries, Returned, WaitState};
use recorder::{Bins, Symbols, Traffic};
use recorder::{Call, CallReturn, CodeLocation, Recorder, RegionEvent};
use regions::Regions;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use series::{Activity, ActivityTimes};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use tally::Tally;

/// Profiles a process's ranks.
pub struct Profiler {
    ranks: u32,
    own: Range<u32>,
    symbols: Symbols,
    /// The names of sites, by their numbers, and of the functions that the compiler has put around them.
    sites: FxHashMap<u32, Vec<String>>,
    /// The greatest number of callers by which the calls of a site are distinguished.
    depth: u32,
    chains: ChainCosts,
    places: SiteNumbers,
    /// Sums over calls, by the number of their call site and function.
    tallies: Vec<Tally>,
    collectives: CollectiveProfile,
    gatherings: PendingCollectives,
    order: Order,
    series: ActivityTimes,
    load: Load,
    regions: Regions,
    traffic: Matrix,
    under_way: Bins,
    /// All processes together, on the first.
    whole: Option<CallProfile>,
}

/// Data that a process sends to the first process.
#[derive(Default, Serialize, Deserialize)]
struct ProcessProfile {
    tallies: Vec<(String, String, Tally, chains::SiteChains, collectives::Part)>,
    series: ActivityTimes,
    load: Blocks,
    regions: regions::RegionTimes,
    traffic: Matrix,
    under_way: Bins,
}

impl Profiler {
    /// Creates the profiler of the ranks `own` of `ranks`. It distinguishes calls by up to `depth` callers of
    /// their call site.
    pub fn new(ranks: u32, own: Range<u32>, depth: u32) -> Profiler {
        let load = Load::new(own.start, own.end - own.start, ranks);
        let regions = Regions::new(own.start, own.end - own.start);
        Profiler {
            ranks,
            order: Order::new(own.start),
            own,
            symbols: Symbols::default(),
            sites: FxHashMap::default(),
            depth,
            chains: ChainCosts::default(),
            places: SiteNumbers::default(),
            tallies: Vec::new(),
            collectives: CollectiveProfile::default(),
            gatherings: PendingCollectives::default(),
            series: ActivityTimes::default(),
            load,
            regions,
            traffic: Matrix::default(),
            under_way: Bins::default(),
            whole: None,
        }
    }

    /// Adds what a rank did.
    #[inline]
    fn spent(&mut self, doing: Activity, rank: u32, from: Time, span: Span) {
        self.series.add(doing, from, span);
        self.load.add(doing, rank, span);
        self.regions.add(doing, rank, from, span);
    }

    /// Adds the time that a call from this place lost to a late rank. A loss to a late sender is deferred
    /// until its wait state is known.
    #[inline]
    fn wait_states(&mut self, place: u32, call: &Returned) {
        let Profiler { order, tallies, .. } = self;
        if let Some(sent) = call.oldest {
            order.received(call.rank, sent, |settled| lose_settled(tallies, settled));
        }
        match call.lost_to_partner() {
            Some((WaitState::LateSender, lost, by)) => {
                let sent = call.cause.map_or(call.entered, |cause| cause.acted);
                order
                    .waited(call.rank, place, sent, (lost, by))
                    .into_iter()
                    .for_each(|settled| lose_settled(tallies, settled));
            }
            Some((state, lost, by)) => tallies[place as usize].lose(state, lost, call.rank, by),
            None => {}
        }
    }
}

impl Recorder for Profiler {
    fn wants(&self, rank: u32) -> bool {
        self.own.contains(&rank)
    }

    fn wants_calls(&self) -> bool {
        false
    }

    fn wants_waits(&self) -> bool {
        true
    }

    fn wants_sites(&self) -> bool {
        true
    }

    fn site(&mut self, number: u32, place: &CodeLocation) {
        self.sites.insert(number, self.symbols.names(place));
    }

    fn named_site(&mut self, number: u32, name: &str) {
        self.sites.insert(number, vec![name.to_owned()]);
    }

    fn wants_chains(&self) -> u32 {
        self.depth
    }

    fn chain(&mut self, number: u32, places: &[CodeLocation]) {
        self.chains.explain(number, places, &mut self.symbols);
    }

    fn returned(&mut self, call: &Returned) {
        let place = self.places.number(call);
        if self.tallies.len() == place as usize {
            self.tallies.push(Tally::default());
        }
        self.tallies[place as usize].add(call);
        self.wait_states(place, call);
        if call.chain != 0 {
            self.chains.add(place, call);
        }
        if call.collective != 0 {
            self.collectives.add(place, call);
        }
        if call.gathering.is_some() {
            let tallies = &mut self.tallies;
            self.gatherings.returned(place, call, |place, call, entries| {
                lose(&mut tallies[place as usize], call, entries)
            });
        }
        if !call.inner && call.left > call.entered {
            let took = call.left.since(call.entered);
            let busy = took - call.wait;
            self.spent(Activity::Mpi, call.rank, call.entered, busy);
            self.spent(Activity::Wait, call.rank, call.entered + busy, call.wait);
        }
    }

    fn gathered(&mut self, id: (u32, u32), entries: &Entries) {
        let tallies = &mut self.tallies;
        self.gatherings
            .gathered(id, entries, |place, call, entries| lose(&mut tallies[place as usize], call, entries));
    }

    fn computed(&mut self, rank: u32, from: Time, span: Span) {
        self.spent(Activity::Compute, rank, from, span);
    }

    fn region(&mut self, rank: u32, at: Time, region: RegionEvent) -> bool {
        self.regions.change(rank, at, region)
    }

    fn traffic(&mut self, traffic: &Traffic) {
        self.traffic = traffic.matrix();
        self.under_way = traffic.under_way.clone();
    }

    fn collectives(&mut self, kinds: &[(CollectiveKind, CollectiveUse)]) {
        self.collectives.explain(kinds);
    }

    fn call(&mut self, _: &Call, _: &CallReturn) {}

    fn unfinished(&mut self, _: &Call) {}

    fn part(&mut self) -> Vec<u8> {
        let Profiler { order, tallies, .. } = self;
        order.end().for_each(|settled| lose_settled(tallies, settled));
        let chains = self.chains.by_tally(self.tallies.len());
        let of_places = self.places.met().iter().zip(std::mem::take(&mut self.tallies)).zip(&chains);
        let tallies = of_places.enumerate().map(|(place, ((&(site, function), tally), chains))| {
            let names = self.sites.get(&site).map_or(&[][..], Vec::as_slice);
            let name = names.first().map_or("unknown", String::as_str);
            (
                name.to_owned(),
                function.to_owned(),
                tally,
                self.chains.part(chains, names),
                self.collectives.part(place),
            )
        });
        let part = ProcessProfile {
            tallies: tallies.collect(),
            series: std::mem::take(&mut self.series),
            load: self.load.blocks(),
            regions: self.regions.part(),
            traffic: std::mem::take(&mut self.traffic),
            under_way: std::mem::take(&mut self.under_way),
        };
        serde_json::to_vec(&part).expect("plain data always has a JSON form")
    }

    fn merge(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        // By name: what is one site in the source has another number on each process, and several where the
        // compiler has copied it.
        let mut tallies: BTreeMap<(String, String), (Tally, Vec<chains::SiteChains>)> = BTreeMap::new();
        let (mut series, mut load, mut traffic) =
            (ActivityTimes::default(), Blocks::default(), Traffic::of(self.ranks));
        let (mut regions, mut collectives) = (Vec::new(), collectives::CollectiveTotals::default());
        for part in &parts {
            let part: ProcessProfile = serde_json::from_slice(part)
                .map_err(|why| format!("a process's part of the profile cannot be read: {why}"))?;
            for (site, function, tally, chains, kinds) in part.tallies {
                collectives.add((&site, &function), kinds);
                let (all, all_chains) = tallies.entry((site, function)).or_default();
                all.add_all(&tally);
                all_chains.push(chains);
            }
            series.add_all(&part.series);
            load.add_all(&part.load);
            traffic.add_all(&part.traffic);
            traffic.under_way.add_all(&part.under_way);
            regions.push(part.regions);
        }
        let cost =
            |((site, function), (tally, chains)): ((String, String), (Tally, Vec<chains::SiteChains>))| {
                SiteCost { callers: chains::SiteChains::report(&chains), ..tally.cost(site, function) }
            };
        let mut sites: Vec<_> = tallies.into_iter().map(cost).collect();
        sites.sort_by_key(|cost| Reverse((cost.time.sum_ps, cost.time.count)));
        let matrix = traffic.matrix();
        let (series, load) = (series.report(traffic.under_way), load.report());
        let (regions, collectives) = (regions::RegionTimes::report(&regions), collectives.report());
        self.whole = Some(CallProfile { sites, traffic: matrix, series, load, regions, collectives });
        Ok(())
    }

    fn profile(&mut self) -> Option<CallProfile> {
        self.whole.take()
    }
}

fn lose_settled(tallies: &mut [Tally], ClassifiedWait { place, state, lost, rank, by }: ClassifiedWait) {
    tallies[place as usize].lose(state, lost, rank, by);
}

fn lose(tally: &mut Tally, call: &Returned, entries: &Entries) {
    if let Some((state, lost, by)) = call.lost_in_gathering(entries) {
        tally.lose(state, lost, call.rank, by);
    }
}
