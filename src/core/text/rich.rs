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
}
