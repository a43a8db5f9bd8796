//! The agent asks, a person decides, at several speeds of the model: an answer that were typed into
//! the agent's dialog would meet it at another moment each time.

use anyhow::{Context, Result, ensure};
use scripted_model::Model;
use std::{
    path::Path,
    time::{Duration, Instant},
};
use telegram_emulator::{ADA, Shown};
use tokio::time::timeout;

use super::{
    APART, DEADLINE, Figure, Town,
    claude::{Setting, Terminal},
    ms, p50_p95, p50_p95_against, rest,
};

/// How long the model takes, and how many questions are asked then.
const SPEEDS: [(Duration, usize); 3] =
    [(Duration::from_millis(50), 20), (Duration::from_secs(1), 20), (Duration::from_secs(5), 10)];
/// One in so many is denied.
const DENIED: usize = 3;
/// A question takes three calls of a private chat, which bears one a second.
const SPACED: Duration = Duration::from_secs(4);

pub(super) async fn measure(folder: &Path, vigie: &Path, program: &Path) -> Result<Vec<Figure>> {
    let model = Model::start().await?;
    let setting = Setting::new(folder, program, &model)?;
    let town = Town::open(folder, vigie, &setting.agent(), ADA).await?;
    town.session("PD-285", "cc").await?;
    let mut terminal = setting.terminal().await?;
    let mut figures = Vec::new();
    let mut number = 0;
    for (thinks, samples) in SPEEDS {
        model.thinks(thinks);
        let mut all = Samples::default();
        for _ in 0..samples {
            let next = Instant::now() + SPACED;
            let (dialog, went) = bare(&mut terminal, &model, number).await?;
            all.dialogs.push(dialog);
            all.pressed.push(went);
            let (card, went) = ask(&town, &model, number).await?;
            all.cards.push(card);
            all.tapped.push(went);
            number += 1;
            rest(next.saturating_duration_since(Instant::now())).await;
        }
        let Samples { dialogs, pressed, cards, tapped } = &mut all;
        let at = format!("model of {} s", thinks.as_secs_f64());
        let (what, bare) = (format!("{at}: question → card"), "dialog in a bare terminal");
        figures.extend(p50_p95(&what, cards, [85., 190.]));
        figures.extend(p50_p95_against(&what, cards, bare, dialogs, None));
        let (what, bare) = (format!("{at}: tap → agent goes on"), "key in a bare terminal");
        figures.extend(p50_p95(&what, tapped, [160., 240.]));
        figures.extend(p50_p95_against(&what, tapped, bare, pressed, None));
    }
    town.home.down().await?;
    Ok(figures)
}

#[derive(Default)]
struct Samples {
    dialogs: Vec<f64>,
    pressed: Vec<f64>,
    cards: Vec<f64>,
    tapped: Vec<f64>,
}

/// What the agent itself takes: milliseconds from the model's last byte to the dialog in a bare
/// terminal, and from the key that answers it to the model's server.
async fn bare(terminal: &mut Terminal, model: &Model, number: usize) -> Result<(f64, f64)> {
    let word = format!("bare-{number:03}");
    let from = terminal.length();
    terminal.paste(&format!("{word} => write {word}.txt hello then say end"))?;
    let asked = timeout(DEADLINE, model.asked(&word)).await?;
    let answered = timeout(DEADLINE, model.answered(asked)).await?;
    let dialog = terminal.prints("create", from).await?;
    rest(Duration::from_millis(300 + APART[number % APART.len()])).await; // a person reads it
    let pressed = Instant::now();
    terminal.press("1")?;
    let went_on = timeout(DEADLINE, model.asked_after(asked)).await?;
    timeout(DEADLINE, model.answered(went_on)).await?;
    terminal.drawn().await?;
    Ok((ms(answered, dialog), ms(pressed, went_on.at)))
}

/// Milliseconds from the model's last byte to the card, and from the tap to the model's server.
async fn ask(town: &Town, model: &Model, number: usize) -> Result<(f64, f64)> {
    let file = format!("note-{number:03}.txt");
    let label = if number % DENIED == DENIED - 1 { "Deny" } else { "Approve" };
    town.home.session_is("PD-285", &["idle"]).await?;
    let prompt = format!("[PD-285] ask-{number:03} => write {file} hello then say end-{number:03}");
    town.emulator.send(ADA, ADA, &prompt).now();
    let asked = timeout(DEADLINE, model.asked(&format!("ask-{number:03}"))).await?;
    let answered = timeout(DEADLINE, model.answered(asked)).await?;
    let card = town.emulator.wait_value(&file, DEADLINE, |emulator| {
        let asks = |shown: &Shown| shown.button(label).is_some() && shown.text.contains(&file);
        emulator.messages(ADA, None).into_iter().rev().find(asks)
    });
    let card = card.await;
    rest(Duration::from_millis(300 + APART[number % APART.len()])).await; // a person reads it
    let tapped = Instant::now();
    let press = town.emulator.press(ADA, card.id, ADA, label);
    let went_on = timeout(DEADLINE, model.asked_after(asked)).await?;
    press.answer().await;
    as_decided(town, &model.news(went_on), &file, label)?;
    town.emulator.wait_message(ADA, None, &format!("end-{number:03}")).await;
    Ok((ms(answered, town.seen_at(&card)), ms(tapped, went_on.at)))
}

/// Nothing but the tap decided: a key that had reached the dialog would have approved.
fn as_decided(town: &Town, news: &str, file: &str, label: &str) -> Result<()> {
    let written = town.home.project().join(file).exists();
    let denied = label == "Deny";
    ensure!(written != denied, "{label} was tapped, and {file} is there: {written}");
    let result = news.contains("tool_result").then_some(());
    result.with_context(|| format!("no result came back to the model: {news}"))?;
    let refused = news.contains("\"is_error\":true");
    ensure!(refused == denied, "{label} was tapped, and the model was told: {news}");
    Ok(())
}
