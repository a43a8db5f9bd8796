use super::*;
use serde_json::json;

fn step(name: &str, kind: &str, state: &str, began: Option<&str>) -> serde_json::Value {
    json!({
        "step": name, "kind": kind, "state": state, "words": "", "attempt": u32::from(began.is_some()),
        "since": began.map(|_| "2026-11-30T08:44:14Z"), "began": began, "micro_usd": 0, "text": "", "file": null,
    })
}

fn view(life: &serde_json::Value) -> RunView {
    let mut view = crate::runs::tests::run("release-41", life);
    let made_of = json!({
        "file": "workflows/release.yaml", "text": "name: release\n# <b>\n",
        "limits": { "micro_usd": 5_000_000, "timeout": { "secs": 7200, "nanos": 0 }, "concurrency": 1, "overlap": "queue", "parallel": 8 },
        "graph": [
            { "step": "tests", "title": "", "needs": [], "always": false, "conditional": false },
            { "step": "ok", "title": "", "needs": ["tests"], "always": false, "conditional": false },
        ],
    });
    view.made_of = serde_json::from_value(made_of).unwrap();
    view.steps = vec![
        serde_json::from_value(step("tests", "shell", "done", Some("2026-11-30T08:40:02Z")))
            .unwrap(),
        serde_json::from_value(step("ok", "approval", "running", Some("2026-11-30T08:44:14Z")))
            .unwrap(),
        serde_json::from_value(step("deploy", "shell", "waiting", None)).unwrap(),
    ];
    view
}

fn shown(view: &RunView, show: &Show, may_steer: bool) -> String {
    let now = "2026-11-30T08:50:00Z".parse().unwrap();
    let run =
        Run { view, asked: &[], waiting: &[], show, may_steer, may: May::Look, next: None, now };
    page(&run).main.into_string()
}

#[test]
fn a_run_shows_how_each_step_stands_and_what_it_costs() {
    let shown = shown(&view(&json!({ "life": "running" })), &Show::default(), true);
    for part in [
        "$2.08 of $5.00",
        "by its schedule",
        "4 min 12 s",
        "5 min 46 s",
        "waits for you",
        "id=\"step-deploy\"",
        "data-log=\"/runs/release-41/log?step=tests&amp;attempt=1&amp;stream=out\"",
        "data-post=\"/runs/release-41/cancel\"",
        "2 h 00 of work",
        "href=\"?view=yaml\"",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}

#[test]
fn what_is_over_says_why_and_can_be_begun_again_by_who_may() {
    let over = json!({ "life": "over", "status": "failed", "why": "`ok` said <no>", "at": "2026-11-30T08:45:00Z" });
    let view = view(&over);
    let steered = shown(&view, &Show::default(), true);
    assert!(steered.contains("`ok` said &lt;no&gt;."), "{steered}");
    assert!(steered.contains("Retry what failed") && steered.contains("<option value=\"tests\">"));
    assert!(!steered.contains("<option value=\"deploy\">") && !steered.contains("/cancel"));
    assert!(!shown(&view, &Show::default(), false).contains("/retry"));
}

#[test]
fn the_frozen_text_and_the_values_are_text() {
    let mut view = view(&json!({ "life": "running" }));
    view.params.insert("target".into(), json!("<img src=x>\u{202e}"));
    view.outputs = json!({ "said": "a\nb<script>" });
    let all = shown(&view, &Show::default(), false);
    assert!(all.contains("&lt;img src=x&gt;") && !all.contains('\u{202e}'), "{all}");
    assert!(all.contains("b&lt;script&gt;") && all.contains("11 letters"), "{all}");
    let yaml = shown(&view, &Show { yaml: true, ..Show::default() }, false);
    assert!(yaml.contains("# &lt;b&gt;") && !yaml.contains("id=\"steps\""), "{yaml}");
}
