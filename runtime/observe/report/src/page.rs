//! One page in a file of its own: no network, no framework, readable in print, light and dark, by keyboard
//! and by screen reader.

mod axis;
mod chart;
mod contents;
mod sources;
mod tables;
mod topology;

use crate::collectives::{self, collectives};
use crate::critical;
use crate::efficiency::{Efficiencies, Ideal, regions_of};
use crate::findings::findings;
use crate::network::{busiest, busiest_time, map, network, over_time};
use crate::overview::{NO_PROFILE, NOTHING_LOST, command, functions, headline, load, parts, settings};
use crate::profile::{longest, regions, states, wait_states, whole, without_lines};
use crate::units::{bytes, grouped, percent, short};
use contents::contents;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use recorder::call_profile::SiteCost;
use recorder::{CallProfile, CriticalPath, RunReport, Simulated};
pub use sources::SourceLinks;
use std::collections::BTreeMap;
use tables::{folded, plain};

/// Call sites that a page has at most.
const SITES: usize = 500;
/// Chains of callers that a site opens to at most.
const CHAINS: usize = 20;
/// Kinds of collectives that a page has at most.
const COLLECTIVES: usize = 100;
/// Pairs of ranks that are told beside the matrix.
const PAIRS: usize = 20;

/// Returns the page of a run; with one on an ideal network, or with why there is none, its efficiencies. Call
/// sites open in an editor by `links`.
pub fn page(report: &RunReport, efficiencies: &Result<Efficiencies, String>, links: &SourceLinks) -> String {
    let run = &report.simulated;
    let (contents, sections) = contents(&sections(report, efficiencies, links).into_string());
    let body = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src \
                    'unsafe-inline'; script-src 'unsafe-inline'";
                title { (headline(run)) }
                style { (PreEscaped(include_str!("page/style.css"))) }
            }
            body {
                a class="skip" href="#sites" { "Skip to the call sites" }
                header { (head(report)) }
                nav title="Contents" { (contents) }
                main { (sections) }
                p id="said" class="soft" role="status" {}
                footer { p class="soft" { "Made by xsim " (env!("CARGO_PKG_VERSION")) ". \
                    xsim help reference/report says what each figure means." } }
                script { (PreEscaped(include_str!("page/script.js"))) }
            }
        }
    };
    body.into_string()
}

/// Returns everything below the head.
fn sections(report: &RunReport, efficiencies: &Result<Efficiencies, String>, links: &SourceLinks) -> Markup {
    let run = &report.simulated;
    html! {
        (found(report))
        (efficiency(efficiencies))
        @if let Some(path) = &run.critical_path { (critical_path(run, path)) }
        @match &run.profile {
            Some(profile) => (of_profile(run, profile, regions_of(efficiencies), links)),
            None => section { h2 id="sites" { "Call sites" } p { (NO_PROFILE) } },
        }
        @if let Some((said, table)) = network(run) {
            section {
                h2 { "Network" }
                p { (said) "." }
                (plain(&table,
                    "Links of the simulated network: shares of the run's time and of their buffers"))
                @if let Some(links) = over_time(run) {
                    figure {
                        (chart::links(links, run.virtual_time_ps, &format!(
                            "How busy links were over virtual time. {}", busiest_time(links))))
                        figcaption class="soft" {
                            "How busy links were: the area is the mean of all, and as high as the picture if \
                             all were always busy"
                            @if !links.most.is_empty() { "; the line is the busiest link of each stretch" }
                            ". " (busiest_time(links)) "."
                        }
                    }
                }
                @if let Some((map, routers)) = map(run) {
                    (topology::topology(&map, routers))
                    details { summary { "The busiest links" } (plain(&busiest(&map),
                        "Directions of cables that were busy longest")) }
                }
            }
        }
        section { h2 { "Functions" } (plain(&functions(run), "MPI functions, those that took most first")) }
        section { h2 { "A rank" } (plain(&load(run), "Computation and waiting over ranks")) }
        section { h2 { "Machine, host and options" } (plain(&settings(report),
            "What the run was made with")) }
    }
}

