//! The Python module passes its own tests, and its example prints what its header promises.

mod common;

use common::{clean, root};
use std::process::{Command, Output};

/// Runs Python in the source tree with this build's command.
fn python(arguments: &[&str]) -> Output {
    let mut command = Command::new("python3");
    clean(&mut command)
        .current_dir(root())
        .env("XSIM", common::xsim())
        .env("PYTHONPATH", root().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command.args(arguments).output().expect("python3 runs: apt-get install python3")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_python_module_passes_its_tests() {
    let output =
        python(&["-W", "error::ResourceWarning", "-m", "unittest", "discover", "-s", "python/tests"]);
    let report = text(&output.stderr);
    println!("{report}");
    assert!(output.status.success(), "{report}");
    assert!(report.contains("Ran ") && !report.contains("Ran 0"), "{report}");
}

#[test]
fn the_python_example_compares_machines() {
    let output = python(&["examples/python/machines.py"]);
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(printed.contains("default is 11.08 times as fast as ethernet"), "{printed}");
    assert!(printed.contains("slow.c:39 exchange_one_by_one"), "{printed}");
    assert_eq!(printed.matches(" ms\n").count(), 4, "{printed}");
}
