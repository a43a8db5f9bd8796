//! Shell words, read well enough to warn. What it cannot read for sure it reads in the way that
//! shows more commands: an open quote is no quote, a here-document's lines are commands.

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) words: Vec<Word>,
    /// Files that redirections write.
    pub(crate) writes: Vec<String>,
    /// Files that redirections read.
    pub(crate) reads: Vec<String>,
    /// It reads what the command before prints.
    pub(crate) piped: bool,
}

/// One word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// Part of it is only known when it runs.
    pub(crate) dynamic: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) commands: Vec<Command>,
    /// The insides of `$(…)`, backticks and `<(…)`.
    pub(crate) nested: Vec<String>,
    pub(crate) has_here_document: bool,
}

pub(crate) fn read(text: &str) -> Script {
    let mut reader = Reader { chars: text.chars().collect(), ..Reader::default() };
    while let Some(c) = reader.next() {
        reader.take(c);
    }
    reader.end_command(false);
    reader.script
}

/// Ways to fill in the braces of a word.
const MOST_BRACES: usize = 64;

/// `a{b,c}` is `ab` and `ac`. Where that would be too many, what stands between the braces, and the word
/// with anything in their place.
pub(crate) fn braces(word: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut left = vec![word.to_owned()];
    while let Some(word) = left.pop() {
        let Some((open, close)) = choice(&word) else {
            done.push(word);
            continue;
        };
        if left.len() + done.len() >= MOST_BRACES {
            done.extend(word.split(['{', ',', '}']).map(ToOwned::to_owned));
            done.push(with_any(word));
            continue;
        }
        // The last one first, so that they are done in the order in which they stand.
        for part in parts(&word[open + 1..close]).into_iter().rev() {
            left.push(format!("{}{part}{}", &word[..open], &word[close + 1..]));
        }
    }
    done
}

/// The innermost braces that hold several.
fn choice(word: &str) -> Option<(usize, usize)> {
    word.match_indices('}').find_map(|(close, _)| {
        let open = word[..close].rfind('{')?;
        let inside = &word[open + 1..close];
        (inside.contains(',') || range(inside).is_some()).then_some((open, close))
    })
}

fn with_any(mut word: String) -> String {
    while let Some((open, close)) = choice(&word) {
        word.replace_range(open..=close, "*");
    }
    word
}

/// What stands between braces: `a,b`, or `a..c`.
fn parts(inside: &str) -> Vec<String> {
    match range(inside) {
        Some((first, last)) if first <= last => (first..=last).map(String::from).collect(),
        Some((first, last)) => (last..=first).rev().map(String::from).collect(),
        None => inside.split(',').map(ToOwned::to_owned).collect(),
    }
}

