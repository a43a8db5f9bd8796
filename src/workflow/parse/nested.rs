//! Steps that hold or call others.

use std::fmt::Write as _;

use super::{
    reader::{Reader, scalar},
    scope::Scopes,
    step,
    uses::{At, Place},
};
use crate::{
    keys::{CALL, FOREACH},
    language::{Call, DEEPEST_FOREACH, Foreach, MOST_ROUNDS},
    template::Expr,
    value::{ParamName, WorkflowName},
    yaml::{Node, Value},
};

/// Rounds at the same time when a `foreach` does not say.
const PARALLEL: u32 = 4;
/// What an item is called when it does not say.
const ITEM: &str = "item";
/// Words that mean something in every template.
const TAKEN: [&str; 20] = [
    "params", "steps", "run", "secrets", "env", "output", "response", "body", "headers", "index",
    "loop", "true", "false", "none", "not", "and", "or", "in", "is", "if",
];

pub(super) fn call<'a>(reader: &Reader<'a>, node: &'a Node, at: At) -> Option<Call> {
    if !matches!(node.value, Value::Map(_)) {
        let workflow = called(reader, node)?;
        return Some(Call { workflow, params: Vec::new() });
    }
    let fields = reader.fields(node, &CALL)?;
    let place = Place::Step { secrets: false };
    let params = step::named(reader, &fields, "params", |node| reader.expr_of(node, at, place));
    let params = params.into_iter().filter_map(|(name, expr)| {
        let name: ParamName = name.parse().ok()?;
        Some((name, expr))
    });
    Some(Call { workflow: called(reader, fields.get("name")?)?, params: params.collect() })
}

/// `release`, or `api/release` for one of a project's own.
fn called<'a>(reader: &Reader<'a>, node: &'a Node) -> Option<String> {
    let text = reader.text_of(node, "workflow")?;
    let (project, name) = text.split_once('/').map_or((None, text), |(a, b)| (Some(a), b));
    if let Some(project) = project {
        reader.name_of::<ParamName>(project, node.span, "name of a project")?;
    }
    reader.name_of::<WorkflowName>(name, node.span, "name of a workflow")?;
    Some(text.to_owned())
}

pub(super) fn foreach<'a>(
    reader: &Reader<'a>,
    scopes: &mut Scopes<'a>,
    node: &'a Node,
    at: At,
) -> Option<Foreach> {
    let fields = reader.fields(node, &FOREACH)?;
    let name = reader.text(&fields, "as").unwrap_or(ITEM);
    let place = fields.get("as").map_or(fields.span, |node| node.span);
    let letters = name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    if !letters || name.starts_with(|c: char| c.is_ascii_digit()) || TAKEN.contains(&name) {
        let what = format!("an item cannot be called {}", fields.get("as")?.what());
        reader.hinted(place, what, "letters, digits and `_`, such as `file`");
    } else if scopes.around(at.scope).any(|around| around.item == Some(name)) {
        let what = format!("an item of the `foreach` around this one is called `{name}` already");
        reader.hinted(place, what, "give it another name with `as`");
    }
    if scopes.around(at.scope).count() > DEEPEST_FOREACH {
        let what = format!("more than {DEEPEST_FOREACH} `foreach` stand in one another");
        reader.error(fields.span, what);
        return None;
    }
    let items = fields.get("in").and_then(|node| items(reader, node, at));
    reader.items.borrow_mut().push(name);
    let inner = fields.get("steps");
    let steps = inner.map(|node| step::steps(reader, scopes, node, Some(at), Some(name)));
    reader.items.borrow_mut().pop();
    Some(Foreach {
        items: items?,
        name: name.to_owned(),
        parallel: reader.whole(&fields, "parallel").unwrap_or(PARALLEL),
        steps: steps?,
    })
}

/// An expression, or a list as it stands here.
fn items<'a>(reader: &Reader<'a>, node: &'a Node, at: At) -> Option<Expr> {
    let Value::List(list) = &node.value else {
        return reader.expr_of(node, at, Place::Step { secrets: false });
    };
    if list.len() > MOST_ROUNDS {
        reader.error(node.span, format!("a `foreach` has at most {MOST_ROUNDS} rounds"));
    }
    for item in list.iter().filter(|item| scalar(item).contains("{{")) {
        let hint = "write the whole list as an expression: `in: '[params.first, \"second\"]'`";
        reader.hinted(item.span, "nothing is filled into a list", hint);
    }
    let mut source = String::new();
    literal(&mut source, &reader.json(node)?);
    Some(Expr::new(source))
}

/// JSON as an expression gives it.
fn literal(out: &mut String, value: &serde_json::Value) {
    match value {
        serde_json::Value::Null => out.push_str("none"),
        serde_json::Value::Array(items) => {
            out.push('[');
            for item in items {
                literal(out, item);
                out.push_str(", ");
            }
            out.push(']');
        }
        serde_json::Value::Object(pairs) => {
            out.push('{');
            for (key, value) in pairs {
                let _ = write!(out, "{}: ", serde_json::Value::from(key.as_str())); // a String takes everything
                literal(out, value);
                out.push_str(", ");
            }
            out.push('}');
        }
        serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => {
            let _ = write!(out, "{value}"); // a String takes everything
        }
    }
}
