//! Events of the YAML parser to a tree. Nothing in here recurses over what the text nests: deep text
//! is refused while it is read, before there is a tree that could be deep.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError};
use std::collections::HashMap;

use super::tree::{Key, Node, Span, Value};

/// Lists and maps in one another; a workflow comes to about ten.
pub(crate) const DEEPEST: usize = 64;
/// Nodes that anchors and aliases may add to what is written, so that ten lines do not become a million.
const MOST_REPEATED: usize = 50_000;
/// Bytes of text that they may add.
const MOST_REPEATED_BYTES: usize = 4 * 1024 * 1024;

/// What is wrong with the text as YAML.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) span: Span,
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
}

/// The one document in `text`, or `None` where there is none, and what is wrong with it. After a fault
/// of syntax there is no tree.
pub(crate) fn read(text: &str) -> (Option<Node>, Vec<Fault>) {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let step = match event {
            Ok((event, span)) => reader.take(event, place(span.start, span.end)),
            Err(error) => Err(syntax(&error, text)),
        };
        if let Err(fault) = step {
            reader.faults.push(fault);
            return (None, reader.faults);
        }
    }
    (reader.root, reader.faults)
}

fn place(start: Marker, end: Marker) -> Span {
    Span {
        line: start.line(),
        column: start.col() + 1,
        end_line: end.line(),
        end_column: end.col() + 1,
    }
}

/// The parser's own words, and what helps where they do not.
fn syntax(error: &ScanError, text: &str) -> Fault {
    let mark = *error.marker();
    let span = place(mark, mark);
    let line = text.lines().nth(mark.line().saturating_sub(1)).unwrap_or_default();
    // The parser may say so where the line before it ends.
    let tab = [span.line, span.line + 1].into_iter().find_map(|at| {
        let line = text.lines().nth(at.saturating_sub(1))?;
        let indent = line.len() - line.trim_start().len();
        Some((at, line[..indent].chars().position(|c| c == '\t')? + 1))
    });
    if let Some((line, column)) = tab {
        return Fault {
            span: Span { line, column, end_line: line, end_column: column + 1 },
            what: "a tab cannot indent".into(),
            hint: Some("use spaces".into()),
        };
    }
    if error.info().contains("recursion limit") {
        return too_deep(span);
    }
    let hint = (line.contains("{{") && !line.contains(['"', '\'']))
        .then(|| "a value that starts with `{{` has to stand in quotes: \"{{ … }}\"".into())
        .or_else(|| colon(line));
    Fault { span, what: format!("this is no YAML: {}", error.info()), hint }
}

/// Where a colon in a value passes for the end of a key.
fn colon(line: &str) -> Option<String> {
    let (key, value) = line.trim_start().trim_start_matches("- ").split_once(": ")?;
    let open =
        value.contains(": ") && !value.starts_with(['"', '\'', '{', '[', '|', '>', '&', '*']);
    open.then(|| format!("a value with a colon in it has to stand in quotes: {key}: \"{value}\""))
}

fn too_deep(span: Span) -> Fault {
    let what = format!("more than {DEEPEST} lists and maps stand in one another here");
    Fault { span, what, hint: None }
}

/// A list or a map that has begun and not ended.
struct Open {
    span: Span,
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    Map(Box<OpenMap>),
}

#[derive(Default)]
struct OpenMap {
    pairs: Vec<(Key, Node)>,
    /// Where each key stands in `pairs`.
    known: HashMap<String, usize>,
    /// A key whose value is to come.
    key: Option<(Key, bool)>,
    /// What `<<` brings, filled in when the map ends: its own keys come first.
    merged: Option<(Span, Node)>,
}

