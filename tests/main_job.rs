//! The main job, end to end, with the real program: a daemon started by `vigie up`, its phone page,
//! real sessions, and a desk.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod claude;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use scripted_model::Model;
use serde_json::{Value, json};
use std::{fs, path::PathBuf, process::Command};
use support::{claude, home::Home, phone::plain};

fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command
        .args(["up", "--no-link", "--home"])
        .arg(home.data())
        .arg("--config")
        .arg(home.settings());
    command.env("VIGIE_DEMO_PACE", "1");
    command
}

async fn demo_home() -> Home {
    let mut home = Home::new(vigie_up);
    home.configure("");
    home.up().await;
    home
}

async fn new(home: &Home, name: &str, agent: &str) {
    let _: Value =
        home.desk().post("/sessions", &json!({ "name": name, "agent": agent })).await.unwrap();
    home.session_is(name, "idle").await;
}

/// What a person at the desk would type.
fn desk(home: &Home, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vigie"))
        .args(arguments)
        .arg("--home")
        .arg(home.data())
        .output()
        .unwrap();
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat();
    (output.status.code().unwrap_or(-1), said)
}

#[tokio::test]
async fn two_stories_are_steered_from_one_chat() {
    let home = demo_home().await;
    let phone = home.phone().await;
    new(&home, "PD-285", "demo").await;
    new(&home, "PD-286", "demo").await;

    phone.send("prompt-285", "[pd-285] leave a note").await;
    phone.send("prompt-286", "[PD-286] ask which store").await;
    phone.marked("prompt-285", "taken").await;
    phone.marked("prompt-286", "taken").await;
    phone.shows("two open cards", |m| plain(m).contains("asks to")).await;
    let permission =
        phone.shows("the permission", |m| m["what"]["body"]["kind"] == "permission").await;
    assert!(plain(&permission).contains("vigie-demo.txt"), "the exact command: {permission:#}");
    phone.tap(&permission, "Approve").await;
    phone.hears("Done: “leave a note”").await;
    assert!(home.project().join("vigie-demo.txt").exists());

    let question = phone.shows("the question", |m| m["what"]["body"]["kind"] == "question").await;
    let options = question["what"]["body"]["buttons"].as_array().unwrap();
    let label = options[0]["label"].as_str().unwrap().to_owned();
    phone.tap(&question, &label).await;
    phone
        .shows("the answered card", |m| {
            m["id"] == question["id"] && m["what"]["body"]["state"]["state"] == "taken"
        })
        .await;
    home.session_is("PD-286", "idle").await;
}

#[tokio::test]
async fn a_long_paste_in_any_script_is_taken_by_its_session() {
    let home = demo_home().await;
    let phone = home.phone().await;
    new(&home, "PD-285", "demo").await;
    let paste = format!("[PD-285] recall\n{}", "港の切符を数える👩‍🚀\n".repeat(2000));
    phone.send("long-message", &paste).await;
    phone.marked("long-message", "taken").await;
    phone.send("next-message", "[PD-285] stream 2").await;
    phone.hears("2 lines printed").await;
}

#[tokio::test]
async fn a_typo_is_kept_and_offered() {
    let home = demo_home().await;
    let phone = home.phone().await;
    new(&home, "PD-285", "demo").await;
    phone.send("typo-message", "[PD-258] stream 2").await;
    phone.marked("typo-message", "kept").await;
    let offers =
        |m: &Value| m["what"]["kind"] == "post" && plain(m).contains("There is no session PD-258");
    let offer = phone.shows("the near misses", offers).await;
    phone.tap(&offer, "PD-285").await;
    phone.hears("2 lines printed").await;
}

#[tokio::test]
async fn a_killed_daemon_leaves_the_agent_its_request_and_its_words() {
    let mut home = demo_home().await;
    let phone = home.phone().await;
    new(&home, "PD-285", "demo").await;
    phone.send("first-message", "[PD-285] leave a note").await;
    let card = phone.card().await;
    home.kill();
    // What the agent prints meanwhile is in its holder; what it asked still waits.
    home.up().await;
    let open = home.session_is("PD-285", "waiting").await;
    assert_eq!(open["waiting"].as_array().unwrap().len(), 1);
    phone.tap(&card, "Approve").await;
    phone.hears("Done: “leave a note”").await;
    assert_eq!(phone.count("Done: “leave a note”").await, 1);
}

#[tokio::test]
async fn the_desk_answers_and_the_card_says_so() {
    let home = demo_home().await;
    let phone = home.phone().await;
    new(&home, "PD-285", "demo").await;
    phone.send("first-message", "[PD-285] leave a note").await;
    let card = phone.card().await;
    let code = card["what"]["body"]["code"].as_str().unwrap().to_owned();
    let (exit, said) = desk(&home, &["answer", &code, "deny", "not now"]);
    assert_eq!(exit, 0, "{said}");
    let decided = phone.card_in("taken").await;
    assert!(plain(&decided).contains("the command line"), "{decided:#}");
    let (exit, said) = desk(&home, &["answer", &code, "approve"]);
    assert_ne!(exit, 0);
    assert!(said.contains("Already denied"), "{said}");
    phone.hears("not now").await;
}

