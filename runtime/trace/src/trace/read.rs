//! Reads the contents of a file. Whatever they are, the memory goes by their length.

use super::{Cell, Comms, Function, Node, Trace};
use crate::codec::{Reader, Result, unzigzag};
use crate::column::{self, Column};
use crate::histogram::Summary;
use crate::part::{self, Datatype};
use crate::template::Template;
use crate::times;
use rustc_hash::FxHashMap;

/// The most ranks of a run.
pub const RANKS: u64 = (1 << 31) - 1;
/// The most loops within loops: each has two turns at least, and nothing lasts for 2^64 calls.
pub const DEEPEST: usize = 64;

fn texts(reader: &mut Reader) -> Result<Vec<String>> {
    let count = reader.count(1, "names")?;
    (0..count).map(|_| reader.text().map(str::to_owned)).collect()
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
    let functions = texts(reader)?.iter().map(|text| function(text)).collect::<Vec<_>>();
    let (sites, names) = (texts(reader)?, texts(reader)?);
    let count = reader.count(Datatype::LEAST, "datatypes")?;
    let types = (0..count).map(|_| Datatype::read(reader, names.len())).collect::<Result<Vec<_>>>()?;
    let ranks = reader.number()?;
    if ranks == 0 || ranks > RANKS {
        return reader.wrong(format!("{ranks} ranks, where 1 to {RANKS} may be"));
    }
    let columns = (0..reader.count(2, "columns")?).map(|_| Column::read(reader, ranks)).collect::<Result<Vec<_>>>()?;
    let ends = [functions.len(), sites.len(), names.len(), types.len()];
    let templates = (0..reader.count(4, "templates")?).map(|_| Template::read(reader, ends)).collect::<Result<Vec<_>>>()?;
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
        let shape = shape(reader, &trace)?;
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
    for _ in 0..histograms {
        let path = part::read_path(reader, trace.functions.len(), trace.sites.len(), !trace.kinds.is_empty())?;
        trace.histograms.push((path, Summary::read(reader, trace.ranks, version)?));
    }
    times::read(reader, trace.ranks, |rank, of_rank| drop(trace.times.insert(rank, of_rank.to_vec())))?;
    if reader.left() > 0 { reader.wrong(format!("{} bytes are left behind the trace", reader.left())) } else { Ok(trace) }
}

/// Appends the kinds of calls: a byte, whether there are several, and then a column.
pub fn write_kinds(kinds: &[u32], bytes: &mut Vec<u8>) {
    bytes.push(u8::from(!kinds.is_empty()));
    if !kinds.is_empty() {
        bytes.extend(column::write(kinds.iter().map(|&kind| i64::from(kind))));
    }
}

/// The kind of each of so many calls; none if all are of one.
fn kinds(reader: &mut Reader, calls: usize) -> Result<Vec<u32>> {
    if reader.byte()? == 0 {
        return Ok(Vec::new());
    }
    let column = Column::read(reader, calls as u64)?;
    if column.len() != calls as u64 {
        return reader.wrong(format!("the kinds of {} calls, where there are {calls}", column.len()));
    }
    let mut kinds = Vec::with_capacity(calls);
    column.each(|kind| kinds.push(u32::try_from(kind).ok().filter(|&kind| (kind as usize) < part::KINDS)));
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
            return reader.wrong(format!("a call of {} with {there} arguments, where it has {should}", function.name));
        }
    }
    Ok(())
}

fn call(reader: &mut Reader, trace: &Trace) -> Result<(u32, Vec<Cell>)> {
    let number = reader.index(trace.templates.len(), "template")?;
    let template = &trace.templates[number as usize];
    let numbers = template.numbers().filter(|&numbers| numbers <= reader.left() as u64);
    let Some(numbers) = numbers else {
        return reader.wrong(format!("the numbers of a call should follow, but only {} bytes do", reader.left()));
    };
    let cells = (0..numbers).map(|_| cell(reader, trace.columns.len())).collect::<Result<_>>()?;
    Ok((number, cells))
}

