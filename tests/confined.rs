//! Whether a session can reach Vigie, its own gate, or another session: everything that an agent may
//! try from its shell, tried in a real session of a real daemon, by a plain shell and by the Bash
//! tool of the real Claude Code. What this machine cannot close is not demanded of it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod attacks;
    pub(crate) mod claude;
    pub(crate) mod confinement;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use nix::ifaddrs::getifaddrs;
use scripted_model::Model;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap, fs, net::IpAddr, os::unix::fs::PermissionsExt as _, process::Command,
    time::Instant,
};
use support::{
    attacks::{self, SCENE, Scene, Which},
    claude, confinement,
    home::{DEADLINE, Home},
    phone::{Phone, plain},
};
use vigie::confine::Protection;

const VIGIE: &str = env!("CARGO_BIN_EXE_vigie");
/// In the environment of the other session alone.
const SECRET: &str = "tide-table-of-pointe-du-raz";

fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(VIGIE);
    command
        .args(["up", "--no-link", "--home"])
        .arg(home.data())
        .arg("--config")
        .arg(home.settings())
        .env("VIGIE_DEMO_PACE", "1");
    command
}

/// Not a test of its own: what the others start to attack.
#[test]
fn attacker() {
    if std::env::var_os(SCENE).is_some() {
        attacks::try_all();
    }
}

/// A daemon with a session that waits at its gate, one beside it, and a signed-in phone.
struct Quay {
    home: Home,
    phone: Phone,
    scene: Scene,
}

impl Quay {
    /// `agent` is the configuration of the agent that attacks, without what it may not see.
    async fn new(agent: impl FnOnce(&Home) -> String) -> Self {
        let mut home = Home::new(vigie_up);
        let private = home.data().parent().unwrap().join("private.txt");
        fs::write(&private, "the person's own").unwrap();
        home.configure(&format!(
            "\n[[agent]]\nname = \"neighbour\"\nkind = \"shell\"\nenv = {{ NEIGHBOUR = \"{SECRET}\" }}\n{}hide = [\"{}\"]\n",
            agent(&home),
            private.display(),
        ));
        let settings = fs::read_to_string(home.settings()).unwrap();
        let listen = format!("listen = \"{}\"", home.address);
        let everywhere = format!(
            "listen = \"0.0.0.0:{}\"\nallow_remote = true\nhosts = [\"quay.example.org\"]",
            home.address.port()
        );
        fs::write(home.settings(), settings.replace(&listen, &everywhere)).unwrap();
        home.up().await;
        let phone = home.phone().await;
        start(&home, "gate", "demo").await;
        start(&home, "neighbour", "neighbour").await;
        start(&home, "attacker", "attacker").await;
        phone.send("first-message", "[gate] leave a note").await;
        let card = phone.card().await;
        let scene = Scene {
            which: Which::ClosedBy(Vec::new()),
            vigie: VIGIE.into(),
            data: fs::canonicalize(home.data()).unwrap(),
            config: home.settings(),
            private,
            daemon: home.pid(),
            port: home.address.port(),
            addresses: addresses(),
            cookie: phone.cookie().to_owned(),
            pass: phone.pass().to_owned(),
            code: card["what"]["body"]["code"].as_str().unwrap().into(),
            own: home.folder_of("attacker").await,
            neighbour: home.folder_of("neighbour").await,
            secret: SECRET.into(),
            results: home.project().join("results.json"),
        };
        Self { home, phone, scene }
    }

    /// What makes these attempts.
    fn command(&mut self, which: Which) -> String {
        self.scene.which = which;
        let scene = self.home.project().join("scene.json");
        fs::write(&scene, serde_json::to_vec(&self.scene).unwrap()).unwrap();
        let us = std::env::current_exe().unwrap();
        format!("{SCENE}={} {} --exact attacker", scene.display(), us.display())
    }

