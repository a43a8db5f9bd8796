//! The configuration as the core sees it.

use chrono::TimeDelta;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use vigie_core::{
    answer::Words,
    bridge::{Bridge, Limits, Room},
    id::{AgentName, BridgeName, ChatId, HumanId, ProjectName},
    ringing::Ringing,
    route::{BadPrefix, StoryPattern},
    state::{Accounts, Chat, Person, Project, Rules, WorkflowRules, WorktreeRule},
};

use crate::{
    bridges::{MATRIX, TELEGRAM},
    config::{self, Config, Language, OnOff, WorktreeMode},
};

/// Everything the core must know of `config` and the bridges that run.
///
/// # Errors
/// A story prefix that is none; the configuration's own check should have said so before.
pub fn rules(config: &Config, bridges: &[Arc<dyn Bridge>]) -> Result<Rules, BadPrefix> {
    let languages: Vec<_> =
        config.routing.languages.iter().map(|language| tag(*language)).collect();
    Ok(Rules {
        people: config.humans.iter().map(|human| (human.id.clone(), person(human))).collect(),
        identities: config.humans.iter().flat_map(identities).collect(),
        projects: config.projects.iter().map(project).collect(),
        agents: config.agents.iter().map(|agent| agent.name.clone()).collect(),
        pattern: match config.routing.stories.as_slice() {
            [] => StoryPattern::default(),
            prefixes => prefixes.join(",").parse()?,
        },
        words: Words::for_languages(&languages),
        gate_deadline: TimeDelta::from_std(config.gates.deadline).unwrap_or(TimeDelta::MAX),
        chats: bridges.iter().filter_map(|bridge| fixed_chat(bridge.as_ref())).collect(),
        limits: bridges.iter().flat_map(|bridge| limits(bridge.as_ref())).collect(),
        strangers: config.access.strangers,
        without_mail: without_mail(config),
        bounds: config.bounds.clone(),
        workflows: WorkflowRules { agent_of: agent_of(config), ..config.workflows.rules.clone() },
        lord: config.lord.clone(),
        accounts: accounts(config),
        policies: config.policies.clone(),
        prices: config.prices.prices.clone(),
        budgets: config.budget.clone(),
        ringing: ringing(config),
    })
}

fn without_mail(config: &Config) -> HashSet<AgentName> {
    let without = config.agents.iter().filter(|agent| !agent.kind.takes_mail());
    without.map(|agent| agent.name.clone()).collect()
}

/// Which agent a step of each project has for itself.
fn agent_of(config: &Config) -> HashMap<ProjectName, AgentName> {
    let of = |project: &config::Project| {
        let agent = config.claude_of(project)?;
        Some((project.name.clone(), agent.name.clone()))
    };
    config.projects.iter().filter_map(of).collect()
}

/// Times are told in the zone of the first who has one, else in that of this machine.
fn accounts(config: &Config) -> Accounts {
    let shared =
        config.agents.iter().filter_map(|agent| Some((agent.name.clone(), agent.account.clone()?)));
    let told = config.humans.iter().find_map(|human| Some(human.hours.as_ref()?.zone.name()));
    let zone = told.map(str::to_owned).or_else(|| iana_time_zone::get_timezone().ok());
    Accounts { of: shared.collect(), zone }
}

fn ringing(config: &Config) -> Ringing {
    let people = config.humans.iter();
    let people = people.filter_map(|human| Some((human.id.clone(), human.hours.clone()?)));
    Ringing { people: people.collect(), ..config.ringing.clone() }
}

fn person(human: &config::Human) -> Person {
    Person { name: human.name.clone(), role: human.role }
}

/// Who they are on which service, as far as the configuration says so.
fn identities(human: &config::Human) -> impl Iterator<Item = ((BridgeName, String), HumanId)> {
    let phone = (human.phone == OnOff::On)
        .then(|| (BridgeName::new(vigie_phone::NAME), human.id.to_string()));
    let telegram = human.telegram.map(|number| (BridgeName::new(TELEGRAM), number.to_string()));
    let matrix = human.matrix.clone().map(|user| (BridgeName::new(MATRIX), user));
    phone.into_iter().chain(telegram).chain(matrix).map(|known| (known, human.id.clone()))
}

fn project(project: &config::Project) -> Project {
    let worktree = match project.worktree {
        WorktreeMode::None => WorktreeRule::None,
        WorktreeMode::PerStory => WorktreeRule::PerStory,
    };
    Project {
        name: project.name.clone(),
        path: project.path.to_string_lossy().into_owned(),
        agent: project.agent.clone(),
        worktree,
    }
}

/// The chat of the phone page: it is ours, so nobody has to open it.
fn fixed_chat(bridge: &dyn Bridge) -> Option<Chat> {
    let chat = ChatId::new(vigie_phone::CHAT);
    let phone = bridge.name().as_str() == vigie_phone::NAME;
    phone.then(|| Chat { bridge: bridge.name(), chat, room: Room::Forum })
}

fn limits(bridge: &dyn Bridge) -> [((BridgeName, Room), Limits); 4] {
    Room::ALL.map(|room| ((bridge.name(), room), bridge.limits(room)))
}

fn tag(language: Language) -> &'static str {
    match language {
        Language::English => "en",
        Language::French => "fr",
    }
}
