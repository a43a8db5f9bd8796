//! Steps as plain text: the same words, with the marks that keep code, quotes and addresses apart.

use super::nest::{Step, Tag};

/// A fence has more back-ticks than anything in it, and at least three.
const FENCE: usize = 3;

pub(super) fn body(steps: &[Step]) -> String {
    let mut writer = Writer::default();
    for step in steps {
        match step {
            Step::Open(tag) => writer.open(tag),
            Step::Close(tag) => writer.close(tag),
            Step::Text(text) => writer.text(text),
        }
    }
    writer.out
}

#[derive(Debug, Default)]
struct Writer {
    out: String,
    /// Line ends that are owed: those at the end are never written.
    owed: usize,
    quotes: usize,
    /// A block has just ended, and a line end is owed for it.
    after_block: bool,
    /// The line has something in it.
    begun: bool,
}

impl Writer {
    fn open(&mut self, tag: &Tag) {
        match tag {
            Tag::Quote(_) => {
                self.new_line();
                self.settle();
                self.quotes += 1;
            }
            Tag::Pre { language, ticks, .. } => {
                self.new_line();
                self.put(&"`".repeat(FENCE.max(ticks + 1)));
                self.put(language.as_deref().unwrap_or_default());
                self.owed = 1;
            }
            Tag::Code { ticks, .. } => {
                self.put(&"`".repeat(ticks + 1));
                self.put(if *ticks > 0 { " " } else { "" });
            }
            Tag::Del => self.put("~~"),
            Tag::Link { .. } | Tag::Strong | Tag::Em => {}
        }
    }

    fn close(&mut self, tag: &Tag) {
        match tag {
            Tag::Quote(_) => {
                self.end_block();
                self.quotes -= 1;
            }
            Tag::Pre { ticks, .. } => {
                self.new_line();
                self.put(&"`".repeat(FENCE.max(ticks + 1)));
                self.end_block();
            }
            Tag::Code { ticks, .. } => {
                self.put(if *ticks > 0 { " " } else { "" });
                self.put(&"`".repeat(ticks + 1));
            }
            Tag::Del => self.put("~~"),
            Tag::Link { url, said: false, .. } => self.put(&format!(" ({url})")),
            Tag::Link { said: true, .. } | Tag::Strong | Tag::Em => {}
        }
    }

    fn text(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            self.put(line.trim_end_matches('\n'));
            if line.ends_with('\n') && !std::mem::take(&mut self.after_block) {
                self.owed += 1;
            }
        }
    }

    fn put(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        self.settle();
        self.after_block = false;
        if !std::mem::replace(&mut self.begun, true) {
            self.out.push_str(&"> ".repeat(self.quotes));
        }
        self.out.push_str(words);
    }

    fn settle(&mut self) {
        for _ in 0..std::mem::take(&mut self.owed) {
            // An empty line of a quote is one of the quote.
            if !self.begun {
                self.out.push_str("> ".repeat(self.quotes).trim_end());
            }
            self.out.push('\n');
            self.begun = false;
        }
    }

    /// What comes next stands on a line of its own.
    fn new_line(&mut self) {
        if self.begun {
            self.owed = self.owed.max(1);
        }
    }

    fn end_block(&mut self) {
        self.after_block = self.owed == 0;
        self.new_line();
    }
}
