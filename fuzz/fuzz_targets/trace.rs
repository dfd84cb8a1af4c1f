//! Contents of a trace: an error, or a trace whose calls can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|contents: &[u8]| {
    let _ = trace::Trace::read(contents);
    if let Ok(saved) = trace::saved::Saved::read(contents) {
        let _ = trace::saved::join(vec![saved]);
    }
    for version in 1..=trace::file::VERSION {
        if let Ok(trace) = trace::Trace::read_contents(contents, version) {
            let view = trace.rank(trace.ranks - 1);
            view.calls().take(1000).for_each(|event| assert!(!trace::text::event(&view, &event).is_empty()));
            let _ = trace.length();
        }
    }
});
