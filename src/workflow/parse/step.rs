//! One step: its common keys, and which kind it is.

use std::time::Duration;

use super::{
    kinds,
    reader::{Fields, Reader, scalar},
    scope::Scopes,
    shell,
    uses::{At, Place},
};
use crate::{
    keys::{EXPECT, KINDS, RETRY, STEP, Shape},
    language::{Expect, Kind, OnCrash, OutputForm, Retry, Step},
    template::{Expr, Template},
    value::StepId,
    yaml::{Node, Value, shortened},
};

/// Before a second try when the workflow does not say.
const BACKOFF: Duration = Duration::from_secs(5);
/// The longest wait between two tries when it does not say.
const LONGEST_BACKOFF: Duration = Duration::from_mins(10);

/// A list of steps; what is wrong with one leaves it out.
pub(super) fn steps<'a>(
    reader: &Reader<'a>,
    scopes: &mut Scopes<'a>,
    node: &'a Node,
    parent: Option<At>,
    item: Option<&'a str>,
) -> Vec<Step> {
    let Value::List(items) = &node.value else {
        let what = format!("`steps` is a list, not {}", node.what());
        reader.hinted(node.span, what, "begin each step with `- id: …`");
        return Vec::new();
    };
    if items.is_empty() {
        reader.error(node.span, "there are no steps");
    }
    let scope = scopes.open(parent, item);
    let read = |item| if reader.is_full() { None } else { step(reader, scopes, scope, item) };
    items.iter().filter_map(read).collect()
}

fn step<'a>(
    reader: &Reader<'a>,
    scopes: &mut Scopes<'a>,
    scope: usize,
    node: &'a Node,
) -> Option<Step> {
    let fields = reader.fields(node, &STEP)?;
    let id_node = fields.get("id");
    let id = id_node.and_then(|id| {
        let text = reader.text_of(id, "id")?;
        reader.name_of::<StepId>(text, id.span, "id of a step")
    });
    let name = if id.is_some() { id_node.map_or("", scalar) } else { "" };
    let span = id_node.map_or(fields.span, |id| id.span);
    let number = scopes.add(reader, scope, name, span);
    let at = At { scope, step: Some(number) };

    let kind_name = only_kind(reader, &fields);
    let needs = needs(reader, &fields);
    let seen = &mut scopes.all[scope].steps[number];
    seen.needs = needs.iter().map(|node| (scalar(node), node.span)).collect();
    seen.kind = kind_name.unwrap_or("");
    seen.has_if = fields.get("if").is_some();
    if let Some(kind) = kind_name {
        without_effect(reader, &fields, kind);
    }

    let plain = Place::Step { secrets: false };
    let env = env(reader, &fields, at, Place::Step { secrets: true });
    let only_if = fields.get("if").and_then(|node| condition(reader, node, at));
    let kind = kind_name.and_then(|kind| kinds::kind(reader, scopes, &fields, kind, at));
    let cwd = reader.template(&fields, "cwd", at, plain);
    if let (Some(cwd), Some(node)) = (&cwd, fields.get("cwd")) {
        relative(reader, node, &cwd.source);
    }
    let file = |node| {
        let file = reader.template_of(node, at, plain);
        relative(reader, node, &file.source);
        Some(file)
    };
    let mut step = Step {
        title: reader.text(&fields, "title").unwrap_or_default().to_owned(),
        needs: needs.iter().filter_map(|node| scalar(node).parse().ok()).collect(),
        only_if,
        always: reader.bool(&fields, "always"),
        continue_on_error: reader.bool(&fields, "continue_on_error"),
        env,
        project: reader.template(&fields, "project", at, plain),
        cwd,
        in_session: reader.template(&fields, "in_session", at, plain),
        timeout: timeout(reader, &fields),
        retry: retry(reader, &fields),
        on_crash: OnCrash::Fail,
        output: match reader.word(&fields, "output") {
            Some("json") => OutputForm::Json,
            _ => OutputForm::Text,
        },
        files: named(reader, &fields, "files", file),
        cut_is_fine: reader.word(&fields, "output_cut").is_some(),
        expect: expect(reader, &fields, at),
        id: id?,
        kind: kind?,
        line: span.line,
    };
    step.on_crash = match reader.word(&fields, "on_crash") {
        Some("ask") => OnCrash::Ask,
        Some("retry") => OnCrash::Retry,
        Some(_) => OnCrash::Fail,
        None => when_nobody_says(&step.kind),
    };
    Some(step)
}

