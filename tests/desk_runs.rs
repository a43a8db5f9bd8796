//! The pages of workflows and runs in a real browser, before a real daemon that runs them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod desk;
    pub(crate) mod home;
    pub(crate) mod phone;
    pub(crate) mod runs;
}

use browser_lab::Look;
use serde_json::{Value, json};
use std::fs;
use support::{desk::Desk, home::Home, runs::vigie_up};

/// Three steps, of which the first goes on until a file is there.
const SHIP: &str = r#"title: Ship <it>
params:
  target: {enum: [staging, prod], default: staging, title: Where to}
  extra: {type: json, default: {}}
steps:
  - id: build
    env: {GO: "@GO@", TARGET: "{{ params.target }}"}
    shell: |
      echo "builds <b>$TARGET</b>"
      until [ -e "$GO" ]; do sleep 0.05; done
      echo "built it"
  - id: ok
    needs: [build]
    approval: {ask: "Ship it to {{ params.target }}?"}
  - id: tell
    needs: [ok]
    shell: echo told
outputs: {said: steps.tell.text}
"#;

/// Fails until a file is there.
const FLAKY: &str = r#"steps:
  - id: first
    shell: echo first
  - id: second
    needs: [first]
    env: {GO: "@GO@"}
    shell: echo tries; test -e "$GO"
"#;

async fn home() -> Home {
    let mut home = Home::new(vigie_up);
    home.configure("");
    let go = home.project().join("go");
    for (name, text) in [("ship", SHIP), ("flaky", FLAKY)] {
        home.workflow(name, &text.replace("@GO@", go.to_str().unwrap()));
    }
    home.up().await;
    home
}

fn let_go(home: &Home) {
    fs::write(home.project().join("go"), "").unwrap();
}

/// Writes in place of what the editor holds, as typing would.
async fn rewrite(desk: &Desk, from: &str, to: &str) {
    let script = "const [from, to] = arguments, text = document.getElementById('sheet-text');
        text.value = text.value.replace(from, to);
        text.dispatchEvent(new Event('input', { bubbles: true }))";
    desk.page.execute(script, vec![json!(from), json!(to)]).await.unwrap();
}

#[tokio::test]
async fn a_run_is_begun_by_a_form_followed_and_answered() {
    let home = home().await;
    let Some(desk) = Desk::open(&home, Look::PHONE, "/workflows/ship").await else { return };
    desk.shows("Where to").await;

    // A value that does not fit is said beside its field, and nothing begins.
    let extra = desk.find("//textarea[@id='param-extra']").await;
    extra.clear().await.unwrap();
    extra.send_keys("[1,").await.unwrap();
    desk.tap("//form[@id='run-form']//button[contains(., 'Run')]").await;
    desk.find("//p[@data-wrong='extra'][not(@hidden)][contains(., 'is no JSON')]").await;
    desk.holds("document.activeElement.id === 'param-extra'").await;
    desk.clean("workflow-390-light").await;
    assert!(home.desk().get::<Vec<Value>>("/runs").await.unwrap().is_empty());

    extra.clear().await.unwrap();
    extra.send_keys("[1]").await.unwrap();
    desk.tap("//select[@id='param-target']/option[@value='prod']").await;
    desk.tap("//form[@id='run-form']//button[contains(., 'Run')]").await;
    desk.holds("location.pathname === '/runs/ship-1'").await;

    // Its log grows while it is looked at, and what it prints is text.
    desk.holds("document.querySelector('pre[data-log]')?.textContent === 'builds <b>prod</b>\\n'")
        .await;
    desk.find("//tr[@id='step-build']//span[contains(@class, 'running')]").await;
    desk.holds("document.querySelectorAll('svg.graph .node').length === 3").await;
    desk.clean("run-390-light").await;
    let_go(&home);
    desk.find("//article[contains(., 'Ship it to prod?')]//button[contains(., 'Approve')]").await;
    desk.find("//tr[@id='step-build']//span[contains(@class, 'done')]").await;
    desk.holds("document.title.startsWith('(1) ship-1 waits for you')").await;
    desk.tap("//article[contains(., 'Ship it to prod?')]//button[contains(., 'Approve')]").await;
    desk.find("//div[contains(@class, 'head')]/span[contains(@class, 'done')]").await;
    desk.find("//dl//dt[.='said']/following-sibling::dd[contains(., 'told')]").await;

    // Another step's log, by the graph; and the text as it was frozen.
    desk.tap("//*[local-name()='svg']//*[local-name()='a'][contains(@href, 'step=build')]").await;
    desk.holds("location.search === '?step=build'").await;
    desk.holds("document.querySelector('pre[data-log]')?.textContent.endsWith('built it\\n')")
        .await;
    desk.shows("This is all of it.").await;
    desk.tap("//a[contains(., 'as frozen at')]").await;
    desk.shows("title: Ship <it>").await;
    desk.close().await;
}

