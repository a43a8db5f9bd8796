use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::{borrow::Cow, collections::HashSet, ops::Range};

use super::{Rich, Span, Style, invisible::is_blank, table::Table};

/// Levels of lists and quotes that indent; deeper ones are shown at this depth, with all they say.
const DEEPEST: usize = 8;

/// How often link definitions that nothing uses are looked for: each look can uncover doubles.
const LOOKS: usize = 4;

const RULE: &str = "———";

/// An agent's Markdown as plain text with styles: `CommonMark` with tables, strikethrough and check
/// boxes. Nothing an agent wrote is lost but the marks themselves: raw HTML, links to anything but
/// the web and mail, and definitions nothing refers to stand there as text. Marks that models write
/// inside names, globs and products (`__init__.py`, `2*3*4`) stay as they are.
///
/// Empty when there is nothing to see.
pub fn markdown(source: &str) -> Rich {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    if is_blank(&source) {
        return Rich::default();
    }
    let source = keep_definitions(&source);
    let mut page = Page { source: &source, ..Page::default() };
    for (event, range) in Parser::new_ext(&source, options()).into_offset_iter() {
        page.take(event, range);
    }
    let rich = page.out.finish();
    if is_blank(&rich.text) { Rich::default() } else { rich }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A definition that no link uses would vanish (`[note]: done`), so it is escaped into plain text.
fn keep_definitions(source: &str) -> Cow<'_, str> {
    let mut kept = Cow::Borrowed(source);
    for _ in 0..LOOKS {
        if !kept.contains("]:") {
            break;
        }
        let parser = Parser::new_ext(&kept, options());
        let defined: Vec<(String, usize)> = parser
            .reference_definitions()
            .iter()
            .map(|(label, definition)| (fold(label), definition.span.start))
            .collect();
        let used: HashSet<String> = parser.filter_map(|event| reference(&event)).collect();
        let mut lost: Vec<usize> = defined
            .into_iter()
            .filter(|(label, _)| !used.contains(label))
            .map(|(_, at)| at)
            .collect();
        if lost.is_empty() {
            break;
        }
        lost.sort_unstable();
        let mut escaped = String::with_capacity(kept.len() + lost.len());
        let mut from = 0;
        for at in lost {
            escaped.push_str(&kept[from..at]);
            escaped.push('\\');
            from = at;
        }
        escaped.push_str(&kept[from..]);
        kept = Cow::Owned(escaped);
    }
    kept
}

fn reference(event: &Event<'_>) -> Option<String> {
    if let Event::Start(Tag::Link { link_type, id, .. } | Tag::Image { link_type, id, .. }) = event
    {
        matches!(link_type, LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut)
            .then(|| fold(id))
    } else {
        None
    }
}

fn fold(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The page as far as it is read.
#[derive(Default)]
struct Page<'a> {
    source: &'a str,
    out: Writer,
    /// The writer of the page while `out` writes a cell.
    beside: Option<Writer>,
    table: Table,
    lists: Vec<Option<u64>>,
    marks: Vec<Mark>,
    /// The text of the code block that is open.
    code: Option<String>,
    quotes: usize,
}

/// What to do where an inline mark ends.
enum Mark {
    Style,
    /// It was no mark: these characters stand there.
    Literal(String),
    /// `from`: where its text begins; `opens`: a span was opened for it.
    Link {
        url: String,
        from: usize,
        opens: bool,
    },
    Nothing,
}

