//! From the call of a tool in one session to its words in another: pushed into its terminal where it is
//! idle, beside its next hook where it works.

use anyhow::Result;
use serde_json::json;
use std::{path::Path, time::Duration};
use tokio::time::sleep;

use super::{agent, session};
use crate::{
    home::Home,
    latency::{Agent, Bare, Meeting, ms},
    page::Page,
    table::{Figure, percentile},
};

/// One may write to another ten times a minute, so there are several.
const SENDERS: usize = 6;
const EACH: usize = 9;
/// So that samples do not fall into step with anybody's timer, in milliseconds.
const APART: [u64; 5] = [3, 17, 41, 68, 97];

/// What we aim at, in milliseconds, for p50 and p95.
const AIM: [f64; 2] = [3., 10.];

pub(super) async fn measure(folder: &Path, ours: &Path) -> Result<Vec<Figure>> {
    let meetings = [Meeting::open().await?, Meeting::open().await?, Meeting::open().await?];
    let parts = ["caller", "pushed", "beside"];
    let agents: String =
        parts.iter().zip(&meetings).map(|(part, meeting)| agent(ours, part, meeting)).collect();
    let mut home = Home::new(folder, ours, &agents)?;
    home.up().await?;
    let [callers, pushed, beside] = &meetings;
    let mut senders = Vec::new();
    for number in 0..SENDERS {
        senders.push(session(&home, &format!("PD-{number}"), "caller", callers).await?);
    }
    let mut idle = session(&home, "IDLE", "pushed", pushed).await?;
    let mut works = session(&home, "WORKS", "beside", beside).await?;
    home.session_is("WORKS", &["working"]).await?;
    let mut bare = Bare::new(folder)?;
    let mut page = Page::of(home.address).await?;

    let mut into_terminal = Vec::new();
    let mut beside_hook = Vec::new();
    let mut answered = Vec::new();
    for number in 0..SENDERS * EACH {
        let sender = &mut senders[number % SENDERS];
        bare.measure(&mut page).await?;
        sleep(Duration::from_millis(APART[number % APART.len()])).await;
        home.session_is("IDLE", &["idle"]).await?;
        let word = format!("word-{number}-idle");
        let began = send(sender, "IDLE", &word).await?;
        into_terminal.push(ms(idle.says(&word).await? - began));

        let word = format!("word-{number}-works");
        let began = send(sender, "WORKS", &word).await?;
        beside_hook.push(ms(works.says(&word).await? - began));
        answered.push(ms(sender.says(&format!("{word}-took")).await?));
    }
    home.down().await?;

    let what = [
        ("call → words in an idle session's terminal", into_terminal, Some(AIM)),
        ("call → words beside a hook of one at work", beside_hook, Some(AIM)),
        ("call → its answer", answered, None),
    ];
    let mut figures = Vec::new();
    for (what, mut samples, aim) in what {
        for (index, hundredth) in [50, 95].into_iter().enumerate() {
            let what = format!("{what}, p{hundredth} of {}", samples.len());
            let figure = Figure::new(&what, percentile(&mut samples, hundredth), "ms");
            figures
                .extend(aim.map(|aim| Figure::new(&what, figure.value, "ms").at_most(aim[index])));
            let sync = percentile(&mut bare.syncs, hundredth);
            figures.push(figure.against("4 kB and fdatasync", sync));
        }
    }
    Ok(figures)
}

/// When the call began.
async fn send(sender: &mut Agent, to: &str, word: &str) -> Result<i64> {
    let arguments = json!({ "to": to, "text": format!("look at {word} please") });
    sender.tell(&format!("{word} send_message {arguments}")).await?;
    sender.says(word).await
}
