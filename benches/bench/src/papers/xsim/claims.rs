//! Statements of the paper, with what decides each.

use super::super::values::ClaimJudge::{Test, Values};
use super::super::values::{ClaimVerdict, MeasuredValues, PaperClaim, brief, spread};

pub const CITATION: &str =
    "I. S. Jones and C. Engelmann, \"Simulation of Large-Scale HPC Architectures\" (2011)";

pub const CLAIMS: &[PaperClaim] = &[
    PaperClaim {
        figure: "I",
        says: "a hello world of 1 million ranks runs in 4 GB for stacks on 4 nodes of 2 cores",
        judge: Values(|values| {
            let (case, memory) = values.cases("I", "GB").next()?;
            ClaimVerdict::of(memory <= 4.0, format!("{case}: {} GB in all", brief(memory)))
        }),
    },
    PaperClaim {
        figure: "I",
        says: "basic applications of 16,384 ranks run on 4 nodes of 2 cores",
        judge: Test("tests/scale.rs", "programs of many more ranks on one process"),
    },
    PaperClaim {
        figure: "II",
        says: "xSim has 46 calls of MPI, in C and Fortran",
        judge: Test("tests/header.rs", "all functions of MPI 5.0 in C and Fortran"),
    },
    PaperClaim {
        figure: "III",
        says: "a message takes L = h l + s/b",
        judge: Test("tests/virtual_time.rs", "the formula to the picosecond"),
    },
    PaperClaim {
        figure: "1 to 9",
        says: "star, ring, mesh, torus, twisted torus (degree, jump) and tree, with their distances",
        judge: Test("benches/experiments/tests/small.rs", "each topology's hops against searches in graphs"),
    },
    PaperClaim {
        figure: "8",
        says: "the search for paths of a twisted torus is not exhaustive, yet accurate in most cases",
        judge: Test(
            "runtime/core/network/src/topology/twisted/oracle.rs",
            "paths are shortest in all cases; the paper's search is not copied",
        ),
    },
    PaperClaim {
        figure: "10",
        says: "networks nest; latencies add up and the least bandwidth counts",
        judge: Test("benches/experiments/tests/small.rs", "levels and gateways"),
    },
    PaperClaim {
        figure: "11, top",
        says: "`random` on 8x16 gets faster from 2 to 128 native processes",
        judge: Values(|values| {
            let single = values.get("11", "128 ranks, 1 process", "wall s")?;
            let double = values.get("11", "128 ranks, 2 processes", "wall s")?;
            let why = "a message is cheaper than its way to another process";
            ClaimVerdict::of(
                double < single,
                format!("{} s on one process, {} s on two: {why}", brief(single), brief(double)),
            )
        }),
    },
    PaperClaim {
        figure: "11, bottom",
        says: "time rises with n^2 messages from 256 to 65,536 ranks",
        judge: Values(|values| {
            let mesh = values.series("11", "random on mesh", "CPU s");
            let ((few, least), (many, most)) = (mesh.first()?, mesh.last()?);
            let us = |ranks: &u64, s: &f64| brief(s * 1e6 / (ranks * ranks) as f64);
            ClaimVerdict::of(
                mesh.is_sorted_by(|a, b| a.1 < b.1),
                format!(
                    "{} us a message with {few} ranks, {} with {many}; larger sizes would take hours",
                    us(few, least),
                    us(many, most)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "11",
        says: "no difference between no network model, the old one and the new one",
        judge: Values(|values| {
            let (all, ranks) = squared(values, &["none", "star", "mesh", "torus", "tree", "twisted torus"])?;
            let most = all.iter().map(|network| network.1).fold(0.0, f64::max);
            ClaimVerdict::of(
                most < 1.1 * all[0].1,
                format!("{ranks} ranks, CPU s: {}; distances of a twisted torus are searched", listed(&all)),
            )
        }),
    },
    PaperClaim {
        figure: "11",
        says: "(not in the paper) rings cost no more than meshes, within a quarter",
        judge: Values(|values| {
            let (all, ranks) = squared(values, &["mesh", "ring", "one-way ring"])?;
            let most = all.iter().map(|network| network.1).fold(0.0, f64::max);
            ClaimVerdict::of(most < 1.25 * all[0].1, format!("{ranks} ranks, CPU s: {}", listed(&all)))
        }),
    },
    PaperClaim {
        figure: "12, top",
        says: "the star clearly outperforms all others",
        judge: Values(|values| {
            ordered(values, "random", 32, &["star", "torus", "mesh", "tree", "ring"], |star, others| {
                others.iter().all(|other| star < *other)
            })
        }),
    },
    PaperClaim {
        figure: "12, top",
        says: "the tree is next best, for its longest path is 2 log2 n",
        judge: Values(|values| {
            let holds = |tree: f64, others: &[f64]| others.iter().all(|other| tree < *other);
            let (first, _) = crossing(values, "tree", &["torus", "mesh", "ring"], holds)?;
            let text = match first {
                Some(ranks) => format!(
                    "from {ranks} ranks on; below, both tori and the mesh are nearer: (r+c)/4 and \
                        (r+c)/3 hops in r by c"
                ),
                None => {
                    "not at any measured size: (r+c)/4 hops of a torus are fewer than 2 log2 n".to_owned()
                }
            };
            ClaimVerdict::of(false, text)
        }),
    },
    PaperClaim {
        figure: "12, top",
        says: "mesh, torus and twisted torus are very similar",
        judge: Values(|values| {
            let at = |name: &str| values.series("12", &format!("random on {name}"), "us").pop();
            let (mesh, torus, twisted) = (at("mesh")?, at("torus")?.1, at("twisted torus")?.1);
            ClaimVerdict::of(
                mesh.1 < 1.4 * torus && (torus / twisted - 1.0).abs() < 0.05,
                format!(
                    "{} ranks: {} us, {} us, {} us; the mesh has 4/3 of the torus's hops",
                    mesh.0,
                    brief(mesh.1),
                    brief(torus),
                    brief(twisted)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "12, top",
        says: "tori beat the mesh in square setups, and less in others",
        judge: Values(|values| {
            let at = |name: &str| values.series("12", &format!("random on {name}"), "us");
            let ratios: Vec<(u64, f64)> =
                at("mesh").iter().zip(at("torus")).map(|(mesh, torus)| (mesh.0, mesh.1 / torus.1)).collect();
            let of =
                |square: bool| ratios.iter().filter(move |(ranks, _)| (ranks.ilog2() % 2 == 0) == square);
            let mean = |square: bool| {
                let (sum, count) =
                    of(square).fold((0.0, 0), |(sum, count), (_, ratio)| (sum + ratio, count + 1));
                (count > 0).then(|| sum / f64::from(count))
            };
            let (square, other) = (mean(true)?, mean(false)?);
            ClaimVerdict::of(
                square > other * 1.02,
                format!(
                    "mesh by torus: {} square, {} else: by shortest paths a torus needs 3/4 of the \
                        mesh's hops in any shape",
                    brief(square),
                    brief(other)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "12, bottom",
        says: "`ring`: the ring maps the pattern, both tori nearly so",
        judge: Values(|values| {
            let at = |name: &str| values.series("12", &format!("ring on {name}"), "us").pop();
            let (ring, torus, twisted) = (at("ring")?, at("torus")?.1, at("twisted torus")?.1);
            ClaimVerdict::of(
                ring.1 < 1.04 && torus < 1.2 && twisted < 1.2,
                format!("{} ranks: {} us, {} us, {} us", ring.0, brief(ring.1), brief(torus), brief(twisted)),
            )
        }),
    },
    PaperClaim {
        figure: "12, bottom",
        says: "`ring`: the star is constant",
        judge: Values(|values| {
            let star = values.series("12", "ring on star", "us");
            let ratio = spread(star.iter().map(|point| point.1))?;
            ClaimVerdict::of(ratio == 1.0, format!("{} us at all sizes", brief(star.first()?.1)))
        }),
    },
    PaperClaim {
        figure: "12, bottom",
        says: "`ring`: the mesh suffers from its missing loops, the tree goes up and down",
        judge: Values(|values| {
            let at = |name: &str| values.series("12", &format!("ring on {name}"), "us").pop();
            let (torus, mesh, tree) = (at("torus")?.1, at("mesh")?.1, at("tree")?.1);
            let texts = [torus, mesh, tree].map(brief);
            ClaimVerdict::of(
                torus < mesh && mesh < tree,
                format!("torus {} us, mesh {} us, tree {} us", texts[0], texts[1], texts[2]),
            )
        }),
    },
    PaperClaim {
        figure: "13",
        says: "links of 1 Mbps to 0.1 bps raise the latency of an integer",
        judge: Values(|values| {
            let at = |bandwidth: &str| values.get("13", bandwidth, "us");
            let (fast, slow) = (at("1Mbps")?, at("0.1bps")?);
            ClaimVerdict::of(
                slow > fast,
                format!("{} us at 1 Mbps, {} s at 0.1 bps", brief(fast), brief(slow / 1e6)),
            )
        }),
    },
    PaperClaim {
        figure: "14",
        says: "mesh, torus and twisted torus are almost identical",
        judge: Values(|values| {
            let at = |name: &str| values.get("14", &format!("{name}, 16 cores a processor"), "us");
            let (mesh, torus, twisted) = (at("mesh")?, at("torus")?, at("twisted torus")?);
            let texts = [mesh, torus, twisted].map(brief);
            ClaimVerdict::of(
                spread([mesh, torus, twisted].into_iter())? < 1.25,
                format!("16 cores: {} us, {} us, {} us", texts[0], texts[1], texts[2]),
            )
        }),
    },
    PaperClaim {
        figure: "14",
        says: "with more cores a processor the latency falls to that between cores",
        judge: Values(|values| {
            let at = |cores: &str| values.get("14", &format!("torus, {cores} a processor"), "us");
            let (outer, inner) = (at("1 cores")?, at("128 cores")?);
            ClaimVerdict::of(
                inner < 0.15 * outer,
                format!("torus: {} us with 1 core, {} us with 128", brief(outer), brief(inner)),
            )
        }),
    },
    PaperClaim {
        figure: "Table I",
        says: "the parameters of the simulated networks",
        judge: Test("tests/machines.rs", "presets `ethernet`, `mesh-32`, `torus-dualcore` and kin"),
    },
    PaperClaim {
        figure: "15",
        says: "EP has 720,885 messages at 65,536 ranks, with and without a network model",
        judge: Values(|values| {
            let (case, messages) = values.cases("15", "messages").last()?;
            let off =
                values.rows().iter().filter(|row| row["quantity"] == "messages" && row["figure"] == "15");
            let exact = off.clone().all(|row| row["ours"].as_f64() == row["paper"].as_f64());
            ClaimVerdict::of(
                exact,
                format!("{case}: {}, 11 for each rank but one, as 720,885 are", brief_whole(messages)),
            )
        }),
    },
    PaperClaim {
        figure: "15",
        says: "EP has 458,751 and 458,906 switches of ranks at 65,536 ranks",
        judge: Values(|values| {
            let (case, switches) = values.cases("15", "switches").last()?;
            let ranks: f64 = case.rsplit(' ').nth(1)?.parse().ok()?;
            let each = switches / ranks;
            ClaimVerdict::of(
                (each - 7.0).abs() < 0.01,
                format!("{case}: {}, {} for each rank, as there", brief_whole(switches), brief(each)),
            )
        }),
    },
    PaperClaim {
        figure: "15",
        says: "the simulator is faster with the twisted torus than without a network model",
        judge: Values(|values| {
            let at = |network: &str| values.series("15", network, "CPU s").pop();
            let (none, twisted) = (at("no network")?, at("twisted torus")?);
            ClaimVerdict::of(
                twisted.1 < none.1,
                format!("{} ranks: {} s, {} s without", none.0, brief(twisted.1), brief(none.1)),
            )
        }),
    },
    PaperClaim {
        figure: "16",
        says: "MG scales to some extent on Gigabit Ethernet; its impact shows at 4,096 ranks",
        judge: Values(|values| {
            let ethernet = values.series("16", "1 core", "ms");
            let none = values.series("16", "no network", "ms");
            let (first, last) = (ethernet.first()?, ethernet.last()?);
            let before = ethernet.iter().rev().nth(1)?;
            ClaimVerdict::of(
                last.1 < first.1 && last.1 > 0.8 * before.1,
                format!(
                    "{} ms on {} ranks, {} ms on {}, {} ms on {}, where it takes {} ms without a network \
                        model; the paper does not state its class",
                    brief(first.1),
                    first.0,
                    brief(before.1),
                    before.0,
                    brief(last.1),
                    last.0,
                    brief(none.last()?.1)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "16",
        says: "the numbers of cores differ little",
        judge: Values(|values| {
            let at = |name: &str| values.series("16", name, "ms").pop();
            let all = ["1 core", "2 cores", "4 cores", "8 cores", "16 cores"].map(at);
            let ranks = all[0]?.0;
            let times: Vec<f64> = all.into_iter().flatten().map(|point| point.1).collect();
            let ratio = spread(times.iter().copied())?;
            ClaimVerdict::of(
                ratio < 1.25,
                format!("{ranks} ranks: {} to {} ms", brief(least(&times)?), brief(ratio * least(&times)?)),
            )
        }),
    },
    PaperClaim {
        figure: "17",
        says: "meshes 32, 64 and 128 wide differ practically not",
        judge: Values(|values| {
            let at = |ranks: u64| -> Option<[f64; 3]> {
                let of = |width: &str| values.get("17", &format!("width {width}, {ranks} ranks"), "ms");
                Some([of("32")?, of("64")?, of("128")?])
            };
            let few = at(512)?;
            let (largest, _) = values.series("17", "width 32", "ms").pop()?;
            let many = at(largest)?;
            let computed = values.get("17", "width 32, 512 ranks", "ms computed")?;
            let slow = |width: &str| {
                let case = format!("width {width}, 512 ranks, 100 times the computation");
                values.get("17", &case, "ms")
            };
            let slow = match [slow("32"), slow("64"), slow("128")] {
                [Some(first), Some(second), Some(third)] => {
                    let times = [first, second, third];
                    format!(
                        "; with 100 times the computation they are within {} %",
                        brief(100.0 * (spread(times.into_iter())? - 1.0))
                    )
                }
                _ => String::new(),
            };
            let shown = |times: [f64; 3]| times.map(brief).join(", ");
            ClaimVerdict::of(
                spread(few.into_iter())? < 1.1 && spread(many.into_iter())? < 1.1,
                format!(
                    "512 ranks: {} ms; {largest} ranks: {} ms. By L = h l + s/b times go with the sides' \
                        sum: 48, 72, 132 hops at 512 ranks, 160, 128, 160 at 4,096. A rank computes {} \
                        ms, which hides none of it{slow}",
                    shown(few),
                    shown(many),
                    brief(computed)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "17",
        says: "MG does not scale on a 2-D mesh",
        judge: Values(|values| {
            let mesh = values.series("17", "width 32", "ms");
            let (first, last) = (mesh.first()?, mesh.last()?);
            ClaimVerdict::of(
                last.0 > first.0 && last.1 > first.1,
                format!("{} ms on {} ranks, {} ms on {}", brief(first.1), first.0, brief(last.1), last.0),
            )
        }),
    },
    PaperClaim {
        figure: "18",
        says: "MG does not scale on the 3-D mesh, but does on torus and twisted torus up to 4,096 ranks",
        judge: Values(|values| {
            let at = |name: &str| values.series("18", name, "ms");
            let (mesh, torus) = (at("mesh"), at("torus"));
            let best = |points: &[(u64, f64)]| points.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
            let ends = |points: &[(u64, f64)]| Some((points.first()?.1, best(points)?, points.last()?.1));
            let (mesh, torus) = (ends(&mesh)?, ends(&torus)?);
            let shown = |(first, (ranks, least), last): (f64, (u64, f64), f64)| {
                format!(
                    "{} ms, at best {} ms on {ranks} ranks, in the end {} ms",
                    brief(first),
                    brief(least),
                    brief(last)
                )
            };
            ClaimVerdict::of(
                mesh.2 >= mesh.0 && torus.2 < torus.0,
                format!(
                    "mesh: {}; torus: {}. The class, which the paper does not state, decides where \
                        latency outweighs computation",
                    shown(mesh),
                    shown(torus)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "18",
        says: "torus and twisted torus do not differ",
        judge: Values(|values| {
            let at = |name: &str| values.series("18", name, "ms").pop();
            let (torus, twisted) = (at("torus")?, at("twisted torus")?);
            ClaimVerdict::of(
                spread([torus.1, twisted.1].into_iter())? < 1.1,
                format!("{} ranks: {} ms, {} ms", torus.0, brief(torus.1), brief(twisted.1)),
            )
        }),
    },
    PaperClaim {
        figure: "VI",
        says: "congestion is left out, so a network may cost less than a real one",
        judge: Test("tests/packet.rs", "left out by formula, as there; packets and flows have it"),
    },
];

/// Returns what n^2 messages cost on networks at the largest size, with the size.
fn squared<'n>(values: &MeasuredValues, names: &[&'n str]) -> Option<(Vec<(&'n str, f64)>, u64)> {
    let at =
        |name: &&'n str| Some((*name, values.series("11", &format!("random on {name}"), "CPU s").pop()?.1));
    let largest = values.series("11", "random on mesh", "CPU s").pop()?.0;
    Some((names.iter().map(at).collect::<Option<Vec<_>>>()?, largest))
}

fn listed(networks: &[(&str, f64)]) -> String {
    let texts: Vec<String> =
        networks.iter().map(|(name, value)| format!("{name} {}", brief(*value))).collect();
    texts.join(", ")
}

fn brief_whole(value: f64) -> String {
    crate::results::shown(&serde_json::Value::from(value as u64))
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

/// Judges an order of networks at all sizes from `first` ranks on.
fn ordered(
    values: &MeasuredValues,
    program: &str,
    first: u64,
    names: &[&str],
    holds: impl Fn(f64, &[f64]) -> bool,
) -> Option<ClaimVerdict> {
    let series: Vec<Vec<(u64, f64)>> =
        names.iter().map(|name| values.series("12", &format!("{program} on {name}"), "us")).collect();
    let sizes = series.first().filter(|points| !points.is_empty())?;
    let at = |index: usize| -> Option<Vec<f64>> {
        series.iter().map(|points| points.get(index).map(|point| point.1)).collect()
    };
    let mut all = sizes.iter().enumerate().filter(|(_, point)| point.0 >= first);
    let held = all.all(|(index, _)| at(index).is_some_and(|row| holds(row[0], &row[1..])));
    let last = at(sizes.len() - 1)?;
    let shown: Vec<String> =
        names.iter().zip(&last).map(|(name, us)| format!("{name} {} us", brief(*us))).collect();
    ClaimVerdict::of(held, format!("from {first} ranks on; {} ranks: {}", sizes.last()?.0, shown.join(", ")))
}

/// Returns the least size from which on an order of `random` holds, and the largest size.
fn crossing(
    values: &MeasuredValues,
    name: &str,
    others: &[&str],
    holds: impl Fn(f64, &[f64]) -> bool,
) -> Option<(Option<u64>, u64)> {
    let at = |name: &str| values.series("12", &format!("random on {name}"), "us");
    let own = at(name);
    let others: Vec<Vec<(u64, f64)>> = others.iter().map(|name| at(name)).collect();
    let row = |index: usize| -> Vec<f64> {
        others.iter().filter_map(|points| Some(points.get(index)?.1)).collect()
    };
    let last_failure = (0..own.len()).rev().find(|&index| !holds(own[index].1, &row(index)));
    let first = own.get(last_failure.map_or(0, |index| index + 1)).map(|point| point.0);
    Some((first, own.last()?.0))
}
