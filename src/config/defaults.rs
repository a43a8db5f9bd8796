//! What holds when nobody set anything: `vigie up` needs no file.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroUsize,
    path::PathBuf,
    time::Duration,
};
use vigie_core::id::{AgentName, HumanId, ProjectName};

use super::{
    Access, Agent, Bounds, Budgets, Config, Gates, Human, Language, Layout, LongAnswers, Matrix,
    OnOff, Phone, PriceList, Project, Reactions, Recording, Ringing, Role, Routing, Strangers,
    Surroundings, Telegram, Telemetry, Unsafe, Web, WorkflowRules, Workflows, WorktreeMode,
};
use crate::{agents::AgentKind, confine::Level};

/// Stands in bookmarks, tunnels and firewall rules, so it stays.
const PORT: u16 = 7285;

/// Under the day that an agent's hook waits at most, so that our answer comes first.
pub(super) const LONGEST_DEADLINE: Duration = Duration::from_hours(23);

/// Much more than a day of an agent's screen, and little beside what agents leave on a disk.
const RECORDING_LIMIT: u64 = 64 << 20;

/// Source: Synapse, `rc_message.per_second`, 0.2 where nobody changed it.
const EVENTS_A_MINUTE: NonZeroUsize = NonZeroUsize::new(12).unwrap();

pub(super) fn config(around: &Surroundings) -> Config {
    Config {
        source: None,
        web: Web { listen: listen(), hosts: Vec::new(), url: None },
        humans: vec![owner(around)],
        projects: vec![demo_project(around)],
        agents: agents(around),
        routing: Routing { stories: Vec::new(), languages: vec![Language::English] },
        gates: Gates { deadline: LONGEST_DEADLINE },
        recording: Recording { limit: RECORDING_LIMIT },
        phone: Phone { enabled: OnOff::On },
        telegram: telegram(around),
        matrix: matrix(),
        access: Access { strangers: Strangers::Answered },
        bounds: Bounds::default(),
        budget: Budgets::default(),
        prices: PriceList::shipped(),
        lord: None,
        workflows: Workflows { triggers: Vec::new(), rules: WorkflowRules::default() },
        policies: Vec::new(),
        ringing: Ringing::default(),
        telemetry: Telemetry::default(),
        secrets: Vec::new(),
        warnings: Vec::new(),
    }
}

pub(super) fn listen() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))
}

fn owner(around: &Surroundings) -> Human {
    Human {
        id: HumanId::new("owner"),
        name: around.user.clone(),
        role: Role::Owner,
        phone: OnOff::On,
        telegram: None,
        matrix: None,
        hours: None,
    }
}

pub(super) fn telegram(around: &Surroundings) -> Telegram {
    Telegram {
        enabled: OnOff::Off,
        token_file: around.data.join("telegram.token"),
        api: "https://api.telegram.org".into(),
        long_answers: LongAnswers::Parts,
    }
}

pub(super) fn matrix() -> Matrix {
    Matrix {
        enabled: OnOff::Off,
        layout: Layout::Threads,
        unsigned_devices: Unsafe::Refuse,
        unencrypted: Unsafe::Refuse,
        plain_rooms: Unsafe::Refuse,
        reactions: Reactions::Answer,
        new_identities: Unsafe::Refuse,
        events_a_minute: EVENTS_A_MINUTE,
        polls: OnOff::Off,
        quick_reactions: OnOff::On,
        long_answers: LongAnswers::Parts,
    }
}

fn demo_project(around: &Surroundings) -> Project {
    Project {
        name: ProjectName::new("demo"),
        path: around.data.join("demo"),
        agent: AgentName::new("demo"),
        worktree: WorktreeMode::None,
    }
}

fn agents(around: &Surroundings) -> Vec<Agent> {
    let demo = agent("demo", AgentKind::Demo, "vigie".into());
    let shell = agent("shell", AgentKind::Shell, around.shell.clone());
    let claude = around.claude.clone().map(|path| agent("claude", AgentKind::Claude, path));
    [demo, shell].into_iter().chain(claude).collect()
}

/// An agent of that name with nothing set.
pub(super) fn agent(name: &str, kind: AgentKind, program: PathBuf) -> Agent {
    Agent {
        name: AgentName::new(name),
        kind,
        program,
        args: Vec::new(),
        env: BTreeMap::new(),
        permission_mode: None,
        prompt_ends: None,
        confine: Level::Auto,
        hide: Vec::new(),
        user: None,
        account: None,
    }
}