/// What has no effect outside can simply be done again.
fn when_nobody_says(kind: &Kind) -> OnCrash {
    let harmless = match kind {
        Kind::Shell(_) => false,
        Kind::Claude(claude) => claude.read_only,
        Kind::Http(http) => matches!(http.method.as_str(), "GET" | "HEAD"),
        Kind::Javascript(_)
        | Kind::Sleep(_)
        | Kind::Condition(_)
        | Kind::Approval(_)
        | Kind::Call(_)
        | Kind::Foreach(_) => true,
    };
    if harmless { OnCrash::Retry } else { OnCrash::Ask }
}

fn only_kind(reader: &Reader<'_>, fields: &Fields<'_>) -> Option<&'static str> {
    let found: Vec<_> = KINDS.into_iter().filter(|kind| fields.get(kind).is_some()).collect();
    match found[..] {
        [] => {
            let span = fields.get("id").map_or(fields.span, |id| id.span);
            let hint = format!("give it one of: {}", KINDS.join(", "));
            reader.hinted(span, "this step does nothing", hint);
        }
        [_] => {}
        [first, second, ..] => {
            let what = format!("a step does one thing, and this one has `{first}` and `{second}`");
            reader.hinted(
                fields.key(second),
                what,
                "make two steps of it, one of which needs the other",
            );
        }
    }
    found.first().copied()
}

/// Keys that only some kinds of steps take; on others they would be silently ignored.
const ONLY: [(&str, &[&str]); 9] = [
    ("env", &["shell", "claude"]),
    ("project", &["shell", "claude", "workflow"]),
    ("cwd", &["shell", "claude"]),
    ("in_session", &["shell", "claude"]),
    ("files", &["shell", "claude"]),
    ("output", &["shell", "claude", "http"]),
    ("output_cut", &["shell", "claude", "http", "javascript"]),
    ("retry", &["shell", "claude", "http", "javascript", "workflow"]),
    ("on_crash", &["shell", "claude", "http", "javascript"]),
];

fn without_effect(reader: &Reader<'_>, fields: &Fields<'_>, kind: &'static str) {
    for (key, kinds) in ONLY {
        if fields.get(key).is_some() && !kinds.contains(&kind) {
            let what = format!("`{key}` has no effect on a step with `{kind}`");
            let hint = format!("it is for steps with {}", kinds.join(", "));
            reader.hinted(fields.key(key), what, hint);
        }
    }
    if fields.get("timeout").is_some() && matches!(kind, "condition" | "sleep" | "foreach") {
        let what = format!("`timeout` has no effect on a step with `{kind}`");
        let hint = if kind == "foreach" { "give it to the steps inside" } else { "leave it out" };
        reader.hinted(fields.key("timeout"), what, hint);
    }
}

fn needs<'a>(reader: &Reader<'a>, fields: &Fields<'a>) -> Vec<&'a Node> {
    let mut nodes = reader.texts(fields, "needs").unwrap_or_default();
    let mut known = std::collections::HashSet::new();
    nodes.retain(|node| known.insert(scalar(node)));
    nodes
}

/// `if` and `condition` may be written `true` and `false` too.
pub(super) fn condition<'a>(reader: &Reader<'a>, node: &'a Node, at: At) -> Option<Expr> {
    reader.expr_of(node, at, Place::Step { secrets: false })
}

fn timeout<'a>(reader: &Reader<'a>, fields: &Fields<'a>) -> Option<Duration> {
    // An approval has one of its own, for which this is the short form.
    if fields.get("approval").is_some() {
        return None;
    }
    let timeout = reader.duration(fields, "timeout")?;
    if timeout.is_zero() {
        reader.error(fields.key("timeout"), "a timeout of nothing would end it at once");
    }
    Some(timeout)
}

