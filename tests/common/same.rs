//! Runs on several native processes give the bytes of one.

use super::{Run, scratch};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The simulated part of a report.
fn simulated(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.split_once("\"host\"").unwrap().0.to_owned()
}

/// Runs on one process, then on each of `counts`, and compares lines and reports.
#[track_caller]
pub fn same(run: impl Fn() -> Run, launcher: &'static str, counts: &[u32]) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let directory = scratch(&format!("native-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    let measure = |run: Run, name: String| {
        let report = directory.join(name);
        let output = run.arg(format!("-xsim-report={}", report.display())).run().success();
        (output.lines().into_iter().map(str::to_owned).collect::<Vec<_>>(), simulated(&report))
    };
    let one = measure(run(), "one".into());
    for &count in counts {
        let several = measure(run().processes(launcher, count), format!("{launcher}{count}"));
        assert!(
            one.0 == several.0,
            "{count} processes of {launcher} print something else: {:#?} and {:#?}",
            one.0,
            several.0
        );
        assert_eq!(one.1, several.1, "{count} processes of {launcher} report something else");
    }
    std::fs::remove_dir_all(directory).unwrap();
}
