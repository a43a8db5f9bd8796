//! What is said on a holder's socket, version [`VERSION`].
//!
//! The client opens with one line of JSON, a [`Hello`]; the holder answers with one line, a
//! [`Welcome`]. What follows depends on the mode:
//!
//! | mode | client → holder | holder → client |
//! | --- | --- | --- |
//! | `control` | lines of [`ToHolder`] | lines of [`FromHolder`]: every report from `from_seq` on, then new ones, then `ended` |
//! | `attach` | frames [`INPUT`], [`RESIZE`], [`DETACH`] | frames [`OUTPUT`], [`CLOSED`] |
//! | `screen` | – | one line, a [`Picture`] |
//! | `keys` | – | one line, a [`Done`], when the bytes are in the terminal |
//! | `output` | – | frames [`OUTPUT_AT`], then [`CLOSED`] |
//! | `kill` | – | one line, a [`Done`], when the killing has begun |
//!
//! A frame is four bytes of length (big-endian, of what follows), one byte of kind, and the rest.
//! Holders live longer than daemons, so a later version must go on speaking this one.

use serde::{Deserialize, Serialize};
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::codec::LengthDelimitedCodec;
use vigie_core::agent::{Order, Report};

use crate::agents::Size;

/// The version of this protocol.
pub const VERSION: u32 = 1;
/// Longest line, in bytes: a report holds at most a final answer, an order at most a long paste.
pub const LINE: usize = 16 << 20;
/// Longest first line, in bytes; `keys` is the only mode with a payload.
pub const HELLO: usize = 256 << 10;
/// Longest frame, in bytes.
pub const FRAME: usize = 1 << 20;

/// Client: bytes as typed.
pub const INPUT: u8 = 1;
/// Client: columns and rows, two bytes each, big-endian.
pub const RESIZE: u8 = 2;
/// Client: leaving; the holder answers with [`CLOSED`].
pub const DETACH: u8 = 3;
/// Holder: bytes for the terminal.
pub const OUTPUT: u8 = 17;
/// Holder: a [`Closed`] as JSON; the last frame.
pub const CLOSED: u8 = 18;
/// Holder: eight bytes of offset, big-endian, then output from there; a gap means bytes were lost.
pub const OUTPUT_AT: u8 = 19;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    #[serde(rename = "do")]
    pub mode: Mode,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Mode {
    Control { from_seq: u64 },
    Attach { size: Size },
    Screen,
    Keys { bytes: Vec<u8> },
    Output { from: u64, follow: Follow },
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Follow {
    /// What is there now.
    Once,
    /// And what will come.
    Live,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "welcome", rename_all = "snake_case")]
pub enum Welcome {
    Yes {
        protocol: u32,
        /// The holder's own version, which may be older than the client's.
        binary: String,
        /// It looks at policies before each tool, and takes other ones.
        #[serde(default)]
        guards: bool,
    },
    No {
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ToHolder {
    Order {
        order: Order,
    },
    /// These policies hold from now on, whatever it was started with. As it came, since it may be of a
    /// later version.
    Policies {
        policies: serde_json::Value,
    },
    /// All reports up to here are in the daemon's database.
    Ack {
        seq: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one is read at a time")]
pub enum FromHolder {
    Report {
        report: Report,
    },
    /// The last report is out and the holder leaves.
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "done", rename_all = "snake_case")]
pub enum Done {
    Yes,
    No { why: String },
}

/// Why a viewer's connection ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "closed", rename_all = "snake_case")]
pub enum Closed {
    Detached,
    /// The viewer did not take its output for a while.
    TooSlow,
    /// The program is gone; `last` holds its last lines.
    Ended {
        last: Vec<String>,
    },
    /// Everything asked for was sent.
    Complete,
}

/// The screen as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    pub size: Size,
    /// Column and row from 0; `None` while hidden.
    pub cursor: Option<(u16, u16)>,
    pub title: String,
    /// One entry a row, each row full width.
    pub rows: Vec<Vec<Run>>,
    /// The same as plain text, without trailing blanks.
    pub lines: Vec<String>,
    /// Bytes printed so far.
    pub printed: u64,
}

/// Neighbouring cells that look alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub text: String,
    pub fg: Colour,
    pub bg: Colour,
    pub looks: Vec<Look>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "colour", rename_all = "snake_case")]
pub enum Colour {
    Default,
    /// One of the 256 of xterm's palette.
    Index {
        index: u8,
    },
    Rgb {
        r: u8,
        g: u8,
        b: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    Bold,
    Dim,
    Italic,
    Underline,
    Inverse,
}

/// Splits a stream into frames.
pub fn frames() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(FRAME).new_codec()
}

/// One frame, ready for the socket. `body` is shorter than [`FRAME`].
pub fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    // Longer than the length says is longer than FRAME, and the other side hangs up.
    let length = u32::try_from(body.len() + 1).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(body.len() + 5);
    frame.extend(length.to_be_bytes());
    frame.push(kind);
    frame.extend(body);
    frame
}

/// Writes one line of JSON.
pub async fn write_line<T: Serialize>(
    to: &mut (impl AsyncWrite + Unpin),
    what: &T,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(what).map_err(io::Error::other)?;
    line.push(b'\n');
    to.write_all(&line).await
}

/// Reads one line of JSON of at most `most` bytes.
///
/// # Errors
/// `UnexpectedEof` when the other side is gone, `InvalidData` when the line is too long or no such
/// JSON.
pub async fn read_line<T: for<'a> Deserialize<'a>>(
    from: &mut (impl AsyncBufRead + Unpin),
    most: usize,
) -> io::Result<T> {
    let mut line = Vec::new();
    loop {
        let seen = from.fill_buf().await?;
        if seen.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = seen.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(seen.len(), |at| at + 1);
        line.extend_from_slice(&seen[..taken]);
        from.consume(taken);
        if line.len() > most {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
        }
        if end.is_some() {
            return serde_json::from_slice(&line)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
        }
    }
}
