//! Reads the contents of a file. Whatever they are, the memory goes by their length.

use super::{Cell, Comms, Function, Node, Trace, step};
use crate::codec::{Reader, Result, unzigzag};
use crate::column::{self, Column};
use crate::histogram::Summary;
use crate::part::{self, NamedDatatype};
use crate::template::Template;
use crate::times;
use rustc_hash::FxHashMap;

/// The most ranks of a run.
pub const RANKS: u64 = (1 << 31) - 1;
/// The most loops within loops: each has two turns at least, and nothing lasts for 2^64 calls.
pub const DEEPEST: usize = 64;
/// The most turns of a loop that varies: who goes through it looks at each.
pub const MAX_ITERATIONS: u64 = 1 << 16;
/// The most values of a column that has one for each rank and turn.
pub const MAX_VALUES: u64 = 1 << 28;
/// So many kinds of a place may be named, or as many as there are calls.
const MIN_KINDS: usize = 65;
/// The most calls of all loops that vary, as a rank comes upon them one by one.
pub const MAX_VARYING_CALLS: u64 = 1 << 22;

fn texts(reader: &mut Reader) -> Result<Vec<String>> {
    let count = reader.count(1, "names")?;
    (0..count).map(|_| reader.text().map(str::to_owned)).collect()
}

/// Texts that stand in lines of reports and in programs: their control characters are escaped.
fn labels(reader: &mut Reader) -> Result<Vec<String>> {
    texts(reader)
        .map(|texts| texts.into_iter().map(|text| crate::printable::printable(&text).into_owned()).collect())
}

fn cell(reader: &mut Reader, columns: usize) -> Result<Cell> {
    let head = reader.wide()?;
    let value = u64::try_from(head >> 1);
    match value {
        Ok(value) if head & 1 == 0 => Ok(Cell::Same(unzigzag(value))),
        Ok(column) if column < columns as u64 => Ok(Cell::Column(column as u32)),
        _ => reader.wrong(format!("column {} is named, but there are {columns}", head >> 1)),
    }
}

/// Reads all.
pub fn contents(bytes: &[u8], version: u8) -> Result<Trace> {
    let reader = &mut Reader::new(bytes);
    let functions = labels(reader)?.iter().map(|text| function(text)).collect::<Vec<_>>();
    let (sites, names) = (labels(reader)?, texts(reader)?);
    let count = reader.count(NamedDatatype::MIN_BYTES, "datatypes")?;
    let types = (0..count).map(|_| NamedDatatype::read(reader, names.len())).collect::<Result<Vec<_>>>()?;
    let ranks = reader.number()?;
    if ranks == 0 || ranks > RANKS {
        return reader.wrong(format!("{ranks} ranks, where 1 to {RANKS} may be"));
    }
    let most = ranks.max(MAX_VALUES);
    let columns =
        (0..reader.count(2, "columns")?).map(|_| Column::read(reader, most)).collect::<Result<Vec<_>>>()?;
    let ends = [functions.len(), sites.len(), names.len(), types.len()];
    let templates = (0..reader.count(4, "templates")?)
        .map(|_| Template::read(reader, ends))
        .collect::<Result<Vec<_>>>()?;
    check_arguments(reader, &functions, &templates)?;
    let mut trace = Trace {
        ranks: ranks as u32,
        functions,
        sites,
        names,
        types,
        templates,
        calls: Vec::new(),
        columns,
        shapes: Vec::new(),
        sizes: Vec::new(),
        shape_of: Column::read(&mut Reader::new(&[0, 0]), 0)?,
        comms: Comms::default(),
        histograms: Vec::new(),
        kinds: Vec::new(),
        times: FxHashMap::default(),
    };
    for _ in 0..reader.count(1, "calls")? {
        let call = call(reader, &trace)?;
        trace.calls.push(call);
    }
    for _ in 0..reader.count(1, "shapes")? {
        let shape = shape(reader, &trace, version)?;
        trace.shapes.push(shape);
    }
    trace.shape_of = Column::read(reader, ranks)?;
    trace.sizes = sizes(reader, &trace)?;
    check_columns(reader, &trace)?;
    trace.comms = Comms::read(reader, trace.ranks)?;
    let histograms = reader.count(9, "histograms")?;
    if version > 1 && histograms > 0 {
        trace.kinds = kinds(reader, trace.calls.len())?;
    }
    let kinds = (!trace.kinds.is_empty()).then_some(trace.calls.len().max(MIN_KINDS));
    for _ in 0..histograms {
        let path = part::read_path(reader, trace.functions.len(), trace.sites.len(), kinds)?;
        trace.histograms.push((path, Summary::read(reader, trace.ranks, version)?));
    }
    times::read(reader, trace.ranks, |rank, of_rank| drop(trace.times.insert(rank, of_rank.to_vec())))?;
    if reader.left() > 0 {
        reader.wrong(format!("{} bytes are left behind the trace", reader.left()))
    } else {
        Ok(trace)
    }
}

