//! What the demo agent does with a prompt.

use serde_json::{Value, json};
use std::{process::Stdio, time::Duration};
use tokio::{process::Command, time::timeout};

use super::{
    memory::Said,
    stage::{Stage, Start, Verdict},
};
use crate::agents::{
    claude::{MAIL, PHONE},
    hooks::shortened,
};

/// What it says of itself when it starts.
pub(super) const GREETING: &str = "\
This is the demo agent. It has no model behind it and needs no account.
  any text        works a little, asks before it runs a command, answers
  ask …           asks a question            plan …         proposes a plan
  stream N        prints N lines             long           a long answer
  slow SECONDS    takes its time             recall         what was said before
  fail            a turn that fails          crash          ends with code 3
Esc interrupts, Ctrl-C twice ends.";

/// Its one command: it adds a line to a file in the working directory.
const COMMAND: &str = "echo 'The demo agent was here.' >> vigie-demo.txt";
const COMMAND_ENDS_WITHIN: Duration = Duration::from_secs(10);
const MOST_LINES: u32 = 100_000;
const LONGEST: Duration = Duration::from_hours(1);
/// Rounds of feedback on one plan.
const ROUNDS: u8 = 5;
/// Stands before each message of another session, which is read and is no task.
const ENVELOPE: &str = "<vigie-mail ";

/// How a turn ends.
pub(super) enum Outcome {
    Finished(String),
    Failed(String),
    /// "No" at the desk, or a decision that says so.
    Interrupted,
    Crashed,
}

/// Carries out one prompt.
pub(super) async fn carry_out(stage: &mut Stage, prompt: &str, before: &[Said]) -> Outcome {
    if prompt.starts_with(MAIL) && prompt.contains(ENVELOPE) {
        return Outcome::Finished(format!("I read:\n\n{}", shortened(prompt, 2000)));
    }
    let task = unmarked(prompt);
    let (verb, rest) = task.split_once(char::is_whitespace).unwrap_or((task, ""));
    let outcome = match verb.to_lowercase().as_str() {
        "ask" => ask(stage, rest).await,
        "plan" => plan(stage, rest).await,
        "stream" => stream(stage, rest.trim().parse().unwrap_or(20)).await,
        "slow" => slow(stage, rest.trim().parse().unwrap_or(5.0)).await,
        "long" => Outcome::Finished(long()),
        "recall" => Outcome::Finished(recall(before)),
        "fail" => Outcome::Failed("The demo agent failed because it was told to.".into()),
        "crash" => Outcome::Crashed,
        _ => work(stage, task, before).await,
    };
    match outcome {
        Outcome::Finished(answer) if !stage.beside.is_empty() => Outcome::Finished(format!(
            "{answer}\n\nMeanwhile I read:\n\n{}",
            shortened(&stage.beside.join("\n\n"), 2000)
        )),
        other => other,
    }
}

fn unmarked(prompt: &str) -> &str {
    let words = prompt.strip_prefix(PHONE).unwrap_or(prompt);
    // Whoever started this session says so before the task.
    let brief = words.strip_prefix(MAIL).and_then(|words| words.split_once("\n\n"));
    brief.map_or(words, |(_, task)| task).trim()
}

async fn work(stage: &mut Stage, task: &str, before: &[Said]) -> Outcome {
    stage.say("● I look around first.").await;
    stage.pause().await;
    stage.look("Glob", &json!({ "pattern": "*" })).await;
    stage.look("Read", &json!({ "file_path": "README.md" })).await;
    let did = match command(stage).await {
        Did::Ran(result) => result,
        Did::Refused(why) => format!("I did not run the command, as you wished: {why}"),
        Did::Stopped => return Outcome::Interrupted,
    };
    let earlier = match before.last() {
        Some(last) => {
            format!("\n\nBefore that you told me: “{}”", shortened(unmarked(&last.prompt), 200))
        }
        None => String::new(),
    };
    Outcome::Finished(format!("Done: “{}”\n\n{did}{earlier}", shortened(task, 2000)))
}

enum Did {
    Ran(String),
    Refused(String),
    Stopped,
}

/// Asks for its command, and runs it when allowed.
async fn command(stage: &mut Stage) -> Did {
    let call = stage.tool("Bash", &json!({ "command": COMMAND, "description": "Leave a note" }));
    let before = stage.hooks.before(call.clone()).await;
    if let Start::Refused(why) = before {
        stage.round(call).await;
        return Did::Refused(why);
    }
    if matches!(before, Start::Asks) || !stage.trusted.get() {
        let rule = json!([{ "type": "addRules", "behavior": "allow", "destination": "localSettings",
            "rules": [{ "toolName": "Bash", "ruleContent": "echo *" }] }]);
        let choices = ["Yes", "Yes, and don't ask again in this session", "No"];
        let title = format!("Bash command\n  {COMMAND}\nDo you want to proceed?");
        let verdict = stage.ask(&call, rule, title, choices.map(str::to_owned).into()).await;
        let refused = match verdict {
            Verdict::Escaped | Verdict::Desk(2..) => return Did::Stopped,
            Verdict::Desk(choice) => {
                stage.trusted.set(choice == 1);
                None
            }
            Verdict::Hook(decision) if decision["behavior"] == "allow" => {
                let rules = decision["updatedPermissions"].as_array();
                stage.trusted.set(rules.is_some_and(|rules| !rules.is_empty()));
                None
            }
            Verdict::Hook(decision) if decision["interrupt"] == true => return Did::Stopped,
            Verdict::Hook(decision) => Some(message(&decision)),
        };
        if let Some(why) = refused {
            stage.round(call).await;
            return Did::Refused(why);
        }
    }
    stage.say(&format!("● $ {COMMAND}")).await;
    let result = run().await;
    stage.ran(call).await;
    Did::Ran(result)
}

