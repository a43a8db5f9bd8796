//! A message put together from its parts, before any service's dialect.

use vigie_core::{
    bridge::Fact,
    text::{Rich, Style},
};

/// Puts a message together from its parts, each on lines of its own.
#[derive(Clone, Debug, Default)]
pub struct Composer {
    rich: Rich,
    /// Line ends owed before the next part.
    gap: usize,
}

impl Composer {
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of our own words; empty words add none.
    #[must_use]
    pub fn line(self, words: &str, style: Option<Style>) -> Self {
        let mut line = Rich::default();
        line.push(words, style);
        self.rich(&line)
    }

    /// A text with its styles, beginning on a new line.
    #[must_use]
    pub fn rich(mut self, text: &Rich) -> Self {
        if !text.is_empty() {
            let gap = if self.rich.is_empty() { 0 } else { self.gap.max(1) };
            self.rich.text.extend(std::iter::repeat_n('\n', gap));
            self.rich.append(text);
            self.gap = 0;
        }
        self
    }

    /// What a card is about, `Folder ~/work/quay`, the label as it is and the value as code, which is
    /// what it is: a path, a branch, a number.
    #[must_use]
    pub fn fact(self, fact: &Fact) -> Self {
        let mut line = Rich::plain(fact.label.clone());
        line.push(" ", None);
        line.push(&fact.value, Some(Style::Code));
        self.rich(&line)
    }

    /// An empty line between what stands before and what comes next.
    #[must_use]
    pub fn blank(mut self) -> Self {
        self.gap = 2;
        self
    }

    /// What was put together.
    pub fn finish(self) -> Rich {
        self.rich
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_put_together_in_lines() {
        let fact = |label: &str, value: &str| Fact { label: label.into(), value: value.into() };
        let mut body = Rich::plain("Runs ");
        body.push("cargo test", Some(Style::Code));
        let rich = Composer::new()
            .blank()
            .line("PD-285", Some(Style::Bold))
            .line("", None)
            .rich(&body)
            .blank()
            .fact(&fact("Folder", "~/work/quay"))
            .line("Until 09:28", None)
            .blank()
            .finish();
        assert_eq!(rich.text, "PD-285\nRuns cargo test\n\nFolder ~/work/quay\nUntil 09:28");
        let styled: Vec<_> =
            rich.spans.iter().map(|span| (&rich.text[span.range.clone()], &span.style)).collect();
        assert_eq!(
            styled,
            [("PD-285", &Style::Bold), ("cargo test", &Style::Code), ("~/work/quay", &Style::Code)]
        );
        assert_eq!(rich.check(), Ok(()));
    }
}
