//! A policy's text: `openmpi`, `mpich,allreduce=ring`, `bcast=chain:segment=64KiB:fanout=2`, or a TOML file.

use std::path::Path;
use std::rc::Rc;
use std::str::FromStr;

use serde::Deserialize;

use super::policy::{Base, ChoiceRule, Policy, PolicyError};
use crate::Kind;
use crate::algorithm::{self, Parameters};

fn error<T>(sentence: String) -> Result<T, PolicyError> {
    Err(PolicyError(sentence))
}

fn base_of(name: &str) -> Option<Base> {
    Base::NAMES.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
}

fn bases() -> String {
    Base::NAMES.map(|entry| entry.0).join(", ")
}

/// MPIs without a table here: how their names begin, why, and how to go on.
const WITHOUT_TABLE: [(&str, &str); 4] = [
    ("intel", "Intel publishes none; name what I_MPI_ADJUST_ names, as in mpich-3.3,allreduce=rabenseifner"),
    ("impi", "Intel publishes none; name what I_MPI_ADJUST_ names, as in mpich-3.3,allreduce=rabenseifner"),
    ("mvapich", "it has one for each machine; name algorithms, as in mpich-3.2,allreduce=two-level"),
    ("cray", "HPE publishes none; name algorithms, as in mpich-4,allreduce=rabenseifner"),
];

/// Returns the sentence for a name that is no table of ours.
fn no_table(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    if let Some((_, remedy)) = WITHOUT_TABLE.iter().find(|(start, _)| lower.starts_with(start)) {
        return Some(format!("'{name}' has no decision table here: {remedy}"));
    }
    let release = ["openmpi-", "mpich-"].iter().any(|start| lower.starts_with(start));
    release.then(|| format!("there is no decision table '{name}'; take the nearest of {}", bases()))
}

fn kind_of(name: &str) -> Result<Kind, PolicyError> {
    match Kind::ALL.into_iter().find(|kind| kind.name() == name) {
        Some(kind) => Ok(kind),
        None => {
            let names = Kind::ALL.map(Kind::name).join(", ");
            error(format!(
                "'{name}' is not a collective; there are {names} (the v, w, _block and nonblocking forms \
                 included)"
            ))
        }
    }
}

fn algorithm_of(kind: Kind, name: &str) -> Result<&'static str, PolicyError> {
    match algorithm::find(kind, name) {
        Some(algorithm) => Ok(algorithm.name),
        None => {
            let names: Vec<_> = algorithm::of(kind).map(|algorithm| algorithm.name).collect();
            error(format!("'{name}' is not an algorithm for {}; there are {}", kind.name(), names.join(", ")))
        }
    }
}

