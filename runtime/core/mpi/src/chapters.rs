//! The chapters of MPI beside messages: here is listed what there is. A new one is a crate, a field and a
//! line each where this file says so.

use crate::collective::Collectives;
use crate::messages::Messages;
use dynamic::Dynamic;
use engine::{Span, Time};
use failure::Agreements;
use file::OpenFiles;
use objects::Objects;
use p2p::chapter::id::ChapterId;
use p2p::chapter::{Chapter, Errand};
use p2p::request::RequestArray;
use partitioned::Partitioned;
use rma::Rma;
use schedule::choose::Policy;

/// All chapters.
pub struct Chapters {
    /// Chapter 6, and the making of communicators.
    pub collectives: Collectives,
    /// Chapter 12.
    pub rma: Rma,
    /// Chapter 4.
    pub partitioned: Partitioned,
    /// Chapter 14.
    pub files: OpenFiles,
    /// Chapter 11.
    pub dynamic: Dynamic,
    /// Agreements that complete whichever ranks fail, an extension of the standard.
    pub failures: Agreements,
}

/// Number of subsystems.
const COUNT: usize = 6;

impl Chapters {
    /// Makes chapters in which nothing is under way. `batch` says whether collectives whose members are all
    /// here may run in one loop over clocks, `start_up` how long a spawned rank takes to begin.
    pub(crate) fn new(batch: bool, policy: Policy, start_up: Span) -> Chapters {
        Chapters {
            collectives: Collectives::new(batch, policy),
            rma: Rma::default(),
            partitioned: Partitioned::default(),
            files: OpenFiles::default(),
            dynamic: Dynamic::new(start_up),
            failures: Agreements::default(),
        }
    }

    /// Returns all, by their names.
    fn all(&self) -> [(ChapterId, &dyn Chapter); COUNT] {
        [
            (collective::CHAPTER, &self.collectives),
            (rma::CHAPTER, &self.rma),
            (partitioned::CHAPTER, &self.partitioned),
            (file::CHAPTER, &self.files),
            (dynamic::CHAPTER, &self.dynamic),
            (failure::CHAPTER, &self.failures),
        ]
    }

    /// Returns all, by their names, to change them.
    fn all_mut(&mut self) -> [(ChapterId, &mut dyn Chapter); COUNT] {
        [
            (collective::CHAPTER, &mut self.collectives),
            (rma::CHAPTER, &mut self.rma),
            (partitioned::CHAPTER, &mut self.partitioned),
            (file::CHAPTER, &mut self.files),
            (dynamic::CHAPTER, &mut self.dynamic),
            (failure::CHAPTER, &mut self.failures),
        ]
    }

    /// Returns `true` if something of any of them can go on now.
    // Each by itself and not through `all`: asked at every switch.
    #[inline(always)]
    pub(crate) fn has_work(&self) -> bool {
        self.collectives.has_work()
            || self.rma.has_work()
            || self.partitioned.has_work()
            || self.files.has_work()
            || self.dynamic.has_work()
    }

    /// The chapter of this name.
    // A search among so few is cheaper than a table, and asked once an operation.
    pub(crate) fn of(&mut self, id: ChapterId) -> &mut dyn Chapter {
        let found = self.all_mut().into_iter().find(|(name, _)| *name == id);
        found.expect("what names a chapter was made by it").1
    }

    /// Returns the chapter of this name, to look at it.
    pub(crate) fn get(&self, id: ChapterId) -> &dyn Chapter {
        let found = self.all().into_iter().find(|(name, _)| *name == id);
        found.expect("what names a chapter was made by it").1
    }

    /// Returns the names of the chapters.
    pub(crate) fn ids(&self) -> [ChapterId; COUNT] {
        self.all().map(|(id, _)| id)
    }

    /// Goes on with each as far as it can; what needs functions of the program then, and whose that is.
    // In the order of the list. It does not matter for any time; the first with an errand has it done before
    // the others are asked again.
    pub(crate) fn work(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
    ) -> Option<(ChapterId, Box<dyn Errand>)> {
        self.all_mut().into_iter().find_map(|(id, chapter)| {
            let errand = if chapter.has_work() { chapter.work(messages, objects) } else { None };
            errand.map(|errand| (id, errand))
        })
    }

    /// The first open thing of a rank among all that wait for time: whose it is, when, and because of which
    /// rank.
    // Each by itself and not through `all`: asked at every decision.
    #[inline(always)]
    pub(crate) fn first_open(&self, rank: u32) -> Option<(ChapterId, Time, u32)> {
        let open = [
            (collective::CHAPTER, self.collectives.first_open(rank)),
            (rma::CHAPTER, self.rma.first_open(rank)),
            (file::CHAPTER, self.files.first_open(rank)),
            (dynamic::CHAPTER, self.dynamic.first_open(rank)),
        ];
        let open = open.into_iter().filter_map(|(id, first)| first.map(|(time, source)| (id, time, source)));
        open.min_by_key(|&(id, time, source)| (time, source, id.0))
    }

    /// Returns `true` if operations are held back that could begin.
    pub(crate) fn holds(&self) -> bool {
        self.all().iter().any(|(_, chapter)| chapter.holds())
    }

    /// Returns what is held back begins, because nothing else can run, on all processes if that is `agreed`;
    /// false if nothing was.
    // All of them, even after one had something: `fold` and not `any`, which would stop.
    pub(crate) fn start_held(&mut self, messages: &mut Messages, objects: &Objects, agreed: bool) -> bool {
        self.all_mut()
            .into_iter()
            .fold(false, |any, (_, chapter)| chapter.start_held(messages, objects, agreed) || any)
    }

    /// Notes that the mounted rank asks whether these requests are complete.
    pub(crate) fn asked(&mut self, messages: &mut Messages, objects: &Objects, requests: RequestArray) {
        self.all_mut().into_iter().for_each(|(_, chapter)| chapter.asked(messages, objects, requests));
    }

    /// Returns `true` if something under way needs a communicator (its index) that its members have freed.
    pub(crate) fn need_comm(&self, comm: u32) -> bool {
        self.all().iter().any(|(_, chapter)| chapter.needs_comm(comm))
    }

    /// Lets chapters forget a communicator that is no more.
    pub(crate) fn forget_comm(&mut self, comm: u32) {
        self.all_mut().into_iter().for_each(|(_, chapter)| chapter.forget_comm(comm));
    }
}
