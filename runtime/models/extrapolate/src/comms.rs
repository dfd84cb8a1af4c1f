//! The communicators that the program made: which ranks have which, as rules.

use crate::family::Family;
use crate::linear::{Index, SamplePoint};
use crate::quantity::{self, NumberMeaning, Quantity, Row};
use trace::Trace;
use trace::dictionary::Dictionary;
use trace::part::Seen;
use trace::template::Position;
use trace::trace::Instance;

/// Facts about a communicator of a rank.
const FACTS: [&str; 7] = [
    "the rank in it",
    "its size",
    "how many ranks messages can go to",
    "its first member",
    "the number that its first member has for it",
    "the first rank that messages can go to",
    "the number that this rank has for it",
];

/// The rules of what ranks have under their numbers from 1 on: whether there is one, and its facts.
#[derive(Debug)]
pub struct Comms(Vec<(Quantity, Vec<Quantity>)>);

/// The communicators of a rank by number less one.
pub type OfRank = Vec<Option<[i64; 7]>>;

fn at(family: &Family, run: usize, rank: u32) -> SamplePoint {
    SamplePoint { run, rank, index: Index::new(), position: Position { rank, peers: family.counts[run] } }
}

impl Comms {
    /// Returns their rules. O(members).
    ///
    /// # Errors
    /// A sentence with what has none.
    pub fn plan(family: &Family, traces: &[&Trace]) -> Result<Comms, String> {
        let most = traces.iter().map(|trace| trace.comms.len()).max().unwrap_or(0);
        let mut all: Vec<Vec<Vec<Option<[i64; 7]>>>> =
            vec![traces.iter().map(|trace| vec![None; trace.ranks as usize]).collect(); most];
        for (run, trace) in traces.iter().enumerate() {
            trace.comms.each(|world_rank, number, rank, (own, other, size)| {
                let peers = trace.comms.member(world_rank, number).map_or(size, |member| member.peers);
                let facts =
                    [rank, size, peers, own.leader, own.number, other.leader, other.number].map(i64::from);
                all[number as usize - 1][run][world_rank as usize] = Some(facts);
            });
        }
        let numbered = (1..).zip(&all).map(|(number, runs)| {
            let row = |run: usize, rank: u32, value: i64| Row { at: at(family, run, rank), value };
            let of = |value: &dyn Fn(&Option<[i64; 7]>) -> Option<i64>| -> Vec<Row> {
                let of_run = |(run, ranks): (usize, &Vec<Option<[i64; 7]>>)| {
                    let rows =
                        (0..).zip(ranks).filter_map(|(rank, facts)| Some(row(run, rank, value(facts)?)));
                    rows.collect::<Vec<Row>>()
                };
                runs.iter().enumerate().flat_map(of_run).collect()
            };
            let found = |what: &str, rows: &[Row]| {
                quantity::fit(family, rows, NumberMeaning::Plain).map_err(|_| {
                    format!(
                        "comm#{number} of the ranks: {what}: no formula in the rank, its place in a grid and \
                         the rank count gives it"
                    )
                })
            };
            let present = found("which ranks have it", &of(&|facts| Some(facts.is_some().into())))?;
            let fact =
                |(fact, what): (usize, &&str)| found(what, &of(&|facts| facts.map(|facts| facts[fact])));
            Ok((present, FACTS.iter().enumerate().map(fact).collect::<Result<_, String>>()?))
        });
        Ok(Comms(numbered.collect::<Result<_, String>>()?))
    }

    /// Returns the communicators of a rank.
    ///
    /// # Errors
    /// A sentence with what cannot be told.
    pub fn of_rank(&self, family: &Family, run: usize, rank: u32) -> Result<OfRank, String> {
        let at = at(family, run, rank);
        let one = |(number, (present, facts)): (usize, &(Quantity, Vec<Quantity>))| {
            let failed = |what: &str, why: String| format!("comm#{} of the ranks: {what}: {why}", number + 1);
            if present.at(family, &at).map_err(|why| failed("which ranks have it", why))? == 0 {
                return Ok(None);
            }
            let mut values = [0; 7];
            for ((value, fact), what) in values.iter_mut().zip(facts).zip(FACTS) {
                *value = fact.at(family, &at).map_err(|why| failed(what, why))?;
            }
            Ok(Some(values))
        };
        self.0.iter().enumerate().map(one).collect()
    }
}

/// Returns what a rank is in its communicator of a number.
pub fn position(comms: &OfRank, number: u32) -> Option<Position> {
    let [rank, _, peers, ..] = (*comms.get((number as usize).checked_sub(1)?)?)?;
    Some(Position { rank: rank as u32, peers: peers as u32 })
}

/// Returns the communicators of a rank as a part has them. `contexts` has the communicators by the groups
/// that they connect.
pub fn seen(rank: u32, comms: &OfRank, contexts: &mut Dictionary<Instance>) -> Vec<Seen> {
    let mut all = Vec::new();
    for (number, facts) in (1..).zip(comms) {
        let Some(facts) = facts else { continue };
        let [place, size, peers, leader, its, other, others] = facts.map(|fact| fact as u32);
        let (own, far) = (Instance { leader, number: its }, Instance { leader: other, number: others });
        let context = contexts.place(own.min(far));
        all.push(Seen {
            world_rank: rank,
            number,
            context,
            rank: place,
            size,
            peers,
            leaders: (leader, other),
        });
    }
    all
}
