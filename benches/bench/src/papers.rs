//! Figures, tables and claims of five papers: measured here, with the published value beside each.
//!
//! A paper is a list of claims and a function that measures its figures as rows of five columns. A claim is
//! judged by the rows, so that its verdict follows from `benches/results/paper-NAME.json`. [`page`] makes a
//! page of `docs/papers` of both.

mod durango;
mod fattreesim;
mod page;
mod scalabenchgen;
mod tracer;
mod values;
mod xsim;

pub use page::make;

use crate::lab::Lab;
use crate::results::{self, ResultRow, circumstances};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use values::PaperClaim;

/// A paper whose figures are measured.
#[derive(Clone, Copy, ValueEnum)]
pub enum PublishedPaper {
    /// Jones and Engelmann, the network model of xSim.
    Xsim,
    /// Liu et al., fat trees for machines and data centers.
    Fattreesim,
    /// Acun et al., replays of traces.
    Tracer,
    /// Wu et al., benchmarks generated from traces.
    Scalabenchgen,
    /// Carothers et al., models in Aspen.
    Durango,
}

impl PublishedPaper {
    /// Returns the name of the paper's results and page.
    pub fn name(self) -> &'static str {
        match self {
            PublishedPaper::Xsim => "xsim",
            PublishedPaper::Fattreesim => "fattreesim",
            PublishedPaper::Tracer => "tracer",
            PublishedPaper::Scalabenchgen => "scalabenchgen",
            PublishedPaper::Durango => "durango",
        }
    }

    /// Returns the name of the file of the paper's results.
    pub fn results(self) -> &'static str {
        match self {
            PublishedPaper::Xsim => "paper-xsim",
            PublishedPaper::Fattreesim => "paper-fattreesim",
            PublishedPaper::Tracer => "paper-tracer",
            PublishedPaper::Scalabenchgen => "paper-scalabenchgen",
            PublishedPaper::Durango => "paper-durango",
        }
    }

    /// Returns what the paper is cited as.
    fn citation(self) -> &'static str {
        match self {
            PublishedPaper::Xsim => xsim::CITATION,
            PublishedPaper::Fattreesim => fattreesim::CITATION,
            PublishedPaper::Tracer => tracer::CITATION,
            PublishedPaper::Scalabenchgen => scalabenchgen::CITATION,
            PublishedPaper::Durango => durango::CITATION,
        }
    }

    /// Returns all claims of the paper, in its order.
    fn claims(self) -> &'static [PaperClaim] {
        match self {
            PublishedPaper::Xsim => xsim::CLAIMS,
            PublishedPaper::Fattreesim => fattreesim::CLAIMS,
            PublishedPaper::Tracer => tracer::CLAIMS,
            PublishedPaper::Scalabenchgen => scalabenchgen::CLAIMS,
            PublishedPaper::Durango => durango::CLAIMS,
        }
    }
}

/// A request for a paper's figures.
#[derive(Clone, Debug, clap::Args)]
pub struct FigureRequest {
    /// Programs of the NAS Parallel Benchmarks, NAME.CLASS.RANKS (3.3) or NAME.CLASS.x (3.4), made with
    /// `xsim fc` and `xsim cc`.
    #[arg(long)]
    npb: Option<PathBuf>,
    /// Class of the programs.
    #[arg(long, default_value = "A")]
    class: String,
    /// The largest number of ranks or nodes.
    #[arg(long, default_value_t = 512)]
    most: u32,
    /// Measure one figure, table or section (such as 17); the others stay in the file as they are.
    #[arg(long)]
    figure: Option<String>,
}

impl FigureRequest {
    /// Returns `true` if a figure is asked for.
    fn wants(&self, figure: &str) -> bool {
        self.figure.as_ref().is_none_or(|one| one == figure)
    }

    /// Returns the powers of two from `first` up to the largest number of ranks.
    fn powers(&self, first: u32) -> impl Iterator<Item = u32> + use<> {
        let most = self.most;
        std::iter::successors(Some(first), |ranks| ranks.checked_mul(2))
            .take_while(move |&ranks| ranks <= most)
    }

    /// Returns a program of the user's directory, if it is there.
    fn program(&self, code: &str, ranks: u32) -> Option<PathBuf> {
        let directory = self.npb.as_deref()?;
        let class = &self.class;
        [format!("{code}.{class}.{ranks}"), format!("{code}.{class}.x")]
            .map(|name| directory.join(name))
            .into_iter()
            .find(|path| path.is_file())
    }

