//! Where Claude Code's hooks ask: on loopback, one call after the other. Nothing that is answered here
//! changes anything: who calls besides Claude Code learns what it would be told.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};
use subtle::ConstantTimeEq as _;

use super::permission::Permission;
use crate::agents::guard::refusal;

/// The variable with the token, which is in its environment alone.
pub(super) const TOKEN: &str = "VIGIE_HOOK_TOKEN";
pub(super) const PATH: &str = "/call";

/// A caller on this machine sends what it has at once.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest head of a request, and longest body: it holds the input of a tool, a file's text.
const HEAD: u64 = 16 << 10;
const BODY: u64 = 32 << 20;
/// Serving parses JSON of any depth that it takes.
const STACK: usize = 1 << 20;

pub(super) struct Door {
    pub url: String,
    pub token: String,
}

/// Serves until this process ends.
pub(super) fn open(permission: Arc<Permission>) -> io::Result<Door> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let url = format!("http://{}", listener.local_addr()?);
    let token = format!("{:032x}", rand::random::<u128>());
    let expected = format!("Bearer {token}");
    let serve = move || {
        for stream in listener.incoming().flatten() {
            // Whoever breaks off gets nothing.
            let _ = answer(&stream, &expected, &permission);
        }
    };
    thread::Builder::new().name("hooks".into()).stack_size(STACK).spawn(serve)?;
    Ok(Door { url, token })
}

fn answer(stream: &TcpStream, expected: &str, permission: &Permission) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    let (status, body) = match read(&mut reader, expected)? {
        Ok(body) => match serde_json::from_slice(&body) {
            Ok(call) => ("200 OK", permission.decide(call).to_string()),
            // A call that fails lets its tool through (2.1.332).
            Err(_) => ("200 OK", refusal("the call does not read").to_string()),
        },
        Err(status @ "413 Content Too Large") => {
            ("200 OK", refusal(&format!("the answer to its call is {status}")).to_string())
        }
        Err(status) => (status, String::new()),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The body, or how it is refused.
fn read(
    reader: &mut BufReader<&TcpStream>,
    expected: &str,
) -> io::Result<Result<Vec<u8>, &'static str>> {
    let mut head = reader.by_ref().take(HEAD);
    let mut line = String::new();
    head.read_line(&mut line)?;
    let asked = line.trim_end() == format!("POST {PATH} HTTP/1.1");
    let (mut length, mut known) = (None, false);
    loop {
        line.clear();
        if head.read_line(&mut line)? == 0 {
            return Ok(Err("431 Request Header Fields Too Large"));
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse::<u64>().ok(),
            "authorization" => known = value.trim().as_bytes().ct_eq(expected.as_bytes()).into(),
            _ => {}
        }
    }
    Ok(match length {
        _ if !known => Err("401 Unauthorized"),
        _ if !asked => Err("404 Not Found"),
        Some(length) if length <= BODY => {
            let mut body = Vec::new();
            reader.take(length).read_to_end(&mut body)?;
            Ok(body)
        }
        Some(_) => Err("413 Content Too Large"),
        None => Err("411 Length Required"),
    })
}
