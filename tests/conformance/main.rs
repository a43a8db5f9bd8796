//! The official conformance suite against our door: transport, guard and token are ours, the tools
//! behind them are what the suite expects.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod fixture;
#[path = "../support"]
mod support {
    pub(crate) mod outside;
}

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};
use support::outside::nothing_outside;
use tempfile::TempDir;
use tokio::{process::Command, sync::mpsc};
use vigie::{
    clock::Clock,
    config::{Config, Named, Surroundings},
    hub::{Hub, Mail},
    mcp::{self, Whence},
    tasks::Tasks,
    web::{self, Outside, Peer, ProgramsMount},
};
use vigie_core::caller::{Known, Principal, TokenHash, TokenScope};

use fixture::Fixture;

const TOKEN: &str = "the-token-of-this-test";

/// Checks that the suite itself does not make for any server, or makes only for what we do not offer.
const NOT_MADE: [&str; 2] = ["tasks-status-notifications", "sep-2640-"];

/// The folder into which the suite was installed, or a word on why there is none.
#[expect(clippy::print_stderr, reason = "a story that does not run has to say so")]
fn suite() -> Option<PathBuf> {
    let folder = std::env::var_os("VIGIE_TEST_CONFORMANCE").map(PathBuf::from);
    if folder.is_none() {
        let why = "not run: VIGIE_TEST_CONFORMANCE does not name the suite's folder; `cargo xtask test` sets it";
        assert!(std::env::var_os("CI").is_none(), "{why}");
        eprintln!("{why}");
    }
    folder
}

/// Our door with the fixture behind it.
struct Served {
    address: SocketAddr,
    tasks: Tasks,
    _data: TempDir,
}

async fn serve() -> Served {
    let data = tempfile::tempdir().unwrap();
    let settings = data.path().join("config.toml");
    fs::write(&settings, "[web]\nlisten = \"127.0.0.1:0\"\n").unwrap();
    let around = Surroundings::of_this_process(Some(data.path().into()), Some(settings)).unwrap();
    let config = Config::load(&around, Named::Yes).unwrap();
    let tasks = Tasks::new();
    let fixture = Fixture::new();
    let (for_door, handler) = (tasks.clone(), move || fixture.clone());
    let hub = hub(&tasks);
    let for_programs = hub.clone();
    let programs = ProgramsMount {
        router: Arc::new(move |url| {
            let parts = mcp::Parts {
                base: url.to_string(),
                hub: for_programs.clone(),
                folder: Arc::new(|_, _| PathBuf::new()),
                needs: |_| Some(TokenScope::Read),
                tasks: for_door.clone(),
            };
            mcp::door(parts, handler.clone())
        }),
        whence: |peer, extensions| {
            extensions.insert(match peer {
                Peer::Ours | Peer::Stranger => Whence::Outside,
                Peer::Agent { .. } => Whence::Unclear,
            });
        },
    };
    let outside = Outside { programs: Some(programs), ..nothing_outside(hub) };
    let parts = web::Parts {
        config: &config,
        data: data.path(),
        outside,
        clock: Clock::system(),
        tasks: tasks.clone(),
    };
    let address = web::start(parts).await.unwrap().listening;
    Served { address, tasks, _data: data }
}

/// A hub that knows one token.
fn hub(tasks: &Tasks) -> Hub {
    let (mailbox, mut mail) = mpsc::channel(8);
    let known = Known {
        principal: Principal::Client { token: "tok_00000000000000000000000001".parse().unwrap() },
        name: "the suite".into(),
        scopes: TokenScope::ALL.into(),
        run: None,
    };
    let ours = TokenHash(format!("{:x}", Sha256::digest(TOKEN)));
    tasks.start("hub", move |stop| async move {
        while let Some(Some(mail)) = stop.run_until_cancelled(mail.recv()).await {
            let Mail::Known { token, answer } = mail else { continue };
            let _ = answer.send((token == ours).then(|| known.clone()));
        }
    });
    Hub::new(mailbox)
}

/// Runs the suite with these arguments and gives what it found wrong.
async fn run(suite: &Path, address: SocketAddr, args: &[&str]) -> (usize, Vec<String>) {
    let found = tempfile::tempdir().unwrap();
    let modules = suite.join("node_modules");
    let out = Command::new(modules.join(".bin/node"))
        .arg("--import")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/with-token.mjs"))
        .arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"))
        .args(["server", "--url", &format!("http://{address}/mcp"), "--output-dir"])
        .arg(found.path())
        .args(args)
        .env("CONFORMANCE_TOKEN", TOKEN)
        .output()
        .await
        .unwrap();
    let (mut made, mut wrong) = (0, Vec::new());
    for scenario in fs::read_dir(found.path()).unwrap() {
        let scenario = scenario.unwrap().path();
        let checks = fs::read(scenario.join("checks.json")).unwrap();
        let checks: Vec<Value> = serde_json::from_slice(&checks).unwrap();
        for check in checks {
            let id = check["id"].as_str().unwrap();
            match check["status"].as_str().unwrap() {
                "SUCCESS" => made += 1,
                "INFO" => {}
                "SKIPPED" if NOT_MADE.iter().any(|beginning| id.starts_with(beginning)) => {}
                status => wrong.push(format!("{id}: {status}: {}", check["errorMessage"])),
            }
        }
    }
    let words = [&out.stdout, &out.stderr].map(|text| String::from_utf8_lossy(text)).concat();
    assert!(out.status.success() || !wrong.is_empty(), "the suite failed:\n{words}");
    (made, wrong)
}

/// Every check passes, and at least `fewest` are made: a suite that finds nothing to try proves nothing.
async fn passes(args: &[&str], fewest: usize) {
    let Some(suite) = suite() else { return };
    let served = serve().await;
    let (made, wrong) = run(&suite, served.address, args).await;
    served.tasks.stop();
    assert!(wrong.is_empty(), "of {args:?}, with {made} passed:\n{}", wrong.join("\n"));
    assert!(made >= fewest, "only {made} checks were made of {args:?}");
}

#[tokio::test]
async fn the_older_era_conforms() {
    passes(&["--suite", "all", "--spec-version", "2025-11-25"], 83).await;
}

#[tokio::test]
async fn the_newer_era_conforms() {
    passes(&["--suite", "all", "--spec-version", "2026-07-28"], 152).await;
}

/// This set has the tasks, too.
#[tokio::test]
async fn what_the_newer_era_requires_is_there() {
    passes(&["--requirements", "2026-07-28"], 196).await;
}
