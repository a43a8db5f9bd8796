use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Plain text and what parts of it look like. Whatever a service cannot show is still readable,
/// because the text alone says everything.
///
/// Spans lie on `char` boundaries, are not empty, are sorted by start and, where they overlap,
/// nest: no two cross.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rich {
    pub text: String,
    pub spans: Vec<Span>,
}

/// A styled part, by byte offsets into the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub range: Range<usize>,
    pub style: Style,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    Bold,
    Italic,
    Strike,
    /// Inline code.
    Code,
    /// A code block, with the language its fence names.
    Pre {
        language: Option<String>,
    },
    Quote,
    Heading,
    Link {
        url: String,
    },
    /// A character that would not be seen, made visible.
    Hidden,
    /// A letter that looks like another.
    LookAlike,
}

impl Rich {
    /// Text without any style.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), spans: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Appends `text` in `style`; empty text adds no span.
    pub fn push(&mut self, text: &str, style: Option<Style>) {
        let start = self.text.len();
        self.text.push_str(text);
        if let (Some(style), false) = (style, text.is_empty()) {
            self.spans.push(Span { range: start..self.text.len(), style });
        }
    }

    /// Appends `other` with its spans.
    pub fn append(&mut self, other: &Self) {
        let by = self.text.len();
        self.text.push_str(&other.text);
        self.spans.extend(other.spans.iter().map(|span| Span {
            range: span.range.start + by..span.range.end + by,
            style: span.style.clone(),
        }));
    }

    /// The part of the text at `range` (on `char` boundaries); spans are cut to it.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let spans = self
            .spans
            .iter()
            .take_while(|span| span.range.start < range.end)
            .filter(|span| span.range.end > range.start)
            .map(|span| Span {
                range: span.range.start.max(range.start) - range.start
                    ..span.range.end.min(range.end) - range.start,
                style: span.style.clone(),
            })
            .collect();
        Self { text: self.text[range].into(), spans }
    }

    /// The whole text in `style`, outside every span it has.
    #[must_use]
    pub fn wrapped(mut self, style: Style) -> Self {
        if !self.text.is_empty() {
            self.spans.insert(0, Span { range: 0..self.text.len(), style });
        }
        self
    }

    /// Says which promise about the spans does not hold, for tests and at borders.
    ///
    /// # Errors
    /// The broken promise and the span that breaks it.
    pub fn check(&self) -> Result<(), String> {
        let mut open: Vec<usize> = Vec::new();
        let mut last = 0;
        for span in &self.spans {
            let Range { start, end } = span.range;
            if start >= end {
                return Err(format!("empty: {span:?}"));
            }
            if !self.text.is_char_boundary(start) || !self.text.is_char_boundary(end) {
                return Err(format!("not on a boundary: {span:?}"));
            }
            if start < last {
                return Err(format!("not sorted: {span:?}"));
            }
            last = start;
            while open.last().is_some_and(|outer| *outer <= start) {
                open.pop();
            }
            if open.last().is_some_and(|outer| *outer < end) {
                return Err(format!("crosses: {span:?}"));
            }
            open.push(end);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(spans: &[(Range<usize>, Style)]) -> Rich {
        let spans = spans
            .iter()
            .map(|(range, style)| Span { range: range.clone(), style: style.clone() })
            .collect();
        Rich { text: "é and more".into(), spans }
    }

    #[test]
    fn broken_promises_are_named() {
        assert_eq!(with(&[(0..6, Style::Bold), (3..6, Style::Italic)]).check(), Ok(()));
        for bad in [
            with(&[(2..2, Style::Bold)]),
            with(&[(1..4, Style::Bold)]),
            with(&[(4..5, Style::Bold), (2..3, Style::Bold)]),
            with(&[(0..4, Style::Bold), (3..6, Style::Italic)]),
            with(&[(0..40, Style::Bold)]),
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_slice_keeps_what_lies_in_it() {
        let rich = with(&[(0..6, Style::Bold), (3..6, Style::Italic)]);
        let part = rich.slice(4..8);
        assert_eq!(part.text, "nd m");
        assert_eq!(part.spans.len(), 2);
        assert_eq!(part.spans[1], Span { range: 0..2, style: Style::Italic });
    }
}
