//! Tutorials and how-to pages of docs: their commands run in order and print what the pages show.

mod common;

use common::{clean, root, scratch, xsim};
use std::path::Path;
use std::process::Command;

/// A command of a page, and lines that the page shows of what the command prints.
struct Shown {
    command: String,
    lines: Vec<String>,
}

/// Returns the commands behind `$` in indented lines, each with the indented lines below it. A backslash at a
/// line's end continues the command.
fn shown(text: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let Some(code) = line.strip_prefix("    ") else {
            open = open && line.is_empty();
            continue;
        };
        match (code.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push(Shown { command: command.to_owned(), lines: Vec::new() }),
            (None, Some(last)) if open && last.command.ends_with('\\') => {
                last.command = format!("{}{}", last.command.trim_end_matches('\\'), code.trim_start())
            }
            (None, Some(last)) if open => last.lines.push(code.to_owned()),
            (None, _) => {}
        }
        open |= code.starts_with("$ ");
    }
    all
}

fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a page's commands in a directory of its own, which has the repository's examples.
fn run_page(page: &Path) {
    let text = std::fs::read_to_string(page).unwrap();
    let directory = scratch(&format!("page_{}", page.file_stem().unwrap().to_string_lossy()));
    std::os::unix::fs::symlink(root().join("examples"), directory.join("examples")).unwrap();
    let path = format!("{}:{}", xsim().parent().unwrap().display(), std::env::var("PATH").unwrap());
    for Shown { command, lines } in shown(&text) {
        let mut shell = Command::new("sh");
        clean(&mut shell)
            .args(["-c", &command])
            .current_dir(&directory)
            .env("PATH", &path)
            .env("COLUMNS", "1000");
        let output = shell.output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{}: {command}\n{printed}", page.display());
        let there: Vec<String> = printed.lines().map(words).collect();
        for line in lines.iter().map(|line| words(line)).filter(|line| !line.is_empty() && line != "...") {
            let begins = line.strip_suffix("...").map(str::trim_end);
            let is_there = there
                .iter()
                .any(|printed| begins.map_or(*printed == line, |begin| printed.starts_with(begin)));
            assert!(is_there, "{}: $ {command}\nshould print\n{line}\nand prints\n{printed}", page.display());
        }
    }
}

/// Runs the commands of all pages of a folder of docs, of which there are at least `least`.
fn run_folder(folder: &str, least: usize) {
    let mut commands = 0;
    for entry in std::fs::read_dir(root().join("docs").join(folder)).unwrap() {
        let page = entry.unwrap().path();
        commands += shown(&std::fs::read_to_string(&page).unwrap()).len();
        run_page(&page);
    }
    assert!(commands >= least, "{commands} commands in docs/{folder}");
}

#[test]
fn commands_of_the_tutorials_print_what_the_pages_show() {
    run_folder("tutorials", 45);
}

#[test]
fn commands_of_how_to_pages_print_what_the_pages_show() {
    run_folder("how-to", 30);
}
