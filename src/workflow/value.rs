//! Small values of the language: ids, durations as values, secrets that are named and not known.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Longest id of a step and name of a workflow, a param or a secret: it becomes part of file names.
pub const LONGEST_NAME: usize = 64;

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {LONGEST_NAME} characters")]
    Long,
    #[error("it starts with `{}`, and a name starts with a letter", .0.escape_default())]
    Start(char),
    #[error("`{}` (U+{:04X}) cannot stand in it; letters, digits, `_` and `-` can", .0.escape_default(), u32::from(*.0))]
    Letter(char),
}

/// `[A-Za-z][A-Za-z0-9_-]*`: goes into file names, environment variables and a phone's keyboard.
fn check(text: &str) -> Result<(), NameError> {
    let first = text.chars().next().ok_or(NameError::Empty)?;
    if let Some(bad) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !"_-".contains(*c)) {
        return Err(NameError::Letter(bad));
    }
    if !first.is_ascii_alphabetic() {
        return Err(NameError::Start(first));
    }
    if text.len() > LONGEST_NAME { Err(NameError::Long) } else { Ok(()) }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                check(text).map(|()| Self(text.into()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                check(&text).map(|()| Self(text))
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(/// A workflow's name as its file gives it: `release`.
    WorkflowName);
name!(/// A step's id, unique among the steps beside it, whatever the case of its letters.
    StepId);
name!(/// A param of a workflow.
    ParamName);
name!(/// A secret of the configuration. Its value is known at the edge alone.
    SecretName);

/// Where a step stands in a run: `review`, or `lenses[2].read` for a step in the third round of a
/// `foreach`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct StepPath(Vec<Segment>);

/// A step beside others, and which round of it what follows is in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Segment {
    pub step: StepId,
    pub round: Option<usize>,
}

/// Why a text is no path of a step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no path of a step, such as `review` or `lenses[2].read`")]
pub struct PathError(pub String);

impl StepPath {
    pub fn top(step: StepId) -> Self {
        Self(vec![Segment { step, round: None }])
    }

    /// The step of that id in that round of this step.
    #[must_use]
    pub fn inner(&self, round: usize, step: StepId) -> Self {
        let mut segments = self.0.clone();
        if let Some(last) = segments.last_mut() {
            last.round = Some(round);
        }
        segments.push(Segment { step, round: None });
        Self(segments)
    }

    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The `foreach` it stands in, and the round; `None` at the top.
    pub fn parent(&self) -> Option<(Self, usize)> {
        let (_, above) = self.0.split_last()?;
        let mut above = above.to_vec();
        let round = above.last_mut()?.round.take()?;
        Some((Self(above), round))
    }

    /// Its own id, without what it stands in.
    pub fn id(&self) -> &StepId {
        // A path is made with one segment and only grows.
        &self.0[self.0.len() - 1].step
    }
}

impl fmt::Display for StepPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Segment { step, round }) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            write!(f, "{step}")?;
            if let Some(round) = round {
                write!(f, "[{round}]")?;
            }
        }
        Ok(())
    }
}

impl FromStr for StepPath {
    type Err = PathError;
    fn from_str(text: &str) -> Result<Self, PathError> {
        let wrong = || PathError(text.into());
        let segment = |part: &str| {
            let (step, round) = match part.strip_suffix(']').and_then(|part| part.split_once('[')) {
                Some((step, round)) => (step, Some(round.parse().map_err(|_| wrong())?)),
                None => (part, None),
            };
            Ok(Segment { step: step.parse().map_err(|_| wrong())?, round })
        };
        let segments = text.split('.').map(segment).collect::<Result<Vec<_>, _>>()?;
        let (last, above) = segments.split_last().ok_or_else(wrong)?;
        if last.round.is_some() || above.iter().any(|segment| segment.round.is_none()) {
            return Err(wrong());
        }
        Ok(Self(segments))
    }
}

impl TryFrom<String> for StepPath {
    type Error = PathError;
    fn try_from(text: String) -> Result<Self, PathError> {
        text.parse()
    }
}

impl From<StepPath> for String {
    fn from(path: StepPath) -> Self {
        path.to_string()
    }
}

/// A text in which secrets stand by name. Their values are put in at the edge, right before use, and
/// nowhere else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sealed(pub Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    Text(String),
    Secret(SecretName),
}

impl Sealed {
    pub fn plain(text: impl Into<String>) -> Self {
        Self(vec![Piece::Text(text.into())])
    }

    /// The text with each secret's value in its place; `Err`: the first that `value` does not know.
    pub fn open(
        &self,
        value: impl Fn(&SecretName) -> Option<String>,
    ) -> Result<String, &SecretName> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Secret(name) => text.push_str(&value(name).ok_or(name)?),
            }
        }
        Ok(text)
    }
}

/// As people see it: `Bearer {{ secrets.TOKEN }}`.
impl fmt::Display for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(text),
            Piece::Secret(name) => write!(f, "{{{{ secrets.{name} }}}}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_back_as_it_was_written() {
        for text in ["a", "lenses[2].read", "a[0].b[13].c-d_e"] {
            let path: StepPath = text.parse().unwrap();
            assert_eq!(path.to_string(), text);
        }
        for text in ["", "a[1]", "a.b", "a[x].b", "a[1].", "é", "../x", "a b"] {
            assert!(text.parse::<StepPath>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_knows_what_it_stands_in() {
        let path: StepPath = "a[0].b[13].c".parse().unwrap();
        let (above, round) = path.parent().unwrap();
        assert_eq!((above.to_string().as_str(), round), ("a[0].b", 13));
        assert_eq!(above.inner(13, path.id().clone()), path);
    }
}
