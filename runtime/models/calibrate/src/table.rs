//! Tables of sizes and times, as benchmarks print them.
//!
//! Which column is what is read from the words above the numbers: `# Size  Latency (us)` (OSU's osu_latency),
//! `# Size  Bandwidth (MB/s)` (osu_bw), `# Size  MB/s  Messages/s` (osu_mbw_mr), `#bytes #repetitions t[usec]
//! Mbytes/sec` (IMB), `#p0 p1 dist len ave time (us) rate` (mpptest), `bytes latency (us)`. A file may have
//! several tables: IMB prints one for each number of processes.

/// The kind of the times in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The time of a message one way, half a round trip.
    Latency,
    /// The time of a message one way while several pairs exchange messages (osu_multi_lat).
    Burst,
    /// The time for each of many messages in a row, from a bandwidth.
    Stream,
    /// The time for each message of all pairs together, from a rate (osu_mbw_mr, IMB's Uniband).
    Rate,
    /// The time for each message when both ends send (osu_bibw, IMB's Biband).
    BothWays,
}

/// A measured time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// The message's size.
    pub bytes: u64,
    /// The time in seconds.
    pub seconds: f64,
    /// The value of one unit in the last printed digit, in seconds.
    pub resolution: f64,
    /// The index of its file; 0 as it is read.
    pub file: usize,
    /// The line of the file.
    pub line: usize,
}

/// A table that a benchmark printed.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// The kind of its times.
    pub kind: Kind,
    /// The pairs that exchange messages at once, if the benchmark says so.
    pub pairs: Option<u32>,
    /// `true` if half of all processes send to the other half, of a number that grows from table to table
    /// (IMB). Few processes are then inside a node.
    pub grows: bool,
    /// Messages in a row of which the last is answered.
    pub window: u32,
    /// The rows, by size.
    pub rows: Vec<Row>,
}

/// The longest time of a message: a network holds 53 days and back, virtual time 213.
const MAX_SECONDS: f64 = 1e6;
/// Messages in a row unless a benchmark says otherwise.
pub const DEFAULT_WINDOW: u32 = 64;

/// The benchmark of the lines that follow, from its title.
#[derive(Clone, PartialEq, Debug)]
enum Title {
    /// Times or bandwidths of pairs, of a kind that its title gives.
    Pairs(Option<Kind>),
    /// Anything else, by its name.
    Other(String),
}

/// Returns the benchmark that a line is the title of.
fn title(line: &str) -> Option<Title> {
    if let Some((_, name)) = line.split_once("Benchmarking ") {
        return Some(match name.trim() {
            "PingPong" => Title::Pairs(None),
            "Uniband" => Title::Pairs(Some(Kind::Rate)),
            "Biband" => Title::Pairs(Some(Kind::BothWays)),
            name => Title::Other(name.to_owned()),
        });
    }
    let (_, name) = line.strip_prefix('#')?.split_once("OSU MPI")?;
    let (name, _) = name.split_once(" Test")?;
    // A benchmark of buffers on a device is OSU MPI-CUDA.
    let name = name
        .strip_prefix(|c: char| c == '-')
        .map_or(name, |rest| rest.split_once(' ').map_or(rest, |at| at.1));
    Some(match name.trim() {
        "Latency" | "Multi-threaded Latency" | "Multi-process Latency" => Title::Pairs(None),
        "Bandwidth" => Title::Pairs(Some(Kind::Stream)),
        "Multi Latency" | "Multi-Latency" | "Multi-pair Latency" => Title::Pairs(Some(Kind::Burst)),
        "Bi-Directional Bandwidth" => Title::Pairs(Some(Kind::BothWays)),
        "Multiple Bandwidth / Message Rate" => Title::Pairs(Some(Kind::Rate)),
        name => Title::Other(name.to_owned()),
    })
}

