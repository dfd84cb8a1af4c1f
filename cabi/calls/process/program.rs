//! Which program is spawned, and how many of it.

use std::path::{Path, PathBuf};

/// Finds the program that a command names, and loads it into this process, unless it is the one that the run
/// began with: of that one `None`.
///
/// # Errors
/// A sentence: there is no such program, or why it cannot run beside the others.
pub fn find(command: &str, wdir: Option<&str>, path: Option<&str>) -> Result<Option<PathBuf>, String> {
    let found = file(command, wdir, path)?;
    let whole = |path: &Path| std::fs::canonicalize(path).ok();
    let found = whole(&found).unwrap_or(found);
    if Some(&found) == whole(Path::new("/proc/self/exe")).as_ref() {
        return Ok(None);
    }
    rank::another::load(&found).map_err(|why| format!("program {why}"))?;
    Ok(Some(found))
}

/// Finds the file that a command names.
///
/// # Errors
/// A sentence: there is none.
pub fn file(command: &str, wdir: Option<&str>, path: Option<&str>) -> Result<PathBuf, String> {
    if let Some(wdir) = wdir.filter(|wdir| !Path::new(wdir).is_dir()) {
        return Err(format!("the value of key wdir is '{wdir}', which is no directory"));
    }
    places(command, wdir, path).into_iter().find(|place| place.is_file()).ok_or_else(|| {
        format!(
            "there is no program '{command}' to spawn, neither in the working directory nor in PATH: check \
             its name, or give its whole path"
        )
    })
}

/// Returns where a command may be, in the order in which it is looked for: as a launcher started in this
/// directory would (MPI 5.0 section 11.8.4).
fn places(command: &str, wdir: Option<&str>, path: Option<&str>) -> Vec<PathBuf> {
    // A relative name stays one where there is no other directory: it is then looked up in the process's own.
    let here = PathBuf::from(wdir.unwrap_or("")).join(command);
    if command.contains('/') {
        return vec![here];
    }
    let lists = [path.map(Into::into), std::env::var_os("PATH")];
    let listed =
        lists.iter().flatten().flat_map(std::env::split_paths).map(|directory| directory.join(command));
    std::iter::once(here).chain(listed).collect()
}

/// Returns the numbers that a value of the key `soft` allows, none above `most`, the greatest first (MPI 5.0
/// section
/// 11.8.1).
pub fn numbers(soft: &str, most: u32) -> Option<Vec<u32>> {
    let mut allowed = Vec::new();
    for triplet in soft.split(',') {
        let parts: Vec<i64> =
            triplet.split(':').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
        let (first, last, step) = match parts[..] {
            [one] => (one, one, 1),
            [first, last] => (first, last, 1),
            [first, last, step] if step != 0 => (first, last, step),
            _ => return None,
        };
        // Only what is in reach is counted: a range may be as long as it likes.
        let (mut at, bound) = (first, i64::from(most));
        while (step > 0 && at <= last.min(bound)) || (step < 0 && at >= last.max(0)) {
            allowed.extend(u32::try_from(at).ok().filter(|&number| number <= most));
            at += step;
        }
    }
    allowed.sort_unstable_by(|a, b| b.cmp(a));
    allowed.dedup();
    Some(allowed)
}
