//! A server that answers as it is told, to see what the client makes of it.
use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};
use vigie_telegram::api::{Api, BaseUrl, Patience, Token};

pub(crate) const SECRET: &str = "TEST-TOKEN-of-nobody";

/// How long anything a test waits for may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// What happens to a request.
pub(crate) enum Reply {
    /// An answer with this status, these further header lines, and this body.
    Answer(u16, &'static str, String),
    /// The connection breaks when the request was read.
    Drop,
    /// The answer breaks off in the middle.
    Cut(String),
    /// An answer that ends with the connection and names no length.
    Endless(String),
    /// No answer.
    Hang,
}

impl Reply {
    pub(crate) fn ok(result: &str) -> Self {
        Self::Answer(200, "", format!(r#"{{"ok":true,"result":{result}}}"#))
    }

    pub(crate) fn refused(code: u16, description: &str) -> Self {
        let body = format!(r#"{{"ok":false,"error_code":{code},"description":"{description}"}}"#);
        Self::Answer(code, "", body)
    }
}

pub(crate) struct Request {
    /// Which connection it came over, counted from 0.
    pub(crate) connection: usize,
    pub(crate) line: String,
    pub(crate) headers: String,
    pub(crate) body: String,
}

#[derive(Default)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Request>>,
    came: Condvar,
    connections: AtomicUsize,
    stopped: AtomicBool,
}

pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    pub(crate) fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        shared.replies.lock().unwrap().extend(replies);
        let theirs = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if theirs.stopped.load(Ordering::SeqCst) {
                    break;
                }
                let theirs = Arc::clone(&theirs);
                thread::spawn(move || theirs.serve(&stream.unwrap()));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn api(&self, patience: Patience) -> Api {
        api(&self.url(), patience)
    }

    /// The requests, once there are so many.
    pub(crate) fn requests(&self, count: usize) -> Vec<Request> {
        let requests = self.shared.requests.lock().unwrap();
        let (mut requests, _) = self
            .shared
            .came
            .wait_timeout_while(requests, DEADLINE, |requests| requests.len() < count)
            .unwrap();
        assert_eq!(requests.len(), count, "requests that came");
        std::mem::take(&mut *requests)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

pub(crate) fn api(base: &str, patience: Patience) -> Api {
    Api::new(token(), base.parse::<BaseUrl>().unwrap(), patience).unwrap()
}

pub(crate) fn token() -> Token {
    format!("123456:{SECRET}").parse().unwrap()
}

/// Impatient enough for a test that waits for a deadline.
pub(crate) fn impatient() -> Patience {
    let short = Duration::from_millis(300);
    Patience { connect: short, answer: short, file: short, poll: short }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) {
        let connection = self.connections.fetch_add(1, Ordering::SeqCst);
        let mut reader = BufReader::new(stream);
        while let Some(request) = read(&mut reader, connection) {
            let reply = self.replies.lock().unwrap().pop_front();
            self.requests.lock().unwrap().push(request);
            self.came.notify_all();
            match reply {
                Some(Reply::Answer(status, headers, body)) => {
                    let length = body.len();
                    write(
                        stream,
                        &format!(
                            "HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
                        ),
                    );
                }
                Some(Reply::Cut(body)) => {
                    let length = body.len() * 2;
                    write(
                        stream,
                        &format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"),
                    );
                    return;
                }
                Some(Reply::Endless(body)) => {
                    write(stream, &format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{body}"));
                    return;
                }
                Some(Reply::Hang) => {
                    // Until the client gives up.
                    let _ = reader.read(&mut [0]);
                    return;
                }
                Some(Reply::Drop) | None => return,
            }
        }
    }
}

fn write(mut stream: &TcpStream, text: &str) {
    let _ = stream.write_all(text.as_bytes());
}

fn read(reader: &mut BufReader<&TcpStream>, connection: usize) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = String::new();
    loop {
        let from = headers.len();
        reader.read_line(&mut headers).ok().filter(|read| *read > 0)?;
        if headers[from..].trim().is_empty() {
            break;
        }
    }
    let headers = headers.to_lowercase();
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Request { connection, line, headers, body })
}
