//! Specifications of networks, analytic and packet level: an error or a machine that prints as something that
//! reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use network::Machine;

fuzz_target!(|text: &str| {
    // A path would read the host's files.
    if text.trim().ends_with(".toml")
        || text.contains("file")
        || text.contains("graph")
        || text.contains("failures")
    {
        return;
    }
    if let Ok(machine) = Machine::parse(text) {
        let shown = machine.to_string();
        assert!(Machine::parse(&shown).is_ok(), "{text:?} is read, but not {shown:?}, which it prints as");
    }
});