/// Of single characters: longer numbers are no part of a program's name, and of a file's only a pattern's.
fn range(inside: &str) -> Option<(char, char)> {
    let (first, last) = inside.split_once("..")?;
    let one = |text: &str| {
        let mut letters = text.chars();
        letters.next().filter(|c| c.is_ascii_alphanumeric() && letters.next().is_none())
    };
    one(first).zip(one(last))
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Redirection {
    #[default]
    None,
    Reads,
    Writes,
    /// The word itself is what is read.
    Text,
}

#[derive(Default)]
struct Reader {
    chars: Vec<char>,
    at: usize,
    script: Script,
    command: Command,
    word: Option<Word>,
    redirection: Redirection,
}

impl Reader {
    fn next(&mut self) -> Option<char> {
        let c = self.chars.get(self.at).copied();
        self.at += 1;
        c
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn skip(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().text.push(c);
    }

    fn take(&mut self, c: char) {
        match c {
            '\'' => self.single_quote(),
            '"' => self.double_quote(),
            '\\' => match self.next() {
                Some('\n') | None => {}
                Some(c) => self.push(c),
            },
            '$' => self.dollar(),
            '`' => self.backtick(),
            '<' | '>' => self.redirect(c),
            '&' if self.peek() == Some('>') => {
                self.at += 1;
                self.redirect('>');
            }
            '|' => {
                let either = self.skip('|');
                self.skip('&');
                self.end_command(!either);
            }
            ';' | '&' | '\n' | '(' | ')' => self.end_command(false),
            '#' if self.word.is_none() => {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            }
            c if c.is_whitespace() => self.end_word(),
            c => self.push(c),
        }
    }

    fn single_quote(&mut self) {
        let Some(length) = self.chars[self.at..].iter().position(|c| *c == '\'') else { return };
        let text: String = self.chars[self.at..self.at + length].iter().collect();
        self.word.get_or_insert_default().text.push_str(&text);
        self.at += length + 1;
    }

    fn double_quote(&mut self) {
        let (start, nested, word) = (self.at, self.script.nested.len(), self.word.clone());
        self.word.get_or_insert_default();
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '$' if self.peek() != Some('\'') => self.dollar(),
                '`' => self.backtick(),
                c => self.push(c),
            }
        }
        self.script.nested.truncate(nested);
        (self.at, self.word) = (start, word); // never closed: no quote
    }

    fn dollar(&mut self) {
        if self.skip('\'') {
            return self.escapes();
        }
        if self.skip('(') {
            let inside = self.until_closed();
            self.script.nested.push(inside);
        }
        self.push('$');
        self.word.get_or_insert_default().dynamic = true;
    }

    /// `$'…'`.
    fn escapes(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.next() {
            match c {
                '\'' => return,
                '\\' => {
                    let c = match self.next() {
                        Some('x') => self.number(16, 2),
                        Some('u') => self.number(16, 4),
                        Some('U') => self.number(16, 8),
                        Some('n') => Some('\n'),
                        Some('t') => Some('\t'),
                        Some('0'..='7') => {
                            self.at -= 1;
                            self.number(8, 3)
                        }
                        c => c,
                    };
                    if let Some(c) = c {
                        self.push(c);
                    }
                }
                c => self.push(c),
            }
        }
    }

    fn number(&mut self, base: u32, most: usize) -> Option<char> {
        let digits: Vec<u32> = self.chars[self.at.min(self.chars.len())..]
            .iter()
            .take(most)
            .map_while(|c| c.to_digit(base))
            .collect();
        self.at += digits.len();
        char::from_u32(
            digits.into_iter().fold(0_u32, |n, digit| n.wrapping_mul(base).wrapping_add(digit)),
        )
    }

    fn backtick(&mut self) {
        let rest = &self.chars[self.at..];
        let Some(length) = rest.iter().position(|c| *c == '`') else { return };
        self.script.nested.push(rest[..length].iter().collect());
        self.at += length + 1;
        self.word.get_or_insert_default().dynamic = true;
    }

    /// The text up to the bracket that closes the one just read, quotes seen.
    fn until_closed(&mut self) -> String {
        let start = self.at;
        let mut depth = 1;
        let mut quote = None;
        while let Some(c) = self.next() {
            match (quote, c) {
                (None, '(') => depth += 1,
                (None, ')') => depth -= 1,
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                (None | Some('"'), '\\') => self.at += 1,
                (None | Some(_), _) => {}
            }
            if depth == 0 {
                return self.chars[start..self.at - 1].iter().collect();
            }
        }
        self.at = self.chars.len();
        self.chars[start..].iter().collect()
    }

    fn redirect(&mut self, c: char) {
        if self.skip('(') {
            let inside = self.until_closed();
            self.script.nested.push(inside);
            self.push(c);
            self.word.get_or_insert_default().dynamic = true;
            return;
        }
        if self.word.as_ref().is_some_and(|word| word.text.bytes().all(|b| b.is_ascii_digit())) {
            self.word = None; // the number of a descriptor
        }
        self.end_word();
        let mut writes = c == '>';
        let mut text = false;
        if c == '<' && self.skip('<') {
            text = self.skip('<');
            self.script.has_here_document |= !text;
        }
        while let Some(next @ ('<' | '>' | '&' | '|' | '-')) = self.peek() {
            writes |= next == '>';
            self.at += 1;
        }
        self.redirection = match (writes, text) {
            (true, _) => Redirection::Writes,
            (false, true) => Redirection::Text,
            (false, false) => Redirection::Reads,
        };
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::take(&mut self.redirection) {
            Redirection::None => self.command.words.push(word),
            Redirection::Reads => self.command.reads.push(word.text),
            Redirection::Text => self.script.nested.push(word.text),
            Redirection::Writes => self.command.writes.push(word.text),
        }
    }

    fn end_command(&mut self, pipe: bool) {
        self.end_word();
        self.redirection = Redirection::None;
        let next = Command { piped: pipe, ..Command::default() };
        let command = std::mem::replace(&mut self.command, next);
        let Command { words, writes, reads, .. } = &command;
        if ![words.is_empty(), writes.is_empty(), reads.is_empty()].iter().all(|it| *it) {
            self.script.commands.push(command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        read(text)
            .commands
            .iter()
            .map(|command| {
                command.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join("|")
            })
            .collect()
    }

    #[test]
    fn words_lose_their_quotes() {
        assert_eq!(words(r#"a 'b c' "d \"e" f\ g r''m"#), ["a|b c|d \"e|f g|rm"]);
        assert_eq!(words("a; b && c | d & e\nf # g ; h"), ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(words(r"$'\x72\155' -r"), ["rm|-r"]);
        assert_eq!(words("echo don't; rm x"), ["echo|dont", "rm|x"], "an open quote is none");
        assert_eq!(words("a \\\nb"), ["a|b"]);
    }

    #[test]
    fn nested_commands_and_files_are_found() {
        let script = read("a $(b \"$(c)\") `d` <(e) >out 2>>err &>both <in 2>&1 | f");
        assert_eq!(script.nested, ["b \"$(c)\"", "d", "e"]);
        assert_eq!(script.commands[0].writes, ["out", "err", "both", "1"]);
        assert!(script.commands[1].piped && !script.commands[0].piped);
        assert!(read("cat <<EOF\nx\nEOF").has_here_document);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "('|\"|\\\\|\\$\\(|\\)|`|<|>|&|\\$'|x|u| |\n|\\PC){0,40}") {
            let _ = read(&text);
        }
    }
}
