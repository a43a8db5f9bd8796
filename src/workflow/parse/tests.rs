use super::parse;
use crate::{
    language::{Kind, OnCrash, Workflow},
    problem::Problems,
};

mod graph;
mod hostile;
mod references;
mod words;

/// What `vigie workflow check` would print.
fn told(text: &str) -> String {
    let (workflow, problems) = check(text.as_bytes());
    assert_eq!(workflow.is_none(), problems.has_errors(), "{}", problems.render("f", text));
    problems.render("f", text)
}

fn check(text: &[u8]) -> (Option<Workflow>, Problems) {
    parse(text, &|name| match name {
        "finding.json" => Ok(r#"{"type": "object"}"#.into()),
        "broken.json" => Ok("{".into()),
        _ => Err("there is no such file".into()),
    })
}

#[track_caller]
fn good(text: &str) -> Workflow {
    let (workflow, problems) = check(text.as_bytes());
    workflow.unwrap_or_else(|| panic!("{}", problems.render("f", text)))
}

#[test]
fn a_workflow_as_the_design_has_it() {
    let workflow = good(
        r#"
name: release
params: {target: {type: string, enum: [staging, prod], default: staging}}
on: {cron: ["0 7 * * 1-5"], timezone: Europe/Paris, webhook: {secret: HOOK_SECRET}}
limits: {cost_usd: 5, timeout: 2h, concurrency: 1, overlap: skip}
steps:
  - id: tests
    shell: cargo test
    timeout: 20m
    retry: {times: 2, backoff: 10s}
  - id: review
    needs: [tests]
    claude: {prompt: "Review the change on {{ params.target }}", read_only: true, schema: finding.json}
  - id: ok
    needs: [review]
    approval: {ask: "Deploy to {{ params.target }}?", show: "{{ steps.review.text }}", by: [owner], timeout: 12h, on_timeout: deny}
  - id: deploy
    needs: [ok]
    if: steps.ok.approved
    shell: ./deploy.sh
    env: {TARGET: "{{ params.target }}"}
"#,
    );
    let crash: Vec<_> = workflow.steps.iter().map(|step| step.on_crash).collect();
    assert_eq!(crash, [OnCrash::Ask, OnCrash::Retry, OnCrash::Retry, OnCrash::Ask]);
    assert_eq!(workflow.limits.micro_usd, Some(5_000_000));
    let Kind::Claude(claude) = &workflow.steps[1].kind else { panic!() };
    assert_eq!(claude.schema, Some(serde_json::json!({"type": "object"})));
}

#[test]
fn a_workflow_that_is_kept_reads_back_as_it_was() {
    let workflow = good(include_str!("../cases/every-key.yaml"));
    let kept = serde_json::to_string(&workflow).unwrap();
    assert_eq!(serde_json::from_str::<Workflow>(&kept).unwrap(), workflow);
}
