use super::{Rich, Span, Style};

/// Levels of lists and quotes that indent; deeper ones are shown at this depth, with all they say.
const DEEPEST: usize = 8;

/// A span that may have seen no text yet.
struct Draft {
    start: Option<usize>,
    end: usize,
    style: Style,
}

/// Writes lines with their indents, and blank lines only between what is written.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) text: String,
    drafts: Vec<Draft>,
    open: Vec<usize>,
    indents: Vec<String>,
    /// Line feeds owed before the next character.
    gap: usize,
    /// A list marker was written and nothing behind it.
    at_marker: bool,
}

impl Writer {
    pub(super) fn gap(&mut self, lines: usize) {
        if !self.at_marker {
            self.gap = self.gap.max(lines);
        }
    }

    fn feed(&mut self) {
        if !self.text.is_empty() {
            self.text.extend(std::iter::repeat_n('\n', self.gap));
        }
    }

    fn begin(&mut self) {
        for at in self.open.iter().rev() {
            let draft = &mut self.drafts[*at];
            if draft.start.is_some() {
                break;
            }
            draft.start = Some(self.text.len());
        }
        self.gap = 0;
        self.at_marker = false;
    }

    pub(super) fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.gap > 0 || self.text.is_empty() {
            self.feed();
            self.text.extend(self.indents.iter().map(String::as_str));
        }
        self.begin();
        self.text.push_str(text);
    }

    /// Text with line ends of its own.
    pub(super) fn lines(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.gap += 1;
            }
            self.write(line);
        }
    }

    pub(super) fn styled(&mut self, text: &str, style: Style) {
        self.open(style);
        self.write(text);
        self.close();
    }

    /// Lines of code: no indent but their own.
    pub(super) fn block(&mut self, code: &str) {
        self.append(&Rich::plain(code));
    }

    pub(super) fn append(&mut self, rich: &Rich) {
        if rich.is_empty() {
            return;
        }
        if self.at_marker {
            self.text.truncate(self.text.trim_end_matches(' ').len());
            self.gap = self.gap.max(1);
        }
        self.feed();
        self.begin();
        let by = self.text.len();
        self.text.push_str(&rich.text);
        self.drafts.extend(rich.spans.iter().map(|span| Draft {
            start: Some(span.range.start + by),
            end: span.range.end + by,
            style: span.style.clone(),
        }));
    }

    pub(super) fn marker(&mut self, marker: &str) {
        self.gap(1);
        self.write(marker);
        self.at_marker = true;
        self.indent(&" ".repeat(marker.chars().count()));
    }

    pub(super) fn check_box(&mut self, check_box: &str) {
        if self.at_marker && self.text.ends_with("• ") {
            self.text.truncate(self.text.len() - "• ".len());
        }
        self.write(check_box);
        self.at_marker = true;
    }

    pub(super) fn indent(&mut self, by: &str) {
        let by = if self.indents.len() < DEEPEST { by } else { "" };
        self.indents.push(by.to_owned());
    }

    pub(super) fn outdent(&mut self) {
        self.indents.pop();
        self.at_marker = false;
    }

    pub(super) fn open(&mut self, style: Style) {
        self.open.push(self.drafts.len());
        self.drafts.push(Draft { start: None, end: 0, style });
    }

    pub(super) fn close(&mut self) {
        if let Some(at) = self.open.pop() {
            self.drafts[at].end = self.text.len();
        }
    }

    pub(super) fn is_open(&self, style: &Style) -> bool {
        self.open.iter().any(|at| self.drafts[*at].style == *style)
    }

    pub(super) fn is_link_open(&self) -> bool {
        self.open.iter().any(|at| matches!(self.drafts[*at].style, Style::Link { .. }))
    }

    pub(super) fn finish(mut self) -> Rich {
        while !self.open.is_empty() {
            self.close();
        }
        let spans = self.drafts.into_iter().filter_map(|Draft { start, end, style }| {
            let range = start?..end;
            (!range.is_empty()).then_some(Span { range, style })
        });
        Rich { spans: spans.collect(), text: self.text }
    }
}
