//! Choice of the way in which globals are private.

use std::fmt::Write;
use std::ops::Range;

use super::clone::{self, Cloned};
use super::{Private, Swapped};
use crate::config::{Config, GlobalsMode};
use crate::image::Image;
use crate::{helpers, teams};

/// Copying this much data between ranks takes less than a microsecond.
const SMALL_DATA: usize = 16 << 10;

/// Up to this many ranks, a program that starts threads is cloned rather than copied: with teams, a process
/// cannot have more.
const MAX_RANKS_WITH_THREADS: u32 = 4096;

/// Globals of the ranks, by the method that makes them private.
pub(crate) enum Globals {
    /// One set for all ranks.
    Shared,
    /// Copied in when their rank runs.
    Copied(Box<Swapped>),
    /// An image for each rank, with the thread-local blocks copied, if there are any.
    Cloned(Box<Cloned>, Option<Box<Swapped>>),
}

impl Globals {
    /// Puts the rank's values in place.
    #[inline]
    pub(crate) fn mount(&mut self, rank: u32) {
        match self {
            Globals::Shared => {}
            Globals::Copied(copied) => copied.mount(rank),
            Globals::Cloned(cloned, thread_local) => {
                if let Some(copied) = thread_local {
                    copied.mount(rank);
                }
                cloned.mount(rank);
            }
        }
    }

    /// Starts the rank's globals.
    pub(crate) fn start(&mut self, rank: u32) {
        let (copied, cloned) = self.parts();
        copied.into_iter().for_each(|copied| copied.mount(rank));
        cloned.into_iter().for_each(|cloned| cloned.start(rank));
    }

    /// Releases the globals of the mounted rank, which has ended.
    pub(crate) fn ended(&mut self, rank: u32) {
        let (copied, cloned) = self.parts();
        copied.into_iter().for_each(|copied| copied.ended(rank));
        cloned.into_iter().for_each(|cloned| cloned.ended(rank));
    }

    /// Returns what is copied, and what is cloned.
    #[inline]
    fn parts(&mut self) -> (Option<&mut Swapped>, Option<&mut Cloned>) {
        match self {
            Globals::Shared => (None, None),
            Globals::Copied(copied) => (Some(copied), None),
            Globals::Cloned(cloned, thread_local) => (thread_local.as_deref_mut(), Some(cloned)),
        }
    }

    /// Returns the bytes that parked ranks keep.
    pub(crate) fn saved_bytes(&self) -> usize {
        match self {
            Globals::Shared => 0,
            Globals::Copied(copied) => copied.saved_bytes(),
            Globals::Cloned(cloned, thread_local) => {
                cloned.saved_bytes() + thread_local.as_ref().map_or(0, |copied| copied.saved_bytes())
            }
        }
    }
}

/// Returns private globals as `config` asks for, and memory that is swapped; writes the reason to `why`.
pub(crate) fn globals(
    images: &[Image],
    config: &Config,
    why: &mut String,
) -> Result<(Globals, Vec<Range<usize>>), String> {
    let mut private = Private::of(images);
    let missing = private.fold(&images[0], &config.globals_fold);
    // A program that is spawned has its own names, and perhaps none of these.
    if let Some(name) = missing.first().filter(|_| images[0].is_first()) {
        return Err(format!(
            "this program has no variable {name} to fold: give its symbol's name (nm lists them; Fortran \
             common blocks end in _)"
        ));
    }
    if images.iter().any(|image| image.thread_local().is_some()) {
        teams::note_thread_locals();
    }
    let (data, ranks) = (private.bytes(), config.ranks);
    let image: usize =
        images.iter().flat_map(|image| image.segments()).map(|segment| segment.file.len()).sum();
    // Zero data costs memory only where it is written, but a program that has much writes it.
    let fits = (image + data).saturating_mul(ranks as usize) < memory_bytes() / 2;
    let is_threaded = ranks <= MAX_RANKS_WITH_THREADS && images.iter().any(Image::starts_threads);
    let mode = match config.globals {
        GlobalsMode::Auto
            if is_threaded
                && ranks > 1
                && fits
                && config.globals_fold.is_empty()
                && clone::obstacle(images).is_none() =>
        {
            let _ = write!(
                why,
                "; each rank has a clone of the program, since threads that it starts use its globals while \
                 others run"
            );
            GlobalsMode::Clone
        }
        GlobalsMode::Auto if data <= SMALL_DATA => {
            let _ = write!(why, "; globals are copied, since the program has only {data} bytes");
            GlobalsMode::Copy
        }
        GlobalsMode::Auto if !config.globals_fold.is_empty() => {
            let _ = write!(why, "; globals ({data} bytes) are copied, since some are folded");
            GlobalsMode::Copy
        }
        GlobalsMode::Auto => match clone::obstacle(images) {
            None if fits => {
                let _ = write!(
                    why,
                    "; each rank has a clone of the program, since copying {data} bytes of globals would be \
                     slower"
                );
                GlobalsMode::Clone
            }
            None => {
                let _ = write!(
                    why,
                    "; globals ({data} bytes) are copied, since {ranks} clones of {} bytes are too many",
                    image + data
                );
                GlobalsMode::Copy
            }
            Some(obstacle) => {
                let _ = write!(
                    why,
                    "; globals ({data} bytes) are copied, though clones would be faster: {obstacle}"
                );
                GlobalsMode::Copy
            }
        },
        mode => {
            let _ = write!(why, "; globals ({data} bytes) as asked");
            mode
        }
    };
    let ranges = |private: &Private| -> Vec<Range<usize>> {
        private.regions.iter().map(|region| region.range.clone()).collect()
    };
    match mode {
        GlobalsMode::None => Ok((Globals::Shared, Vec::new())),
        GlobalsMode::Clone if !config.globals_fold.is_empty() => {
            Err("folded globals need copied globals: leave out the one or the other".into())
        }
        GlobalsMode::Clone => {
            let cloned = Cloned::new(images, ranks)?;
            let private = Private::beside_clones(images);
            let swapped = ranges(&private);
            let copied =
                if swapped.is_empty() { None } else { Some(Box::new(Swapped::new(private, ranks)?)) };
            Ok((Globals::Cloned(Box::new(cloned), copied), swapped))
        }
        GlobalsMode::Copy | GlobalsMode::Auto => {
            if ranks > 1 {
                helpers::note_moved(helpers::GLOBALS);
            }
            let swapped = ranges(&private);
            Ok((Globals::Copied(Box::new(Swapped::new(private, ranks)?)), swapped))
        }
    }
}

/// Returns memory of this machine.
fn memory_bytes() -> usize {
    // SAFETY: asks for numbers.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages).unwrap_or(1 << 20) * usize::try_from(size).unwrap_or(4096)
}
