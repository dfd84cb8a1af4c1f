//! Help by topic, man pages and completions, all from the parser of the command line.

use crate::failure::{Failure, USAGE};
use crate::layout::InstallLayout;
use crate::output::{self, say};
use ::report::wrap::{terminal_width, wrapped};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use clap_complete::Shell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Shells with completions: the name, and where an installation keeps the file.
const SHELLS: [(&str, Shell, &str); 3] = [
    ("bash", Shell::Bash, "bash-completion/completions/xsim"),
    ("zsh", Shell::Zsh, "zsh/site-functions/_xsim"),
    ("fish", Shell::Fish, "fish/vendor_completions.d/xsim.fish"),
];

/// The width of lines where there is no terminal.
const FILE_WIDTH: usize = 80;

/// Returns the arguments of `xsim help`.
pub fn help_command() -> Command {
    Command::new("help").about("Show the help of a command, or a page of the manual").arg(
        Arg::new("TOPIC")
            .num_args(0..)
            .help("A command, such as run or aspen eval, or a page; without one, both are listed"),
    )
}

/// Returns the arguments of `xsim completions`.
pub fn completions_command() -> Command {
    let shells = PossibleValuesParser::new(SHELLS.map(|(name, ..)| name));
    Command::new("completions")
        .about("Print completions of the command line for a shell")
        .arg(Arg::new("SHELL").required(true).value_parser(shells).help("Which shell"))
}

/// Returns the arguments of `xsim man`.
pub fn man_command() -> Command {
    Command::new("man").about("Write man pages, one for each command").arg(
        Arg::new("DIR")
            .required(true)
            .value_parser(clap::value_parser!(PathBuf))
            .help("Where to; it is made if it is not there"),
    )
}

