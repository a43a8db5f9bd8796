//! What a text reads, with its place: found in the source, because the template engine says what is
//! read but not where. The engine decides what is a variable at all; this only finds it.

use std::{collections::HashSet, ops::Range};

use super::{ENGINE, TemplateError, words};

/// Longest expression, in bytes: the engine's parser goes deeper with every operator.
pub const LONGEST_EXPR: usize = 2_000;
/// `{% … %}` in one text, for the same reason.
pub const MOST_STATEMENTS: usize = 200;

/// Something that a template or an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// `steps` in `steps.review.text`.
    pub root: String,
    /// `review` and `text`; up to the first part that is computed.
    pub path: Vec<String>,
    /// Whether a computed part follows: `steps[name]`.
    pub computed: bool,
    /// Whether nothing else stands between its braces.
    pub alone: bool,
    /// Bytes of the source.
    pub at: Range<usize>,
}

/// What is wrong with a source, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    pub error: TemplateError,
    /// Bytes of the source; `None`: somewhere in it.
    pub at: Option<Range<usize>>,
}

impl SourceError {
    fn new(what: impl Into<String>, at: Option<Range<usize>>) -> Self {
        Self { error: TemplateError(what.into()), at }
    }
}

/// Of a text with `{{ … }}` in it.
pub(super) fn of_template(source: &str) -> Result<Vec<Reference>, SourceError> {
    let tags = tags(source)?;
    let template =
        ENGINE.template_from_str(source).map_err(|error| located(&error, source, &tags))?;
    find(source, &tags, &template.undeclared_variables(false))
}

/// Of an expression.
pub(super) fn of_expr(source: &str) -> Result<Vec<Reference>, SourceError> {
    short_enough(&(0..source.len()))?;
    let expr = ENGINE
        .compile_expression(source)
        .map_err(|error| SourceError::new(said(&error, source), None))?;
    find(source, &[Tag { inner: 0..source.len(), shows: false }], &expr.undeclared_variables(false))
}

/// The engine says what is wrong; the tag that it does not take says where.
fn located(error: &minijinja::Error, source: &str, tags: &[Tag]) -> SourceError {
    let shown = tags.iter().filter(|tag| tag.shows).map(|tag| tag.inner.clone());
    let bad = shown.into_iter().find(|inner| {
        let code = source[inner.clone()].trim_matches(['-', '+']);
        ENGINE.compile_expression(code).is_err()
    });
    let code = bad.clone().map_or("", |inner| &source[inner]);
    SourceError::new(said(error, code), bad.map(|inner| trimmed(source, inner)))
}

/// The engine's words, and what was meant where one `=` stands.
fn said(error: &minijinja::Error, code: &str) -> String {
    let words = words(error);
    if assigns(code) { format!("{words}; `==` compares") } else { words }
}

/// Whether one `=` stands outside of quotes.
fn assigns(code: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        match quote {
            Some(open) if letter == open && before != '\\' => quote = None,
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            None if letter == '='
                && !matches!(before, '=' | '!' | '<' | '>')
                && letters.peek() != Some(&'=') =>
            {
                return true;
            }
            Some(_) | None => {}
        }
        before = letter;
    }
    false
}

fn trimmed(source: &str, range: Range<usize>) -> Range<usize> {
    let text = &source[range.clone()];
    let start = range.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}

fn short_enough(inner: &Range<usize>) -> Result<(), SourceError> {
    if inner.len() > LONGEST_EXPR {
        let what = format!("an expression is longer than {LONGEST_EXPR} bytes");
        return Err(SourceError::new(what, None));
    }
    Ok(())
}

/// Code between braces.
struct Tag {
    /// Without the braces.
    inner: Range<usize>,
    /// `{{ … }}` and not `{% … %}`.
    shows: bool,
}

/// The places where code stands; comments and `raw` blocks are left out.
fn tags(source: &str) -> Result<Vec<Tag>, SourceError> {
    let mut tags = Vec::new();
    let mut at = 0;
    let mut statements = 0;
    while let Some(brace) = source[at..].find('{').map(|found| at + found) {
        let (close, shows) = match source.as_bytes().get(brace + 1) {
            Some(b'{') => ("}}", true),
            Some(b'%') => ("%}", false),
            Some(b'#') => {
                at = source[brace..].find("#}").map_or(source.len(), |end| brace + end + 2);
                continue;
            }
            _ => {
                at = brace + 1;
                continue;
            }
        };
        let start = brace + 2;
        let Some(end) = end_of_code(source, start, close) else {
            let what = format!("`{}` is not closed with `{close}`", &source[brace..start]);
            return Err(SourceError::new(what, Some(brace..start)));
        };
        let inner = start..end;
        short_enough(&inner)?;
        at = end + 2;
        if shows {
            tags.push(Tag { inner, shows });
            continue;
        }
        statements += 1;
        if statements > MOST_STATEMENTS {
            let what = format!("more than {MOST_STATEMENTS} `{{% … %}}` stand in one text");
            return Err(SourceError::new(what, None));
        }
        if source[inner.clone()].trim_matches(['-', '+', ' ', '\n', '\t', '\r']) == "raw" {
            // The engine says if its end is missing.
            at = source[at..].find("endraw").map_or(source.len(), |found| at + found + 6);
        } else {
            tags.push(Tag { inner, shows });
        }
    }
    Ok(tags)
}

/// Where `close` stands outside of any quotes and braces.
fn end_of_code(source: &str, start: usize, close: &str) -> Option<usize> {
    let bytes = source.as_bytes();
    let mut at = start;
    let mut open_maps = 0_usize;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'"' | b'\'') => at = end_of_string(bytes, at, quote)?,
            b'{' => {
                open_maps += 1;
                at += 1;
            }
            b'}' if open_maps > 0 => {
                open_maps -= 1;
                at += 1;
            }
            _ if source.as_bytes()[at..].starts_with(close.as_bytes()) => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Behind the closing quote.
