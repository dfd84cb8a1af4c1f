//! Examples: the commands at the beginning of each file run.

use crate::common::{clean, root, scratch, xsim};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of examples.
const FOLDERS: [&str; 4] = ["c", "fortran", "aspen", "python"];

/// Commands that fail on purpose, and their exit status.
const FAILING: [(&str, i32); 2] = [("xsim run -n 4 examples/c/deadlock.c 1", 1), ("./checkpoint state", 75)];

/// Returns the commands of the comment that a file begins with, which are indented in it.
fn commands(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in text.lines().take(25) {
        let begins = ["C", " *", "!", "//", "#"].into_iter().find_map(|mark| line.strip_prefix(mark));
        let code = begins.unwrap_or(line).trim();
        match all.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push_str(code);
            }
            _ if ["xsim ", "./"].iter().any(|word| code.starts_with(word)) => all.push(code.to_owned()),
            _ => {}
        }
    }
    all
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    all.sort();
    all
}

#[test]
fn commands_that_examples_begin_with_run() {
    let directory = scratch("headers");
    symlink(root().join("examples"), directory.join("examples")).unwrap();
    let all: Vec<PathBuf> =
        FOLDERS.iter().flat_map(|folder| files(&root().join("examples").join(folder))).collect();
    for path in &all {
        std::fs::copy(path, directory.join(path.file_name().unwrap())).unwrap();
    }
    let path = format!("{}:{}", xsim().parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for example in &all {
        for command in commands(&std::fs::read_to_string(example).unwrap()) {
            count += 1;
            let mut shell = Command::new("sh");
            clean(&mut shell).args(["-c", &command]).current_dir(&directory).env("PATH", &path);
            let output = shell.output().unwrap();
            let is_repaired = command.ends_with("repaired");
            let failing = FAILING.iter().find(|(begin, _)| command.starts_with(begin) && !is_repaired);
            assert_eq!(
                output.status.code(),
                Some(failing.map_or(0, |(_, status)| *status)),
                "{}: {command}\n{}",
                example.display(),
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
    assert!(count >= 20, "{count} commands");
}
