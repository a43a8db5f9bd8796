//! From a tap on the page to the agent, and from the agent to the page.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::{
        TcpListener,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::{sleep, timeout},
};

use super::{
    commits,
    home::{DEADLINE, Home, quoted},
    page::Page,
    table::{Figure, median, p50_p99},
};

/// Each way.
const SAMPLES: usize = 120;
/// Bare round trips to the same server.
const ROUND_TRIPS: usize = 2000;
/// So that samples do not fall into step with anybody's timer.
const APART: [u64; 5] = [3, 17, 41, 68, 97];

pub(crate) async fn measure(folder: &Path, ours: &Path) -> Result<Vec<Figure>> {
    let sync_ms = 1000. / commits::syncs_a_second(folder, Duration::from_secs(1))?;
    let stamps = Meeting::open().await?;
    let asks = Meeting::open().await?;
    let agents = format!(
        "[[agent]]\nname = \"stamp\"\nkind = \"shell\"\nprogram = {}\nargs = [\"stamp\", \"{}\"]\nprompt_ends = \"> \"\n\n\
         [[agent]]\nname = \"ask\"\nkind = \"demo\"\nargs = [\"{}\"]\n",
        quoted(ours),
        stamps.address,
        asks.address
    );
    let mut home = Home::new(folder, ours, &agents)?;
    home.up().await?;
    let link: Value = home.desk().post("/links", &json!({})).await?;
    let code = link["code"].as_str().context("the desk gives no code")?;
    let mut page = Page::sign_in(home.address, code).await?;

    let mut bare = Vec::new();
    for _ in 0..ROUND_TRIPS {
        let start = Instant::now();
        page.get("/healthz").await?;
        bare.push(start.elapsed().as_secs_f64() * 1000.);
    }
    let (bare_50, bare_99) = p50_p99(&mut bare);

    let (mut there, mut accepted) = into_the_terminal(&home, &mut page, stamps).await?;
    let mut back = onto_the_page(&home, &mut page, asks).await?;
    home.down().await?;

    let (there_50, there_99) = p50_p99(&mut there);
    let (back_50, back_99) = p50_p99(&mut back);
    let trip = "round trip to /healthz";
    Ok(vec![
        Figure::new("page accepts a message, p50", median(&mut accepted), "ms")
            .against(trip, bare_50),
        Figure::new("page → bytes in the terminal, p50", there_50, "ms").against(trip, bare_50),
        Figure::new("page → bytes in the terminal, p99", there_99, "ms").against(trip, bare_99),
        Figure::new("page → bytes in the terminal, p50", there_50, "ms")
            .against("one write to the disk", sync_ms),
        Figure::new("agent's hook → card on the page, p50", back_50, "ms").against(trip, bare_50),
        Figure::new("agent's hook → card on the page, p99", back_99, "ms").against(trip, bare_99),
        Figure::new("agent's hook → card on the page, p50", back_50, "ms")
            .against("one write to the disk", sync_ms),
    ])
}

/// Milliseconds until the bytes came, and until the page was told that they will.
async fn into_the_terminal(
    home: &Home,
    page: &mut Page,
    meeting: Meeting,
) -> Result<(Vec<f64>, Vec<f64>)> {
    home.open_session("PD-285", "stamp").await?;
    let mut agent = meeting.agent().await?;
    let (mut there, mut accepted) = (Vec::new(), Vec::new());
    for number in 0..SAMPLES {
        home.session_is("PD-285", &["idle"]).await?;
        sleep(Duration::from_millis(APART[number % APART.len()])).await;
        let word = format!("word-{number}");
        let message =
            json!({ "client": format!("message-{number}"), "text": format!("[PD-285] {word}") });
        let start = super::agent::now();
        page.post("/phone/api/send", &message).await?;
        accepted.push(ms(super::agent::now() - start));
        there.push(ms(agent.says(&word).await? - start));
    }
    Ok((there, accepted))
}

async fn onto_the_page(home: &Home, page: &mut Page, meeting: Meeting) -> Result<Vec<f64>> {
    home.open_session("PD-286", "ask").await?;
    let mut agent = meeting.agent().await?;
    home.session_is("PD-286", &["idle"]).await?;
    let mut live = page.live().await?;
    let mut back = Vec::new();
    for number in 0..SAMPLES {
        sleep(Duration::from_millis(APART[number % APART.len()])).await;
        let word = format!("word-{number}.");
        let card = |message: &Value| {
            message["what"]["body"]["body"] == "card" && message.to_string().contains(&word)
        };
        let open = |message: &Value| message["what"]["body"]["state"]["state"] == "open";
        agent.tell(&word).await?;
        let shown = live.shows(|message| card(message) && open(message)).await?;
        back.push(ms(shown - agent.says(&word).await?));
        agent.tell("never mind").await?;
        live.shows(|message| card(message) && !open(message)).await?;
    }
    Ok(back)
}

#[expect(clippy::cast_precision_loss, reason = "some seconds at most")]
fn ms(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// Where a program inside a session finds us.
pub(crate) struct Meeting {
    listener: TcpListener,
    pub(crate) address: String,
}

impl Meeting {
    pub(crate) async fn open() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        Ok(Self { listener, address })
    }

    pub(crate) async fn agent(&self) -> Result<Agent> {
        let came = timeout(DEADLINE, self.listener.accept()).await;
        let (stream, _) = came.context("the program never came")??;
        stream.set_nodelay(true)?;
        let (read, write) = stream.into_split();
        Ok(Agent { lines: BufReader::new(read).lines(), write })
    }
}

pub(crate) struct Agent {
    lines: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
}

impl Agent {
    pub(crate) async fn tell(&mut self, word: &str) -> Result<()> {
        Ok(self.write.write_all(format!("{word}\n").as_bytes()).await?)
    }

    /// Waits for its line with this word; returns the number before it.
    pub(crate) async fn says(&mut self, word: &str) -> Result<i64> {
        let said = async {
            loop {
                let line = self.lines.next_line().await?.context("the program is gone")?;
                if let Some((number, rest)) = line.split_once(' ')
                    && rest.split_whitespace().any(|one| one == word)
                {
                    return anyhow::Ok(number.parse()?);
                }
            }
        };
        timeout(DEADLINE, said).await.with_context(|| format!("{word} never came"))?
    }
}
