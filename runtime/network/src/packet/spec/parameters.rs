//! The `key=value` list of a specification.

use crate::bandwidth::Bandwidth;
use engine::Span;

/// Keys with their values; sides such as `8x8` may stand first without a key.
#[derive(Clone)]
pub(crate) struct Parameters {
    values: Vec<(String, String)>,
    sides: Option<String>,
}

impl Parameters {
    /// Splits at commas; every key must be in `known`, and appear once.
    pub(super) fn parse(name: &str, text: &str, known: &[&str]) -> Result<Parameters, String> {
        let mut this = Parameters { values: Vec::new(), sides: None };
        for (index, item) in text.split(',').enumerate() {
            let item = item.trim();
            if item.is_empty() && text.trim().is_empty() {
                continue;
            }
            match item.split_once('=') {
                None if index == 0 && item.starts_with(|c: char| c.is_ascii_digit()) => this.sides = Some(item.to_owned()),
                None => return Err(format!("'{item}' in '{name}:{text}' is not key=value; write for example b=100Gbps")),
                Some((key, value)) => {
                    let (key, value) = (key.trim(), value.trim());
                    if !known.contains(&key) {
                        return Err(format!("'{key}' is not a key of {name}; it has {}", known.join(", ")));
                    }
                    if this.text(key).is_some() {
                        return Err(format!("'{key}' is given twice for {name}"));
                    }
                    this.values.push((key.to_owned(), value.to_owned()));
                }
            }
        }
        Ok(this)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    pub(crate) fn number(&self, key: &str) -> Result<Option<u32>, String> {
        let parse = |text: &str| text.parse().map_err(|_| format!("{key}={text} is not a whole number below 2^32"));
        self.text(key).map(parse).transpose()
    }

    /// A number that must be there and at least 1.
    pub(crate) fn required(&self, key: &str, what: &str) -> Result<u32, String> {
        match self.number(key)? {
            None => Err(format!("{key}= is missing: {what}")),
            Some(0) => Err(format!("{key}=0 is impossible: {what}, at least 1")),
            Some(number) => Ok(number),
        }
    }

    /// A number that is at least 1 if it is there.
    pub(crate) fn positive(&self, key: &str, default: u32) -> Result<u32, String> {
        match self.number(key)? {
            Some(0) => Err(format!("{key}=0 is impossible: at least 1")),
            number => Ok(number.unwrap_or(default)),
        }
    }

    pub(crate) fn span(&self, key: &str) -> Result<Option<Span>, String> {
        self.text(key).map(|text| text.parse().map_err(|e| format!("{key}={text}: {e}"))).transpose()
    }

    pub(crate) fn bandwidth(&self, key: &str) -> Result<Option<Bandwidth>, String> {
        self.text(key).map(|text| text.parse().map_err(|e| format!("{key}={text}: {e}"))).transpose()
    }

    pub(crate) fn bytes(&self, key: &str, default: u32, least: u32) -> Result<u32, String> {
        let Some(text) = self.text(key) else { return Ok(default) };
        let bytes = parse_bytes(text).ok_or_else(|| format!("{key}={text} is not a number of bytes such as 512, 64KiB or 1MB"))?;
        u32::try_from(bytes)
            .ok()
            .filter(|&b| b >= least && b < 1 << 31)
            .ok_or_else(|| format!("{key}={text} is not between {least} and 2^31 bytes"))
    }

    /// The sides, such as `8x8x4`: first without a key, or as `sides=`.
    pub(crate) fn sides(&self) -> Result<Vec<u32>, String> {
        let text = self.text("sides").or(self.sides.as_deref()).ok_or("the sides are missing; write for example torus:8x8x4")?;
        let error = || format!("'{text}' is not a list of sides such as 8x8x4, each from 1 to 16777216");
        let sides: Vec<u32> = text.split('x').map(|side| side.parse().map_err(|_| error())).collect::<Result<_, _>>()?;
        if sides.iter().any(|&s| s == 0 || s > 1 << 24) || sides.len() > 16 { Err(error()) } else { Ok(sides) }
    }

    /// A list such as `16x8`.
    pub(crate) fn list(&self, key: &str, what: &str) -> Result<Vec<u32>, String> {
        let text = self.text(key).ok_or_else(|| format!("{key}= is missing: {what}"))?;
        let error = || format!("{key}={text} is not a list such as 16x8: {what}");
        let list: Vec<u32> = text.split('x').map(|n| n.parse().map_err(|_| error())).collect::<Result<_, _>>()?;
        if list.iter().any(|&n| n == 0 || n > 1 << 20) { Err(error()) } else { Ok(list) }
    }

    /// Refuses sides where a topology has none.
    pub(crate) fn no_sides(&self) -> Result<(), String> {
        match &self.sides {
            None => Ok(()),
            Some(sides) => Err(format!("'{sides}' is not key=value; this topology has no sides")),
        }
    }
}

/// A number of bytes: `512`, `64KiB`, `1MB`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let scale = match text[split..].trim() {
        "" | "B" => 1,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    text[..split].parse::<u64>().ok()?.checked_mul(scale)
}
