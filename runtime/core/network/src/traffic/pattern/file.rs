//! Patterns from files: a permutation, or weights of pairs.

use engine::Random;
use std::io::Read;
use std::path::Path;

/// The largest file: one that never ends must not be read for ever.
const LIMIT: u64 = 256 << 20;

fn read(path: &Path) -> Result<String, String> {
    let name = path.display();
    let file = std::fs::File::open(path)
        .map_err(|why| format!("the pattern's file '{name}' cannot be read: {why}"))?;
    let mut text = String::new();
    let read = file.take(LIMIT + 1).read_to_string(&mut text);
    if text.len() as u64 > LIMIT || matches!(read, Ok(length) if length as u64 > LIMIT) {
        return Err(format!("the pattern's file '{name}' has more than 256 MiB; shorten it"));
    }
    read.map_err(|why| format!("the pattern's file '{name}' cannot be read: {why}"))?;
    Ok(text)
}

/// Returns the lines that say something, with their number from 1; `#` begins a comment.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let content = |line: &'_ str| line.split('#').next().map_or("", str::trim).len();
    (1..)
        .zip(text.lines())
        .filter(move |(_, line)| content(line) > 0)
        .map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()))
}

fn endpoint(text: &str, count: u32) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|&endpoint| endpoint < count)
        .ok_or_else(|| format!("'{text}' is not an endpoint from 0 to {}", count - 1))
}

/// Reads the destination of each of `count` endpoints, a line each.
pub(super) fn permutation(path: &Path, count: u32) -> Result<Vec<u32>, String> {
    let text = read(path)?;
    let mut taken = vec![false; count as usize];
    let mut permutation = Vec::new();
    for (number, line) in lines(&text) {
        let at = |why: String| format!("{}, line {number}: {why}", path.display());
        let to = endpoint(line, count).map_err(at)?;
        if std::mem::replace(&mut taken[to as usize], true) {
            return Err(at(format!("endpoint {to} is the destination of two")));
        }
        permutation.push(to);
    }
    if permutation.len() != count as usize {
        return Err(format!(
            "{} has {} lines with a destination, but there are {count} endpoints",
            path.display(),
            permutation.len()
        ));
    }
    Ok(permutation)
}

/// Weighted destinations of each source.
#[derive(Clone, Debug, Default)]
pub(super) struct DestinationWeights {
    /// Index of each source's first entry, and of the end of the last source's.
    starts: Vec<u32>,
    /// Destinations with the sum of the source's weights up to and including theirs.
    entries: Vec<(u32, f64)>,
}

impl DestinationWeights {
    fn of(&self, source: u32) -> &[(u32, f64)] {
        &self.entries[self.starts[source as usize] as usize..self.starts[source as usize + 1] as usize]
    }

    /// Returns `true` if a source has any destination.
    pub(super) fn sends(&self, source: u32) -> bool {
        !self.of(source).is_empty()
    }

    /// Returns a destination of a source that sends, by weight. O(log of its destinations).
    pub(super) fn pick(&self, source: u32, random: &mut Random) -> u32 {
        let entries = self.of(source);
        let Some(&(last, sum)) = entries.last() else { return source };
        let at = random.unit() * sum;
        entries.get(entries.partition_point(|&(_, upto)| upto <= at)).map_or(last, |&(to, _)| to)
    }
}

/// Reads the lines `SOURCE DESTINATION WEIGHT` over `count` endpoints; weights of a pair add up.
pub(super) fn matrix(path: &Path, count: u32) -> Result<DestinationWeights, String> {
    let text = read(path)?;
    let mut pairs = Vec::new();
    for (number, line) in lines(&text) {
        let at = |why: String| format!("{}, line {number}: {why}", path.display());
        let words: Vec<&str> = line.split_whitespace().collect();
        let [source, destination, weight] = words[..] else {
            return Err(at(format!("'{line}' is not SOURCE DESTINATION WEIGHT, such as 0 5 1.5")));
        };
        let number = weight.parse::<f64>().ok().filter(|weight| (0.0..=1e15).contains(weight));
        let number = number.ok_or_else(|| at(format!("'{weight}' is not a weight from 0 to 1e15")))?;
        pairs.push((endpoint(source, count).map_err(at)?, endpoint(destination, count).map_err(at)?, number));
    }
    pairs.retain(|&(_, _, weight)| weight > 0.0);
    if pairs.is_empty() {
        return Err(format!("by {} nobody sends anything; give a pair a weight above 0", path.display()));
    }
    // Stable: weights of one pair are added up in the file's order.
    pairs.sort_by_key(|&(source, to, _)| (source, to));
    let mut weights = DestinationWeights {
        starts: Vec::with_capacity(count as usize + 1),
        entries: Vec::with_capacity(pairs.len()),
    };
    let mut pairs = pairs.into_iter().peekable();
    for source in 0..count {
        weights.starts.push(weights.entries.len() as u32);
        let mut sum = 0.0;
        while let Some((_, to, weight)) = pairs.next_if(|pair| pair.0 == source) {
            sum += weight;
            weights.entries.push((to, sum));
        }
    }
    weights.starts.push(weights.entries.len() as u32);
    Ok(weights)
}
