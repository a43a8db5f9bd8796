//! A turn of Claude Code without a terminal. What it may not do by itself ends its process: the call
//! is put off (a hook's `defer`, 2.1.332), a person is asked, and the conversation goes on with their
//! answer in another process.

mod command;
mod permission;
mod said;
mod server;

use std::{
    fs,
    sync::{Arc, Mutex, PoisonError},
};
use vigie_core::run::{PutOff, PutOffBy};
use vigie_workflow::run::{Asks, Ended, Outcome, Spent};

use super::{
    Keeper, output,
    pour::into_file,
    process::{GRACE, Program, Ran, Status, Takers},
};
use crate::{
    agents::claude::settings_files,
    clock::Clock,
    runner::{
        place::{ERR, OUT},
        records,
        task::{Claude, Kind, Left, Talk},
    },
};
use permission::Permission;
use said::{Answer, Said};

/// What it said last, whole.
const ANSWER: &str = "answer";

impl Keeper {
    /// `None`: broken off.
    pub(super) fn claude(&mut self) -> Option<Left> {
        let Kind::Claude(claude) = &self.task.what else { return None };
        let claude = claude.clone();
        let before = match &claude.conversation {
            Talk::Answered { asks, .. } => asks.spent,
            Talk::Again { spent, .. } => *spent,
            Talk::New { .. } | Talk::GoOn { .. } => Spent::default(),
        };
        match self.turn(&claude, before) {
            Ok((ran, said)) => match self.put_off(&claude, before, &ran, &said) {
                Some(put_off) => Some(Left::PutOff(put_off)),
                None => self.judge(&claude, before, ran, &said),
            },
            Err(why) => {
                let mut ended = Ended::of(Outcome::Failed { why: self.mask.text(&why) });
                ended.spent = before;
                Some(Left::Ended(ended))
            }
        }
    }

    fn turn(&mut self, claude: &Claude, before: Spent) -> Result<(Ran, Said), String> {
        let permission = Arc::new(Permission::new(claude, self.mask.clone(), self.folder.clone()));
        let door = server::open(permission)
            .map_err(|error| format!("its permissions cannot be watched over: {error}"))?;
        let env = self.task.env.iter().cloned().collect();
        let theirs = settings_files(&env, &self.task.cwd);
        let args = command::arguments(claude, before, &door.url, &theirs)?;
        let usual = command::environment(&self.task.env, &door.token);
        let env: Vec<(&str, &str)> =
            usual.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let said = Arc::new(Mutex::new(Said::default()));
        let (out, err, mask) = (self.folder.join(OUT), self.folder.join(ERR), self.mask.clone());
        let (heard, other) = (said.clone(), self.mask.clone());
        let takers = Takers {
            out: Box::new(move |from, tell| said::follow(from, &out, &mask, &heard, tell)),
            err: Box::new(move |from, tell| into_file(from, &err, &other, tell)),
        };
        let input = match &claude.conversation {
            Talk::New { .. } | Talk::GoOn { .. } | Talk::Again { .. } => {
                Some(claude.prompt.clone())
            }
            Talk::Answered { .. } => None, // it goes on where it was
        };
        let began = Clock::system().now();
        records::note(&self.folder, &self.task.env, command::id(claude), began)
            .map_err(|error| format!("where its records are cannot be written down: {error}"))?;
        let program = claude.program.to_string_lossy().into_owned();
        let grace = Some(GRACE);
        let program =
            Program { name: &program, args: &args, input, env: &env, grace, goes_on: true };
        let ran = self.run(program, takers, self.deadline);
        let said = std::mem::take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((ran, said))
    }

    /// Whether it stopped for something that passes, or that somebody mends: it goes on then.
    fn put_off(&self, claude: &Claude, before: Spent, ran: &Ran, said: &Said) -> Option<PutOff> {
        let why = match (ran, &said.answer) {
            (Ran::PutOff, _) => PutOffBy::Us,
            (Ran::Exited(_), Some(answer)) => {
                let kind = said.refused()?;
                let said = self.mask.text(answer.result.as_deref().unwrap_or_default());
                PutOffBy::Account { kind, said }
            }
            (_, _) => return None,
        };
        let conversation = said.conversation.clone();
        let conversation = conversation.unwrap_or_else(|| command::id(claude).to_owned());
        let spent = sum(before, said.spent);
        Some(PutOff { why, at: Clock::system().now(), conversation, spent })
    }

    fn judge(&self, claude: &Claude, before: Spent, ran: Ran, said: &Said) -> Option<Left> {
        let spent = sum(before, said.spent);
        let conversation =
            said.conversation.clone().unwrap_or_else(|| command::id(claude).to_owned());
        let (status, outcome) = match ran {
            Ran::Exited(status) => (Some(status), Outcome::Done),
            other => (None, other.outcome()?.unwrap_or(Outcome::Cancelled)),
        };
        let mut ended = Ended::of(outcome);
        if let Some(status) = status {
            match &said.answer {
                Some(Answer { deferred: Some(call), .. }) if status == Status::Code(0) => {
                    if let Err(why) = output::not_too_deep(&call.input) {
                        let why = why.replace("what it printed", "what it asks for");
                        return Some(Left::Ended(Ended {
                            spent,
                            ..Ended::of(Outcome::Failed { why })
                        }));
                    }
                    let mut input = call.input.clone();
                    self.mask.json(&mut input);
                    return Some(Left::Asks(Asks {
                        tool: call.name.clone(),
                        input,
                        cwd: self.task.cwd.to_string_lossy().into_owned(),
                        conversation,
                        call: call.id.clone(),
                        spent,
                    }));
                }
                Some(answer) => self.take_answer(claude, status, answer, &mut ended),
                None => ended.outcome = self.failed(status),
            }
        }
        ended.spent = spent;
        ended.output.conversation = Some(conversation);
        self.mask_outcome(&mut ended.outcome);
        Some(Left::Ended(ended))
    }

    fn take_answer(&self, claude: &Claude, status: Status, answer: &Answer, ended: &mut Ended) {
        let path = self.folder.join(ANSWER);
        let text = self.mask.text(answer.result.as_deref().unwrap_or_default());
        let kept = fs::write(&path, text).and_then(|()| output::read(&path, self.task.output));
        match kept {
            Ok((output, formed)) => {
                ended.output = output;
                if let Err(why) = formed.map_err(|why| why.replace("printed", "said")) {
                    ended.outcome = Outcome::Failed { why };
                }
            }
            Err(error) => {
                let why = format!("what it said cannot be kept: {error}");
                ended.outcome = Outcome::Failed { why };
            }
        }
        if let Err(why) = answer.worked(status, claude) {
            ended.outcome = Outcome::Failed { why };
        } else if claude.schema.is_some() {
            let given = answer.structured_output.clone();
            let given = given.ok_or_else(|| "it gave no result in the form of its schema".into());
            match given.and_then(|json| output::not_too_deep(&json).map(|()| json)) {
                Ok(mut json) => {
                    self.mask.json(&mut json);
                    ended.output.json = Some(json);
                    ended.outcome = Outcome::Done;
                }
                Err(why) => {
                    let why = why.replace("printed", "said");
                    ended.outcome = Outcome::Failed { why };
                }
            }
        }
    }
}

fn sum(one: Spent, other: Spent) -> Spent {
    Spent {
        micro_usd: one.micro_usd + other.micro_usd,
        input_tokens: one.input_tokens + other.input_tokens,
        output_tokens: one.output_tokens + other.output_tokens,
    }
}
