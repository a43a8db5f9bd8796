//! The workflow as a whole: everything but its steps.

use super::{
    reader::{Fields, Reader, scalar},
    step::{env, named},
    uses::{At, Place},
};
use crate::{
    cron,
    keys::{LIMITS, ON, PARAM, WEBHOOK},
    language::{
        CatchUp, DEFAULT_CONCURRENCY, DEFAULT_PARALLEL, Limits, Overlap, Param, ParamKind, Proof,
        Triggers, Webhook,
    },
    params,
    problem::Severity,
    template::Template,
    value::{ParamName, SecretName},
    yaml::{Node, Value},
};

/// Largest body of a webhook when it does not say.
const MAX_BODY: u64 = 256 * 1024;
/// Largest body it may take: the hub keeps it with the run.
const LARGEST_BODY: u64 = 10 * 1024 * 1024;
/// Params of one workflow: a phone asks for one after the other.
const MOST_PARAMS: usize = 50;
/// Times that one workflow may have.
const MOST_CRON: usize = 50;

const WHOLE: At = At { scope: 0, step: None };

pub(super) fn own_env<'a>(reader: &Reader<'a>, fields: &Fields<'a>) -> Vec<(String, Template)> {
    env(reader, fields, WHOLE, Place::Workflow { secrets: true })
}

pub(super) fn project<'a>(reader: &Reader<'a>, fields: &Fields<'a>) -> Option<Template> {
    reader.template(fields, "project", WHOLE, Place::Workflow { secrets: false })
}

pub(super) fn outputs<'a>(
    reader: &Reader<'a>,
    fields: &Fields<'a>,
) -> Vec<(String, crate::template::Expr)> {
    named(reader, fields, "outputs", |node| reader.expr_of(node, WHOLE, Place::Outputs))
}

pub(super) fn secrets<'a>(reader: &Reader<'a>, fields: &Fields<'a>) -> Vec<SecretName> {
    let Some(node) = fields.get("secrets") else { return Vec::new() };
    if !matches!(node.value, Value::List(_)) {
        reader.hinted(node.span, "`secrets` is a list of names", "such as `[GITHUB_TOKEN]`");
        return Vec::new();
    }
    let mut secrets = Vec::new();
    for node in reader.texts(fields, "secrets").unwrap_or_default() {
        let name = reader.name_of::<SecretName>(scalar(node), node.span, "name of a secret");
        secrets.extend(name.filter(|name| !secrets.contains(name)));
    }
    secrets
}

pub(super) fn params<'a>(reader: &Reader<'a>, fields: &Fields<'a>) -> Vec<Param> {
    let mut params = Vec::new();
    for (key, node) in reader.entries(fields, "params") {
        let name = reader.name_of::<ParamName>(&key.text, key.span, "name of a param");
        if let Some(param) = name.and_then(|name| param(reader, name, node)) {
            params.push(param);
        }
    }
    if params.len() > MOST_PARAMS {
        reader.error(fields.key("params"), format!("more than {MOST_PARAMS} params"));
    }
    params
}

