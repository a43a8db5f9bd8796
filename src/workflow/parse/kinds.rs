//! What a step does, by its kind.

use std::collections::BTreeMap;

use super::{
    nested, people,
    reader::{Fields, Reader, scalar},
    references::GIVEN,
    scope::Scopes,
    shell,
    step::{condition, named},
    uses::{At, Place},
};
use crate::{
    keys::{CLAUDE, HTTP, JAVASCRIPT, METHODS, SHELL, SLEEP},
    language::{Body, Claude, Condition, Http, Javascript, Kind, Shell, Sleep},
    problem::Severity,
    value::StepId,
    values,
    yaml::{Node, Value, shortened},
};

/// Memory of a `javascript` step that does not say.
const MEMORY: u64 = 64 * 1024 * 1024;
/// Redirections that a request follows when it does not say.
const REDIRECTS: u32 = 5;
/// What runs a script when it does not say: it stops at the first command that fails.
const SH: [&str; 3] = ["sh", "-e", "-c"];

/// All that a step which may only read can have, whatever else it names.
const READING: [&str; 5] = ["Read", "Grep", "Glob", "WebFetch", "WebSearch"];

const PLAIN: Place = Place::Step { secrets: false };
const SEALED: Place = Place::Step { secrets: true };

pub(super) fn kind<'a>(
    reader: &Reader<'a>,
    scopes: &mut Scopes<'a>,
    fields: &Fields<'a>,
    kind: &'static str,
    at: At,
) -> Option<Kind> {
    let node = fields.get(kind)?;
    let step = at.step?;
    scopes.all[at.scope].steps[step].gives = gives(kind, node);
    match kind {
        "shell" => script(reader, node).map(Kind::Shell),
        "claude" => claude(reader, scopes, node, at).map(Kind::Claude),
        "http" => http(reader, node, at).map(Kind::Http),
        "javascript" => javascript(reader, node, at).map(Kind::Javascript),
        "sleep" => sleep(reader, node, at).map(Kind::Sleep),
        "condition" => Some(Kind::Condition(Condition { test: condition(reader, node, at)? })),
        "approval" => people::approval(reader, scopes, fields, node, at).map(Kind::Approval),
        "workflow" => nested::call(reader, node, at).map(Kind::Call),
        _ => nested::foreach(reader, scopes, node, at).map(Kind::Foreach),
    }
}

/// What a step of a kind gives besides what every step does.
fn gives<'a>(kind: &str, node: &'a Node) -> Option<Vec<&'a str>> {
    match kind {
        // What it calls is not known here.
        "workflow" => None,
        "condition" => Some(vec!["value"]),
        "approval" => Some(vec!["approved", "by", "words", "answers", "round"]),
        "foreach" => Some(vec!["results", "failed"]),
        "http" => {
            let mut gives = vec!["headers"];
            if let Value::Map(pairs) = &node.value
                && let Some((_, extract)) = pairs.iter().find(|(key, _)| key.text == "extract")
                && let Value::Map(pairs) = &extract.value
            {
                gives.extend(pairs.iter().map(|(key, _)| key.text.as_str()));
            }
            Some(gives)
        }
        _ => Some(Vec::new()),
    }
}

fn script<'a>(reader: &Reader<'a>, node: &'a Node) -> Option<Shell> {
    let sh = || SH.map(str::to_owned).to_vec();
    let checked = |node: &'a Node| {
        shell::no_templates(reader, node);
        let text = reader.text_of(node, "shell")?;
        if text.trim().is_empty() {
            reader.error(node.span, "the script is empty");
        }
        Some(text.to_owned())
    };
    if !matches!(node.value, Value::Map(_)) {
        return Some(Shell { script: checked(node)?, shell: sh(), read_only: false });
    }
    let fields = reader.fields(node, &SHELL)?;
    let program = fields.get("shell").map(|node| {
        if !matches!(&node.value, Value::List(items) if !items.is_empty()) {
            reader.hinted(node.span, "`shell` is a list of words", "such as `[bash, -c]`");
        }
        reader.words(&fields, "shell")
    });
    Some(Shell {
        script: checked(fields.get("script")?)?,
        shell: program.unwrap_or_else(sh),
        read_only: reader.bool(&fields, "read_only"),
    })
}

