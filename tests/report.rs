//! `xsim report`: what it says of runs whose times are known in advance, in each format, and what it refuses.

mod common;

use common::{Output, Run, command, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs a case of the program with a report: the file.
fn run(case: &str, ranks: u32, arguments: &[&str]) -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let path = scratch(&format!("report-{}", NUMBER.fetch_add(1, Ordering::Relaxed))).join("run.json");
    let run = Run::program("waiting.c").ranks(ranks).variable("XSIM_COMPUTE", "none").arg(case);
    let run = run.arg(format!("-xsim-report={}", path.display()));
    arguments.iter().fold(run, |run, &argument| run.arg(argument)).run().success();
    path
}

fn report(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    of_width(1000, arguments)
}

/// The output on a terminal of this width.
fn of_width(columns: usize, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = command(&["report"]);
    let command =
        command.args(arguments.iter().map(|argument| argument.as_ref())).env("COLUMNS", columns.to_string());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { stdout: text(output.stdout), stderr: text(output.stderr), status: output.status }
}

trait Refuses {
    /// It ended with this status and said this.
    fn refuses(self, status: i32, said: &str);
}

impl Refuses for Output {
    #[track_caller]
    fn refuses(self, status: i32, said: &str) {
        assert_eq!(self.status.code(), Some(status), "{self}");
        self.says(&[said]);
    }
}

const MACHINE: &str = "-xsim-mn=star:l=1us";

#[test]
fn a_terminal_is_told_where_the_time_goes_and_for_whom_ranks_wait() {
    let output = report(&[&run("barrier", 4, &[MACHINE, "-xsim-profile"])]).success();
    // Columns are as wide as they need.
    let text = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    // 60 of 4 x 34 us are lost, 8 are messages under way.
    for said in [
        "4 ranks of star:4,l=1us,b=100Gbps: 34 us",
        "outside MPI 44 % 60 us",
        "lost to late ranks 44 % 60 us",
        "messages under way 5.9 % 8 us",
        "44 % of all ranks' time is lost by waiting at barriers, most at waiting.c:",
        "(MPI_Barrier): one call of rank 0 lost 30 us waiting for rank 3.",
        "Rank 3 computes 30 us, 2.00 times as long as the mean of all ranks (15 us).",
        "parallel efficiency 0.441",
        "load balance 0.500",
        "communication efficiency 0.882",
        "wait at barrier 60 us 44 %",
    ] {
        assert!(text.contains(said), "{said}\nis missing in\n{text}");
    }
    assert!(!text.contains("transfer"), "that needs another run");
}

#[test]
fn a_run_on_an_ideal_network_tells_waiting_for_each_other_from_messages_under_way() {
    // Two ranks compute for 10 us each, the second when it has the message of the first: 22 us, and 20 us if
    // it takes no time.
    let (real, ideal) = (run("chain", 2, &[MACHINE]), run("chain", 2, &["-xsim-mn=none"]));
    let output = report(&[&real, &"--ideal", &ideal]).success();
    let value = |name: &str| -> f64 {
        let line = output
            .stdout
            .lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap_or_else(|| panic!("no {name}: {output}"));
        line.split_whitespace().find_map(|word| word.parse().ok()).unwrap()
    };
    let [parallel, balance, communication, serialisation, transfer] =
        ["parallel", "load balance", "communication", "serialisation", "transfer"].map(value);
    assert_eq!([parallel, balance, communication, serialisation, transfer], [0.455, 1.0, 0.455, 0.5, 0.909]);
    assert!(
        (communication - serialisation * transfer).abs() < 0.01
            && (parallel - balance * communication).abs() < 0.01
    );
    assert!(!output.stdout.contains("noise"), "both compute alike");
    let wrong = report(&[&real, &"--ideal", &real]);
    wrong.refuses(1, "the ideal run was made on star:2,l=1us,b=100Gbps, whose messages take time");
    report(&[&real, &"--ideal", &run("chain", 3, &["-xsim-mn=none"])])
        .refuses(1, "run the same program on as many ranks");
}

