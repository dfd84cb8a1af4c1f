//! Texts of a trace as they stand in a line.

use std::borrow::Cow;

/// Returns a text as it stands in a line: control characters are escaped.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}