fn end_of_string(bytes: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    String(&'a str),
    Number(&'a str),
    Sign(u8),
}

fn tokens<'a>(source: &'a str, inner: &Range<usize>) -> Vec<(Token<'a>, Range<usize>)> {
    let bytes = source.as_bytes();
    let mut out = Vec::new();
    let mut at = inner.start;
    while at < inner.end {
        let byte = bytes[at];
        let start = at;
        let word = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
        let token = if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        } else if byte == b'"' || byte == b'\'' {
            at = end_of_string(bytes, at, byte).unwrap_or(inner.end).min(inner.end);
            Token::String(source.get(start + 1..at - 1).unwrap_or_default())
        } else if word(&byte) {
            at += bytes[at..inner.end].iter().take_while(|c| word(c)).count();
            let text = &source[start..at];
            if byte.is_ascii_digit() { Token::Number(text) } else { Token::Word(text) }
        } else {
            at += 1;
            Token::Sign(byte)
        };
        out.push((token, start..at));
    }
    out
}

fn find(source: &str, tags: &[Tag], read: &HashSet<String>) -> Result<Vec<Reference>, SourceError> {
    let mut found = Vec::new();
    for tag in tags {
        let tokens = tokens(source, &tag.inner);
        let mut at = 0_usize;
        while at < tokens.len() {
            let (Token::Word(word), range) = &tokens[at] else {
                at += 1;
                continue;
            };
            let before = at.checked_sub(1).map(|before| &tokens[before].0);
            match role(&tokens, at) {
                Role::Filter => known_filter(word, range)?,
                Role::Test => known_test(word, range)?,
                Role::Value if read.contains::<str>(word) => {
                    let (reference, next) = reference(&tokens, at);
                    let trims =
                        |token: &(Token<'_>, _)| matches!(token.0, Token::Sign(b'-' | b'+'));
                    let first = before.is_none() || (at == 1 && trims(&tokens[0]));
                    let last =
                        next == tokens.len() || (next + 1 == tokens.len() && trims(&tokens[next]));
                    found.push(Reference { alone: tag.shows && first && last, ..reference });
                    at = next;
                    continue;
                }
                Role::Name | Role::Value => {}
            }
            at += 1;
        }
    }
    Ok(found)
}

enum Role {
    Value,
    /// An attribute, or the name of an argument.
    Name,
    Filter,
    Test,
}

fn role(tokens: &[(Token<'_>, Range<usize>)], at: usize) -> Role {
    let token = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map(|(token, _)| token);
    let before = token(at.checked_sub(1));
    let before_that = token(at.checked_sub(2));
    let not = before == Some(&Token::Word("not")) && before_that == Some(&Token::Word("is"));
    let is_argument = token(Some(at + 1)) == Some(&Token::Sign(b'='))
        && token(Some(at + 2)) != Some(&Token::Sign(b'='))
        && matches!(before, Some(Token::Sign(b'(' | b',')));
    let is_not_itself = tokens[at].0 == Token::Word("not");
    if before == Some(&Token::Sign(b'.')) || is_argument {
        Role::Name
    } else if before == Some(&Token::Sign(b'|')) {
        Role::Filter
    } else if (before == Some(&Token::Word("is")) && !is_not_itself) || not {
        Role::Test
    } else {
        Role::Value
    }
}

/// The reference that begins at this word, and the token behind it.
fn reference(tokens: &[(Token<'_>, Range<usize>)], start: usize) -> (Reference, usize) {
    let mut path = Vec::new();
    let mut computed = false;
    let mut at = start + 1;
    let sign = |at: usize| match tokens.get(at) {
        Some((Token::Sign(sign), _)) => Some(*sign),
        _ => None,
    };
    loop {
        let part = match (sign(at), tokens.get(at + 1).map(|(token, _)| token)) {
            (Some(b'.'), Some(Token::Word(name) | Token::Number(name))) => (*name, 2),
            (Some(b'['), Some(Token::String(name) | Token::Number(name)))
                if sign(at + 2) == Some(b']') =>
            {
                (*name, 3)
            }
            (Some(b'['), _) => {
                computed = true;
                break;
            }
            _ => break,
        };
        path.push(part.0.to_owned());
        at += part.1;
    }
    let (root, range) = &tokens[start];
    let root = if let Token::Word(root) = root { (*root).to_owned() } else { String::new() };
    let at_bytes = range.start..tokens[at - 1].1.end;
    (Reference { root, path, computed, alone: false, at: at_bytes }, at)
}

/// Filters and tests are looked up when they run, which may be after hours: so they are tried now.
fn known_filter(name: &str, at: &Range<usize>) -> Result<(), SourceError> {
    tried(&format!("''|{name}"), minijinja::ErrorKind::UnknownFilter)
        .then_some(())
        .ok_or_else(|| SourceError::new(format!("there is no filter `{name}`"), Some(at.clone())))
}

fn known_test(name: &str, at: &Range<usize>) -> Result<(), SourceError> {
    tried(&format!("'' is {name}"), minijinja::ErrorKind::UnknownTest)
        .then_some(())
        .ok_or_else(|| SourceError::new(format!("there is no test `{name}`"), Some(at.clone())))
}

fn tried(source: &str, unknown: minijinja::ErrorKind) -> bool {
    // A test that is a word of the language (`is in`) or needs arguments does not compile or fails
    // otherwise, and is known.
    let tried = ENGINE.compile_expression(source).and_then(|expr| expr.eval(()));
    tried.err().is_none_or(|error| error.kind() != unknown)
}
