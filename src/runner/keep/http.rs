//! One request. It is made in this process: nothing of it is an agent's or a script's, and what
//! comes back goes to disk.

use reqwest::{
    Client, Method, StatusCode, Url,
    header::{
        AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION,
        PROXY_AUTHORIZATION,
    },
    redirect::Policy,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt as _;
use std::{error::Error, io::Write as _, path::PathBuf, sync::Arc, time::Duration};
use vigie_workflow::run::{Ended, Outcome};

use super::{
    Event, Keeper,
    mask::{MASK, Mask},
    output, private,
};
use crate::runner::{
    place::OUT,
    private_net::{self, PublicOnly},
    task::{Http, Kind, Left},
};

/// Until there is a connection; the whole has the step's own time.
const CONNECT: Duration = Duration::from_secs(30);
/// Longest answer, in bytes.
const LONGEST: u64 = 10 << 20;
/// Longest header that is kept, and most of them.
const LONGEST_HEADER: usize = 4 << 10;
const MOST_HEADERS: usize = 100;

/// So that a service can tell a repeat; draft-ietf-httpapi-idempotency-key-header.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

impl Keeper {
    /// `None`: broken off.
    pub(super) fn http(&mut self) -> Option<Left> {
        let Kind::Http(http) = &self.task.what else { return None };
        let (http, key) = (http.clone(), self.task.key.clone());
        let (out, mask) = (self.folder.join(OUT), self.mask.clone());
        self.aside("request", move |tell| {
            let ended = request(&http, &key, out, &mask);
            let _ = tell.send(Event::Answered(Box::new(ended)));
        });
        // Where it is too late, the request ends with this process.
        let outcome = loop {
            match self.next_until(self.deadline) {
                Some(Event::Answered(ended)) => {
                    let mut ended = *ended;
                    self.read_answer(&mut ended);
                    return Some(Left::Ended(ended));
                }
                Some(Event::Cancel) => break Outcome::Cancelled,
                Some(Event::Leave) => return None,
                Some(Event::Broken(why)) => break Outcome::Failed { why },
                // Of programs, and there is none.
                Some(
                    Event::Exited(_)
                    | Event::NoneLeft
                    | Event::Closed
                    | Event::TooMuch
                    | Event::PutOff,
                ) => {}
                None => break Outcome::TimedOut,
            }
        };
        Some(Left::Ended(Ended::of(outcome)))
    }

    /// What came back, as other steps read it.
    fn read_answer(&self, ended: &mut Ended) {
        if let Ok((output, formed)) = output::read(&self.folder.join(OUT), self.task.output) {
            let values = std::mem::take(&mut ended.output.values);
            ended.output = output;
            ended.output.values = values;
            if let (Outcome::Done, Err(why)) = (&ended.outcome, formed) {
                let why = why.replace("what it printed", "what came back");
                ended.outcome = Outcome::Failed { why };
            }
            if ended.output.json.is_none() && ended.output.cut.is_none() {
                ended.output.json = output::json(ended.output.text.as_bytes()).ok();
            }
        }
        self.mask_outcome(&mut ended.outcome);
        ended.output.values.values_mut().for_each(|value| self.mask.json(value));
    }
}

fn request(http: &Http, key: &str, out: PathBuf, mask: &Arc<Mask>) -> Ended {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let made = runtime
        .map_err(|error| format!("it could not begin: {error}"))
        .and_then(|runtime| runtime.block_on(make(http, key, out, mask)));
    made.unwrap_or_else(|why| Ended::of(Outcome::Failed { why }))
}

async fn make(http: &Http, key: &str, out: PathBuf, mask: &Arc<Mask>) -> Result<Ended, String> {
    let client = client(http.allow_private)?;
    let mut method = Method::from_bytes(http.method.as_bytes())
        .map_err(|_| format!("`{}` is no method", http.method))?;
    let mut url = address(&http.url, http)?;
    let mut headers = headers(http, &method, key)?;
    let mut body = http.body.clone();
    for _ in 0..=http.redirects {
        let mut request = client.request(method.clone(), url.clone()).headers(headers.clone());
        if let Some(body) = &body {
            request = request.body(body.clone());
        }
        let answer = request.send().await.map_err(|error| {
            let causes = without_host(causes(error), &url, http);
            format!("{method} {} did not work: {causes}", mask.text(&shown(&url, http)))
        })?;
        let next = answer.headers().get(LOCATION).filter(|_| answer.status().is_redirection());
        let Some(next) = next.and_then(|to| to.to_str().ok()).filter(|_| http.redirects > 0) else {
            return take(http, &method, &url, answer, out, mask).await;
        };
        let to = url.join(next).map_err(|_| "it was sent on to what is no address".to_owned())?;
        let to = address(to.as_str(), http)?;
        if url.scheme() == "https" && to.scheme() != "https" {
            return Err("it was sent on from https to http, which is not followed".into());
        }
        // RFC 9110, 15.4: 307 and 308 repeat the request, the others mostly ask for another page.
        let again = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT];
        let safe = method == Method::GET || method == Method::HEAD;
        if !again.contains(&answer.status()) && !safe {
            method = Method::GET;
            body = None;
            headers.remove(CONTENT_TYPE);
            headers.remove(KEY);
        }
        // What was meant for one server is no other's to know.
        if to.origin() != url.origin() {
            if body.is_some() {
                return Err("it was sent on to another server, which its body is not for; \
                     call that server's address itself if it is the right one"
                    .into());
            }
            for header in [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION] {
                headers.remove(header);
            }
            for (name, _) in &http.headers {
                headers.remove(name);
            }
        }
        url = to;
    }
    Err(format!("it was sent on more than {} times", http.redirects))
}

