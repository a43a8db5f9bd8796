//! The values a run starts with: typed, within bounds, and every mistake said at once.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use crate::{
    language::{Param, ParamKind, Workflow},
    nearest::nearest,
    value::ParamName,
};

/// Longest value of a param, in bytes of its text or JSON: it may go into an environment variable, of
/// which Linux takes 128 KiB.
pub const LONGEST_VALUE: usize = 64 * 1024;

/// Lists and maps that stand in one another in a value, at the most, as in a file: what is read back
/// after a start of the daemon has this and the log around it.
pub const DEEPEST_VALUE: usize = 64;

/// Whether more than `most` lists and maps stand in one another there.
pub(crate) fn is_deeper_than(most: usize, value: &Value) -> bool {
    let inner = |value: &Value| match most.checked_sub(1) {
        Some(left) => is_deeper_than(left, value),
        None => true,
    };
    match value {
        Value::Array(items) => most == 0 || items.iter().any(inner),
        Value::Object(map) => most == 0 || map.values().any(inner),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// What is said of one that is.
pub(crate) fn too_deep(what: &str) -> String {
    format!("more than {DEEPEST_VALUE} lists and maps stand in one another in {what}")
}

/// A value as somebody gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Out of `name=value`: what it means is up to the param.
    Text(String),
    Json(Value),
}

/// The value of each param of `workflow`, defaults included.
///
/// # Errors
/// A sentence for each value that is missing, unknown or does not fit.
pub fn typed(
    workflow: &Workflow,
    mut given: BTreeMap<String, Given>,
) -> Result<BTreeMap<ParamName, Value>, Vec<String>> {
    let mut values = BTreeMap::new();
    let mut wrong = Vec::new();
    for param in &workflow.params {
        let value = match (given.remove(param.name.as_str()), &param.default) {
            (Some(Given::Text(text)), _) => from_text(param.kind, &text),
            (Some(Given::Json(value)), _) => Ok(value),
            (None, Some(value)) => Ok(value.clone()),
            (None, None) => {
                wrong.push(format!("`{}` is needed ({})", param.name, wanted(param)));
                continue;
            }
        };
        match value.and_then(|value| fits(param, &value).map(|()| value)) {
            Ok(value) => {
                values.insert(param.name.clone(), value);
            }
            Err(why) => wrong.push(format!("`{}`: {why}", param.name)),
        }
    }
    wrong.extend(given.keys().map(|name| unknown(workflow, name)));
    if wrong.is_empty() { Ok(values) } else { Err(wrong) }
}

fn unknown(workflow: &Workflow, name: &str) -> String {
    let known: BTreeSet<&str> = workflow.params.iter().map(|param| param.name.as_str()).collect();
    let name = crate::yaml::shortened(name);
    match nearest(&name, known.iter().copied()) {
        Some(near) => format!("there is no param `{name}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("there is no param `{name}`: it has none"),
        None => {
            let names: Vec<_> = known.into_iter().collect();
            format!("there is no param `{name}`; its params: {}", names.join(", "))
        }
    }
}

/// What a param takes, in words.
fn wanted(param: &Param) -> String {
    if !param.choices.is_empty() {
        return format!("one of {}", listed(&param.choices));
    }
    match param.kind {
        ParamKind::String { .. } => "text".into(),
        ParamKind::Integer { .. } => "a whole number".into(),
        ParamKind::Number => "a number".into(),
        ParamKind::Boolean => "true or false".into(),
        ParamKind::Json => "JSON".into(),
    }
}

fn listed(choices: &[Value]) -> String {
    let choices: Vec<_> = choices
        .iter()
        .map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned))
        .collect();
    choices.join(", ")
}

/// A text as a value of that kind.
pub(crate) fn from_text(kind: ParamKind, text: &str) -> Result<Value, String> {
    let shown = crate::yaml::shortened(text);
    match kind {
        ParamKind::String { .. } => Ok(Value::from(text)),
        ParamKind::Integer { .. } => text
            .parse::<i64>()
            .map(Value::from)
            .map_err(|_| format!("`{shown}` is no whole number")),
        ParamKind::Number => {
            let number = serde_json::from_str::<serde_json::Number>(text);
            number.map(Value::Number).map_err(|_| format!("`{shown}` is no number"))
        }
        ParamKind::Boolean => match text {
            "true" | "yes" => Ok(Value::Bool(true)),
            "false" | "no" => Ok(Value::Bool(false)),
            _ => Err(format!("`{shown}` is neither `true` nor `false`")),
        },
        ParamKind::Json => {
            serde_json::from_str(text).map_err(|error| format!("`{shown}` is no JSON: {error}"))
        }
    }
}

