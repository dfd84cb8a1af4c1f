//! One line on stderr that says how far the run is.

use crate::host::HostMeter;
use crate::options::{Options, ProgressMode};
use crate::summary::grouped;
use engine::Time;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A run shorter than this shows no progress.
const QUIET_S: f64 = 1.0;
/// Between two lines where stderr is not a terminal.
const PLAIN_S: f64 = 5.0;

/// The progress line. Starts no thread; costs a clock reading a tick, and nothing else in the first second.
pub struct Progress {
    meter: HostMeter,
    shown: Shown,
    ranks: u64,
    last: (f64, u64),
}

enum Shown {
    Never,
    Bar(Option<ProgressBar>),
    Plain,
}

impl Progress {
    /// The progress of `ranks` ranks, as the options ask for it.
    pub fn new(options: &Options, ranks: u64) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let shown = match options.progress {
            _ if options.quiet => Shown::Never,
            ProgressMode::Off => Shown::Never,
            ProgressMode::Auto if !terminal => Shown::Never,
            ProgressMode::On if !terminal => Shown::Plain,
            _ => Shown::Bar(None),
        };
        Progress { meter: HostMeter::start(), shown, ranks, last: (0.0, 0) }
    }

    /// Called about every 100 ms of host time: `done` ranks have ended, the slowest clock is `time`,
    /// `messages` have been sent since the start.
    pub fn tick(&mut self, done: u64, time: Time, messages: u64) {
        let wait = match self.shown {
            Shown::Never => return,
            Shown::Bar(_) => QUIET_S,
            Shown::Plain => self.last.0 + PLAIN_S,
        };
        let now = self.meter.wall_s();
        if now < wait {
            return;
        }
        let rate = messages.saturating_sub(self.last.1) as f64 / (now - self.last.0).max(1e-3);
        self.last = (now, messages);
        let text = format!("virtual time {}, {} messages/s", crate::summary::short(time.as_ps()), grouped(rate as u128));
        match &mut self.shown {
            Shown::Never => {}
            Shown::Plain => eprintln!("xsim: {done} of {} ranks done, {text}", self.ranks),
            Shown::Bar(bar) => {
                let bar = bar.get_or_insert_with(|| new_bar(self.ranks));
                bar.set_position(done);
                bar.set_message(text);
                // Redrawn also where nothing changed: `clear` may have taken it away.
                bar.tick();
            }
        }
    }

    /// Takes the line away before other output; the next tick draws it again. O(1), free where no line is shown.
    #[inline]
    pub fn clear(&mut self) {
        if let Shown::Bar(Some(bar)) = &self.shown {
            bar.suspend(|| {});
        }
    }

    /// Takes the line away for good.
    pub fn finish(&mut self) {
        if let Shown::Bar(Some(bar)) = &self.shown {
            bar.finish_and_clear();
        }
        self.shown = Shown::Never;
    }
}

fn new_bar(ranks: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(ranks), ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("xsim: {bar:24} {human_pos} of {human_len} ranks done, {msg}");
    bar.set_style(style.expect("the template is fixed and valid"));
    bar
}
