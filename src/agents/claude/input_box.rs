//! Claude Code's input box, read off its screen: the only thing the screen is asked, and only
//! whether it is empty and whether a prompt of ours still stands in it.

/// So many characters of a prompt, blanks aside, tell it from another text.
const SAMPLE: usize = 16;

/// What the box shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputBox {
    /// A dialog or an overlay is in its place, or this version draws it another way.
    Hidden,
    Empty,
    /// Its lines, joined; a placeholder in grey looks just like a text.
    Holds(String),
}

/// Finds it between the last two rules across the screen; its first line begins with the mark.
///
/// Source: 2.1.332 draws `────`, `❯ text`, further lines indented by two, `────`, and writes the
/// session's name into the upper rule.
pub(super) fn read(lines: &[String]) -> InputBox {
    let rules: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| is_rule(line)).map(|(at, _)| at).collect();
    let Some((&top, &bottom)) =
        rules.split_last().and_then(|(last, rest)| Some((rest.last()?, last)))
    else {
        return InputBox::Hidden;
    };
    let inside = &lines[top + 1..bottom];
    let Some(first) = inside.first().and_then(|line| line.strip_prefix(['❯', '>', '!'])) else {
        return InputBox::Hidden;
    };
    let rest = inside[1..].iter().map(|line| line.trim());
    let text = std::iter::once(first.trim()).chain(rest).collect::<Vec<_>>().join("\n");
    let text = text.trim();
    if text.is_empty() { InputBox::Empty } else { InputBox::Holds(text.into()) }
}

fn is_rule(line: &str) -> bool {
    line.chars().take(10).filter(|c| *c == '─').count() == 10
}

impl InputBox {
    /// Whether something else stands before `prompt`.
    pub(super) fn holds_more_than(&self, prompt: &str) -> bool {
        let Self::Holds(text) = self else { return false };
        let (shown, wanted) = (bare(text), bare(prompt));
        let begins = |begin: &[char]| shown.windows(begin.len()).position(|part| part == begin);
        let ours = begins(&wanted[..SAMPLE.min(wanted.len())]);
        let folded = begins(&bare("[Pasted text"));
        [ours, folded].into_iter().flatten().min().is_some_and(|at| at > 0)
    }

    /// Whether `prompt` stands in it, whole and alone.
    pub(super) fn holds_just(&self, prompt: &str) -> bool {
        matches!(self, Self::Holds(text) if bare(text) == bare(prompt))
    }

    /// Whether `prompt` may stand in it: its beginning, its end, or the mark of a folded paste.
    pub(super) fn may_hold(&self, prompt: &str) -> bool {
        let Self::Holds(text) = self else { return false };
        let (shown, wanted) = (bare(text), bare(prompt));
        let sample = SAMPLE.min(wanted.len());
        (text.contains("[Pasted text") && may_fold(prompt))
            || shown.starts_with(&wanted[..sample])
            || shown.ends_with(&wanted[wanted.len() - sample..])
    }
}

/// Whether a paste of it may be shown folded. Source: 2.1.332 and 2.1.197 fold 4 lines or 800
/// characters; half of it is enough to be asked.
fn may_fold(prompt: &str) -> bool {
    prompt.lines().count() > 2 || prompt.chars().count() > 400
}

fn bare(text: &str) -> Vec<char> {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(inside: &str) -> Vec<String> {
        let rule = "─".repeat(40);
        format!(" ▐▛███▛█ Claude Code\n\n❯ an older prompt\n\n{rule} PD-285 ─\n{inside}\n{rule}\n  manual mode on")
            .lines()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_box_is_read_whatever_stands_above_it() {
        assert_eq!(read(&screen("❯")), InputBox::Empty);
        assert_eq!(read(&screen("❯ a\n  b")), InputBox::Holds("a\nb".into()));
    }

    #[test]
    fn a_dialog_hides_the_box() {
        let dialog = " Bash command\n Do you want to proceed?\n ❯ 1. Yes\n   2. No";
        assert_eq!(read(&screen(dialog)), InputBox::Hidden);
        assert_eq!(read(&["Accessing workspace:".into()]), InputBox::Hidden);
        assert_eq!(read(&[]), InputBox::Hidden);
    }

    #[test]
    fn a_wrapped_or_folded_prompt_is_recognised() {
        let long = "[phone] a very long line that wraps";
        assert!(read(&screen("❯ [phone] a very long\n  line that wraps")).may_hold(long));
        assert!(read(&screen("❯ [Pasted text #1 +4 lines]")).may_hold("a\nb\nc\nd\ne"));
        assert!(!read(&screen("❯ something else")).may_hold(long));
        assert!(!read(&screen("❯")).may_hold(long));
    }

    #[test]
    fn a_prompt_stands_alone_only_when_nothing_else_does() {
        let prompt = "[phone] a very long line that wraps";
        let wrapped = read(&screen("❯ [phone] a very long\n  line that wraps"));
        assert!(wrapped.holds_just(prompt));
        for other in ["❯ [phone] a very long", "❯ x[phone] a very long line that wraps", "❯"]
        {
            assert!(!read(&screen(other)).holds_just(prompt), "{other}");
        }
    }

    #[test]
    fn a_draft_in_front_of_a_prompt_is_seen() {
        let prompt = "[phone] a\nb";
        assert!(read(&screen("❯ half a sen[Pasted text #1 +3 lines]")).holds_more_than(prompt));
        assert!(read(&screen("❯ half[phone] a\n  b")).holds_more_than(prompt));
        for ours in ["❯ [phone] a\n  b", "❯ [Pasted text #1 +3 lines]", "❯", "❯ a placeholder"]
        {
            assert!(!read(&screen(ours)).holds_more_than(prompt), "{ours}");
        }
    }
}
