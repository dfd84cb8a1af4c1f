//! Numbers of ranks, and how they are written in C.

use indexmap::IndexSet;
use std::fmt::Write;
use trace::Trace;
use trace::column::Column;
use trace::trace::Cell;

/// Elements that stand in the line of a call; more go to a vector.
const INLINE: usize = 16;
/// Columns of a line of text at most.
const WIDTH: usize = 100;

/// A number of several ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NumberByRank {
    /// One for all.
    Same(i64),
    /// By rank in `MPI_COMM_WORLD`, and by turn of the loop around, which has so many that differ, else 1.
    /// Those that are not asked for have that of a rank before them: whatever folds well.
    Each(Vec<i64>, usize),
}

impl NumberByRank {
    /// Returns the greatest.
    pub fn most(&self) -> i64 {
        match self {
            NumberByRank::Same(value) => *value,
            NumberByRank::Each(values, _) => values.iter().copied().max().unwrap_or(0),
        }
    }
    /// Returns the least.
    pub fn least(&self) -> i64 {
        match self {
            NumberByRank::Same(value) => *value,
            NumberByRank::Each(values, _) => values.iter().copied().min().unwrap_or(0),
        }
    }
    /// Returns `true` if it holds for all.
    pub fn all(&self, is: impl Fn(i64) -> bool) -> bool {
        match self {
            NumberByRank::Same(value) => is(*value),
            NumberByRank::Each(values, _) => values.iter().all(|&value| is(value)),
        }
    }
    /// Returns numbers as vectors have them.
    fn text(values: &[i64], turns: usize) -> String {
        let text = Column::of_ranks(values, turns).text();
        if turns == 1 { text } else { format!("t {turns} {text}") }
    }
}

/// The ranks of a trace by shape.
pub struct RanksByTemplate<'t> {
    pub trace: &'t Trace,
    of_shape: Vec<Vec<u32>>,
}

impl<'t> RanksByTemplate<'t> {
    /// Collects the ranks of each shape. O(ranks).
    pub fn new(trace: &'t Trace) -> RanksByTemplate<'t> {
        let mut of_shape = vec![Vec::new(); trace.shapes.len()];
        let mut rank = 0;
        trace.shape_of.each(|shape| {
            of_shape[shape as usize].push(rank);
            rank += 1;
        });
        RanksByTemplate { trace, of_shape }
    }

    /// Returns 1 for the ranks of these shapes, else 0.
    pub fn members(&self, shapes: &[u32]) -> Vec<i64> {
        let mut members = vec![0; self.trace.ranks as usize];
        shapes.iter().for_each(|&shape| {
            self.of_shape[shape as usize].iter().for_each(|&rank| members[rank as usize] = 1)
        });
        members
    }

    /// Returns how many turns of the loop around have numbers of their own in some of these cells, which are
    /// of calls in one loop.
    pub fn turns(&self, cells: &[(u32, &[Cell])]) -> usize {
        let of_cell = |shape: u32, cell: &Cell| match cell {
            Cell::Same(_) => 1,
            Cell::Column(column) => {
                self.trace.columns[*column as usize].len() as usize
                    / self.of_shape[shape as usize].len().max(1)
            }
        };
        cells
            .iter()
            .flat_map(|(shape, cells)| cells.iter().map(|cell| of_cell(*shape, cell)))
            .max()
            .unwrap_or(1)
            .max(1)
    }

    /// Returns what `of` says of each rank's numbers, which are those of these cells by shape, of a call
    /// whose loop has so many turns that differ. With `by_rank` it may say different things of equal numbers.
    /// O(1) where shapes say the same numbers of all their ranks, else O(ranks).
    pub fn map(
        &self,
        cells: &[(u32, Vec<Cell>)],
        turns: usize,
        by_rank: bool,
        of: impl Fn(u32, &[i64]) -> i64,
    ) -> NumberByRank {
        let same = |(shape, cells): &(u32, Vec<Cell>)| {
            let numbers: Option<Vec<i64>> = cells
                .iter()
                .map(|cell| if let Cell::Same(value) = cell { Some(*value) } else { None })
                .collect();
            numbers.map(|numbers| of(self.of_shape[*shape as usize].first().copied().unwrap_or(0), &numbers))
        };
        if !by_rank
            && let Some(values) = cells.iter().map(same).collect::<Option<Vec<i64>>>()
            && let Some(&first) = values.first()
            && values.iter().all(|&value| value == first)
        {
            return NumberByRank::Same(first);
        }
        let mut all: Vec<Option<i64>> = vec![None; self.trace.ranks as usize * turns];
        for (shape, cells) in cells {
            let ranks = &self.of_shape[*shape as usize];
            let columns: Vec<Vec<i64>> = cells.iter().map(|&cell| self.unfolded(cell)).collect();
            // A shape whose loop has fewer turns says there what it said in the last.
            let own =
                columns.iter().map(|column| column.len() / ranks.len().max(1)).max().unwrap_or(1).max(1);
            let mut numbers = vec![0; cells.len()];
            for (place, &rank) in ranks.iter().enumerate() {
                for turn in 0..turns {
                    let at = place * own + turn.min(own - 1);
                    numbers
                        .iter_mut()
                        .zip(&columns)
                        .for_each(|(number, column)| *number = column[at % column.len()]);
                    all[rank as usize * turns + turn] = Some(of(rank, &numbers));
                }
            }
        }
        let mut before = all.iter().flatten().next().copied().unwrap_or(0);
        let each: Vec<i64> = all
            .into_iter()
            .map(|value| {
                before = value.unwrap_or(before);
                before
            })
            .collect();
        match each.first() {
            Some(&first) if each.iter().all(|&value| value == first) => NumberByRank::Same(first),
            _ => NumberByRank::Each(each, turns),
        }
    }

    /// Returns one number, or one for each rank of a shape, or for each and each turn.
    fn unfolded(&self, cell: Cell) -> Vec<i64> {
        match cell {
            Cell::Same(value) => vec![value],
            Cell::Column(column) => {
                let column = &self.trace.columns[column as usize];
                let mut values = Vec::with_capacity(column.len() as usize);
                column.each(|value| values.push(value));
                values
            }
        }
    }
}

/// The vectors of a program.
#[derive(Default)]
pub struct Vectors {
    /// Text, and the C type of what is asked for.
    known: IndexSet<(String, &'static str)>,
    /// The variables that count the turns of the loops around what is written.
    loops: Vec<String>,
}

impl Vectors {
    /// Begins a loop whose iterations this variable counts.
    pub fn begin_loop(&mut self, variable: String) {
        self.loops.push(variable);
    }

