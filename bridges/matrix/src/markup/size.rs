//! Whether an event is small enough, in the form in which the server gets it.

use serde_json::Value;

/// Most bytes of an event, as servers hand it on. Source: Matrix specification, "Size limits".
const EVENT: usize = 65_536;

/// What a server puts around a content: ids of up to 255 bytes each, the events before it and those
/// that allow it, hashes, signatures. Source: Matrix specification, "Room version 12". The longest
/// encrypted text that Synapse 1.163.2 takes in a new room leaves about 900 bytes for all of that; the
/// rest is for rooms with more events before each.
const AROUND: usize = 3_000;

/// What stands beside a content before it is encrypted: its type and the id of its room.
const BESIDE: usize = 64 + 255;

/// What Megolm adds to it: a version, an index, a length, up to 16 bytes of padding, 8 of its code
/// and 64 of a signature. Source: Matrix specification, "The Megolm ratchet".
const MEGOLM: usize = 1 + 6 + 6 + 16 + 8 + 64;

/// What an event that replaces another has more.
const REPLACES: usize = 200;

/// What becomes of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An event of its own.
    New,
    /// It replaces what another one shows, so its words are in there twice.
    Edit,
}

/// Whether a message with that `content` is taken, encrypted or not. The content is that of a new
/// message; what an edit puts around it is counted here.
pub fn fits(content: &Value, kind: Kind) -> bool {
    let alone = bytes(content);
    let whole = match kind {
        Kind::New => alone,
        Kind::Edit => alone + content.get("body").map_or(0, bytes) + REPLACES,
    };
    let relation = content.get("m.relates_to").map_or(0, bytes);
    // Base64 makes four bytes of three; the relation stands outside once more.
    let sealed = (whole + BESIDE + MEGOLM).div_ceil(3) * 4;
    sealed + relation + REPLACES + AROUND <= EVENT
}

fn bytes(value: &Value) -> usize {
    value.to_string().len()
}