/// Appends the kinds of calls: a byte, whether there are several, and then a column.
pub fn write_kinds(kinds: &[u32], bytes: &mut Vec<u8>) {
    bytes.push(u8::from(!kinds.is_empty()));
    if !kinds.is_empty() {
        bytes.extend(column::write(kinds.iter().map(|&kind| i64::from(kind))));
    }
}

/// Reads the kind of each of so many calls; none if all are of one.
fn kinds(reader: &mut Reader, calls: usize) -> Result<Vec<u32>> {
    if reader.byte()? == 0 {
        return Ok(Vec::new());
    }
    let column = Column::read(reader, calls as u64)?;
    if column.len() != calls as u64 {
        return reader.wrong(format!("the kinds of {} calls, where there are {calls}", column.len()));
    }
    let mut kinds = Vec::with_capacity(calls);
    column.each(|kind| {
        kinds.push(u32::try_from(kind).ok().filter(|&kind| (kind as usize) < calls.max(MIN_KINDS)))
    });
    match kinds.into_iter().collect::<Option<Vec<u32>>>() {
        None => reader.wrong("a call of a kind that there is not"),
        Some(kinds) if kinds.is_empty() => reader.wrong("kinds of no calls"),
        Some(kinds) => Ok(kinds),
    }
}

fn function(text: &str) -> Function {
    let mut words = text.split(' ').map(str::to_owned);
    Function { name: words.next().unwrap_or_default(), arguments: words.collect() }
}

fn check_arguments(reader: &Reader, functions: &[Function], templates: &[Template]) -> Result<()> {
    for template in templates {
        let function = &functions[template.function as usize];
        if function.arguments.len() != template.fields.len() {
            let (there, should) = (template.fields.len(), function.arguments.len());
            return reader
                .wrong(format!("a call of {} with {there} arguments, where it has {should}", function.name));
        }
    }
    Ok(())
}

fn call(reader: &mut Reader, trace: &Trace) -> Result<(u32, Vec<Cell>)> {
    let number = reader.index(trace.templates.len(), "template")?;
    let template = &trace.templates[number as usize];
    let numbers = template.numbers().filter(|&numbers| numbers <= reader.left() as u64);
    let Some(numbers) = numbers else {
        return reader
            .wrong(format!("the numbers of a call should follow, but only {} bytes do", reader.left()));
    };
    let cells = (0..numbers).map(|_| cell(reader, trace.columns.len())).collect::<Result<_>>()?;
    Ok((number, cells))
}

fn shape(reader: &mut Reader, trace: &Trace, version: u8) -> Result<Vec<Node>> {
    // Loops that vary came with version 3.
    let begins = if version < 3 { step::BEGIN } else { step::VARYING };
    let steps = reader.count(1, "steps")?;
    let mut open: Vec<(Cell, bool, Vec<Node>)> = Vec::new();
    let mut nodes = Vec::new();
    for _ in 0..steps {
        match u64::from(reader.index(trace.calls.len() + begins as usize + 1, "step")?) {
            step::END => {
                let Some((count, varies, outer)) = open.pop() else {
                    return reader.wrong("a loop ends that has not begun");
                };
                let body = std::mem::replace(&mut nodes, outer);
                if body.is_empty() {
                    return reader.wrong("a loop without a call");
                }
                nodes.push(Node::Loop { count, body, varies });
            }
            begin if begin <= begins && open.len() == DEEPEST => {
                return reader.wrong("loops are within loops too deep");
            }
            begin if begin <= begins => {
                let count = cell(reader, trace.columns.len())?;
                let varies = begin == step::VARYING;
                match count {
                    Cell::Same(count) if count < 1 => return reader.wrong("a loop without a turn"),
                    Cell::Same(count) if varies && count as u64 > MAX_ITERATIONS => {
                        return reader.wrong(format!(
                            "a loop that varies over {count} turns, where at most {MAX_ITERATIONS} may be"
                        ));
                    }
                    Cell::Column(_) if varies => {
                        return reader.wrong("a loop that varies, whose turns are others for other ranks");
                    }
                    _ => open.push((count, varies, std::mem::take(&mut nodes))),
                }
            }
            call => nodes.push(Node::Call((call - begins - 1) as u32)),
        }
    }
    if open.is_empty() { Ok(nodes) } else { reader.wrong("a loop does not end") }
}