    /// Ends the loop that began last.
    pub fn end_loop(&mut self) {
        self.loops.pop();
    }

    /// Returns a call of one of the functions that look into vectors, for this one, with so many turns of the
    /// loop around.
    fn looked_up(&self, function: &str, name: &str, turns: usize) -> String {
        match self.loops.last() {
            Some(turn) if turns > 1 => format!("{function}_in({name}, {turn})"),
            _ => format!("{function}({name})"),
        }
    }

    fn name(&mut self, text: String, kind: &'static str) -> String {
        format!("&v{}", self.known.insert_full((text, kind)).0 + 1)
    }

    /// Returns an expression for a number.
    pub fn number(&mut self, value: &NumberByRank) -> String {
        match value {
            NumberByRank::Same(value) => value.to_string(),
            NumberByRank::Each(values, turns) => {
                let name = self.name(NumberByRank::text(values, *turns), "long");
                self.looked_up("value", &name, *turns)
            }
        }
    }

    /// Returns the vector of a number that is the same in all turns, itself.
    pub fn place(&mut self, value: &NumberByRank) -> String {
        match value {
            NumberByRank::Same(value) => self.name(format!("r {value}"), "long"),
            NumberByRank::Each(values, turns) => self.name(NumberByRank::text(values, *turns), "long"),
        }
    }

    /// Returns an expression for whether a rank is one of these.
    pub fn is_member(&mut self, members: &[i64]) -> String {
        format!("value({})", self.name(NumberByRank::text(members, 1), "long"))
    }

    /// Returns an expression for an array of numbers of this C type: `int`, `MPI_Aint` or `MPI_Count`. A
    /// `constant` may be changed by nobody, or it is used once.
    pub fn array(&mut self, values: &[NumberByRank], kind: &'static str, constant: bool) -> String {
        let same: Option<Vec<i64>> = values
            .iter()
            .map(|value| if let NumberByRank::Same(value) = value { Some(*value) } else { None })
            .collect();
        if let Some(numbers) = &same
            && numbers.len() <= INLINE
        {
            let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
            // C has no arrays of nothing.
            let inside = if texts.is_empty() { "0".to_owned() } else { texts.join(", ") };
            return format!("({}{kind}[]){{{inside}}}", if constant { "const " } else { "" });
        }
        let turns = values
            .iter()
            .map(|value| if let NumberByRank::Each(_, turns) = value { *turns } else { 1 })
            .max()
            .unwrap_or(1);
        let text = match same {
            Some(numbers) => format!("r {}", Column::of(numbers.iter().copied()).text()),
            None => columns(values, turns),
        };
        let function = match kind {
            "MPI_Aint" => "aints",
            "MPI_Count" => "counts",
            _ => "ints",
        };
        let name = self.name(text, kind);
        self.looked_up(function, &name, turns)
    }

    /// Returns their definitions.
    pub fn definitions(&self) -> String {
        let mut out = String::new();
        for (number, (text, _)) in (1..).zip(&self.known) {
            let _ = writeln!(out, "static struct vector v{number} = VECTOR({});", broken(text));
        }
        out
    }
}

/// Columns side by side, of so many turns each, equal neighbours once.
fn columns(values: &[NumberByRank], turns: usize) -> String {
    let length = values
        .iter()
        .find_map(|value| if let NumberByRank::Each(values, _) = value { Some(values.len()) } else { None })
        .unwrap_or(1);
    let one = |value: &NumberByRank| match value {
        NumberByRank::Same(value) => format!("{length}x({value})"),
        NumberByRank::Each(values, turns) => Column::of_ranks(values, *turns).text(),
    };
    let runs = values.chunk_by(|a, b| a == b).map(|run| match run.len() {
        1 => one(&run[0]),
        length => format!("{length}: {}", one(&run[0])),
    });
    let text = runs.collect::<Vec<_>>().join("; ");
    if turns == 1 { text } else { format!("t {turns} {text}") }
}

/// Returns a C string over several lines.
fn broken(text: &str) -> String {
    let mut out = String::from("\"");
    let mut width = 40;
    for (at, word) in text.split(' ').enumerate() {
        if at > 0 {
            out.push(' ');
        }
        if width + word.len() > WIDTH {
            out += "\"\n    \"";
            width = 4;
        }
        out += word;
        width += word.len() + 1;
    }
    out.push('"');
    out
}