/// Shows a topic.
pub fn help(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let topic: Vec<&String> = matches.get_many("TOPIC").into_iter().flatten().collect();
    let mut command = crate::command();
    command.build();
    let of_commands: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let mut found = Some(&mut command);
    for word in &topic {
        found = found.and_then(|command| command.find_subcommand_mut(word));
    }
    match (found, topic.as_slice()) {
        (Some(command), []) => {
            let help = command.render_help();
            let pages = names(&pages(&docs()?, &of_commands));
            let width = terminal_width(io::stdout()).unwrap_or(FILE_WIDTH);
            let lines = wrapped(&format!("Pages of the manual (xsim help PAGE): {pages}"), width);
            output::text(format_args!("{help}\n{}\n", lines.join("\n")))?;
        }
        (Some(command), words) => {
            let help = command.render_long_help();
            let known = pages(&docs()?, &of_commands);
            let end = format!("/{}", words[0]);
            let more: Vec<String> = known
                .keys()
                .filter(|name| name.ends_with(&end))
                .map(|name| format!("xsim help {name}"))
                .collect();
            let more =
                if more.is_empty() { String::new() } else { format!("\nThe manual: {}\n", more.join(", ")) };
            output::text(format_args!("{help}{more}"))?;
        }
        (None, words) if !of_commands.contains(words[0]) => {
            let words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
            let known = pages(&docs()?, &of_commands);
            let Some(path) = page_named(&words.join("-"), &known) else {
                let all = known.keys().chain(&of_commands).map(String::as_str);
                let meant = network::nearest(&words.join("-"), all)
                    .map_or_else(String::new, |name| format!("; did you mean 'xsim help {name}'?"));
                let text = format!(
                    "help {}: neither a command nor a page of the manual{meant}; xsim help lists both",
                    words.join(" ")
                );
                return Err(Failure::with(USAGE, text));
            };
            let text = fs::read_to_string(path)
                .map_err(|why| Failure::new(format!("cannot read {}: {why}", path.display())))?;
            output::text(text)?;
        }
        (None, words) => {
            let words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
            let text =
                format!("help {0}: there is no command {0}; xsim help lists the commands", words.join(" "));
            return Err(Failure::with(USAGE, text));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the names of pages as a list.
fn names(pages: &BTreeMap<String, PathBuf>) -> String {
    pages.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns the directory of the manual.
fn docs() -> Result<PathBuf, Failure> {
    Ok(InstallLayout::find()?.share.join("docs"))
}

/// Pages of the table of contents that are no topics.
const CONTENTS: [&str; 2] = ["README", "SUMMARY"];

/// Finds a page by its name or by its path, which messages have: `docs/reference/replay.md`.
fn page_named<'a>(name: &str, known: &'a BTreeMap<String, PathBuf>) -> Option<&'a PathBuf> {
    let name = name.strip_prefix("docs/").unwrap_or(name);
    let name = name.strip_suffix(".md").unwrap_or(name);
    let path = format!("{name}.md");
    known.get(name).or_else(|| known.values().find(|page| name.contains('/') && page.ends_with(&path)))
}

/// Returns the manual's pages by name, in order; none if it is not installed. A page is named by its file,
/// with the directory before it where several pages, or a command, have that name.
fn pages(directory: &Path, of_commands: &[String]) -> BTreeMap<String, PathBuf> {
    let mut paths = Vec::new();
    collect(directory, &mut paths);
    let stem = |path: &Path| path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let count = |name: &str| {
        paths.iter().filter(|path| stem(path) == name).count()
            + of_commands.iter().filter(|command| *command == name).count()
    };
    let named = paths.iter().map(|path| {
        let name = stem(path);
        let name = match path.parent().and_then(Path::file_name).and_then(|name| name.to_str()) {
            Some(parent) if count(&name) > 1 => format!("{parent}/{name}"),
            _ => name,
        };
        (name, path.clone())
    });
    named.filter(|(name, _)| !CONTENTS.contains(&name.as_str())).collect()
}

/// Collects the Markdown files of a directory and those below it.
fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
}

/// Prints the completions of a shell.
pub fn completions(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let given: &String = matches.get_one("SHELL").expect("clap asks for it");
    for (_, shell, _) in SHELLS.iter().filter(|(name, ..)| name == given) {
        output::text(String::from_utf8_lossy(&script(*shell)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "xsim", &mut script);
    script
}

/// Writes the man pages.
pub fn man(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let directory: &PathBuf = matches.get_one("DIR").expect("clap asks for it");
    let count = write_man(directory)
        .map_err(|why| Failure::new(format!("cannot write man pages to {}: {why}", directory.display())))?;
    say!("{count} man pages in {}", directory.display());
    Ok(ExitCode::SUCCESS)
}

/// Writes the man pages of all commands to a directory and returns their number.
fn write_man(directory: &Path) -> io::Result<usize> {
    fs::create_dir_all(directory)?;
    let mut command = crate::command();
    command.build();
    let mut count = 0;
    write_page(&command, "xsim", directory, &mut count)?;
    Ok(count)
}

fn write_page(command: &Command, name: &str, directory: &Path, count: &mut usize) -> io::Result<()> {
    let mut page = Vec::new();
    let title: &'static str = name.to_owned().leak();
    clap_mangen::Man::new(command.clone().name(title)).render(&mut page)?;
    fs::write(directory.join(format!("{name}.1")), page)?;
    *count += 1;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        write_page(sub, &format!("{name}-{}", sub.get_name()), directory, count)?;
    }
    Ok(())
}

/// Writes man pages and completions below an installation's `share`.
pub fn install(share: &Path) -> Result<(), (PathBuf, io::Error)> {
    let pages = share.join("man/man1");
    write_man(&pages).map_err(|why| (pages, why))?;
    for (_, shell, path) in SHELLS {
        let path = share.join(path);
        let directory = path.parent().unwrap_or(share);
        fs::create_dir_all(directory)
            .and_then(|()| fs::write(&path, script(shell)))
            .map_err(|why| (path, why))?;
    }
    Ok(())
}