fn param<'a>(reader: &Reader<'a>, name: ParamName, node: &'a Node) -> Option<Param> {
    let fields = reader.fields(node, &PARAM)?;
    let kind = match reader.word(&fields, "type") {
        Some("integer") => {
            let minimum = integer(reader, &fields, "minimum");
            let maximum = integer(reader, &fields, "maximum");
            if minimum.zip(maximum).is_some_and(|(minimum, maximum)| minimum > maximum) {
                reader.error(fields.key("maximum"), "`maximum` is less than `minimum`");
            }
            ParamKind::Integer { minimum, maximum }
        }
        Some("number") => ParamKind::Number,
        Some("boolean") => ParamKind::Boolean,
        Some("json") => ParamKind::Json,
        _ => ParamKind::String {
            longest: reader.whole(&fields, "longest").and_then(|most| usize::try_from(most).ok()),
        },
    };
    let of_others: &[&str] = match kind {
        ParamKind::String { .. } => &["minimum", "maximum"],
        ParamKind::Integer { .. } => &["longest"],
        ParamKind::Number | ParamKind::Boolean | ParamKind::Json => {
            &["longest", "minimum", "maximum"]
        }
    };
    for key in ["longest", "minimum", "maximum"] {
        if of_others.contains(&key) && fields.get(key).is_some() {
            reader.error(fields.key(key), format!("`{key}` has no effect on a param of this type"));
        }
    }
    let mut param = Param {
        name,
        title: reader.text(&fields, "title").unwrap_or_default().to_owned(),
        kind,
        choices: Vec::new(),
        default: None,
    };
    let choices = match fields.get("enum") {
        None => Vec::new(),
        Some(Node { value: Value::List(items), .. }) if !items.is_empty() => {
            let fitting = |node| value(reader, &param, node);
            items.iter().filter_map(fitting).collect()
        }
        Some(node) => {
            reader.hinted(node.span, "`enum` is a list of values", "such as `[staging, prod]`");
            Vec::new()
        }
    };
    param.choices = choices;
    // One that does not fit was told, and is not missing as well.
    let default = |node| value(reader, &param, node).unwrap_or(serde_json::Value::Null);
    param.default = fields.get("default").map(default);
    Some(param)
}

fn integer<'a>(reader: &Reader<'a>, fields: &Fields<'a>, name: &'static str) -> Option<i64> {
    let node = fields.get(name)?;
    let number = reader.text_of(node, name)?.parse();
    let tell = |_| reader.error(node.span, format!("{} is no whole number", node.what()));
    number.map_err(tell).ok()
}

/// A value of a param as its file gives it. Of a text what is written counts, so that `1.10` stays it.
fn value(reader: &Reader<'_>, param: &Param, node: &Node) -> Option<serde_json::Value> {
    let is_text = matches!(param.kind, ParamKind::String { .. }) && !node.is_nothing();
    let value = match &node.value {
        Value::Scalar { text, .. } if is_text => serde_json::Value::from(text.as_str()),
        _ => reader.json(node)?,
    };
    let fits = params::fits(param, &value);
    fits.map_err(|why| reader.error(node.span, format!("this does not fit: {why}"))).ok()?;
    Some(value)
}

pub(super) fn limits<'a>(reader: &Reader<'a>, fields: &Fields<'a>) -> Limits {
    let inner = fields.get("limits").and_then(|node| reader.fields(node, &LIMITS));
    let Some(inner) = inner else {
        return Limits {
            micro_usd: None,
            timeout: None,
            concurrency: DEFAULT_CONCURRENCY,
            overlap: Overlap::default(),
            parallel: DEFAULT_PARALLEL,
        };
    };
    let timeout = reader.duration(&inner, "timeout");
    if timeout.is_some_and(|timeout| timeout.is_zero()) {
        reader.error(inner.key("timeout"), "a timeout of nothing would end it at once");
    }
    Limits {
        micro_usd: reader.money(&inner, "cost_usd"),
        timeout,
        concurrency: reader.whole(&inner, "concurrency").unwrap_or(DEFAULT_CONCURRENCY),
        overlap: match reader.word(&inner, "overlap") {
            Some("skip") => Overlap::Skip,
            Some("replace") => Overlap::Replace,
            _ => Overlap::Queue,
        },
        parallel: reader.whole(&inner, "parallel").unwrap_or(DEFAULT_PARALLEL),
    }
}

