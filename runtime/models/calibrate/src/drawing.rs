//! Drawing of the measurements, the lines through them, and the machine.

use crate::fit::Fit;
use crate::prediction::Prediction;
use plot::{Chart, Mark, PlotSeries};

/// Draws times over sizes, from one byte on: logarithmic axes have no nought.
pub fn chart(fit: &Fit, machine: &[Prediction], specification: &str) -> Chart {
    let points = |of: &dyn Fn(&Prediction) -> f64| -> Vec<(f64, f64)> {
        let all = machine.iter().filter(|at| at.row.bytes > 0).map(|at| (at.row.bytes as f64, of(at) * 1e6));
        // A fit may be below nought between the sizes of a line.
        all.filter(|at| at.1 > 0.0).collect()
    };
    let series =
        |name: &str, mark: Mark, points: Vec<(f64, f64)>| PlotSeries { name: name.to_owned(), mark, points };
    let mut all = vec![series("measured", Mark::Points, points(&|at| at.row.seconds))];
    for (number, segment) in fit.segments.iter().enumerate() {
        let on = |(bytes, _): &(f64, f64)| (segment.from as f64..=segment.until as f64).contains(bytes);
        let line = points(&|at| segment.at(at.row.bytes)).into_iter().filter(on).collect();
        all.push(series(&format!("line {}", number + 1), Mark::Curve, line));
    }
    all.push(series(specification, Mark::Curve, points(&|at| at.seconds)));
    Chart {
        title: String::new(),
        x: "size [B]".to_owned(),
        y: "time of a message [us]".to_owned(),
        series: all,
    }
}
