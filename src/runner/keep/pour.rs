//! Puts what a program prints into a file while it comes, secrets masked. As much is held in memory
//! as one read gives: who prints faster than the disk writes waits.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write as _},
    path::Path,
    sync::{Arc, mpsc::SyncSender},
};

use super::{Event, mask::Mask, private};

/// Of one read.
const PIECE: usize = 64 << 10;
/// Most that is kept of what one program prints. A program that prints more is ended: a disk has an
/// end too.
pub(super) const MOST: u64 = 2 << 30;
/// Of a thread's stack: none does more than read and write.
pub(super) const STACK: usize = 256 << 10;

/// Into the file at `path`, to the end of `from`.
pub(super) fn into_file(from: impl Read, path: &Path, mask: &Arc<Mask>, tell: &SyncSender<Event>) {
    let file = private(path);
    let mut mask = mask.stream();
    let mut masked = Vec::new();
    let mut sink = Sink { file: file.map_err(Some), written: 0 };
    pieces(from, |piece| {
        mask.take(piece, &mut masked);
        sink.take(&masked, tell);
        masked.clear();
    });
    mask.end(&mut masked);
    sink.take(&masked, tell);
}

/// Each piece as it comes; an error is an end.
pub(super) fn pieces(mut from: impl Read, mut take: impl FnMut(&[u8])) {
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return,
            Ok(read) => take(&piece[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// A file of bounded length. Past an error or its end it takes everything and keeps nothing, so that
/// nobody hangs on it.
struct Sink {
    /// `Err(None)`: it was told.
    file: Result<File, Option<std::io::Error>>,
    written: u64,
}

impl Sink {
    fn take(&mut self, bytes: &[u8], tell: &SyncSender<Event>) {
        if let Ok(file) = &mut self.file {
            self.written += bytes.len() as u64;
            if self.written > MOST {
                let _ = tell.send(Event::TooMuch);
                self.file = Err(None);
            } else if let Err(error) = file.write_all(bytes) {
                self.file = Err(Some(error));
            }
        }
        if let Err(told) = &mut self.file
            && let Some(error) = told.take()
        {
            let _ = tell.send(Event::Broken(format!("what it printed cannot be kept: {error}")));
        }
    }
}