#[tokio::test]
async fn an_agent_that_crashes_is_resumed_with_its_context() {
    let home = demo_home().await;
    let phone = home.phone().await;
    new(&home, "PD-285", "demo").await;
    phone.send("first-message", "[PD-285] stream 2").await;
    phone.hears("2 lines printed").await;
    phone.send("second-message", "[PD-285] crash").await;
    let gone = phone.hears("stopped with exit status 3").await;
    phone.tap(&gone, "Resume PD-285").await;
    home.session_is("PD-285", "idle").await;
    phone.send("third-message", "[PD-285] recall").await;
    phone
        .shows("what was said before", |m| {
            m["what"]["kind"] == "post" && plain(m).contains("stream 2")
        })
        .await;
}

#[tokio::test]
async fn an_agent_cannot_answer_itself() {
    let home = demo_home().await;
    let phone = home.phone().await;
    new(&home, "PD-285", "demo").await;
    new(&home, "shell", "shell").await;
    phone.send("first-message", "[PD-285] leave a note").await;
    let card = phone.card().await;
    let code = card["what"]["body"]["code"].as_str().unwrap();
    let command = format!(
        "{} --home {} answer {code} approve; echo ended $?",
        env!("CARGO_BIN_EXE_vigie"),
        home.data().display()
    );
    phone.send("shell-message", &format!("[shell] {command}")).await;
    let refused = phone.hears("ended 3").await;
    assert!(plain(&refused).contains("inside a session"), "{refused:#}");
    phone.card_in("open").await;
}

#[tokio::test]
async fn a_second_daemon_says_which_one_runs() {
    let home = demo_home().await;
    let output = vigie_up(&home).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(said.contains("runs already") && said.contains("process"), "{said}");
}

#[tokio::test]
async fn a_session_that_cannot_start_says_why() {
    let mut home = Home::new(vigie_up);
    home.configure(
        "\n[[agent]]\nname = \"nowhere\"\nkind = \"shell\"\nprogram = \"/nowhere/at/all\"\n",
    );
    home.up().await;
    let phone = home.phone().await;
    let _: Value = home
        .desk()
        .post("/sessions", &json!({ "name": "PD-1", "agent": "nowhere", "prompt": "hello" }))
        .await
        .unwrap();
    phone.hears("PD-1 could not be started").await;
    phone.hears("/nowhere/at/all").await;
}

#[tokio::test]
async fn each_story_gets_its_own_worktree_and_keeps_it() {
    let mut home = Home::new(vigie_up);
    home.configure("worktree = \"per-story\"\n");
    let git = |arguments: &[&str]| {
        let done =
            Command::new("git").arg("-C").arg(home.project()).args(arguments).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&[
        "-c",
        "user.name=Test",
        "-c",
        "user.email=test@example.org",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "first",
    ]);
    home.up().await;
    let phone = home.phone().await;
    new(&home, "PD-285", "demo").await;
    let session = home.session("PD-285").await;
    assert_eq!(session["branch"], "vigie/PD-285");
    let folder = PathBuf::from(session["folder"].as_str().unwrap());
    assert!(folder.join(".git").exists() && folder != home.project());
    phone.send("first-message", "[PD-285] leave a note").await;
    let card = phone.card().await;
    phone.tap(&card, "Approve").await;
    phone.hears("Done: “leave a note”").await;
    assert!(folder.join("vigie-demo.txt").exists());
    let _: Value = home.desk().post("/sessions/PD-285/end", &json!({})).await.unwrap();
    home.session_is("PD-285", "ended").await;
    fs::remove_dir_all(&folder).unwrap();
    let _: Result<Value, _> = home.desk().post("/sessions/PD-285/resume", &json!({})).await;
    phone.hears("is gone").await;
}

/// The real Claude Code, against a scripted model.
#[tokio::test]
async fn claude_code_is_steered_from_the_phone_and_survives_the_daemon() {
    let Some(program) = claude::program() else { return };
    let model = Model::start().await.unwrap();
    let mut home = Home::new(vigie_up);
    home.configure(&claude::agent(&home, &model, &program, "cc", "default"));
    home.up().await;
    let phone = home.phone().await;
    new(&home, "PD-285", "cc").await;

    phone
        .send(
            "first-message",
            "[PD-285] !first => bash curl -s http://127.0.0.1:1/x then say all done",
        )
        .await;
    phone.marked("first-message", "taken").await;
    let card = phone.card().await;
    assert!(plain(&card).contains("curl -s http://127.0.0.1:1/x"), "{card:#}");
    home.kill();
    home.up().await;
    phone.tap(&card, "Approve").await;
    phone.card_in("taken").await;
    phone.hears("all done").await;
    assert_eq!(phone.count("all done").await, 1);

    phone
        .send("second-message", "[PD-285] /tmp is text => write note.txt hello then say written")
        .await;
    let edit = phone
        .shows("the second card", |m| {
            m["what"]["body"]["state"]["state"] == "open" && plain(m).contains("note.txt")
        })
        .await;
    let code = edit["what"]["body"]["code"].as_str().unwrap();
    phone.send("word-answer", &format!("[PD-285] approve {code}")).await;
    phone.hears("written").await;
    assert_eq!(
        model.heard_times("[phone] /tmp is text => write note.txt hello then say written"),
        1
    );
}
