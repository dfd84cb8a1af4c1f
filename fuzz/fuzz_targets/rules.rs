//! Rules that choose the algorithms of collectives, on the command line and in a file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpi::collective::choose::Policy;

fuzz_target!(|text: &str| {
    let _ = Policy::from_toml(text);
    // A path would read the host's files.
    if !text.contains('/') && !text.contains('.') {
        let _ = text.parse::<Policy>();
    }
});
