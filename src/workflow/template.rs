//! Texts with `{{ … }}` in them, and expressions: parsed when a workflow is loaded, filled in when a
//! step starts. What they read is data; what they give is data.

mod scan;

#[cfg(test)]
mod tests;

use minijinja::{Environment, UndefinedBehavior, Value};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

pub use scan::{LONGEST_EXPR, MOST_STATEMENTS, Reference, SourceError};

use crate::value::Sealed;

/// Steps of evaluation that one template may take: a page of loops, and no endless one.
const FUEL: u64 = 50_000;

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
        None if value.is_undefined() || value.is_none() => {
            minijinja::escape_formatter(out, state, value)
        }
        // Lists and maps read as JSON, not as one language's notation of them.
        None => {
            let json = serde_json::to_string(value).map_err(|error| {
                minijinja::Error::new(minijinja::ErrorKind::BadSerialization, error.to_string())
            })?;
            Ok(out.write_str(&json.replace(MARK, &format!("{MARK}{MARK}")))?)
        }
    }
}

impl Template {
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into() }
    }

    /// Whether anything is filled in at all.
    pub fn is_plain(&self) -> bool {
        !["{{", "{%", "{#"].iter().any(|open| self.source.contains(open))
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
        let text = sealed.open(|_| None);
        text.map_err(|name| TemplateError(format!("the secret {name} cannot stand here")))
    }

    /// The text, secrets by name.
    ///
    /// # Errors
    /// A value that is not there, or a text that is too long.
    pub fn render_sealed(&self, context: &Value) -> Result<Sealed, TemplateError> {
        if self.is_plain() {
            return Ok(Sealed::plain(&self.source));
        }
        let text = ENGINE
            .render_str(&self.source, context)
            .map_err(|error| TemplateError(words(&error)))?;
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
        serde_json::to_value(self.eval(context)?).map_err(|error| TemplateError(error.to_string()))
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

fn words(error: &minijinja::Error) -> String {
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
