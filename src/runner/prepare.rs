//! An order made ready: its folder, environment, secrets and confinement. One way for all attempts,
//! whoever or whatever started the run.

use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use vigie_core::{id::RunId, outage::GO_ON, policy::Guard, run::StepOrder};
use vigie_workflow::{
    run::{ClaudeWork, HttpWork, Work, WorkKind},
    value::{Piece, Sealed, SecretName, StepPath},
};

use super::{
    place, secrets,
    task::{Claude, Http, Kind, Talk, Task},
};
use crate::{
    config::{Agent, Config},
    confine::{Account, Confinement, Protection},
    hold::environment,
    sessions::Ground,
};

/// Of a step that says nothing.
const LONGEST: Duration = Duration::from_hours(24);
/// Of JavaScript that says nothing: it has nothing to wait for.
const LONGEST_JAVASCRIPT: Duration = Duration::from_secs(10);

/// What of Vigie's own environment a step gets: what finds programs, and what a person set up for
/// this machine and its network. No keys are among them.
const PASSED: [&str; 29] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// By these a step knows itself, and we know what it left.
pub(super) fn marks(run: RunId, step: &StepPath, attempt: u32) -> [(String, String); 3] {
    [
        ("VIGIE_RUN".into(), run.to_string()),
        ("VIGIE_STEP".into(), step.to_string()),
        ("VIGIE_ATTEMPT".into(), attempt.to_string()),
    ]
}

/// # Errors
/// A sentence: why it cannot be carried out, and what to do.
pub(super) async fn task(
    ground: &Ground,
    order: &StepOrder,
    talk: Option<Talk>,
    first: PathBuf,
) -> Result<Task, String> {
    let (work, config) = (&order.work, &*ground.config);
    let (project, cwd) = folders(&order.folder, &work.cwd)?;
    let values = secrets::open(&config.secrets, &order.workflow, &named(work)).await?;
    let open_as = |sealed: &Sealed, spell: fn(&str) -> String| {
        let opened = sealed.open(|name| values.get(name).map(|value| spell(value)));
        opened.map_err(|name| format!("the secret `{name}` is not known"))
    };
    let open = |sealed: &Sealed| open_as(sealed, str::to_owned);
    let agent = agent(config, order)?;
    let read_only = match &work.what {
        WorkKind::Shell(shell) => shell.read_only,
        WorkKind::Claude(claude) => claude.read_only,
        _ => false,
    };
    let mut confinement =
        ground.confinement(agent, &[&project, &cwd]).map_err(|error| error.to_string())?;
    let mut enforced = false;
    if let Some(confinement) = confinement.as_mut().filter(|_| read_only) {
        enforced = confinement.by.contains(&Protection::Files);
        confinement.read_only = repository(&project);
    }
    let mut env = environment(config, agent, work, confinement.as_ref());
    for (name, value) in &work.env {
        let value = open(value)?;
        if value.contains('\0') {
            return Err(format!(
                "the variable `{name}` of its environment holds a NUL character, which no program can be given"
            ));
        }
        env.insert(name.clone(), value);
    }
    if let Some(confinement) = &mut confinement {
        // Files that other steps left are handed over by their paths.
        let named = |folder: &PathBuf| {
            let folder = folder.to_string_lossy();
            work.env.iter().any(|(name, _)| env.get(name).is_some_and(|it| it.contains(&*folder)))
        };
        confinement.show.extend(place::kept(&ground.data, order.run).into_iter().filter(named));
    }
    env.insert("PWD".into(), cwd.to_string_lossy().into_owned());
    env.extend(marks(order.run, &order.step, order.attempt));
    env.insert("VIGIE_KEY".into(), work.key.clone());
    let what = match &work.what {
        WorkKind::Shell(it) => Kind::Shell { shell: it.shell.clone(), script: it.script.clone() },
        WorkKind::Claude(it) => {
            let guard = guard(config, order, &[&cwd, &project]);
            Kind::Claude(claude(it, agent, order, talk, guard))
        }
        WorkKind::Http(it) => Kind::Http(http(it, open_as)?),
        WorkKind::Javascript(it) => Kind::Javascript {
            code: it.code.clone(),
            input: serde_json::to_value(&it.input).map_err(|error| error.to_string())?,
            memory: it.memory,
        },
        WorkKind::Turn(_) | WorkKind::Approval(_) | WorkKind::Call(_) => {
            return Err("a step of this kind is carried out by no process".into());
        }
    };
    let usual = match what {
        Kind::Javascript { .. } => LONGEST_JAVASCRIPT,
        Kind::Shell { .. } | Kind::Claude(_) | Kind::Http(_) => LONGEST,
    };
    Ok(Task {
        what,
        project,
        cwd,
        env: env.into_iter().collect(),
        confinement,
        timeout: work.timeout.unwrap_or(usual),
        output: work.output,
        files: work.files.clone(),
        measure: work.measure || read_only,
        first,
        unchanged: read_only && !enforced,
        check: work.check.clone(),
        key: work.key.clone(),
        secrets: values.into_values().collect(),
    })
}

