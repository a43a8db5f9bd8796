//! What a person asks for: at the command line, over the API, or as a slash command in a chat.

use serde_json::json;

use super::{About, Work, gates::Who, given::Given};
use crate::{
    Timestamp,
    agent::{Asked, OrderKind, PromptForm},
    answer::{self, Reading},
    command::{Command, Refusal, Reply, Request, SessionView, Status},
    gate::Gate,
    id::{GateCode, GateId, HumanId, PromptId, SessionId},
    nearest::nearest,
    prompt::{Prompt, PromptMessage, PromptState},
    session::{Ended, Launch, Life, Session},
    state::{Row, State},
    text,
};

/// Messages that may wait for one session; more would only hide that it is stuck.
pub(super) const LONGEST_LINE: usize = 200;

/// Near misses offered.
pub(super) const NEAR: usize = 3;

impl Work<'_> {
    pub(super) fn request(&mut self, request: Request) -> Result<Reply, Refusal> {
        let Request { by, via, what } = request;
        match what.clone() {
            Command::Start(start) => {
                let id = self.start(&start, &by)?;
                let view = self.state.view(id, self.now).expect("it was just made");
                Ok(Reply::Started(Box::new(view)))
            }
            Command::Send { session, text, form } => {
                let id = self.named(&session)?;
                self.send_prompt(id, &text, form, &by)
            }
            Command::Stop { session } => {
                let id = self.live_named(&session)?;
                self.interrupt(id);
                Ok(Reply::Done {
                    words: format!("Stopping {}; its context is kept.", self.session_name(id)),
                })
            }
            Command::End { session } => self.end(&session, &by, OrderKind::End),
            Command::Kill { session } => self.end(&session, &by, OrderKind::Kill),
            Command::Resume { session } => {
                let id = self.named(&session)?;
                self.resume(id)?;
                Ok(Reply::Done { words: format!("{} is resumed.", self.session_name(id)) })
            }
            Command::Answer { code, choice } => {
                let who = Who { human: by, via };
                self.answer_by_code(&code, &choice, &who).map(|words| Reply::Done { words })
            }
            Command::Tap { action } => {
                let unfit =
                    || Refusal::NoSuchChoice { choice: action.to_string(), choices: vec![] };
                let given = action.gate().zip(Given::by_button(&action));
                let (gate, given) = given.ok_or_else(unfit)?;
                let who = Who { human: by, via };
                self.answer_gate(gate, given, &who).map(|words| Reply::Done { words })
            }
            Command::Pair { human, code } => self.pair(&by, human.as_deref(), code),
            Command::Unpair { bridge, id } => self.unpair(&bridge, &id),
            Command::AddToken { name, hash, scopes } => self.add_token(&by, &name, hash, scopes),
            Command::RevokeGrant { number } => self.revoke_grant(&by, number),
            Command::RevokeToken { name } => self.revoke_token(&by, &name),
            Command::EndTree { session } => {
                let id = self.named(&session)?;
                self.end_tree(id, &by)
            }
            Command::Budget { name, wanted } => {
                self.budget(name.as_deref(), wanted, &by).map(|words| Reply::Done { words })
            }
            Command::Run(start) => self.run_for(by, via, &start),
            Command::CancelRun { name } => self.cancel_for(&by, &name),
            Command::RetryRun { name, from } => self.retry_for(&by, &name, from.as_deref()),
            Command::ShowRun { name } => self.show_run(&name),
            Command::RetryAccount { account } => {
                let words = self.retry_account(account.as_deref(), &by)?;
                Ok(Reply::Done { words })
            }
            Command::HandOver { session, agent } => {
                let words = self.hand_over(&session, &agent, &by)?;
                Ok(Reply::Done { words })
            }
            Command::EditPrompt { prompt, text } => self.edit_prompt(&prompt, &text, &by),
            Command::WithdrawPrompt { prompt } => self.withdraw_prompt(&prompt, &by),
            Command::RetryDelivery { delivery } => self.retry_delivery(&delivery, &by),
            Command::NoteTyped { session, typed } => self.note_typed(session, &typed, &by),
            Command::Mute { words } => {
                let words = self.mute_as_written(&by, &words, None)?;
                Ok(Reply::Done { words: words.replace(" /", " vigie ") })
            }
            Command::Unmute { name } => {
                self.unmute(&by, &name, None).map(|words| Reply::Done { words })
            }
            Command::Digest => Ok(Reply::Done { words: self.digest_for(&by).text }),
            Command::Workflows
            | Command::Runs(_)
            | Command::Tokens
            | Command::Grants
            | Command::Sessions
            | Command::Waiting
            | Command::Cards { .. }
            | Command::Prompts { .. }
            | Command::Undelivered
            | Command::Status
            | Command::People => Ok(self.state.read(&what, self.now).expect("these are only read")),
        }
    }

    /// The session of that name, or the near misses.
    pub(super) fn named(&self, name: &str) -> Result<SessionId, Refusal> {
        self.state.session_named(name.trim()).map(|s| s.id).ok_or_else(|| Refusal::NoSession {
            name: name.trim().into(),
            near: self.near_sessions(name).into_iter().map(|s| s.name.to_string()).collect(),
        })
    }

    /// Sessions whose name is close to `name`, live ones first.
    pub(super) fn near_sessions(&self, name: &str) -> Vec<Session> {
        let names: Vec<_> = self.state.live().map(|s| s.name.as_str()).collect();
        let near = nearest(name, names.iter().copied(), NEAR);
        near.into_iter().filter_map(|name| self.state.session_named(name)).cloned().collect()
    }

    pub(super) fn live_named(&self, name: &str) -> Result<SessionId, Refusal> {
        let id = self.named(name)?;
        let session = &self.state.sessions[&id];
        if session.life.is_live() {
            Ok(id)
        } else {
            Err(Refusal::NotLive { name: session.name.clone() })
        }
    }

    fn send_prompt(
        &mut self,
        id: SessionId,
        text: &str,
        form: PromptForm,
        by: &HumanId,
    ) -> Result<Reply, Refusal> {
        if !self.is_live(id) && !self.wake_lord(id) {
            return Err(Refusal::NotLive { name: self.state.sessions[&id].name.clone() });
        }
        let session = &self.state.sessions[&id];
        let ahead = self.state.line_of(id).count();
        let session = session.name.clone();
        let prompt = self.queue(id, text, form, by, None)?;
        let kept = self.kept_words(id, "vigie ");
        Ok(Reply::Stored { prompt, session, ahead, kept })
    }

    /// Puts a text into a session's line.
    pub(super) fn queue(
        &mut self,
        session: SessionId,
        text: &str,
        form: PromptForm,
        by: &HumanId,
        message: Option<PromptMessage>,
    ) -> Result<PromptId, Refusal> {
        if text::prompt_text(text).trim().is_empty() {
            return Err(Refusal::EmptyText);
        }
        let queued = self.state.line_of(session).count();
        if queued >= LONGEST_LINE {
            let name = self.state.sessions[&session].name.clone();
            return Err(Refusal::QueueFull { name, queued });
        }
        let number = self.state.next_prompt;
        self.state.next_prompt += 1;
        let prompt = Prompt {
            id: self.ids.make(PromptId::from_parts),
            session,
            number,
            text: text.into(),
            form,
            by: Some(by.clone()),
            message,
            mails: Vec::new(),
            of_step: None,
            goes_on: None,
            state: PromptState::Queued,
        };
        let id = prompt.id;
        self.put(Row::Prompt(prompt.clone()));
        self.is_theirs(session, by);
        self.make_way_for_people(session);
        if prompt.message.is_none() {
            self.show_foreign_words(
                session,
                &format!(
                    "{} to {} at the command line: ",
                    self.state.name_of(by),
                    self.session_name(session)
                ),
                text,
            );
        }
        let about = About { session: Some(session), gate: None, human: Some(by.clone()) };
        self.journal("prompt_queued", about, json!({ "prompt": id }));
        self.mark_stored(&prompt);
        Ok(id)
    }

    /// A person wants it to go on.
    pub(super) fn resume(&mut self, id: SessionId) -> Result<(), Refusal> {
        self.go_on(id)?;
        if self.state.lord().is_some_and(|lord| lord.id == id) {
            self.watch_lord_anew();
        }
        Ok(())
    }

    pub(super) fn go_on(&mut self, id: SessionId) -> Result<(), Refusal> {
        let session = &self.state.sessions[&id];
        let name = session.name.clone();
        if session.life.is_live()
            || self.state.session_named(name.as_str()).is_some_and(|s| s.life.is_live())
        {
            return Err(Refusal::StillLive { name });
        }
        let conversation = session.conversation.clone().ok_or(Refusal::NothingToResume { name })?;
        // A program that never said a word has begun no conversation, so there is none to lose.
        let never_ran = session.last_seq == 0;
        self.journal_session("resume_ordered", id);
        let how =
            if never_ran { Launch::New { conversation } } else { Launch::Resume { conversation } };
        self.launch(id, how);
        Ok(())
    }

    fn answer_by_code(&mut self, code: &str, choice: &str, who: &Who) -> Result<String, Refusal> {
        let gate = self.gate_of_code(code)?;
        let given = self.given(gate, choice, true);
        // "deny not now": the code stands elsewhere, so the first word may be an answer by itself.
        let (word, reason) = choice.trim().split_once(char::is_whitespace).unwrap_or((choice, ""));
        let reason = reason.trim();
        let given = match (given, self.given(gate, word, true)) {
            (Given::Words(_), Given::Deny { reason: None }) if !reason.is_empty() => {
                Given::Deny { reason: Some(reason.into()) }
            }
            (Given::Words(_), Given::Allow { .. })
                if !reason.is_empty() && self.is_approval(gate) =>
            {
                Given::AllowWith { words: reason.into() }
            }
            (Given::Words(_), _) if !reason.is_empty() => {
                let back = self.given(gate, &format!("{word}: {reason}"), true);
                if matches!(back, Given::SendBack { .. }) {
                    back
                } else {
                    self.given(gate, choice, true)
                }
            }
            (given, _) => given,
        };
        self.answer_gate(gate, given, who)
    }

    /// The gate a person means by its code: an open one, else the last that had it.
    pub(super) fn gate_of_code(&self, code: &str) -> Result<GateId, Refusal> {
        let parsed = GateCode::parse(code.trim());
        let found = parsed.and_then(|code| {
            let with = || self.state.gates.values().filter(|g| g.code == code);
            with().find(|g| g.is_open()).or_else(|| with().next_back()).map(|g| g.id)
        });
        found.ok_or_else(|| Refusal::NoGate {
            code: code.trim().into(),
            open: self.state.open_gates().map(|g| g.code.clone()).collect(),
        })
    }

    /// Whether a workflow waits for a yes there.
    pub(super) fn is_approval(&self, gate: GateId) -> bool {
        let gate = self.state.gates.get(&gate);
        gate.is_some_and(|gate| matches!(gate.ask, Asked::Approval(_)))
    }

    /// What a text means as an answer to this gate. To a question "yes" is a word like any other.
    pub(super) fn given(&self, gate: GateId, text: &str, code_typed: bool) -> Given {
        let question = |gate: &Gate| matches!(gate.ask, Asked::Questions { .. });
        let is_question = self.state.gates.get(&gate).is_some_and(question);
        let is_approval = self.is_approval(gate);
        let own_words = || Given::Words(text.trim().into());
        match answer::read(text, &self.state.rules.words) {
            Reading::Allow { code: None }
            | Reading::AllowForSession { code: None }
            | Reading::AllowForHours { code: None }
                if is_question =>
            {
                own_words()
            }
            Reading::Allow { .. } => Given::Allow { code_typed },
            Reading::AllowForSession { .. } => Given::AllowForSession { code_typed },
            Reading::AllowForHours { .. } => Given::AllowForHours { code_typed },
            Reading::Deny { reason, .. } => Given::Deny { reason },
            Reading::AllowWith { words, .. } if is_approval => Given::AllowWith { words },
            Reading::Back { words, .. } if is_approval => Given::SendBack { words },
            Reading::Option { numbers, .. } => Given::Numbers(numbers),
            Reading::AllowWith { .. }
            | Reading::Back { .. }
            | Reading::AllowAll
            | Reading::Unclear { .. }
            | Reading::NotAnAnswer => own_words(),
        }
    }
}

