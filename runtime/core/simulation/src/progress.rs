//! One line on stderr that says how far the run is.

use crate::host::{HostMeter, resident_bytes};
use crate::options::{Options, ProgressMode};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use mpi::World;
use report::units::{bytes, grouped, short};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

/// A run shorter than this shows no progress.
const QUIET_S: f64 = 1.0;
/// Between two lines where stderr is not a terminal.
const PLAIN_S: f64 = 5.0;
/// Between two drawings of the line on a terminal.
const DRAWN_S: f64 = 0.1;

/// The progress line. Starts no thread; costs a clock reading a tick, and nothing else in the first second.
pub struct Progress {
    meter: HostMeter,
    shown: ProgressDisplay,
    ranks: u64,
    last: (f64, u64),
    /// The greatest virtual time that was seen: ranks run ahead of each other.
    latest_ps: u64,
    /// The path at which the run before may have left its report. This run replaces that report at its end.
    report: Option<PathBuf>,
    /// The virtual time of the run before, if it had as many ranks; 0 if none is known. Read when there is
    /// something to show.
    before_ps: Option<u64>,
}

enum ProgressDisplay {
    Never,
    Bar(Option<ProgressBar>),
    Plain,
}

impl Progress {
    /// Returns the progress of a run, as its options ask for it.
    pub fn new(options: &Options) -> Progress {
        let ranks = options.np.into();
        let terminal = std::io::stderr().is_terminal();
        let shown = match options.progress {
            _ if options.quiet => ProgressDisplay::Never,
            ProgressMode::Off => ProgressDisplay::Never,
            ProgressMode::Auto if !terminal => ProgressDisplay::Never,
            ProgressMode::On if !terminal => ProgressDisplay::Plain,
            _ => ProgressDisplay::Bar(None),
        };
        let report = options.report.clone();
        Progress {
            meter: HostMeter::start(),
            shown,
            ranks,
            last: (0.0, 0),
            latest_ps: 0,
            report,
            before_ps: None,
        }
    }

    /// Reads the host's clock; called as often as the run likes.
    pub fn tick(&mut self, world: &World) {
        let wait = match self.shown {
            ProgressDisplay::Never => return,
            ProgressDisplay::Bar(_) => QUIET_S.max(self.last.0 + DRAWN_S),
            ProgressDisplay::Plain => self.last.0 + PLAIN_S,
        };
        let now = self.meter.wall_s();
        if now < wait {
            return;
        }
        let (done, time) = (u64::from(world.ended()), world.messages.clock(world.messages.me()));
        let (messages, _) = world.messages.ranks().traffic();
        let rate = messages.saturating_sub(self.last.1) as f64 / (now - self.last.0).max(1e-3);
        self.last = (now, messages);
        self.latest_ps = self.latest_ps.max(time.as_ps());
        let (ranks, report) = (self.ranks, &self.report);
        let before =
            *self.before_ps.get_or_insert_with(|| report.as_ref().map_or(0, |path| time_before(path, ranks)));
        let mut text = format!("virtual time {}", short(time.as_ps()));
        if let Some(left) = left(now, self.latest_ps, before) {
            text += &format!(" of {}, about {} left", short(before), HumanDuration(left));
        }
        text +=
            &format!(", {} messages/s, {} of memory", grouped(rate as u128), bytes(resident_bytes().into()));
        match &mut self.shown {
            ProgressDisplay::Never => {}
            ProgressDisplay::Plain => engine::stderr::line(format_args!(
                "xsim: {} of {} ranks done, {text}",
                grouped(done.into()),
                grouped(self.ranks.into())
            )),
            ProgressDisplay::Bar(bar) => {
                let bar = bar.get_or_insert_with(|| new_bar(self.ranks));
                bar.set_position(done);
                bar.set_message(text);
                // Redrawn also where nothing changed: output of the program may have taken it away.
                bar.tick();
            }
        }
    }

    /// Returns `true` if a line stands on the terminal that other output has to take away (the next tick
    /// draws it again).
    #[inline]
    pub fn is_drawn(&self) -> bool {
        matches!(self.shown, ProgressDisplay::Bar(Some(_)))
    }

    /// Takes the line away for good.
    pub fn finish(&mut self) {
        if let ProgressDisplay::Bar(Some(bar)) = &self.shown {
            bar.finish_and_clear();
        }
        self.shown = ProgressDisplay::Never;
    }
}

/// Reads the virtual time that the report at `path` tells of as many ranks; 0 if there is none.
fn time_before(path: &std::path::Path, ranks: u64) -> u64 {
    report::read(path)
        .ok()
        .filter(|report| report.simulated.ranks == ranks)
        .map_or(0, |report| report.simulated.virtual_time_ps)
}

/// Returns what is left of a run that got to virtual time `at_ps` in `elapsed` seconds, if it ends at
/// `before_ps`, and goes on at its pace.
// The first fiftieth of a run says nothing of its pace: ranks start. Beyond the end of the run before, that
// one says nothing.
fn left(elapsed: f64, at_ps: u64, before_ps: u64) -> Option<Duration> {
    (at_ps > before_ps / 50 && at_ps < before_ps)
        .then(|| Duration::from_secs_f64(elapsed * (before_ps - at_ps) as f64 / at_ps as f64))
}

fn new_bar(ranks: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(ranks), ProgressDrawTarget::stderr_with_hz(10));
    // `wide_msg` is cut to the terminal: the line must stay one line, which other output takes away.
    let style =
        ProgressStyle::with_template("xsim: {bar:10} {human_pos} of {human_len} ranks done, {wide_msg}");
    bar.set_style(style.expect("the template is fixed and valid"));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_the_run_before() {
        assert_eq!(left(10.0, 250, 1000), Some(Duration::from_secs(30)));
        // Too early, over the end, and nothing known.
        assert_eq!((left(10.0, 20, 1000), left(10.0, 1000, 1000), left(10.0, 5, 0)), (None, None, None));
    }
}