/// The project's folder and the one it works in, as links lead there now.
fn folders(project: &str, cwd: &str) -> Result<(PathBuf, PathBuf), String> {
    let absent = |folder: &str, error| format!("its folder {folder} is not there: {error}");
    let project = fs::canonicalize(project).map_err(|error| absent(project, error))?;
    let folder = fs::canonicalize(project.join(cwd)).map_err(|error| absent(cwd, error))?;
    if !folder.starts_with(&project) {
        return Err(format!("its folder `{cwd}` leads out of the project"));
    }
    if !folder.is_dir() {
        return Err(format!("`{cwd}` is no folder"));
    }
    Ok((project, folder))
}

/// Every secret that is needed.
fn named(work: &Work) -> BTreeSet<SecretName> {
    let mut texts: Vec<&Sealed> = work.env.iter().map(|(_, value)| value).collect();
    if let WorkKind::Http(http) = &work.what {
        texts.push(&http.url);
        texts.extend(http.headers.iter().map(|(_, value)| value));
        texts.extend(&http.body);
    }
    let pieces = texts.into_iter().flat_map(|text| &text.0);
    let names = pieces.filter_map(|piece| match piece {
        Piece::Secret(name) => Some(name.clone()),
        Piece::Text(_) => None,
    });
    names.collect()
}

/// Whose program runs, and as whose a step is confined: the project's, except that Claude Code is
/// needed for what it does.
fn agent<'a>(config: &'a Config, order: &StepOrder) -> Result<&'a Agent, String> {
    let project = config.projects.iter().find(|project| project.name == order.project);
    let project = project.ok_or_else(|| {
        format!("no project is called `{}` any more; the configuration has changed", order.project)
    })?;
    let own = config.agents.iter().find(|agent| agent.name == project.agent);
    let wanted = match &order.work.what {
        WorkKind::Claude(_) => config.claude_of(project),
        _ => own,
    };
    wanted.ok_or_else(|| {
        "no agent of the configuration is Claude Code: install it, or add an [[agent]] with kind = \"claude\"".into()
    })
}

/// A person is logged in to Claude Code by more than the few variables of other steps; it gets what
/// a session's would.
fn environment(
    config: &Config,
    agent: &Agent,
    work: &Work,
    confinement: Option<&Confinement>,
) -> BTreeMap<String, String> {
    let mut env = environment::cleaned();
    let claude = matches!(work.what, WorkKind::Claude(_));
    if claude {
        env.retain(|name, _| !config.is_a_secret(name));
    } else {
        env.retain(|name, _| PASSED.contains(&name.as_str()));
    }
    let account = confinement.and_then(|confinement| confinement.account.as_ref());
    env.extend(account.into_iter().flat_map(Account::environment));
    env.insert("TERM".into(), "dumb".into());
    if claude {
        env.extend(agent.env.clone());
    }
    env
}

/// The project's folder, and where its repository keeps what is not in there (a worktree's).
pub(super) fn repository(project: &Path) -> Vec<PathBuf> {
    let mut all = vec![project.to_owned()];
    let link = fs::read_to_string(project.join(".git")).unwrap_or_default();
    if let Some(elsewhere) = link.strip_prefix("gitdir:").map(str::trim) {
        let elsewhere = project.join(elsewhere);
        let common = fs::read_to_string(elsewhere.join("commondir")).unwrap_or_default();
        all.push(elsewhere.join(common.trim()));
        all.push(elsewhere);
    }
    all
}

/// What policies say of its tools, by the names that count for the run.
fn guard(config: &Config, order: &StepOrder, folders: &[&Path]) -> Guard {
    Guard {
        policies: config.policies.clone(),
        project: Some(order.project.to_string()),
        asker: order.name.clone(),
        folders: folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect(),
    }
}