#[tokio::test]
async fn what_failed_is_run_again_from_the_page() {
    let home = home().await;
    let run = home.run("flaky", "quay", json!({})).await;
    home.run_is(&run, "failed").await;
    let Some(desk) = Desk::open(&home, Look::DESK.dark(), "/runs").await else { return };
    desk.find("//tr[.//a[.='flaky-1']]//span[contains(@class, 'failed')]").await;
    desk.clean("runs-1280-dark").await;
    desk.tap("//a[.='flaky-1']").await;
    desk.find("//p[@id='why']").await;
    desk.clean("run-1280-dark").await;
    let_go(&home);
    desk.tap("//summary[contains(., 'Retry…')]").await;
    desk.tap("//button[.='Retry what failed']").await;
    desk.find("//div[contains(@class, 'head')]/span[contains(@class, 'done')]").await;
    desk.find("//tr[@id='step-second'][.//td[.='2']]").await;
    desk.find("//tr[@id='step-first'][.//td[.='1']]").await;
    desk.close().await;
}

#[tokio::test]
async fn a_run_is_cancelled_by_who_says_so_twice() {
    let home = home().await;
    let run = home.run("ship", "quay", json!({})).await;
    home.step_is(&run, "build", "running").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/runs/ship-1").await else { return };
    desk.tap("//button[.='Cancel…']").await;
    desk.page.dismiss_alert().await.unwrap();
    assert_eq!(home.shown(&run).await["state"], "running");
    desk.tap("//button[.='Cancel…']").await;
    desk.page.accept_alert().await.unwrap();
    desk.find("//div[contains(@class, 'head')]/span[contains(., 'stopped')]").await;
    home.run_is(&run, "cancelled").await;
    desk.close().await;
}

#[tokio::test]
async fn the_editor_says_what_is_wrong_where_it_is_and_never_writes_over_others() {
    let home = home().await;
    let file = home.folder("workflows").join("ship.yaml");
    let before = fs::read_to_string(&file).unwrap();
    let Some(desk) = Desk::open(&home, Look::DESK, "/workflows/ship").await else { return };
    desk.find("//p[@id='verdict'][contains(., 'It runs')]").await;

    // While somebody writes, mistakes stand in place, and lead there.
    rewrite(&desk, "needs: [build]", "needs: [biuld]").await;
    desk.find("//p[@id='verdict'][contains(., 'It does not run')]").await;
    let line = before.lines().position(|line| line.contains("needs: [build]")).unwrap() + 1;
    desk.find(&format!("//pre[contains(@class, 'numbers')]/b[.='{line}']")).await;
    desk.tap("//ol[contains(@class, 'problems')]//a").await;
    desk.holds(&format!(
        "(({{ value, selectionStart }}) => value.slice(0, selectionStart).split('\\n').length)(document.getElementById('sheet-text')) === {line}"
    ))
    .await;
    desk.clean("workflow-1280-light").await;
    rewrite(&desk, "needs: [biuld]", "needs: [build]").await;
    desk.find("//p[@id='verdict'][contains(., 'It runs')]").await;

    // What is saved is the file, whole, and what runs next.
    rewrite(&desk, "echo told", "echo told twice").await;
    desk.tap("//form[@id='sheet']//button[.='Save']").await;
    desk.shows("Saved, with 1 warning.").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), before.replace("echo told", "echo told twice"));

    // Somebody else was faster: nothing is written over.
    rewrite(&desk, "echo told twice", "echo mine").await;
    let theirs = before.replace("echo told", "echo theirs");
    fs::write(&file, &theirs).unwrap();
    desk.tap("//form[@id='sheet']//button[.='Save']").await;
    desk.find("//form[@id='sheet']//p[@role='alert'][contains(., 'changed after it was read')]")
        .await;
    assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
    desk.holds("document.getElementById('sheet-text').value.includes('echo mine')").await;
    desk.close().await;
}

