//! A node of the tree: a scalar, a list or a map, and its place.

/// From where to where, from 1, in characters; the end is the first character that is no part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) end_line: usize,
    pub(crate) end_column: usize,
}

impl Span {
    /// Characters on its first line; what goes on over more lines is pointed to at its start.
    pub(crate) fn width(self) -> usize {
        if self.end_line == self.line {
            self.end_column.saturating_sub(self.column).max(1)
        } else {
            1
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar {
        /// As it is written, without its quotes.
        text: String,
        /// Without quotes and in no block, so that `~` is nothing and `1` is a number.
        plain: bool,
    },
    List(Vec<Node>),
    /// In the order of the file, each key once.
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) span: Span,
    pub(crate) text: String,
}

impl Node {
    /// What it is, in words for a person.
    pub(crate) fn what(&self) -> String {
        match &self.value {
            Value::Scalar { .. } if self.is_nothing() => "nothing".into(),
            Value::Scalar { text, plain } => {
                let quote = if *plain { "" } else { "\"" };
                format!("`{quote}{}{quote}`", shortened(text))
            }
            Value::List(_) => "a list".into(),
            Value::Map(_) => "a map".into(),
        }
    }

    /// Whether it stands for nothing: left empty, `~` or `null`.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, plain: true }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Nodes and bytes of text of the whole tree from here.
    pub(super) fn size(&self) -> (usize, usize) {
        let add = |(nodes, bytes): (usize, usize), node: &Self| {
            let (more_nodes, more_bytes) = node.size();
            (nodes + more_nodes, bytes + more_bytes)
        };
        match &self.value {
            Value::Scalar { text, .. } => (1, text.len()),
            Value::List(items) => items.iter().fold((1, 0), add),
            Value::Map(pairs) => pairs.iter().fold((1, 0), |size, (key, node)| {
                let (nodes, bytes) = add(size, node);
                (nodes + 1, bytes + key.text.len())
            }),
        }
    }

    /// Lists and maps in one another from here.
    pub(super) fn depth(&self) -> usize {
        match &self.value {
            Value::Scalar { .. } => 0,
            Value::List(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Value::Map(pairs) => 1 + pairs.iter().map(|(_, node)| node.depth()).max().unwrap_or(0),
        }
    }
}

/// Characters of a value that a sentence about it repeats.
const SHOWN: usize = 40;

/// On one line, without what a terminal would not show, and not endless.
pub(crate) fn shortened(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN {
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push_str("\\n"),
            c if c.is_control() || is_hidden(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Characters that turn the direction of a text around or have no width: they make one text look
/// like another.
pub(crate) fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{61c}')
}