/// Returns the number behind a word such as `pairs:` in a line.
fn number_behind(line: &str, word: &str) -> Option<u32> {
    let (_, rest) = line.split_once(word)?;
    let digits = rest.trim_start_matches([' ', '=', ':']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|&number| number > 0)
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

/// Returns the bytes a second of a unit of bandwidth. A million bytes are a megabyte, as OSU's benchmarks
/// have it.
fn rate(text: &str) -> Option<f64> {
    Some(match text {
        "MB/s" | "MB/sec" => 1e6,
        "GB/s" | "GB/sec" => 1e9,
        "Mb/s" | "Mbps" => 1.25e5,
        "Gb/s" | "Gbps" => 1.25e8,
        _ => return None,
    })
}

/// Reads the tables of a file. `given` is the unit of times where a table does not say it, in seconds.
///
/// # Errors
/// A sentence with the line: no table, a column without a unit, a row that is none.
pub fn read(text: &str, given: Option<f64>) -> Result<Vec<Table>, String> {
    let two = given.map(|scale| Columns { count: 2, size: 0, value: 1, kind: Kind::Latency, scale });
    let (mut columns, mut benchmark) = (two, Title::Pairs(None));
    let (mut pairs, mut window, mut grows) = (None, DEFAULT_WINDOW, false);
    let (mut found, mut begins): (Vec<Table>, bool) = (Vec::new(), true);
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if let Some(other) = title(line) {
            // IMB prints the tables of several benchmarks into one file.
            (columns, benchmark, begins, pairs, grows) =
                (two, other, true, None, line.contains("Benchmarking"));
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_row = words.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let Title::Pairs(kind) = benchmark else { continue };
        if !is_row {
            pairs = number_behind(line, "#processes").map(|all| all / 2).filter(|&all| all > 0).or(pairs);
            pairs = number_behind(line, "pairs:").or(pairs);
            window = number_behind(line, "window size:").unwrap_or(window);
            if let Some(other) = header(line, given).map_err(|why| format!("line {number}: {why}"))? {
                (columns, begins) = (Some(other), true);
            }
            continue;
        }
        let columns = columns.ok_or_else(|| {
            format!(
                "line {number}: nothing above these numbers says what they are: write 'bytes latency \
                (us)' above them, or give --unit us for sizes and times in two columns"
            )
        })?;
        // Of no bytes a bandwidth gives no time.
        let row = row(&words, columns, number)?;
        if std::mem::take(&mut begins) {
            let kind = kind.filter(|kind| (*kind == Kind::Burst) == (columns.kind == Kind::Latency));
            let kind = kind.unwrap_or(columns.kind);
            found.push(Table { kind, pairs, grows, window, rows: Vec::new() });
        }
        found.last_mut().expect("a table begins with its first row").rows.extend(row);
    }
    found.retain(|table| !table.rows.is_empty());
    match (found.is_empty(), benchmark) {
        (true, Title::Other(name)) => {
            return Err(format!(
                "these are times of {name}; a machine is made from messages of pairs alone: give what \
                osu_latency, osu_bw, osu_mbw_mr, osu_multi_lat or IMB's PingPong, Uniband or Biband prints"
            ));
        }
        (true, Title::Pairs(_)) => {
            return Err("there is no table of sizes and times: give what osu_latency, osu_bw, osu_mbw_mr, \
                IMB's PingPong or mpptest prints, or lines of bytes and times below 'bytes latency \
                (us)'"
                .to_owned());
        }
        (false, _) => {}
    }
    found.iter_mut().for_each(|table| table.rows.sort_by_key(|row| row.bytes));
    Ok(found)
}

/// Returns the names of columns: a unit in brackets belongs to the word before it, and `Avg` to the one
/// behind it.
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
    let is_rate = |name: &str| {
        matches!(
            name.to_lowercase().as_str(),
            "messages/s" | "message/s" | "msg/sec" | "msgs/s" | "messages/sec"
        )
    };
    if let Some((place, _)) = others().find(|(_, name)| is_rate(name)) {
        return columns(place, Kind::Rate, 1.0);
    }
    if let Some((place, scale)) = others()
        .find_map(|(place, name)| Some((place, bracketed(name).and_then(rate).or_else(|| rate(name))?)))
    {
        return columns(place, Kind::Stream, scale);
    }
    match others().find(|(_, name)| name.to_lowercase().contains("bandwidth")) {
        Some((_, name)) => Err(format!(
            "the column '{name}' has no unit that is known: write MB/s, GB/s, Mb/s or Gb/s in brackets \
            behind its name"
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
    let row = match columns.kind {
        Kind::Latency if value == 0.0 => {
            return Err(wrong("is a message that takes no time: print more digits".to_owned()));
        }
        Kind::Latency => Some(Row {
            bytes,
            seconds: value * columns.scale,
            resolution: digit * columns.scale,
            file: 0,
            line,
        }),
        Kind::Rate if value == 0.0 => {
            return Err(wrong("is a rate of no messages: measure again".to_owned()));
        }
        Kind::Rate => {
            Some(Row { bytes, seconds: value.recip(), resolution: digit / value.powi(2), file: 0, line })
        }
        Kind::Stream if bytes == 0 => None,
        Kind::Stream if value == 0.0 => {
            return Err(wrong("is a bandwidth of nothing: print more digits".to_owned()));
        }
        Kind::Stream | Kind::Burst | Kind::BothWays => {
            let seconds = bytes as f64 / (value * columns.scale);
            Some(Row { bytes, seconds, resolution: seconds * digit / value, file: 0, line })
        }
    };
    match row {
        Some(Row { seconds, .. }) if seconds > MAX_SECONDS => Err(wrong(format!(
            "is a message of {seconds:.3e} s, longer than a simulated one may take (11 days): check the unit \
            of the column"
        ))),
        row => Ok(row),
    }
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
        let [table] = &read(text, given).unwrap()[..] else { panic!("one table") };
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
        let imb = "# Benchmarking PingPong\n# #processes = 2\n#----\n #bytes #repetitions      t[usec]   \
            Mbytes/sec\n 0 1000 2.23 0.00\n 8 1000 2.26 1.69\n\n# Benchmarking PingPing\n #bytes \
            #repetitions      t[usec]   Mbytes/sec\n 0 1000 9.99 0.00\n";
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

    /// A table's kind, pairs, window, and times per message to a picosecond.
    type Summary = (Kind, Option<u32>, u32, Vec<(u64, f64)>);

    fn summary(text: &str) -> Vec<Summary> {
        let of = |table: Table| {
            let rows = table.rows.iter().map(|row| (row.bytes, (row.seconds * 1e12).round())).collect();
            (table.kind, table.pairs, table.window, rows)
        };
        read(text, None).unwrap().into_iter().map(of).collect()
    }

    #[test]
    fn a_table_of_pairs_has_their_number_and_window() {
        let osu = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.9\n# [ pairs: 8 ] [ window size: 32 \
            ]\n# Size                  MB/s        Messages/s\n1  2.00 2000000.00\n2  8.00 4000000.00\n";
        assert_eq!(summary(osu), [(Kind::Rate, Some(8), 32, vec![(1, 5e5), (2, 2.5e5)])]);
        let imb = "# Benchmarking Uniband\n\
            # #processes = 2\n\
            # ( 2 additional processes waiting in MPI_Barrier)\n\
            #---\n #bytes #repetitions   Mbytes/sec      Msg/sec\n 0 1000 0.00 1000000\n\n\
            # Benchmarking Uniband\n\
            # #processes = 4\n #bytes #repetitions   Mbytes/sec      Msg/sec\n 0 1000 0.00 2000000\n\n\
            # Benchmarking Biband\n\
            # #processes = 4\n #bytes #repetitions   Mbytes/sec      Msg/sec\n 0 1000 0.00 4000000\n";
        assert_eq!(
            summary(imb),
            [
                (Kind::Rate, Some(1), 64, vec![(0, 1e6)]),
                (Kind::Rate, Some(2), 64, vec![(0, 5e5)]),
                (Kind::BothWays, Some(2), 64, vec![(0, 2.5e5)]),
            ]
        );
        let burst = "# OSU MPI Multi Latency Test v5.9\n# Size Latency (us)\n8 2.00\n";
        assert_eq!(summary(burst), [(Kind::Burst, None, 64, vec![(8, 2e6)])]);
        let both = "# OSU MPI Bi-Directional Bandwidth Test v5.9\n# Size Bandwidth (MB/s)\n8 4.00\n";
        assert_eq!(summary(both), [(Kind::BothWays, None, 64, vec![(8, 2e6)])]);
    }

    #[test]
    fn tables_that_follow_each_other_are_kept_apart() {
        let text = "bytes us\n1 2\nbytes MB/s\n1 2\n";
        let kinds: Vec<Kind> = read(text, None).unwrap().iter().map(|table| table.kind).collect();
        assert_eq!(kinds, [Kind::Latency, Kind::Stream]);
    }

    #[test]
    fn the_last_digit_is_the_resolution() {
        let table = &read("bytes us\n1 2.50\n2 3e1\n", None).unwrap()[0];
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
            (
                "bytes us\n1 1\n2 1e15\n",
                "line 3: '2 1e15' is a message of 1.000e9 s, longer than a simulated",
            ),
            ("bytes MB/s\n1 1e-15\n", "line 2: '1 1e-15' is a message of 1.000e9 s, longer than a simulated"),
            ("size bandwidth (MB/s)\n1 0.00\n", "bandwidth of nothing"),
            ("size messages/s\n1 0\n", "a rate of no messages"),
            (
                "# OSU MPI Allreduce Latency Test v5.9\n# Size Avg Latency(us)\n4 2\n",
                "these are times of Allreduce Latency; a machine is made from messages of pairs alone",
            ),
        ] {
            let why = read(text, None).unwrap_err();
            assert!(why.contains(said), "{text:?}: {why}");
        }
    }
}
