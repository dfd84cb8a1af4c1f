//! Tables of sizes and times, as benchmarks print them.
//!
//! Which column is what is read from the words above the numbers: `# Size  Latency (us)` (OSU's osu_latency),
//! `# Size  Bandwidth (MB/s)` (osu_bw), `#bytes #repetitions t[usec] Mbytes/sec` (IMB), `#p0 p1 dist len ave
//! time (us) rate` (mpptest), `bytes latency (us)`.

/// The kind of the times in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The time of a message one way, half a round trip.
    Latency,
    /// The time for each of many messages in a row, from a bandwidth.
    Stream,
}

/// A measured time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// The message's size.
    pub bytes: u64,
    /// Its time in seconds.
    pub seconds: f64,
    /// The value of one unit in the last printed digit, in seconds.
    pub resolution: f64,
    /// The line of the file.
    pub line: usize,
}

/// The table that a benchmark printed.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// The kind of its times.
    pub kind: Kind,
    /// Its rows, by size.
    pub rows: Vec<Row>,
}

/// The columns of a table and what they hold.
#[derive(Clone, Copy)]
struct Columns {
    count: usize,
    size: usize,
    value: usize,
    kind: Kind,
    /// Seconds, or bytes a second, for one of what is printed.
    scale: f64,
}

/// Seconds of a unit of time: `us`, `usec`.
pub fn unit(text: &str) -> Option<f64> {
    Some(match text.to_lowercase().as_str() {
        "s" | "sec" | "seconds" => 1.0,
        "ms" | "msec" => 1e-3,
        "us" | "usec" | "usecs" | "µs" | "microsec" | "microseconds" => 1e-6,
        "ns" | "nsec" => 1e-9,
        _ => return None,
    })
}

/// Bytes a second of a unit of bandwidth. A million bytes are a megabyte, as OSU's benchmarks have it.
fn rate(text: &str) -> Option<f64> {
    Some(match text {
        "MB/s" | "MB/sec" => 1e6,
        "GB/s" | "GB/sec" => 1e9,
        "Mb/s" | "Mbps" => 1.25e5,
        "Gb/s" | "Gbps" => 1.25e8,
        _ => return None,
    })
}

/// Reads a table. `given` is the unit of times where the table does not say it, in seconds.
///
/// # Errors
/// A sentence with the line: no table, a column without a unit, a row that is none.
pub fn read(text: &str, given: Option<f64>) -> Result<Table, String> {
    let two = given.map(|scale| Columns { count: 2, size: 0, value: 1, kind: Kind::Latency, scale });
    let (mut columns, mut is_other, mut found): (Option<Columns>, bool, Option<Table>) = (two, false, None);
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if let Some((_, name)) = line.split_once("Benchmarking ") {
            // IMB prints the tables of several benchmarks into one file.
            is_other = name.trim() != "PingPong";
            columns = two;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_row = words.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        if !is_row && !is_other {
            columns = header(line, given).map_err(|why| format!("line {number}: {why}"))?.or(columns);
        } else if is_row && !is_other {
            let columns = columns.ok_or_else(|| {
                format!("line {number}: nothing above these numbers says what they are: write 'bytes latency (us)' above them, or give --unit us for sizes and times in two columns")
            })?;
            let row = row(&words, columns, number)?;
            let table = found.get_or_insert_with(|| Table { kind: columns.kind, rows: Vec::new() });
            if table.kind != columns.kind {
                return Err(format!(
                    "line {number}: above are latencies and here bandwidths, or the other way round: give each in a file of its own"
                ));
            }
            // Of no bytes a bandwidth tells no time.
            table.rows.extend(row);
        }
    }
    let mut table = found.filter(|table| !table.rows.is_empty()).ok_or(
        "there is no table of sizes and times: give what osu_latency, osu_bw, IMB's PingPong or mpptest prints, or lines of bytes and times below 'bytes latency (us)'",
    )?;
    table.rows.sort_by_key(|row| row.bytes);
    Ok(table)
}

