use similar::TextDiff;
use std::fmt::Write as _;

/// Lines of both sides together beyond which no shortest diff is looked for: the search takes time
/// with the square of what differs.
const MOST_LINES: usize = 4_000;

/// How many unchanged lines stand around a change.
const CONTEXT: usize = 3;

/// A unified diff of a file's old and new text. Empty when nothing changes.
pub fn unified_diff(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let path = path.replace(['\n', '\r'], " ");
    let (before, after) = (format!("a/{path}"), format!("b/{path}"));
    if old.lines().count() + new.lines().count() > MOST_LINES {
        return format!("--- {before}\n+++ {after}\n{}", one_hunk(old, new));
    }
    TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&before, &after)
        .to_string()
}

/// Everything between the first and the last line that differ, as one change.
fn one_hunk(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail =
        old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (from, above) = (head.saturating_sub(CONTEXT), head.min(CONTEXT));
    let below = tail.min(CONTEXT);
    let (gone, come) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let around = above + below;
    let mut hunk =
        format!("@@ -{0},{1} +{0},{2} @@\n", from + 1, gone.len() + around, come.len() + around);
    let tail_from = old.len() - tail;
    for (sign, lines) in [
        (' ', &old[from..head]),
        ('-', gone),
        ('+', come),
        (' ', &old[tail_from..tail_from + below]),
    ] {
        for line in lines {
            let _ = writeln!(hunk, "{sign}{line}");
        }
    }
    hunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_lines_stand_around_a_change() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = old.replace('5', "five");
        insta::assert_snapshot!(unified_diff("src/quay.rs", old, &new), @r"
        --- a/src/quay.rs
        +++ b/src/quay.rs
        @@ -2,7 +2,7 @@
         2
         3
         4
        -5
        +five
         6
         7
         8
        ");
        assert_eq!(unified_diff("x", old, old), "");
    }

    #[test]
    fn a_large_change_is_one_hunk() {
        let lines =
            |word: &str| (0..3_000).fold(String::new(), |all, n| format!("{all}{word} {n}\n"));
        let (old, new) = (format!("same\n{}", lines("a")), format!("same\n{}", lines("b")));
        let diff = unified_diff("x\ny", &old, &new);
        assert!(
            diff.starts_with("--- a/x y\n+++ b/x y\n@@ -1,3002 +1,3002 @@\n same\n-a 0\n"),
            "{diff}"
        );
        assert!(diff.ends_with("+b 2999\n \n"));
    }
}
