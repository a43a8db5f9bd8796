//! What is to be done for an attempt, with everything filled in.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use super::{
    ApprovalWork, CallWork, ClaudeWork, HttpWork, JavascriptWork, Outcome, ShellWork, TurnWork,
    Work, WorkKind,
    context::{context, with_secrets},
    fence,
    state::{Stand, State},
};
use crate::{
    language::{Approval, Body, Call, Claude, Http, Javascript, Kind, Step},
    template::{Expr, Template},
    value::{Piece, Sealed},
};
use minijinja::Value;

/// In `run`: by whom and with what words a person sent a step back.
const SENT_BACK: &str = "sent_back";
/// The words, for a script that a person sent back.
const SENT_BACK_ENV: &str = "VIGIE_SENT_BACK";

/// `Err`: a sentence without its full stop.
pub(super) fn work(state: &Arc<State>, node: usize) -> Result<Work, String> {
    Filling { state, node, step: state.step(node), values: context(state, Some(node)) }.work()
}

struct Filling<'a> {
    state: &'a Arc<State>,
    node: usize,
    step: &'a Step,
    values: Value,
}

impl Filling<'_> {
    fn work(&self) -> Result<Work, String> {
        let step = self.step;
        let workflow = &self.state.frozen.source.workflow;
        let project = step.project.as_ref().or(workflow.project.as_ref());
        let files = step.files.iter().map(|(name, path)| {
            let what = format!("the path of its file `{name}`");
            Ok((name.clone(), inside(self.text(&what, path)?, &what)?))
        });
        Ok(Work {
            what: self.what()?,
            project: project.map(|project| self.text("its project", project)).transpose()?,
            cwd: match &step.cwd {
                Some(cwd) => inside(self.text("its `cwd`", cwd)?, "its `cwd`")?,
                None => String::new(),
            },
            in_session: step
                .in_session
                .as_ref()
                .map(|session| self.text("its `in_session`", session))
                .transpose()?,
            env: self.env()?,
            timeout: step.timeout,
            output: step.output,
            files: files.collect::<Result<_, String>>()?,
            measure: step.expect.looks_at_changes() || is_read_only(step),
            check: step.expect.run.clone(),
            since: self.since(),
            key: self.key(),
        })
    }

    /// Tries again and runs after a crash have the same: a service that knows it does it once. What a
    /// person makes run again is something new.
    /// Of a step about to begin as well.
    fn since(&self) -> u32 {
        let node = &self.state.nodes[self.node];
        node.first.unwrap_or(node.attempts + 1)
    }

    fn key(&self) -> String {
        let path = self.state.path(self.node);
        format!("{}:{path}:{}", self.state.frozen.facts.id, self.state.nodes[self.node].again)
    }

    fn what(&self) -> Result<WorkKind, String> {
        Ok(match &self.step.kind {
            Kind::Shell(shell) => WorkKind::Shell(ShellWork {
                script: shell.script.clone(),
                shell: shell.shell.clone(),
                read_only: shell.read_only,
            }),
            Kind::Claude(claude) => self.claude(claude)?,
            Kind::Http(http) => WorkKind::Http(self.http(http)?),
            Kind::Javascript(javascript) => WorkKind::Javascript(self.javascript(javascript)?),
            Kind::Approval(approval) => WorkKind::Approval(self.approval(approval)?),
            Kind::Call(call) => WorkKind::Call(self.call(call)?),
            Kind::Sleep(_) | Kind::Condition(_) | Kind::Foreach(_) => {
                return Err("nobody has to do anything for it".into());
            }
        })
    }

    /// A prompt that says nothing of a person's words has them at its end.
    fn prompt(&self, template: &Template) -> Result<String, String> {
        let mut prompt = template
            .render_data(&self.values, fence::own_words(self.state, self.node))
            .map_err(|error| format!("its prompt cannot be filled in: {error}"))?;
        let reads_it = template.references().is_ok_and(|all| {
            all.iter()
                .any(|it| it.root == "run" && it.path.first().is_none_or(|it| it == SENT_BACK))
        });
        if let Some(back) = self.state.sent_back(self.node)
            && !back.words.is_empty()
            && !reads_it
        {
            // They are meant to be followed, so no fence stands around them.
            let end = prompt.trim_end().len();
            prompt.truncate(end);
            // A String takes everything.
            let _ = write!(prompt, "\n\nSent back by {}, who says: {}", back.by, back.words);
        }
        Ok(prompt)
    }

    fn claude(&self, claude: &Claude) -> Result<WorkKind, String> {
        let prompt = self.prompt(&claude.prompt)?;
        if let Some(session) = &claude.session {
            let session = self.text("its session", session)?;
            return Ok(WorkKind::Turn(TurnWork { session, prompt }));
        }
        let mut work = ClaudeWork {
            prompt,
            conversation: self.conversation(claude)?,
            model: claude.model.clone(),
            tools: claude.tools.clone(),
            read_only: claude.read_only,
            schema: claude.schema.clone(),
            micro_usd: claude.micro_usd,
            max_turns: claude.max_turns,
        };
        if let Stand::Running { answer, allowance, .. } = &self.state.nodes[self.node].stand {
            if self.state.frozen.source.workflow.limits.micro_usd.is_some() {
                work.micro_usd = Some(*allowance);
            }
            if let Some(answer) = answer {
                let so_far = answer.0.spent.micro_usd;
                work.conversation = Some(answer.0.conversation.clone());
                if self.state.frozen.source.workflow.limits.micro_usd.is_none() {
                    work.micro_usd = claude.micro_usd.map(|own| own.saturating_sub(so_far));
                }
            }
        }
        Ok(WorkKind::Claude(work))
    }

    fn conversation(&self, claude: &Claude) -> Result<Option<String>, String> {
        let Some(id) = &claude.goes_on else { return Ok(None) };
        let node = self.state.named(Some(self.node), id.as_str());
        let ended = node.map(|node| &self.state.nodes[node].stand);
        if let Some(Stand::Over { ended, .. }) = ended
            && let Some(conversation) = &ended.output.conversation
        {
            return Ok(Some(conversation.clone()));
        }
        Err(format!("it goes on with the conversation of `{id}`, and `{id}` left none"))
    }

    fn http(&self, http: &Http) -> Result<HttpWork, String> {
        let headers = http.headers.iter().map(|(name, value)| {
            Ok((name.clone(), self.sealed(&format!("its header `{name}`"), value)?))
        });
        Ok(HttpWork {
            method: http.method.clone(),
            url: self.sealed("its address", &http.url)?,
            headers: headers.collect::<Result<_, String>>()?,
            body: match &http.body {
                None => None,
                Some(Body::Text(text)) => Some(self.sealed("its body", text)?),
                Some(Body::Json(json)) => {
                    let mut pieces = Pieces::default();
                    self.json(json, &mut pieces)?;
                    Some(pieces.sealed())
                }
            },
            json: matches!(http.body, Some(Body::Json(_))),
            expect: http.expect.clone(),
            allow_private: http.allow_private,
            redirects: http.redirects,
        })
    }

    /// JSON text in which each string is filled in; one that is an expression as a whole becomes its
    /// value.
    fn json(&self, json: &serde_json::Value, pieces: &mut Pieces) -> Result<(), String> {
        match json {
            serde_json::Value::String(text) => {
                let template = Template::new(text);
                if let Some(expr) = template.alone() {
                    pieces.text(&self.value("its body", &expr)?.to_string());
                    return Ok(());
                }
                let sealed = self.sealed("its body", &template)?;
                pieces.text("\"");
                for piece in sealed.0 {
                    match piece {
                        Piece::Text(text) => {
                            let quoted = serde_json::Value::from(text).to_string();
                            pieces.text(&quoted[1..quoted.len() - 1]);
                        }
                        secret @ Piece::Secret(_) => pieces.0.push(secret),
                    }
                }
                pieces.text("\"");
            }
            serde_json::Value::Array(items) => {
                pieces.text("[");
                for (index, item) in items.iter().enumerate() {
                    pieces.text(if index > 0 { "," } else { "" });
                    self.json(item, pieces)?;
                }
                pieces.text("]");
            }
            serde_json::Value::Object(fields) => {
                pieces.text("{");
                for (index, (name, value)) in fields.iter().enumerate() {
                    pieces.text(if index > 0 { "," } else { "" });
                    pieces.text(&serde_json::Value::from(name.as_str()).to_string());
                    pieces.text(":");
                    self.json(value, pieces)?;
                }
                pieces.text("}");
            }
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
                pieces.text(&json.to_string());
            }
        }
        Ok(())
    }

    fn javascript(&self, javascript: &Javascript) -> Result<JavascriptWork, String> {
        let input = javascript.input.iter().map(|(name, value)| {
            Ok((name.clone(), self.value(&format!("its input `{name}`"), value)?))
        });
        Ok(JavascriptWork {
            code: javascript.code.clone(),
            input: input.collect::<Result<_, String>>()?,
            memory: javascript.memory,
        })
    }

    fn approval(&self, approval: &Approval) -> Result<ApprovalWork, String> {
        let show = approval.show.as_ref().map(|show| self.text("what it shows", show));
        Ok(ApprovalWork {
            ask: self.text("its question", &approval.ask)?,
            show: show.transpose()?,
            form: approval.form.clone(),
            by: approval.by.clone(),
            count: approval.count,
            not_starter: approval.not_starter,
            timeout: approval.timeout.or(self.step.timeout),
            on_timeout: approval.on_timeout,
            send_back: approval.send_back.clone(),
        })
    }

    fn call(&self, call: &Call) -> Result<CallWork, String> {
        let params = call.params.iter().map(|(name, value)| {
            Ok((name.clone(), self.value(&format!("its param `{name}`"), value)?))
        });
        let params = params.collect::<Result<BTreeMap<_, _>, String>>()?;
        Ok(CallWork { workflow: call.workflow.clone(), params })
    }

    /// The workflow's, and over them the step's own.
    fn env(&self) -> Result<Vec<(String, Sealed)>, String> {
        let workflow = &self.state.frozen.source.workflow.env;
        let mut env: Vec<(String, Sealed)> = Vec::new();
        for (name, template) in workflow.iter().chain(&self.step.env) {
            let value = self.sealed(&format!("`{name}` of its environment"), template)?;
            match env.iter_mut().find(|(it, _)| it == name) {
                Some(before) => before.1 = value,
                None => env.push((name.clone(), value)),
            }
        }
        if let (Kind::Shell(_), Some(back)) = (&self.step.kind, self.state.sent_back(self.node)) {
            env.push((SENT_BACK_ENV.into(), Sealed::plain(&back.words)));
        }
        Ok(env)
    }

    fn text(&self, what: &str, template: &Template) -> Result<String, String> {
        template
            .render(&self.values)
            .map_err(|error| format!("{what} cannot be filled in: {error}"))
    }

    fn value(&self, what: &str, expr: &Expr) -> Result<serde_json::Value, String> {
        expr.value(&self.values).map_err(|error| format!("{what} cannot be told: {error}"))
    }

    fn sealed(&self, what: &str, template: &Template) -> Result<Sealed, String> {
        let sealed = template
            .render_sealed(&with_secrets(self.state, self.node))
            .map_err(|error| format!("{what} cannot be filled in: {error}"))?;
        let may = &self.state.frozen.source.workflow.secrets;
        for piece in &sealed.0 {
            // Data may choose among the secrets of the workflow, and never reach beyond them.
            if let Piece::Secret(name) = piece
                && !may.contains(name)
            {
                return Err(format!(
                    "{what} uses the secret `{name}`, which is not one of the workflow's `secrets`"
                ));
            }
        }
        Ok(sealed)
    }
}