pub(super) fn triggers<'a>(reader: &Reader<'a>, fields: &Fields<'a>, params: &[Param]) -> Triggers {
    let Some(inner) = fields.get("on").and_then(|node| reader.fields(node, &ON)) else {
        return Triggers::default();
    };
    if inner.get("cron").is_none()
        && inner.get("webhook").is_none()
        && inner.get("timezone").is_none()
    {
        reader.hinted(fields.key("on"), "`on` starts nothing", "give it `cron` or `webhook`");
    }
    let timezone = reader.text(&inner, "timezone");
    let zone = timezone.map_or(Ok(chrono_tz::Tz::UTC), cron::zone);
    if let (Err(why), Some(node)) = (&zone, inner.get("timezone")) {
        reader.error(node.span, why.as_str());
    }
    let zone = zone.unwrap_or(chrono_tz::Tz::UTC);
    let times = reader.texts(&inner, "cron").unwrap_or_default();
    if times.len() > MOST_CRON {
        reader.error(inner.key("cron"), format!("more than {MOST_CRON} times"));
    }
    for node in &times {
        match cron::Schedule::in_zone(scalar(node), zone) {
            Ok((_, warnings)) => {
                for warning in warnings {
                    let hint = Some(warning.hint);
                    reader.problem(Severity::Warning, node.span, warning.what, hint);
                }
            }
            Err(why) => reader.error(node.span, why),
        }
    }
    if let Some(node) = times.first() {
        given(reader, node, params, &[], "cron gives none");
    }
    if inner.get("catch_up").is_some() && times.is_empty() {
        reader.error(inner.key("catch_up"), "`catch_up` has no effect without `cron`");
    }
    Triggers {
        cron: times.iter().map(|node| scalar(node).trim().to_owned()).collect(),
        timezone: timezone.map(str::to_owned),
        catch_up: match reader.word(&inner, "catch_up") {
            Some("skip") => CatchUp::Skip,
            Some("all") => CatchUp::All,
            _ => CatchUp::Latest,
        },
        webhook: inner.get("webhook").and_then(|node| webhook(reader, node, params)),
    }
}

fn webhook<'a>(reader: &Reader<'a>, node: &'a Node, known: &[Param]) -> Option<Webhook> {
    let fields = reader.fields(node, &WEBHOOK)?;
    let mut params = Vec::new();
    for (name, expr) in
        named(reader, &fields, "params", |node| reader.expr_of(node, WHOLE, Place::Call))
    {
        if let Some(param) = known.iter().find(|param| param.name.as_str() == name) {
            params.push((param.name.clone(), expr));
        } else {
            let key = reader.entries(&fields, "params").iter().find(|(key, _)| key.text == name);
            let near =
                crate::nearest::nearest(&name, known.iter().map(|param| param.name.as_str()));
            let hint = near.map_or_else(
                || "declare it under `params` of the workflow".into(),
                |near| format!("did you mean `{near}`?"),
            );
            let span = key.map_or(node.span, |(key, _)| key.span);
            reader.hinted(span, format!("there is no param `{name}`"), hint);
        }
    }
    let names: Vec<&str> = params.iter().map(|(name, _)| name.as_str()).collect();
    // Without any, keys of the body are taken by their names, and a call says what is missing.
    if !names.is_empty() {
        given(reader, node, known, &names, "the webhook gives none");
    }
    let max_body = reader.size(&fields, "max_body").unwrap_or(MAX_BODY);
    if max_body > LARGEST_BODY {
        reader.error(fields.key("max_body"), format!("`max_body` is at most {LARGEST_BODY} bytes"));
    }
    Some(Webhook {
        secret: reader.name(&fields, "secret", "name of a secret")?,
        proof: match reader.word(&fields, "proof") {
            Some("hmac") => Proof::Hmac,
            _ => Proof::Token,
        },
        max_body,
        params,
    })
}

/// A trigger that cannot say what a param needs would fail each time.
fn given(reader: &Reader<'_>, node: &Node, params: &[Param], names: &[&str], why: &str) {
    for param in params {
        let name = param.name.as_str();
        if param.default.is_none() && !names.contains(&name) {
            let what = format!("the param `{name}` has no default, and {why}");
            reader.hinted(node.span, what, format!("give `{name}` a default"));
        }
    }
}