/// What is only looked at: it changes nothing, so it needs no disk.
impl State {
    /// `None` for whatever is not only read.
    pub fn read(&self, what: &Command, now: Timestamp) -> Option<Reply> {
        match what {
            Command::Workflows => Some(Reply::Workflows(self.workflow_views(now))),
            Command::Runs(listing) => Some(Reply::Runs(self.run_views(listing, now))),
            Command::ShowRun { name } => {
                let known = self.runs.named(name)?;
                Some(Reply::Run(Box::new(self.run_view(known.row.id, now)?)))
            }
            Command::Sessions => Some(Reply::Sessions(self.views(now))),
            Command::People => Some(Reply::People(self.people())),
            Command::Grants => Some(Reply::Grants(self.grant_views(now))),
            Command::Tokens => Some(Reply::Tokens(self.tokens.values().cloned().collect())),
            Command::Waiting => Some(Reply::Waiting(self.waiting_told())),
            Command::Cards { decided } => Some(Reply::Cards(self.cards(*decided))),
            Command::Prompts { session } => Some(Reply::Prompts(self.line(*session))),
            Command::Undelivered => Some(Reply::Undelivered(self.undelivered(now))),
            Command::Status => Some(Reply::Status(Status {
                sessions: self.views(now),
                waiting: self.waiting_told(),
                pending_deliveries: self.deliveries.len(),
                failed_deliveries: self.undelivered(now).into_iter().map(|it| it.words).collect(),
                bridges: self.bridge_views(),
                problems: self.problems.clone(),
            })),
            Command::Start(_)
            | Command::Budget { .. }
            | Command::Run(_)
            | Command::CancelRun { .. }
            | Command::RetryRun { .. }
            | Command::RetryAccount { .. }
            | Command::HandOver { .. }
            | Command::Send { .. }
            | Command::Stop { .. }
            | Command::End { .. }
            | Command::Kill { .. }
            | Command::Resume { .. }
            | Command::AddToken { .. }
            | Command::RevokeToken { .. }
            | Command::RevokeGrant { .. }
            | Command::EndTree { .. }
            | Command::Pair { .. }
            | Command::Unpair { .. }
            | Command::Answer { .. }
            | Command::EditPrompt { .. }
            | Command::WithdrawPrompt { .. }
            | Command::RetryDelivery { .. }
            | Command::NoteTyped { .. }
            | Command::Mute { .. }
            | Command::Unmute { .. }
            | Command::Digest
            | Command::Tap { .. } => None,
        }
    }

