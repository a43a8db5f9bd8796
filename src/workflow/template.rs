//! Texts with `{{ … }}` in them, and expressions: parsed when a workflow is loaded, filled in when a
//! step starts. What they read is data; what they give is data.

mod scan;

#[cfg(test)]
mod tests;

use minijinja::{Environment, UndefinedBehavior, Value, value::ValueKind};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

pub use scan::{LONGEST_EXPR, MOST_STATEMENTS, Reference, SourceError};

use crate::{
    run::fence::{PREFACE, fence},
    value::{Sealed, SecretName},
};

/// Steps of evaluation that one template may take, where a step also pays for 64 bytes of what is read,
/// computed or written: some pages of loops over the longest text there is, and no endless one.
const FUEL: u64 = 200_000;

/// Longest text that a template may give, in bytes.
pub const LONGEST: usize = 1024 * 1024;

/// Why a text could not be filled in, as a sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(pub String);

/// A text with `{{ … }}` in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template {
    pub source: String,
}

/// An expression, as it stands between the braces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Expr {
    pub source: String,
}

/// Its filters and tests are those that only compute: nothing in it reaches a file or a clock.
static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_fuel(Some(FUEL));
    env.set_formatter(format);
    env
});

/// Names that every template knows: `range`, `dict`, `namespace`.
pub fn functions() -> impl Iterator<Item = &'static str> {
    ENGINE.globals().map(|(name, _)| name)
}

/// Between a secret's name and the text around it while a text is filled in. Where it comes up in
/// anything else it is doubled, so that no data can pass for a secret.
const MARK: char = '\u{F8FD}';

/// Stands for a secret in expressions: it can be written into a text as a whole, and nothing else.
#[derive(Debug)]
struct Secret(String);

impl minijinja::value::Object for Secret {
    fn repr(self: &std::sync::Arc<Self>) -> minijinja::value::ObjectRepr {
        minijinja::value::ObjectRepr::Plain
    }

    fn render(self: &std::sync::Arc<Self>, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(secret)")
    }
}

/// What `secrets` is in a context.
#[derive(Debug)]
struct Secrets;

impl minijinja::value::Object for Secrets {
    fn get_value(self: &std::sync::Arc<Self>, key: &Value) -> Option<Value> {
        key.as_str().map(|name| Value::from_object(Secret(name.into())))
    }
}

/// Values as templates and expressions read them.
pub fn context(values: &serde_json::Value) -> Value {
    Value::from(minijinja::value::Serde(values))
}

/// What `secrets` is where secrets may be used; elsewhere it is left out.
pub fn secrets() -> Value {
    Value::from_object(Secrets)
}

fn format(
    out: &mut minijinja::Output<'_>,
    state: &mut minijinja::State<'_, '_>,
    value: &Value,
) -> Result<(), minijinja::Error> {
    if let Some(secret) = value.downcast_object_ref::<Secret>() {
        write!(out, "{MARK}{}{MARK}", secret.0)?;
        return Ok(());
    }
    match value.as_str() {
        Some(text) if text.contains(MARK) => {
            out.write_str(&text.replace(MARK, &format!("{MARK}{MARK}")))?;
            Ok(())
        }
        Some(text) => Ok(out.write_str(text)?),
        // Nothing reads as nothing, not as one language's word for it.
        None if value.is_none() => Ok(()),
        None if value.is_undefined() => minijinja::escape_formatter(out, state, value),
        // Lists and maps read as JSON, not as one language's notation of them.
        None => {
            let json = json(value)?.to_string();
            Ok(out.write_str(&json.replace(MARK, &format!("{MARK}{MARK}")))?)
        }
    }
}

/// The value as JSON; what fails whoever reads it fails this as well, however deep it stands.
fn json(value: &Value) -> Result<serde_json::Value, minijinja::Error> {
    let wrong = |error: serde_json::Error| {
        minijinja::Error::new(minijinja::ErrorKind::BadSerialization, error.to_string())
    };
    Ok(match value.kind() {
        // Serialized, it would pass for nothing.
        ValueKind::Invalid => {
            let words = value.to_string();
            let words = words.trim_start_matches("<invalid value: invalid operation: ");
            let words = words.trim_end_matches('>').to_owned();
            return Err(minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, words));
        }
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter()?.map(|item| json(&item)).collect::<Result<_, _>>()?
        }
        ValueKind::Map => {
            let mut fields = serde_json::Map::new();
            for key in value.try_iter()? {
                fields.insert(key.to_string(), json(&value.get_item(&key)?)?);
            }
            fields.into()
        }
        _ => serde_json::to_value(value).map_err(wrong)?,
    })
}