#[test]
fn regions_have_serialisation_and_transfer_too() {
    let directory = scratch("report-regions");
    let of = |name: &str, arguments: &[&str]| {
        let path = directory.join(name);
        let run = Run::program("regions.c")
            .ranks(2)
            .variable("XSIM_COMPUTE", "none")
            .arg(format!("-xsim-report={}", path.display()));
        arguments.iter().fold(run, |run, &argument| run.arg(argument)).run().success();
        path
    };
    let real = of("run.json", &[MACHINE, "-xsim-profile", "checked"]);
    let output = report(&[
        &real,
        &"--ideal",
        &of("ideal.json", &["-xsim-mn=none", "-xsim-profile", "checked"]),
        &"--csv",
        &"-",
        &"--table",
        &"regions",
    ])
    .success();
    // In "solve" rank 1 computes for 25 us, which is as long as both are there where messages take no time,
    // and rank 0 is there for 27: 25/25 and 25/27.
    for said in
        ["serialisation,transfer\n", ",0.9259259259259259,1,0.9259259259259259\n", "\nwrite,2,5000000,0,"]
    {
        assert!(output.stdout.contains(said), "{said} is missing in\n{output}");
    }
    let page = directory.join("run.html");
    report(&[&real, &"--ideal", &directory.join("ideal.json"), &"-o", &page]).success();
    assert!(std::fs::read_to_string(page).unwrap().contains(">serialisation</th>"));
    let without = report(&[&real, &"--ideal", &of("plain.json", &["-xsim-mn=none"])]).success();
    assert!(
        without.stdout.contains("was made without -xsim-profile: its regions are not known"),
        "{without}"
    );
    assert!(!without.stdout.contains("communication efficiency  serialisation"), "{without}");
}

#[test]
fn one_command_makes_both_runs_and_tells_the_efficiencies() {
    let directory = scratch("report-pop");
    let source = common::root().join("tests/programs/regions.c");
    let pop = |arguments: &[&str]| {
        let output = command(&["run", "--pop", "-n", "2", "--mn", "star:l=1us", "--compute", "none"])
            .args(arguments)
            .arg(&source)
            .arg("checked")
            .current_dir(&directory)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Output { stdout: text(output.stdout), stderr: text(output.stderr), status: output.status }
    };
    let told = pop(&[]).success();
    let said = told.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    // The whole: 34 us of computation on rank 1 in 36 us, 34 where messages take none.
    for line in [
        "communication efficiency 0.944",
        "serialisation efficiency 1.000",
        "transfer efficiency 0.944",
        "0.926 1.000 0.926",
    ] {
        assert!(said.contains(line), "{line} is missing in\n{told}");
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "nothing is left");
    pop(&["--report", "run.json"]).success();
    report(&[&directory.join("run.json"), &"--ideal", &directory.join("run.ideal.json")]).success();
    // What fails in the first run has no second.
    let failed = command(&["run", "--pop", "-n", "2"]).arg("-xsim-nonsense").arg(&source).output().unwrap();
    assert!(!failed.status.success());
}

#[test]
fn tables_are_markdown_or_values_with_commas_between() {
    let path = run("all", 4, &[MACHINE, "-xsim-profile"]);
    let markdown = report(&[&path, &"--markdown"]).stdout;
    assert!(markdown.contains("\n## Call sites\n\n| call site | function | calls |"), "{markdown}");
    let values = report(&[&path, &"--csv", &"-"]).stdout;
    assert!(
        values.starts_with(
            "table,row,column,value,unit,text\nTime,0,all_ranks_time,,,outside MPI\nTime,0,of_all,0."
        ),
        "{values}"
    );
    let sites = report(&[&path, &"--csv", &"-", &"--table", &"call sites"]).stdout;
    let heading =
        "call_site,function,calls,bytes,time_share,waits_share,a_call_ps,longest_ps,longest_rank,lost_to\n";
    assert!(sites.starts_with(heading) && sites.contains(",MPI_Barrier,20,0,0."), "{sites}");
    report(&[&path, &"--table", &"Sites"])
        .refuses(2, "--table: no table is called \"Sites\": there are Time, ");
    report(&[&path, &"--table", &"Time", &"-o", &"page.html"]).refuses(2, "a page has all tables");
}

#[test]
fn no_line_of_text_is_wider_than_the_terminal() {
    let path = run("all", 4, &[MACHINE, "-xsim-profile", "-xsim-critical-path"]);
    for columns in [60, 80, 120] {
        let text = of_width(columns, &[&path]).success().stdout;
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(
            longest <= Some(columns) && text.contains("\nCall sites\n"),
            "{longest:?} of {columns}:\n{text}"
        );
    }
    let piped = command(&["report"]).arg(&path).env_remove("COLUMNS").output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), of_width(80, &[&path]).stdout);
}

