//! What a workflow would do, as text: a line for each step, narrow enough for a phone.

use std::collections::HashMap;

use crate::{
    language::{Kind, OnTimeout, Step, Workflow},
    value::StepId,
};

/// Characters of a line.
const WIDEST: usize = 60;

/// Its steps in the order in which they come about. Those with the same number need nothing of one
/// another.
pub fn graph(workflow: &Workflow) -> String {
    let mut out = String::new();
    list(&mut out, &workflow.steps, 0);
    out
}

fn list(out: &mut String, steps: &[Step], depth: usize) {
    let levels = levels(steps);
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|step| levels[*step]); // stable: what is equal stays in the file's order
    for step in order {
        let (level, step) = (levels[step], &steps[step]);
        let line = format!("{}{level} {}", "  ".repeat(depth), words(step));
        out.extend(line.chars().take(WIDEST - 1));
        match line.chars().count() {
            WIDEST => out.extend(line.chars().last()),
            count if count > WIDEST => out.push('…'),
            _ => {}
        }
        out.push('\n');
        if let Kind::Foreach(foreach) = &step.kind {
            list(out, &foreach.steps, depth + 1);
        }
    }
}

/// From 1: one more than the highest of what a step needs.
fn levels(steps: &[Step]) -> Vec<usize> {
    let numbers: HashMap<&str, usize> =
        steps.iter().enumerate().map(|(number, step)| (step.id.as_str(), number)).collect();
    let needs: Vec<Vec<usize>> = steps
        .iter()
        .map(|step| step.needs.iter().filter_map(|id| numbers.get(id.as_str()).copied()).collect())
        .collect();
    let mut waits: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut after = vec![Vec::new(); steps.len()];
    for (number, needs) in needs.iter().enumerate() {
        for need in needs {
            after[*need].push(number);
        }
    }
    let mut levels = vec![1; steps.len()];
    let mut ready: Vec<usize> = (0..steps.len()).filter(|step| waits[*step] == 0).collect();
    while let Some(step) = ready.pop() {
        for next in &after[step] {
            levels[*next] = levels[*next].max(levels[step] + 1);
            waits[*next] -= 1;
            if waits[*next] == 0 {
                ready.push(*next);
            }
        }
    }
    levels
}

fn words(step: &Step) -> String {
    let mut words = step.id.to_string();
    if !step.needs.is_empty() {
        let needs: Vec<&str> = step.needs.iter().map(StepId::as_str).collect();
        words.push_str(" ← ");
        words.push_str(&needs.join(", "));
    }
    words.push_str(" · ");
    words.push_str(&kind(&step.kind));
    if let Some(only_if) = &step.only_if {
        words.push_str(" · if ");
        words.push_str(&one_line(&only_if.source));
    }
    if step.always {
        words.push_str(" · always");
    }
    words
}

fn kind(kind: &Kind) -> String {
    let read_only = |read_only| if read_only { ", reads only" } else { "" };
    match kind {
        Kind::Shell(shell) => format!("shell{}", read_only(shell.read_only)),
        Kind::Claude(claude) => match &claude.session {
            Some(session) => format!("claude in {}", one_line(&session.source)),
            None => format!("claude{}", read_only(claude.read_only)),
        },
        Kind::Http(http) => http.method.clone(),
        Kind::Javascript(_) => "javascript".into(),
        Kind::Sleep(_) => "sleep".into(),
        Kind::Condition(condition) => format!("only if {}", one_line(&condition.test.source)),
        Kind::Approval(approval) => {
            let count = match approval.count {
                1 => String::new(),
                count => format!(" of {count}"),
            };
            let by = match &approval.by[..] {
                [] => String::new(),
                by => format!(" by {}", by.join(", ")),
            };
            let silence = match (approval.timeout, approval.on_timeout) {
                (Some(_), OnTimeout::Approve) => ", silence is a yes",
                (Some(_), OnTimeout::Deny | OnTimeout::Fail) | (None, _) => "",
            };
            format!("approval{count}{by}{silence}")
        }
        Kind::Call(call) => format!("workflow {}", call.workflow),
        Kind::Foreach(foreach) => format!("for each {}", foreach.name),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::graph;

    #[test]
    fn a_line_a_step_in_the_order_of_what_needs_what() {
        let text = r#"
name: g
steps:
  - {id: deploy, needs: [ok], if: steps.ok.approved, shell: ./deploy.sh}
  - {id: ok, needs: [review, lint, only], approval: {ask: "?", by: [owner], count: 2, timeout: 1h, on_timeout: approve}}
  - {id: tests, shell: cargo test}
  - {id: lint, shell: {script: cargo clippy, read_only: true}}
  - {id: only, needs: [tests], condition: "steps.tests.text == 'a long way to say that it is all right'"}
  - {id: review, needs: [tests], claude: {prompt: Review, read_only: true}}
  - {id: talk, claude: {prompt: x, session: "PD-1"}}
  - {id: tell, needs: [each], always: true, http: {method: POST, url: "https://example.org"}}
  - id: each
    needs: [ok]
    foreach: {in: [a], as: part, steps: [{id: sum, needs: [look], workflow: release}, {id: look, sleep: 1s}]}
"#;
        let (workflow, problems) = crate::parse(text.as_bytes(), &|_| Err(String::new()));
        let workflow = workflow.unwrap_or_else(|| panic!("{}", problems.render("g", text)));
        let graph = graph(&workflow);
        assert!(graph.lines().all(|line| line.chars().count() <= 60));
        insta::assert_snapshot!(graph, @r"
            1 tests · shell
            1 lint · shell, reads only
            1 talk · claude in PD-1
            2 only ← tests · only if steps.tests.text == 'a long way to…
            2 review ← tests · claude, reads only
            3 ok ← review, lint, only · approval of 2 by owner, silence…
            4 deploy ← ok · shell · if steps.ok.approved
            4 each ← ok · for each part
              1 look · sleep
              2 sum ← look · workflow release
            5 tell ← each · POST · always
            ");
    }
}
