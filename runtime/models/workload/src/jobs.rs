//! Several replays at once on one machine: each job's ranks are a world of their own, and meet those of
//! others in the network alone.

use crate::call::{Answer, Awaited, Call, Message, Partners, Series, Start, Volley};
use crate::replay::{Comparison, Cursor, Replay};
use crate::workload::{Caller, Workload};
use engine::record::{Put, Take};
use engine::{Span, Time};
use mpi::Mpi;
use mpi::volley::MAX_MESSAGES;
use std::rc::Rc;

/// One of them.
pub struct Job<'t> {
    name: String,
    replay: Replay<'t>,
    /// The time at which its ranks begin.
    begins: Time,
    /// The first rank, and how many it has.
    first: u32,
    ranks: u32,
    /// The functions among those of all jobs.
    functions: Vec<u16>,
    /// The number of its site 0 among those of all jobs.
    first_site: u32,
}

impl<'t> Job<'t> {
    /// Returns the job that replays a trace with so many ranks, which begin at a time.
    pub fn new(name: String, replay: Replay<'t>, ranks: u32, begins: Time) -> Job<'t> {
        Job { name, replay, begins, first: 0, ranks, functions: Vec::new(), first_site: 0 }
    }
}

/// A rank's position: the job that it belongs to, and its cursor in that job's trace.
#[derive(Clone, Default)]
pub struct Place {
    /// The job's number, from 1; 0 before the first call.
    job: u32,
    cursor: Cursor,
}

/// Jobs whose ranks are numbered one job's behind the other's, in a run that begins with as many worlds
/// ([`mpi::Setup::worlds`]).
pub struct Jobs<'t> {
    jobs: Vec<Job<'t>>,
    names: &'static [&'static str],
    /// The only job that does anything.
    only: Option<usize>,
}

impl<'t> Jobs<'t> {
    /// Puts the jobs into one run, in this order. Ranks and call sites of a job are numbered behind those of
    /// the jobs before it; functions of one name share a number.
    pub fn new(mut jobs: Vec<Job<'t>>) -> Jobs<'t> {
        let mut names: Vec<&'static str> = Vec::new();
        let (mut first, mut first_site) = (0, 0);
        for job in &mut jobs {
            let number = |function: &&'static str| {
                let known = names.iter().position(|known| known == function);
                known.unwrap_or_else(|| {
                    names.push(function);
                    names.len() - 1
                }) as u16
            };
            job.functions = job.replay.names().iter().map(number).collect();
            job.replay.number_functions(&job.functions);
            (job.first, job.first_site) = (first, first_site);
            first += job.ranks;
            first_site += job.replay.sites();
        }
        Jobs { jobs, names: names.leak(), only: None }
    }

    /// Returns the names of the functions that their calls have, for [`mpi::Setup`].
    pub fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// Returns the ranks of each, for [`mpi::Setup::worlds`].
    pub fn worlds(&self) -> Vec<u32> {
        self.jobs.iter().map(|job| job.ranks).collect()
    }

    /// All begin from the start; with a number that job alone, while the others' ranks end at once.
    // The machine and all places on it stay as they are, so that nothing but the others' messages makes a
    // difference.
    pub fn restart(&mut self, only: Option<usize>) {
        self.only = only;
        self.jobs.iter_mut().for_each(|job| job.replay.restart(job.begins));
    }

    /// Returns how long each job took, from when it begins until its last rank has ended, on process 0. All
    /// call it after the run.
    pub fn took(&self, mpi: &Mpi) -> Option<Vec<Span>> {
        let (first, local) = mpi.ranks_of(mpi.processes().1);
        let mut own = Vec::new();
        for job in &self.jobs {
            let here = job.first.max(first)..(job.first + job.ranks).min(first + local);
            let world = mpi.world();
            let end = here.map(|rank| world.messages.clock(rank)).max();
            own.u64(end.unwrap_or(Time::ZERO).max(job.begins).since(job.begins).as_ps());
        }
        let parts = mpi.gather_bytes(own)?;
        let mut all = vec![Span::ZERO; self.jobs.len()];
        for part in &parts {
            let mut part = Take(part);
            all.iter_mut().for_each(|all| *all = (*all).max(Span::from_ps(part.u64())));
        }
        Some(all)
    }

    /// Returns what was found of each on all processes, on process 0, if clocks were compared. All call it
    /// after the run.
    pub fn comparisons(&self, mpi: &Mpi) -> Vec<Comparison> {
        self.jobs.iter().filter_map(|job| job.replay.comparison(mpi)).collect()
    }