/// An answer: to disk, and whether it is the one that was wanted.
async fn take(
    http: &Http,
    method: &Method,
    url: &Url,
    mut answer: reqwest::Response,
    out: PathBuf,
    mask: &Arc<Mask>,
) -> Result<Ended, String> {
    let status = answer.status();
    let mut ended = Ended::of(Outcome::Done);
    ended.output.values.insert("status".into(), status.as_u16().into());
    ended.output.values.insert("headers".into(), kept(answer.headers()));
    let wanted = if http.expect.is_empty() {
        status.is_success()
    } else {
        http.expect.contains(&status.as_u16())
    };
    let not_kept = |error: std::io::Error| format!("what came back cannot be kept: {error}");
    let mut file = private(&out).map_err(not_kept)?;
    let (mut stream, mut masked, mut bytes) = (mask.stream(), Vec::new(), 0);
    while let Some(piece) =
        answer.chunk().await.map_err(|error| format!("the answer broke off: {}", causes(error)))?
    {
        bytes += piece.len() as u64;
        if bytes > LONGEST {
            return Err(format!("the answer is longer than {} MiB", LONGEST >> 20));
        }
        stream.take(&piece, &mut masked);
        file.write_all(&masked).map_err(not_kept)?;
        masked.clear();
    }
    stream.end(&mut masked);
    file.write_all(&masked).map_err(not_kept)?;
    if !wanted {
        let said = output::first_line(&out).map_or_else(String::new, |line| format!(": {line}"));
        let url = mask.text(&shown(url, http));
        let why = format!("{method} {url} answered {}{said}", status.as_u16());
        ended.outcome = Outcome::Failed { why };
    }
    Ok(ended)
}

fn client(allow_private: bool) -> Result<Client, String> {
    let failed = |error: &dyn Error| format!("it could not begin: {error}");
    let tls = || {
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))
    };
    let tls = match tls()?.with_platform_verifier() {
        Ok(trusting) => trusting,
        // The machine trusts nobody: then nor do we, and http still works.
        Err(_) => tls()?.with_root_certificates(RootCertStore::empty()),
    };
    let tls = tls.with_no_client_auth();
    let builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("vigie/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none()) // each is looked at
        .retry(reqwest::retry::never())
        .referer(false)
        // A proxy would look the name up itself, and where it leads could not be checked.
        .no_proxy()
        .connect_timeout(CONNECT);
    let builder = if allow_private { builder } else { builder.dns_resolver(Arc::new(PublicOnly)) };
    builder.build().map_err(|error| failed(&error))
}

/// An address that may be called. A name is looked at again when it is known where it leads, by the
/// very address that is then connected to.
fn address(text: &str, http: &Http) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("its address cannot be read: {error}"))?;
    if !["http", "https"].contains(&url.scheme()) {
        let scheme = if http.sealed_url.is_some() { "…" } else { url.scheme() };
        return Err(format!("its address begins with `{scheme}:`; http and https can be called"));
    }
    if !http.allow_private
        && let Some(ip) = private_net::literal(&url)
        && private_net::is_private(ip)
    {
        return Err(without_host(private_net::refusal(ip), &url, http));
    }
    Ok(url)
}

/// Without what only the server is to know. An address made of secrets is shown as it was written,
/// wherever it led by then: as a URL it has spellings that no mask knows.
fn shown(url: &Url, http: &Http) -> String {
    if let Some(sealed) = &http.sealed_url {
        return sealed.clone();
    }
    let mut url = url.clone();
    let _ = url.set_username(""); // addresses without a host have none
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

fn headers(http: &Http, method: &Method, key: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &http.headers {
        let wrong = |what: &str| format!("its header `{name}` has a {what} that cannot be sent");
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong("value"))?;
        value.set_sensitive(true);
        headers.append(parsed, value);
    }
    if http.body.is_some() && http.json {
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
    }
    let repeats = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
    if !repeats && let Ok(key) = HeaderValue::from_str(key) {
        headers.entry(KEY).or_insert(key);
    }
    Ok(headers)
}

/// By their names in small letters; several of a name as RFC 9110, 5.3, joins them.
fn kept(headers: &HeaderMap) -> serde_json::Value {
    let mut kept = serde_json::Map::new();
    for (name, value) in headers.iter().take(MOST_HEADERS) {
        let value = String::from_utf8_lossy(value.as_bytes());
        let value: String = value.chars().take(LONGEST_HEADER).collect();
        match kept.get_mut(name.as_str()) {
            Some(serde_json::Value::String(before)) => *before = format!("{before}, {value}"),
            Some(_) | None => drop(kept.insert(name.to_string(), value.into())),
        }
    }
    kept.into()
}

/// Errors may name the server, in small letters.
fn without_host(words: String, url: &Url, http: &Http) -> String {
    match url.host_str().filter(|_| http.sealed_url.is_some()) {
        Some(host) => words.replace(host.trim_matches(['[', ']']), MASK),
        None => words,
    }
}

/// What went wrong at the bottom of it; its address may hold a secret.
fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut last: &dyn Error = &error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}