#[test]
fn a_page_has_everything_and_needs_nothing() {
    let path = run("all", 4, &[MACHINE, "-xsim-profile"]);
    let page = path.with_file_name("run.html");
    report(&[&path, &"-o", &page]).success();
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html><html lang=\"en\">") && text.ends_with("</html>"));
    for heading in [
        "Findings",
        "Efficiencies",
        "Wait states",
        "Call sites",
        "Over time",
        "Over ranks",
        "Who sends to whom",
        "Functions",
    ] {
        assert!(text.contains(&format!(">{heading}</h2>")), "no {heading}");
    }
    for link in ["findings", "wait-states", "sites", "who-sends-to-whom"] {
        assert!(
            text.contains(&format!("<a href=\"#{link}\">")) && text.contains(&format!("<h2 id=\"{link}\">")),
            "no {link}"
        );
    }
    let sources = common::root().join("tests/programs");
    report(&[&path, &"-o", &page, &"--source", &sources]).success();
    let linked = std::fs::read_to_string(&page).unwrap();
    let address = format!("<a href=\"vscode://file{}/", sources.canonicalize().unwrap().display());
    assert!(linked.contains(&address) && !text.contains("vscode:"), "{address}");
    let head = text.split("</header>").next().unwrap();
    assert!(head.contains("<code>xsim run --") && head.contains(" --mn=star:l=1us "), "{head}");
    assert!(head.contains(" UTC</p>"), "{head}");
    // Sorted by a button, numbers by their values; pictures have a text; nothing comes from elsewhere.
    assert!(text.contains("<th scope=\"col\" class=\"number\"><button type=\"button\">calls</button></th>"));
    assert!(
        text.contains("<td class=\"number\" data-label=\"bytes\" data-value=\"240000\">240 kB</td>"),
        "4 ranks send 3,000 integers five times"
    );
    assert_eq!(text.matches("role=\"img\"").count(), text.matches("aria-label=").count());
    assert_eq!(
        text.matches("role=\"img\"").count(),
        5,
        "where time goes, over time, bytes under way, over ranks, who sends to whom"
    );
    assert!(
        !text.contains("http:")
            && !text.contains("https:")
            && !text.contains("src=")
            && text.contains("default-src 'none'")
    );
    for closed in ["table", "section", "svg", "tr", "td", "ul", "figure"] {
        let opened =
            text.matches(&format!("<{closed}>")).count() + text.matches(&format!("<{closed} ")).count();
        assert_eq!(opened, text.matches(&format!("</{closed}>")).count(), "{closed}");
    }
    assert!(text.contains("prefers-color-scheme: dark") && text.contains("@media print"));
}

/// Returns what a browser makes of a page, after this script has run on it; nothing where no Chromium is
/// installed.
fn opened(page: &Path, script: &str) -> Option<String> {
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())?;
    let copy = page.with_file_name("opened.html");
    let text = std::fs::read_to_string(page).unwrap();
    std::fs::write(&copy, text.replace("</body>", &format!("<script>{script}</script></body>"))).unwrap();
    let mut browser = Command::new(browser);
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    browser
        .arg(format!("--user-data-dir={}", page.with_file_name("browser").display()))
        .arg(format!("file://{}", copy.display()));
    Some(String::from_utf8(browser.output().unwrap().stdout).unwrap())
}

#[test]
fn in_a_browser_pictures_over_time_zoom_and_tables_sort() {
    let path = run("late_sender", 2, &[MACHINE, "-xsim-profile"]);
    let page = path.with_file_name("run.html");
    report(&[&path, &"-o", &page]).success();
    let clicks = "document.querySelectorAll('#zoom button')[0].click();
        document.querySelectorAll('#zoom button')[3].click();
        document.querySelectorAll('table.sorts thead button')[2].click();";
    let Some(shown) = opened(&page, clicks) else {
        return eprintln!("no Chromium is installed: the page was not opened");
    };
    // Of 52 us the middle half, and then half of that later: a stretch has 2^17 ps, 131 ns.
    let bins = |us: f64| us * 1e6 / 131_072.0;
    let view = format!("viewBox=\"{} 0 {} 1000\"", bins(26.0), bins(26.0));
    let marks: Vec<&str> = shown
        .split("%;\">")
        .skip(1)
        .filter_map(|rest| rest.split_once(" us</span>"))
        .map(|(mark, _)| mark)
        .collect();
    assert_eq!(marks.get(..5), Some(&["30", "35", "40", "45", "50"][..]), "{shown}");
    assert!(shown.contains(&view), "{view}\nis missing in\n{shown}");
    assert!(shown.contains("aria-sort=\"descending\""), "{shown}");
    assert!(shown.contains("Sorted by calls, greatest first."), "{shown}");
}

