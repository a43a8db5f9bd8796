use std::str::FromStr;

/// What a story's key looks like: a project's letters, a hyphen, and 1 to 6 digits; case does not
/// count. By default any project of 2 to 10 letters and digits that begins with a letter
/// (`[A-Z][A-Z0-9]{1,9}-[0-9]{1,6}`); otherwise only the projects named.
///
/// In the configuration: `*` for any, or the projects with blanks or commas between: `PD, OPS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoryPattern {
    /// Upper case; empty: any.
    projects: Vec<String>,
}

/// Why a text says no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot begin a story's key: use 1 to 10 letters and digits, beginning with a letter, or `*` for any"
)]
pub struct BadPrefix(pub String);

const LONGEST_PROJECT: usize = 10;
const MOST_DIGITS: usize = 6;

impl FromStr for StoryPattern {
    type Err = BadPrefix;
    fn from_str(text: &str) -> Result<Self, BadPrefix> {
        if text.trim() == "*" {
            return Ok(Self::default());
        }
        let words = text.split([',', ' ']).filter(|word| !word.is_empty());
        let projects = words
            .map(|word| {
                if is_project(word) {
                    Ok(word.to_ascii_uppercase())
                } else {
                    Err(BadPrefix(word.into()))
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        if projects.is_empty() { Err(BadPrefix(text.into())) } else { Ok(Self { projects }) }
    }
}

impl StoryPattern {
    /// The key in its usual spelling (`PD-285`), when `text` is one.
    pub fn key(&self, text: &str) -> Option<String> {
        let (project, number) = text.rsplit_once('-')?;
        let digits =
            (1..=MOST_DIGITS).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
        (digits && self.has(project)).then(|| format!("{}-{number}", project.to_ascii_uppercase()))
    }

    /// The same, with the hyphen left out or written `_`: `PD285`, as chat commands have to.
    pub fn key_of_command(&self, text: &str) -> Option<String> {
        let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (project, number) = text.split_at_checked(text.len() - digits)?;
        self.key(&format!("{}-{number}", project.strip_suffix(['-', '_']).unwrap_or(project)))
    }

    /// The beginning that all keys of a project share (`PD-`), when `text` is a project.
    pub fn group(&self, text: &str) -> Option<String> {
        self.has(text).then(|| format!("{}-", text.to_ascii_uppercase()))
    }

    fn has(&self, project: &str) -> bool {
        if self.projects.is_empty() {
            project.len() >= 2 && is_project(project)
        } else {
            self.projects.iter().any(|known| known.eq_ignore_ascii_case(project))
        }
    }
}

fn is_project(text: &str) -> bool {
    text.len() <= LONGEST_PROJECT
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_words() {
        let any = StoryPattern::default();
        assert_eq!(any.key("pd-285").as_deref(), Some("PD-285"));
        for no in [
            "",
            "P-1",
            "PD-",
            "PD-1234567",
            "1D-2",
            "PD285",
            "PD-2a",
            "ABCDEFGHIJK-1",
            "PD--1",
            "é-1",
        ] {
            assert_eq!(any.key(no), None, "{no}");
        }
        for command in ["PD285", "pd-285", "pd_285"] {
            assert_eq!(any.key_of_command(command).as_deref(), Some("PD-285"), "{command}");
        }
        assert_eq!(any.key_of_command("status"), None);
        assert_eq!(any.group("pd").as_deref(), Some("PD-"));
    }

    #[test]
    fn only_named_projects_when_some_are_named() {
        let some: StoryPattern = "pd, Q".parse().unwrap();
        assert_eq!(some.key("q-7").as_deref(), Some("Q-7"));
        assert_eq!(some.key("UTF-8"), None);
        assert_eq!("*".parse(), Ok(StoryPattern::default()));
        assert_eq!("PD, [A-Z]+".parse::<StoryPattern>(), Err(BadPrefix("[A-Z]+".into())));
        assert!("".parse::<StoryPattern>().is_err());
    }
}
