//! A run in sections: for a terminal, Markdown and comma-separated values; the page shows the same with
//! pictures.

use crate::collectives;
use crate::critical;
use crate::document::{Document, Section};
use crate::efficiency::{self, Efficiencies};
use crate::findings::findings;
use crate::network;
use crate::profile::{self, whole};
use crate::table::{Align, Table, TableCell};
use crate::units::{grouped, short};
use recorder::call_profile::ActivitySeries;
use recorder::{EndCause, RunReport, Simulated, Spread};

/// Returns everything that is reported of a run; with one on an ideal network, or with why there is none, its
/// efficiencies in all parts.
pub fn overview(report: &RunReport, efficiencies: &Result<Efficiencies, String>) -> Document {
    let run = &report.simulated;
    let ended = run.early_end.iter();
    let mut sections: Vec<Section> = ended
        .map(|end| Section { title: end.cause.verdict(), lines: end.sentences.clone(), table: None })
        .collect();
    sections.extend([
        Section { title: "Time", lines: vec![], table: Some(breakdown(run)) },
        Section { title: "Findings", lines: findings(report), table: None },
        match efficiencies {
            Ok(found) => Section {
                title: "Efficiencies",
                lines: found.note.iter().map(|&note| note.to_owned()).collect(),
                table: Some(found.table()),
            },
            Err(why) => Section { title: "Efficiencies", lines: vec![why.clone()], table: None },
        },
    ]);
    match &run.profile {
        Some(profile) => {
            let regions = Some(profile::regions(run, profile, efficiency::regions_of(efficiencies)))
                .filter(|table| !table.rows.is_empty());
            sections.push(Section { title: "Regions", lines: vec![], table: regions });
            let states = Some(profile::wait_states(run, profile)).filter(|table| !table.rows.is_empty());
            let lines = if states.is_none() { vec![NOTHING_LOST.to_owned()] } else { vec![] };
            sections.push(Section { title: "Wait states", lines, table: states });
            let sites = Some(profile::sites(run, profile, usize::MAX)).filter(|table| !table.rows.is_empty());
            let lines = if sites.is_none() {
                vec![profile::NO_TIME.to_owned()]
            } else {
                profile::without_lines(profile).into_iter().collect()
            };
            sections.push(Section { title: "Call sites", lines, table: sites });
            let callers = Some(profile::callers(run, profile)).filter(|table| !table.rows.is_empty());
            sections.push(Section { title: "Callers", lines: vec![], table: callers });
            let collectives = Some(collectives::collectives(run, profile, usize::MAX))
                .filter(|table| !table.rows.is_empty());
            let lines = if collectives.is_some() { vec![collectives::MEANING.to_owned()] } else { vec![] };
            sections.push(Section { title: "Collectives", lines, table: collectives });
        }
        None => {
            sections.push(Section { title: "Call sites", lines: vec![NO_PROFILE.to_owned()], table: None })
        }
    }
    if let Some(path) = &run.critical_path {
        sections.push(Section {
            title: "Critical path",
            lines: vec![critical::said(path)],
            table: Some(critical::sites(path, usize::MAX)),
        });
        sections.push(Section {
            title: "Critical path by rank",
            lines: vec![],
            table: Some(critical::ranks(path)),
        });
        let delays = Some(critical::delays(run, path, usize::MAX)).filter(|table| !table.rows.is_empty());
        sections.push(Section { title: "Delays", lines: vec![], table: delays });
        let costs = Some(critical::costs(run, path, usize::MAX)).filter(|table| !table.rows.is_empty());
        sections.push(Section { title: "Delay costs", lines: vec![], table: costs });
    }
    if let Some((said, table)) = network::network(run) {
        let lines = [said].into_iter().chain(network::over_time(run).map(network::busiest_time)).collect();
        sections.push(Section { title: "Network", lines, table: Some(table) });
        let busiest =
            network::map(run).map(|(map, _)| network::busiest(&map)).filter(|table| !table.rows.is_empty());
        sections.push(Section { title: "Busiest links", lines: vec![], table: busiest });
    }
    sections.push(Section { title: "Functions", lines: vec![], table: Some(functions(run)) });
    sections.push(Section { title: "Load", lines: vec![], table: Some(load(run)) });
    sections.push(Section { title: "Run", lines: vec![], table: Some(settings(report)) });
    sections.retain(|section| section.table.is_some() || !section.lines.is_empty());
    Document { title: headline(run), sections }
}

/// The reason why there is nothing by call site.
pub const NO_PROFILE: &str = "This run was made without -xsim-profile, which tells where in the program the \
    time goes and who waits for whom.";

/// Instead of an empty table of wait states.
pub const NOTHING_LOST: &str = "No time is lost because another rank was late.";

/// Returns the run in a line.
pub fn headline(run: &Simulated) -> String {
    let ranks =
        if run.ranks == 1 { "1 rank".to_owned() } else { format!("{} ranks", grouped(run.ranks.into())) };
    let end = match run.early_end.as_ref().map(|end| end.cause) {
        None => "",
        Some(EndCause::Deadlock) => ", deadlocked",
        Some(EndCause::Signal) => ", stopped",
        Some(EndCause::Failure) => ", failed",
    };
    format!("{} on {ranks} of {}: {}{end}", run.program, run.machine, short(run.virtual_time_ps))
}

