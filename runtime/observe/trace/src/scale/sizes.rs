//! Other sizes of what ranks send to each other.

use super::Resize;
use super::displacements::packed;
use super::lengths::{Blocks, CallSizes, LengthSource};
use crate::codec::Reader;
use crate::column::{self, Column};
use crate::dictionary::Dictionary;
use crate::trace::{Cell, Node, Trace};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The greatest count that functions without `_c` accept.
const MAX_INT_COUNT: i64 = i32::MAX as i64;

/// Changes the sizes of all messages.
pub fn change(trace: &mut Trace, resize: Resize) -> Result<(), String> {
    let mut sizes = CallResizer::new(trace, resize);
    let mut shapes = Vec::with_capacity(trace.shapes.len());
    for (shape, nodes) in trace.shapes.iter().enumerate() {
        shapes.push(sizes.nodes(nodes, shape, 1)?);
    }
    sizes.check_order()?;
    let (mut calls, mut kinds) = (Vec::with_capacity(sizes.calls.len()), Vec::new());
    for (template, cells, kind) in sizes.calls.into_values() {
        calls.push((template, cells));
        kinds.push(kind);
    }
    if trace.kinds.is_empty() {
        kinds.clear();
    }
    let read = |(_, bytes): &(usize, Vec<u8>)| {
        Column::read(&mut Reader::new(bytes), u64::MAX).expect("what is written can be read")
    };
    let columns = sizes.columns.iter().map(read).collect();
    (trace.calls, trace.columns, trace.shapes, trace.kinds) = (calls, columns, shapes, kinds);
    Ok(())
}

/// The numbers of a cell by rank of the shape, and by turn in a loop that varies.
enum CellValues {
    Same(i64),
    Each(Vec<i64>),
}

impl CellValues {
    fn at(&self, place: usize) -> i64 {
        match self {
            CellValues::Same(value) => *value,
            CellValues::Each(values) => values[place],
        }
    }

    fn of(column: &Column) -> CellValues {
        let mut values = Vec::with_capacity(column.len() as usize);
        column.each(|value| values.push(value));
        CellValues::Each(values)
    }

    /// Returns for how many ranks there are numbers; `None`: the same for all.
    fn len(&self) -> Option<usize> {
        if let CellValues::Each(values) = self { Some(values.len()) } else { None }
    }
}

/// The reason why a call cannot have its size, and the index of the rank among those of the shape.
type Why = (usize, String);

/// Rewrites calls, in the order in which shapes come upon them: that of the recorder, so that what does not
/// change has the same bytes in the end.
struct CallResizer<'t> {
    trace: &'t Trace,
    resize: Resize<'t>,
    /// By template.
    lengths: FxHashMap<u32, Rc<CallSizes>>,
    /// Bytes before and after.
    known: BTreeMap<u64, u64>,
    /// With their kinds.
    calls: Dictionary<(u32, Vec<Cell>, u32)>,
    /// With the turns that they have numbers of.
    columns: Dictionary<(usize, Vec<u8>)>,
    /// Iterations of the enclosing loop if it varies, else 1.
    turns: usize,
    /// The new places of calls and columns, by the old ones.
    call_of: FxHashMap<u32, u32>,
    column_of: FxHashMap<u32, u32>,
    /// Counts by count and size of an element, and the greatest of them.
    counts: FxHashMap<(Cell, Cell), (Cell, i64)>,
}

