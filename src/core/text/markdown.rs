use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::{borrow::Cow, collections::HashSet, ops::Range};

use super::{
    Rich, Style,
    invisible::is_blank,
    marks::{is_lone_tick, not_a_mark},
    table::{Table, pipes_to_escape},
    writer::Writer,
};

/// How often the source is looked at for what would be lost: each look can uncover more.
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
    let source = keep_all(&source);
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

/// The source with backslashes where a reader would lose text: before a definition that no link
/// uses (`[note]: done`), and before a `|` that would split code or a row's last cell.
fn keep_all(source: &str) -> Cow<'_, str> {
    let mut kept = Cow::Borrowed(source);
    for _ in 0..LOOKS {
        if !kept.contains("]:") && !kept.contains('|') {
            break;
        }
        let lost = would_be_lost(&kept);
        if lost.is_empty() {
            break;
        }
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

/// Where the backslashes go, in order.
fn would_be_lost(source: &str) -> Vec<usize> {
    let parser = Parser::new_ext(source, options());
    let defined: Vec<(String, usize)> = parser
        .reference_definitions()
        .iter()
        .map(|(label, definition)| (fold(label), definition.span.start))
        .collect();
    let mut used: HashSet<String> = HashSet::new();
    let mut lost = Vec::new();
    let mut code: Vec<Range<usize>> = Vec::new();
    for (event, range) in parser.into_offset_iter() {
        used.extend(reference(&event));
        if matches!(event, Event::Start(Tag::CodeBlock(_)) | Event::Code(_)) {
            code.push(range);
        } else if let Event::Start(Tag::Table(alignments)) = event {
            let mut at = range.start;
            for row in source[range].split_inclusive('\n') {
                lost.extend(
                    pipes_to_escape(row, alignments.len()).into_iter().map(|pipe| at + pipe),
                );
                at += row.len();
            }
        }
    }
    let firsts: HashSet<usize> = defined.iter().map(|(_, at)| *at).collect();
    let labels: HashSet<&String> = defined.iter().map(|(label, _)| label).collect();
    let is_code = |at: usize| {
        let next = code.partition_point(|range| range.start <= at);
        next > 0 && code[next - 1].contains(&at)
    };
    let doubles = line_labels(source)
        .filter(|(label, at)| labels.contains(label) && !firsts.contains(at) && !is_code(*at));
    lost.extend(doubles.map(|(_, at)| at));
    lost.extend(defined.iter().filter(|(label, _)| !used.contains(label)).map(|(_, at)| *at));
    lost.sort_unstable();
    lost
}

/// The lines that read like a definition: their label, and where its bracket stands.
fn line_labels(source: &str) -> impl Iterator<Item = (String, usize)> {
    let mut start = 0;
    source.split_inclusive('\n').filter_map(move |line| {
        let at = start;
        start += line.len();
        let open = line
            .find('[')
            .filter(|open| !line[..*open].contains(|c: char| c.is_alphabetic() || c == '\\'))?;
        let (label, _) = line[open + 1..].split_once("]:")?;
        Some((fold(label), at + open))
    })
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
            Event::Code(_)
                if is_lone_tick(&self.source[range.clone()], &self.source[range.end..]) =>
            {
                let source = self.source;
                self.out.lines(&source[range]);
            }
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
                self.out.gap(if self.lists.is_empty() { 2 } else { 1 });
                let language = match kind {
                    CodeBlockKind::Indented => None,
                    CodeBlockKind::Fenced(info) => {
                        let language = language(&info);
                        if language.as_deref() != Some(info.trim()) {
                            self.out.write(info.trim()); // more than a language, so it is said
                            self.out.gap(1);
                        }
                        language
                    }
                };
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
                self.link(format!("mailto:{dest_url}"));
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link(dest_url.into_string());
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
            TagEnd::Paragraph
            | TagEnd::HtmlBlock
            | TagEnd::MetadataBlock(_)
            | TagEnd::TableHead
            | TagEnd::TableRow => {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    /// Everything a reader would see, without blanks and the characters that marks are made of.
    fn said(text: &str) -> String {
        text.chars().filter(|c| c.is_alphanumeric()).collect()
    }

    #[test]
    fn what_explodes_elsewhere_is_shown() {
        let mut all = String::new();
        let deep_list = (0..300).fold(String::new(), |mut list, depth| {
            let _ = writeln!(list, "{}- l{depth}", "  ".repeat(depth));
            list
        });
        for bomb in [
            "| a | b |\n|--|--|\n".to_owned() + &"| `a|b` | c | d | e\n".repeat(500),
            "[".repeat(3_000),
            "(".repeat(2_000),
            format!("[a]({}", "b".repeat(2_000)),
            "*_".repeat(1_200),
            format!("{}deep", "> ".repeat(400)),
            format!("{}deep", "- ".repeat(300)),
            deep_list,
            format!("tick {} tock", "`".repeat(999)),
            "_a ".repeat(8_000),
            "[a](".repeat(8_000),
            "![a][".repeat(4_000),
            "<a ".repeat(4_000),
            "*a **b ".repeat(3_000),
            "| a ".repeat(500) + "\n" + &"|--".repeat(500) + "\n| b",
            "[a]: b\n\n".repeat(2_000),
            "&#".repeat(4_000),
        ] {
            let rich = markdown(&format!("{bomb}\n\nThe end."));
            assert!(rich.text.ends_with("The end."), "{}", &bomb[..9]);
            assert_eq!(rich.check(), Ok(()));
            assert_eq!(said(&rich.text).len(), said(&bomb).len() + 6, "{}", &bomb[..9]);
            all.push_str(&bomb);
            all.push_str("\n\n");
        }
        assert!(markdown(&all).check().is_ok());
    }

    #[test]
    fn nothing_to_see_is_nothing() {
        for empty in ["", " \n\t\r\n", "\u{200B}\n\u{2060}", "```\n```", "**\u{200B}**"] {
            assert!(
                markdown(empty).is_empty() || !markdown(empty).text.trim().is_empty(),
                "{empty:?}"
            );
        }
        assert!(markdown("\u{FEFF}\n").is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn plain_words_survive_all_marks(source in "(\\*|\\*\\*|_|__|~~|`|```\n|\n|> |- |1\\. |# |\\[|\\]|\\(|\\)|\\||--|<|>|!|: |w|漢| |\n\n|\\$|https://a\\.b){0,60}") {
            let rich = markdown(&source);
            prop_assert_eq!(rich.check(), Ok(()));
            let (before, after) = (source.matches('漢').count(), rich.text.matches('漢').count());
            prop_assert!(after >= before, "{} of {} in {:?}", after, before, rich.text);
        }

        #[test]
        fn every_beginning_can_be_shown(source in "(\\PC|\n|`|\\*|_|\\|){0,80}") {
            for (at, _) in source.char_indices() {
                prop_assert_eq!(markdown(&source[..at]).check(), Ok(()));
            }
        }
    }
}
