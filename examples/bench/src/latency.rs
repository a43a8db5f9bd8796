//! From a tap on the page to the agent, and from the agent to the page.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::{
    fs::File,
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
    table::{Figure, p50_p99},
};

/// Each way.
const SAMPLES: usize = 120;
/// Bare round trips and writes to the disk before each sample, so that all of them meet the machine
/// in the same state.
const BARE: usize = 5;
/// So that samples do not fall into step with anybody's timer.
const APART: [u64; 5] = [3, 17, 41, 68, 97];

pub(crate) async fn measure(folder: &Path, ours: &Path) -> Result<Vec<Figure>> {
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

    let mut bare = Bare::new(folder)?;
    let (mut there, mut accepted) = into_the_terminal(&home, &mut page, stamps, &mut bare).await?;
    let mut back = onto_the_page(&home, &mut page, asks, &mut bare).await?;
    home.down().await?;

    let trips = p50_p99(&mut bare.trips);
    let syncs = p50_p99(&mut bare.syncs);
    let mut figures = Vec::new();
    for (what, samples) in [
        ("page → written down and taken", &mut accepted),
        ("page → bytes in the terminal", &mut there),
        ("agent's hook → card on the page", &mut back),
    ] {
        let (p50, p99) = p50_p99(samples);
        for (what, value, trip, sync) in [
            (format!("{what}, p50"), p50, trips.0, syncs.0),
            (format!("{what}, p99"), p99, trips.1, syncs.1),
        ] {
            figures.push(Figure::new(&what, value, "ms").against("GET /healthz", trip));
            figures.push(Figure::new(&what, value, "ms").against("4 kB and fdatasync", sync));
        }
    }
    Ok(figures)
}

/// What everything is compared with, in milliseconds.
pub(crate) struct Bare {
    file: File,
    pub(crate) trips: Vec<f64>,
    pub(crate) syncs: Vec<f64>,
}

impl Bare {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let file = File::create(folder.join("syncs"))?;
        Ok(Self { file, trips: Vec::new(), syncs: Vec::new() })
    }

    pub(crate) async fn measure(&mut self, page: &mut Page) -> Result<()> {
        for _ in 0..BARE {
            let start = Instant::now();
            page.get("/healthz").await?;
            self.trips.push(start.elapsed().as_secs_f64() * 1000.);
            let start = Instant::now();
            commits::sync_once(&mut self.file)?;
            self.syncs.push(start.elapsed().as_secs_f64() * 1000.);
        }
        Ok(())
    }
}

/// Milliseconds until the bytes came, and until the page was told that they will.
async fn into_the_terminal(
    home: &Home,
    page: &mut Page,
    meeting: Meeting,
    bare: &mut Bare,
) -> Result<(Vec<f64>, Vec<f64>)> {
    home.open_session("PD-285", "stamp").await?;
    let mut agent = meeting.agent().await?;
    let mut live = page.live().await?;
    let (mut there, mut accepted) = (Vec::new(), Vec::new());
    for number in 0..SAMPLES {
        home.session_is("PD-285", &["idle"]).await?;
        bare.measure(page).await?;
        sleep(Duration::from_millis(APART[number % APART.len()])).await;
        let word = format!("word-{number}");
        let message =
            json!({ "client": format!("message-{number}"), "text": format!("[PD-285] {word}") });
        let start = super::agent::now();
        page.post("/phone/api/send", &message).await?;
        accepted.push(ms(super::agent::now() - start));
        there.push(ms(agent.says(&word).await? - start));
        // Before its answer the session still counts as idle, and the next message would wait for
        // the end of this turn.
        let answer = format!("read {word}.");
        live.shows(|message| message.to_string().contains(&answer)).await?;
    }
    Ok((there, accepted))
}

async fn onto_the_page(
    home: &Home,
    page: &mut Page,
    meeting: Meeting,
    bare: &mut Bare,
) -> Result<Vec<f64>> {
    home.open_session("PD-286", "ask").await?;
    let mut agent = meeting.agent().await?;
    home.session_is("PD-286", &["idle"]).await?;
    let mut live = page.live().await?;
    let mut back = Vec::new();
    for number in 0..SAMPLES {
        bare.measure(page).await?;
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
pub(crate) fn ms(nanoseconds: i64) -> f64 {
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
