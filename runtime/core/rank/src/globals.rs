//! Globals of the program, private to each rank.

pub(crate) mod choice;
pub(crate) mod clone;
pub(crate) mod copy;
pub(crate) mod early;
pub(crate) mod late;
pub(crate) mod streams;
mod touched;
mod whole;

use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::image::Image;
use crate::lines::LINE;
use crate::program::Program;
use crate::symbols::Mapped;

/// Writable memory of the program that each rank has for itself.
#[derive(Clone, Debug)]
pub(crate) struct DataRegion {
    pub(crate) range: Range<usize>,
    /// From here on it is zero until written; nothing before the program runs has touched it.
    pub(crate) zero: usize,
}

/// Private memory of a program, and the variables in it that stay common.
pub(crate) struct Private {
    pub(crate) regions: Vec<DataRegion>,
    /// Variables inside the regions that belong to shared libraries and stay common.
    pub(crate) common: Vec<Range<usize>>,
}

impl Private {
    /// Returns the writable data and thread-local blocks of the program and of its own libraries.
    pub(crate) fn of(images: &[Image]) -> Private {
        let mut private = Private { regions: Vec::new(), common: Vec::new() };
        let streams = streams::of(images);
        let is_stream = |range: &Range<usize>, name| streams::is_stream(name) && streams.contains(range);
        for image in images {
            private.add_image(image);
            for (range, name) in image.borrowed() {
                // What a spawned program has of this kind is its alone (`another`).
                if images[0].is_first()
                    && !is_stream(&range, name)
                    && !images[1..].iter().any(|library| library.defines(name))
                {
                    private.common.push(range);
                    continue;
                }
                // What the program borrows from a library of its own is private like the rest, and
                // has its initial value in the zero part.
                if let Some(region) =
                    private.regions.iter_mut().find(|region| region.range.contains(&range.start))
                {
                    region.zero = region.zero.max(range.end);
                }
            }
        }
        private.add_streams(streams);
        private.common.sort_by_key(|r| r.start);
        private
    }

    /// Returns the writable data and thread-local blocks of libraries that are loaded late.
    fn of_late(images: &[Image]) -> Private {
        let mut private = Private { regions: Vec::new(), common: Vec::new() };
        images.iter().for_each(|image| private.add_image(image));
        private.common.sort_by_key(|r| r.start);
        private
    }

    fn add_image(&mut self, image: &Image) {
        for (file, zero) in image.writable() {
            // The rest of the last line is the segment's as well: memory comes in pages.
            let end = zero.end.next_multiple_of(LINE);
            self.regions.push(DataRegion { range: file.start..end, zero: zero.start });
        }
        if let Some(block) = image.thread_local() {
            self.regions.push(DataRegion { zero: block.end, range: block });
        }
        self.common.extend(image.linkage());
    }

    /// Returns only what clones do not have: the thread-local blocks, and the C++ library's streams.
    pub(crate) fn beside_clones(images: &[Image]) -> Private {
        let blocks = images.iter().filter_map(Image::thread_local);
        let regions = blocks.map(|block| DataRegion { zero: block.end, range: block }).collect();
        let mut private = Private { regions, common: Vec::new() };
        private.add_streams(streams::of(images));
        private
    }

    /// Adds the streams that are not in data of the program.
    fn add_streams(&mut self, streams: Vec<Range<usize>>) {
        for range in streams {
            if !self.regions.iter().any(|region| region.range.contains(&range.start)) {
                self.regions.push(DataRegion { zero: range.end, range });
            }
        }
    }

    /// Takes the named variables out: all ranks share them. Returns the names that the program does not have.
    pub(crate) fn fold(&mut self, image: &Image, names: &[String]) -> Vec<String> {
        let Some(file) = Mapped::open(&image.file()) else { return names.to_vec() };
        let mut missing = Vec::new();
        for name in names {
            match file.variable(name) {
                Some((address, size)) => self.cut(image.bias + address..image.bias + address + size),
                None => missing.push(name.clone()),
            }
        }
        missing
    }

    fn cut(&mut self, hole: Range<usize>) {
        let regions = std::mem::take(&mut self.regions);
        for region in regions {
            for part in [
                region.range.start..region.range.end.min(hole.start),
                region.range.start.max(hole.end)..region.range.end,
            ] {
                if part.start < part.end {
                    self.regions
                        .push(DataRegion { zero: region.zero.clamp(part.start, part.end), range: part });
                }
            }
        }
    }