/// Returns what all ranks' time is: name and picoseconds.
pub fn parts(run: &Simulated) -> Vec<(&'static str, u128)> {
    let ranks = u128::from(run.ranks);
    let of_means = |spread: &Spread| u128::from(spread.mean_ps) * ranks;
    let Some(profile) = &run.profile else {
        let (compute, wait) = (of_means(&run.compute), of_means(&run.wait));
        return vec![
            ("computing", compute),
            ("waiting", wait),
            ("other", whole(run).saturating_sub(compute + wait)),
        ];
    };
    let ActivitySeries { compute_ps, mpi_ps, wait_ps, .. } = &profile.series;
    let [compute, mpi, wait] = [compute_ps, mpi_ps, wait_ps].map(|ps| ps.iter().sum::<u128>());
    let lost = profile::lost_by_state(profile).iter().map(|(_, sum, ..)| sum).sum::<u128>().min(wait);
    let after = whole(run).saturating_sub(compute + mpi + wait);
    vec![
        ("outside MPI", compute),
        ("overheads of MPI", mpi),
        ("lost to late ranks", lost),
        ("messages under way", wait - lost),
        ("after the last call", after),
    ]
}

fn breakdown(run: &Simulated) -> Table {
    let mut table =
        Table::new(&[("all ranks' time", Align::Left), ("of all", Align::Right), ("together", Align::Right)]);
    table.rows = parts(run)
        .into_iter()
        .map(|(name, ps)| vec![name.into(), TableCell::percent(ps, whole(run)), TableCell::time(ps)])
        .collect();
    table
}

/// Makes the table of MPI functions, those that took most first.
pub fn functions(run: &Simulated) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[("function", Left), ("calls", Right), ("time", Right), ("of all", Right)]);
    let mut functions: Vec<_> = run.functions.iter().collect();
    functions.sort_by_key(|(name, cost)| (std::cmp::Reverse(cost.time_ps), *name));
    for (name, cost) in functions {
        table.rows.push(vec![
            name.as_str().into(),
            TableCell::count(cost.calls),
            TableCell::time(cost.time_ps),
            TableCell::percent(cost.time_ps, whole(run)),
        ]);
    }
    table
}

/// Makes the table of computation and waiting over ranks.
pub fn load(run: &Simulated) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("a rank", Left),
        ("least", Right),
        ("on", Right),
        ("mean", Right),
        ("most", Right),
        ("on", Right),
    ]);
    for (name, of) in [("computes", &run.compute), ("waits", &run.wait)] {
        let (least, most) = (TableCell::time(of.min_ps), TableCell::time(of.max_ps));
        let on = |rank: u64| TableCell::rank(rank);
        table.rows.push(vec![
            name.into(),
            least,
            on(of.min_rank),
            TableCell::time(of.mean_ps),
            most,
            on(of.max_rank),
        ]);
    }
    table
}

/// Returns the command line that makes the run again; nothing of a report that has no command.
///
/// A program's options may stand in the environment, so that they are written as those of `xsim run`.
pub fn command(report: &RunReport) -> String {
    let Some((name, rest)) = report.host.command.split_first() else { return String::new() };
    let quoted = |word: &str| {
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_=./:,+@%".contains(letter);
        if !word.is_empty() && word.chars().all(is_plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    // Behind `=`, as the next word may be the program.
    let of_option = |(option, value): (&String, &String)| match value.as_str() {
        "on" => format!("--{option}"),
        _ => format!("--{option}={value}"),
    };
    let mut words = vec![name.clone()];
    if name.rsplit('/').next() != Some("xsim") {
        let options = report.host.options.iter().map(of_option);
        words = ["xsim", "run"].map(str::to_owned).into_iter().chain(options).chain(words).collect();
    }
    words.extend(rest.iter().cloned());
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Returns the machine, the traffic, the host and the options.
pub fn settings(report: &RunReport) -> Table {
    let (run, host) = (&report.simulated, &report.host);
    let mut table = Table::new(&[("what", Align::Left), ("value", Align::Left)]);
    let mut row = |what: &str, value: TableCell| table.rows.push(vec![what.into(), value]);
    row("program", run.program.as_str().into());
    for (what, value) in
        [("command", command(report)), ("date", host.date.clone()), ("xsim", host.xsim.clone())]
    {
        if !value.is_empty() {
            row(what, value.into());
        }
    }
    row("simulated machine", run.machine.as_str().into());
    row("ranks", TableCell::count(run.ranks));
    row("virtual time", TableCell::time(run.virtual_time_ps));
    row("messages", TableCell::count(run.messages));
    row("payload", TableCell::bytes(run.bytes));
    if run.internal_messages > 0 {
        row("messages of MPI's own", TableCell::count(run.internal_messages));
        row("payload of those", TableCell::bytes(run.internal_bytes));
    }
    row("native processes", TableCell::count(host.native_processes));
    row("host time", TableCell::number(format!("{:.2} s", host.host_time_s), "s", host.host_time_s));
    row("processor time", TableCell::number(format!("{:.2} s", host.cpu_time_s), "s", host.cpu_time_s));
    row("memory", TableCell::bytes(host.peak_rss_bytes));
    for (name, value) in &host.options {
        row(&format!("-xsim-{name}"), value.as_str().into());
    }
    table
}
