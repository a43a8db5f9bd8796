//! Steps that wait for people.

use super::{
    reader::{Fields, Reader},
    scope::Scopes,
    uses::{At, Place},
};
use crate::{
    keys::{APPROVAL, FIELD},
    language::{Approval, Field, OnTimeout},
    problem::Severity,
    value::{ParamName, StepId},
    yaml::{Node, Value},
};

/// Fields of one form: a phone shows one after the other.
const MOST_FIELDS: usize = 20;

pub(super) fn approval<'a>(
    reader: &Reader<'a>,
    scopes: &mut Scopes<'a>,
    step: &Fields<'a>,
    node: &'a Node,
    at: At,
) -> Option<Approval> {
    let place = Place::Step { secrets: false };
    let short = reader.duration(step, "timeout");
    if !matches!(node.value, Value::Map(_)) {
        reader.text_of(node, "approval")?;
        return Some(Approval {
            ask: reader.template_of(node, at, place),
            show: None,
            form: Vec::new(),
            by: Vec::new(),
            count: 1,
            not_starter: false,
            timeout: short,
            on_timeout: OnTimeout::default(),
            send_back: None,
            no_is_fine: false,
        });
    }
    let fields = reader.fields(node, &APPROVAL)?;
    let own = reader.duration(&fields, "timeout");
    if short.is_some() && own.is_some() {
        reader.error(step.key("timeout"), "this approval has two timeouts");
    }
    let timeout = own.or(short);
    if fields.get("on_timeout").is_some() && timeout.is_none() {
        let what = "`on_timeout` has no effect without `timeout`";
        reader.error(fields.key("on_timeout"), what);
    }
    let not_starter = reader.bool(&fields, "not_starter");
    let on_timeout = reader.word(&fields, "on_timeout");
    if not_starter && on_timeout == Some("approve") {
        let what =
            "once `timeout` is over it is approved by nobody, and `not_starter` asks for somebody";
        let hint = Some("`on_timeout: deny` waits for somebody else".into());
        reader.problem(Severity::Warning, fields.key("on_timeout"), what.into(), hint);
    }
    let send_back = reader.name::<StepId>(&fields, "send_back", "id of a step");
    if let (Some(to), Some(node), Some(step)) = (&send_back, fields.get("send_back"), at.step) {
        scopes.all[at.scope].steps[step].send_back = Some((to.clone(), node.span));
    }
    Some(Approval {
        ask: reader.template(&fields, "ask", at, place)?,
        show: reader.template(&fields, "show", at, place),
        form: form(reader, &fields),
        by: reader.words(&fields, "by"),
        count: reader.whole(&fields, "count").unwrap_or(1),
        not_starter,
        timeout,
        on_timeout: match on_timeout {
            Some("approve") => OnTimeout::Approve,
            Some("fail") => OnTimeout::Fail,
            _ => OnTimeout::Deny,
        },
        send_back,
        no_is_fine: reader.bool(&fields, "no_is_fine"),
    })
}

fn form<'a>(reader: &Reader<'a>, fields: &Fields<'a>) -> Vec<Field> {
    let Some(node) = fields.get("form") else { return Vec::new() };
    let Value::List(items) = &node.value else {
        let what = format!("`form` is a list, not {}", node.what());
        reader.hinted(node.span, what, "begin each field with `- id: …`");
        return Vec::new();
    };
    if items.len() > MOST_FIELDS {
        reader.error(node.span, format!("a form has at most {MOST_FIELDS} fields"));
    }
    let mut form: Vec<Field> = Vec::new();
    for item in items {
        let Some(inner) = reader.fields(item, &FIELD) else { continue };
        let Some(id) = reader.name::<ParamName>(&inner, "id", "id of a field") else { continue };
        if form.iter().any(|field| field.id == id) {
            reader.error(inner.span, format!("two fields are called `{id}`"));
        }
        let title = reader.text(&inner, "title").unwrap_or_default().to_owned();
        form.push(Field { id, title, choices: reader.words(&inner, "choices") });
    }
    form
}
