//! Ranks of a native process, where `-xsim-map` gives them.

use std::path::Path;

/// Returns how many ranks each process has: a line `FIRST-LAST` or `FIRST` for each, or `-` for none. Empty
/// lines and what follows `#` do not count.
///
/// # Errors
/// A sentence that names the line, if lines cannot be read, are not one a process, or do not name `ranks`
/// ranks in order.
pub fn read(path: &Path, ranks: u32, processes: u32) -> Result<Vec<u32>, String> {
    let text = engine::text::read(path, engine::text::LIST)
        .map_err(|why| format!("cannot read {}, the map of ranks to processes: {why}", path.display()))?;
    parse(&text, ranks, processes).map_err(|why| format!("{}: {why}", path.display()))
}

fn parse(text: &str, ranks: u32, processes: u32) -> Result<Vec<u32>, String> {
    let mut lengths = Vec::new();
    let mut next = 0u32;
    let lines = (1..)
        .zip(text.lines())
        .map(|(number, line)| (number, line.split('#').next().unwrap_or_default().trim()));
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        if line == "-" {
            lengths.push(0);
            continue;
        }
        let (first, last) = line.split_once('-').unwrap_or((line, line));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) else {
            return Err(format!(
                "line {number} is '{line}': write the ranks of a process as FIRST-LAST, or - for none"
            ));
        };
        if first != next || last < first || last >= ranks {
            return Err(format!(
                "line {number} is '{line}', but the next process begins with rank {next}: processes have the \
                 ranks 0 to {} in order, each a row of them",
                i64::from(ranks) - 1
            ));
        }
        lengths.push(last - first + 1);
        next = last + 1;
    }
    if next != ranks {
        return Err(format!(
            "the processes have the ranks 0 to {}, and there are {ranks} ranks",
            i64::from(next) - 1
        ));
    }
    if lengths.len() != processes as usize {
        return Err(format!("there are lines for {} processes, and {processes} were started", lengths.len()));
    }
    Ok(lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_rows_of_ranks() {
        assert_eq!(parse("0-4 # a large host\n\n5\n-\n6-9\n", 10, 4), Ok(vec![5, 1, 0, 4]));
    }

    #[test]
    fn what_is_not_a_map_is_refused_with_its_line() {
        for (text, processes, part) in [
            ("0-4\n6-9", 2, "line 2"),
            ("0-4\n4-9", 2, "begins with rank 5"),
            ("0-10", 1, "0 to 9"),
            ("0-4\nfive", 2, "'five'"),
            ("0-4", 1, "there are 10 ranks"),
            ("0-9", 2, "1 processes, and 2"),
        ] {
            let why = parse(text, 10, processes).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
