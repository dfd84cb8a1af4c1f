//! The table as text: the help and docs/reference/options.md.

use super::table::{OTHER_VARIABLES, Row, TABLE, Topic};
use super::variable;
use std::fmt::Write;

const WIDTH: usize = 78;

/// Returns what `-xsim-help` prints.
pub fn help_text() -> String {
    let mut text = String::from(
        "Options of a run, as arguments of the program (it does not see them), as\n\
         variables of the environment, or after `xsim run` as --NAME:\n",
    );
    for group in Topic::ALL {
        let _ = write!(text, "\n{}:\n", group.title());
        for row in TABLE.iter().filter(|row| row.group == group) {
            let _ = writeln!(text, "  {}   {}", argument(row), variable(row.name));
            wrap(&mut text, &sentence(row).replace('`', ""), 8);
        }
    }
    text.push_str("\nOther variables:\n");
    for (name, help) in OTHER_VARIABLES {
        let _ = writeln!(text, "  {name}");
        wrap(&mut text, &help.replace('`', ""), 8);
    }
    text
}

fn argument(row: &Row) -> String {
    let space = if row.is_flag() { "" } else { " " };
    format!("-xsim-{}{space}{}", row.name, row.value)
}

fn sentence(row: &Row) -> String {
    let mut text = row.help.to_owned();
    if !row.aliases.is_empty() {
        let _ = write!(
            text,
            " Also {}.",
            row.aliases.iter().map(|a| format!("`-xsim-{a}`")).collect::<Vec<_>>().join(", ")
        );
    }
    if !row.default.is_empty() {
        let _ = write!(text, " Default: `{}`.", row.default);
    }
    text
}

fn wrap(text: &mut String, words: &str, indent: usize) {
    let mut column = 0;
    for word in words.split(' ') {
        if column > 0 && column + 1 + word.chars().count() > WIDTH - indent {
            text.push('\n');
            column = 0;
        }
        let lead = if column == 0 { indent } else { 1 };
        let _ = write!(text, "{:lead$}{word}", "");
        column += word.chars().count() + usize::from(column > 0);
    }
    text.push('\n');
}

/// Returns the text of docs/reference/options.md: `xsim options --markdown` prints it.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Options\n\n\
         <!-- Made from runtime/core/simulation/src/options/table.rs by `xsim options --markdown`; a test \
         keeps it current. -->\n\n\
         Every option can be given in three ways:\n\n\
         - among the program's arguments, `./ring -xsim-np 1000` (also `-xsim-np=1000` and `--xsim-np \
         1000`); the program does not see it;\n\
         - in the environment, `XSIM_NP=1000 ./ring`;\n\
         - to the command, `xsim run --np 1000 ./ring` (short letters in brackets: `xsim run -n 1000 \
         ./ring`).\n\n\
         An argument wins over the command and the environment, which win over the default. A flag may also \
         be given a value, `on` or `off`.\n",
    );
    for group in Topic::ALL {
        let _ = write!(
            text,
            "\n## {}\n\n| argument | environment | `xsim run` | meaning |\n|---|---|---|---|\n",
            group.title()
        );
        for row in TABLE.iter().filter(|row| row.group == group) {
            let short = row.short.map(|c| format!(" (`-{c}`)")).unwrap_or_default();
            let command = if matches!(row.name, "help" | "version") {
                String::new()
            } else {
                format!("`--{}`{short}", row.name)
            };
            let help = sentence(row).replace('|', "\\|");
            let _ = writeln!(text, "| `{}` | `{}` | {command} | {help} |", argument(row), variable(row.name));
        }
    }
    text.push_str("\n## Other variables\n\n| environment | meaning |\n|---|---|\n");
    for (name, help) in OTHER_VARIABLES {
        let _ = writeln!(text, "| `{name}` | {help} |");
    }
    text
}