fn head(report: &RunReport) -> Markup {
    let (run, host) = (&report.simulated, &report.host);
    let command = command(report);
    let parts = parts(run);
    let classes: &[&str] = if run.profile.is_some() {
        &["compute", "mpi", "lost", "wait", "rest"]
    } else {
        &["compute", "wait", "rest"]
    };
    let said: Vec<String> =
        parts.iter().map(|(name, ps)| format!("{name} {}", percent(*ps, whole(run)))).collect();
    html! {
        h1 { (run.program) }
        p class="soft" { (run.machine) }
        @if !command.is_empty() {
            p { code { (command) } }
            p class="soft" { "xsim " (host.xsim) ", " (host.date) }
        }
        @if let Some(end) = &run.early_end {
            section class="ended" role="alert" {
                h2 { (end.cause.verdict()) }
                @for sentence in &end.sentences { p { (sentence) } }
            }
        }
        ul class="tiles" {
            li { b { (short(run.virtual_time_ps)) } "virtual time" }
            li { b { (grouped(run.ranks.into())) } "ranks" }
            li { b { (grouped(run.messages.into())) } "messages" }
            li { b { (bytes(run.bytes)) } "payload" }
            @if run.internal_messages > 0 {
                li { b { (bytes(run.internal_bytes)) } "of MPI's own" }
            }
        }
        figure { (chart::strip(&format!("All ranks' time: {}", said.join(", ")), &parts, classes)) }
    }
}

fn found(report: &RunReport) -> Markup {
    let found = findings(report);
    html! {
        section {
            h2 { "Findings" }
            @if found.is_empty() { p { "Nothing costs more than 2 % of all ranks' time." } }
            @else { ol { @for text in &found { li { (text) } } } }
        }
    }
}

fn efficiency(efficiencies: &Result<Efficiencies, String>) -> Markup {
    html! {
        section {
            h2 { "Efficiencies" }
            @match efficiencies {
                Ok(found) => {
                    (plain(&found.table(), "As POP defines them: each is the product of the parts below it"))
                    @if let Some(note) = found.note { p class="soft" { (note) } }
                    @if found.ideal.is_none() {
                        p class="soft" {
                            "Serialisation and transfer need a run of the same program with -xsim-mn none: \
                             xsim report --ideal IDEAL.json." }
                    }
                }
                Err(why) => p { (why) },
            }
        }
    }
}

fn of_profile(
    run: &Simulated,
    profile: &CallProfile,
    ideal: &BTreeMap<String, Ideal>,
    links: &SourceLinks,
) -> Markup {
    html! {
        @if !profile.regions.is_empty() {
            section { h2 { "Regions" } (plain(&regions(run, profile, ideal),
                "What ranks did in the regions that the program names, and POP's efficiencies there")) }
        }
        section {
            h2 { "Wait states" }
            @let states = wait_states(run, profile);
            @if states.rows.is_empty() { p { (NOTHING_LOST) } } @else { (plain(&states,
                "Time lost because another rank was late")) }
        }
        section {
            h2 id="sites" { "Call sites" }
            @if let Some(said) = without_lines(profile) { p class="soft" { (said) } }
            (sites(run, profile, links))
        }
        @let kinds = collectives(run, profile, COLLECTIVES);
        @if !kinds.rows.is_empty() {
            section {
                h2 { "Collectives" }
                (folded(kinds, "time",
                    "Algorithms that collective calls took, by place and size; shares are of all ranks' \
                     time"))
                p class="soft" { (collectives::MEANING) }
            }
        }
        section {
            h2 { "Over time" }
            div id="zoom" {}
            figure {
                (chart::series(&profile.series, run.ranks, run.virtual_time_ps,
                    "Ranks outside MPI, in MPI and waiting, over virtual time"))
                p class="soft" { "Ranks that are outside MPI, in MPI and waiting, over virtual time." }
                (key())
            }
            @let most = profile.series.under_way_bytes.iter().copied().max().unwrap_or(0);
            @if most > 0 {
                figure {
                    (chart::under_way(&profile.series, run.virtual_time_ps, &format!(
                        "Bytes of point-to-point messages under way, over virtual time; at most {}",
                        bytes(most)
                    )))
                    figcaption class="soft" {
                        "Bytes of point-to-point messages under way, in the mean of a stretch of "
                        (short(profile.series.bin_ps)) ": at most " (bytes(most)) "."
                    }
                }
            }
        }
        section {
            h2 { "Over ranks" }
            figure {
                (chart::load(&profile.load, run.ranks, run.virtual_time_ps,
                    "Time outside MPI, in MPI and waiting, by rank"))
                p class="soft" { "Share of the run's time by rank." }
                (key())
                @if profile.load.iter().any(|load| load.ranks > 1) {
                    p class="soft" { "Means of blocks of " (profile.load[0].ranks) " ranks; the line is the \
                        rank of each that computes longest." }
                }
            }
        }
        (who_to_whom(run, profile))
    }
}

