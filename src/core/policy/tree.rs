//! A script as the library reads it: a tree of commands.

use brush_parser::{
    Parser, ParserOptions, SourceInfo,
    ast::{
        AndOr, AndOrList, CaseItem, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
        CompoundList, ElseClause, FunctionDefinition, IoFileRedirectKind, IoFileRedirectTarget,
        IoRedirect, Pipeline, Program, SimpleCommand, Word,
    },
    word::{self, WordPiece, WordPieceWithSource},
};
use std::panic::catch_unwind;

use crate::risk::{Command as Said, Word as SaidWord};

/// Bytes of a script that the library is given. Its time grows faster than the text.
const LONGEST: usize = 8 * 1024;
/// Things in a script that can stand in each other. The library goes one call deeper for each, or
/// tries the rest twice.
const DEEPEST: usize = 12;
/// Words that begin something which ends further on.
const OPENERS: [&str; 12] = [
    "if", "elif", "else", "then", "while", "until", "for", "do", "case", "select", "function", "!",
];

/// Why the library has no tree of a script: goes on after "it".
pub(super) fn read(text: &str) -> Result<Program, &'static str> {
    if text.len() > LONGEST {
        return Err("is longer than is read for sure");
    }
    let brackets = text.matches(['(', '{', '`']).count();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '!');
    if brackets + words.filter(|word| OPENERS.contains(word)).count() > DEEPEST {
        return Err("holds more in each other than is read for sure");
    }
    // It is other people's code on an agent's text: whatever it stumbles over is only not allowed.
    let tree = catch_unwind(|| {
        let options = ParserOptions::default();
        Parser::new(text.as_bytes(), &options, &SourceInfo::default()).parse_program()
    });
    match tree {
        Ok(Ok(program)) => Ok(program),
        Ok(Err(_)) | Err(_) => Err("is not read as a script for sure"),
    }
}

/// The pieces of a word; `None`: the library cannot tell them apart.
pub(super) fn pieces(word: &Word) -> Option<Vec<WordPieceWithSource>> {
    catch_unwind(|| word::parse(&word.value, &ParserOptions::default()).ok()).ok().flatten()
}

/// Every simple command in it, wherever it stands, and the scripts that stand within words.
#[derive(Default)]
pub(super) struct Everything {
    /// Whether what is read now is fed by what stands before it.
    piped: bool,
    pub(super) commands: Vec<Said>,
    pub(super) scripts: Vec<String>,
}