    /// What started it that is no person, as people call it.
    pub fn session_started_by(&self, session: &Session) -> Option<String> {
        let run = session.of_run.as_ref().map(|of| of.name.clone());
        run.or_else(|| session.spawn.as_ref().map(|spawn| self.principal_name(&spawn.by)))
    }

    pub(super) fn waiting(&self) -> Vec<Gate> {
        let mut open: Vec<_> = self.open_gates().cloned().collect();
        open.sort_by_key(|gate| (gate.opened, gate.id));
        open
    }

    /// The same, each with who said yes so far where more than one has to.
    fn waiting_told(&self) -> Vec<Gate> {
        let mut open = self.waiting();
        for gate in &mut open {
            let said = self.said_yes(gate, gate.people_needed());
            gate.shown.facts.extend(said);
        }
        open
    }

    /// What waits for a session, first what goes in first.
    fn line(&self, session: SessionId) -> Vec<Prompt> {
        let mut line: Vec<_> = self.line_of(session).cloned().collect();
        line.sort_by_key(|prompt| prompt.number);
        line
    }

    fn views(&self, now: Timestamp) -> Vec<SessionView> {
        self.sessions.keys().filter_map(|id| self.view(*id, now)).collect()
    }

    fn view(&self, id: SessionId, now: Timestamp) -> Option<SessionView> {
        let session = self.sessions.get(&id)?.clone();
        let open_gates = self.open_gates_of(id).map(|g| (g.id, g.code.clone())).collect();
        Some(SessionView {
            open_gates,
            queued: self.line_of(id).count(),
            unread_mail: self.mail_of(id).count(),
            started_by: self.session_started_by(&session),
            ended_by: match &session.life {
                Life::Ended { how: Ended::By { human }, .. } => Some(self.name_of(human)),
                Life::Ended { how: Ended::Itself | Ended::ByAgent { .. }, .. }
                | Life::Starting { .. }
                | Life::Idle { .. }
                | Life::Working { .. }
                | Life::NeedsDesk { .. }
                | Life::Lost { .. } => None,
            },
            limited: self.limited(&session, now),
            session,
        })
    }
}
