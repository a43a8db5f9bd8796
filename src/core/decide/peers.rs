//! What agents see of each other, and what they say of themselves.

use serde_json::json;

use super::{About, Effect, LookAt, Work, show};
use crate::{
    bridge::Level,
    caller::{
        AgentRefusal, AgentReply, Isolated, ListScope, Listing, PeerView, Principal, ProjectView,
        UsageView, WaitsFor, Whoami, WithEnded,
    },
    command::Refusal,
    delivery::Rank,
    id::{ProjectName, SessionId},
    ringing::Kind,
    session::{Life, Session, Summary},
    text::{self, Rich, Style},
};

/// Longest summary, in characters: one line of a list.
const SUMMARY: usize = 200;

/// Longest message to the people, in bytes; what is longer belongs into a file.
const NOTICE: usize = 4000;

/// Chains are followed no further: depth is bounded, so a longer one is damaged.
const GENERATIONS: usize = 64;

impl Work<'_> {
    pub(super) fn whoami(&self, caller: &Principal) -> AgentReply {
        let session = match caller {
            Principal::Session { session } => Some(self.peer(*session)),
            Principal::Client { .. } => None,
        };
        AgentReply::Whoami(Whoami {
            name: self.principal_name(caller),
            principal: caller.clone(),
            depth: session.as_ref().map_or(0, |s| s.depth),
            waiting_mail: self.state.mail_for(caller).count(),
            session,
            chain: self.chain_of(caller),
            left: self.left_of(caller),
        })
    }

    /// As lists and messages call them.
    pub(super) fn principal_name(&self, principal: &Principal) -> String {
        self.state.principal_name(principal)
    }

    /// Who started whom, the nearest first.
    pub(super) fn chain_of(&self, caller: &Principal) -> Vec<String> {
        let mut chain = Vec::new();
        let mut at = caller.clone();
        while let Principal::Session { session } = at
            && chain.len() < GENERATIONS
        {
            let spawn = self.state.sessions.get(&session).and_then(|s| s.spawn.as_ref());
            let Some(spawn) = spawn else {
                chain.push("a person".into());
                break;
            };
            chain.push(self.principal_name(&spawn.by));
            at = spawn.by.clone();
        }
        chain
    }

    pub(super) fn projects(&self) -> AgentReply {
        let live = |name: &ProjectName| self.state.live().filter(|s| s.project == *name).count();
        let view = |project: &crate::state::Project| ProjectView {
            name: project.name.clone(),
            path: project.path.clone(),
            agent: project.agent.clone(),
            live: live(&project.name),
        };
        AgentReply::Projects { projects: self.state.rules.projects.iter().map(view).collect() }
    }

    /// Ids sort by age, so the order is the same whoever asks and however often.
    pub(super) fn peers(
        &self,
        caller: &Principal,
        listing: &Listing,
    ) -> Result<AgentReply, AgentRefusal> {
        let own = match caller {
            Principal::Session { session } => self.state.sessions.get(session),
            Principal::Client { .. } => None,
        };
        let scoped = |other: &Session| match (listing.scope, own) {
            (ListScope::Machine, _) => true,
            (ListScope::Tree, _) => self.is_below(other.id, caller),
            (ListScope::Project, Some(own)) => other.project == own.project,
            (ListScope::Repository, Some(own)) => {
                self.repository(&other.project) == self.repository(&own.project)
            }
            (ListScope::Directory, Some(own)) => other.cwd == own.cwd,
            (ListScope::Project | ListScope::Repository | ListScope::Directory, None) => false,
        };
        let wanted = |other: &Session| {
            let project = listing.project.as_deref();
            (other.life.is_live() || listing.ended == WithEnded::Yes)
                && project.is_none_or(|name| other.project.as_str().eq_ignore_ascii_case(name))
                && listing.story.as_deref().is_none_or(|story| matches(story, other))
        };
        if let Some(name) = listing.project.as_deref() {
            self.project(Some(name))?;
        }
        let visible = self.state.sessions.values().filter(|s| self.is_visible(caller, s));
        let sessions = visible.filter(|s| scoped(s) && wanted(s)).map(|s| self.peer(s.id));
        let sessions: Vec<_> = sessions.collect();
        Ok(AgentReply::Sessions { digest: self.digest(&sessions), sessions })
    }

    /// Where a project's worktrees come from; several projects may share one.
    fn repository(&self, project: &ProjectName) -> String {
        let known = self.state.rules.projects.iter().find(|known| known.name == *project);
        known.map_or_else(|| project.to_string(), |known| known.path.clone())
    }

    /// Whoever is isolated is seen by those alone that started it, and sees nobody else itself.
    pub(super) fn is_visible(&self, caller: &Principal, other: &Session) -> bool {
        let own = match caller {
            Principal::Session { session } if *session == other.id => return true,
            Principal::Session { session } => self.state.sessions.get(session),
            Principal::Client { .. } => None,
        };
        let below = || self.is_below(other.id, caller);
        let apart = own.is_some_and(|own| own.isolated == Isolated::Yes);
        (other.isolated == Isolated::No && !apart) || below()
    }

    /// Whether `caller` started that session, or something above it.
    pub(super) fn is_below(&self, id: SessionId, caller: &Principal) -> bool {
        let mut at = id;
        for _ in 0..GENERATIONS {
            let spawn = self.state.sessions.get(&at).and_then(|s| s.spawn.as_ref());
            match spawn.map(|spawn| &spawn.by) {
                Some(by) if by == caller => return true,
                Some(Principal::Session { session }) => at = *session,
                Some(Principal::Client { .. }) | None => return false,
            }
        }
        false
    }

    /// A session by its name, as far as the caller may see it.
    pub(super) fn peer_named(
        &self,
        caller: &Principal,
        name: &str,
    ) -> Result<SessionId, AgentRefusal> {
        let by_id = name.trim().parse().ok().filter(|id| self.state.sessions.contains_key(id));
        let id = match by_id {
            Some(id) => Ok(id),
            None => self.named(name),
        };
        let visible = |id: &SessionId| {
            self.state.sessions.get(id).is_some_and(|s| self.is_visible(caller, s))
        };
        match id {
            Ok(id) if visible(&id) => Ok(id),
            Ok(_) => Err(Refusal::NoSession { name: name.trim().into(), near: vec![] }.into()),
            Err(Refusal::NoSession { name, near }) => {
                let near = near.into_iter().filter(|near| {
                    self.state.session_named(near).is_some_and(|s| self.is_visible(caller, s))
                });
                Err(Refusal::NoSession { name, near: near.collect() }.into())
            }
            Err(other) => Err(other.into()),
        }
    }

    pub(super) fn peer(&self, id: SessionId) -> PeerView {
        let session = &self.state.sessions[&id];
        PeerView {
            id,
            run: session.run,
            name: session.name.clone(),
            title: session.title.clone(),
            project: session.project.clone(),
            agent: session.agent.clone(),
            role: session.role,
            cwd: session.cwd.clone(),
            branch: session.worktree.as_ref().map(|tree| tree.branch.clone()),
            life: session.life.clone(),
            summary: session.summary.clone(),
            doing: session.turn.as_ref().and_then(|turn| turn.lines.last().cloned()),
            last_words: session.last_words.clone(),
            waits_for: self.waits_for(id),
            queued: self.state.line_of(id).count(),
            unread_mail: self.state.mail_of(id).count(),
            spent: session.spent,
            started_by: self.state.session_started_by(session),
            depth: session.spawn.as_ref().map_or(0, |spawn| spawn.depth),
            isolated: session.isolated,
            created: session.created,
            limited: self.state.limited(session, self.now),
        }
    }

    /// Everything only a person can do something about.
    pub(super) fn waits_for(&self, id: SessionId) -> Vec<WaitsFor> {
        let Some(session) = self.state.sessions.get(&id).filter(|s| s.life.is_live()) else {
            return Vec::new();
        };
        let since = session.life.since();
        let gates = self.state.open_gates_of(id);
        let gates = gates.map(|g| WaitsFor { title: g.shown.title.clone(), since: g.opened });
        let desk = match &session.life {
            Life::NeedsDesk { why, .. } => {
                Some(WaitsFor { title: format!("needs a person at the desk: {why}"), since })
            }
            Life::Starting { .. }
            | Life::Idle { .. }
            | Life::Working { .. }
            | Life::Ended { .. }
            | Life::Lost { .. } => None,
        };
        let title = "has used up what was set aside for it; a person has to write to it".into();
        let spent = self.is_spent(id).then_some(WaitsFor { title, since });
        gates.chain(desk).chain(spent).collect()
    }

    pub(super) fn set_summary(
        &mut self,
        caller: &Principal,
        text: &str,
    ) -> Result<AgentReply, AgentRefusal> {
        let id = Self::caller_session(caller, "say what it does")?;
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = text::mask(&line).text.chars().take(SUMMARY).collect();
        let at = self.now;
        self.change(id, |s| {
            s.summary = (!text.is_empty()).then_some(Summary { text, at });
        });
        self.journal_session("summary_set", id);
        Ok(AgentReply::Done { words: "Others see it in list_sessions.".into() })
    }

    /// Silent: what rings is for the code to say.
    pub(super) fn notify_people(
        &mut self,
        caller: &Principal,
        text: &str,
    ) -> Result<AgentReply, AgentRefusal> {
        let id = Self::caller_session(caller, "write to the people")?;
        let length = text.len();
        if text.trim().is_empty() {
            return Err(crate::mail::NotSent::Empty.into());
        }
        if length > NOTICE {
            return Err(crate::mail::NotSent::TooLong { length, most: NOTICE }.into());
        }
        let name = self.session_name(id);
        let mut rich = Rich::plain(format!("{name} says:\n"));
        let shown = text::reveal(&text::mask(text.trim()).text).text.text;
        rich.push(&shown, Some(Style::Quote));
        self.said(id, text);
        let post = show::note(Level::Note, rich, vec![]);
        self.post_news(Kind::Words, id, &post, Rank::Note);
        let about = About { session: Some(id), ..About::default() };
        self.journal("people_notified", about, json!({ "length": length }));
        Ok(AgentReply::Done { words: "It is in your session's thread; it does not ring.".into() })
    }

    pub(super) fn send_file(
        &mut self,
        caller: &Principal,
        path: &str,
        about: &str,
    ) -> Result<AgentReply, AgentRefusal> {
        let id = Self::caller_session(caller, "send files")?;
        if !about.trim().is_empty() {
            self.notify_people(caller, about)?;
        }
        let session = self.state.sessions[&id].clone();
        for chat in self.state.hearing() {
            let target = self.session_target(&chat, id);
            let Some(place) = self.state.place_of(&target) else { continue };
            let files = self.state.limits_of(&chat.bridge, &chat.chat).files;
            let at = LookAt::File { path: path.into() };
            self.effect(Effect::Look { session: Box::new(session.clone()), at, files, place });
        }
        Ok(AgentReply::Done {
            words: "It is looked up and goes to your session's thread; what is wrong with it is said there.".into(),
        })
    }

    pub(super) fn usage_of(&self, caller: &Principal) -> AgentReply {
        let own = match caller {
            Principal::Session { session } => self.state.sessions.get(session).map(|s| s.spent),
            Principal::Client { .. } => None,
        };
        let below = self.state.sessions.values().filter(|s| self.is_below(s.id, caller));
        let mut below: Vec<_> = below.collect();
        below.sort_by_key(|s| (s.spawn.as_ref().map(|spawn| spawn.depth), s.id));
        AgentReply::Usage(UsageView {
            own,
            sessions: below.into_iter().map(|s| (s.name.clone(), s.spent)).collect(),
            left: self.left_of(caller),
        })
    }
}

/// `PD-285`, or `PD-*` for all that begin so.
fn matches(story: &str, session: &Session) -> bool {
    let name = session.name.folded();
    let story = story.trim().to_ascii_lowercase();
    match story.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == story,
    }
}