impl<'t> CallResizer<'t> {
    fn new(trace: &'t Trace, resize: Resize<'t>) -> CallResizer<'t> {
        CallResizer {
            trace,
            resize,
            lengths: FxHashMap::default(),
            known: BTreeMap::new(),
            calls: Dictionary::default(),
            columns: Dictionary::default(),
            turns: 1,
            call_of: FxHashMap::default(),
            column_of: FxHashMap::default(),
            counts: FxHashMap::default(),
        }
    }

    /// Scales the nodes of a loop with so many iterations that differ.
    fn nodes(&mut self, nodes: &[Node], shape: usize, turns: usize) -> Result<Vec<Node>, String> {
        let mut all = Vec::with_capacity(nodes.len());
        for node in nodes {
            all.push(match node {
                Node::Loop { count, body, varies } => {
                    let turns =
                        if let (Cell::Same(count), true) = (count, varies) { *count as usize } else { 1 };
                    self.turns = 1;
                    Node::Loop {
                        count: self.kept(*count),
                        body: self.nodes(body, shape, turns)?,
                        varies: *varies,
                    }
                }
                Node::Call(call) => Node::Call(match self.call_of.get(call) {
                    Some(&known) => known,
                    None => {
                        self.turns = turns;
                        let made = self
                            .call(*call)
                            .map_err(|(place, why)| self.told(*call, shape, place / turns, &why))?;
                        self.call_of.insert(*call, made);
                        made
                    }
                }),
            });
        }
        Ok(all)
    }

    /// Returns a sentence about a call of the rank at a place of a shape.
    fn told(&self, call: u32, shape: usize, place: usize, why: &str) -> String {
        let (mut rank, mut at, mut before) = (0, 0u32, 0);
        self.trace.shape_of.each(|of| {
            if of == shape as i64 {
                if before == place {
                    rank = at;
                }
                before += 1;
            }
            at += 1;
        });
        let template = &self.trace.templates[self.trace.calls[call as usize].0 as usize];
        let function = &self.trace.functions[template.function as usize].name;
        format!("rank {rank}, {function} at {}: {why}", self.trace.site(template.site))
    }

    fn call(&mut self, call: u32) -> Result<u32, Why> {
        let trace = self.trace;
        let (template, cells) = &trace.calls[call as usize];
        let lengths = match self.lengths.get(template) {
            Some(known) => known.clone(),
            None => {
                let lengths = CallSizes::of(trace, &trace.templates[*template as usize]);
                let made =
                    Rc::new(lengths.map_err(|why| (0, format!("its sizes cannot be changed: {why}")))?);
                self.lengths.insert(*template, made.clone());
                made
            }
        };
        let mut moved: FxHashMap<usize, Cell> = FxHashMap::default();
        for blocks in &lengths.blocks {
            self.displacements(cells, blocks, &mut moved)?;
        }
        let mut changed = Vec::with_capacity(cells.len());
        let is_int =
            !trace.functions[trace.templates[*template as usize].function as usize].name.ends_with("_c");
        for (at, &cell) in cells.iter().enumerate() {
            changed.push(if let Some(&element) = lengths.counts.get(&at) {
                let (cell, most) = self.count(cell, known(cells, element))?;
                if is_int && most > MAX_INT_COUNT {
                    return Err((0, format!("{most} elements are more than an int holds")));
                }
                cell
            } else if lengths.bytes.contains(&at) {
                self.count(cell, Cell::Same(1))?.0
            } else if let Some(&cell) = moved.get(&at) {
                cell
            } else {
                self.kept(cell)
            });
        }
        let kind = trace.kinds.get(call as usize).copied().unwrap_or(0);
        Ok(self.calls.place((*template, changed, kind)))
    }

    /// Returns a cell that stays what it was.
    fn kept(&mut self, cell: Cell) -> Cell {
        let Cell::Column(column) = cell else { return cell };
        let place = *self.column_of.entry(column).or_insert_with(|| {
            let mut bytes = Vec::new();
            self.trace.columns[column as usize].write(&mut bytes);
            self.columns.place((self.turns, bytes))
        });
        Cell::Column(place)
    }

    fn values(&self, cell: Cell) -> CellValues {
        match cell {
            Cell::Same(value) => CellValues::Same(value),
            Cell::Column(column) => CellValues::of(&self.trace.columns[column as usize]),
        }
    }

    /// Returns a cell of these numbers, which take the place of another's.
    fn cell(&mut self, values: Vec<i64>, before: Cell) -> Cell {
        match values.first() {
            Some(&first) if values.iter().all(|&value| value == first) => Cell::Same(first),
            _ if matches!(self.values(before), CellValues::Each(old) if old == values) => self.kept(before),
            _ => {
                let is_of_all = values.len() == self.trace.ranks as usize * self.turns;
                let bytes = if is_of_all {
                    column::write_of_ranks(&values, self.turns)
                } else {
                    column::write(values.into_iter())
                };
                Cell::Column(self.columns.place((self.turns, bytes)))
            }
        }
    }

    /// Returns the count that takes the place of another, of elements that have so many bytes, and the
    /// greatest that it is.
    fn count(&mut self, count: Cell, element: Cell) -> Result<(Cell, i64), Why> {
        if let Some(&known) = self.counts.get(&(count, element)) {
            return Ok(known);
        }
        let all = self.counts_of(count, element)?;
        let made = match all {
            CellValues::Same(count) => (Cell::Same(count), count),
            CellValues::Each(counts) => {
                let most = counts.iter().copied().max().unwrap_or(0);
                (self.cell(counts, count), most)
            }
        };
        self.counts.insert((count, element), made);
        Ok(made)
    }

    fn counts_of(&mut self, count: Cell, element: Cell) -> Result<CellValues, Why> {
        let (counts, elements) = (self.values(count), self.values(element));
        let Some(ranks) = counts.len().or(elements.len()) else {
            return self.resized(counts.at(0), elements.at(0)).map(CellValues::Same).map_err(|why| (0, why));
        };
        let one =
            |place: usize| self.resized(counts.at(place), elements.at(place)).map_err(|why| (place, why));
        (0..ranks).map(one).collect::<Result<_, _>>().map(CellValues::Each)
    }

    /// Returns how many elements of so many bytes take the place of `count`. A count that says nothing
    /// (`MPI_UNDEFINED`, what a root alone looks at) stays.
    fn resized(&mut self, count: i64, element: i64) -> Result<i64, String> {
        if count <= 0 || element <= 0 {
            return Ok(count);
        }
        let (Some(bytes), element) = ((count as u64).checked_mul(element as u64), element as u64) else {
            return Err(format!("{count} elements of {element} bytes are more than 2^64 bytes"));
        };
        let size = match self.known.get(&bytes) {
            Some(&size) => size,
            None => {
                let size = (self.resize)(bytes)?;
                self.known.insert(bytes, size);
                size
            }
        };
        if size % element != 0 {
            return Err(format!(
                "its {bytes} bytes become {size}, and elements of its datatype have {element}: round to what \
                 fits all datatypes, such as {element} * ceil(... / {element})"
            ));
        }
        i64::try_from(size / element)
            .map_err(|_| format!("its {bytes} bytes become {size}, which is too much"))
    }

    /// Returns what has room for more still has as much room as what has less: else a message might be longer
    /// than the receive that it meets.
    fn check_order(&self) -> Result<(), String> {
        let pairs = self.known.iter().zip(self.known.iter().skip(1));
        match pairs.into_iter().find(|((_, less), (_, more))| more < less) {
            Some(((from, less), (to, more))) => Err(format!(
                "{from} bytes become {less}, but {to} bytes become {more}: sizes must not fall where they \
                 rose, since a receive may have more room than its message needs"
            )),
            None => Ok(()),
        }
    }

    /// Scales the displacements of blocks, by their indices.
    fn displacements(
        &mut self,
        cells: &[Cell],
        blocks: &Blocks,
        moved: &mut FxHashMap<usize, Cell>,
    ) -> Result<(), Why> {
        let (mut before, mut after, mut units) = (Vec::new(), Vec::new(), Vec::new());
        for length in &blocks.lengths {
            before.push(self.values(cells[length.count]));
            after.push(self.counts_of(cells[length.count], known(cells, length.element))?);
            units.push(if blocks.in_bytes {
                self.values(known(cells, length.extent))
            } else {
                CellValues::Same(1)
            });
        }
        let from: Vec<CellValues> = blocks.displacements.iter().map(|&at| self.values(cells[at])).collect();
        let ranks = [&before, &after, &units, &from].into_iter().flatten().find_map(CellValues::len);
        let of_rank = |place: usize| -> Vec<i64> {
            let at =
                |values: &[CellValues]| values.iter().map(|values| values.at(place)).collect::<Vec<i64>>();
            packed(&at(&before), &at(&after), &at(&from), |block| units[block].at(place))
        };
        let of_ranks: Vec<Vec<i64>> = (0..ranks.unwrap_or(1)).map(of_rank).collect();
        for (block, &at) in blocks.displacements.iter().enumerate() {
            let values = of_ranks.iter().map(|of_rank| of_rank[block]).collect();
            let cell = self.cell(values, cells[at]);
            moved.insert(at, cell);
        }
        Ok(())
    }
}

/// Returns a number of a call as a cell.
fn known(cells: &[Cell], number: LengthSource) -> Cell {
    match number {
        LengthSource::Always(value) => Cell::Same(value),
        LengthSource::At(at) => cells[at],
    }
}
