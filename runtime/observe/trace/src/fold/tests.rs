use super::*;
use proptest::prelude::*;

fn unpack(grammar: &Grammar, items: &[Item], out: &mut Vec<u32>) {
    for &item in items {
        match grammar.kind(item) {
            FoldKind::Symbol(symbol) => out.push(symbol),
            FoldKind::Loop { body, count } => {
                (0..count).for_each(|_| unpack(grammar, grammar.body(body), out))
            }
        }
    }
}

fn fold(grammar: &mut Grammar, symbols: &[u32]) -> Vec<Item> {
    let mut cursor = Cursor::default();
    symbols.iter().for_each(|&symbol| grammar.add(&mut cursor, symbol));
    let stack = grammar.close(&mut cursor);
    grammar.items(stack)
}

fn show(grammar: &Grammar, items: &[Item]) -> String {
    let shown = |&item: &Item| match grammar.kind(item) {
        FoldKind::Symbol(symbol) => char::from(b'a' + symbol as u8).to_string(),
        FoldKind::Loop { body, count } => format!("({}){count}", show(grammar, grammar.body(body))),
    };
    items.iter().map(shown).collect()
}

fn folded(text: &str) -> String {
    let mut grammar = Grammar::default();
    let symbols: Vec<u32> = text.bytes().map(|byte| u32::from(byte - b'a')).collect();
    let items = fold(&mut grammar, &symbols);
    show(&grammar, &items)
}

#[test]
fn loops_nest() {
    assert_eq!(folded(&"ab".repeat(7)), "(ab)7");
    assert_eq!(folded(&format!("x{}y", "aaaab".repeat(5))), "x((a)4b)5y");
    assert_eq!(folded(&format!("{}c", "aabaabc".repeat(4))), "(((a)2b)2c)4c");
    assert_eq!(folded(&"abcd".repeat(3)[..11]), "(abcd)2abc");
}

#[test]
fn a_loop_of_other_counts_is_another_item() {
    assert_eq!(folded("aaabaabaaab"), "(a)3b(a)2b(a)3b");
}

/// Generates nested loops with bodies of a few symbols.
fn programs() -> impl Strategy<Value = Vec<u32>> {
    let leaf = prop::collection::vec(0u32..5, 1..5);
    leaf.prop_recursive(4, 400, 4, |inner| {
        (prop::collection::vec(inner, 1..4), 1usize..6)
            .prop_map(|(parts, count)| parts.concat().repeat(count))
    })
    .prop_filter("not too long", |symbols| symbols.len() < 20_000)
}

proptest! {
    #[test]
    fn what_is_repeated_is_as_if_it_were_added_as_often(
        before in programs(),
        body in programs(),
        times in 1u64..40,
        behind in programs(),
    ) {
        let body = &body[..body.len().min(50)];
        let (before, behind) = (&before[..before.len().min(200)], &behind[..behind.len().min(200)]);
        let mut grammar = Grammar::default();
        let mut cursor = Cursor::default();
        before.iter().for_each(|&symbol| grammar.add(&mut cursor, symbol));
        grammar.repeat(&mut cursor, times, |grammar, cursor| {
            body.iter().for_each(|&symbol| grammar.add(cursor, symbol))
        });
        behind.iter().for_each(|&symbol| grammar.add(&mut cursor, symbol));
        let stack = grammar.close(&mut cursor);
        let mut one_by_one = Cursor::default();
        let all = before.iter().chain(body.iter().cycle().take(body.len() * times as usize)).chain(behind);
        all.for_each(|&symbol| grammar.add(&mut one_by_one, symbol));
        prop_assert_eq!(grammar.close(&mut one_by_one), stack);
    }

    #[test]
    fn what_was_folded_unpacks_to_itself(programs in prop::collection::vec(programs(), 1..4)) {
        let mut grammar = Grammar::default();
        for symbols in programs {
            let items = fold(&mut grammar, &symbols);
            let mut out = Vec::new();
            unpack(&grammar, &items, &mut out);
            prop_assert_eq!(out, symbols);
        }
    }

    #[test]
    fn a_sequence_folds_alike_whoever_shares_the_grammar(first in programs(), second in programs()) {
        let mut shared = Grammar::default();
        let (mut one, mut two) = (Cursor::default(), Cursor::default());
        for place in 0..first.len().max(second.len()) {
            first.get(place).into_iter().for_each(|&symbol| shared.add(&mut one, symbol));
            second.get(place).into_iter().for_each(|&symbol| shared.add(&mut two, symbol));
        }
        for (symbols, mut cursor) in [(first, one), (second, two)] {
            let mut alone = Grammar::default();
            let items = fold(&mut alone, &symbols);
            let stack = shared.close(&mut cursor);
            prop_assert_eq!(show(&alone, &items), show(&shared, &shared.items(stack)));
        }
    }
}

#[test]
fn a_loop_costs_the_same_however_often_it_runs() {
    let mut grammar = Grammar::default();
    let body: Vec<u32> = (0..14).collect();
    let mut cursors = vec![Cursor::default(); 100];
    for _ in 0..1000 {
        for cursor in &mut cursors {
            body.iter().for_each(|&symbol| grammar.add(cursor, symbol));
        }
    }
    assert!(grammar.len() < 40, "{} stacks", grammar.len());
}