/// A number of bytes with an optional KiB or MiB.
// Powers of two alone: decision tables are written in them, and a KB that is 1000 would be a trap.
fn bytes_of(text: &str) -> Option<u64> {
    let (digits, unit) = match text {
        _ if text.ends_with("KiB") => (text.trim_end_matches("KiB"), 1 << 10),
        _ if text.ends_with("MiB") => (text.trim_end_matches("MiB"), 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Parses `COLLECTIVE=ALGORITHM[:segment=BYTES][:fanout=N]`.
fn rule_of(item: &str) -> Result<ChoiceRule, PolicyError> {
    let Some((collective, rest)) = item.split_once('=') else {
        return error(no_table(item).unwrap_or_else(|| {
            format!("'{item}' is neither a decision table ({}) nor COLLECTIVE=ALGORITHM", bases())
        }));
    };
    let mut parts = rest.split(':');
    let kind = kind_of(collective.trim())?;
    let algorithm = algorithm_of(kind, parts.next().unwrap_or_default().trim())?;
    let mut parameters = Parameters::default();
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match (name.trim(), bytes_of(value.trim())) {
            ("segment", Some(bytes)) => parameters.segment = bytes,
            ("fanout", Some(fanout)) if u32::try_from(fanout).is_ok() => parameters.fanout = fanout as u32,
            _ => {
                return error(format!(
                    "'{part}' in '{item}' is not understood; an algorithm can be told segment=BYTES (a \
                     number, or one with KiB or MiB) and fanout=N"
                ));
            }
        }
    }
    Ok(ChoiceRule { kind, bytes: 0..=u64::MAX, ranks: 0..=u32::MAX, algorithm, parameters })
}

/// A policy file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    base: Option<String>,
    #[serde(default)]
    rule: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    collective: String,
    algorithm: String,
    #[serde(default)]
    min_bytes: u64,
    max_bytes: Option<u64>,
    #[serde(default)]
    min_ranks: u32,
    max_ranks: Option<u32>,
    #[serde(default)]
    segment: u64,
    #[serde(default)]
    fanout: u32,
}

impl Entry {
    fn rule(&self) -> Result<ChoiceRule, PolicyError> {
        let kind = kind_of(&self.collective)?;
        Ok(ChoiceRule {
            kind,
            bytes: self.min_bytes..=self.max_bytes.unwrap_or(u64::MAX),
            ranks: self.min_ranks..=self.max_ranks.unwrap_or(u32::MAX),
            algorithm: algorithm_of(kind, &self.algorithm)?,
            parameters: Parameters { segment: self.segment, fanout: self.fanout },
        })
    }
}

impl Policy {
    /// Reads the policy of a TOML text: `base = "mpich"` and `[[rule]]` tables with `collective`, `algorithm`
    /// and, where wanted, `min-bytes`, `max-bytes`, `min-ranks`, `max-ranks` (ends included), `segment`,
    /// `fanout`.
    pub fn from_toml(text: &str) -> Result<Policy, PolicyError> {
        let file: PolicyFile = match toml::from_str(text) {
            Ok(file) => file,
            Err(problem) => return error(problem.to_string().trim_end().to_owned()),
        };
        let base = match &file.base {
            None => Base::default(),
            Some(name) => match base_of(name) {
                Some(base) => base,
                None => {
                    return error(no_table(name).unwrap_or_else(|| {
                        format!("base '{name}' is not a decision table; there are {}", bases())
                    }));
                }
            },
        };
        let rules = file.rule.iter().map(Entry::rule).collect::<Result<Vec<_>, _>>()?;
        Ok(Policy { base, rules: rules.into() })
    }

    fn from_file(path: &str) -> Result<Policy, PolicyError> {
        let text = match engine::text::read(Path::new(path), engine::text::SETTINGS) {
            Ok(text) => text,
            Err(problem) => {
                if let Some(sentence) = no_table(path) {
                    return error(sentence);
                }
                return error(format!(
                    "'{path}' is no decision table ({}), no COLLECTIVE=ALGORITHM, and cannot be read as a \
                     file: {problem}",
                    bases()
                ));
            }
        };
        Policy::from_toml(&text).map_err(|PolicyError(problem)| PolicyError(format!("{path}: {problem}")))
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    /// Reads a table's name and rules, separated by commas, or the name of a file, which it reads.
    fn from_str(text: &str) -> Result<Policy, PolicyError> {
        let mut items = text.split(',').map(str::trim).filter(|item| !item.is_empty()).peekable();
        let Some(first) = items.peek() else {
            return error(format!("no decision table is named; there are {}", bases()));
        };
        // A name with neither sign that is no table can only be a file; a file named like a table is reached
        // by a path.
        if !text.contains([',', '=']) && base_of(first).is_none() {
            return Policy::from_file(text.trim());
        }
        let mut policy = Policy::default();
        let mut rules = Vec::new();
        for item in items {
            match base_of(item) {
                Some(base) => policy.base = base,
                None => rules.push(rule_of(item)?),
            }
        }
        // The last word on a collective counts, as with any option given twice.
        rules.reverse();
        policy.rules = Rc::from(rules);
        Ok(policy)
    }
}