/// Whether a value is one that the param takes.
pub(crate) fn fits(param: &Param, value: &Value) -> Result<(), String> {
    if is_deeper_than(DEEPEST_VALUE, value) {
        return Err(too_deep("it"));
    }
    let shown = || {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        crate::yaml::shortened(&text)
    };
    match param.kind {
        ParamKind::String { longest } => {
            let text = value.as_str().ok_or_else(|| format!("`{}` is no text", shown()))?;
            if let Some(longest) = longest.filter(|longest| text.chars().count() > *longest) {
                return Err(format!("`{}` is longer than {longest} characters", shown()));
            }
            if text.contains('\0') {
                return Err("a text with a null character cannot be passed on".into());
            }
        }
        ParamKind::Integer { minimum, maximum } => {
            let number =
                value.as_i64().ok_or_else(|| format!("`{}` is no whole number", shown()))?;
            if let Some(least) = minimum.filter(|least| number < *least) {
                return Err(format!("{number} is less than {least}"));
            }
            if let Some(most) = maximum.filter(|most| number > *most) {
                return Err(format!("{number} is more than {most}"));
            }
        }
        ParamKind::Number if !value.is_number() => {
            return Err(format!("`{}` is no number", shown()));
        }
        ParamKind::Boolean if !value.is_boolean() => {
            return Err(format!("`{}` is neither `true` nor `false`", shown()));
        }
        ParamKind::Number | ParamKind::Boolean | ParamKind::Json => {}
    }
    let length = value.as_str().map_or_else(|| value.to_string().len(), str::len);
    if length > LONGEST_VALUE {
        return Err(format!("it is longer than {LONGEST_VALUE} bytes"));
    }
    if !param.choices.is_empty() && !param.choices.contains(value) {
        let texts = param.choices.iter().filter_map(Value::as_str);
        return Err(match value.as_str().and_then(|word| nearest(word, texts)) {
            Some(near) => format!("it cannot be `{}`; did you mean `{near}`?", shown()),
            None => format!("it cannot be `{}`; it is one of {}", shown(), listed(&param.choices)),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
name: p
params:
  target: {enum: [staging, prod], default: staging}
  count: {type: integer, minimum: 1, maximum: 5}
  ratio: {type: number, default: 1.5}
  dry: {type: boolean, default: false}
  extra: {type: json, default: {a: [1]}}
  version: {longest: 6, default: 1.10}
steps:
  - id: a
    shell: 'true'
    env: {ALL: '{{ params }}'}
";

    fn start(given: &[(&str, &str)]) -> Result<String, String> {
        let (workflow, problems) = crate::parse(TEXT.as_bytes(), &|_| Err(String::new()));
        let workflow = workflow.unwrap_or_else(|| panic!("{}", problems.render("f", TEXT)));
        let given = given
            .iter()
            .map(|(name, text)| ((*name).to_owned(), Given::Text((*text).to_owned())))
            .collect();
        let values = typed(&workflow, given).map_err(|wrong| wrong.join("\n"))?;
        Ok(serde_json::to_string(&values).unwrap())
    }

    #[test]
    fn texts_become_what_the_param_is() {
        assert_eq!(
            start(&[("count", "3"), ("ratio", "2"), ("dry", "yes"), ("extra", "null")]).unwrap(),
            r#"{"count":3,"dry":true,"extra":null,"ratio":2,"target":"staging","version":"1.10"}"#
        );
    }

    #[test]
    fn values_are_no_deeper_than_can_be_read_back() {
        let deep = |lists: usize| format!("{}{}", "[".repeat(lists), "]".repeat(lists));
        start(&[("count", "3"), ("extra", &deep(DEEPEST_VALUE))]).unwrap();
        let wrong = start(&[("count", "3"), ("extra", &deep(DEEPEST_VALUE + 1))]).unwrap_err();
        assert_eq!(wrong, "`extra`: more than 64 lists and maps stand in one another in it");
    }

    #[test]
    fn every_mistake_is_said_at_once() {
        let wrong = start(&[
            ("tagret", "prod"),
            ("target", "prd"),
            ("ratio", "x"),
            ("dry", "maybe"),
            ("extra", "{"),
            ("version", "1234567"),
            ("zebra", ""),
        ]);
        insta::assert_snapshot!(wrong.unwrap_err(), @r"
            `target`: it cannot be `prd`; did you mean `prod`?
            `count` is needed (a whole number)
            `ratio`: `x` is no number
            `dry`: `maybe` is neither `true` nor `false`
            `extra`: `{` is no JSON: EOF while parsing an object at line 1 column 1
            `version`: `1234567` is longer than 6 characters
            there is no param `tagret`; did you mean `target`?
            there is no param `zebra`; its params: count, dry, extra, ratio, target, version
            ");
        let wrong = start(&[("count", "6"), ("target", "nowhere")]);
        insta::assert_snapshot!(wrong.unwrap_err(), @r"
            `target`: it cannot be `nowhere`; it is one of staging, prod
            `count`: 6 is more than 5
            ");
    }
}
