//! Looks as elements that nest: opened, closed, and opened again where another one ends in between.

use std::ops::Range;
use vigie_core::text::{Rich, Span, Style};

use super::{
    clean::clean_text,
    links::{is_taken, reads_as_address, says},
};

/// Quotes in quotes that are shown as such. Deeper ones read no better, and clients stop somewhere.
const QUOTES: usize = 4;

/// What is around a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// By the position of its span, since two in a row are two.
    Quote(usize),
    Pre {
        span: usize,
        language: Option<String>,
        /// Most back-ticks in a row in it.
        ticks: usize,
    },
    Link {
        span: usize,
        url: String,
        /// Whether its label says the address.
        said: bool,
    },
    Strong,
    Em,
    Del,
    Code {
        span: usize,
        /// Most back-ticks in a row in it.
        ticks: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Open(Tag),
    Close(Tag),
    Text(String),
}

impl Tag {
    pub(super) fn is_block(&self) -> bool {
        match self {
            Self::Quote(_) | Self::Pre { .. } => true,
            Self::Link { .. } | Self::Strong | Self::Em | Self::Del | Self::Code { .. } => false,
        }
    }

    /// Whether what is in it is shown character by character.
    pub(super) fn is_code(&self) -> bool {
        match self {
            Self::Pre { .. } | Self::Code { .. } => true,
            Self::Quote(_) | Self::Link { .. } | Self::Strong | Self::Em | Self::Del => false,
        }
    }
}

/// The text of `rich` and what is around it, well nested whatever the spans do. Blocks are outside
/// of all that stands in a line, and code has nothing in it but its text.
pub(super) fn steps(rich: &Rich) -> Vec<Step> {
    let mut walk = Walk { rich, open: Vec::new(), steps: Vec::new() };
    let mut active: Vec<usize> = Vec::new();
    let mut ahead = 0;
    let mut borders: Vec<usize> =
        rich.spans.iter().flat_map(|span| [span.range.start, span.range.end]).collect();
    borders.extend([0, rich.text.len()]);
    borders.sort_unstable();
    borders.dedup();
    let mut starts: Vec<usize> = (0..rich.spans.len()).collect();
    starts.sort_by_key(|span| rich.spans[*span].range.start);
    for part in borders.windows(2) {
        let [from, to] = [part[0], part[1]];
        active.retain(|span| rich.spans[*span].range.end > from);
        while let Some(span) = starts.get(ahead).filter(|at| rich.spans[**at].range.start <= from) {
            active.push(*span);
            ahead += 1;
        }
        walk.part(from..to, &active);
    }
    walk.switch(&[]);
    walk.steps
}

struct Walk<'a> {
    rich: &'a Rich,
    open: Vec<Tag>,
    steps: Vec<Step>,
}

impl Walk<'_> {
    fn part(&mut self, range: Range<usize>, active: &[usize]) {
        let tags = tags(self.rich, active);
        self.switch(&tags);
        let end = range.end;
        self.text(&self.rich.text[range]);
        for span in active {
            let span = &self.rich.spans[*span];
            if span.range.end == end {
                self.address(span);
            }
        }
    }

    fn text(&mut self, text: &str) {
        match self.steps.last_mut() {
            Some(Step::Text(before)) => before.push_str(text),
            _ => self.steps.push(Step::Text(text.to_owned())),
        }
    }

    /// Where a label is no link and does not say where it would lead, the address follows it.
    fn address(&mut self, span: &Span) {
        let Style::Link { url } = &span.style else { return };
        let is_link = self.open.iter().any(|tag| matches!(tag, Tag::Link { .. }));
        if !is_link && !is_said(self.rich, span, url) {
            self.text(&format!(" ({})", clean_text(url)));
        }
    }

    /// Closes what is not in `tags` and opens what is.
    fn switch(&mut self, tags: &[Tag]) {
        let same = self.open.iter().zip(tags).take_while(|(open, tag)| open == tag).count();
        for tag in self.open.drain(same..).rev() {
            self.steps.push(Step::Close(tag));
        }
        for tag in &tags[same..] {
            self.steps.push(Step::Open(tag.clone()));
            self.open.push(tag.clone());
        }
    }
}

/// What is around a text that those spans cover, from the outside in.
fn tags(rich: &Rich, active: &[usize]) -> Vec<Tag> {
    let mut tags: Vec<Tag> = Vec::new();
    let style = |span: &usize| &rich.spans[*span].style;
    let quotes = active.iter().filter(|span| *style(span) == Style::Quote);
    tags.extend(quotes.take(QUOTES).map(|span| Tag::Quote(*span)));
    let words = |span: usize| &rich.text[rich.spans[span].range.clone()];
    let pre = active.iter().find_map(|span| match style(span) {
        Style::Pre { language } => Some(Tag::Pre {
            span: *span,
            language: plain_language(language.as_deref()),
            ticks: ticks(words(*span)),
        }),
        _ => None,
    });
    if let Some(pre) = pre {
        tags.push(pre);
        return tags;
    }
    tags.extend(active.iter().find_map(|span| link(rich, *span)));
    let is = |wanted: fn(&Style) -> bool| active.iter().any(|span| wanted(style(span)));
    if is(|style| matches!(style, Style::Bold | Style::Heading | Style::LookAlike)) {
        tags.push(Tag::Strong);
    }
    if is(|style| matches!(style, Style::Italic)) {
        tags.push(Tag::Em);
    }
    if is(|style| matches!(style, Style::Strike)) {
        tags.push(Tag::Del);
    }
    let code = active.iter().find(|span| matches!(style(span), Style::Code | Style::Hidden));
    tags.extend(code.map(|span| Tag::Code { span: *span, ticks: ticks(words(*span)) }));
    tags
}

fn link(rich: &Rich, at: usize) -> Option<Tag> {
    let span = &rich.spans[at];
    let Style::Link { url } = &span.style else { return None };
    let label = &rich.text[span.range.clone()];
    let misleads = reads_as_address(label) && !says(label, url);
    let said = is_said(rich, span, url);
    (is_taken(url) && !misleads).then(|| Tag::Link { span: at, url: url.clone(), said })
}

/// Whether a reader knows where the label leads: it is the address, or the address follows it.
fn is_said(rich: &Rich, span: &Span, url: &str) -> bool {
    let after = rich.text[span.range.end..].strip_prefix(" (");
    let follows = after.and_then(|after| after.strip_prefix(url));
    says(&rich.text[span.range.clone()], url) || follows.is_some_and(|rest| rest.starts_with(')'))
}

/// A language as a client can look it up.
fn plain_language(language: Option<&str>) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '.' | '-' | '_');
    language.filter(|word| !word.is_empty() && word.chars().all(fits)).map(str::to_owned)
}

/// Most back-ticks in a row.
fn ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
