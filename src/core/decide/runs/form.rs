//! A start of a run that a person fills in: one question after another, each the last message of its
//! chat, and then all of it with the button that begins.

use chrono::TimeDelta;
use std::collections::BTreeMap;
use vigie_workflow::language::{Param, ParamKind};

use super::start::typed;
use crate::{
    bridge::{Action, Button, Level, Mark, Post, Weight},
    command::Refusal,
    decide::{Work, gates::Who, heard::Message, outbox::target_of, show, taps::Told},
    delivery::{Rank, Shown},
    id::{HeardId, HumanId, RunId},
    run::{Given, Origin, StartRun, Starter},
    runs::RunForm,
    text::{self, Rich, Style},
};

/// Workflows that are offered as buttons; any other is written by its name.
const OFFERED: usize = 12;

/// Params that can be changed by a tap; any other is written anew.
const CHANGED: usize = 6;

/// Words without an address answer what was asked so lately: later on nobody has it in mind.
const FRESH: TimeDelta = TimeDelta::minutes(15);

/// Where a form stands.
enum Next {
    Choose,
    Ask { at: usize, param: Param },
    Confirm,
}

impl Work<'_> {
    /// `/run` alone: what can be run.
    pub(super) fn offer_workflows(&mut self, message: &Message) {
        let ready = self.state.runs.catalog.all.values().filter(|known| known.source.is_some());
        let mut ready: Vec<_> =
            ready.map(|known| (rank(&known.origin), known.name.clone())).collect();
        ready.sort();
        let offered = ready.into_iter().map(|(_, name)| name).take(OFFERED).collect();
        let form = self.new_form(message, String::new(), None, BTreeMap::new(), offered);
        self.post_form(form, None);
    }

    /// `/run NAME k=v`: begins at once where nothing is left to ask.
    pub(super) fn run_typed(
        &mut self,
        message: &Message,
        workflow: &str,
        given: BTreeMap<String, Given>,
        project: Option<String>,
    ) -> Result<Option<RunId>, Refusal> {
        let known = self.workflow_named(workflow)?;
        let missing = known.source.as_ref().is_some_and(|source| {
            let asked = |param: &&Param| {
                param.default.is_none() && !given.contains_key(param.name.as_str())
            };
            source.workflow.params.iter().any(|param| asked(&param))
        });
        let wrong = known.source.as_ref().map(|source| typed(source, &given).err());
        let lacks = |mistake: &String| mistake.contains("` is needed (");
        let only_lacks = wrong.flatten().is_none_or(|mistakes| mistakes.iter().all(lacks));
        if missing && only_lacks {
            self.project_of_start(&known, project.as_deref())?;
            let form = self.new_form(message, known.name.clone(), project, given, Vec::new());
            self.post_form(form, None);
            return Ok(None);
        }
        let start = StartRun { workflow: known.name.clone(), params: given, project, key: None };
        let starter = Starter::Human { human: message.human.clone(), via: message.via.clone() };
        self.start_run(&start, starter, Some(message.place.clone())).map(Some)
    }

    fn new_form(
        &self,
        message: &Message,
        workflow: String,
        project: Option<String>,
        given: BTreeMap<String, Given>,
        offered: Vec<String>,
    ) -> RunForm {
        RunForm {
            id: message.heard,
            human: message.human.clone(),
            via: message.via.clone(),
            place: message.place.clone(),
            offered,
            workflow,
            project,
            given,
            asked: Vec::new(),
            changes: None,
            at: self.now,
            shown: None,
        }
    }

    /// Asks what comes next, below all else; what it asked before keeps `answered` and no button.
    fn post_form(&mut self, mut form: RunForm, answered: Option<&str>) {
        if let (Some(shown), Some(answered)) = (form.shown.take(), answered) {
            let mut text = Rich::default();
            text.push(&form.workflow, Some(Style::Bold));
            text.push(&format!(": {}", text::reveal(&text::mask(answered).text).text.text), None);
            let post = show::note(Level::Log, text, vec![]);
            self.edit_all(&[shown], &post, Rank::Note);
        }
        if let Next::Ask { param, .. } = self.next_of(&form) {
            let name = param.name.to_string();
            if !form.asked.contains(&name) {
                form.asked.push(name);
            }
        }
        form.at = self.now;
        let post = self.form_post(&form, None);
        let delivery = self.post_to_place(&form.place, None, post);
        form.shown = Some(Shown { delivery, to: target_of(&form.place) });
        self.state.runs.keep_form(form);
    }

    fn params_of(&self, form: &RunForm) -> &[Param] {
        let known = self.state.runs.catalog.all.get(&form.workflow);
        let source = known.and_then(|known| known.source.as_ref());
        source.map(|source| source.workflow.params.as_slice()).unwrap_or_default()
    }

    fn next_of(&self, form: &RunForm) -> Next {
        if form.workflow.is_empty() {
            return Next::Choose;
        }
        let mut params = self.params_of(form).iter().enumerate();
        let open = params.find(|(_, param)| match &form.changes {
            Some(name) => param.name.as_str() == name,
            None => is_open(form, param),
        });
        open.map_or(Next::Confirm, |(at, param)| Next::Ask { at, param: param.clone() })
    }

    fn form_post(&self, form: &RunForm, wrong: Option<&str>) -> Post {
        let button = |label: String, weight, action| Button { label, detail: None, weight, action };
        let drop = button("Leave it".into(), Weight::Plain, Action::DropRun { form: form.id });
        let mut text = Rich::default();
        if let Some(wrong) = wrong {
            text.append(&show::ticked(&format!("{}.\n", text::reveal(wrong).text.text)));
        }
        let mut buttons = Vec::new();
        match self.next_of(form) {
            Next::Choose => {
                self.list_workflows(&form.offered, &mut text);
                buttons.extend(form.offered.iter().enumerate().map(|(option, name)| {
                    let action = Action::FillIn { form: form.id, at: 0, option };
                    button(name.clone(), Weight::Plain, action)
                }));
            }
            Next::Ask { at, param } => {
                text.push(&form.workflow, Some(Style::Bold));
                text.push(&format!(": {}?", text::reveal(title_of(&param)).text.text), None);
                if let Some(bounds) = bounds(param.kind) {
                    text.push(&format!(" ({bounds})"), None);
                }
                let place = form.asked.iter().position(|name| name == param.name.as_str());
                let open = self.params_of(form).iter().filter(|param| is_open(form, param));
                let later = open.filter(|open| !form.asked.contains(&open.name.to_string()));
                let all = form.asked.len() + later.count();
                if let Some(place) = place.filter(|_| all > 1 && form.changes.is_none()) {
                    text.push(&format!(" {} of {all}.", place + 1), None);
                }
                let choices = choices(&param);
                if choices.is_empty() {
                    text.push(" Write it here.", None);
                }
                buttons.extend(choices.iter().enumerate().map(|(option, choice)| {
                    let action = Action::FillIn { form: form.id, at, option };
                    button(text::reveal(&worded(choice)).text.text, Weight::Plain, action)
                }));
            }
            Next::Confirm => {
                self.sum_up(form, &mut text);
                let params = self.params_of(form).iter().enumerate().take(CHANGED);
                buttons.extend(params.map(|(at, param)| {
                    let label = format!("Change {}", text::reveal(title_of(param)).text.text);
                    let action = Action::FillIn { form: form.id, at, option: 0 };
                    button(label, Weight::Plain, action)
                }));
                buttons.push(button(
                    "Start".into(),
                    Weight::Go,
                    Action::StartRun { form: form.id },
                ));
            }
        }
        buttons.push(drop);
        show::note(Level::Note, text, buttons)
    }

    /// All that a start would begin with.
    fn sum_up(&self, form: &RunForm, text: &mut Rich) {
        text.push(&form.workflow, Some(Style::Bold));
        text.push(": start it?", None);
        for param in self.params_of(form) {
            let given = form.given.get(param.name.as_str()).map(said);
            let default = || param.default.as_ref().map(|value| worded(value) + " (the default)");
            let value = given.or_else(default).unwrap_or_default();
            let masked = text::mask(&format!("{}: {value}", param.name)).text;
            text.push(&format!("\n{}", text::reveal(&masked).text.text), None);
        }
        let known = self.state.runs.catalog.all.get(&form.workflow);
        let project =
            known.and_then(|known| self.project_of_start(known, form.project.as_deref()).ok()?);
        if let Some(project) = project {
            text.push(&format!("\nin the project {project}"), None);
        }
    }

    fn list_workflows(&self, offered: &[String], text: &mut Rich) {
        let all = &self.state.runs.catalog.all;
        if all.is_empty() {
            let words = "No workflow is known. `vigie workflow` at the desk says where they lie.";
            text.append(&show::ticked(words));
        }
        for known in offered.iter().filter_map(|name| all.get(name)) {
            text.push(&known.name, Some(Style::Code));
            let title = known.source.as_ref().map(|source| source.workflow.title.as_str());
            let title = text::reveal(title.unwrap_or_default()).text.text;
            text.push(&format!(" {title}\n"), None);
        }
        let broken = all.values().filter(|known| known.source.is_none()).count();
        let more = all.len().saturating_sub(offered.len() + broken);
        if more > 0 {
            let words = format!("and {more} more; `vigie workflow list` has all\n");
            text.append(&show::ticked(&words));
        }
        if broken > 0 {
            let words = format!("{broken} with mistakes; `vigie workflow check` shows them\n");
            text.append(&show::ticked(&words));
        }
        if !all.is_empty() {
            text.push("Or write: /run NAME name=value", None);
        }
    }

    /// A tap on one of the options; the words are for whoever tapped.
    pub(in crate::decide) fn fill_in(&mut self, id: HeardId, at: usize, option: usize) -> Told {
        let Some(mut form) = self.state.runs.form(id).cloned() else { return gone() };
        let answered = match self.next_of(&form) {
            Next::Choose => {
                let Some(name) = form.offered.get(option).cloned() else { return gone() };
                form.workflow.clone_from(&name);
                form.offered.clear();
                self.post_form(form, Some("chosen"));
                return Told::Seen(name);
            }
            Next::Ask { at: open, param } if open == at => {
                let Some(choice) = choices(&param).get(option).cloned() else {
                    return gone();
                };
                let answered = format!("{}: {}", param.name, worded(&choice));
                form.given.insert(param.name.to_string(), Given::Json(choice));
                form.changes = None;
                answered
            }
            Next::Confirm => {
                let Some(param) = self.params_of(&form).get(at) else { return gone() };
                let words = format!("Changing {}.", title_of(param));
                form.changes = Some(param.name.to_string());
                self.post_form(form, Some("being changed"));
                return Told::Seen(words);
            }
            Next::Ask { .. } => return Told::Unseen("That was answered already.".into()),
        };
        self.post_form(form, Some(&answered));
        Told::Seen(answered)
    }

    /// Words in reply to what a form asks. `false`: they are none.
    pub(in crate::decide) fn fills_in(&mut self, message: &Message) -> bool {
        let Some(reply_to) = &message.reply_to else { return false };
        let is_it = |form: &&RunForm| {
            let shown = form.shown.as_ref().and_then(|s| self.state.messages.get(&s.delivery));
            is_here(form, message) && shown == Some(reply_to)
        };
        let form = self.state.runs.forms().find(is_it).cloned();
        form.is_some_and(|form| self.take_words(form, message))
    }

    /// Words that have nowhere else to go, where one form of whoever wrote them waits for words: what
    /// they answer is asked about once more before anything begins.
    pub(in crate::decide) fn fills_in_unasked(&mut self, message: &Message) -> bool {
        let waits = |form: &&RunForm| {
            let wants = match self.next_of(form) {
                Next::Ask { param, .. } => {
                    choices(&param).is_empty() || chosen(&param, &message.text).is_some()
                }
                Next::Choose | Next::Confirm => false,
            };
            let fresh = self.now - form.at < FRESH && message.can_have_seen(form.at);
            wants && fresh && is_here(form, message) && form.human == message.human
        };
        let mut waiting = self.state.runs.forms().filter(waits).cloned();
        let (form, other) = (waiting.next(), waiting.next());
        drop(waiting);
        let bare = message.can_act() && message.files.is_empty() && message.reply_to.is_none();
        form.filter(|_| bare && other.is_none()).is_some_and(|form| self.take_words(form, message))
    }

    fn take_words(&mut self, mut form: RunForm, message: &Message) -> bool {
        let Next::Ask { param, .. } = self.next_of(&form) else { return false };
        let name = param.name.to_string();
        let words = Given::Text(message.text.trim().into());
        let given = chosen(&param, &message.text).map_or(words, Given::Json);
        let answered = format!("{name}: {}", said(&given));
        let before = form.given.insert(name.clone(), given);
        let known = self.state.runs.catalog.all.get(&form.workflow);
        let source = known.and_then(|known| known.source.as_ref());
        let mistakes = source.map(|source| typed(source, &form.given).err().unwrap_or_default());
        let its = format!("`{name}`:");
        let wrong = mistakes.unwrap_or_default().into_iter().find(|words| words.starts_with(&its));
        if let Some(wrong) = wrong {
            match before {
                Some(before) => form.given.insert(name, before),
                None => form.given.remove(&name),
            };
            let post = self.form_post(&form, Some(&wrong));
            let shown = form.shown.clone();
            self.edit_all(&shown.into_iter().collect::<Vec<_>>(), &post, Rank::Note);
            let why = wrong;
            self.mark(&message.receipt(vec![]), Mark::NotTaken { why });
        } else {
            form.changes = None;
            self.mark(&message.receipt(vec![]), Mark::Stored { targets: vec![], words: None });
            self.post_form(form, Some(&answered));
        }
        true
    }

    pub(in crate::decide) fn start_form(&mut self, id: HeardId, who: &Who) -> Told {
        let Some(form) = self.state.runs.form(id).cloned() else { return gone() };
        let start = StartRun {
            workflow: form.workflow.clone(),
            params: form.given.clone(),
            project: form.project.clone(),
            key: None,
        };
        let starter = Starter::Human { human: who.human.clone(), via: who.via.clone() };
        let run = match self.start_run(&start, starter, Some(form.place.clone())) {
            Ok(run) => run,
            Err(refusal) => return Told::Unseen(refusal.in_a_chat()),
        };
        let words = self.words_of_start(run);
        self.close_form(id, &words);
        Told::Seen(words)
    }

    pub(super) fn words_of_start(&self, run: RunId) -> String {
        use crate::run::RunLife;
        let Some(known) = self.state.runs.get(run) else { return String::new() };
        let name = known.row.name();
        match &known.row.life {
            RunLife::Queued => format!("{}.", self.queued_words(known)),
            RunLife::Running | RunLife::Over { .. } => format!("{name} starts."),
            RunLife::NotRun { why, .. } => format!("{name} did not run: {why}."),
        }
    }

    pub(in crate::decide) fn drop_form(&mut self, id: HeardId) -> Told {
        if self.state.runs.form(id).is_none() {
            return gone();
        }
        self.close_form(id, "Nothing was started.");
        Told::Seen("Nothing was started.".into())
    }

    fn close_form(&mut self, id: HeardId, words: &str) {
        let Some(form) = self.state.runs.drop_form(id) else { return };
        let post = show::note(Level::Log, Rich::plain(words), vec![]);
        let shown: Vec<_> = form.shown.into_iter().collect();
        self.edit_all(&shown, &post, Rank::Note);
    }

    pub(in crate::decide) fn cancel_by_tap(
        &mut self,
        run: RunId,
        who: &Who,
    ) -> Result<String, Refusal> {
        self.cancel_run_by(run, &who.human)
    }

    pub(in crate::decide) fn retry_by_tap(
        &mut self,
        run: RunId,
        who: &Who,
    ) -> Result<String, Refusal> {
        let by: &HumanId = &who.human;
        self.retry_run_by(run, None, by)
    }
}

