//! The table of contents of a page.

use maud::{Markup, PreEscaped, html};

/// Returns links to the sections of a page, which begin with `h2`, and the sections with an id for each.
pub fn contents(sections: &str) -> (Markup, Markup) {
    let mut titles = Vec::new();
    let mut pieces = sections.split("<h2");
    let mut linked = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (attributes, rest) = piece.split_once('>').unwrap_or((piece, ""));
        let title = rest.split("</h2>").next().unwrap_or_default();
        let id = match attributes.strip_prefix(" id=\"").and_then(|id| id.strip_suffix('"')) {
            Some(id) => id.to_owned(),
            None => id_of(title),
        };
        linked += &format!("<h2 id=\"{id}\">{rest}");
        titles.push((id, title));
    }
    let links = html! {
        ul { @for (id, title) in &titles { li { a href=(format!("#{id}")) { (PreEscaped(*title)) } } } }
    };
    (links, PreEscaped(linked))
}

/// Returns a title in lower case, with hyphens for what is no letter and no digit.
fn id_of(title: &str) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_has_a_link_to_its_heading() {
        let page =
            "<section><h2>Wait states</h2></section><section><h2 id=\"sites\">Call sites</h2></section>";
        let (links, sections) = contents(page);
        assert_eq!(
            links.into_string(),
            "<ul><li><a href=\"#wait-states\">Wait states</a></li>\
             <li><a href=\"#sites\">Call sites</a></li></ul>"
        );
        assert_eq!(
            sections.into_string(),
            "<section><h2 id=\"wait-states\">Wait states</h2></section>\
             <section><h2 id=\"sites\">Call sites</h2></section>"
        );
    }
}
