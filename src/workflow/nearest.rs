//! The likeliest of the names that exist, for one that does not.

/// The name that `word` was likely meant to be; `None` when nothing is plausible: a guess from afar is
/// worse than none.
pub(crate) fn nearest<'a>(word: &str, of: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = word.to_lowercase();
    let length = wanted.chars().count();
    if length > crate::value::LONGEST_NAME {
        return None;
    }
    of.into_iter()
        .filter_map(|name| {
            let folded = name.to_lowercase();
            let other = folded.chars().count();
            let shorter = length.min(other);
            let forgiven = match shorter {
                0..=1 => 0,
                2..=5 => 1,
                _ => 2,
            };
            // `timeout_sec` for `timeout`: a longer word for the same.
            let longer =
                shorter > 3 && (wanted.starts_with(&folded) || folded.starts_with(&wanted));
            // Each letter more is a slip.
            if !longer && length.abs_diff(other) > forgiven {
                return None;
            }
            let slips = strsim::damerau_levenshtein(&wanted, &folded);
            (slips <= forgiven || longer).then_some((slips, name))
        })
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_has_a_nearest_word_and_another_word_has_none() {
        let names = ["shell", "needs", "timeout", "if"];
        assert_eq!(nearest("need", names), Some("needs"));
        assert_eq!(nearest("shlel", names), Some("shell"));
        assert_eq!(nearest("Timeout", names), Some("timeout"));
        assert_eq!(nearest("timeout_sec", names), Some("timeout"));
        assert_eq!(nearest("banana", names), None);
        assert_eq!(nearest("", names), None);
    }
}
