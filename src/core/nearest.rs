//! The likeliest of the names that exist, for one that does not.

use std::cmp::Reverse;

/// At most `most` names out of `of` that `word` may have meant, the likeliest first. Case does not
/// count; two swapped neighbours come before any other slip. Empty when nothing is plausible: a
/// guess from afar is worse than none.
pub fn nearest<'a>(word: &str, of: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let word = word.trim();
    if word.len() > LONGEST {
        return Vec::new();
    }
    let wanted = word.to_lowercase();
    let length = wanted.chars().count();
    let mut found: Vec<(Rank, &str)> = of
        .filter_map(|name| {
            let folded = name.to_lowercase();
            // Each letter more is a slip.
            if length.abs_diff(folded.chars().count()) > MOST_FORGIVEN {
                return None;
            }
            let slips = strsim::damerau_levenshtein(&wanted, &folded);
            let rank = Rank {
                slips,
                other_letters: letters(&wanted) != letters(&folded),
                longer_or_shorter: length.abs_diff(folded.chars().count()),
                same_start: Reverse(same_start(&wanted, &folded)),
            };
            (slips <= slips_forgiven(&wanted, &folded)).then_some((rank, name))
        })
        .collect();
    found.sort_by_key(|(rank, _)| *rank); // stable: the caller's order breaks ties
    found.dedup_by_key(|(_, name)| *name);
    found.into_iter().map(|(_, name)| name).take(most).collect()
}

/// Bytes of a word beyond which it was meant to be no name: slips are counted in the square of it.
const LONGEST: usize = 512;
/// Slips in a word, however long.
const MOST_FORGIVEN: usize = 2;

/// What makes one name likelier than another, the weightiest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    slips: usize,
    other_letters: bool,
    longer_or_shorter: usize,
    same_start: Reverse<usize>,
}

/// One slip in a short word, two from six letters on; in a word of two letters nothing is a slip.
fn slips_forgiven(a: &str, b: &str) -> usize {
    match a.chars().count().min(b.chars().count()) {
        0..=2 => 0,
        3..=5 => 1,
        _ => MOST_FORGIVEN,
    }
}

fn same_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

fn letters(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn swapped_neighbours_come_first() {
        let names = ["PD-25", "PD-259", "PD-285", "docs", "OPS-9"];
        assert_eq!(nearest("pd-258", names.into_iter(), 2), ["PD-285", "PD-259"]);
        assert_eq!(nearest("dosc", names.into_iter(), 3), ["docs"]);
        assert_eq!(nearest("release", names.into_iter(), 3), Vec::<&str>::new());
        assert_eq!(nearest("x", ["y"].into_iter(), 3), Vec::<&str>::new());
        assert_eq!(nearest("PD-258", names.into_iter(), 0), Vec::<&str>::new());
    }

    #[test]
    fn what_is_no_name_costs_nothing() {
        let long = "y".repeat(2_000_000);
        let names = [long.as_str(), "release"];
        assert_eq!(nearest(&long, names.into_iter(), 3), Vec::<&str>::new());
        assert_eq!(nearest("relaese", names.into_iter(), 3), ["release"]);
    }

    proptest! {
        #[test]
        fn the_name_itself_is_the_nearest(names in proptest::collection::vec("[a-z]{1,8}", 1..8), at in 0_usize..8) {
            let word = &names[at % names.len()];
            let found = nearest(word, names.iter().map(String::as_str), 3);
            prop_assert_eq!(found.first().copied(), Some(word.as_str()));
        }
    }
}