fn shape(reader: &mut Reader, trace: &Trace) -> Result<Vec<Node>> {
    let steps = reader.count(1, "steps")?;
    let mut open: Vec<(Cell, Vec<Node>)> = Vec::new();
    let mut nodes = Vec::new();
    for _ in 0..steps {
        match reader.index(trace.calls.len() + 2, "step")? {
            0 => {
                let Some((count, outer)) = open.pop() else { return reader.wrong("a loop ends that has not begun") };
                let body = std::mem::replace(&mut nodes, outer);
                if body.is_empty() {
                    return reader.wrong("a loop without a call");
                }
                nodes.push(Node::Loop { count, body });
            }
            1 if open.len() == DEEPEST => return reader.wrong("loops are within loops too deep"),
            1 => {
                let count = cell(reader, trace.columns.len())?;
                if matches!(count, Cell::Same(count) if count < 1) {
                    return reader.wrong("a loop without a turn");
                }
                open.push((count, std::mem::take(&mut nodes)));
            }
            step => nodes.push(Node::Call(step - 2)),
        }
    }
    if open.is_empty() { Ok(nodes) } else { reader.wrong("a loop does not end") }
}

/// How many ranks have each shape.
fn sizes(reader: &Reader, trace: &Trace) -> Result<Vec<u64>> {
    if trace.shape_of.len() != u64::from(trace.ranks) {
        return reader.wrong(format!("the shapes of {} ranks, where there are {}", trace.shape_of.len(), trace.ranks));
    }
    let mut sizes = vec![0u64; trace.shapes.len()];
    let mut wrong = None;
    trace.shape_of.tally(&mut |shape, count| match usize::try_from(shape).ok().and_then(|shape| sizes.get_mut(shape)) {
        Some(size) => *size += count,
        None => wrong = Some(shape),
    });
    match wrong {
        Some(shape) => reader.wrong(format!("shape {shape} is named, but there are {}", trace.shapes.len())),
        None => Ok(sizes),
    }
}

/// Each column has a number for each rank of the shapes that it is used in, and loops have a turn for each.
fn check_columns(reader: &Reader, trace: &Trace) -> Result<()> {
    let least = |column: &Column| {
        let mut least = i64::MAX;
        column.tally(&mut |value, _| least = least.min(value));
        least
    };
    let columns: Vec<(u64, i64)> = trace.columns.iter().map(|column| (column.len(), least(column))).collect();
    let mut calls = Vec::new();
    for (_, cells) in &trace.calls {
        let mut lengths =
            cells.iter().filter_map(|cell| if let Cell::Column(column) = cell { Some(columns[*column as usize].0) } else { None });
        let length = lengths.next();
        if lengths.any(|other| Some(other) != length) {
            return reader.wrong("a call with columns of different lengths");
        }
        calls.push(length);
    }
    trace.shapes.iter().zip(&trace.sizes).try_for_each(|(nodes, &size)| check_nodes(reader, nodes, size, &calls, &columns))
}

fn check_nodes(reader: &Reader, nodes: &[Node], size: u64, calls: &[Option<u64>], columns: &[(u64, i64)]) -> Result<()> {
    for node in nodes {
        let length = match node {
            Node::Call(call) => calls[*call as usize],
            Node::Loop { count: Cell::Column(column), .. } if columns[*column as usize].1 < 1 => {
                return reader.wrong("a loop without a turn");
            }
            Node::Loop { count: Cell::Column(column), .. } => Some(columns[*column as usize].0),
            Node::Loop { .. } => None,
        };
        if let Some(length) = length.filter(|&length| length != size) {
            return reader.wrong(format!("a column has {length} numbers, where {size} ranks need one"));
        }
        if let Node::Loop { body, .. } = node {
            check_nodes(reader, body, size, calls, columns)?;
        }
    }
    Ok(())
}
