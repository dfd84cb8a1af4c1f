//! Files of other simulators: an error that names a line, or a trace that can be walked through. GOAL's
//! graphs run to their end or to a deadlock.
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
    if let Ok(graph) = convert::graph_of(std::io::Cursor::new(text)) {
        let run = goal::run(&graph, goal::Carrier::loggops(&options.loggops), goal::ReadyOrder::Gnu).unwrap();
        let count: usize = graph.blocks.iter().map(|(_, operations)| operations.works.len()).sum();
        assert!(run.deadlock.is_some() || run.orders.iter().flatten().count() == count);
    }
    for format in [Format::Goal, Format::Ti, Format::Otf2, Format::Dumpi] {
        if let Ok(trace) = convert::read(format, text, &options) {
            let view = trace.rank(trace.ranks - 1);
            view.calls().take(1000).for_each(|event| assert!(!trace::text::event(&view, &event).is_empty()));
        }
    }
});
