//! Texts that keep to the room that a picture has for them.

/// The width of a letter of 14 or 15 pixels, as wide as common fonts of a reader's own draw it.
pub const LETTER_WIDTH: i32 = 8;
/// Marks behind which a long name may be broken.
const MARKS: [char; 6] = [',', ':', ';', '/', ' ', '-'];

/// Returns a name in at most `lines` lines of `letters` letters. Of a longer one the middle is left out:
/// names of a sweep differ at their ends.
pub fn fitted(name: &str, letters: usize, lines: usize) -> Vec<String> {
    let (letters, lines) = (letters.max(3), lines.max(1));
    let all = broken(name, letters);
    if all.len() <= lines {
        return all;
    }
    let (name, room): (Vec<char>, usize) = (name.chars().collect(), letters * lines - 1);
    let begin = room.div_ceil(2);
    let shortened: Vec<char> = name[..begin.min(name.len())]
        .iter()
        .copied()
        .chain(['…'])
        .chain(name[name.len() - (room - begin)..].iter().copied())
        .collect();
    shortened.chunks(letters).map(|line| line.iter().collect()).collect()
}

fn broken(name: &str, letters: usize) -> Vec<String> {
    let mut rest: Vec<char> = name.chars().collect();
    let mut lines = Vec::new();
    while rest.len() > letters {
        let mark =
            rest[..letters].iter().rposition(|letter| MARKS.contains(letter)).map_or(letters, |at| at + 1);
        let behind = rest.split_off(if mark * 3 < letters { letters } else { mark });
        lines.push(std::mem::replace(&mut rest, behind).into_iter().collect());
    }
    lines.push(rest.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_to_their_room_and_lose_their_middle_at_most() {
        let name = "dragonfly:p=4,a=8,h=4,g=4,l=10ns,router=90ns,routing=ugal-l,level=packet";
        for (letters, lines) in [(3, 1), (10, 2), (21, 3), (30, 3), (80, 1), (20, 9)] {
            let fitted = fitted(name, letters, lines);
            assert!(
                fitted.len() <= lines && fitted.iter().all(|line| line.chars().count() <= letters),
                "{fitted:?}"
            );
            assert!(fitted[0].starts_with('d') && fitted.last().unwrap().ends_with('t'), "{fitted:?}");
        }
        assert_eq!(
            fitted(name, 40, 2),
            ["dragonfly:p=4,a=8,h=4,g=4,l=10ns,", "router=90ns,routing=ugal-l,level=packet"]
        );
        assert_eq!(fitted("64", 5, 1), ["64"]);
    }
}
