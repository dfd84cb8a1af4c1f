//! Files of other simulators: an error that names a line, or a trace that can be walked through.
#![no_main]

use convert::{Format, LogGops, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let options = Options {
        flops: 1e9,
        policy: mpi::schedule::choose::Policy::default(),
        loggops: LogGops::default(),
        without: Vec::new(),
    };
    for format in [Format::Goal, Format::Ti, Format::Otf2, Format::Dumpi] {
        if let Ok(trace) = convert::read(format, text, &options) {
            let view = trace.rank(trace.ranks - 1);
            view.calls().take(1000).for_each(|event| assert!(!trace::text::event(&view, &event).is_empty()));
        }
    }
});
