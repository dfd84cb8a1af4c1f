//! A program's arguments, one a line: what is not the simulator's stays as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simulation::options::Options;
use std::ffi::OsString;

fuzz_target!(|text: &str| {
    // A path would read the host's files.
    if text.contains("coll") {
        return;
    }
    let given: Vec<OsString> = std::iter::once("program").chain(text.lines()).map(OsString::from).collect();
    let mut kept = given.clone();
    if Options::from_args(&mut kept, []).is_ok() {
        let mut rest = given.iter();
        assert!(kept.iter().all(|kept| rest.any(|given| given == kept)),
            "{kept:?} is not what is left of {given:?}");
        assert!(!kept.iter().skip(1).any(|kept| kept.to_string_lossy().starts_with("-xsim-"))
            || kept == given);
    }
});
