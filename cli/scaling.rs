//! Other computation and other sizes than those of a trace: what `xsim trace scale` writes and `xsim replay`
//! runs.

use crate::failure::{Failure, USAGE};
use ::aspen::{Sources, parse_formula, tree::Expr, value};
use ::trace::Trace;
use ::trace::scale::{Change, Rule, Scaling, scale};
use clap::{Arg, ArgAction, ArgMatches};
use engine::Span;

/// Sizes from here on are not told exactly by a formula's numbers.
const MAX_EXACT_SIZE: f64 = (1u64 << 53) as f64;

/// Returns the arguments.
pub fn args() -> [Arg; 2] {
    [
        Arg::new("compute")
            .long("compute")
            .value_name("[PLACE=]none|recorded|FACTOR|TIME")
            .allow_hyphen_values(true)
            .action(ArgAction::Append)
            .help(
                "What ranks compute between calls: nothing, what was recorded, so many times that, or so \
                 long each time; with a place before the calls that are made there, such as solve.c:31=0.5 \
                 or MPI_Allreduce=3us. The last that is about a computation holds [default: recorded]",
            ),
        Arg::new("sizes").long("sizes").value_name("FORMULA").allow_hyphen_values(true).help(
            "Bytes of messages, and of the blocks of collectives, by a formula (docs/reference/aspen.md) in \
             what they were, bytes, and in the ranks of the trace, ranks: 2*bytes, min(bytes, 64*kilo), \
             8*ceil(bytes/ranks/8). What is empty stays so",
        ),
    ]
}

/// The requested changes of computation and sizes.
pub struct RequestedScaling {
    computation: Vec<Rule>,
    sizes: Option<ScalingFormula>,
}

struct ScalingFormula {
    text: String,
    sources: Sources,
    parsed: Expr,
}

/// Reads the arguments.
///
/// # Errors
/// A sentence with what is wrong and what may stand there.
pub fn read(matches: &ArgMatches) -> Result<RequestedScaling, Failure> {
    let computation = matches
        .get_many::<String>("compute")
        .into_iter()
        .flatten()
        .map(|given| rule(given))
        .collect::<Result<_, _>>()?;
    let formula = |text: &String| {
        let mut sources = Sources::default();
        let id = sources.add("--sizes", text.clone());
        let parsed = parse_formula(&sources, id).map_err(|error| Failure::with(USAGE, error.to_string()))?;
        Ok(ScalingFormula { text: text.clone(), sources, parsed })
    };
    let sizes = matches.get_one::<String>("sizes").map(formula).transpose()?;
    Ok(RequestedScaling { computation, sizes })
}

fn rule(given: &str) -> Result<Rule, Failure> {
    // A place may have the sign, too (`operator==`): the last one is ours.
    let (place, told) =
        given.rsplit_once('=').map_or((None, given), |(place, told)| (Some(place.to_owned()), told));
    let change = match told {
        "none" => Change::Factor(0.0),
        "recorded" => Change::Factor(1.0),
        told => match (told.parse::<f64>(), told.parse::<Span>()) {
            (Ok(factor), _) if factor.is_finite() && factor >= 0.0 => Change::Factor(factor),
            (Err(_), Ok(span)) => Change::Time(span),
            _ => {
                let why = format!(
                    "--compute {given}: none, recorded, a factor such as 0.5 or a time such as 3us, and \
                     before it, if not all is meant, a place and ="
                );
                return Err(Failure::with(USAGE, why));
            }
        },
    };
    Ok(Rule { place, change })
}

impl RequestedScaling {
    /// Returns `true` if a trace stays as it is.
    pub fn is_nothing(&self) -> bool {
        self.sizes.is_none() && Scaling { computation: self.computation.clone(), sizes: None }.is_nothing()
    }

    /// Returns `true` if something is said of what ranks compute.
    pub fn is_about_computation(&self) -> bool {
        !self.computation.is_empty()
    }

    /// Changes a trace.
    ///
    /// # Errors
    /// A sentence: a place that it does not have, or a size that a call cannot have.
    pub fn apply(&self, trace: &mut Trace) -> Result<(), String> {
        let ranks = f64::from(trace.ranks);
        let of_formula =
            |bytes: u64| self.sizes.as_ref().map_or(Ok(bytes), |formula| formula.at(bytes, ranks));
        let sizes: Option<::trace::scale::Resize> =
            if self.sizes.is_some() { Some(&of_formula) } else { None };
        scale(trace, &Scaling { computation: self.computation.clone(), sizes })
    }
}

impl ScalingFormula {
    fn at(&self, bytes: u64, ranks: f64) -> Result<u64, String> {
        let told = |why: &str| format!("--sizes {}: {why}", self.text);
        let size = value(&self.sources, &self.parsed, &[("bytes", bytes as f64), ("ranks", ranks)])
            .map_err(|error| error.to_string())?;
        if size.fract() != 0.0 {
            return Err(told(&format!(
                "{bytes} bytes become {size}, which is no whole number: round it with floor() or ceil()"
            )));
        }
        if !(0.0..MAX_EXACT_SIZE).contains(&size) {
            return Err(told(&format!("{bytes} bytes become {size}, where 0 to 2^53 may be")));
        }
        Ok(size as u64)
    }
}