async fn run() -> String {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", COMMAND]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match timeout(COMMAND_ENDS_WITHIN, shell.kill_on_drop(true).status()).await {
        Ok(Ok(status)) if status.success() => "I left a line in `vigie-demo.txt`.".into(),
        Ok(Ok(status)) => format!("My command ended with {status}."),
        Ok(Err(error)) => format!("My command could not run: {error}."),
        Err(_) => "My command did not end.".into(),
    }
}

async fn ask(stage: &mut Stage, about: &str) -> Outcome {
    let about = if about.trim().is_empty() { "the button" } else { about.trim() };
    let question = format!("Which colour for {}?", shortened(about, 200));
    let options = ["Red", "Green", "Blue"];
    let described = options.map(|label| json!({ "label": label, "description": format!("a calm {}", label.to_lowercase()) }));
    let input = json!({ "questions": [
        { "question": question, "header": "Colour", "multiSelect": false, "options": described },
    ]});
    let call = stage.tool("AskUserQuestion", &input);
    stage.hooks.tell("PreToolUse", call.clone()).await;
    let choices = options.map(str::to_owned).into();
    let verdict = stage.ask(&call, json!([]), question.clone(), choices).await;
    let answer = match verdict {
        Verdict::Escaped => return Outcome::Interrupted,
        Verdict::Desk(choice) => options.get(choice).copied().unwrap_or("Red").to_owned(),
        Verdict::Hook(decision) if decision["interrupt"] == true => return Outcome::Interrupted,
        Verdict::Hook(decision) if decision["behavior"] == "allow" => {
            let answers = &decision["updatedInput"]["answers"];
            answers[&question].as_str().unwrap_or("nothing").to_owned()
        }
        Verdict::Hook(decision) => format!("none, because {}", message(&decision)),
    };
    stage.ran(call).await;
    Outcome::Finished(format!("You chose: {answer}"))
}

async fn plan(stage: &mut Stage, task: &str) -> Outcome {
    let mut feedback = String::new();
    for round in 1..=ROUNDS {
        let plan = format!(
            "# Plan {round}: {}\n\n1. Look around\n2. Do it{feedback}\n3. Check it\n",
            shortened(task.trim(), 200)
        );
        stage.say(&plan).await;
        let call = stage.tool("ExitPlanMode", &json!({ "plan": plan }));
        stage.hooks.tell("PreToolUse", call.clone()).await;
        let choices = ["Yes", "No, keep planning"].map(str::to_owned).into();
        let verdict =
            stage.ask(&call, json!([]), "Ready to go by this plan?".into(), choices).await;
        match verdict {
            Verdict::Escaped | Verdict::Desk(1..) => return Outcome::Interrupted,
            Verdict::Hook(decision) if decision["interrupt"] == true => {
                return Outcome::Interrupted;
            }
            Verdict::Hook(decision) if decision["behavior"] != "allow" => {
                stage.round(call).await;
                feedback = format!(", minding: {}", shortened(&message(&decision), 300));
            }
            Verdict::Desk(_) | Verdict::Hook(_) => {
                stage.ran(call).await;
                return Outcome::Finished(format!("The plan is carried out:\n\n{plan}"));
            }
        }
    }
    Outcome::Finished("I give up planning.".into())
}

async fn stream(stage: &mut Stage, lines: u32) -> Outcome {
    let lines = lines.min(MOST_LINES);
    for number in 1..=lines {
        stage.say(&format!("line {number} of {lines}")).await;
    }
    Outcome::Finished(format!("{lines} lines printed."))
}

async fn slow(stage: &mut Stage, seconds: f64) -> Outcome {
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default().min(LONGEST);
    stage.say(&format!("● I take {} s.", time.as_secs_f64())).await;
    tokio::time::sleep(time).await;
    Outcome::Finished(format!("That took {} s.", time.as_secs_f64()))
}

/// Some 20 kB of Markdown, with what is hard to cut: code, a table, characters of many bytes.
fn long() -> String {
    let paragraphs = (1..=90).map(|number| {
        format!(
            "## Part {number}\n\nA paragraph with **weight**, `code` and a smile 🙂, long enough to \
             be worth a second line on every screen there is, be it as wide as it may.\n\n```rust\n\
             fn part_{number}() -> usize {{\n    {number}\n}}\n```\n\n| a | b |\n|---|---|\n| {number} | ok |\n\n"
        )
    });
    paragraphs.collect()
}

fn recall(before: &[Said]) -> String {
    let lines: Vec<_> =
        before.iter().map(|said| format!("- {}", shortened(unmarked(&said.prompt), 300))).collect();
    if lines.is_empty() { "Nothing was said before.".into() } else { lines.join("\n") }
}

fn message(decision: &Value) -> String {
    decision["message"].as_str().unwrap_or("no reason was given").to_owned()
}
