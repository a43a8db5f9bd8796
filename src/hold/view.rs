//! One viewer: a person's terminal that shows the session and types into it.

use futures_util::StreamExt;
use std::{
    collections::BTreeMap,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncWriteExt, BufReader},
    net::unix::{OwnedReadHalf, OwnedWriteHalf},
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::codec::FramedRead;

use super::{
    clock,
    protocol::{Closed, DETACH, INPUT, OUTPUT, RESIZE, frame, frames},
    pty::usable,
    server::{Shared, closed},
    sorter::{Answers, Sorter},
};
use crate::agents::{DeskKey, DeskLine, Size};

/// A viewer that takes nothing for this long is dropped. What it misses in less is skipped: it
/// gets the screen as it is when it comes back.
const STALL: Duration = Duration::from_secs(5);
/// A dropped viewer may still learn why, without holding anything up.
const FAREWELL: Duration = Duration::from_mins(1);
/// Between two drawings for a terminal of another size.
const FRAME_TIME: Duration = Duration::from_millis(40);
/// Typed bytes that wait for a program that does not read; then the viewer's terminal waits.
const TYPED_AHEAD: usize = 1 << 20;
/// For what was typed before leaving to get into the terminal.
const LAST_KEYS: Duration = Duration::from_secs(1);
/// Output sent at once.
const PART: usize = 64 << 10;

/// Who watches, and with what size.
pub(crate) struct Viewers {
    alone: Size,
    present: Mutex<Present>,
    /// Counts changes of the size or of who answers.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Present {
    next: u64,
    sizes: BTreeMap<u64, Size>,
}

impl Viewers {
    /// `alone` is the size while nobody watches.
    pub(crate) fn new(alone: Size) -> Self {
        Self { alone, present: Mutex::default(), changed: watch::channel(0).0 }
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The smallest of all, so that everybody sees everything.
    fn size(&self) -> Size {
        let sizes = &self.lock().sizes;
        let columns = sizes.values().map(|size| size.columns).min();
        let rows = sizes.values().map(|size| size.rows).min();
        Size {
            columns: columns.unwrap_or(self.alone.columns),
            rows: rows.unwrap_or(self.alone.rows),
        }
    }

    /// The program asks one terminal, and the one that has watched longest answers.
    fn answers(&self, viewer: u64) -> Answers {
        match self.lock().sizes.keys().next() {
            Some(first) if *first == viewer => Answers::Yes,
            Some(_) | None => Answers::No,
        }
    }
}

/// A viewer's place among the others; leaving gives the terminal back its size.
struct Place {
    id: u64,
    shared: Arc<Shared>,
}

impl Place {
    fn take(size: Size, shared: &Arc<Shared>) -> Self {
        let id = {
            let mut present = shared.viewers.lock();
            present.next += 1;
            present.next
        };
        let place = Self { id, shared: shared.clone() };
        place.resize(size);
        place
    }

    fn resize(&self, size: Size) {
        self.shared.viewers.lock().sizes.insert(self.id, usable(size));
        self.settle();
    }

    fn leave(&self) {
        if self.shared.viewers.lock().sizes.remove(&self.id).is_some() {
            self.settle();
        }
    }

