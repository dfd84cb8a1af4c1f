//! docs/tutorial.md: all its commands are run, one after the other, and say what it says that they say.

mod common;

use common::{clean, root, scratch, xsim};
use std::process::Command;

/// A command of the tutorial, and lines that it shows of what the command says.
struct Shown {
    command: String,
    lines: Vec<String>,
}

/// What stands behind `$` in indented lines, with the indented lines behind it; a line that ends in a backslash goes on in the next.
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

#[test]
fn all_commands_of_the_tutorial_say_what_it_says() {
    let text = std::fs::read_to_string(root().join("docs/tutorial.md")).unwrap();
    let commands = shown(&text);
    assert!(commands.len() >= 10, "{} commands", commands.len());
    let directory = scratch("tutorial");
    std::os::unix::fs::symlink(root().join("examples"), directory.join("examples")).unwrap();
    let path = format!("{}:{}", xsim().parent().unwrap().display(), std::env::var("PATH").unwrap());
    for Shown { command, lines } in commands {
        let mut shell = Command::new("sh");
        clean(&mut shell).args(["-c", &command]).current_dir(&directory).env("PATH", &path);
        let output = shell.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{command}\n{said}");
        let told: Vec<String> = said.lines().map(words).collect();
        for line in lines.iter().map(|line| words(line)).filter(|line| !line.is_empty() && line != "...") {
            let begins = line.strip_suffix("...").map(str::trim_end);
            let is_there = told.iter().any(|told| begins.map_or(*told == line, |begin| told.starts_with(begin)));
            assert!(is_there, "$ {command}\nshould say\n{line}\nand says\n{said}");
        }
    }
}