    /// Returns the common variables, as far as they are inside the regions.
    pub(crate) fn shared_parts(&self) -> impl Iterator<Item = Range<usize>> {
        self.regions.iter().flat_map(|region| {
            let parts =
                self.common.iter().map(|c| c.start.max(region.range.start)..c.end.min(region.range.end));
            parts.filter(|part| part.start < part.end)
        })
    }

    /// Returns the bytes of all regions.
    pub(crate) fn bytes(&self) -> usize {
        self.regions.iter().map(|r| r.range.len()).sum()
    }
}

/// Private data that is swapped when another rank is put in place.
pub(crate) enum Swapped {
    /// All of it.
    Whole(whole::Whole),
    /// The lines that were written.
    Lines(copy::Copied),
}

impl Swapped {
    /// Takes the initial values; to be called before any code of the program runs.
    pub(crate) fn new(private: Private, ranks: u32) -> Result<Swapped, String> {
        if whole::Whole::suits(&private) {
            whole::Whole::new(&private, ranks).map(Swapped::Whole)
        } else {
            copy::Copied::new(private, ranks).map(Swapped::Lines)
        }
    }

    /// Puts the rank's values in place.
    #[inline]
    pub(crate) fn mount(&mut self, rank: u32) {
        match self {
            Swapped::Whole(whole) => whole.mount(rank),
            Swapped::Lines(copied) => copied.mount(rank),
        }
    }

    /// Releases the globals of the mounted rank, which has ended.
    pub(crate) fn ended(&mut self, rank: u32) {
        match self {
            Swapped::Whole(whole) => whole.ended(rank),
            Swapped::Lines(copied) => copied.ended(rank),
        }
    }

    /// Brings into the cache where `prefetch` looks.
    #[inline]
    pub(crate) fn prefetch_place(&self, rank: u32) {
        match self {
            Swapped::Whole(whole) => whole.prefetch_place(rank),
            Swapped::Lines(copied) => copied.prefetch_place(rank),
        }
    }

    /// Brings what mounting the rank will read into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, rank: u32) {
        match self {
            Swapped::Whole(whole) => whole.prefetch(rank),
            Swapped::Lines(copied) => copied.prefetch(rank),
        }
    }

    /// Returns the bytes of saved values.
    pub(crate) fn saved_bytes(&self) -> usize {
        match self {
            Swapped::Whole(whole) => whole.saved_bytes(),
            Swapped::Lines(copied) => copied.saved_bytes(),
        }
    }
}

/// Returns the program and those of its libraries that each rank has for itself.
pub(crate) fn own_images(program: &Program, named: &[String]) -> Vec<Image> {
    // SAFETY: looks up a symbol by a valid name.
    let allocator = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"free".as_ptr()) } as usize;
    let mut images = vec![program.image.clone()];
    // A library with an allocator serves the process: what it gave before the ranks began, it takes back
    // after they have ended.
    let is_own = |library: &&Image| library.is_own(named) && !library.contains(allocator);
    images.extend(program.libraries.iter().filter(is_own).cloned());
    images
}

/// Memory that is in place only while its rank is mounted: all ranges, and what spans them.
struct Exchanged {
    span: Range<usize>,
    ranges: Vec<Range<usize>>,
}

static SWAPPED: AtomicPtr<Exchanged> = AtomicPtr::new(null_mut());

fn swapped() -> Option<&'static Exchanged> {
    // SAFETY: null, or leaked by `add_swapped`.
    unsafe { SWAPPED.load(Relaxed).as_ref() }
}

/// These ranges too are in place only while their rank is mounted.
// What there was before is not freed: it is little, and comes once a program.
pub(crate) fn add_swapped(ranges: Vec<Range<usize>>) {
    let known = swapped().map_or(&[][..], |swapped| &swapped.ranges);
    let ranges: Vec<_> = known.iter().cloned().chain(ranges).collect();
    let start = ranges.iter().map(|range| range.start).min().unwrap_or(0);
    let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
    SWAPPED.store(Box::leak(Box::new(Exchanged { span: start..end, ranges })), Relaxed);
}

/// Returns `true` if `start..start + len` touches memory that is swapped between ranks.
#[inline]
pub(crate) fn is_swapped(start: usize, len: usize) -> bool {
    let touches = |range: &Range<usize>| start < range.end && range.start < start.saturating_add(len);
    swapped().is_some_and(|swapped| touches(&swapped.span) && swapped.ranges.iter().any(touches))
}