/// Returns how many ranks have each shape.
fn sizes(reader: &Reader, trace: &Trace) -> Result<Vec<u64>> {
    if trace.shape_of.len() != u64::from(trace.ranks) {
        return reader.wrong(format!(
            "the shapes of {} ranks, where there are {}",
            trace.shape_of.len(),
            trace.ranks
        ));
    }
    let mut sizes = vec![0u64; trace.shapes.len()];
    let mut wrong = None;
    trace.shape_of.tally(&mut |shape, count| match usize::try_from(shape)
        .ok()
        .and_then(|shape| sizes.get_mut(shape))
    {
        Some(size) => *size += count,
        None => wrong = Some(shape),
    });
    match wrong {
        Some(shape) => reader.wrong(format!("shape {shape} is named, but there are {}", trace.shapes.len())),
        None => Ok(sizes),
    }
}

/// Checks that each column has a number for each rank of the shapes that it is used in, and iteration of a
/// loop that varies; and that loops have an iteration for each.
fn check_columns(reader: &Reader, trace: &Trace) -> Result<()> {
    let mut calls = Vec::new();
    for (_, cells) in &trace.calls {
        let mut lengths = cells.iter().filter_map(|cell| {
            if let Cell::Column(column) = cell { Some(trace.columns[*column as usize].len()) } else { None }
        });
        let length = lengths.next();
        if lengths.any(|other| Some(other) != length) {
            return reader.wrong("a call with columns of different lengths");
        }
        calls.push(length);
    }
    let mut check = TraceValidator {
        reader,
        trace,
        calls,
        turns: FxHashMap::default(),
        least: FxHashMap::default(),
        varying: 0,
    };
    trace.shapes.iter().zip(&trace.sizes).try_for_each(|(nodes, &size)| check.nodes(nodes, size, 1))
}

struct TraceValidator<'a> {
    reader: &'a Reader<'a>,
    trace: &'a Trace,
    /// The length of the columns of each call, if it has any.
    calls: Vec<Option<u64>>,
    /// The turns that each column has numbers of.
    turns: FxHashMap<u32, u64>,
    /// The least value of columns, once it was asked for.
    least: FxHashMap<u32, i64>,
    /// Calls of loops that vary, by turn.
    varying: u64,
}

impl TraceValidator<'_> {
    /// Nodes of so many ranks, in a loop with so many turns that differ.
    fn nodes(&mut self, nodes: &[Node], size: u64, turns: u64) -> Result<()> {
        for node in nodes {
            let (length, needed) = match node {
                Node::Call(call) => {
                    if turns > 1 {
                        self.varying += turns;
                    }
                    for cell in &self.trace.calls[*call as usize].1 {
                        if let Cell::Column(column) = cell
                            && *self.turns.entry(*column).or_insert(turns) != turns
                        {
                            return self.reader.wrong("a column of ranks is one of ranks and turns, too");
                        }
                    }
                    (self.calls[*call as usize], size.saturating_mul(turns))
                }
                Node::Loop { count: Cell::Column(column), .. } => {
                    if self.least(*column, size) < 1 {
                        return self.reader.wrong("a loop without a turn");
                    }
                    if *self.turns.entry(*column).or_insert(1) != 1 {
                        return self.reader.wrong("a column of ranks is one of ranks and turns, too");
                    }
                    (Some(self.trace.columns[*column as usize].len()), size)
                }
                Node::Loop { .. } => (None, 0),
            };
            if let Some(length) = length.filter(|&length| length != needed) {
                return self
                    .reader
                    .wrong(format!("a column has {length} numbers, where {size} ranks need {needed}"));
            }
            if self.varying > MAX_VARYING_CALLS {
                return self
                    .reader
                    .wrong(format!("loops that vary have more than {MAX_VARYING_CALLS} calls"));
            }
            if let Node::Loop { body, count, varies } = node {
                let turns = if let (Cell::Same(count), true) = (count, varies) { *count as u64 } else { 1 };
                self.nodes(body, size, turns)?;
            }
        }
        Ok(())
    }

    fn least(&mut self, column: u32, size: u64) -> i64 {
        *self.least.entry(column).or_insert_with(|| {
            let (column, mut least) = (&self.trace.columns[column as usize], i64::MAX);
            // One of another length is refused for that.
            if column.len() == size {
                column.tally(&mut |value, _| least = least.min(value));
            }
            least
        })
    }
}
