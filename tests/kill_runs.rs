//! The daemon is killed at every write it makes while a workflow runs, and the run ends as it would
//! have: no step's effect is lost or doubled, and what waits for a person or a time stands.
//!
//! The child is this very test binary: it runs the daemon and dies at the numbered commit of either of
//! its databases, before or after it is on disk.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[path = "support/deadly.rs"]
mod deadly;
#[path = "support/home.rs"]
mod home;
#[path = "support/phone.rs"]
mod phone;
#[path = "support/runs.rs"]
mod runs;

use deadly::{DIE_AT, DIE_WHEN, start_child, until_done};
use futures_util::future::join_all;
use home::Home;
use phone::{Phone, plain};
use scripted_model::Model;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

/// Daemons that run and die beside each other: most of the time each waits for something.
const LANES: u32 = 4;

/// A step of every kind. Each that has an effect of its own leaves a line in the ledger.
const EVERYTHING: &str = r#"
env: {LEDGER: "@LEDGER@"}
steps:
  - id: greet
    shell: echo greet >> "$LEDGER"; echo hello
  - {id: nap, sleep: 1s}
  - id: turn
    claude: {session: PD-285, prompt: stream 1}
  - id: alone
    needs: [greet]
    claude: touch a file
  - id: count
    needs: [greet]
    http: {url: "@URL@/", allow_private: true}
  - id: sum
    needs: [count]
    javascript: {input: {status: steps.count.status}, code: return input.status}
  - id: enough
    needs: [sum]
    condition: steps.sum.json == "done"
  - id: each
    needs: [enough]
    foreach:
      {in: "[1, 2]", as: item, steps: [
        {id: note, env: {ITEM: "{{ item }}"}, shell: 'echo "item $ITEM" >> "$LEDGER"'}]}
  - id: below
    needs: [each]
    workflow: below
  - id: ok
    needs: [below, turn, nap, alone]
    approval: {ask: Is it done?, show: "{{ steps.turn.text }}"}
  - id: end
    needs: [ok]
    shell: echo end >> "$LEDGER"
"#;

const BELOW: &str = r#"
env: {LEDGER: "@LEDGER@"}
steps:
  - {id: say, shell: 'echo below >> "$LEDGER"'}
"#;

/// As much of Claude Code as a turn without a terminal sees. Its first process puts a call off for a
/// person to decide about; the second, with their yes, makes it.
const CLAUDE: &str = r#"
cat > /dev/null
case "$*" in
  *--version*) echo "2.1.332 (Claude Code)" ;;
  *--resume*)
    echo agent >> "$LEDGER"
    echo '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","session_id":"s","result":"touched"}' ;;
  *)
    echo '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"tool_deferred","session_id":"s","deferred_tool_use":{"id":"t1","name":"Bash","input":{"command":"touch it"}}}' ;;
esac"#;

const LEDGER: [&str; 6] = ["agent", "below", "end", "greet", "item 1", "item 2"];

/// Not a test of its own: the daemon that the others kill.
#[test]
fn child() {
    deadly::be_the_child();
}

fn lay_out(home: &Home, model: &Model) {
    let claude = home.folder("claude-code");
    runs::program(&claude, CLAUDE);
    home.configure(&format!(
        "\n[[agent]]\nname = \"cc\"\nkind = \"claude\"\nprogram = \"{}\"\n",
        claude.display()
    ));
    let ledger = home.project().join("ledger.txt");
    let fill = |text: &str| {
        text.replace("@LEDGER@", ledger.to_str().unwrap()).replace("@URL@", &model.url)
    };
    home.workflow("everything", &fill(EVERYTHING));
    home.workflow("below", &fill(BELOW));
}

/// Codes of the cards that were seen, by what they are about.
type Codes = BTreeMap<String, String>;