    async fn outcomes(&self) -> BTreeMap<String, Result<String, String>> {
        let end = Instant::now() + DEADLINE * 2;
        loop {
            if let Ok(results) = fs::read(&self.scene.results) {
                fs::remove_file(&self.scene.results).unwrap();
                return serde_json::from_slice(&results).unwrap();
            }
            assert!(Instant::now() < end, "the attacker does not end:\n{}", self.home.log());
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Nothing got through, and nothing has changed.
    async fn holds(&mut self, outcomes: &BTreeMap<String, Result<String, String>>) {
        assert_eq!(outcomes.len(), self.scene.which.attacks().count());
        for (name, outcome) in outcomes {
            assert!(outcome.is_err(), "{name}: {outcome:?}");
        }
        assert!(self.home.exited().is_none(), "the daemon is gone:\n{}", self.home.log());
        let waiting: Value = self.home.desk().get("/waiting").await.unwrap();
        let open = waiting.as_array().unwrap().iter().filter(|gate| gate["state"] == "open");
        let codes: Vec<&str> = open.filter_map(|gate| gate["code"].as_str()).collect();
        assert!(codes.contains(&self.scene.code.as_str()), "{waiting:#}");
        let sessions: Value = self.home.desk().get("/sessions").await.unwrap();
        assert_eq!(sessions.as_array().unwrap().len(), 3, "{sessions:#}");
        let settings = fs::read_to_string(self.home.settings()).unwrap();
        assert!(!settings.contains("breached"), "{settings}");
        assert_eq!(self.home.session("neighbour").await["state"], "idle");
        let screen: Value = self.home.desk().get("/sessions/neighbour/screen").await.unwrap();
        assert!(!screen.to_string().contains("breached"), "{screen:#}");
    }

    /// The same attempts succeed for the person: they fail inside for no other reason.
    async fn is_open_to_a_person(&mut self) {
        let command = self.command(Which::Persons);
        let done = Command::new("sh").args(["-c", &command]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let outcomes = self.outcomes().await;
        assert_eq!(outcomes.len(), Which::Persons.attacks().count());
        for (name, outcome) in outcomes {
            assert!(outcome.is_ok(), "{name}: {outcome:?}");
        }
    }

    /// The gate is still there to be answered, by whom it waits for.
    async fn is_answered_by_a_person(&self) {
        let card = self.phone.card().await;
        self.phone.tap(&card, "Approve").await;
        self.phone.hears("Done: “leave a note”").await;
    }
}

async fn start(home: &Home, name: &str, agent: &str) {
    let _: Value =
        home.desk().post("/sessions", &json!({ "name": name, "agent": agent })).await.unwrap();
    home.session_is(name, "idle").await;
}

/// Loopback, and one address under which other machines would come.
fn addresses() -> Vec<(String, String)> {
    let own = getifaddrs().unwrap().filter_map(|one| Some(one.address?.as_sockaddr_in()?.ip()));
    let others = own.filter(|ip| !ip.is_loopback()).map(IpAddr::from);
    let loopback: IpAddr = [127, 0, 0, 1].into();
    let all = std::iter::once((loopback, "localhost"));
    let all = all.chain(others.map(|ip| (ip, "quay.example.org")));
    all.map(|(ip, host)| (ip.to_string(), host.to_owned())).collect()
}

/// What this machine has the means to close.
async fn offered() -> Which {
    Which::ClosedBy(confinement::offered().await.to_vec())
}

const SHELL: &str = "\n[[agent]]\nname = \"attacker\"\nkind = \"shell\"\n";

#[tokio::test]
async fn a_shell_reaches_nothing() {
    let mut quay = Quay::new(|_| SHELL.into()).await;
    let command = quay.command(offered().await);
    quay.phone.send("attack-message", &format!("[attacker] {command}")).await;
    let outcomes = quay.outcomes().await;
    quay.holds(&outcomes).await;
    quay.is_open_to_a_person().await;
    quay.is_answered_by_a_person().await;
}

#[tokio::test]
async fn without_confinement_the_doors_still_tell_an_agent_from_a_person() {
    let mut quay = Quay::new(|_| format!("{SHELL}confine = \"off\"\n")).await;
    let command = quay.command(Which::ClosedBy(Vec::new()));
    quay.phone.send("attack-message", &format!("[attacker] {command}")).await;
    let outcomes = quay.outcomes().await;
    quay.holds(&outcomes).await;
    quay.is_answered_by_a_person().await;
}

#[tokio::test]
async fn a_namespace_is_told_from_outside_where_no_parent_tells() {
    if !confinement::offered().await.contains(&Protection::Files) {
        return; // what has no user namespace to leave in cannot flee into one
    }
    let mut home = Home::new(vigie_up);
    home.configure("");
    home.up().await;
    let status = |enter: &[&str]| {
        let mut command = Command::new(enter[0]);
        command.args(&enter[1..]).args(["status", "--home"]).arg(home.data()).output().unwrap()
    };
    assert!(status(&[VIGIE]).status.success());
    let refused = status(&["unshare", "--user", "--map-root-user", VIGIE]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("container or sandbox"), "{said}");
}

/// What git does for Vigie, it does as the repository says.
#[tokio::test]
async fn a_hook_of_the_repository_reaches_nothing_either() {
    let mut home = Home::new(vigie_up);
    home.configure("worktree = \"per-story\"\n");
    let git = |arguments: &[&str]| {
        let author = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
        let mut command = Command::new("git");
        let done = command.arg("-C").arg(home.project()).args(author).args(arguments).output();
        assert!(done.unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let hook = home.project().join(".git/hooks/post-checkout");
    let said = home.project().join("said");
    let (data, said_path) = (home.data().display().to_string(), said.display().to_string());
    let script = format!(
        "#!/bin/sh\n(cat {data}/vigie.db >/dev/null && echo breached; {VIGIE} pair --home {data} && echo breached) >{said_path} 2>&1\nexit 0\n"
    );
    fs::write(&hook, script).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    home.up().await;
    start(&home, "PD-285", "demo").await;
    let said = fs::read_to_string(said).unwrap();
    let files = confinement::offered().await.contains(&Protection::Files);
    assert!(!files || !said.contains("breached"), "{said}");
    assert!(home.session("PD-285").await["folder"].as_str().unwrap().contains("worktrees"));
}

#[tokio::test]
async fn an_agent_that_must_be_confined_says_what_is_missing_or_starts() {
    let mut home = Home::new(vigie_up);
    home.configure(&format!("{SHELL}confine = \"required\"\n"));
    home.up().await;
    let offered = confinement::offered().await;
    let all = Protection::OF_A_SESSION.iter().all(|one| offered.contains(one));
    let phone = home.phone().await;
    let ask = json!({ "name": "PD-285", "agent": "attacker" });
    let _: Value = home.desk().post("/sessions", &ask).await.unwrap();
    if all {
        home.session_is("PD-285", "idle").await;
    } else {
        phone.hears("one thing is missing here").await;
    }
}

#[tokio::test]
async fn an_agent_runs_as_another_user_where_vigie_is_root() {
    let root = nix::unistd::geteuid().is_root();
    if root && !confinement::offered().await.contains(&Protection::Files) {
        return; // it would not see its own settings, and is refused
    }
    let mut home = Home::new(vigie_up);
    home.configure(&format!("{SHELL}program = \"/bin/sh\"\nuser = \"nobody\"\n"));
    if !root {
        let refused = vigie_up(&home).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("no agent can run as `nobody`"), "{said}");
        return;
    }
    let above = home.project().parent().unwrap().to_owned();
    for (folder, mode) in [(above, 0o755), (home.project(), 0o777)] {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    }
    home.up().await;
    let phone = home.phone().await;
    start(&home, "other", "attacker").await;
    let ask = "id -un >part; echo $USER >>part; ls /dev/pts >>part; echo >/dev/tty && echo ours >>part; mv part who";
    phone.send("who-message", &format!("[other] {ask}")).await;
    let end = Instant::now() + DEADLINE;
    let who = loop {
        if let Ok(who) = fs::read_to_string(home.project().join("who")) {
            break who;
        }
        assert!(Instant::now() < end, "{}", home.log());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let who: Vec<&str> = who.lines().collect();
    assert_eq!(who, ["nobody", "nobody", "ptmx", "ours"], "its own terminal, and no other");
}

/// The real Claude Code, its Bash tool allowed by the person, against a scripted model.
#[tokio::test]
async fn claude_codes_bash_tool_reaches_nothing() {
    let Some(program) = claude::program() else { return };
    let model = Model::start().await.unwrap();
    let agent = |home: &Home| claude::agent(home, &model, &program, "attacker", "default");
    let mut quay = Quay::new(agent).await;
    let command = quay.command(offered().await);
    let prompt = format!("[attacker] !go => bash {command} then say the list is through");
    quay.phone.send("attack-message", &prompt).await;
    let asks = |message: &Value| {
        message["what"]["body"]["state"]["state"] == "open" && plain(message).contains(SCENE)
    };
    let card = quay.phone.shows("Claude Code's request", asks).await;
    quay.phone.tap(&card, "Approve").await;
    let outcomes = quay.outcomes().await;
    quay.holds(&outcomes).await;
    quay.phone.hears("the list is through").await;
    quay.is_open_to_a_person().await;
    quay.is_answered_by_a_person().await;
}