fn critical_path(run: &Simulated, path: &CriticalPath) -> Markup {
    let of = path.whole;
    let parts = [
        ("computation", of.compute_ps),
        ("messages under way", of.transfer_ps),
        ("overheads of MPI", of.mpi_ps),
        ("other waiting", of.wait_ps),
    ];
    let parts = parts.map(|(name, ps)| (name, u128::from(ps)));
    let classes = &["compute", "wait", "mpi", "rest"];
    let more = path.sites.len().saturating_sub(SITES);
    let (delays, costs) = (critical::delays(run, path, SITES), critical::costs(run, path, SITES));
    html! {
        section {
            h2 id="path" { "Critical path" }
            p { (critical::said(path)) "." }
            figure { (chart::strip(&critical::said(path), &parts, classes)) }
            (folded(critical::sites(path, SITES), "of the path",
                "Places that the run's time depends on; a place that took no time would save its part at \
                 most"))
            @if more > 0 { p class="soft" { "And " (more) " more: xsim report shows them as text." } }
            details { summary { "By rank" } (plain(&critical::ranks(path),
                "Ranks that have most of the path")) }
        }
        @if !delays.rows.is_empty() {
            section { h2 { "Delays" } (folded(delays, "of all",
                "Places where time is lost, and the places whose calls came late")) }
            @if !costs.rows.is_empty() { section { h2 { "Delay costs" } (folded(costs, "of all",
                "Places that ranks lose time to: short-term by waiting for who is there, long-term by \
                 waiting for others who do")) } }
        }
    }
}

fn key() -> Markup {
    html! {
        ul class="key" {
            li { i class="compute" {} "outside MPI" }
            li { i class="mpi" {} "in MPI" }
            li { i class="wait" {} "waiting" }
        }
    }
}

fn who_to_whom(run: &Simulated, profile: &CallProfile) -> Markup {
    if profile.traffic.cells.is_empty() {
        return html! { section { h2 { "Who sends to whom" } p { "No messages but those of collectives." } } };
    }
    let folded = chart::fold(&profile.traffic, run.ranks);
    let has_bytes = profile.traffic.cells.iter().any(|cell| cell.3 > 0);
    let amount = |value: u128| if has_bytes { bytes(value) } else { format!("{} messages", grouped(value)) };
    let blocks = if folded.ranks_per_block == 1 {
        String::new()
    } else {
        format!(", in blocks of {} ranks", folded.ranks_per_block)
    };
    html! {
        section {
            h2 { "Who sends to whom" }
            figure {
                (chart::heat_map(&folded, run.ranks, &format!(
                    "Matrix of senders (down) and receivers (across){blocks}; the table below has the \
                     greatest"), amount))
                figcaption class="soft" {
                    "Senders from top to bottom, receivers from left to right" (blocks) ". Messages of \
                        collectives are left out." }
            }
            details {
                summary { "The pairs that exchange most" }
                div class="wide" tabindex="0" { table {
                    caption { "Point-to-point messages" }
                    thead { tr {
                        th scope="col" { "from" }
                        th scope="col" { "to" }
                        th scope="col" class="number" { "sent" }
                    } }
                    tbody { @for (from, to, value) in chart::greatest(&folded, PAIRS) {
                        tr {
                            td data-label="from" { (from) }
                            td data-label="to" { (to) }
                            td class="number" data-label="sent" { (amount(value)) }
                        }
                    } }
                } }
            }
        }
    }
}