#[test]
fn without_a_profile_the_findings_name_the_waiting_and_the_way_to_its_places() {
    let path = run("barrier", 4, &[MACHINE]);
    let output = report(&[&path]).success();
    assert!(
        output.stdout.contains("50 % of all ranks' time is waiting: -xsim-profile tells where"),
        "{output}"
    );
}

#[test]
fn two_runs_are_compared() {
    let (slow, fast) = (
        run("all", 4, &["-xsim-mn=star:l=2us", "-xsim-profile"]),
        run("all", 4, &[MACHINE, "-xsim-profile"]),
    );
    let output = report(&[&slow, &fast]).success();
    for said in
        ["A  ", "star:4,l=2us", "virtual time", "MPI_Allreduce", "-xsim-mn", "B / A", "Options that differ"]
    {
        assert!(output.stdout.contains(said), "{said}\nis missing in\n{output}");
    }
    let same = report(&[&slow, &slow]).stdout;
    assert!(same.contains("1.000") && !same.contains("MPI_Allreduce"), "{same}");
    report(&[&slow, &fast, &"-o", &"page.html"]).refuses(2, "differences of two runs are text");
}

#[test]
fn what_another_algorithm_would_take_is_told_and_recommended_if_it_is_faster() {
    let path = run("allreduce_at_once", 8, &[MACHINE, "-xsim-profile", "-xsim-coll=allreduce=reduce-bcast"]);
    let text = report(&[&path]).success().stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    // A message of 96 B takes 2 us and 7.68 ns; three rounds and not six.
    for said in [
        "is in MPI_Allreduce at waiting.c:",
        "96 B among 8 ranks, by reduce-bcast: of members that enter at one time recursive-doubling takes \
         6.023 us and not 12.05 us, 2.0 times as fast. Try -xsim-coll allreduce=recursive-doubling.",
        "call site function members bytes algorithm calls time waits one takes by others",
        "MPI_Allreduce 8 96 B reduce-bcast 8 75 % 75 % 12.05 us linear 4.015 us, recursive-doubling 6.023 \
         us, ",
    ] {
        assert!(text.contains(said), "{said}\nis missing in\n{text}");
    }
    let page = path.with_extension("html");
    report(&[&path, &"-o", &page]).success();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(">Collectives</h2>") && page.contains(">reduce-bcast</td>"), "{page}");
    let best = ["-xsim-profile", "-xsim-coll=allreduce=recursive-doubling", MACHINE];
    let best = report(&[&run("allreduce_at_once", 8, &best)]).success().stdout;
    assert!(!best.contains("Try -xsim-coll"), "{best}");
}

/// All of 8 ranks, two on a node, send to rank 5: the link to its node is the busiest, and the map says who
/// sits where.
#[test]
fn the_busiest_link_of_an_incast_leads_to_the_rank_that_all_send_to() {
    let path = scratch("report-incast").join("run.json");
    let run = Run::program("incast.c")
        .ranks(8)
        .variable("XSIM_COMPUTE", "none")
        .machine("star:n=4,l=100ns,b=10Gbps,level=packet/star:2,l=0.2us,b=400Gbps");
    run.arg("5").arg(format!("-xsim-report={}", path.display())).run().success();
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let map = &report["simulated"]["network"]["map"];
    assert_eq!(map["cells"][0]["ranks"], 8);
    let busiest = &map["busiest"][0];
    // Ranks 4 and 5 are those of the third node.
    assert_eq!((busiest["to"].as_str(), busiest["rank"].as_u64()), (Some("endpoint 2"), Some(4)));
    assert!(busiest["use"].as_f64().unwrap() > 0.9, "{busiest}");
}