impl Page<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.out.write(&text),
            },
            Event::Code(text) => self.out.styled(&text, Style::Code),
            Event::Html(text) => self.out.lines(&text),
            Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.out.write(&text),
            Event::SoftBreak | Event::HardBreak => self.out.gap(1),
            Event::Rule => {
                self.out.gap(2);
                self.out.write(RULE);
            }
            Event::TaskListMarker(done) => self.out.check_box(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::MetadataBlock(_) => self.out.gap(2),
            Tag::Heading { .. } => {
                self.out.gap(2);
                self.out.open(Style::Heading);
            }
            Tag::BlockQuote(_) => {
                self.out.gap(2);
                self.quotes += 1;
                if self.quotes == 1 {
                    self.out.open(Style::Quote);
                } else {
                    self.out.indent("> ");
                }
            }
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Indented => None,
                    CodeBlockKind::Fenced(info) => language(&info),
                };
                self.out.gap(if self.lists.is_empty() { 2 } else { 1 });
                self.out.open(Style::Pre { language });
                self.code = Some(String::new());
            }
            Tag::List(number) => {
                self.out.gap(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(number);
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => {
                self.out.gap(2);
                self.table = Table { alignments, rows: Vec::new() };
            }
            Tag::TableHead | Tag::TableRow => self.table.rows.push(Vec::new()),
            Tag::TableCell => self.beside = Some(std::mem::take(&mut self.out)),
            Tag::Emphasis => self.inline(Style::Italic, range),
            Tag::Strong => self.inline(Style::Bold, range),
            Tag::Strikethrough => self.inline(Style::Strike, range),
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => {
                self.link(format!("mailto:{dest_url}"))
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link(dest_url.into_string())
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript => self.marks.push(Mark::Nothing), // not switched on in `options`
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => {}
            TagEnd::Heading(_) => self.out.close(),
            TagEnd::BlockQuote(_) => {
                if self.quotes == 1 {
                    self.out.close();
                } else {
                    self.out.outdent();
                }
                self.quotes -= 1;
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.out.block(code.strip_suffix('\n').unwrap_or(&code));
                self.out.close();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => self.out.outdent(),
            TagEnd::Table => {
                let table = std::mem::take(&mut self.table).into_rich();
                self.out.append(&table);
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            TagEnd::TableCell => {
                let page = self.beside.take().unwrap_or_default();
                let cell = std::mem::replace(&mut self.out, page).finish();
                if let Some(row) = self.table.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript => self.end_inline(),
        }
    }

    fn item(&mut self) {
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            Some(None) | None => "• ".into(),
        };
        self.out.marker(&marker);
    }

    fn inline(&mut self, style: Style, range: Range<usize>) {
        let mark = if self.out.is_open(&style) {
            Mark::Nothing // once is enough, and nesting stays bounded
        } else if let Some(literal) = not_a_mark(self.source, &range, &style) {
            self.out.write(&literal);
            Mark::Literal(literal)
        } else {
            self.out.open(style);
            Mark::Style
        };
        self.marks.push(mark);
    }

    fn link(&mut self, url: String) {
        let opens = is_web(&url) && !self.out.is_link_open();
        if opens {
            self.out.open(Style::Link { url: url.clone() });
        }
        self.marks.push(Mark::Link { url, from: self.out.text.len(), opens });
    }

    fn end_inline(&mut self) {
        match self.marks.pop() {
            Some(Mark::Style) => self.out.close(),
            Some(Mark::Literal(literal)) => self.out.write(&literal),
            Some(Mark::Link { url, from, opens }) => self.end_link(&url, from, opens),
            Some(Mark::Nothing) | None => {}
        }
    }

    /// A link that shows another address than it leads to, or that no chat follows, says where it leads.
    fn end_link(&mut self, url: &str, from: usize, opens: bool) {
        let shown = self.out.text[from..].trim().to_owned();
        if shown.is_empty() {
            self.out.write(url);
        }
        if opens {
            self.out.close();
        }
        let told = shown.is_empty() || shown == url || url.is_empty();
        if !told && (!opens || is_address(&shown)) {
            self.out.write(&format!(" ({url})"));
        }
    }
}

fn is_web(url: &str) -> bool {
    let url = url.to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|scheme| url.starts_with(scheme))
}

/// It reads like a place on the web.
fn is_address(text: &str) -> bool {
    text.contains("://") || text.starts_with("www.")
}

/// The first word behind a fence: `rust` of `rust,ignore`.
fn language(info: &str) -> Option<String> {
    let word = info.split([' ', '\t', ',', '{', ':']).next().unwrap_or_default();
    let fits = !word.is_empty()
        && word.len() <= 20
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '.' | '-' | '_'));
    fits.then(|| word.to_owned())
}