#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn text(&mut self, more: &str) {
        match self.0.last_mut() {
            Some(Piece::Text(text)) => text.push_str(more),
            Some(Piece::Secret(_)) | None => self.0.push(Piece::Text(more.to_owned())),
        }
    }

    fn sealed(self) -> Sealed {
        Sealed(self.0)
    }
}

/// Whether it may change nothing in its folder.
pub(super) fn is_read_only(step: &Step) -> bool {
    match &step.kind {
        Kind::Shell(shell) => shell.read_only,
        Kind::Claude(claude) => claude.read_only,
        Kind::Http(_)
        | Kind::Javascript(_)
        | Kind::Sleep(_)
        | Kind::Condition(_)
        | Kind::Approval(_)
        | Kind::Call(_)
        | Kind::Foreach(_) => false,
    }
}

/// A path made from data may not leave the folder it is meant for.
fn inside(path: String, what: &str) -> Result<String, String> {
    let leaves = path.starts_with(['/', '\\', '~'])
        || path.contains('\0')
        || path.split(['/', '\\']).any(|part| part == "..");
    if leaves { Err(format!("{what} is `{path}`, which leaves its folder")) } else { Ok(path) }
}

/// What a run gives to whoever called it, or the first of it that cannot be told.
pub(super) fn outputs(state: &Arc<State>) -> Result<serde_json::Value, String> {
    let values = context(state, None);
    let outputs = state.frozen.source.workflow.outputs.iter().map(|(name, value)| {
        let value = value
            .value(&values)
            .map_err(|error| format!("what it gives as `{name}` cannot be told: {error}"))?;
        Ok((name.clone(), value))
    });
    Ok(serde_json::Value::Object(outputs.collect::<Result<_, String>>()?))
}

/// What the first step that failed says.
pub(super) fn reason(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done => "it ended well".into(),
        Outcome::Denied { why } if why.is_empty() => "somebody said no".into(),
        Outcome::Failed { why } | Outcome::Denied { why } => why.clone(),
        Outcome::TimedOut => "it took too long".into(),
        Outcome::Cancelled => "it was stopped".into(),
    }
}