fn claude(
    work: &ClaudeWork,
    agent: &Agent,
    order: &StepOrder,
    talk: Option<Talk>,
    guard: Guard,
) -> Claude {
    let fresh = || match &work.conversation {
        Some(id) => Talk::GoOn { id: id.clone() },
        None => Talk::New { id: conversation(order) },
    };
    let again = matches!(talk, Some(Talk::Again { .. }));
    Claude {
        program: agent.program.clone(),
        prompt: if again { GO_ON.into() } else { work.prompt.clone() },
        conversation: talk.unwrap_or_else(fresh),
        model: work.model.clone(),
        tools: work.tools.clone(),
        read_only: work.read_only,
        schema: work.schema.clone(),
        micro_usd: work.micro_usd,
        max_turns: work.max_turns,
        guard,
    }
}

/// A UUID (RFC 9562, version 8) that no other attempt has: one that is begun again has the same.
fn conversation(order: &StepOrder) -> String {
    let name = format!("{}/{}/{}", order.run, order.step, order.attempt);
    let mut bytes: [u8; 16] = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(name.as_bytes())[..16]);
    bytes[6] = bytes[6] & 0x0F | 0x80;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn http(
    work: &HttpWork,
    open_as: impl Fn(&Sealed, fn(&str) -> String) -> Result<String, String>,
) -> Result<Http, String> {
    let open = |sealed: &Sealed| open_as(sealed, str::to_owned);
    // In JSON a secret stands within a string.
    let spell = if work.json { in_json } else { str::to_owned };
    let headers = work.headers.iter().map(|(name, value)| Ok((name.clone(), open(value)?)));
    Ok(Http {
        method: work.method.clone(),
        url: open(&work.url)?,
        sealed_url: sealed_url(&work.url),
        headers: headers.collect::<Result<_, String>>()?,
        body: work.body.as_ref().map(|body| open_as(body, spell)).transpose()?,
        json: work.json,
        expect: work.expect.clone(),
        allow_private: work.allow_private,
        redirects: work.redirects,
    })
}

fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// An address with names of secrets in it, without its user and its query.
fn sealed_url(url: &Sealed) -> Option<String> {
    if !url.0.iter().any(|piece| matches!(piece, Piece::Secret(_))) {
        return None;
    }
    let text = url.to_string();
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = text.split_once("//") else { return Some(text.to_owned()) };
    let (server, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = server.rsplit('@').next().unwrap_or_default();
    Some(format!("{scheme}//{host}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_step_stays_in_its_project() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("quay");
        fs::create_dir_all(project.join("front/src")).unwrap();
        fs::create_dir(home.path().join("other")).unwrap();
        fs::write(project.join("file"), "").unwrap();
        symlink("../other", project.join("out")).unwrap();
        symlink("front/src", project.join("in")).unwrap();
        let root = fs::canonicalize(&project).unwrap();
        let cwd = |cwd: &str| folders(project.to_str().unwrap(), cwd).map(|(_, cwd)| cwd);
        assert_eq!(cwd(""), Ok(root.clone()));
        assert_eq!(cwd("in"), Ok(root.join("front/src")));
        for (bad, why) in [
            ("..", "leads out"),
            ("out", "leads out"),
            ("/etc", "leads out"),
            ("front/../../other", "leads out"),
            ("nowhere", "not there"),
            ("file", "no folder"),
        ] {
            assert!(cwd(bad).unwrap_err().contains(why), "{bad}: {:?}", cwd(bad));
        }
    }

    #[test]
    fn an_address_is_shown_by_the_names_of_its_secrets() {
        let secret = || Piece::Secret("TOKEN".parse().unwrap());
        let text = |text: &str| Piece::Text(text.into());
        let shown = |pieces| sealed_url(&Sealed(pieces));
        assert_eq!(shown(vec![text("https://example.org/?key=a")]), None);
        let user = vec![text("https://me:"), secret(), text("@example.org/a@b?key="), secret()];
        assert_eq!(shown(user).unwrap(), "https://example.org/a@b");
        let host = vec![text("https://"), secret(), text(".example.org/"), secret()];
        assert_eq!(
            shown(host).unwrap(),
            "https://{{ secrets.TOKEN }}.example.org/{{ secrets.TOKEN }}"
        );
        assert_eq!(shown(vec![secret()]).unwrap(), "{{ secrets.TOKEN }}");
    }

    #[test]
    fn a_worktree_has_its_repository_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::create_dir_all(path("main/.git/worktrees/w")).unwrap();
        fs::create_dir(path("w")).unwrap();
        let kept = path("main/.git/worktrees/w");
        fs::write(kept.join("commondir"), "../..\n").unwrap();
        fs::write(path("w/.git"), format!("gitdir: {}\n", kept.display())).unwrap();
        assert_eq!(repository(&path("w")), [path("w"), kept.join("../.."), kept]);
        assert_eq!(repository(&path("main")), [path("main")]);
    }
}