impl Template {
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into() }
    }

    /// Whether anything is filled in at all.
    pub fn is_plain(&self) -> bool {
        !["{{", "{%", "{#"].iter().any(|open| self.source.contains(open))
    }

    /// The one expression that it is, if that is all and no secret stands in it.
    pub(crate) fn alone(&self) -> Option<Expr> {
        let inner = self.source.trim().strip_prefix("{{")?.strip_suffix("}}")?;
        let inner = inner.trim_start_matches('-').trim_end_matches('-').trim();
        let expr = Expr::new(inner);
        // What holds more braces is two of them, or a map.
        let is_one = !inner.contains("{{") && !inner.contains("}}");
        let references = expr.references().ok().filter(|_| is_one)?;
        references.iter().all(|it| it.root != "secrets").then_some(expr)
    }

    /// What it reads, in its order.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn references(&self) -> Result<Vec<Reference>, SourceError> {
        if self.is_plain() { Ok(Vec::new()) } else { scan::of_template(&self.source) }
    }

    /// The text, where no secret may stand in it.
    ///
    /// # Errors
    /// A value that is not there, or a text that is too long.
    pub fn render(&self, context: &Value) -> Result<String, TemplateError> {
        let sealed = self.render_sealed(context)?;
        sealed.open(|_| None).map_err(no_secret)
    }

    /// The text of a prompt: whatever is filled in that is none of `own` stands fenced.
    pub(crate) fn render_data(
        &self,
        context: &Value,
        own: BTreeSet<String>,
    ) -> Result<String, TemplateError> {
        if self.is_plain() {
            return Ok(self.source.clone());
        }
        let any = Arc::new(AtomicBool::new(false));
        let fenced = Arc::clone(&any);
        let mut env = ENGINE.clone();
        env.set_formatter(move |out, state, value| {
            let is_data = match value.kind() {
                ValueKind::Undefined
                | ValueKind::None
                | ValueKind::Bool
                | ValueKind::Number
                | ValueKind::Invalid => false,
                _ => value.as_str().is_none_or(|text| !own.contains(text)),
            };
            if !is_data || value.downcast_object_ref::<Secret>().is_some() {
                return format(out, state, value);
            }
            fenced.store(true, Ordering::Relaxed);
            let text = match value.as_str() {
                Some(text) => text.to_owned(),
                None => json(value)?.to_string(),
            };
            format(out, state, &Value::from(fence(&text)))
        });
        let text = self.filled(&env, context)?.open(|_| None).map_err(no_secret)?;
        Ok(if any.load(Ordering::Relaxed) { format!("{PREFACE}{text}") } else { text })
    }

    /// The text, secrets by name.
    ///
    /// # Errors
    /// A value that is not there, or a text that is too long.
    pub fn render_sealed(&self, context: &Value) -> Result<Sealed, TemplateError> {
        if self.is_plain() {
            return Ok(Sealed::plain(&self.source));
        }
        self.filled(&ENGINE, context)
    }

    fn filled(&self, env: &Environment<'_>, context: &Value) -> Result<Sealed, TemplateError> {
        let text =
            env.render_str(&self.source, context).map_err(|error| TemplateError(words(&error)))?;
        if text.len() > LONGEST {
            return Err(TemplateError(format!("it comes to more than {LONGEST} bytes")));
        }
        split(&text)
    }
}

impl Expr {
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into() }
    }

    /// What it reads, in its order.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn references(&self) -> Result<Vec<Reference>, SourceError> {
        scan::of_expr(&self.source)
    }

    /// # Errors
    /// A value that is not there.
    pub fn value(&self, context: &Value) -> Result<serde_json::Value, TemplateError> {
        json(&self.eval(context)?).map_err(|error| TemplateError(words(&error)))
    }

    /// # Errors
    /// A value that is not there.
    pub fn is_true(&self, context: &Value) -> Result<bool, TemplateError> {
        self.eval(context).map(|value| value.is_true())
    }

    fn eval(&self, context: &Value) -> Result<Value, TemplateError> {
        let expr = ENGINE
            .compile_expression(&self.source)
            .map_err(|error| TemplateError(words(&error)))?;
        let value = expr.eval(context).map_err(|error| TemplateError(words(&error)))?;
        if value.is_undefined() {
            return Err(TemplateError(format!("`{}` is not there", self.source)));
        }
        Ok(value)
    }
}

fn no_secret(name: &SecretName) -> TemplateError {
    TemplateError(format!("the secret {name} cannot stand here"))
}

fn words(error: &minijinja::Error) -> String {
    if error.kind() == minijinja::ErrorKind::OutOfFuel {
        return "it computes too much".into();
    }
    error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)
}

/// Takes a filled-in text apart at its marks.
fn split(text: &str) -> Result<Sealed, TemplateError> {
    use crate::value::Piece;
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        plain.push_str(&rest[..at]);
        rest = &rest[at + MARK.len_utf8()..];
        let end = rest.find(MARK).ok_or_else(|| TemplateError("a mark has no end".into()))?;
        if end == 0 {
            plain.push(MARK);
        } else {
            let name = rest[..end].parse().map_err(|error| {
                TemplateError(format!("`{}` is no name of a secret: {error}", &rest[..end]))
            })?;
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Secret(name));
        }
        rest = &rest[end + MARK.len_utf8()..];
    }
    plain.push_str(rest);
    if !plain.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(Sealed(pieces))
}