fn sites(run: &Simulated, profile: &CallProfile, links: &SourceLinks) -> Markup {
    let heading = |name: &str, number: bool| {
        html! { th scope="col" class=[number.then_some("number")] { button type="button" { (name) } } }
    };
    let shown = profile.sites.iter().take(SITES);
    html! {
        div class="wide" tabindex="0" { table class="sorts" {
            caption { "Places in the program that call MPI; shares are of all ranks' time. A heading sorts." }
            thead { tr {
                (heading("call site", false)) (heading("function", false)) (heading("calls", true))
                (heading("bytes", true)) (heading("time", true)) (heading("waits", true))
                (heading("a call", true)) (heading("deviation", true)) (heading("longest", true))
                th scope="col" { "durations" }
            } }
            tbody { @for site in shown { (site_row(run, site, links)) } }
        } }
        @if profile.sites.len() > SITES { p class="soft" { "And " (profile.sites.len() - SITES) " more that \
            took less: xsim report shows them as text." } }
    }
}

/// Returns a cell with a number, by whose value rows are sorted.
fn number(label: &str, value: u128, text: &str) -> Markup {
    html! { td class="number" data-label=(label) data-value=(value) { (text) } }
}

fn site_row(run: &Simulated, site: &SiteCost, links: &SourceLinks) -> Markup {
    let whole = whole(run);
    html! {
        tr {
            td {
                code { @match links.of(&site.site) {
                    Some(address) => a href=(address) { (site.site) },
                    None => (site.site),
                } }
                @if !site.states.is_empty() { p class="lost-to" { "lost to " (states(site)) } }
                (callers(whole, site))
            }
            td data-label="function" {
                @for part in site.function.split_inclusive('_') { (part) wbr; }
            }
            (number("calls", site.time.count.into(), &grouped(site.time.count.into())))
            (number("bytes", site.bytes, &bytes(site.bytes)))
            (number("time", site.time.sum_ps, &percent(site.time.sum_ps, whole)))
            (number("waits", site.wait.sum_ps, &percent(site.wait.sum_ps, whole)))
            (number("a call", site.time.mean_ps().into(), &short(site.time.mean_ps())))
            (number("deviation", site.time.deviation_ps.into(), &short(site.time.deviation_ps)))
            (number("longest", site.time.max_ps.into(), &longest(&site.time)))
            td data-label="durations" { (chart::durations(&site.histogram)) }
        }
    }
}