/// Names of Python's that models write bare.
const DUNDERS: &[&str] = &[
    "all", "call", "class", "dict", "doc", "enter", "eq", "exit", "file", "hash", "init", "iter",
    "len", "main", "name", "new", "next", "pycache", "repr", "str", "version",
];

/// The characters of a mark that is none in what models write: `2*3*4`, `a**b**c`, `src/**/*.rs`,
/// `__init__.py`, a single `~`.
fn not_a_mark(source: &str, range: &Range<usize>, style: &Style) -> Option<String> {
    let whole = &source[range.clone()];
    let length = if *style == Style::Italic { 1 } else { 2 };
    if *style == Style::Strike {
        return (!whole.starts_with("~~")).then(|| "~".to_owned());
    }
    let (mark, rest) = whole.split_at_checked(length)?;
    let inner = rest.strip_suffix(mark)?;
    let before = source[..range.start].chars().next_back();
    let mut behind = source[range.end..].chars();
    let (after, then) = (behind.next(), behind.next());
    let is_name = inner.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let literal = if mark.starts_with('*') {
        let inside_a_word = [before, after, inner.chars().next(), inner.chars().next_back()]
            .iter()
            .all(|c| c.is_some_and(|c| c.is_ascii_alphanumeric()));
        let glob = inner.starts_with('/') || (length == 1 && inner.starts_with('.'));
        glob || (inside_a_word && !inner.contains(char::is_whitespace))
    } else {
        let member = after == Some('.') && then.is_some_and(|c| c.is_ascii_alphanumeric());
        let used = member
            || matches!(after, Some('(' | '[' | '/'))
            || matches!(before, Some('.' | '/' | '"' | '\''));
        is_name && (used || (length == 2 && DUNDERS.contains(&inner)))
    };
    literal.then(|| mark.to_owned())
}

/// A span that may have seen no text yet.
struct Draft {
    start: Option<usize>,
    end: usize,
    style: Style,
}

/// Writes lines with their indents, and blank lines only between what is written.
#[derive(Default)]
struct Writer {
    text: String,
    drafts: Vec<Draft>,
    open: Vec<usize>,
    indents: Vec<String>,
    /// Line feeds owed before the next character.
    gap: usize,
    /// A list marker was written and nothing behind it.
    at_marker: bool,
}

impl Writer {
    fn gap(&mut self, lines: usize) {
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

    fn write(&mut self, text: &str) {
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
    fn lines(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.gap += 1;
            }
            self.write(line);
        }
    }

    fn styled(&mut self, text: &str, style: Style) {
        self.open(style);
        self.write(text);
        self.close();
    }

    /// Lines of code: no indent but their own.
    fn block(&mut self, code: &str) {
        self.append(&Rich::plain(code));
    }

    fn append(&mut self, rich: &Rich) {
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

    fn marker(&mut self, marker: &str) {
        self.gap(1);
        self.write(marker);
        self.at_marker = true;
        self.indent(&" ".repeat(marker.chars().count()));
    }

    fn check_box(&mut self, check_box: &str) {
        if self.at_marker && self.text.ends_with("• ") {
            self.text.truncate(self.text.len() - "• ".len());
        }
        self.write(check_box);
        self.at_marker = true;
    }

    fn indent(&mut self, by: &str) {
        let by = if self.indents.len() < DEEPEST { by } else { "" };
        self.indents.push(by.to_owned());
    }

    fn outdent(&mut self) {
        self.indents.pop();
        self.at_marker = false;
    }

    fn open(&mut self, style: Style) {
        self.open.push(self.drafts.len());
        self.drafts.push(Draft { start: None, end: 0, style });
    }

    fn close(&mut self) {
        if let Some(at) = self.open.pop() {
            self.drafts[at].end = self.text.len();
        }
    }

    fn is_open(&self, style: &Style) -> bool {
        self.open.iter().any(|at| self.drafts[*at].style == *style)
    }

    fn is_link_open(&self) -> bool {
        self.open.iter().any(|at| matches!(self.drafts[*at].style, Style::Link { .. }))
    }

    fn finish(mut self) -> Rich {
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
