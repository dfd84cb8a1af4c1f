//! Tables of a page.

use crate::table::{Align, Table, TableCell};
use crate::units::grouped;
use maud::{Markup, html};

/// Returns a table whose rows are in the order of their `share`. Those of less than 0.1 % are closed at
/// first.
// Most programs have a few places that matter, and dozens that are called once.
pub fn folded(mut table: Table, share: &str, caption: &str) -> Markup {
    let at = table.columns.iter().position(|(name, _)| *name == share);
    let few = |row: &Vec<TableCell>| at.is_some_and(|at| row[at].starts_with('<') || row[at].text == "0 %");
    let split = table.rows.iter().position(few).unwrap_or(table.rows.len());
    let rest = Table { rows: table.rows.split_off(split), ..table.clone() };
    html! {
        @if !table.rows.is_empty() { (plain(&table, caption)) }
        @if !rest.rows.is_empty() {
            details {
                summary { (grouped(rest.rows.len() as u128)) " of less than 0.1 %" }
                (plain(&rest, caption))
            }
        }
    }
}

/// Columns that are beside each other at most, if the last one is a text: that stands below the row's name,
/// where no width cuts it.
const MAX_BESIDE: usize = 8;

/// Returns a table as it is.
pub fn plain(table: &Table, caption: &str) -> Markup {
    let is_below = table.columns.len() > MAX_BESIDE
        && table.columns.last().is_some_and(|(_, align)| *align == Align::Left);
    let beside = table.columns.len() - usize::from(is_below);
    let below = |row: &Vec<TableCell>| {
        row.last().filter(|cell| is_below && !cell.is_empty()).map(|cell| cell.text.clone())
    };
    let class = |at: usize| (table.columns[at].1 == Align::Right).then_some("number");
    html! {
        div class="wide" tabindex="0" { table {
            caption { (caption) }
            thead { tr { @for (at, (name, _)) in table.columns.iter().enumerate().take(beside) {
                th scope="col" class=[class(at)] { (name) }
            } } }
            tbody { @for row in &table.rows { tr { @for (at, cell) in row.iter().enumerate().take(beside) {
                td class=[class(at)] data-label=(table.columns[at].0) {
                    (cell.text)
                    @if let Some(text) = below(row).filter(|_| at == 0) {
                        p class="lost-to" { (table.columns[beside].0) " " (text) }
                    }
                }
            } } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_do_not_matter_are_closed() {
        let mut table = Table::new(&[("place", Align::Left), ("of all", Align::Right)]);
        table.rows = ["97 %", "0.1 %", "<0.1 %", "0 %"]
            .iter()
            .map(|share| vec![format!("at {share}").into(), (*share).into()])
            .collect();
        let (open, closed) = (folded(table.clone(), "of all", "here").into_string(), "2 of less than 0.1 %");
        let (before, behind) = open.split_once("<details>").expect("some are closed");
        assert!(
            before.contains("at 97 %") && before.contains("at 0.1 %") && !before.contains("at &lt;0.1 %")
        );
        assert!(behind.contains(closed) && behind.contains("at &lt;0.1 %") && behind.contains("at 0 %"));
        table.rows.truncate(2);
        assert!(!folded(table, "of all", "here").into_string().contains("<details>"));
    }

    #[test]
    fn long_texts_stand_below_the_name_of_their_row() {
        let numbers = [("calls", Align::Right); 8];
        let mut table = Table::new(
            &[&[("call site", Align::Left)], numbers.as_slice(), &[("by others", Align::Left)]].concat(),
        );
        let row = [TableCell::from("a.c:1")]
            .into_iter()
            .chain((0..8).map(|_| TableCell::count(7u32)))
            .chain(["ring 5 us".into()]);
        table.rows = vec![row.collect()];
        let page = plain(&table, "here").into_string();
        assert!(
            page.contains(
                "<td data-label=\"call site\">a.c:1<p class=\"lost-to\">by others ring 5 us</p></td>"
            ) && !page.contains(">by others</th>"),
            "{page}"
        );
    }
}