impl Everything {
    pub(super) fn of(program: &Program) -> Self {
        let mut all = Self::default();
        for list in &program.complete_commands {
            all.list(list);
        }
        all
    }

    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            for pipeline in pipelines(&item.0) {
                for (at, command) in pipeline.seq.iter().enumerate() {
                    self.piped = at > 0;
                    self.command(command);
                }
            }
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                let redirects = redirects.as_ref().map(|list| list.0.as_slice());
                self.redirects(redirects.unwrap_or_default());
                self.compound(compound);
            }
            Command::Function(FunctionDefinition { body, .. }) => self.compound(&body.0),
            // What stands in it is compared and not run, but for what its words hold.
            Command::ExtendedTest(test) => self.scripts.push(test.expr.to_string()),
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(it) => self.scripts.push(it.expr.to_string()),
            CompoundCommand::ArithmeticForClause(it) => self.list(&it.body.list),
            CompoundCommand::BraceGroup(it) => self.list(&it.list),
            CompoundCommand::Subshell(it) => self.list(&it.list),
            CompoundCommand::ForClause(it) => {
                for word in it.values.iter().flatten() {
                    self.word(word);
                }
                self.list(&it.body.list);
            }
            CompoundCommand::CaseClause(it) => {
                self.word(&it.value);
                for CaseItem { cmd, .. } in &it.cases {
                    if let Some(list) = cmd {
                        self.list(list);
                    }
                }
            }
            CompoundCommand::IfClause(it) => {
                self.list(&it.condition);
                self.list(&it.then);
                for ElseClause { condition, body } in it.elses.iter().flatten() {
                    if let Some(list) = condition {
                        self.list(list);
                    }
                    self.list(body);
                }
            }
            CompoundCommand::WhileClause(it) | CompoundCommand::UntilClause(it) => {
                self.list(&it.0);
                self.list(&it.1.list);
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        let mut said = Said { piped: self.piped, ..Said::default() };
        for item in items(simple) {
            match item {
                Part::Word(word) => said.words.push(self.word(word)),
                Part::Redirect(redirect) => self.redirect(redirect, &mut said),
                Part::Substitution(list) => self.list(list),
            }
        }
        if !said.words.is_empty() || !said.writes.is_empty() || !said.reads.is_empty() {
            self.commands.push(said);
        }
    }

    fn redirects(&mut self, redirects: &[IoRedirect]) {
        let mut said = Said::default();
        for redirect in redirects {
            self.redirect(redirect, &mut said);
        }
        if !said.writes.is_empty() || !said.reads.is_empty() {
            self.commands.push(said);
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect, said: &mut Said) {
        match redirect {
            IoRedirect::File(_, kind, IoFileRedirectTarget::Filename(word)) => {
                let file = self.word(word).text;
                if writes(kind) { said.writes.push(file) } else { said.reads.push(file) }
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::Duplicate(word)) => {
                let file = self.word(word).text;
                said.writes.extend((!is_descriptor(&file)).then_some(file));
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, shell)) => {
                self.list(&shell.list);
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => {}
            IoRedirect::HereDocument(_, document) => self.scripts.push(document.doc.value.clone()),
            IoRedirect::HereString(_, word) => {
                let text = self.word(word).text;
                self.scripts.push(text);
            }
            IoRedirect::OutputAndError(word, _) => {
                let file = self.word(word).text;
                said.writes.push(file);
            }
        }
    }

    /// Its text as far as it is known, with a `$` for what is not.
    fn word(&mut self, word: &Word) -> SaidWord {
        let mut said = SaidWord::default();
        if let Some(pieces) = pieces(word) {
            self.pieces(&pieces, &mut said);
        } else {
            said.text.clone_from(&word.value);
            said.dynamic = true;
        }
        said
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource], said: &mut SaidWord) {
        for piece in pieces {
            match &piece.piece {
                WordPiece::Text(text)
                | WordPiece::SingleQuotedText(text)
                | WordPiece::AnsiCQuotedText(text) => said.text.push_str(text),
                WordPiece::TildePrefix(user) => {
                    said.text.push('~');
                    said.text.push_str(user);
                }
                WordPiece::EscapeSequence(text) => said.text.push_str(unescaped(text)),
                WordPiece::DoubleQuotedSequence(inner)
                | WordPiece::GettextDoubleQuotedSequence(inner) => self.pieces(inner, said),
                WordPiece::CommandSubstitution(script)
                | WordPiece::BackquotedCommandSubstitution(script) => {
                    self.scripts.push(script.clone());
                    said.text.push('$');
                    said.dynamic = true;
                }
                WordPiece::ParameterExpansion(_) | WordPiece::ArithmeticExpression(_) => {
                    said.text.push('$');
                    said.dynamic = true;
                }
            }
        }
    }
}

/// What a simple command is made of, in order.
pub(super) enum Part<'a> {
    Word(&'a Word),
    Redirect(&'a IoRedirect),
    Substitution(&'a CompoundList),
}

pub(super) fn items(simple: &SimpleCommand) -> Vec<Part<'_>> {
    let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0).map(part);
    let name = simple.word_or_name.iter().map(Part::Word);
    let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0).map(part);
    prefix.chain(name).chain(suffix).collect()
}

fn part(item: &Item) -> Part<'_> {
    match item {
        Item::IoRedirect(redirect) => Part::Redirect(redirect),
        Item::Word(word) | Item::AssignmentWord(_, word) => Part::Word(word),
        Item::ProcessSubstitution(_, shell) => Part::Substitution(&shell.list),
    }
}

pub(super) fn pipelines(list: &AndOrList) -> impl Iterator<Item = &Pipeline> {
    let more = list.additional.iter().map(|next| match next {
        AndOr::And(pipeline) | AndOr::Or(pipeline) => pipeline,
    });
    std::iter::once(&list.first).chain(more)
}

pub(super) fn writes(kind: &IoFileRedirectKind) -> bool {
    match kind {
        IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => false,
        IoFileRedirectKind::Write
        | IoFileRedirectKind::Append
        | IoFileRedirectKind::ReadAndWrite
        | IoFileRedirectKind::Clobber
        | IoFileRedirectKind::DuplicateOutput => true,
    }
}

/// `1` or `-` behind `>&`: no file.
pub(super) fn is_descriptor(text: &str) -> bool {
    text.strip_suffix('-').unwrap_or(text).bytes().all(|b| b.is_ascii_digit())
}

/// `\x` is `x`, and a broken line is none.
pub(super) fn unescaped(text: &str) -> &str {
    let text = text.strip_prefix('\\').unwrap_or(text);
    text.strip_prefix('\n').unwrap_or(text)
}
