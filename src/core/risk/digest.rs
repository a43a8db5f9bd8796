use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// SHA-256, in hex, of what is asked: tool, input and folder as JSON with sorted keys. Two requests
/// with the same digest are the same request.
pub fn digest(tool: &str, input: &Value, cwd: &str) -> String {
    let mut text = String::from("{\"cwd\":");
    canonical(&Value::from(cwd), &mut text);
    text.push_str(",\"input\":");
    canonical(input, &mut text);
    text.push_str(",\"tool\":");
    canonical(&Value::from(tool), &mut text);
    text.push('}');
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// JSON without blanks, keys sorted, whatever order the parser keeps.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<(&String, &Value)> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                canonical(&Value::from(key.as_str()), out);
                out.push(':');
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                canonical(value, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_keys_does_not_count_and_all_else_does() {
        let one = digest("Bash", &json!({"command": "ls", "z": [1, {"b": 1, "a": null}]}), "/p");
        let other: Value =
            serde_json::from_str(r#"{"z":[1,{"a":null,"b":1}], "command":"ls"}"#).unwrap();
        assert_eq!(one, digest("Bash", &other, "/p"));
        assert_eq!(one.len(), 64);
        assert_ne!(one, digest("Bash", &other, "/q"));
        assert_ne!(one, digest("Bas", &other, "/p"));
        // `printf '{"cwd":"/p","input":{},"tool":"T"}' | sha256sum`
        assert_eq!(
            digest("T", &json!({}), "/p"),
            "0fd42466431b03955abb6add78ed75fdc4c7efc7d8a8865ccc0385215a49127c"
        );
    }
}
