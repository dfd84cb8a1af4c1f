//! Figures 15 to 18: EP and MG on the networks of Table I, from programs that the user gives.

use super::super::FigureRequest;
use super::super::values::figure_row;
use crate::lab::Lab;
use crate::results::ResultRow;
use std::path::Path;

/// The figure, ranks that it begins with, and networks (presets) of MG.
type MultigridFigure = (&'static str, u32, &'static [(&'static str, &'static str)]);

const MULTIGRID: [MultigridFigure; 3] = [
    (
        "16",
        16,
        &[
            ("1 core", "ethernet"),
            ("2 cores", "ethernet-2core"),
            ("4 cores", "ethernet-4core"),
            ("8 cores", "ethernet-8core"),
            ("16 cores", "ethernet-16core"),
            ("no network", "none"),
        ],
    ),
    ("17", 128, &[("width 32", "mesh-32"), ("width 64", "mesh-64"), ("width 128", "mesh-128")]),
    (
        "18",
        128,
        &[("mesh", "mesh-dualcore"), ("torus", "torus-dualcore"), ("twisted torus", "twisted-dualcore")],
    ),
];

/// Measures all figures whose programs are there.
pub fn rows(lab: &Lab, request: &FigureRequest, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    if request.wants("15") {
        embarrassingly_parallel(lab, request, rows)?;
    }
    for (figure, first, networks) in MULTIGRID.into_iter().filter(|figure| request.wants(figure.0)) {
        for ranks in request.powers(first) {
            let Some(program) = request.program("mg", ranks) else { continue };
            for (name, preset) in networks {
                let time = multigrid(lab, &program, ranks, preset, rows, figure, name)?;
                rows.push(figure_row(figure, format!("{name}, {ranks} ranks"), "ms", time, None));
                let factors: &[u32] = if (figure, ranks) == ("17", 512) { &[10, 100] } else { &[] };
                for &factor in factors {
                    let time =
                        multigrid_time(lab, &program, ranks, &format!("{preset} -xsim-proc {factor}"))?;
                    let case = format!("{name}, {ranks} ranks, {factor} times the computation");
                    rows.push(figure_row(figure, case, "ms", time, None));
                }
            }
        }
    }
    Ok(())
}

/// Measures figure 15: what the simulator takes for EP, and what it does.
fn embarrassingly_parallel(
    lab: &Lab,
    request: &FigureRequest,
    rows: &mut Vec<ResultRow>,
) -> Result<(), String> {
    for ranks in request.powers(16) {
        let Some(program) = request.program("ep", ranks) else { continue };
        for (name, preset) in [("no network", "none"), ("twisted torus", "twisted-dualcore")] {
            let run = lab.ranks(&program, "", ranks).args(&format!("-xsim-mn {preset} -xsim-coll linear"));
            let cost = lab.least(2, &run.arg("-xsim-report").arg(lab.scratch("report.json")))?;
            let case = format!("{name}, {ranks} ranks");
            rows.push(figure_row("15", case.clone(), "CPU s", cost.cpu_s, None));
            // The paper has 11 messages for each rank but one at 65,536 ranks.
            let paper = (720_885.0 / 65_535.0) * f64::from(ranks - 1);
            let messages = lab.reported("report.json", "/simulated/messages")?;
            rows.push(figure_row("15", case.clone(), "messages", messages, Some(paper)));
            let switches = lab.reported("report.json", "/host/context_switches")?;
            rows.push(figure_row("15", case, "switches", switches, Some(7.0 * f64::from(ranks))));
        }
    }
    Ok(())
}

/// Runs MG and returns its own time in milliseconds. Adds what a rank computed in figure 17.
fn multigrid(
    lab: &Lab,
    program: &Path,
    ranks: u32,
    preset: &str,
    rows: &mut Vec<ResultRow>,
    figure: &'static str,
    name: &str,
) -> Result<f64, String> {
    let time = multigrid_time(lab, program, ranks, preset)?;
    if figure == "17" {
        let computed = lab.reported("report.json", "/simulated/compute/mean_ps")? / 1e9;
        rows.push(figure_row(figure, format!("{name}, {ranks} ranks"), "ms computed", computed, None));
    }
    Ok(time)
}

/// Runs MG with a report and returns its own time in milliseconds.
fn multigrid_time(lab: &Lab, program: &Path, ranks: u32, machine: &str) -> Result<f64, String> {
    let run = lab.ranks(program, "", ranks).args(&format!("-xsim-mn {machine}"));
    let output = lab.once(&run.arg("-xsim-report").arg(lab.scratch("report.json")))?.output;
    multigrid_ms(&output).ok_or_else(|| format!("MG printed no Size, Iterations and Mop/s: {output}"))
}

/// Returns the time of MG in milliseconds from its own rate, which has more digits than its seconds.
fn multigrid_ms(output: &str) -> Option<f64> {
    let field = |name: &str| {
        output
            .lines()
            .find_map(|line| line.trim().strip_prefix(name)?.split_once('='))
            .map(|(_, value)| value.trim())
    };
    let sides: Vec<f64> =
        field("Size")?.split('x').map(|side| side.trim().parse().ok()).collect::<Option<_>>()?;
    let iterations: f64 = field("Iterations")?.parse().ok()?;
    let rate: f64 = field("Mop/s total")?.parse().ok()?;
    // 58 operations for each point and iteration (mg.f of NPB 3.3).
    Some(58.0 * iterations * sides.iter().product::<f64>() / (rate * 1e3))
}

#[cfg(test)]
mod tests {
    use super::multigrid_ms;

    #[test]
    fn the_time_of_mg_follows_from_its_rate() {
        let output = " Class           =                        A\n Size            =            256x 256x \
        256\n \
                      Iterations      =                        4\n Mop/s total     =                  \
                      3892.31\n";
        assert!((multigrid_ms(output).unwrap() - 1000.0).abs() < 0.1);
        assert_eq!(multigrid_ms("Size = 256"), None);
    }
}