fn claude<'a>(
    reader: &Reader<'a>,
    scopes: &mut Scopes<'a>,
    node: &'a Node,
    at: At,
) -> Option<Claude> {
    let step = at.step?;
    scopes.all[at.scope].steps[step].converses = true;
    if !matches!(node.value, Value::Map(_)) {
        reader.text_of(node, "claude")?;
        return Some(Claude {
            prompt: reader.template_of(node, at, PLAIN),
            session: None,
            goes_on: None,
            model: None,
            tools: Vec::new(),
            read_only: false,
            schema: None,
            micro_usd: None,
            max_turns: None,
        });
    }
    let fields = reader.fields(node, &CLAUDE)?;
    if fields.get("session").is_some() {
        scopes.all[at.scope].steps[step].converses = false;
        let of_a_step =
            ["continue", "model", "tools", "read_only", "schema", "cost_usd", "max_turns"];
        for key in of_a_step.into_iter().filter(|key| fields.get(key).is_some()) {
            let what = format!("`{key}` has no effect in a session people see");
            reader.hinted(fields.key(key), what, format!("leave out `{key}` or `session`"));
        }
    }
    let goes_on = reader.name::<StepId>(&fields, "continue", "id of a step");
    if let (Some(goes_on), Some(node)) = (&goes_on, fields.get("continue")) {
        scopes.all[at.scope].steps[step].goes_on = Some((goes_on.clone(), node.span));
    }
    let (tools, read_only) = (reader.words(&fields, "tools"), reader.bool(&fields, "read_only"));
    let reads = |rule: &&String| READING.contains(&rule.split('(').next().unwrap_or(rule).trim());
    if read_only
        && let Some(more) = tools.iter().find(|rule| !reads(rule))
        && let Some(node) = fields.get("tools")
    {
        let what = format!("`{more}` is never there where a step is `read_only`");
        let hint = "leave it out, and give what it would say in the prompt: `{{ steps.ID.text }}`";
        reader.problem(Severity::Warning, node.span, what, Some(hint.into()));
    }
    Some(Claude {
        prompt: reader.template(&fields, "prompt", at, PLAIN)?,
        session: reader.template(&fields, "session", at, PLAIN),
        goes_on,
        model: reader.text(&fields, "model").map(str::to_owned),
        tools,
        read_only,
        schema: fields.get("schema").and_then(|node| schema(reader, node)),
        micro_usd: reader.money(&fields, "cost_usd"),
        max_turns: reader.whole(&fields, "max_turns"),
    })
}

/// A schema as it stands here, or out of a file beside the workflow's.
fn schema(reader: &Reader<'_>, node: &Node) -> Option<serde_json::Value> {
    let schema = match &node.value {
        Value::Map(_) => reader.json(node)?,
        Value::Scalar { text, .. } if !node.is_nothing() => {
            let file = shortened(text);
            let outside = text.starts_with('/') || text.split('/').any(|part| part == "..");
            if outside {
                let what = format!("`{file}` lies outside of the workflow's folder");
                reader.hinted(node.span, what, "a schema lies beside the workflow's file");
                return None;
            }
            let read = (reader.neighbours)(text)
                .map_err(|error| format!("the schema `{file}` cannot be read: {error}"));
            let parsed = read.and_then(|text| {
                serde_json::from_str(&text)
                    .map_err(|error| format!("the schema `{file}` is no JSON: {error}"))
            });
            parsed.map_err(|what| reader.error(node.span, what)).ok()?
        }
        Value::Scalar { .. } | Value::List(_) => serde_json::Value::Null,
    };
    if !schema.is_object() {
        reader.error(node.span, "a schema is a map, or the name of a file with one");
        return None;
    }
    Some(schema)
}

