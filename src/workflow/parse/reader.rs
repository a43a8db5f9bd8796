//! Reads typed values out of the tree and notes every mistake with its place.

use std::{cell::RefCell, time::Duration};

use super::{hints, shell, uses::Use};
use crate::{
    keys::{Shape, Table},
    nearest::nearest,
    problem::{Problem, Severity},
    value::NameError,
    values,
    yaml::{Node, Span, Value, json, shortened},
};

/// Mistakes that are told of one text; who sees that many mends some and asks again.
pub(super) const MOST_PROBLEMS: usize = 200;

/// What reads files that lie beside the workflow's.
pub(super) type Neighbours<'a> = &'a dyn Fn(&str) -> Result<String, String>;

pub(super) struct Reader<'a> {
    pub(super) neighbours: Neighbours<'a>,
    text: &'a str,
    /// Where each line begins, in bytes.
    lines: Vec<usize>,
    problems: RefCell<Vec<Problem>>,
    /// Every template and expression, looked at when all steps are known.
    pub(super) uses: RefCell<Vec<Use<'a>>>,
    /// What items are called where it reads just now.
    pub(super) items: RefCell<Vec<&'a str>>,
}

/// A map whose keys are those of a table.
pub(super) struct Fields<'a> {
    pub(super) span: Span,
    pub(super) table: &'static Table,
    pairs: &'a [(crate::yaml::Key, Node)],
}

impl<'a> Fields<'a> {
    pub(super) fn get(&self, name: &'static str) -> Option<&'a Node> {
        debug_assert!(self.table.names().any(|key| key == name), "{name} of {}", self.table.of);
        self.pairs.iter().find(|(key, _)| key.text == name).map(|(_, node)| node)
    }

    /// Where the key stands.
    pub(super) fn key(&self, name: &'static str) -> Span {
        let key = self.pairs.iter().find(|(key, _)| key.text == name);
        key.map_or(self.span, |(key, _)| key.span)
    }

    fn shape(&self, name: &'static str) -> Shape {
        let key = self.table.keys.iter().find(|key| key.name == name);
        key.map_or(Shape::Any, |key| key.shape)
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, neighbours: Neighbours<'a>) -> Self {
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(starts.map(|(at, _)| at + 1)).collect();
        Self {
            neighbours,
            text,
            lines,
            problems: RefCell::default(),
            uses: RefCell::default(),
            items: RefCell::default(),
        }
    }

    pub(super) fn problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }

    pub(super) fn error(&self, span: Span, what: impl Into<String>) {
        self.problem(Severity::Error, span, what.into(), None);
    }

    pub(super) fn hinted(&self, span: Span, what: impl Into<String>, hint: impl Into<String>) {
        self.problem(Severity::Error, span, what.into(), Some(hint.into()));
    }

    pub(super) fn problem(
        &self,
        severity: Severity,
        span: Span,
        what: String,
        hint: Option<String>,
    ) {
        let problem = Problem {
            severity,
            line: span.line,
            column: span.column,
            width: span.width(),
            what,
            hint,
        };
        let mut problems = self.problems.borrow_mut();
        // What an anchor repeats is wrong once.
        if problems.len() <= MOST_PROBLEMS && !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// Whether there are so many mistakes that more would help nobody.
    pub(super) fn is_full(&self) -> bool {
        self.problems.borrow().len() > MOST_PROBLEMS
    }

    pub(super) fn has_errors(&self) -> bool {
        self.problems.borrow().iter().any(|problem| problem.severity == Severity::Error)
    }

    /// The map with its keys, once what is unknown, missing or no map has been said.
    pub(super) fn fields(&self, node: &'a Node, table: &'static Table) -> Option<Fields<'a>> {
        let Value::Map(pairs) = &node.value else {
            let names: Vec<_> = table.names().collect();
            let what = format!("{} is a map, not {}", table.of, node.what());
            self.hinted(node.span, what, format!("its keys: {}", names.join(", ")));
            return None;
        };
        for (key, _) in pairs {
            let free = table.free && key.text.starts_with("x-");
            if !free && !table.names().any(|name| name == key.text) {
                let hint = hints::key(&key.text, table);
                self.problem(
                    Severity::Error,
                    key.span,
                    format!("unknown key `{}`", shortened(&key.text)),
                    Some(hint),
                );
            }
        }
        for key in table.keys.iter().filter(|key| key.required) {
            if !pairs.iter().any(|(there, _)| there.text == key.name) {
                // The whole map is meant, and pointing at its first key says that best.
                let span = pairs.first().map_or(node.span, |(key, _)| key.span);
                let hint = key.what.trim_end_matches('.');
                self.hinted(span, format!("{} needs the key `{}`", table.of, key.name), hint);
            }
        }
        Some(Fields { span: node.span, table, pairs })
    }

