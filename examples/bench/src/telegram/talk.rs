//! A message to the agent, and its answer.

use anyhow::Result;
use scripted_model::Model;
use std::{
    path::Path,
    time::{Duration, Instant},
};
use telegram_emulator::ADA;
use tokio::time::timeout;

use super::{
    APART, DEADLINE, Figure, Town,
    claude::{Setting, Terminal},
    echo::Echo,
    ms, p50_p95_against, rest,
};

/// Each way.
const SAMPLES: usize = 40;
const THINKS: Duration = Duration::from_secs(1);

pub(super) async fn measure(folder: &Path, vigie: &Path, program: &Path) -> Result<Vec<Figure>> {
    let model = Model::start().await?;
    model.thinks(THINKS);
    let setting = Setting::new(folder, program, &model)?;
    let town = Town::open(folder, vigie, &setting.agent(), ADA).await?;
    town.session("PD-285", "cc").await?;
    let mut terminal = setting.terminal().await?;
    let echo = Echo::start().await?;
    let mut all = Samples::default();
    for number in 0..SAMPLES {
        rest(Duration::from_millis(APART[number % APART.len()])).await;
        all.echoes.push(echo.sample(&format!("echo-{number:03}")).await);
        all.typed.push(typed(&mut terminal, &model, &format!("typed-{number:03}")).await?);
        let (there, back) = said(&town, &model, &format!("said-{number:03}")).await?;
        all.there.push(there);
        all.back.push(back);
    }
    town.home.down().await?;
    let Samples { echoes, typed, there, back } = &mut all;
    let mut figures = Vec::new();
    let bare = "pasted in a bare terminal";
    figures.extend(p50_p95_against("message → the model's server", there, bare, typed, Some(1.3)));
    let bare = "bare echo bot";
    figures.extend(p50_p95_against(
        "model's last byte → on the phone",
        back,
        bare,
        echoes,
        Some(5.),
    ));
    Ok(figures)
}

#[derive(Default)]
struct Samples {
    echoes: Vec<f64>,
    typed: Vec<f64>,
    there: Vec<f64>,
    back: Vec<f64>,
}

/// Milliseconds from the paste to the model's server.
async fn typed(terminal: &mut Terminal, model: &Model, word: &str) -> Result<f64> {
    let start = Instant::now();
    terminal.paste(&format!("{word} => say {word} is done"))?;
    let asked = timeout(DEADLINE, model.asked(word)).await?;
    timeout(DEADLINE, model.answered(asked)).await?;
    terminal.drawn().await?;
    Ok(ms(start, asked.at))
}

/// Milliseconds from the message to the model's server, and from its last byte to the phone.
async fn said(town: &Town, model: &Model, word: &str) -> Result<(f64, f64)> {
    town.home.session_is("PD-285", &["idle"]).await?;
    let start = Instant::now();
    town.emulator.send(ADA, ADA, &format!("[PD-285] {word} => say {word} is done")).now();
    let asked = timeout(DEADLINE, model.asked(word)).await?;
    let answered = timeout(DEADLINE, model.answered(asked)).await?;
    let shown = town.emulator.wait_message(ADA, None, &format!("{word} is done")).await;
    Ok((ms(start, asked.at), ms(answered, town.seen_at(&shown))))
}