/// The names of columns: a unit in brackets belongs to the word before it, and `Avg` to the one behind it.
fn names(line: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut joins = false;
    for word in line.trim_start_matches(['#', ' ']).split_whitespace() {
        let is_unit = word.starts_with(['(', '[']);
        match names.last_mut() {
            Some(last) if joins || is_unit => *last += &format!(" {word}"),
            _ => names.push(word.trim_start_matches('#').to_owned()),
        }
        joins = matches!(
            word.to_lowercase().as_str(),
            "avg" | "ave" | "average" | "one-way" | "round-trip" | "half" | "message" | "#message"
        );
    }
    names
}

/// Returns what stands in brackets at the end of a name.
fn bracketed(name: &str) -> Option<&str> {
    let (_, inside) = name.trim_end().strip_suffix([')', ']'])?.rsplit_once(['(', '['])?;
    Some(inside.trim())
}

fn header(line: &str, given: Option<f64>) -> Result<Option<Columns>, String> {
    let names = names(line);
    let is_size = |name: &String| {
        let word = name.split(['(', '[']).next().unwrap_or_default().trim().to_lowercase();
        matches!(word.as_str(), "size" | "bytes" | "len" | "length" | "message size")
    };
    let Some(size) = names.iter().position(is_size).filter(|_| names.len() > 1) else { return Ok(None) };
    let columns = |value: usize, kind: Kind, scale: f64| {
        Ok(Some(Columns { count: names.len(), size, value, kind, scale }))
    };
    let time = |name: &String| bracketed(name).and_then(unit).or_else(|| unit(name));
    let others = || names.iter().enumerate().filter(|(place, _)| *place != size);
    if let Some((place, scale)) = others().find_map(|(place, name)| Some((place, time(name)?))) {
        let is_both_ways = names[place].to_lowercase().starts_with("round-trip");
        return columns(place, Kind::Latency, if is_both_ways { scale / 2.0 } else { scale });
    }
    let is_time = |name: &str| {
        ["time", "latency"].iter().any(|word| name.to_lowercase().contains(word)) || name.starts_with("t[")
    };
    if let Some((place, name)) = others().find(|(_, name)| is_time(name)) {
        let scale = given.ok_or_else(|| {
            format!("the column '{name}' has no unit that is known: give it, as in --unit us")
        })?;
        return columns(place, Kind::Latency, scale);
    }
    if let Some((place, scale)) = others()
        .find_map(|(place, name)| Some((place, bracketed(name).and_then(rate).or_else(|| rate(name))?)))
    {
        return columns(place, Kind::Stream, scale);
    }
    match others().find(|(_, name)| name.to_lowercase().contains("bandwidth")) {
        Some((_, name)) => Err(format!(
            "the column '{name}' has no unit that is known: write MB/s, GB/s, Mb/s or Gb/s in brackets behind its name"
        )),
        None => Ok(None),
    }
}

fn row(words: &[&str], columns: Columns, line: usize) -> Result<Option<Row>, String> {
    let wrong = |why: String| format!("line {line}: '{}' {why}", words.join(" "));
    if words.len() != columns.count {
        return Err(wrong(format!(
            "has {} columns, and what stands above names {}",
            words.len(),
            columns.count
        )));
    }
    let bytes = network::packet::parse_bytes(words[columns.size]);
    let bytes = bytes
        .ok_or_else(|| wrong(format!("has a size, {}, that is no number of bytes", words[columns.size])))?;
    let text = words[columns.value];
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    let value = value.ok_or_else(|| wrong(format!("has a value, {text}, that is no number from 0")))?;
    let digit = digit(text);
    Ok(match columns.kind {
        Kind::Latency if value == 0.0 => {
            return Err(wrong("is a message that takes no time: print more digits".to_owned()));
        }
        Kind::Latency => {
            Some(Row { bytes, seconds: value * columns.scale, resolution: digit * columns.scale, line })
        }
        Kind::Stream if bytes == 0 => None,
        Kind::Stream if value == 0.0 => {
            return Err(wrong("is a bandwidth of nothing: print more digits".to_owned()));
        }
        Kind::Stream => {
            let seconds = bytes as f64 / (value * columns.scale);
            Some(Row { bytes, seconds, resolution: seconds * digit / value, line })
        }
    })
}

