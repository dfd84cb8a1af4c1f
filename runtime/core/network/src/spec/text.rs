//! The syntax of a level, in a specification or a machine file: a name, perhaps a size, options with values,
//! and where each stands.

use super::topology::topology_row;
use crate::machine::{MachineError, MachineText};
use crate::topology::DetailLevel;

/// A part of a source and where it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    /// `true` if the source has it letter by letter; a list of a machine file is joined to one text.
    pub(crate) is_verbatim: bool,
}

impl<'a> Piece<'a> {
    /// Returns all of a specification.
    pub(crate) fn whole(text: &'a str) -> Piece<'a> {
        Piece { text, at: 0, is_verbatim: true }
    }

    /// Returns a part of it.
    pub(crate) fn part(self, range: std::ops::Range<usize>) -> Piece<'a> {
        let at = if self.is_verbatim { self.at + range.start } else { self.at };
        Piece { text: &self.text[range], at, ..self }
    }

    pub(crate) fn trim(self) -> Piece<'a> {
        let start = self.text.len() - self.text.trim_start().len();
        self.part(start..start + self.text.trim().len())
    }

    pub(crate) fn split_once(self, separator: char) -> Option<(Piece<'a>, Piece<'a>)> {
        let byte = self.text.find(separator)?;
        Some((self.part(0..byte), self.part(byte + separator.len_utf8()..self.text.len())))
    }

    pub(crate) fn split(self, separator: char) -> Vec<Piece<'a>> {
        let (mut rest, mut parts) = (self, Vec::new());
        while let Some((part, more)) = rest.split_once(separator) {
            parts.push(part.trim());
            rest = more;
        }
        parts.push(rest.trim());
        parts
    }

    /// Returns what follows the colon, split at commas.
    fn items(self) -> Vec<Piece<'a>> {
        self.split_once(':').map_or(Vec::new(), |(_, rest)| rest.split(','))
    }

    /// Returns what is before the colon.
    pub(crate) fn name(self) -> Piece<'a> {
        self.split_once(':').map_or(self, |(name, _)| name).trim()
    }

    /// Levels are split at slashes, but the slash of `GB/s` or `Gflop/s` is a unit's.
    pub(crate) fn levels(self) -> Vec<Piece<'a>> {
        let (mut parts, mut start) = (Vec::new(), 0);
        for (byte, _) in self.text.match_indices('/') {
            let after = self.text[byte + 1..].strip_prefix('s').map(|rest| rest.trim_start());
            let per_second = after.is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '/', ';']));
            if !(per_second && self.text[..byte].ends_with(['B', 'p'])) {
                parts.push(self.part(start..byte).trim());
                start = byte + 1;
            }
        }
        parts.push(self.part(start..self.text.len()).trim());
        parts
    }
}

/// An option and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) name: Piece<'a>,
    pub(crate) value: Piece<'a>,
}

/// A level as written.
#[derive(Clone, Debug)]
pub(crate) struct Level<'a> {
    pub(crate) name: Piece<'a>,
    pub(crate) size: Option<Piece<'a>>,
    pub(crate) items: Vec<Item<'a>>,
}

/// The key that says at which level of detail a network is simulated.
pub(crate) const LEVEL: &str = "level";
/// Its value where hops and bytes are all.
pub(crate) const FORMULA: &str = "formula";

/// Returns `true` if a network of this topology, with this value of `level`, has routers. Some topologies
/// have them unless the level is `formula`.
pub(crate) fn has_routers(topology: &str, level: Option<&str>) -> bool {
    match level {
        Some(FORMULA) => false,
        Some("packet" | "flow") => true,
        _ => topology_row(topology).is_some_and(|row| row.level != DetailLevel::Formula),
    }
}

impl<'a> Level<'a> {
    /// Takes a level of a specification apart.
    pub(crate) fn of(piece: Piece<'a>, source: &MachineText) -> Result<Level<'a>, MachineError> {
        let mut items = piece.items();
        let has_size = items.first().is_some_and(|first| !first.text.contains('='));
        let size = has_size.then(|| items.remove(0));
        let item = |item: Piece<'a>| {
            let (name, value) = item.split_once('=').ok_or_else(|| {
                let found =
                    if item.text.is_empty() { "nothing".to_owned() } else { format!("'{}'", item.text) };
                let why = format!(
                    "expected an option such as l=1us, but found {found} (a size comes first, right after \
                     the colon)"
                );
                source.error(item.at, why)
            })?;
            Ok::<_, MachineError>(Item { name: name.trim(), value: value.trim() })
        };
        Ok(Level { name: piece.name(), size, items: items.into_iter().map(item).collect::<Result<_, _>>()? })
    }

    /// Returns `true` if it is a network of routers.
    pub(crate) fn has_routers(&self) -> bool {
        has_routers(self.name.text, self.detail())
    }

    /// Returns the level of detail, if it is given.
    pub(crate) fn detail(&self) -> Option<&'a str> {
        self.items.iter().find(|item| item.name.text == LEVEL).map(|item| item.value.text)
    }
}

impl std::fmt::Display for Level<'_> {
    /// Writes it as a specification has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name.text)?;
        let items = self.items.iter().map(|item| format!("{}={}", item.name.text, item.value.text));
        let items: Vec<String> = self.size.iter().map(|size| size.text.to_owned()).chain(items).collect();
        if items.is_empty() { Ok(()) } else { write!(f, ":{}", items.join(",")) }
    }
}

/// Reads a number with one of these prefixes of powers of 1000, or with none.
pub(crate) fn prefixed(text: &str, prefixes: &str) -> Option<f64> {
    let (number, scale) = match text.char_indices().last() {
        Some((at, prefix)) if prefix.is_ascii_alphabetic() => {
            (&text[..at], 1000f64.powi(prefixes.find(prefix)? as i32 + 1))
        }
        _ => (text, 1.0),
    };
    Some(number.trim_end().parse::<f64>().ok()? * scale)
}