fn retry<'a>(reader: &Reader<'a>, fields: &Fields<'a>) -> Option<Retry> {
    let node = fields.get("retry")?;
    let plain =
        |times| Retry { times, backoff: BACKOFF, longest: LONGEST_BACKOFF, same_error: false };
    if matches!(node.value, Value::Scalar { .. }) {
        let times = reader.whole_of(node, "retry", Shape::Whole { least: 0, most: 100 })?;
        return Some(plain(times));
    }
    let inner = reader.fields(node, &RETRY)?;
    let mut retry = plain(reader.whole(&inner, "times")?);
    retry.backoff = reader.duration(&inner, "backoff").unwrap_or(BACKOFF);
    retry.longest =
        reader.duration(&inner, "longest").unwrap_or(LONGEST_BACKOFF.max(retry.backoff));
    retry.same_error = reader.bool(&inner, "same_error");
    if retry.longest < retry.backoff {
        reader.error(inner.key("longest"), "`longest` is shorter than `backoff`");
    }
    Some(retry)
}

/// Paths stay inside of the project's folder; where one is filled in, whoever opens it checks that.
fn relative(reader: &Reader<'_>, node: &Node, path: &str) {
    if path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..") {
        let what = format!("{} leads out of the project's folder", node.what());
        reader.hinted(node.span, what, "paths are relative to it");
    }
}

/// Environment variables.
pub(super) fn env<'a>(
    reader: &Reader<'a>,
    fields: &Fields<'a>,
    at: At,
    place: Place,
) -> Vec<(String, Template)> {
    let mut env = Vec::new();
    for (key, node) in reader.entries(fields, "env") {
        let name = &key.text;
        let letters = name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        if name.is_empty() || !letters || name.as_bytes()[0].is_ascii_digit() {
            let what = format!("`{}` is no name of an environment variable", shortened(name));
            reader.hinted(key.span, what, "letters, digits and `_`, and no digit first");
        } else if name.to_uppercase().starts_with("VIGIE_") {
            let what = format!("`{name}` is Vigie's own: names with `VIGIE_` are set by it");
            reader.error(key.span, what);
        }
        if matches!(node.value, Value::Scalar { .. }) {
            env.push((name.clone(), reader.template_of(node, at, place)));
        } else {
            reader.error(node.span, format!("the value of `{name}` is text, not {}", node.what()));
        }
    }
    env
}

/// A map with names of one's own, each read by `value`.
pub(super) fn named<'a, T>(
    reader: &Reader<'a>,
    fields: &Fields<'a>,
    name: &'static str,
    value: impl Fn(&'a Node) -> Option<T>,
) -> Vec<(String, T)> {
    let mut out = Vec::new();
    for (key, node) in reader.entries(fields, name) {
        let known = reader.name_of::<crate::value::ParamName>(&key.text, key.span, "name");
        if reader.text_of(node, &key.text).is_none() {
            continue;
        }
        if let (Some(_), Some(value)) = (known, value(node)) {
            out.push((key.text.clone(), value));
        }
    }
    out
}

fn expect<'a>(reader: &Reader<'a>, fields: &Fields<'a>, at: At) -> Expect {
    let Some(inner) = fields.get("expect").and_then(|node| reader.fields(node, &EXPECT)) else {
        return Expect::default();
    };
    let works_in_folder = fields.get("shell").is_some() || fields.get("claude").is_some();
    for key in ["changed_only", "unchanged", "claimed", "run"] {
        if inner.get(key).is_some() && !works_in_folder {
            let what = format!("`{key}` has no effect on this step, which works in no folder");
            reader.hinted(inner.key(key), what, "it is for steps with shell, claude");
        }
    }
    let patterns = |name| {
        let nodes = reader.texts(&inner, name).unwrap_or_default();
        for node in nodes {
            relative(reader, node, scalar(node));
        }
        reader.words(&inner, name)
    };
    let that = reader.texts(&inner, "that").unwrap_or_default();
    let run = reader.text(&inner, "run");
    if let Some(node) = inner.get("run") {
        shell::no_templates(reader, node);
    }
    Expect {
        changed_only: inner.get("changed_only").map(|_| patterns("changed_only")),
        unchanged: patterns("unchanged"),
        claimed: reader.expr(&inner, "claimed", at, Place::Expect),
        that: that.into_iter().filter_map(|node| reader.expr_of(node, at, Place::Expect)).collect(),
        run: run.map(str::to_owned),
    }
}