#[tokio::test]
async fn what_is_not_ones_own_is_looked_at_and_not_saved() {
    let home = home().await;
    let folder = home.project().join(".vigie/workflows");
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("look.yaml"),
        "name: look\non: {cron: '0 3 * * *'}\nsteps: [{id: a, shell: echo a}]\n",
    )
    .unwrap();
    let Some(desk) = Desk::open(&home, Look::DESK, "/workflows/quay/look").await else { return };
    desk.shows("It belongs to the project quay").await;
    desk.shows("Its schedule and webhook do not count.").await;
    desk.holds("![...document.querySelectorAll('button')].some((it) => it.textContent === 'Save')")
        .await;
    desk.page.goto(&format!("http://{}/workflows/quick-change", home.address)).await.unwrap();
    desk.shows("It ships with Vigie").await;
    desk.holds("![...document.querySelectorAll('button')].some((it) => it.textContent === 'Save')")
        .await;
    desk.page.goto(&format!("http://{}/workflows/shpi", home.address)).await.unwrap();
    desk.shows("No workflow is called `shpi`").await;
    desk.close().await;
}

#[tokio::test]
async fn the_list_keeps_to_one_workflow_and_hostile_values_are_text() {
    let home = home().await;
    home.workflow(
        "echo",
        "params: {who: {type: string}}\nsteps:\n  - {id: say, env: {WHO: '{{ params.who }}'}, shell: 'echo \"$WHO\"'}\noutputs: {said: steps.say.text}\n",
    );
    let who = "<img src=x onerror=\"document.title='owned'\">\u{202e}gnp";
    let echo = home.run("echo", "quay", json!({ "who": who })).await;
    home.run_is(&echo, "succeeded").await;
    let ship = home.run("ship", "quay", json!({})).await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/runs").await else { return };
    desk.find(&format!("//tbody/tr[1][.//a[.='{ship}']]")).await;
    desk.find(&format!("//tr[.//a[.='{echo}']]")).await;
    desk.tap("//select[@id='workflow']/option[@value='echo']").await;
    desk.holds("location.search === '?workflow=echo'").await;
    desk.find(&format!("//tbody/tr[1][.//a[.='{echo}']]")).await;
    desk.holds("document.querySelectorAll('tbody tr').length === 1").await;
    desk.tap(&format!("//a[.='{echo}']")).await;
    desk.shows("onerror=").await;
    desk.holds("document.querySelector('pre[data-log]')?.textContent.includes('⟦U+202E⟧')").await;
    desk.holds("document.querySelector('main img, main script') === null").await;
    desk.holds("!document.body.innerHTML.includes('\\u202e') && !document.title.includes('owned')")
        .await;
    desk.close().await;
}

#[tokio::test]
async fn a_new_workflow_is_made_runs_and_is_told_from_a_session_on_the_board() {
    let home = home().await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/runs").await else { return };
    desk.tap("//summary[contains(., 'New workflow…')]").await;
    let name = desk.find("//input[@id='new-workflow']").await;
    name.send_keys("no name at all").await.unwrap();
    desk.tap("//button[.='Make it']").await;
    desk.find("//form[@data-post='/workflows']//p[@role='alert'][not(@hidden)]").await;
    name.clear().await.unwrap();
    name.send_keys("nightly-count").await.unwrap();
    desk.tap("//button[.='Make it']").await;
    desk.holds("location.pathname === '/workflows/nightly-count'").await;
    desk.find("//p[@id='verdict'][contains(., 'It runs')]").await;
    assert!(home.folder("workflows").join("nightly-count.yaml").is_file());
    desk.tap("//form[@id='run-form']//button[contains(., 'Run')]").await;
    desk.holds("location.pathname === '/runs/nightly-count-1'").await;
    desk.find("//div[contains(@class, 'head')]/span[contains(@class, 'done')]").await;

    // One that goes on stands on the board with a mark of its own, and leads to its page.
    home.run("ship", "quay", json!({})).await;
    desk.page.goto(&format!("http://{}/board", home.address)).await.unwrap();
    desk.find("//tr[.//b[.='ship-1']]//i[contains(@class, 'kind')][contains(., 'run')]").await;
    desk.tap("//a[.//b[.='ship-1']]").await;
    desk.holds("location.pathname === '/runs/ship-1'").await;
    desk.close().await;
}

#[tokio::test]
async fn a_log_goes_on_after_a_break_without_a_gap_or_a_line_twice() {
    let mut home = home().await;
    let run = home.run("ship", "quay", json!({})).await;
    home.prints(&run, "build", "builds <b>staging</b>\n").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/runs/ship-1?step=build").await else { return };
    let log = "document.querySelector('pre[data-log]')?.textContent";
    desk.holds(&format!("{log} === 'builds <b>staging</b>\\n'")).await;
    home.kill();
    desk.find("//p[@id='conn-bar'][contains(., 'Nothing will be missed')]").await;
    let_go(&home);
    home.up().await;
    desk.holds(&format!("{log} === 'builds <b>staging</b>\\nbuilt it\\n'")).await;
    desk.close().await;
}
