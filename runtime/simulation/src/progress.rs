//! One line on stderr that says how far the run is.

use crate::host::HostMeter;
use crate::options::{Options, ProgressMode};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mpi::World;
use report::units::grouped;
use std::io::IsTerminal;

/// A run shorter than this shows no progress.
const QUIET_S: f64 = 1.0;
/// Between two lines where stderr is not a terminal.
const PLAIN_S: f64 = 5.0;
/// Between two drawings of the line on a terminal.
const DRAWN_S: f64 = 0.1;

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
    /// The progress of a run, as its options ask for it.
    pub fn new(options: &Options) -> Progress {
        let ranks = options.np.into();
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

    /// Called as often as the run likes, it reads the host's clock.
    pub fn tick(&mut self, world: &World) {
        let wait = match self.shown {
            Shown::Never => return,
            Shown::Bar(_) => QUIET_S.max(self.last.0 + DRAWN_S),
            Shown::Plain => self.last.0 + PLAIN_S,
        };
        let now = self.meter.wall_s();
        if now < wait {
            return;
        }
        let (done, time) = (u64::from(world.ended()), world.messages.clock(world.messages.me()));
        let (messages, _) = world.messages.traffic();
        let rate = messages.saturating_sub(self.last.1) as f64 / (now - self.last.0).max(1e-3);
        self.last = (now, messages);
        let text = format!("virtual time {}, {} messages/s", report::units::short(time.as_ps()), grouped(rate as u128));
        match &mut self.shown {
            Shown::Never => {}
            Shown::Plain => eprintln!("xsim: {done} of {} ranks done, {text}", self.ranks),
            Shown::Bar(bar) => {
                let bar = bar.get_or_insert_with(|| new_bar(self.ranks));
                bar.set_position(done);
                bar.set_message(text);
                // Redrawn also where nothing changed: output of the program may have taken it away.
                bar.tick();
            }
        }
    }

    /// Whether a line stands on the terminal that other output has to take away (the next tick draws it again).
    #[inline]
    pub fn is_drawn(&self) -> bool {
        matches!(self.shown, Shown::Bar(Some(_)))
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
    // `wide_msg` is cut to the terminal: the line must stay one line, which other output takes away.
    let style = ProgressStyle::with_template("xsim: {bar:10} {human_pos} of {human_len} ranks done, {wide_msg}");
    bar.set_style(style.expect("the template is fixed and valid"));
    bar
}