#[test]
fn what_is_no_report_is_refused_with_its_name() {
    let directory = scratch("report-bad");
    let file = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    report(&[&Path::new("/nonexistent.json")]).refuses(1, "cannot read the report /nonexistent.json");
    report(&[&file("text", "hello")]).refuses(1, "this is no report of a run");
    report(&[&file("other.json", "[1, 2]")]).refuses(1, "JSON, but no report of a run");
    report(&[&file("new.json", "{\"version\": 2, \"simulated\": {}}")])
        .refuses(1, "version 2, from a later xsim");
    let without = run("barrier", 2, &[MACHINE]);
    report(&[&without, &"-o", &"/nonexistent/page.html"])
        .refuses(1, "'/nonexistent/page.html' cannot be written");
    let output = report(&[&without]).success();
    assert!(output.stdout.contains("without -xsim-profile"), "{output}");
    report(&[&without, &"-o", &"page.docx"])
        .refuses(2, "page.docx says no format: it ends in .html for a page, in .txt, .md, .csv or .json");
    report(&[&without, &without, &"-o", &"page.html"]).refuses(2, "differences of two runs are text");
    let values = without.with_file_name("run.csv");
    report(&[&without, &"-o", &values]).success();
    assert!(std::fs::read_to_string(&values).unwrap().starts_with("table,row,column,value,unit,text\n"));
    // A run of no length, in which nothing is computed.
    let nothing = run("barrier", 1, &["-xsim-mn=none", "-xsim-profile"]);
    report(&[&nothing, &"-o", &nothing.with_file_name("page.html")]).success();
    let text = report(&[&nothing]).success().stdout;
    assert!(text.contains("No call took any virtual time.") && !text.contains("\nFindings\n"), "{text}");
}

#[test]
fn a_network_of_packets_has_its_links_in_the_report() {
    let path = run("all", 9, &["-xsim-mn=torus:3x3,level=packet,l=100ns,b=10Gbps", "-xsim-profile"]);
    let text = report(&[&path]).success().stdout;
    let at = text.find("\nNetwork\n").unwrap_or_else(|| panic!("{text}"));
    let said: Vec<&str> = text[at..].lines().skip(2).take(3).collect();
    assert!(said[0].contains("9 routers, routing ") && said[0].contains(" packets passed "), "{said:?}");
    assert!(said[1].contains("Of stretches of ") && said[1].contains("; one link was busy "), "{said:?}");
    assert!(said[2].trim_start().starts_with("links") && said[2].contains("busiest"), "{said:?}");
    let page = path.with_extension("html");
    report(&[&path, &"-o", &page]).success();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(">Network</h2>")
            && page.contains("aria-label=\"How busy links were over virtual time. Of stretches of ")
    );
    // Nine routers with a rank each, in three rows as in the torus.
    assert!(
        page.contains("svg class=\"topology\" viewBox=\"0 0 3 3\"")
            && page.matches("<g transform=\"translate(").count() == 9,
        "{page}"
    );
    assert!(page.contains("<title>router 8: rank 8; links busy "));
    let at = text.find("\nBusiest links\n").unwrap_or_else(|| panic!("{text}"));
    let links: Vec<&str> = text[at..].lines().skip(3).take_while(|line| !line.is_empty()).collect();
    assert_eq!(links.len(), 20);
    assert!(links[0].contains("router ") || links[0].contains("endpoint "), "{links:?}");
    assert!(!report(&[&run("all", 4, &[MACHINE])]).stdout.contains("\nNetwork\n"));
}

/// Checks that messages by which members agree on a grid and a window count as none of the program's, however
/// the agreement is run.
#[test]
fn messages_of_mpis_own_are_apart_from_the_programs() {
    let path = scratch("report-own-traffic").join("run.json");
    let mut internal = Vec::new();
    for machine in ["star:l=1us,b=10Gbps", "star:n=9,l=1us,b=10Gbps,level=packet"] {
        let run = Run::program("own_traffic.c")
            .ranks(9)
            .variable("XSIM_COMPUTE", "none")
            .machine(machine)
            .summary();
        let output = run.arg(format!("-xsim-report={}", path.display())).run().success();
        // Beside the program's one message are those of the barrier that MPI_Win_free is.
        output.says(&["xsim: 37 messages, 100 B of payload, beside ", " of MPI's own"]);
        let run: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let of = |field: &str| run["simulated"][field].as_u64().unwrap();
        assert_eq!((of("messages"), of("bytes")), (37, 100), "{machine}");
        internal.push((of("internal_messages"), of("internal_bytes")));
    }
    assert!(internal[0].0 >= 16 && internal[0].1 > 0 && internal[0] == internal[1], "{internal:?}");
    let text = report(&[&path]).success().stdout;
    assert!(text.contains("messages of MPI's own"), "{text}");
}
