//! A tree as JSON, where the language takes any value: defaults, bodies, schemas, lists.

use serde_json::{Map, Number, Value as Json};

use super::tree::{Node, Span, Value};

/// Why a value has no JSON that everybody would agree on.
#[derive(Clone, Debug)]
pub(crate) struct JsonError {
    pub(crate) span: Span,
    pub(crate) what: String,
}

/// Plain scalars as YAML 1.2 reads them. What other readers of YAML take for something else (`0777`,
/// `0o17`, `.inf`, a number that does not fit) is refused: in quotes it is text.
pub(crate) fn json(node: &Node) -> Result<Json, JsonError> {
    match &node.value {
        Value::Scalar { .. } if node.is_nothing() => Ok(Json::Null),
        Value::Scalar { text, plain: true } => {
            plain(text).map_err(|what| JsonError { span: node.span, what })
        }
        Value::Scalar { text, plain: false } => Ok(Json::String(text.clone())),
        Value::List(items) => Ok(Json::Array(items.iter().map(json).collect::<Result<_, _>>()?)),
        Value::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, node)| Ok((key.text.clone(), json(node)?)));
            Ok(Json::Object(pairs.collect::<Result<Map<_, _>, _>>()?))
        }
    }
}

fn plain(text: &str) -> Result<Json, String> {
    match text {
        "true" | "True" | "TRUE" => return Ok(Json::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Json::Bool(false)),
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Ok(Json::String(text.into()));
    }
    let is_whole = digits.bytes().all(|c| c.is_ascii_digit());
    let surprising = (digits.len() > 1 && is_whole && digits.starts_with('0'))
        || ["0o", "0x", "0b"].iter().any(|start| digits.starts_with(start))
        || matches!(digits, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN");
    if surprising {
        return Err(format!(
            "`{text}` means one thing to some readers of YAML and another to others"
        ));
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if is_whole {
        let number = unsigned.parse::<i64>().map(Number::from);
        let number = number.or_else(|_| unsigned.parse::<u64>().map(Number::from));
        return number.map(Json::Number).map_err(|_| format!("`{text}` is too large for a number"));
    }
    let is_float = digits.bytes().all(|c| c.is_ascii_digit() || b".eE+-".contains(&c));
    match unsigned.parse::<f64>() {
        Ok(number) if is_float => Number::from_f64(number)
            .map(Json::Number)
            .ok_or_else(|| format!("`{text}` is too large for a number")),
        Ok(_) | Err(_) => Ok(Json::String(text.into())),
    }
}
