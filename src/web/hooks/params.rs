//! What a call gives a run: values out of its body, by the workflow's own expressions or by name.

use axum::http::HeaderMap;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use vigie_core::run::Given;
use vigie_workflow::{Workflow, language::Webhook};

use super::{proof::SECRET_HEADERS, refused::Refused};

type Params = BTreeMap<String, Given>;

pub(super) fn none() -> Params {
    BTreeMap::new()
}

/// What does not fit their kinds is found where every start of a run is looked at.
pub(super) fn read(
    workflow: &Workflow,
    webhook: &Webhook,
    body: Option<Value>,
    headers: &HeaderMap,
) -> Result<Params, Refused> {
    if webhook.params.is_empty() {
        return Ok(by_name(workflow, body));
    }
    let context = json!({ "body": body, "headers": shown(headers) });
    let context = vigie_workflow::template::context(&context);
    let mut params = BTreeMap::new();
    let mut mistakes = Vec::new();
    for (name, expr) in &webhook.params {
        match expr.value(&context) {
            Ok(value) => {
                params.insert(name.to_string(), Given::Json(value));
            }
            Err(error) => mistakes.push(format!("`{name}`, which is `{}`: {error}", expr.source)),
        }
    }
    if mistakes.is_empty() { Ok(params) } else { Err(Refused::params(mistakes)) }
}

/// The body's own keys that are names of params; what else it has is the caller's business.
fn by_name(workflow: &Workflow, body: Option<Value>) -> Params {
    let Some(Value::Object(mut body)) = body else { return none() };
    let names = workflow.params.iter().map(|param| param.name.as_str());
    let values = names.filter_map(|name| Some((name.to_owned(), body.remove(name)?)));
    values.map(|(name, value)| (name, Given::Json(value))).collect()
}

/// In lower case, without those that show the caller's secret.
fn shown(headers: &HeaderMap) -> Map<String, Value> {
    let safe = headers.iter().filter(|(name, _)| !SECRET_HEADERS.contains(&name.as_str()));
    safe.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.into()))).collect()
}