/// Returns what the last digit of a decimal number is worth.
fn digit(text: &str) -> f64 {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    10f64.powi(exponent.parse::<i32>().unwrap_or(0) - decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, given: Option<f64>) -> (Kind, Vec<(u64, f64)>) {
        let table = read(text, given).unwrap();
        // To a picosecond: units are multiplied.
        (table.kind, table.rows.iter().map(|row| (row.bytes, (row.seconds * 1e12).round())).collect())
    }

    #[test]
    fn tables_of_benchmarks_are_read() {
        let latency = |all: &[(u64, f64)]| (Kind::Latency, all.to_vec());
        assert_eq!(
            rows("# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n0   1.27\n8   1.26\n", None),
            latency(&[(0, 1.27e6), (8, 1.26e6)])
        );
        assert_eq!(
            rows("# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n1                       1.67\n", None),
            latency(&[(1, 1.67e6)])
        );
        let imb = "# Benchmarking PingPong\n# #processes = 2\n#----\n #bytes #repetitions      t[usec]   Mbytes/sec\n 0 1000 2.23 0.00\n 8 1000 2.26 1.69\n\n# Benchmarking PingPing\n #bytes #repetitions      t[usec]   Mbytes/sec\n 0 1000 9.99 0.00\n";
        assert_eq!(rows(imb, None), latency(&[(0, 2.23e6), (8, 2.26e6)]));
        assert_eq!(
            rows("#p0\tp1\tdist\tlen\tave time (us)\trate\n0\t1\t1\t32\t3.5\t9.14e+06\n", None),
            latency(&[(32, 3.5e6)])
        );
        assert_eq!(
            rows("     bytes   latency (us)         MB/s\n 4  1.001  4.0\n 0  1.000  0.00\n", None),
            latency(&[(0, 1e6), (4, 1.001e6)])
        );
        assert_eq!(rows("bytes round-trip (ms)\n1KiB 0.004\n", None), latency(&[(1024, 2e6)]));
        assert_eq!(rows("1 2\n2 3.5", Some(1e-6)), latency(&[(1, 2e6), (2, 3.5e6)]));
        assert_eq!(
            rows(
                "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1   0.5\n1000   100.00\n",
                None
            ),
            (Kind::Stream, vec![(1, 2e6), (1000, 1e7)])
        );
    }

    #[test]
    fn the_last_digit_is_the_resolution() {
        let table = read("bytes us\n1 2.50\n2 3e1\n", None).unwrap();
        assert_eq!((table.rows[0].resolution * 1e8).round(), 1.0);
        assert_eq!((table.rows[1].resolution * 1e5).round(), 1.0);
    }

    #[test]
    fn what_is_no_table_is_told_with_its_line() {
        for (text, said) in [
            ("", "there is no table of sizes and times"),
            ("# Size Latency (us)\n", "there is no table"),
            ("1 2\n", "line 1: nothing above these numbers"),
            ("bytes time\n1 2\n", "line 1: the column 'time' has no unit"),
            ("size latency (fortnights)\n1 2\n", "line 1: the column 'latency (fortnights)' has no unit"),
            ("size bandwidth\n1 2\n", "line 1: the column 'bandwidth' has no unit"),
            ("bytes us\n1 2 3\n", "line 2: '1 2 3' has 3 columns, and what stands above names 2"),
            ("bytes us\n1 x\n", "line 2: '1 x' has a value, x,"),
            ("bytes us\n1.5 1\n", "line 2: '1.5 1' has a size, 1.5,"),
            ("bytes us\n1 0.00\n", "takes no time: print more digits"),
            ("size bandwidth (MB/s)\n1 0.00\n", "bandwidth of nothing"),
            ("bytes us\n1 2\nbytes MB/s\n1 2\n", "line 4: above are latencies"),
        ] {
            let why = read(text, None).unwrap_err();
            assert!(why.contains(said), "{text:?}: {why}");
        }
    }
}
