//! Files of a packet network, a graph and, behind a line of dashes, what failed in it: an error or a network.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Numbers of endpoints take the memory they say.
    if text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 3) {
        return;
    }
    let (graph, failures) = text.split_once("---\n").unwrap_or((text, ""));
    let path = |name: &str| std::env::temp_dir().join(format!("xsim-fuzz-{}-{name}", std::process::id()));
    let (graph_file, failures_file) = (path("graph"), path("failures"));
    std::fs::write(&graph_file, graph).expect("the temporary directory can be written");
    std::fs::write(&failures_file, failures).expect("the temporary directory can be written");
    let spec = format!("graph:file={},failures={}", graph_file.display(), failures_file.display());
    let spec = network::packet::parse(&spec).expect("paths without commas make a specification");
    let _ = spec.build(1);
});