    /// Returns the command that measures a figure.
    fn command(&self, paper: PublishedPaper) -> String {
        let mut text = format!("xsim-bench papers {}", paper.name());
        if self.npb.is_some() {
            text += &format!(" --npb DIR --class {}", self.class);
        }
        text += &format!(" --most {}", self.most);
        match &self.figure {
            Some(figure) => text + &format!(" --figure {figure}"),
            None => text,
        }
    }
}

/// Measures the figures of a paper.
///
/// # Errors
/// That of a run; a sentence if the directory of programs is none.
pub fn rows(lab: &Lab, paper: PublishedPaper, request: &FigureRequest) -> Result<Vec<ResultRow>, String> {
    if let Some(directory) = request.npb.as_deref().filter(|directory| !directory.is_dir()) {
        return Err(no_directory(directory));
    }
    let rows = match paper {
        PublishedPaper::Xsim => xsim::rows(lab, request)?,
        PublishedPaper::Fattreesim => fattreesim::rows(lab, request)?,
        PublishedPaper::Tracer => tracer::rows(lab, request)?,
        PublishedPaper::Scalabenchgen => scalabenchgen::rows(lab, request)?,
        PublishedPaper::Durango => durango::rows(lab, request)?,
    };
    match (rows.is_empty(), &request.figure) {
        (true, Some(figure)) => Err(format!(
            "nothing of figure '{figure}' is measured: leave --figure out for all, and give --npb DIR \
                for those of the NAS Parallel Benchmarks"
        )),
        _ => Ok(rows),
    }
}

/// Writes measured rows into the paper's file of results, in place of those of the same figures. Each figure
/// has its command, machine, commit and date.
///
/// # Errors
/// A sentence with the file's name.
pub fn write(paper: PublishedPaper, request: &FigureRequest, rows: &[ResultRow]) -> Result<(), String> {
    let root = crate::lab::root();
    let mut file = page::read(&root, paper)?;
    let rows: Vec<Value> = rows.iter().map(ResultRow::to_json).collect();
    merge(&mut file, rows, &json!({ "circumstances": circumstances(), "command": request.command(paper) }));
    file["bench"] = paper.results().into();
    results::write(&root, paper.results(), &file)
}

/// Replaces the rows of figures by measured ones, and says how these were measured.
fn merge(file: &mut Value, rows: Vec<Value>, how: &Value) {
    let mut all = file["rows"].as_array().cloned().unwrap_or_default();
    let mut figures: Vec<&Value> = rows.iter().map(|row| &row["figure"]).collect();
    figures.dedup();
    for figure in figures {
        let place = all.iter().position(|row| row["figure"] == *figure).unwrap_or(all.len());
        all.retain(|row| row["figure"] != *figure);
        let of = rows.iter().filter(|row| row["figure"] == *figure).cloned();
        all.splice(place.min(all.len())..place.min(all.len()), of);
        if let Some(name) = figure.as_str() {
            file["figures"][name] = how.clone();
        }
    }
    file["rows"] = all.into();
}

fn no_directory(directory: &Path) -> String {
    format!(
        "--npb '{}' is no directory: it takes one with programs such as mg.A.512, made with `xsim fc`",
        directory.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_code_class_and_ranks_or_for_all_ranks() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["mg.A.16", "mg.A.x", "ep.B.16"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let npb = Some(directory.path().to_owned());
        let request = FigureRequest { npb, class: "A".to_owned(), most: 64, figure: None };
        let found =
            |code, ranks| request.program(code, ranks).map(|path| path.file_name().unwrap().to_owned());
        assert_eq!(found("mg", 16).unwrap(), "mg.A.16");
        assert_eq!(found("mg", 32).unwrap(), "mg.A.x");
        assert_eq!(found("ep", 16), None);
        assert_eq!(FigureRequest { npb: None, ..request.clone() }.program("mg", 16), None);
        assert_eq!(request.powers(16).collect::<Vec<_>>(), [16, 32, 64]);
        assert!(no_directory(Path::new("/nowhere")).contains("--npb '/nowhere' is no directory"));
    }

    #[test]
    fn a_figure_that_is_measured_again_replaces_its_rows_alone() {
        let row = |figure: &str, ours: u32| json!({ "figure": figure, "ours": ours });
        let mut file = Value::Null;
        merge(&mut file, vec![row("1", 1), row("2", 2), row("2", 3), row("3", 4)], &json!("all"));
        merge(&mut file, vec![row("2", 7)], &json!("again"));
        assert_eq!(file["rows"], json!([row("1", 1), row("2", 7), row("3", 4)]));
        assert_eq!(file["figures"], json!({ "1": "all", "2": "again", "3": "all" }));
    }
}