    fn settle(&self) {
        self.shared.pty.resize(self.shared.viewers.size());
        self.shared.viewers.changed.send_modify(|count| *count += 1);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

pub(crate) async fn view(
    size: Size,
    read: BufReader<OwnedReadHalf>,
    mut write: OwnedWriteHalf,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    let place = Place::take(size, shared);
    let (resized, own_size) = watch::channel(usable(size));
    let mut showing = Showing::new(shared.clone(), own_size);
    let mut typed = std::pin::pin!(typing(read, &place, &resized));
    let why = loop {
        // A part is computed in one step and written in another, because only the first may be
        // dropped half-way.
        let part = tokio::select! {
            left = &mut typed => break left.map(|()| Closed::Detached)?,
            part = showing.next() => part,
        };
        let bytes = match part {
            Part::Show(bytes) => frame(OUTPUT, &bytes),
            Part::Over(last) => break Closed::Ended { last },
        };
        let mut writing = std::pin::pin!(write.write_all(&bytes));
        let taken = tokio::select! {
            taken = timeout(STALL, &mut writing) => taken,
            left = &mut typed => return left,
        };
        let Ok(written) = taken else {
            // From now on it is no viewer: the others need not mind its size.
            place.leave();
            within(FAREWELL, writing).await?;
            break Closed::TooSlow;
        };
        written?;
    };
    place.leave();
    within(FAREWELL, write.write_all(&closed(&why))).await
}

async fn within(time: Duration, write: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    timeout(time, write).await.map_err(|_| io::ErrorKind::TimedOut)?
}

/// Takes what the viewer types until it leaves, and types what it left unwritten.
async fn typing(
    read: BufReader<OwnedReadHalf>,
    place: &Place,
    resized: &watch::Sender<Size>,
) -> io::Result<()> {
    let mut queue = Vec::new();
    let mut writing = None;
    type_until_left(read, place, resized, &mut queue, &mut writing).await?;
    let rest = async {
        if let Some(writing) = writing {
            writing.await?;
        }
        place.shared.pty.keys.write(queue).await
    };
    within(LAST_KEYS, rest).await
}

async fn type_until_left(
    read: BufReader<OwnedReadHalf>,
    place: &Place,
    resized: &watch::Sender<Size>,
    queue: &mut Vec<u8>,
    writing: &mut Option<Writing>,
) -> io::Result<()> {
    let mut frames = FramedRead::new(read, frames());
    let mut sorter = Sorter::default();
    loop {
        // A program that does not read keeps the keys here, and leaving stays possible.
        if writing.is_none() && !queue.is_empty() {
            let (keys, bytes) = (place.shared.pty.keys.clone(), std::mem::take(queue));
            *writing = Some(Box::pin(async move { keys.write(bytes).await }));
        }
        let read = tokio::select! {
            written = finished(writing) => {
                *writing = None;
                written?;
                continue;
            }
            read = frames.next(), if queue.len() < TYPED_AHEAD => read,
        };
        let Some(read) = read.transpose()? else { return Ok(()) };
        match read.split_first() {
            Some((&INPUT, bytes)) => {
                let input = sorter.sort(bytes, place.shared.viewers.answers(place.id));
                if input.typed {
                    let line = DeskLine::after(&input.keep);
                    place.shared.last_key.send_replace(Some(DeskKey { at: clock::now(), line }));
                }
                queue.extend(input.keep);
            }
            Some((&RESIZE, &[c1, c2, r1, r2])) => {
                let columns = u16::from_be_bytes([c1, c2]);
                let size = Size { columns, rows: u16::from_be_bytes([r1, r2]) };
                place.resize(size);
                resized.send_replace(usable(size));
            }
            Some((&DETACH, _)) => return Ok(()),
            Some(_) | None => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

type Writing = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

async fn finished(writing: &mut Option<Writing>) -> io::Result<()> {
    match writing {
        Some(writing) => writing.await,
        None => std::future::pending().await,
    }
}

enum Part {
    Show(Vec<u8>),
    Over(Vec<String>),
}

/// What a viewer has to be sent next.
struct Showing {
    shared: Arc<Shared>,
    own_size: watch::Receiver<Size>,
    printed: watch::Receiver<u64>,
    changed: watch::Receiver<u64>,
    closing: watch::Receiver<Option<Vec<String>>>,
    how: How,
    /// The sizes of the program's terminal and of the viewer's that `how` is right for.
    sizes: Option<(Size, Size)>,
}

enum How {
    /// The same size: the program's own bytes, from an offset on.
    Bytes { at: u64 },
    /// Another size, in which those bytes would wrap at the wrong column: rows from the model.
    Rows { drawn: Vec<Vec<u8>>, at: u64 },
}

impl Showing {
    fn new(shared: Arc<Shared>, own_size: watch::Receiver<Size>) -> Self {
        Self {
            own_size,
            printed: shared.pty.printed.clone(),
            changed: shared.viewers.changed.subscribe(),
            closing: shared.closing.clone(),
            how: How::Bytes { at: 0 },
            sizes: None,
            shared,
        }
    }

    /// May be dropped at any await: state changes only right before it returns.
    async fn next(&mut self) -> Part {
        let mut output_lasts = true;
        loop {
            self.printed.borrow_and_update();
            self.changed.borrow_and_update();
            if let Some(bytes) = self.step() {
                return Part::Show(bytes);
            }
            if let Some(last) = self.closing.borrow().clone() {
                return Part::Over(last);
            }
            let drawing = matches!(self.how, How::Rows { .. });
            tokio::select! {
                changed = self.printed.changed(), if output_lasts => {
                    output_lasts = changed.is_ok();
                    if drawing && output_lasts {
                        sleep(FRAME_TIME).await;
                    }
                }
                _ = self.changed.changed() => {}
                _ = self.own_size.changed() => {}
                _ = self.closing.changed() => {}
            }
        }
    }

    fn step(&mut self) -> Option<Vec<u8>> {
        let terminal = self.shared.pty.terminal();
        let sizes = (terminal.size(), *self.own_size.borrow());
        if self.sizes != Some(sizes) {
            self.sizes = Some(sizes);
            if sizes.0 == sizes.1 {
                let repaint = terminal.repaint();
                self.how = How::Bytes { at: repaint.offset };
                return Some(repaint.bytes);
            }
            self.how = How::Rows { drawn: Vec::new(), at: u64::MAX };
        }
        match &mut self.how {
            How::Bytes { at } => {
                let printed = terminal.since(*at, PART);
                if printed.lost > 0 {
                    let repaint = terminal.repaint();
                    *at = repaint.offset;
                    return Some(repaint.bytes);
                }
                *at = printed.end;
                (!printed.bytes.is_empty()).then_some(printed.bytes)
            }
            How::Rows { drawn, at } => {
                let end = terminal.since(u64::MAX, 0).end;
                (std::mem::replace(at, end) != end).then(|| terminal.draw(drawn))
            }
        }
    }
}
