//! Rich text as markup. The spans nest; one that breaks that loses its style where it does, never
//! its text.

use maud::{Markup, html};
use std::{cmp::Reverse, iter::Peekable, ops::Range};
use vigie_core::text::{Rich, Span, Style};

/// Within a line: what is a block elsewhere keeps its text.
pub fn inline(rich: &Rich) -> Markup {
    html! { @for node in &nodes(rich) { (span(node)) } }
}

/// Paragraphs, listings, quotations and headings.
pub fn blocks(rich: &Rich) -> Markup {
    block(&nodes(rich))
}

/// Where a link may lead; anything else stays text.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];

enum Node<'a> {
    Text(&'a str),
    Styled(&'a Style, Vec<Self>),
}

fn nodes(rich: &Rich) -> Vec<Node<'_>> {
    let inside = |span: &&Span| rich.text.get(span.range.clone()).is_some();
    let mut spans: Vec<&Span> = rich.spans.iter().filter(inside).collect();
    spans.sort_by_key(|span| (span.range.start, Reverse(span.range.end)));
    within(&rich.text, 0..rich.text.len(), &mut spans.into_iter().peekable())
}

/// Each span takes one call; texts have a bounded number of them.
fn within<'a>(
    text: &'a str,
    range: Range<usize>,
    spans: &mut Peekable<impl Iterator<Item = &'a Span>>,
) -> Vec<Node<'a>> {
    let mut nodes = Vec::new();
    let mut at = range.start;
    while let Some(span) = spans.next_if(|span| span.range.start < range.end) {
        let (start, end) = (span.range.start.max(at), span.range.end.min(range.end));
        if start >= end {
            continue;
        }
        nodes.extend(plain(&text[at..start]));
        nodes.push(Node::Styled(&span.style, within(text, start..end, spans)));
        at = end;
    }
    nodes.extend(plain(&text[at..range.end]));
    nodes
}

fn plain(text: &str) -> Option<Node<'_>> {
    (!text.is_empty()).then_some(Node::Text(text))
}

fn span(node: &Node) -> Markup {
    let (style, children) = match node {
        Node::Text(text) => return html! { (text) },
        Node::Styled(style, children) => (style, children),
    };
    let inside = html! { @for child in children { (span(child)) } };
    match style {
        Style::Bold | Style::Heading => html! { b { (inside) } },
        Style::Italic => html! { i { (inside) } },
        Style::Strike => html! { s { (inside) } },
        Style::Code | Style::Pre { .. } => html! { code { (inside) } },
        Style::Quote => html! { q { (inside) } },
        Style::Hidden => html! { span.hid { (inside) } },
        Style::LookAlike => {
            html! { span.odd title="a letter that looks like another" { (inside) } }
        }
        Style::Link { url } => link(url, children, &inside),
    }
}

/// Where it leads stands beside it whenever its words alone do not say so.
fn link(url: &str, children: &[Node], inside: &Markup) -> Markup {
    let label = text_of(children);
    if !SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
        return html! { (inside) @if label != url { " (" (crate::words::said(url)) ")" } };
    }
    html! {
        a href=(url) rel="noreferrer noopener" target="_blank" { (inside) }
        @if label != url { span.faint.small { " (" (crate::words::said(url)) ")" } }
    }
}

fn text_of(nodes: &[Node]) -> String {
    let text = |node: &Node| match node {
        Node::Text(text) => (*text).to_owned(),
        Node::Styled(_, children) => text_of(children),
    };
    nodes.iter().map(text).collect()
}

fn is_block(node: &Node) -> bool {
    matches!(node, Node::Styled(Style::Pre { .. } | Style::Quote | Style::Heading, _))
}

fn block(nodes: &[Node]) -> Markup {
    html! {
        @for group in nodes.chunk_by(|one, next| !is_block(one) && !is_block(next)) {
            @match group {
                [Node::Styled(Style::Pre { language }, children)] => {
                    figure.listing {
                        @if let Some(language) = language { figcaption { (crate::words::said(language)) } }
                        pre.code-block tabindex="0" { @for child in children { (span(child)) } }
                    }
                }
                [Node::Styled(Style::Quote, children)] => { blockquote dir="auto" { (block(children)) } }
                [Node::Styled(Style::Heading, children)] => {
                    h3 dir="auto" { @for child in children { (span(child)) } }
                }
                line => { (paragraph(line)) }
            }
        }
    }
}

/// Line breaks stand as they are; nothing but blanks is no paragraph.
fn paragraph(line: &[Node]) -> Markup {
    if text_of(line).trim().is_empty() {
        return html! {};
    }
    let last = line.len() - 1;
    html! {
        p.lines dir="auto" {
            @for (at, node) in line.iter().enumerate() {
                @match node {
                    Node::Text(text) => {
                        @let text = if at == 0 { text.trim_start_matches('\n') } else { text };
                        (if at == last { text.trim_end_matches('\n') } else { text })
                    }
                    Node::Styled(..) => { (span(node)) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::text;

    fn page(markdown: &str) -> String {
        blocks(&text::markdown(markdown)).into_string()
    }

    #[test]
    fn text_of_agents_is_text() {
        let shown = page("<img src=x onerror=alert(1)> **b** `c`\n\n```html\n<script>\n```");
        assert!(!shown.contains("<img") && !shown.contains("<script>"), "{shown}");
        assert!(shown.contains("<b>b</b>") && shown.contains("<code>c</code>"), "{shown}");
        assert!(shown.contains("&lt;script&gt;"), "{shown}");
    }

    #[test]
    fn links_lead_where_they_say_or_nowhere() {
        let shown = page("[here](https://example.org/x) [there](javascript:alert(1))");
        assert!(shown.contains("href=\"https://example.org/x\""), "{shown}");
        assert!(!shown.contains("href=\"javascript"), "{shown}");
    }

    #[test]
    fn spans_that_cross_lose_their_style_and_not_their_text() {
        let span = |range, style| Span { range, style };
        let spans =
            vec![span(0..4, Style::Bold), span(2..6, Style::Italic), span(5..99, Style::Code)];
        let rich = Rich { text: "abcdef".into(), spans };
        assert_eq!(inline(&rich).into_string(), "<b>ab<i>cd</i></b>ef");
    }
}
