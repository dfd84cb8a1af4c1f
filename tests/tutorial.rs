//! Pages of the manual: their commands run in order, as a reader types them into one shell, and print what
//! the pages show. A page with an indented command that nothing runs fails.

mod common;
#[path = "tutorial/given.rs"]
mod given;
#[path = "tutorial/headers.rs"]
mod headers;

use common::{clean, native, root, scratch, xsim};
use given::{GIVEN, Given, NOTHING};
use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// An indented block of a page: the number of its first line, and its lines.
struct Block {
    at: usize,
    lines: Vec<String>,
}

/// A command of a page, lines that it reads, and lines that the page shows of what it prints.
#[derive(Default)]
struct Shown {
    command: String,
    input: Vec<String>,
    lines: Vec<String>,
}

static BUILDING: Mutex<()> = Mutex::new(());

/// The mark that gdb prints before a command that it reads.
const PROMPT: &str = "(gdb) ";

/// Divides a page's indented and fenced lines into blocks, which other text ends.
fn blocks(text: &str) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    let (mut open, mut fenced) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let is_fence = line.starts_with("```");
        fenced ^= is_fence;
        let code = line.strip_prefix("    ").or((fenced && !is_fence).then_some(line));
        match code {
            Some(code) if open => all.last_mut().unwrap().lines.push(code.to_owned()),
            Some(code) => all.push(Block { at: index + 1, lines: vec![code.to_owned()] }),
            None if open && line.is_empty() => all.last_mut().unwrap().lines.push(String::new()),
            None => {}
        }
        open = code.is_some() || (open && line.is_empty());
    }
    all
}

/// Returns the commands behind `$` in a block, each with the lines below it. A backslash at a line's end
/// continues the command; lines behind gdb's prompt are its input.
fn shown(block: &Block) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for code in &block.lines {
        let new = code.strip_prefix("$ ");
        match (new, all.last_mut()) {
            (Some(command), _) => all.push(Shown { command: command.to_owned(), ..Shown::default() }),
            (None, Some(last)) if last.command.ends_with('\\') => {
                last.command = format!("{}{}", last.command.trim_end_matches('\\'), code.trim_start());
            }
            (None, Some(last)) => match code.strip_prefix(PROMPT) {
                Some(typed) => last.input.push(typed.to_owned()),
                None => last.lines.push(code.clone()),
            },
            (None, None) => {}
        }
    }
    all
}

fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns `true` if a line is as a page shows it. `...` stands for any text. Digits of what the host took
/// are not compared.
fn is_as_shown(printed: &str, shown: &str) -> bool {
    if shown.starts_with("xsim: host:") {
        let kept = |line: &str| line.replace(|c: char| c.is_ascii_digit() || ",.".contains(c), "");
        return kept(printed).starts_with(kept(shown).trim_end());
    }
    let parts: Vec<&str> = shown.split("...").map(str::trim).collect();
    let Some(mut rest) = printed.strip_prefix(parts[0]) else { return false };
    for part in &parts[1..] {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
        || parts.last().is_some_and(|last| parts.len() > 1 && (last.is_empty() || rest.is_empty()))
}

/// Returns the names of the pages that may have commands: all of docs, and those that a reader begins with.
fn pages() -> Vec<String> {
    let mut all = Vec::new();
    for folder in ["docs", "docs/tutorials", "docs/how-to", "docs/reference", "docs/explanation"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "md") {
                all.push(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    all.extend(["README.md", "CONTRIBUTING.md", "examples/README.md"].map(str::to_owned));
    all.sort();
    all
}

fn text(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap()
}

fn given(page: &str) -> &'static Given {
    GIVEN.iter().find(|given| given.page == page).unwrap_or(&NOTHING)
}

/// Makes a directory that has commands under the names that readers have them: `mpirun`, `python`.
fn tools(directory: &Path) -> PathBuf {
    let tools = directory.join("tools");
    std::fs::create_dir(&tools).unwrap();
    for (name, command) in [("mpirun", "mpirun.mpich"), ("python", "python3")] {
        let path = tools.join(name);
        std::fs::write(&path, format!("#!/bin/sh\nexec {command} \"$@\"\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    tools
}

/// Writes a shell script that runs commands until one fails. Each has a file of its own for its input and
/// its output, and one that is there when it has succeeded.
fn script(commands: &[Shown], logs: &Path) -> String {
    let mut script = String::new();
    for (index, Shown { command, input, .. }) in commands.iter().enumerate() {
        let log = logs.join(index.to_string()).display().to_string();
        std::fs::write(format!("{log}.in"), input.join("\n") + "\n").unwrap();
        write!(script, "{{\n{command}\n}} <{log}.in >{log} 2>&1 || exit 1\n: >{log}.done\n").unwrap();
    }
    script
}

/// Returns `true` if a shell command succeeds where a page's commands run.
fn succeeds(command: &str, directory: &Path, path: &str) -> bool {
    let mut shell = Command::new("sh");
    clean(&mut shell).args(["-c", command]).current_dir(directory).env("PATH", path);
    shell.output().unwrap().status.success()
}

/// Returns a page's commands with what they need before and after, without those that cannot run here.
fn commands(page: &str, directory: &Path, path: &str) -> Vec<Shown> {
    let given = given(page);
    let other = |command: &str| Shown { command: command.to_owned(), ..Shown::default() };
    let mut all: Vec<Shown> = given.before.iter().map(|command| other(command)).collect();
    for block in blocks(&text(page)) {
        all.extend(shown(&block));
    }
    all.extend(given.after.iter().map(|command| other(command)));
    all.retain(|Shown { command, .. }| {
        let left = given.left.iter().find(|left| command.starts_with(left.command));
        let runs = left.is_none_or(|left| succeeds(left.unless, directory, path));
        if !runs {
            println!("{page}: $ {command}\n  does not run: {}", left.unwrap().why);
        }
        runs
    });
    for shown in &mut all {
        for (word, meant) in given.words {
            shown.command = shown.command.replace(word, meant);
        }
    }
    all
}

/// Runs a page's commands in one shell, in a directory of its own that has the repository's examples. Returns
/// an error for the first that is not as the page says.
fn run_page(page: &str) -> Result<(), String> {
    let given = given(page);
    let directory = scratch(&page.replace(['/', '.'], "_"));
    for shared in ["examples", "tests"] {
        symlink(root().join(shared), directory.join(shared)).unwrap();
    }
    for (first, name) in given.files {
        let text = text(page);
        let block = blocks(&text).into_iter().find(|block| block.lines[0].starts_with(first));
        std::fs::write(directory.join(name), block.expect("files begin blocks").lines.join("\n")).unwrap();
    }
    let here = xsim().parent().unwrap();
    let path = [&tools(&directory), here].map(|part| part.display().to_string()).join(":");
    let path = format!("{path}:{}", std::env::var("PATH").unwrap());
    let commands = commands(page, &directory, &path);
    if commands.iter().any(|shown| shown.command.contains("mpirun ")) {
        native("mpich");
    }
    // Two builds of the recorder at once would take its file from each other.
    let builds = commands.iter().any(|shown| shown.command.contains("tracer/build.sh"));
    let _alone = builds.then(|| BUILDING.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    let logs = directory.join("logs");
    std::fs::create_dir(&logs).unwrap();
    let mut shell = Command::new("sh");
    clean(&mut shell)
        .args(["-c", &script(&commands, &logs)])
        .current_dir(&directory)
        .env("PATH", &path)
        .env("ROOT", root())
        .env("XSIM", xsim())
        .env("PYTHONPATH", root().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("CARGO_TARGET_DIR", here.parent().unwrap())
        .env("COLUMNS", "1000");
    let started = shell.output().unwrap();
    let errors = String::from_utf8_lossy(&started.stderr).into_owned();
    for (index, Shown { command, lines, .. }) in commands.iter().enumerate() {
        let log = logs.join(index.to_string());
        let printed = std::fs::read(&log).unwrap_or_default();
        let printed = String::from_utf8_lossy(&printed).replace(PROMPT, "");
        let wrong = |how: &str| Err(format!("{page}: $ {command}\n{how}\n{printed}{errors}"));
        if !log.with_extension("done").is_file() {
            return wrong("fails (sh tests/run.sh installs tools) and prints");
        }
        let there: Vec<String> = printed.lines().map(words).collect();
        for line in lines.iter().map(|line| words(line)).filter(|line| !line.is_empty() && line != "...") {
            let is_there = there.iter().any(|printed| is_as_shown(printed, &line));
            if !is_there {
                return wrong(&format!("should print\n{line}\nand prints"));
            }
        }
    }
    Ok(())
}

/// Runs all pages whose names begin so, which have at least `least` commands.
fn run_pages(begin: &str, least: usize) {
    let (mut commands, mut wrong) = (0, Vec::new());
    for page in pages().iter().filter(|page| page.starts_with(begin)) {
        let count: usize = blocks(&text(page)).iter().map(|block| shown(block).len()).sum();
        if count > 0 || !given(page).files.is_empty() {
            wrong.extend(run_page(page).err());
        }
        commands += count;
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert!(commands >= least, "{commands} commands in {begin}");
}

#[test]
fn commands_of_the_tutorials_print_what_the_pages_show() {
    run_pages("docs/tutorials/", 45);
}

#[test]
fn commands_of_how_to_pages_print_what_the_pages_show() {
    run_pages("docs/how-to/", 50);
}

#[test]
fn commands_of_reference_pages_print_what_the_pages_show() {
    run_pages("docs/reference/", 18);
}

#[test]
fn commands_of_pages_outside_docs_print_what_the_pages_show() {
    run_pages("README.md", 11);
    run_pages("CONTRIBUTING.md", 1);
}

/// Returns `true` if a line is one that a reader would type into a shell.
fn is_command(line: &str) -> bool {
    let first = line.split_whitespace().find(|word| !word.contains('=')).unwrap_or_default();
    let known =
        ["xsim", "mpirun", "sh", "cargo", "python", "pip", "for", "export", "cmake", "ctest", "make", "gdb"];
    (known.contains(&first) && !line.starts_with("for ("))
        || first.starts_with("./")
        || first.starts_with("mpirun.")
}

#[test]
fn every_indented_command_is_run_or_listed() {
    let mut wrong = Vec::new();
    for page in pages() {
        let given = given(&page);
        let is_task = page.starts_with("docs/tutorials/") || page.starts_with("docs/how-to/");
        for block in blocks(&text(&page)) {
            let first = &block.lines[0];
            // On pages to follow, what stands before the first command, or without one, must be a file.
            let is_run = first.starts_with("$ ");
            let is_file = given.files.iter().any(|(begin, _)| first.starts_with(begin))
                && !block.lines.iter().any(|line| line.starts_with("$ "));
            let is_synopsis = !is_task && !synopses(&block).is_empty();
            let is_other = !is_task && !block.lines.iter().any(|line| is_command(line));
            if !(is_run || is_file || is_synopsis || is_other) {
                wrong.push(format!("{page}:{}: nothing runs: {first}", block.at));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn what_is_listed_for_a_page_is_there() {
    let mut wrong = Vec::new();
    for given in GIVEN {
        let blocks = blocks(&text(given.page));
        let commands: Vec<Shown> = blocks.iter().flat_map(shown).collect();
        let begins = |begin: &str| commands.iter().any(|shown| shown.command.starts_with(begin));
        for left in given.left.iter().filter(|left| !begins(left.command)) {
            wrong.push(format!("{}: no command begins with {}", given.page, left.command));
        }
        for (word, _) in given.words {
            if !commands.iter().any(|shown| shown.command.contains(word)) {
                wrong.push(format!("{}: no command has {word}", given.page));
            }
        }
        for (first, _) in given.files {
            if !blocks.iter().any(|block| block.lines[0].starts_with(first)) {
                wrong.push(format!("{}: no block begins with {first}", given.page));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Returns the commands of a block that shows how commands are written: none if a line is none of them.
fn synopses(block: &Block) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in block.lines.iter().filter(|line| !line.is_empty()) {
        match all.last_mut() {
            _ if line.starts_with("xsim ") => all.push(line.clone()),
            Some(last) if line.starts_with("    ") => last.push_str(line),
            _ => return Vec::new(),
        }
    }
    let is_form = all.iter().all(|form| {
        form.split_whitespace().any(|word| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            word.len() > 3 && word.chars().all(|c| c.is_ascii_uppercase())
        })
    });
    if is_form { all } else { Vec::new() }
}

#[test]
fn synopses_name_options_that_their_commands_have() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        for form in blocks(&text(&page)).iter().flat_map(synopses) {
            let form = form.split('#').next().unwrap().to_owned();
            let words: Vec<&str> = form
                .split(|c: char| c.is_whitespace() || "[]|()".contains(c))
                .filter(|word| !word.is_empty())
                .collect();
            let is_name = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase());
            let command: Vec<&str> = words[1..].iter().take_while(is_name).copied().collect();
            let help = common::command(&command).arg("--help").output().unwrap();
            assert!(help.status.success(), "{page}: {form}: {}", String::from_utf8_lossy(&help.stderr));
            let help = String::from_utf8_lossy(&help.stdout).into_owned();
            let known: Vec<&str> = help.split(|c: char| c.is_whitespace() || ",=[".contains(c)).collect();
            for option in
                words.iter().filter(|word| word.len() > 1 && word.starts_with('-') && **word != "--")
            {
                checked += 1;
                if !known.contains(option) {
                    wrong.push(format!("{page}: {} has no {option}", command.join(" ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert!(checked > 40, "{checked} options");
}

/// Returns the names of the workspace's packages.
fn packages() -> Vec<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let text = String::from_utf8(cargo.output().unwrap().stdout).unwrap();
    let text: serde_json::Value = serde_json::from_str(&text).expect("cargo describes the workspace");
    let all = text["packages"].as_array().unwrap();
    all.iter().map(|package| package["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn commands_between_backticks_name_tests_packages_and_scripts_that_exist() {
    let packages = packages();
    let (mut checked, mut wrong) = (0, Vec::new());
    for page in pages() {
        for code in text(&page).split('`').skip(1).step_by(2).filter(|code| !code.contains("...")) {
            let words: Vec<&str> = code.split_whitespace().collect();
            for pair in words.windows(2) {
                let is_there = match (words[0], pair[0], pair[1]) {
                    ("cargo", "--test", name) if !words.contains(&"-p") => {
                        root().join(format!("tests/{name}.rs")).is_file()
                    }
                    ("cargo", "-p", name) => packages.iter().any(|known| known == name),
                    (_, "sh", path) if path.ends_with(".sh") => root().join(path).is_file(),
                    _ => continue,
                };
                checked += 1;
                if !is_there {
                    wrong.push(format!("{page}: {code}: there is no {}", pair[1]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert!(checked > 20, "{checked} names");
}
