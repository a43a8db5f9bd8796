//! A message on its way in, to the program in a terminal; and an answer on its way out, without what
//! the agent itself takes, from its hook to the phone.

use anyhow::Result;
use matrix_lab::Tools;
use std::{fs, path::Path};

use super::{Figure, Town, bare::Bare};
use crate::{
    agent,
    home::quoted,
    latency::{Meeting, ms},
    table::p50_p95_against,
};

/// Each way.
const SAMPLES: usize = 40;

const BARE: &str = "phone to phone";

pub(super) async fn into_the_terminal(
    folder: &Path,
    ours: &Path,
    tools: &Tools,
) -> Result<Vec<Figure>> {
    let meeting = Meeting::open().await?;
    let stamp = format!(
        "[[agent]]\nname = \"stamp\"\nkind = \"shell\"\nprogram = {}\nargs = [\"stamp\", \"{}\"]\nprompt_ends = \"> \"\n\n",
        quoted(ours),
        meeting.address
    );
    let town = Town::open(folder, ours, tools, "threads", &stamp).await?;
    town.home.open_session("PD-285", "stamp").await?;
    let mut agent = meeting.agent().await?;
    let thread = town.thread_of("PD-285").await;
    let bare = Bare::open(&town.server).await;
    let (mut there, mut trips) = (Vec::new(), Vec::new());
    for number in 0..SAMPLES {
        town.home.session_is("PD-285", &["idle"]).await?;
        Town::rest(number).await;
        trips.push(bare.sample(&format!("bare-{number:03}")).await);
        Town::rest(number).await;
        let word = format!("word-{number:03}");
        let start = agent::now();
        let said = town.phone.say_in_thread(&town.room, &thread, &word);
        let (_, read) = tokio::join!(said, agent.says(&word));
        there.push(ms(read? - start));
        town.phone.wait_message(&town.room, &format!("read {word}.")).await;
    }
    town.home.down().await?;
    let what = "phone → bytes in the terminal, encrypted";
    Ok(p50_p95_against(what, &mut there, BARE, &mut trips, None).into())
}

pub(super) async fn onto_the_phone(
    folder: &Path,
    ours: &Path,
    tools: &Tools,
) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for layout in ["threads", "direct"] {
        let folder = folder.join(layout);
        fs::create_dir(&folder)?;
        let (mut back, mut trips) = answers(&folder, ours, tools, layout).await?;
        let what = format!("agent's Stop hook → on the phone, encrypted, {layout}");
        figures.extend(p50_p95_against(&what, &mut back, BARE, &mut trips, None));
    }
    Ok(figures)
}

/// Milliseconds from hooks to the phone, and from phone to phone.
async fn answers(
    folder: &Path,
    ours: &Path,
    tools: &Tools,
    layout: &str,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let meeting = Meeting::open().await?;
    let answer = format!(
        "[[agent]]\nname = \"answer\"\nkind = \"demo\"\nargs = [\"--answer\", \"{}\"]\n\n",
        meeting.address
    );
    let town = Town::open(folder, ours, tools, layout, &answer).await?;
    town.home.open_session("PD-285", "answer").await?;
    let mut agent = meeting.agent().await?;
    let bare = Bare::open(&town.server).await;
    let (mut back, mut trips) = (Vec::new(), Vec::new());
    for number in 0..SAMPLES {
        town.home.session_is("PD-285", &["idle"]).await?;
        Town::rest(number).await;
        trips.push(bare.sample(&format!("bare-{number:03}")).await);
        Town::rest(number).await;
        let word = format!("word-{number:03}");
        agent.tell(&word).await?;
        let shown = async {
            town.phone.wait_message(&town.room, &format!("{word} is done")).await;
            agent::now()
        };
        let (said, shown) = tokio::join!(agent.says(&word), shown);
        back.push(ms(shown - said?));
    }
    town.home.down().await?;
    Ok((back, trips))
}
