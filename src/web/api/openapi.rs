//! The description of the API, as `OpenAPI` 3.1: what the handlers say of themselves, with what is the same
//! for all of them.

use serde_json::{Map, Value, json};
use utoipa::{PartialSchema as _, openapi::OpenApi};

use crate::web::shapes::ErrorShape;

/// What is true of the whole API, for whoever reads its description.
const ABOUT: &str = "Fields may be added; none is renamed or removed within a version. The desk's socket needs no \
    login; over TCP a login or, for reading, a token is needed. docs/api.md says more.";

/// The document, from what the router collected.
pub(super) fn document(collected: &OpenApi) -> Value {
    let mut document = serde_json::to_value(collected).unwrap_or_default();
    document["info"] = json!({
        "title": "Vigie",
        "description": ABOUT,
        "version": env!("CARGO_PKG_VERSION"),
        "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
    });
    document["servers"] = json!([{ "url": "/api/v1" }]);
    document["security"] = json!([{ "login": [] }, { "token": [] }, {}]);
    // Every request may be answered with it, so none names it.
    document["components"]["schemas"]["ErrorShape"] = json!(ErrorShape::schema());
    document["components"]["securitySchemes"] = json!({
        "login": { "type": "apiKey", "in": "cookie", "name": "vigie", "description": "The cookie of a login; its name ends in the port." },
        "token": { "type": "http", "scheme": "bearer", "description": "Of `vigie token create`, with the scope `read`: every GET." },
    });
    if let Some(paths) = document["paths"].as_object_mut() {
        *paths =
            std::mem::take(paths).into_iter().map(|(path, item)| of_path(&path, item)).collect();
    }
    document
}

/// One address and all that is done there.
fn of_path(path: &str, mut item: Value) -> (String, Value) {
    // What the router calls `{*name}` may have slashes in it.
    let path = path.replace("{*", "{");
    if let Some(operations) = item.as_object_mut() {
        for (method, operation) in operations {
            if let Some(operation) = operation.as_object_mut() {
                complete(&path, method, operation);
            }
        }
    }
    (path, item)
}

fn complete(path: &str, method: &str, operation: &mut Map<String, Value>) {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    let mut parameters: Vec<_> = names.map(in_path).collect();
    if let Some(Value::Array(others)) = operation.remove("parameters") {
        parameters.extend(others);
    }
    if !parameters.is_empty() {
        operation.insert("parameters".into(), parameters.into());
    }
    let words: Vec<_> = path.split(['/', '{', '}']).filter(|word| !word.is_empty()).collect();
    operation.insert("operationId".into(), format!("{method}_{}", words.join("_")).into());
    let tag = words.first().copied().unwrap_or_default();
    operation.insert("tags".into(), json!([tag]));
    let fault = json!({
        "description": "It was not done: why, and what to do next.",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorShape" } } },
    });
    operation["responses"]["default"] = fault;
}