/// Returns a site's callers, closed until a reader wants them.
fn callers(whole: u128, site: &SiteCost) -> Markup {
    let more = site.callers.len().saturating_sub(CHAINS);
    html! {
        @if !site.callers.is_empty() {
            details class="callers" {
                summary {
                    "called from "
                    @match site.callers.len() { 1 => { "one place" } count => { (count) " places" } }
                }
                ul {
                    @for cost in site.callers.iter().take(CHAINS) {
                        li {
                            (percent(cost.time_ps, whole)) ", waits " (percent(cost.wait_ps, whole)) ", "
                            (grouped(cost.calls.into())) " calls"
                            ol { @for name in &cost.chain { li { code { (name) } } } }
                        }
                    }
                    @if more > 0 { li { "and " (more) " that took less: xsim report shows them as text" } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recorder::call_profile::{ActivitySeries, RankGroupTimes};
    use recorder::traffic::Matrix;
    use recorder::{Host, Spread};

    fn of(ranks: u64, profile: CallProfile) -> RunReport {
        let spread = Spread { min_ps: 1, min_rank: 0, mean_ps: 2, max_ps: 4, max_rank: 1 };
        let run = Simulated {
            early_end: None,
            program: "<app> & \"co\"".into(),
            machine: "none".into(),
            ranks,
            virtual_time_ps: 1 << 40,
            messages: 1,
            bytes: 1,
            internal_messages: 0,
            internal_bytes: 0,
            functions: [].into(),
            compute: spread,
            wait: spread,
            jobs: Vec::new(),
            profile: Some(profile),
            critical_path: None,
            network: None,
        };
        let host = Host {
            native_processes: 1,
            host_time_s: 1.0,
            cpu_time_s: 1.0,
            peak_rss_bytes: 1,
            context_switches: 1,
            options: [].into(),
            command: Vec::new(),
            date: String::new(),
            xsim: String::new(),
            long_intervals: Vec::new(),
            interrupted_intervals: None,
        };
        RunReport { version: RunReport::VERSION, simulated: run, host }
    }

    #[test]
    fn a_page_of_a_million_ranks_is_below_3_mb() {
        let spread = Spread { max_ps: 1 << 40, mean_ps: 1 << 39, ..Spread::default() };
        let load = (0..512).map(|block| RankGroupTimes {
            first_rank: block * 2048,
            ranks: 2048,
            compute: spread,
            mpi: spread,
            wait: spread,
        });
        let bins = |start: u128| (0..512).map(|bin| (start + bin * 7919) % (1 << 50)).collect();
        // As many pairs as a report has, all over the matrix.
        let cells = (0..1u32 << 16)
            .map(|pair| (pair.wrapping_mul(40_503) % 4096, pair % 4096, 1, 1 << (pair % 40)))
            .collect();
        let site = SiteCost {
            site: "a_rather_long_file_name.cpp:12345 a::function<with, arguments>::of_its_own".into(),
            function: "MPI_Neighbor_alltoallw".into(),
            bytes: u128::MAX,
            time: Default::default(),
            wait: Default::default(),
            histogram: (0..64).map(|bits| (bits, 1 << bits.min(20))).collect(),
            states: [].into(),
            callers: Vec::new(),
        };
        let profile = CallProfile {
            sites: vec![site; 2000],
            traffic: Matrix { ranks_per_block: 256, cells },
            series: ActivitySeries {
                bin_ps: 1 << 31,
                compute_ps: bins(1),
                mpi_ps: bins(2),
                wait_ps: bins(3),
                under_way_bytes: bins(4),
                links: None,
            },
            load: load.collect(),
            regions: Vec::new(),
            collectives: Vec::new(),
        };
        let mut report = of(1 << 20, profile);
        let cell = serde_json::json!({
            "use_mean": 0.123_456_789,
            "use_max": 0.987_654_321,
            "ranks": 2048,
            "between": [1_000_000, 1_002_047]
        });
        let map =
            serde_json::json!({ "routers_per_cell": 64, "row": 32, "cells": vec![cell; 512], "busiest": [] });
        report.simulated.network = Some(serde_json::json!({ "routers": 32768, "map": map }));
        let page = page(&report, &Err("none".into()), &SourceLinks::default());
        assert!(page.contains(
            "routers 32704 to 32767: 2,048 ranks from 1000000 to 1002047; links busy 12 % of the time in the \
             mean, the busiest 99 %"
        ));
        assert!(page.len() < 3_000_000, "{} bytes", page.len());
        assert!(page.contains("And 1500 more that took less"));
    }

    #[test]
    fn names_of_a_program_are_texts_and_no_marks() {
        let page = page(&of(2, CallProfile::default()), &Err("<why>".into()), &SourceLinks::default());
        assert!(
            page.contains("&lt;app&gt; &amp; &quot;co&quot;")
                && !page.contains("<app>")
                && !page.contains("<why>")
        );
    }
}
