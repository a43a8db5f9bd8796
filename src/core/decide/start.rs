//! How a session begins: because a person wants it, because an agent does, or as the Lord.

use serde_json::json;

use super::{About, Work, requests::NEAR, show};
use crate::{
    agent::PromptForm,
    caller::Isolated,
    command::{Refusal, Start},
    id::{AgentName, HumanId, SessionId, SessionName},
    nearest::nearest,
    session::{Launch, Life, Role, Session, Spawn, Spent, Stirred, Worktree},
    state::Project,
};

/// Where messages can go besides sessions; a session of that name could not be told from it.
const ADDRESSES: [&str; 6] = ["human", "parent", "children", "lord", "me", "vigie"];

/// What a session is made of, checked.
pub(super) struct Beginning {
    pub name: SessionName,
    pub title: String,
    pub project: Project,
    pub agent: AgentName,
    pub role: Role,
    /// `None`: no agent starts it.
    pub spawn: Option<Spawn>,
    pub isolated: Isolated,
}

/// A line of a list, and of a topic's name on a phone.
const LONGEST_TITLE: usize = 200;

impl Work<'_> {
    /// A person starts a session; under the Lord's name it is the Lord, with a fresh context.
    pub(super) fn start(&mut self, start: &Start, by: &HumanId) -> Result<SessionId, Refusal> {
        let name = self.free_name(&start.name)?;
        let lord = self.state.rules.lord.clone().filter(|lord| is_same(&lord.name, &name));
        let of_lord = lord.as_ref();
        let project = start.project.as_deref().or(of_lord.map(|lord| lord.project.as_str()));
        let project = self.project(project)?;
        let agent = start.agent.as_deref().or(of_lord.map(|lord| lord.agent.as_str()));
        let agent = self.agent(agent, &project)?;
        if start.title.trim().chars().count() > LONGEST_TITLE {
            let words = format!(
                "a title has {LONGEST_TITLE} characters at most; what is to be done belongs into the prompt"
            );
            return Err(Refusal::BadName(words));
        }
        let title = match (start.title.trim(), start.prompt.as_deref()) {
            ("", Some(prompt)) => show::last_words(prompt),
            (title, _) => title.into(),
        };
        let role = if lord.is_some() { Role::Lord } else { Role::Worker };
        let isolated = start.isolated;
        let beginning = Beginning { name, title, project, agent, role, spawn: None, isolated };
        let id = self.begin(beginning, Some(by));
        if let Some(text) = start.prompt.as_deref().filter(|text| !text.trim().is_empty()) {
            self.queue(id, text, PromptForm::Text, by, None)?;
        }
        if role == Role::Lord {
            self.watch_lord_anew();
        }
        Ok(id)
    }

    /// Makes the session and has its program started.
    pub(super) fn begin(&mut self, beginning: Beginning, by: Option<&HumanId>) -> SessionId {
        let cwd = beginning.project.path.clone();
        self.begin_at(beginning, by, cwd, None)
    }

    /// The same in the folder of a session before it.
    pub(super) fn begin_in(
        &mut self,
        beginning: Beginning,
        by: Option<&HumanId>,
        before: &Session,
    ) -> SessionId {
        self.begin_at(beginning, by, before.cwd.clone(), before.worktree.clone())
    }

    fn begin_at(
        &mut self,
        beginning: Beginning,
        by: Option<&HumanId>,
        cwd: String,
        worktree: Option<Worktree>,
    ) -> SessionId {
        let Beginning { name, title, project, agent, role, spawn, isolated } = beginning;
        let conversation = self.ids.uuid();
        let depth = spawn.as_ref().map_or(0, |spawn| spawn.depth);
        let above = spawn.as_ref().and_then(|spawn| self.state.whose(&spawn.by));
        let detail = json!({
            "name": name,
            "project": project.name,
            "agent": agent,
            "role": role,
            "spawn": spawn,
        });
        let session = Session {
            id: self.ids.make(SessionId::from_parts),
            name,
            title,
            project: project.name,
            agent,
            cwd,
            worktree,
            created: self.now,
            whose: by.cloned().or(above),
            life: Life::Starting { since: self.now },
            ending: None,
            interrupting: None,
            launching: None,
            run: 0,
            conversation: Some(conversation.clone()),
            last_seq: 0,
            heard: None,
            silent: None,
            stuck: None,
            denied: Vec::new(),
            turn: None,
            last_words: None,
            spent: Spent::default(),
            role,
            spawn,
            isolated,
            summary: None,
            token: None,
            stirred: Stirred { hops: 0, depth },
            of_run: None,
            counted: None,
            cut: None,
            handing_over: None,
        };
        let id = session.id;
        self.put_session(session);
        let about = About { session: Some(id), gate: None, human: by.cloned() };
        self.journal("session_ordered", about, detail);
        self.close_questions_of_predecessors(id);
        self.launch(id, Launch::New { conversation });
        id
    }

    /// A name that a new session can have.
    pub(super) fn free_name(&self, name: &str) -> Result<SessionName, Refusal> {
        let name: SessionName =
            name.trim().parse().map_err(|e| Refusal::BadName(format!("{e}")))?;
        let lords = self.state.rules.lord.as_ref().is_some_and(|lord| is_same(&lord.name, &name));
        if !lords && ADDRESSES.contains(&name.folded().as_str()) {
            let words = format!("`{name}` is an address for messages and names no session");
            return Err(Refusal::BadName(words));
        }
        match self.state.session_named(name.as_str()) {
            Some(session) if session.life.is_live() => {
                Err(Refusal::StillLive { name: session.name.clone() })
            }
            Some(_) | None => Ok(name),
        }
    }

    pub(super) fn project(&self, name: Option<&str>) -> Result<Project, Refusal> {
        let projects = &self.state.rules.projects;
        let found = match name {
            Some(name) => projects.iter().find(|p| p.name.as_str().eq_ignore_ascii_case(name)),
            None => projects.first(),
        };
        found.cloned().ok_or_else(|| {
            let name = name.unwrap_or_default();
            let near = nearest(name, projects.iter().map(|p| p.name.as_str()), NEAR);
            Refusal::NoProject {
                name: name.into(),
                known: projects.iter().map(|p| p.name.clone()).collect(),
                near: near.into_iter().map(str::to_owned).collect(),
            }
        })
    }

    pub(super) fn agent(
        &self,
        name: Option<&str>,
        project: &Project,
    ) -> Result<AgentName, Refusal> {
        let name = name.unwrap_or(project.agent.as_str());
        let agents = &self.state.rules.agents;
        agents.iter().find(|a| a.as_str().eq_ignore_ascii_case(name)).cloned().ok_or_else(|| {
            Refusal::NoAgent {
                name: name.into(),
                known: agents.clone(),
                near: nearest(name, agents.iter().map(AgentName::as_str), NEAR)
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            }
        })
    }
}

/// Names are the same in any case.
pub(super) fn is_same(one: &SessionName, other: &SessionName) -> bool {
    one.folded() == other.folded()
}