fn gone() -> Told {
    let words = "That start is no longer known here. Write /run and its name again.";
    Told::Unseen(words.into())
}

/// A person's own come first, then those of projects, then what ships with Vigie.
fn rank(origin: &Origin) -> u8 {
    match origin {
        Origin::Own => 0,
        Origin::Project { .. } => 1,
        Origin::BuiltIn => 2,
    }
}

fn is_here(form: &RunForm, message: &Message) -> bool {
    form.place.bridge == message.place.bridge && form.place.chat == message.place.chat
}

fn is_open(form: &RunForm, param: &Param) -> bool {
    param.default.is_none() && !form.given.contains_key(param.name.as_str())
}

fn title_of(param: &Param) -> &str {
    if param.title.is_empty() { param.name.as_str() } else { &param.title }
}

/// What its values are, where no choice shows it.
fn bounds(kind: ParamKind) -> Option<String> {
    match kind {
        ParamKind::Integer { minimum: Some(least), maximum: Some(most) } => {
            Some(format!("{least} to {most}"))
        }
        ParamKind::Integer { minimum: Some(least), maximum: None } => {
            Some(format!("{least} or more"))
        }
        ParamKind::Integer { minimum: None, maximum: Some(most) } => {
            Some(format!("{most} or less"))
        }
        ParamKind::Integer { minimum: None, maximum: None } => Some("a whole number".into()),
        ParamKind::Number => Some("a number".into()),
        ParamKind::Json => Some("JSON".into()),
        ParamKind::String { longest: Some(most) } => Some(format!("at most {most} characters")),
        ParamKind::String { longest: None } | ParamKind::Boolean => None,
    }
}

/// The choice that is written out, or its number.
fn chosen(param: &Param, text: &str) -> Option<serde_json::Value> {
    let (text, all) = (text.trim(), choices(param));
    let same = |choice: &&serde_json::Value| worded(choice).eq_ignore_ascii_case(text);
    let number = || all.get(text.parse::<usize>().ok()?.checked_sub(1)?);
    all.iter().find(same).or_else(number).cloned()
}

/// What a tap can give.
fn choices(param: &Param) -> Vec<serde_json::Value> {
    if !param.choices.is_empty() {
        return param.choices.clone();
    }
    match param.kind {
        ParamKind::Boolean => vec![true.into(), false.into()],
        ParamKind::String { .. }
        | ParamKind::Integer { .. }
        | ParamKind::Number
        | ParamKind::Json => Vec::new(),
    }
}

fn worded(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Bool(true) => "yes".into(),
        serde_json::Value::Bool(false) => "no".into(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null
        | serde_json::Value::Number(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => value.to_string(),
    }
}

fn said(given: &Given) -> String {
    match given {
        Given::Text(text) => text.clone(),
        Given::Json(value) => worded(value),
    }
}