#[derive(Default)]
struct Reader {
    root: Option<Node>,
    documents: usize,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    repeated: usize,
    repeated_bytes: usize,
    faults: Vec<Fault>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Fault> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents == 1 {
                    return Ok(());
                }
                let what = "a second document starts here".into();
                let hint = Some("one workflow is one file: put it into a file of its own".into());
                Err(Fault { span, what, hint })
            }
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::Scalar(text, style, anchor, tag) => {
                self.no_tag(tag.is_some(), span);
                if text.contains('\0') {
                    let what = "a null character cannot be passed on to any program".into();
                    self.faults.push(Fault { span, what, hint: None });
                }
                let plain = style == ScalarStyle::Plain;
                let node = Node { span, value: Value::Scalar { text: text.into_owned(), plain } };
                self.keep(anchor, &node)?;
                self.put(node)
            }
            Event::SequenceStart(anchor, tag) => {
                self.no_tag(tag.is_some(), span);
                self.begin(span, anchor, OpenKind::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.no_tag(tag.is_some(), span);
                self.begin(span, anchor, OpenKind::Map(Box::default()))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
        }
    }

    fn no_tag(&mut self, tagged: bool, span: Span) {
        if tagged {
            let what = "tags (`!…`) have no meaning in a workflow".into();
            self.faults.push(Fault { span, what, hint: Some("leave it out".into()) });
        }
    }

    fn begin(&mut self, span: Span, anchor: usize, kind: OpenKind) -> Result<(), Fault> {
        if self.open.len() >= DEEPEST {
            return Err(too_deep(span));
        }
        self.open.push(Open { span, anchor, kind });
        Ok(())
    }

    fn end(&mut self, end: Span) -> Result<(), Fault> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let span = Span { end_line: end.end_line, end_column: end.end_column, ..open.span };
        let value = match open.kind {
            OpenKind::List(items) => Value::List(items),
            OpenKind::Map(mut map) => {
                if let Some((span, source)) = map.merged.take() {
                    self.merge(&mut map, span, source);
                }
                Value::Map(map.pairs)
            }
        };
        let node = Node { span, value };
        self.keep(open.anchor, &node)?;
        self.put(node)
    }

    /// Keeps what an alias may repeat.
    fn keep(&mut self, anchor: usize, node: &Node) -> Result<(), Fault> {
        if anchor > 0 {
            self.pay(node, node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(())
    }

    /// Counts a copy of `node` before it is made.
    fn pay(&mut self, node: &Node, span: Span) -> Result<(), Fault> {
        let (nodes, bytes) = node.size();
        self.repeated += nodes;
        self.repeated_bytes += bytes;
        if self.repeated > MOST_REPEATED || self.repeated_bytes > MOST_REPEATED_BYTES {
            let what = "what anchors and aliases repeat comes to too much".into();
            let hint = Some(format!("at most {MOST_REPEATED} values may be repeated in one file"));
            return Err(Fault { span, what, hint });
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Fault> {
        let Some(node) = self.anchors.get(&anchor) else {
            let what = "this alias stands inside of what it repeats".into();
            return Err(Fault { span, what, hint: None });
        };
        let mut node = node.clone();
        if self.open.len() + node.depth() > DEEPEST {
            return Err(too_deep(span));
        }
        self.pay(&node, span)?;
        if matches!(node.value, Value::Scalar { .. }) {
            node.span = span; // where it is used is where it may be wrong
        }
        self.put(node)
    }

    /// Puts a finished node where it belongs.
    fn put(&mut self, node: Node) -> Result<(), Fault> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        let map = match &mut open.kind {
            OpenKind::List(items) => {
                items.push(node);
                return Ok(());
            }
            OpenKind::Map(map) => map,
        };
        let Some((key, merges)) = map.key.take() else {
            let Value::Scalar { text, plain } = node.value else {
                let what = "a list or a map cannot be a key".into();
                let hint = Some("put it in quotes if it is text, such as \"{{ … }}\"".into());
                return Err(Fault { span: node.span, what, hint });
            };
            let merges = plain && text == "<<";
            map.key = Some((Key { span: node.span, text }, merges));
            return Ok(());
        };
        if merges && map.merged.is_none() {
            map.merged = Some((key.span, node));
        } else if let Some(first) = map.known.get(&key.text) {
            let first = map.pairs.get(*first).map_or(key.span, |(key, _)| key.span);
            self.faults.push(twice(&key, first));
        } else if merges {
            let first = map.merged.as_ref().map_or(key.span, |(span, _)| *span);
            self.faults.push(twice(&key, first));
        } else {
            map.known.insert(key.text.clone(), map.pairs.len());
            map.pairs.push((key, node));
        }
        Ok(())
    }

    /// As YAML 1.1 merges: the map's own keys win, then those of the first map of a list.
    fn merge(&mut self, map: &mut OpenMap, span: Span, source: Node) {
        let sources = match source.value {
            Value::Map(_) => vec![source],
            Value::List(items) => items,
            Value::Scalar { .. } => {
                let what =
                    format!("`<<` takes over a map or a list of maps, not {}", source.what());
                self.faults.push(Fault { span, what, hint: None });
                return;
            }
        };
        for source in sources {
            let what = source.what();
            let Value::Map(pairs) = source.value else {
                let what = format!("`<<` takes over maps, and one of these is {what}");
                self.faults.push(Fault { span: source.span, what, hint: None });
                continue;
            };
            for (key, node) in pairs {
                if !map.known.contains_key(&key.text) {
                    map.known.insert(key.text.clone(), map.pairs.len());
                    map.pairs.push((key, node));
                }
            }
        }
    }
}

fn twice(key: &Key, first: Span) -> Fault {
    let name = super::tree::shortened(&key.text);
    let (one, other) = (first.line, key.span.line);
    let what = if one == other {
        format!("duplicate key `{name}`, twice in line {one}")
    } else {
        format!("duplicate key `{name}` at lines {one} and {other}")
    };
    Fault { span: key.span, what, hint: Some("keep one of them".into()) }
}
