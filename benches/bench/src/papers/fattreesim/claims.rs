//! Statements of the paper, with what decides each.

use super::super::values::ClaimJudge::{Missing, Test, Values};
use super::super::values::{ClaimVerdict, MeasuredValues, PaperClaim, brief};

pub const CITATION: &str = "N. Liu, A. Haider, X.-H. Sun and D. Jin, \"FatTreeSim: Modeling Large-scale\n\
    Fat-Tree Networks for HPC Systems and Data Centers\" (SIGSIM-PADS 2015)";

/// A value of figures that are pictures.
const PICTURE: &str = "the measured latencies of Emulab stand in the figure alone, and the text states \
    neither latency nor bandwidth of its links";
const HEC: &str =
    "HEC's times stand in the figure alone, and the text states no rates of its disks and tasks";

pub const CLAIMS: &[PaperClaim] = &[
    PaperClaim {
        figure: "3.1",
        says: "an m-port n-tree has m (m/2)^(n-1) nodes and (2n-1) (m/2)^(n-1) switches; 524,288 and \
            20,480 with 128 ports",
        judge: Values(|values| {
            let off = values.deviation("3.1")?;
            let largest = values.get("3.1", "128-port 3-tree", "nodes")?;
            ClaimVerdict::of(off == 0.0, format!("all equal; 128-port 3-tree: {largest} nodes"))
        }),
    },
    PaperClaim {
        figure: "Equation 1",
        says: "a packet takes T = H (D/B + Tp) + Ts, stored and forwarded",
        judge: Test("tests/packet.rs", "`switching=saf` to the picosecond"),
    },
    PaperClaim {
        figure: "3.2",
        says: "traffic is Poisson to random destinations, or to the nearest or second nearest at fixed gaps",
        judge: Test("tests/traffic.rs", "`--pattern uniform`, `neighbor`, `--fixed`"),
    },
    PaperClaim {
        figure: "3.3",
        says: "ECMP hashes a flow's header; dynamic routings are future work",
        judge: Test("tests/packet.rs", "`routing=ecmp`, and `dmodk` and `adaptive` besides"),
    },
    PaperClaim {
        figure: "9",
        says: "nearest neighbour: the deviation falls with the number of messages, 2.86 % at most with 500",
        judge: Values(|values| falling(values, "9", "neighbor", 2.86)),
    },
    PaperClaim { figure: "9", says: "nearest neighbour: 10 to 13 % from Emulab", judge: Missing(PICTURE) },
    PaperClaim {
        figure: "10",
        says: "random destinations: the deviation falls with the number of messages",
        judge: Values(|values| falling(values, "10", "uniform", f64::INFINITY)),
    },
    PaperClaim { figure: "10", says: "random destinations: within 3 % of Emulab", judge: Missing(PICTURE) },
    PaperClaim {
        figure: "11",
        says: "the simulated distribution is smooth, without Emulab's steps",
        judge: Values(|values| {
            let steps: Vec<(&str, f64)> = values.cases("11", "largest step %").collect();
            let worst = steps.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            ClaimVerdict::of(
                worst.1 < 10.0,
                format!(
                    "largest step {} % ({}): messages that meet no other take the same time to the \
                        picosecond; the paper adds noise by hand",
                    brief(worst.1),
                    worst.0
                ),
            )
        }),
    },
    PaperClaim {
        figure: "11",
        says: "queues behind one port spread latencies of the 2-tree",
        judge: Values(|values| {
            let of = |quantity: &str| values.get("11", "4-port 2-tree, uniform", quantity);
            let (least, late) = (of("least us")?, of("99 % us")?);
            ClaimVerdict::of(
                late > 2.0 * least,
                format!("from {} us to {} us at 99 %", brief(least), brief(late)),
            )
        }),
    },
    PaperClaim { figure: "11", says: "the distributions are near Emulab's", judge: Missing(PICTURE) },
    PaperClaim {
        figure: "12",
        says: "305 M events a second on 2 racks of Blue Gene/Q (16,384 cores), 297 M on one",
        judge: Values(|values| {
            let (case, rate) = values.cases("12", "M events a CPU s").max_by(|a, b| a.1.total_cmp(&b.1))?;
            ClaimVerdict::of(
                rate >= 305.0,
                format!(
                    "{} M a second of one core ({case}); 305 M on 16,384 cores are 0.019 M a core",
                    brief(rate)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "12",
        says: "nearly linear speed-up with cores",
        judge: Values(|values| {
            let at = |threads: u32| -> Vec<f64> {
                let of = |case: &str| case.ends_with(&format!("{threads} threads"));
                values.cases("12", "wall s").filter(|(case, _)| of(case)).map(|(_, s)| s).collect()
            };
            let (single, double) = (at(1), at(2));
            let ratio = single.iter().sum::<f64>() / double.iter().sum::<f64>();
            (!double.is_empty()).then_some(())?;
            ClaimVerdict::of(
                ratio > 1.5,
                format!(
                    "2 threads are {} times as fast as one, beside other work; there are no more cores",
                    brief(ratio)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "12",
        says: "the event rate rises with the packet interval from 200 to 1,600 ns",
        judge: Values(|values| {
            let rate = |interval: u32| {
                let of = |case: &str| case.ends_with(&format!("{interval} ns, 1 threads"));
                values.cases("12", "M events a CPU s").find(|(case, _)| of(case)).map(|(_, rate)| rate)
            };
            let (short, long) = (rate(200)?, rate(1600)?);
            ClaimVerdict::of(
                long > short,
                format!(
                    "{} M at 200 ns, {} M at 1,600 ns: nothing is rolled back here, which is what longer \
                        gaps save there",
                    brief(short),
                    brief(long)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "12",
        says: "5,000 packets of each node are 567 billion events",
        judge: Values(|values| {
            let (case, events) = values.cases("12", "M events").last()?;
            let nodes: f64 = case.split(' ').next()?.parse().ok()?;
            let each = events * 1e6 / nodes / 10.0;
            let (_, rate) = values.cases("12", "M events a CPU s").last()?;
            ClaimVerdict::of(
                false,
                format!(
                    "not run: {} events a packet here, so 5,000 packets are {} billion, {} hours; the \
                        paper's 216 a packet count flits",
                    brief(each),
                    brief(each * 5000.0 * 524_288.0 / 1e9),
                    brief(each * 5000.0 * 524_288.0 / rate / 1e6 / 3600.0)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "12",
        says: "efficiency falls below zero at 32,768 cores; up to 37 % of events are remote",
        judge: Missing("threads synchronize conservatively, so that nothing is rolled back"),
    },
    PaperClaim { figure: "13", says: "Terasort: within 5 % of HEC in most cases", judge: Missing(HEC) },
    PaperClaim {
        figure: "13",
        says: "Terasort: map, shuffle and reduce of 128 MB to 16 GB on 16 nodes",
        judge: Values(|values| phases(values, "13", "terasort")),
    },
    PaperClaim {
        figure: "13",
        says: "(not in the paper) other routings than ECMP",
        judge: Values(|values| {
            let at = |routing: &str| values.get("13", &format!("terasort, {routing}, 1024 MiB"), "shuffle s");
            let (ecmp, dmodk, adaptive) = (at("ecmp")?, at("dmodk")?, at("adaptive")?);
            ClaimVerdict::of(
                dmodk <= ecmp && adaptive <= ecmp,
                format!(
                    "shuffle of 1 GiB: {} s by ECMP, {} s by d-mod-k, {} s adaptive: hashed flows collide",
                    brief(ecmp),
                    brief(dmodk),
                    brief(adaptive)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "abstract",
        says: "all Hadoop cases within 13.7 % of the cluster",
        judge: Missing(HEC),
    },
    PaperClaim { figure: "14", says: "Wordcount: within 10 % of HEC", judge: Missing(HEC) },
    PaperClaim {
        figure: "14",
        says: "Wordcount: map, shuffle and reduce of 128 MB to 16 GB on 16 nodes",
        judge: Values(|values| phases(values, "14", "wordcount")),
    },
    PaperClaim { figure: "15", says: "clustering of proteins: within 10 % of HEC", judge: Missing(HEC) },
    PaperClaim {
        figure: "15",
        says: "clustering of proteins, 948 MB to 60 GB: an output of 1 %, so most time goes to map and \
            shuffle",
        judge: Values(|values| {
            let of = |quantity: &str| values.get("15", "octree, flows, 61440 MiB", quantity);
            let (map, shuffle, reduce) = (of("map s")?, of("shuffle s")?, of("reduce s")?);
            ClaimVerdict::of(
                map + shuffle > reduce,
                format!(
                    "60 GiB: map {} s, shuffle {} s, reduce {} s over all rounds",
                    brief(map),
                    brief(shuffle),
                    brief(reduce)
                ),
            )
        }),
    },
];

/// Judges that the deviation of means falls with the number of messages, from at most `most` percent.
fn falling(values: &MeasuredValues, figure: &str, pattern: &str, most: f64) -> Option<ClaimVerdict> {
    let all = values.series(figure, pattern, "deviation %");
    let (first, last) = (all.first()?, all.last()?);
    ClaimVerdict::of(
        last.1 < first.1 && first.1 <= most,
        format!("{} % with {}, {} % with {} messages", brief(first.1), first.0, brief(last.1), last.0),
    )
}

/// Judges that all phases grow with the input.
fn phases(values: &MeasuredValues, figure: &str, job: &str) -> Option<ClaimVerdict> {
    let of = |quantity: &str| values.series(figure, &format!("{job}, flows"), quantity);
    let all = ["map s", "shuffle s", "reduce s"].map(of);
    let grow = all.iter().all(|series| series.is_sorted_by(|a, b| a.1 <= b.1));
    let last: Vec<f64> = all.iter().filter_map(|series| series.last().map(|point| point.1)).collect();
    let [map, shuffle, reduce] = last[..] else { return None };
    ClaimVerdict::of(
        grow,
        format!(
            "16 GiB: map {} s, shuffle {} s, reduce {} s, with assumed rates; phases grow with the input",
            brief(map),
            brief(shuffle),
            brief(reduce)
        ),
    )
}
