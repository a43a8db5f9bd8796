//! Steps as HTML.

use super::nest::{Step, Tag};

/// A blank that no browser joins with others.
const HARD_BLANK: char = '\u{A0}';

/// Columns of a tab outside of code.
const TAB: usize = 4;

/// The steps in elements of Matrix's. A line end beside a block is the block's own.
pub(super) fn html(steps: &[Step]) -> String {
    let mut writer = Writer::new();
    for step in steps {
        match step {
            Step::Open(tag) => writer.open(tag),
            Step::Close(tag) => writer.close(tag),
            Step::Text(text) => writer.text(text),
        }
    }
    writer.out
}

#[derive(Debug)]
struct Writer<'a> {
    out: String,
    /// Elements that begin with the next character: one that has none is never written.
    waiting: Vec<&'a Tag>,
    /// Line ends that are owed: those at the end are never written.
    owed: usize,
    /// A block has just ended, and with it the line.
    after_block: bool,
    /// The next blank would be the first of a line, or follows another one.
    blank_is_lost: bool,
    /// Inside how many elements that keep their blanks.
    code: usize,
    pre: bool,
}

impl<'a> Writer<'a> {
    fn new() -> Self {
        Self {
            out: String::new(),
            waiting: Vec::new(),
            owed: 0,
            after_block: false,
            blank_is_lost: true,
            code: 0,
            pre: false,
        }
    }

    fn open(&mut self, tag: &'a Tag) {
        self.code += usize::from(tag.is_code());
        self.pre |= matches!(tag, Tag::Pre { .. });
        self.waiting.push(tag);
    }

    fn close(&mut self, tag: &Tag) {
        self.code -= usize::from(tag.is_code());
        self.pre &= !matches!(tag, Tag::Pre { .. });
        if self.waiting.pop().is_some() {
            return;
        }
        self.out.push_str(match tag {
            Tag::Quote(_) => "</blockquote>",
            Tag::Pre { .. } => "</code></pre>",
            Tag::Link { .. } => "</a>",
            Tag::Strong => "</strong>",
            Tag::Em => "</em>",
            Tag::Del => "</del>",
            Tag::Code { .. } => "</code>",
        });
        if tag.is_block() {
            self.after_block = self.owed == 0;
            self.owed = self.owed.saturating_sub(1);
            self.blank_is_lost = true;
        }
    }

    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' if !self.pre => {
                    self.blank_is_lost = true;
                    if !std::mem::take(&mut self.after_block) {
                        self.owed += 1;
                    }
                }
                ' ' | '\t' if self.code == 0 => self.blanks(if c == ' ' { 1 } else { TAB }),
                _ => {
                    self.settle();
                    self.blank_is_lost = false;
                    self.character(c);
                }
            }
        }
    }

    fn blanks(&mut self, count: usize) {
        self.settle();
        for _ in 0..count {
            self.out.push(if self.blank_is_lost { HARD_BLANK } else { ' ' });
            self.blank_is_lost = true;
        }
    }

    /// Writes what is owed before a character.
    fn settle(&mut self) {
        self.after_block = false;
        for tag in std::mem::take(&mut self.waiting) {
            if tag.is_block() {
                self.owed = self.owed.saturating_sub(1);
                self.blank_is_lost = true;
            }
            self.end_lines();
            self.begin(tag);
        }
        self.end_lines();
    }

    fn end_lines(&mut self) {
        for _ in 0..std::mem::take(&mut self.owed) {
            self.out.push_str("<br>");
        }
    }

    fn begin(&mut self, tag: &Tag) {
        match tag {
            Tag::Quote(_) => self.out.push_str("<blockquote>"),
            Tag::Pre { language: Some(language), .. } => {
                self.out.push_str("<pre><code class=\"language-");
                self.out.push_str(language);
                self.out.push_str("\">");
            }
            Tag::Pre { language: None, .. } => self.out.push_str("<pre><code>"),
            Tag::Link { url, .. } => {
                self.out.push_str("<a href=\"");
                url.chars().for_each(|c| self.character(c));
                self.out.push_str("\">");
            }
            Tag::Strong => self.out.push_str("<strong>"),
            Tag::Em => self.out.push_str("<em>"),
            Tag::Del => self.out.push_str("<del>"),
            Tag::Code { .. } => self.out.push_str("<code>"),
        }
    }

    fn character(&mut self, c: char) {
        match c {
            '&' => self.out.push_str("&amp;"),
            '<' => self.out.push_str("&lt;"),
            '>' => self.out.push_str("&gt;"),
            '"' => self.out.push_str("&quot;"),
            _ => self.out.push(c),
        }
    }
}
