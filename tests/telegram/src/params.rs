//! The parameters of a call: read from any of the forms in which they come, then checked against the
//! method's table.

use std::collections::BTreeMap;

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::{
    methods::Spec,
    records::Records,
    refusal::{Refusal, bad},
};

/// Characters of a value that a record keeps.
const SHOWN: usize = 5000;

/// What came in, unchecked.
#[derive(Default)]
pub(crate) struct Raw {
    pub(crate) values: Map<String, Value>,
    pub(crate) files: BTreeMap<String, Upload>,
}

/// An uploaded file.
pub(crate) struct Upload {
    pub(crate) name: String,
    pub(crate) mime: String,
    pub(crate) bytes: Bytes,
}

impl Raw {
    /// A value in its plain form.
    pub(crate) fn plain(&self, name: &str) -> Option<String> {
        Some(match self.values.get(name)? {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        })
    }

    /// For the record.
    pub(crate) fn summary(&self) -> Value {
        let mut out = self.values.clone();
        for value in out.values_mut() {
            if let Value::String(text) = value
                && text.chars().count() > SHOWN
            {
                *text = text.chars().take(SHOWN).chain(['…']).collect();
            }
        }
        for (name, file) in &self.files {
            let text = format!("<file {:?} {} bytes>", file.name, file.bytes.len());
            out.insert(name.clone(), text.into());
        }
        Value::Object(out)
    }
}

/// The type of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A number, or `@name`.
    Id,
    Int,
    Str,
    Bool,
    Array,
    Object,
    File,
}

impl Kind {
    /// The names that the tables of methods use.
    fn named(name: &str) -> Self {
        match name {
            "id" => Self::Id,
            "int" => Self::Int,
            "str" => Self::Str,
            "bool" => Self::Bool,
            "array" => Self::Array,
            "object" => Self::Object,
            "file" => Self::File,
            other => panic!("`{other}` is no type of a parameter"),
        }
    }

    /// The value in its own type. Forms carry everything as text.
    fn read(self, value: &Value) -> Option<Value> {
        let parsed = || match value {
            Value::String(text) => serde_json::from_str(text).ok(),
            value => Some(value.clone()),
        };
        match self {
            Self::Id => match value {
                Value::String(name) if name.starts_with('@') => Some(value.clone()),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_) => parsed().filter(Value::is_i64),
            },
            Self::Int => parsed().filter(Value::is_i64),
            Self::Str | Self::File => Some(value.clone()).filter(Value::is_string),
            Self::Bool => match value.as_str() {
                Some("True") => Some(true.into()),
                Some("False") => Some(false.into()),
                Some(_) | None => parsed().filter(Value::is_boolean),
            },
            Self::Array => parsed().filter(Value::is_array),
            Self::Object => parsed().filter(Value::is_object),
        }
    }
}

/// Checked parameters.
pub(crate) struct Params<'a> {
    pub(crate) method: &'static str,
    values: Map<String, Value>,
    files: &'a BTreeMap<String, Upload>,
}

impl<'a> Params<'a> {
    /// Checks names and types. The real server passes over unknown names; a correct bot has none, so
    /// they are refused here and recorded.
    pub(crate) fn check(spec: &Spec, raw: &'a Raw, records: &mut Records) -> Result<Self, Refusal> {
        let table = table(spec.params);
        let checked = typed(&table, raw)
            .and_then(|values| uploads_are_named(&table, raw, &values).map(|()| values))
            .and_then(|values| nothing_is_missing(&table, raw, &values).map(|()| values));
        match checked {
            Ok(values) => Ok(Self { method: spec.name, values, files: &raw.files }),
            Err(Fault { kind, what, refusal }) => {
                let text = format!("{what} of {}", spec.name);
                records.defect(kind, &text);
                Err(refusal.unwrap_or_else(|| bad(format!("emulator: {text}"))))
            }
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.values.get(name)?.as_i64()
    }

    /// Empty if it is not there.
    pub(crate) fn str(&self, name: &str) -> &str {
        self.values.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Empty if it is not there.
    pub(crate) fn list(&self, name: &str) -> &[Value] {
        self.values.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn object(&self, name: &str) -> Option<&Map<String, Value>> {
        self.values.get(name)?.as_object()
    }

    /// An upload, named directly or with `attach://`.
    pub(crate) fn file(&self, name: &str) -> Option<&Upload> {
        match self.str(name).strip_prefix("attach://") {
            Some(key) => self.files.get(key),
            None => self.files.get(name),
        }
    }
}

/// A row of a method's table: name, type, and whether it must be there.
type Row = (&'static str, Kind, bool);

fn table(params: &'static str) -> Vec<Row> {
    let row = |entry: &'static str| {
        let (name, kind) = entry.split_once(':').expect("an entry is name:type");
        (name, Kind::named(kind.trim_end_matches('!')), kind.ends_with('!'))
    };
    params.split_whitespace().map(row).collect()
}

/// What is wrong with a call's parameters.
struct Fault {
    kind: &'static str,
    what: String,
    /// What the real server says, where it would notice.
    refusal: Option<Refusal>,
}

impl Fault {
    fn new(kind: &'static str, what: String) -> Self {
        Self { kind, what, refusal: None }
    }
}

/// The values in their own types. A `null` is the same as none.
fn typed(table: &[Row], raw: &Raw) -> Result<Map<String, Value>, Fault> {
    let mut values = Map::new();
    for (name, value) in raw.values.iter().filter(|(_, value)| !value.is_null()) {
        let row = table.iter().find(|(known, ..)| known == name);
        let Some((_, kind, _)) = row else {
            let what = format!("unknown parameter \"{name}\"");
            return Err(Fault::new("unknown parameter", what));
        };
        let value = kind.read(value).ok_or_else(|| {
            Fault::new("wrong type", format!("wrong type of parameter \"{name}\""))
        })?;
        values.insert(name.clone(), value);
    }
    if values.contains_key("parse_mode") {
        // Markup can be wrong where entities cannot, so the bridge never uses it.
        let what = "parse_mode is not emulated, use entities instead".into();
        return Err(Fault::new("parse mode", what));
    }
    Ok(values)
}

/// Telegram passes over an upload that no parameter names; then the bot meant something else.
fn uploads_are_named(table: &[Row], raw: &Raw, values: &Map<String, Value>) -> Result<(), Fault> {
    let is_named = |file: &String| {
        let directly = table.iter().any(|(name, kind, _)| name == file && *kind == Kind::File);
        directly || values.values().any(|value| value == &json!(format!("attach://{file}")))
    };
    match raw.files.keys().find(|file| !is_named(file)) {
        None => Ok(()),
        Some(file) => {
            let what = format!("upload \"{file}\" is named by no parameter");
            Err(Fault::new("unused upload", what))
        }
    }
}

fn nothing_is_missing(table: &[Row], raw: &Raw, values: &Map<String, Value>) -> Result<(), Fault> {
    let there = |name: &str| values.contains_key(name) || raw.files.contains_key(name);
    match table.iter().find(|(name, _, needed)| *needed && !there(name)) {
        None => Ok(()),
        Some((name, ..)) => {
            let fault = Fault::new("missing parameter", format!("missing parameter \"{name}\""));
            let refusal = match *name {
                "chat_id" => Some(bad("chat_id is empty")),
                "text" => Some(bad("message text is empty")),
                _ => None,
            };
            Err(Fault { refusal, ..fault })
        }
    }
}