/// Taps Approve wherever it is asked, again and again, until the run is over. A card has the same code
/// however often the daemon dies.
async fn run_to_its_end(home: &mut Home, phone: &Phone) -> Value {
    let start = json!({ "workflow": "everything", "key": "once" });
    until_done(home, async |home| home.desk().post::<_, Value>("/runs", &start).await.ok()).await;
    let mut seen = Codes::new();
    until_done(home, async |home| {
        for card in phone.try_messages().await.ok()?.iter().filter(|m| is_card(m)) {
            let body = &card["what"]["body"];
            let code = body["code"].as_str().unwrap().to_owned();
            let about = body["title"].as_str().unwrap().to_owned();
            assert_eq!(*seen.entry(about).or_insert_with(|| code.clone()), code, "{card:#}");
            if body["state"]["state"] == "open" {
                let id = card["id"].as_str().unwrap();
                let action = phone::button(card, "Approve");
                let _ = phone.try_tap(&format!("tap-approve-{code}"), id, &action).await;
            }
        }
        let run: Value = home.desk().get("/runs/everything-1").await.ok()?;
        (!run["ended"].is_null()).then_some(run)
    })
    .await
}

fn is_card(message: &Value) -> bool {
    message["what"]["body"]["body"] == "card"
}

/// One run whose daemon dies at that write. `false`: it came to its end before.
async fn dies_at(at: u32, when: &str) -> bool {
    let model = Model::start().await.unwrap();
    let mut home = Home::new(start_child);
    lay_out(&home, &model);
    home.up().await;
    let phone = home.phone().await;
    home.kill();
    home.env = vec![(DIE_AT.into(), at.to_string()), (DIE_WHEN.into(), when.into())];
    home.spawn();
    home.try_up().await;
    let run = run_to_its_end(&mut home, &phone).await;
    let died = home.env.is_empty();
    assert_eq!(run["state"], "succeeded", "{when} {at}: {run:#}\n{}", home.log());
    let ledger = fs::read_to_string(home.project().join("ledger.txt")).unwrap();
    let mut ledger: Vec<_> = ledger.lines().collect();
    ledger.sort_unstable();
    assert_eq!(ledger, LEDGER, "{when} {at}: {run:#}\n{}", home.log());
    until_done(&mut home, async |_| {
        let messages = phone.try_messages().await.ok()?;
        let told = |m: &Value| m["what"]["kind"] == "post" && plain(m).contains("succeeded after");
        let over = |m: &Value| m["what"]["body"]["state"]["state"] == "taken";
        let cards: Vec<_> = messages.iter().filter(|m| is_card(m)).collect();
        assert!(cards.len() <= 2, "{when} {at}: one card a question: {cards:#?}");
        (messages.iter().any(told) && cards.iter().all(|card| over(card))).then_some(())
    })
    .await;
    died
}

/// Every write in turn, until a run is through without dying. Returns how many deaths there were.
async fn at_every_write(when: &str) -> u32 {
    let (through, deaths) = (AtomicBool::new(false), AtomicU32::new(0));
    let lane = async |first: u32| {
        for at in (first..).step_by(LANES as usize) {
            if through.load(Ordering::Relaxed) {
                return;
            }
            if dies_at(at, when).await {
                deaths.fetch_add(1, Ordering::Relaxed);
            } else {
                through.store(true, Ordering::Relaxed);
            }
        }
    };
    join_all((1..=LANES).map(lane)).await;
    deaths.load(Ordering::Relaxed)
}

#[tokio::test]
async fn a_run_of_every_kind_survives_a_death_before_each_write() {
    let deaths = at_every_write("before").await;
    assert!(deaths > 20, "it hardly wrote anything");
    eprintln!("a run, before each write: {deaths} deaths, lost 0, doubled 0");
}

#[tokio::test]
async fn a_run_of_every_kind_survives_a_death_after_each_write() {
    let deaths = at_every_write("after").await;
    assert!(deaths > 20, "it hardly wrote anything");
    eprintln!("a run, after each write: {deaths} deaths, lost 0, doubled 0");
}