fn http<'a>(reader: &Reader<'a>, node: &'a Node, at: At) -> Option<Http> {
    let fields = reader.fields(node, &HTTP)?;
    let text = reader.template(&fields, "body", at, SEALED).map(Body::Text);
    let json = fields.get("json").and_then(|node| {
        strings(reader, node, at);
        reader.json(node).map(Body::Json)
    });
    let method = reader.word(&fields, "method").unwrap_or(METHODS[0]);
    if text.is_some() && json.is_some() {
        reader.error(fields.key("json"), "a request has `body` or `json`, not both");
    } else if (text.is_some() || json.is_some()) && matches!(method, "GET" | "HEAD") {
        let key = if text.is_some() { "body" } else { "json" };
        let what = format!("a `{method}` request has no body");
        reader.hinted(fields.key(key), what, "set `method: POST`");
    }
    let url = reader.template(&fields, "url", at, SEALED)?;
    let starts = url.source.trim_start();
    if !["http://", "https://", "{{"].iter().any(|start| starts.starts_with(start))
        && let Some(node) = fields.get("url")
    {
        reader.error(node.span, "a URL starts with `https://` or `http://`");
    }
    for (key, _) in Reader::entries_of(&fields, "extract") {
        if GIVEN.contains(&key.text.as_str()) {
            let what = format!("`{}` is what every step gives", key.text);
            reader.hinted(key.span, what, "call it otherwise");
        }
    }
    Some(Http {
        method: method.into(),
        url,
        headers: headers(reader, &fields, at),
        body: text.or(json),
        expect: statuses(reader, &fields),
        extract: named(reader, &fields, "extract", |node| {
            reader.expr_of(node, at, Place::Response)
        }),
        allow_private: reader.bool(&fields, "allow_private"),
        redirects: reader.whole(&fields, "redirects").unwrap_or(REDIRECTS),
    })
}

/// Every string of a JSON body is a template.
fn strings<'a>(reader: &Reader<'a>, node: &'a Node, at: At) {
    match &node.value {
        Value::Scalar { .. } => {
            reader.template_of(node, at, SEALED);
        }
        Value::List(items) => items.iter().for_each(|item| strings(reader, item, at)),
        Value::Map(pairs) => {
            for (key, node) in pairs {
                if key.text.contains("{{") {
                    reader.error(key.span, "nothing is filled into a key");
                }
                strings(reader, node, at);
            }
        }
    }
}

fn headers<'a>(
    reader: &Reader<'a>,
    fields: &Fields<'a>,
    at: At,
) -> Vec<(String, crate::template::Template)> {
    let mut headers = Vec::new();
    for (key, node) in reader.entries(fields, "headers") {
        let token = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
        if key.text.is_empty() || !key.text.bytes().all(token) {
            reader.error(key.span, format!("`{}` is no name of a header", shortened(&key.text)));
        }
        if reader.text_of(node, &key.text).is_some() {
            headers.push((key.text.clone(), reader.template_of(node, at, SEALED)));
        }
    }
    headers
}

fn statuses<'a>(reader: &Reader<'a>, fields: &Fields<'a>) -> Vec<u16> {
    let status = |node: &&Node| {
        let number = scalar(node).parse::<u16>().ok().filter(|number| (100..=599).contains(number));
        if number.is_none() {
            reader.error(node.span, format!("{} is no HTTP status such as `200`", node.what()));
        }
        number
    };
    reader.texts(fields, "expect").unwrap_or_default().iter().filter_map(status).collect()
}

fn javascript<'a>(reader: &Reader<'a>, node: &'a Node, at: At) -> Option<Javascript> {
    let code = |node: &'a Node| {
        let code = reader.text_of(node, "javascript")?;
        shell::no_templates_in_code(reader, node);
        Some(code.to_owned())
    };
    if !matches!(node.value, Value::Map(_)) {
        return Some(Javascript { code: code(node)?, input: BTreeMap::new(), memory: MEMORY });
    }
    let fields = reader.fields(node, &JAVASCRIPT)?;
    let input = named(reader, &fields, "input", |node| reader.expr_of(node, at, PLAIN));
    Some(Javascript {
        code: code(fields.get("code")?)?,
        input: input.into_iter().collect(),
        memory: reader.size(&fields, "memory").unwrap_or(MEMORY),
    })
}

fn sleep<'a>(reader: &Reader<'a>, node: &'a Node, at: At) -> Option<Sleep> {
    if matches!(node.value, Value::Map(_)) {
        let fields = reader.fields(node, &SLEEP)?;
        let until = reader.template(&fields, "until", at, PLAIN)?;
        if until.is_plain() && !is_time(until.source.trim()) {
            let node = fields.get("until")?;
            let what = format!("{} is no time", node.what());
            let hint = "an instant such as `2026-12-24T08:00:00+01:00`, or `08:00`";
            reader.hinted(node.span, what, hint);
        }
        return Some(Sleep::Until(until));
    }
    let text = reader.text_of(node, "sleep")?;
    values::duration(text).map_err(|what| reader.error(node.span, what)).ok().map(Sleep::For)
}

fn is_time(text: &str) -> bool {
    chrono::DateTime::parse_from_rfc3339(text).is_ok()
        || (text.len() == 5 && chrono::NaiveTime::parse_from_str(text, "%H:%M").is_ok())
}
