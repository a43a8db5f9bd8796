//! Reads a message before the protocol's library does. That answers whatever it cannot read with a
//! bare 415, and JSON-RPC has codes of its own: what is no JSON, and what is no request.

use serde_json::{Map, Value, json};

/// What a message asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `None` for an answer to a question of ours.
    pub method: Option<String>,
    /// The tool, prompt or resource it is about.
    pub name: Option<String>,
}

/// Why a body is no message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Broken {
    /// It is no JSON, and where it stops being that.
    Json(String),
    /// It is JSON and no message. `id` is the one it came with, if it can be told.
    Request { id: Value, words: &'static str },
}

impl Broken {
    /// Source of the codes: JSON-RPC 2.0, section 5.1.
    pub(super) fn answer(&self) -> Value {
        let (id, code, words) = match self {
            Self::Json(words) => (&Value::Null, -32700, format!("Parse error: {words}")),
            Self::Request { id, words } => (id, -32600, format!("Invalid Request: {words}")),
        };
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": words } })
    }
}

/// A message as it was read: what goes on is exactly this, so that nothing in it can mean two things.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) asked: Asked,
    pub(super) body: Vec<u8>,
}

pub(super) fn read(body: &[u8]) -> Result<Message, Broken> {
    let value: Value =
        serde_json::from_slice(body).map_err(|error| Broken::Json(error.to_string()))?;
    let asked = match &value {
        Value::Object(fields) => asked(fields)?,
        Value::Array(_) => return Err(refuse(&Value::Null, "the protocol knows no batches")),
        _ => return Err(refuse(&Value::Null, "a message is an object")),
    };
    Ok(Message { asked, body: value.to_string().into_bytes() })
}

fn asked(fields: &Map<String, Value>) -> Result<Asked, Broken> {
    let id = match fields.get("id") {
        Some(id) if id.is_string() || id.is_i64() || id.is_u64() => id,
        Some(_) => return Err(refuse(&Value::Null, "`id` is a text or a whole number")),
        None => &Value::Null,
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(refuse(id, "`jsonrpc` is not \"2.0\""));
    }
    let Some(method) = fields.get("method") else {
        let answers = fields.contains_key("result") != fields.contains_key("error");
        return if answers && !id.is_null() {
            Ok(Asked::default())
        } else {
            Err(refuse(id, "it has no `method`"))
        };
    };
    let method = method.as_str().ok_or_else(|| refuse(id, "`method` is no text"))?;
    let params = match fields.get("params") {
        Some(Value::Object(params)) => Some(params),
        Some(_) => return Err(refuse(id, "`params` is no object")),
        None => None,
    };
    let text = |key| params?.get(key)?.as_str().map(str::to_owned);
    Ok(Asked { method: Some(method.into()), name: text("name").or_else(|| text("uri")) })
}

fn refuse(id: &Value, words: &'static str) -> Broken {
    Broken::Request { id: id.clone(), words }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(body: &str) -> (i64, Value, String) {
        let answer = read(body.as_bytes()).unwrap_err().answer();
        let error = &answer["error"];
        (
            error["code"].as_i64().unwrap(),
            answer["id"].clone(),
            error["message"].as_str().unwrap().into(),
        )
    }

    #[test]
    fn what_is_no_json_is_a_parse_error_with_its_place() {
        for body in ["", "{", "{\"a\":}", "\u{feff}{}", "nil", "{} {}"] {
            assert_eq!(code(body).0, -32700, "{body}");
        }
        let (number, id, words) = code("{\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"\\ud83d\"}");
        assert_eq!((number, id), (-32700, Value::Null));
        assert_eq!(words, "Parse error: unexpected end of hex escape at line 2 column 24");
        assert_eq!(read(b"{\"a\":\"\xff\"}").unwrap_err().answer()["error"]["code"], -32700);
        let deep = "[".repeat(200);
        assert_eq!(code(&deep).0, -32700);
    }

    #[test]
    fn what_is_no_message_is_an_invalid_request_under_its_own_id() {
        for (body, id) in [
            ("[]", Value::Null),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null),
            ("7", Value::Null),
            ("{}", Value::Null),
            (r#"{"id":7,"method":"ping"}"#, json!(7)),
            (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!("a")),
            (r#"{"jsonrpc":"2.0","id":7}"#, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":3}"#, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#, json!(7)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null),
            (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#, json!(7)),
            (r#"{"jsonrpc":"2.0","result":{}}"#, Value::Null),
        ] {
            let (number, of, _) = code(body);
            assert_eq!((number, of), (-32600, id), "{body}");
        }
    }

    #[test]
    fn a_key_that_is_given_twice_means_what_goes_on() {
        let body =
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#;
        let message = read(body).unwrap();
        assert_eq!(message.asked.name.as_deref(), Some("b"));
        let goes_on: Value = serde_json::from_slice(&message.body).unwrap();
        assert_eq!(goes_on["params"], json!({ "name": "b" }));
    }

    #[test]
    fn a_request_says_what_it_is_about() {
        let read = |text: &str| read(text.as_bytes()).unwrap().asked;
        let resource = read(
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"vigie://inbox"}}"#,
        );
        assert_eq!(resource.name.as_deref(), Some("vigie://inbox"));
        let notice = read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(notice.method.as_deref(), Some("notifications/initialized"));
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#), Asked::default());
    }
}
