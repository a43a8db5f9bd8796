//! [`Rich`] as a tree, which a page can build node by node without counting anybody's offsets.

use serde::Serialize;
use std::{cmp::Reverse, ops::Range};
use vigie_core::text::{Rich, Span, Style};

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "node", rename_all = "snake_case")]
pub(crate) enum Node {
    Text { text: String },
    Styled { style: Style, children: Vec<Node> },
}

/// All of the text, in order. A span that breaks the rules of [`Rich`] loses its style where it
/// breaks them, never its text.
pub(crate) fn nodes(rich: &Rich) -> Vec<Node> {
    let mut spans: Vec<&Span> =
        rich.spans.iter().filter(|span| rich.text.get(span.range.clone()).is_some()).collect();
    spans.sort_by_key(|span| (span.range.start, Reverse(span.range.end)));
    within(&rich.text, 0..rich.text.len(), &mut spans.into_iter().peekable())
}

/// Nesting is bounded by the caller's limit on spans; each takes one call.
fn within<'a>(
    text: &str,
    range: Range<usize>,
    spans: &mut std::iter::Peekable<impl Iterator<Item = &'a Span>>,
) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut at = range.start;
    while let Some(span) = spans.next_if(|span| span.range.start < range.end) {
        let start = span.range.start.max(at);
        let end = span.range.end.min(range.end);
        if start >= end {
            continue;
        }
        plain(&mut nodes, &text[at..start]);
        let children = within(text, start..end, spans);
        nodes.push(Node::Styled { style: span.style.clone(), children });
        at = end;
    }
    plain(&mut nodes, &text[at..range.end]);
    nodes
}

fn plain(nodes: &mut Vec<Node>, text: &str) {
    if !text.is_empty() {
        nodes.push(Node::Text { text: text.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(range: Range<usize>, style: Style) -> Span {
        Span { range, style }
    }

    fn read(nodes: &[Node]) -> String {
        nodes
            .iter()
            .map(|node| match node {
                Node::Text { text } => text.clone(),
                Node::Styled { children, .. } => format!("<{}>", read(children)),
            })
            .collect()
    }

    #[test]
    fn nested_spans_become_nested_nodes() {
        let rich = Rich {
            text: "run rm now".into(),
            spans: vec![
                span(0..10, Style::Bold),
                span(4..6, Style::Code),
                span(4..5, Style::LookAlike),
            ],
        };
        assert_eq!(read(&nodes(&rich)), "<run <<r>m> now>");
    }

    #[test]
    fn spans_that_break_the_rules_lose_no_text() {
        let text = "aé終b";
        let styles = [span(2..3, Style::Bold), span(0..99, Style::Bold), span(3..3, Style::Bold)];
        let crossing = [span(0..3, Style::Bold), span(1..7, Style::Italic)];
        let read_plain = |spans: &[Span]| {
            read(&nodes(&Rich { text: text.into(), spans: spans.into() })).replace(['<', '>'], "")
        };
        assert_eq!(read_plain(&styles), text);
        assert_eq!(read_plain(&crossing), text);
    }
}