    /// A map with keys of its own.
    pub(super) fn entries(
        &self,
        fields: &Fields<'a>,
        name: &'static str,
    ) -> &'a [(crate::yaml::Key, Node)] {
        match fields.get(name) {
            None => &[],
            Some(Node { value: Value::Map(pairs), .. }) => pairs,
            Some(node) => {
                self.error(node.span, format!("`{name}` is a map, not {}", node.what()));
                &[]
            }
        }
    }

    /// The entries of a map, if it is one.
    pub(super) fn entries_of(
        fields: &Fields<'a>,
        name: &'static str,
    ) -> &'a [(crate::yaml::Key, Node)] {
        match fields.get(name) {
            Some(Node { value: Value::Map(pairs), .. }) => pairs,
            Some(_) | None => &[],
        }
    }

    /// The items of a list, if it is one.
    pub(super) fn items_of(fields: &Fields<'a>, name: &'static str) -> &'a [Node] {
        match fields.get(name) {
            Some(Node { value: Value::List(items), .. }) => items,
            Some(_) | None => &[],
        }
    }

    /// Text as it is written; `None` where there is none.
    pub(super) fn text_of(&self, node: &'a Node, name: &str) -> Option<&'a str> {
        match &node.value {
            Value::Scalar { .. } if node.is_nothing() => {
                self.error(node.span, format!("`{name}` is left empty"));
                None
            }
            Value::Scalar { text, .. } => Some(text),
            Value::List(_) | Value::Map(_) => {
                self.error(node.span, format!("`{name}` is text, not {}", node.what()));
                None
            }
        }
    }

    pub(super) fn text(&self, fields: &Fields<'a>, name: &'static str) -> Option<&'a str> {
        let node = fields.get(name)?;
        // A script has words of its own for this, and a description may talk about templates.
        if !matches!(name, "run" | "description") {
            shell::is_filled_in_nowhere(self, node, name);
        }
        self.text_of(node, name)
    }

    /// One text or a list of them.
    pub(super) fn texts(&self, fields: &Fields<'a>, name: &'static str) -> Option<Vec<&'a Node>> {
        let node = fields.get(name)?;
        let nodes: Vec<&Node> = match &node.value {
            Value::List(items) => items.iter().collect(),
            Value::Scalar { .. } => vec![node],
            Value::Map(_) => {
                self.error(node.span, format!("`{name}` is a list, not a map"));
                return None;
            }
        };
        Some(nodes.into_iter().filter(|node| self.text_of(node, name).is_some()).collect())
    }

    /// The same as owned texts.
    pub(super) fn words(&self, fields: &Fields<'a>, name: &'static str) -> Vec<String> {
        let nodes = self.texts(fields, name).unwrap_or_default();
        for node in &nodes {
            shell::is_filled_in_nowhere(self, node, name);
        }
        nodes.into_iter().map(|node| scalar(node).to_owned()).collect()
    }

    pub(super) fn bool_of(&self, node: &Node, name: &str) -> Option<bool> {
        match &node.value {
            Value::Scalar { text, plain: true } if matches!(text.as_str(), "true" | "True") => {
                Some(true)
            }
            Value::Scalar { text, plain: true } if matches!(text.as_str(), "false" | "False") => {
                Some(false)
            }
            _ => {
                let what = format!("`{name}` is `true` or `false`, not {}", node.what());
                self.error(node.span, what);
                None
            }
        }
    }

    pub(super) fn bool(&self, fields: &Fields<'a>, name: &'static str) -> bool {
        fields.get(name).and_then(|node| self.bool_of(node, name)).unwrap_or(false)
    }

    /// A whole number within the bounds of its key.
    pub(super) fn whole(&self, fields: &Fields<'a>, name: &'static str) -> Option<u32> {
        let node = fields.get(name)?;
        self.whole_of(node, name, fields.shape(name))
    }

    pub(super) fn whole_of(&self, node: &Node, name: &str, shape: Shape) -> Option<u32> {
        let (least, most) = bounds(shape);
        let number = match &node.value {
            Value::Scalar { text, plain: true } => text.parse::<u64>().ok(),
            _ => None,
        };
        let fits = number.filter(|number| (least..=most).contains(number));
        if fits.is_none() {
            let what = format!("`{name}` is a number from {least} to {most}, not {}", node.what());
            self.error(node.span, what);
        }
        fits.and_then(|number| u32::try_from(number).ok())
    }

    /// One of the words of its key.
    pub(super) fn word(&self, fields: &Fields<'a>, name: &'static str) -> Option<&'static str> {
        let node = fields.get(name)?;
        let text = self.text_of(node, name)?;
        let Shape::Word(words) = fields.shape(name) else { return None };
        let found = words.iter().find(|word| **word == text);
        if found.is_none() {
            let what = format!("`{name}` cannot be {}", node.what());
            let hint = match nearest(text, words.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("one of: {}", words.join(", ")),
            };
            self.hinted(node.span, what, hint);
        }
        found.copied()
    }

    pub(super) fn duration(&self, fields: &Fields<'a>, name: &'static str) -> Option<Duration> {
        self.valued(fields, name, values::duration)
    }

    pub(super) fn size(&self, fields: &Fields<'a>, name: &'static str) -> Option<u64> {
        self.valued(fields, name, values::size)
    }

    pub(super) fn money(&self, fields: &Fields<'a>, name: &'static str) -> Option<u64> {
        self.valued(fields, name, values::money)
    }

    fn valued<T>(
        &self,
        fields: &Fields<'a>,
        name: &'static str,
        parse: fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let node = fields.get(name)?;
        let text = self.text_of(node, name)?;
        parse(text).map_err(|what| self.error(node.span, what)).ok()
    }

    /// A name; `what` is what it is a name of.
    pub(super) fn name_of<T: std::str::FromStr<Err = NameError>>(
        &self,
        text: &str,
        span: Span,
        what: &str,
    ) -> Option<T> {
        let name = text.parse();
        let tell = |error| {
            self.error(span, format!("`{}` is no {what}: {error}", shortened(text)));
        };
        name.map_err(tell).ok()
    }

    pub(super) fn name<T: std::str::FromStr<Err = NameError>>(
        &self,
        fields: &Fields<'a>,
        name: &'static str,
        what: &str,
    ) -> Option<T> {
        let node = fields.get(name)?;
        self.name_of(self.text_of(node, name)?, node.span, what)
    }

    pub(super) fn json(&self, node: &Node) -> Option<serde_json::Value> {
        let tell = |error: crate::yaml::JsonError| {
            self.hinted(error.span, error.what, "put it in quotes to make it text");
        };
        json(node).map_err(tell).ok()
    }

    /// Where bytes of a scalar's text stand in the file: the same words are looked for, because quotes,
    /// folds and indentation lie between the two.
    pub(super) fn inside(&self, node: &Node, at: &std::ops::Range<usize>) -> Span {
        let text = scalar(node);
        let whole = node.span;
        let Some(words) = text.get(at.clone()).filter(|words| !words.is_empty()) else {
            return whole;
        };
        let number = text[..at.start].matches(words).count();
        let start = self.byte(whole.line, whole.column);
        let end = self.byte(whole.end_line, whole.end_column).max(start);
        let written = &self.text[start..end];
        let Some((found, _)) = written.match_indices(words).nth(number) else { return whole };
        let before = &written[..found];
        let count = words.chars().count();
        let (line, column) = match before.rfind('\n') {
            Some(end) => {
                (whole.line + before.matches('\n').count(), before[end + 1..].chars().count() + 1)
            }
            None => (whole.line, whole.column + before.chars().count()),
        };
        Span { line, column, end_line: line, end_column: column + count }
    }

    fn byte(&self, line: usize, column: usize) -> usize {
        let start = self.lines.get(line.wrapping_sub(1)).copied().unwrap_or(self.text.len());
        let rest = &self.text[start..];
        rest.char_indices().nth(column - 1).map_or(self.text.len(), |(at, _)| start + at)
    }
}

fn bounds(shape: Shape) -> (u64, u64) {
    match shape {
        Shape::Whole { least, most } => (least, most),
        Shape::Either([Shape::Whole { least, most }, ..]) => (*least, *most),
        _ => (0, u64::from(u32::MAX)),
    }
}

/// The text of a scalar; nothing of anything else.
pub(super) fn scalar(node: &Node) -> &str {
    match &node.value {
        Value::Scalar { text, .. } => text,
        Value::List(_) | Value::Map(_) => "",
    }
}
