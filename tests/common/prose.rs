//! Sentences and words of prose, in the manual and in comments on items.

/// Words of a sentence at most.
pub const MAX_SENTENCE_WORDS: usize = 35;
/// Words of a paragraph at most.
pub const MAX_PARAGRAPH_WORDS: usize = 80;

/// Counts what has a letter or a digit.
pub fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// Returns a text with `_` for each span of code, so that its dots end no sentence.
pub fn without_code(text: &str) -> String {
    text.split('`').enumerate().map(|(index, part)| if index % 2 == 0 { part } else { "_x_" }).collect()
}

/// Divides a text where `.`, `!` or `?` stands before a space and what is no small letter.
pub fn sentences(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let words: Vec<&str> = text.split_whitespace().collect();
    for (index, word) in words.iter().enumerate() {
        let last = all.last_mut().unwrap();
        last.push_str(word);
        last.push(' ');
        let ends =
            word.trim_end_matches([')', '"', '*']).ends_with(['.', '!', '?']) && !word.ends_with("al.");
        let begins = words.get(index + 1).is_none_or(|next| !next.starts_with(char::is_lowercase));
        if ends && begins {
            all.push(String::new());
        }
    }
    all
}
