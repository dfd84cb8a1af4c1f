//! The same patterns on SimGrid's SMPI and here, both without computation.

use crate::lab::{Lab, is_installed, root};
use crate::measure::Invocation;
use crate::messages::{compiled, microseconds, pattern, repetitions};
use crate::results::{ResultRow, rounded};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// As many more repetitions bring a run here to a second or so too.
const MORE_REPETITIONS: u32 = 50;
const PATTERNS: [&str; 7] = ["ring", "backwards", "stencil", "faces", "named", "any", "barrier"];
const DOCTYPE: &str =
    "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n";

/// SMPI's descriptions of a machine.
struct Platform {
    star: PathBuf,
    /// Hosts without links: each message takes the same time, and nothing is shared.
    constant: PathBuf,
    hosts: PathBuf,
}

impl Platform {
    /// Writes a star: two links of 500 ns and 12.5 GB/s between any two ranks.
    fn of(lab: &Lab, ranks: u32) -> Result<Platform, String> {
        let names = || (0..ranks).map(|rank| format!("h{rank}"));
        let mut star = format!("{DOCTYPE}<platform version=\"4.1\">\n");
        let _ = writeln!(
            star,
            "<cluster id=\"star\" prefix=\"h\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\" bw=\"12.5GBps\" \
             lat=\"500ns\"/>\n</platform>",
            ranks - 1
        );
        let mut constant = format!("{DOCTYPE}<platform version=\"4.1\"><zone id=\"all\" routing=\"None\">\n");
        for name in names() {
            let _ = writeln!(constant, "<host id=\"{name}\" speed=\"1Gf\"/>");
        }
        constant.push_str("</zone></platform>\n");
        let hosts: String = names().map(|name| name + "\n").collect();
        let written = |name: &str, text: &str| {
            let path = lab.scratch(name);
            std::fs::write(&path, text).map_err(|why| format!("'{}': {why}", path.display()))?;
            Ok::<_, String>(path)
        };
        Ok(Platform {
            star: written("star.xml", &star)?,
            constant: written("constant.xml", &constant)?,
            hosts: written("hosts", &hosts)?,
        })
    }

    fn run(&self, program: &Path, is_constant: bool, ranks: u32, name: &str, times: u32) -> Invocation {
        let (platform, model) = match is_constant {
            true => (&self.constant, "--cfg=network/model:Constant"),
            false => (&self.star, ""),
        };
        Invocation::of("smpirun")
            .args(&format!("-np {ranks} -platform"))
            .arg(platform)
            .arg("-hostfile")
            .arg(&self.hosts)
            .args(model)
            .args("--cfg=smpi/simulate-computation:no --cfg=contexts/stack-size:64 --log=root.thres:error")
            .arg(program)
            .args(&format!("{name} {times}"))
    }
}

/// Measures each pattern on SMPI, with its default network and its constant one, and here.
///
/// # Errors
/// A sentence if SMPI is missing, or that of a run.
pub fn rows(lab: &Lab, large: bool) -> Result<Vec<ResultRow>, String> {
    if !is_installed("smpicc") {
        return Err("SMPI is missing: install SimGrid (Debian's libsimgrid-dev)".to_owned());
    }
    let here = compiled(lab)?;
    let there = lab.scratch("patterns-smpi");
    let compile = Invocation::of("smpicc").arg("-O2").arg(root().join("benches/programs/patterns.c"));
    lab.once(&compile.arg("-o").arg(&there))?;
    let mut rows = Vec::new();
    for &ranks in if large { &[64, 1024, 16_384][..] } else { &[64, 1024] } {
        let platform = Platform::of(lab, ranks)?;
        for name in PATTERNS {
            let times = if name == "barrier" { 5 } else { repetitions(name, 100_000, ranks) };
            let peer = |is_constant| {
                let of = |times| platform.run(&there, is_constant, ranks, name, times);
                microseconds(lab, 1, &of(0), &of(times))
            };
            let of = |times| pattern(lab, &here, name, times, ranks);
            let (smpi, constant) = (peer(false)?, peer(true)?);
            let own = microseconds(lab, 1, &of(0), &of(times * MORE_REPETITIONS))?;
            rows.push(
                ResultRow::default()
                    .with("pattern", name)
                    .with("ranks", ranks)
                    .with("SMPI us", rounded(smpi, 3))
                    .with("SMPI constant us", rounded(constant, 3))
                    .with("xsim us", rounded(own, 2))
                    .with("SMPI times", (smpi / own).round() as u64)
                    .with("constant times", (constant / own).round() as u64),
            );
        }
    }
    Ok(rows)
}