    fn is_silent(&self, job: usize) -> bool {
        self.only.is_some_and(|only| only != job)
    }

    fn of_rank(&self, rank: u32) -> usize {
        self.jobs.partition_point(|job| job.first <= rank) - 1
    }
}

impl Workload for Jobs<'_> {
    type Cursor = Place;

    fn next(&mut self, caller: &Caller, place: &mut Place, answer: &Answer) -> (Span, Call) {
        if place.job == 0 {
            place.job = self.of_rank(caller.rank) as u32 + 1;
        }
        let at = place.job as usize - 1;
        if self.is_silent(at) {
            return (Span::ZERO, Call::End);
        }
        let Job { replay, first, .. } = &mut self.jobs[at];
        replay.next(&caller.of_world(*first), &mut place.cursor, answer)
    }

    fn message(&mut self, caller: &Caller, place: &mut Place) -> Option<(Span, u16, Message)> {
        let Job { replay, first, functions, .. } = &mut self.jobs[(place.job as usize).checked_sub(1)?];
        let (computed, function, message) = replay.message(&caller.of_world(*first), &mut place.cursor)?;
        Some((computed, functions[usize::from(function)], message))
    }

    fn series(&mut self, caller: &Caller, place: &Place) -> Option<Series> {
        let Job { replay, first, functions, .. } = &mut self.jobs[(place.job as usize).checked_sub(1)?];
        let series = replay.series(&caller.of_world(*first), &place.cursor)?;
        Some(Series { function: functions[usize::from(series.function)], ..series })
    }

    fn start(&mut self, caller: &Caller, place: &mut Place, partners: &Partners) -> Option<(Span, Start)> {
        let Job { replay, first, .. } = &mut self.jobs[(place.job as usize).checked_sub(1)?];
        replay.start(&caller.of_world(*first), &mut place.cursor, partners)
    }

    fn wait(&mut self, caller: &Caller, place: &mut Place) -> Option<(Span, u16, &Awaited)> {
        let Job { replay, first, functions, .. } = &mut self.jobs[(place.job as usize).checked_sub(1)?];
        let (computed, function, awaited) = replay.wait(&caller.of_world(*first), &mut place.cursor)?;
        Some((computed, functions[usize::from(function)], awaited))
    }

    fn has_volley(&self, place: &Place) -> bool {
        (place.job as usize).checked_sub(1).is_some_and(|job| self.jobs[job].replay.has_volley(&place.cursor))
    }

    fn volley(
        &self,
        place: &Place,
        with: impl FnOnce(u32) -> Option<[Partners; 2]>,
        others: &mut [u32; MAX_MESSAGES],
    ) -> Option<Rc<Volley>> {
        self.jobs[(place.job as usize).checked_sub(1)?].replay.volley(&place.cursor, with, others)
    }

    fn fire(&mut self, caller: &Caller, place: &mut Place, computed: &mut Vec<Span>) {
        if let Some(job) = (place.job as usize).checked_sub(1) {
            let Job { replay, first, .. } = &mut self.jobs[job];
            replay.fire(&caller.of_world(*first), &mut place.cursor, computed);
        }
    }

    fn function(&self, place: &Place, call: &Call) -> Option<u16> {
        let job = &self.jobs[(place.job as usize).checked_sub(1)?];
        job.replay.function(&place.cursor, call).map(|function| job.functions[usize::from(function)])
    }

    fn begins_with(&self) -> Option<u16> {
        None
    }

    fn begins_at(&self, rank: u32) -> Time {
        let job = self.of_rank(rank);
        if self.is_silent(job) { Time::ZERO } else { self.jobs[job].begins }
    }

    fn site(&self, place: &Place) -> u32 {
        let job = (place.job as usize).checked_sub(1).map(|job| &self.jobs[job]);
        job.map_or(0, |job| job.first_site + job.replay.site(&place.cursor))
    }

    fn site_name(&self, site: u32) -> String {
        let job = &self.jobs[self.jobs.partition_point(|job| job.first_site <= site) - 1];
        format!("{}: {}", job.name, job.replay.site_name(site - job.first_site))
    }

    fn place(&self, place: &Place) -> String {
        let Some(job) = (place.job as usize).checked_sub(1) else { return String::new() };
        let Job { name, replay, first, ranks, .. } = &self.jobs[job];
        format!(
            "{} in job {} ({name}, whose ranks are {first} to {} here)",
            replay.place(&place.cursor),
            job + 1,
            first + ranks - 1
        )
    }
}
