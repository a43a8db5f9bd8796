//! What stands before every request over TCP: the right host, no foreign page, a person who is
//! signed in; and the headers that every answer carries.

use axum::{
    body::{Body, HttpBody as _},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt as _, StreamExt as _};
use std::{net::SocketAddr, panic::AssertUnwindSafe, path::Path, sync::Arc, time::Duration};
use tracing::{error, warn};
use vigie_core::caller::{Principal, TokenHash, TokenScope};

use super::{
    fault::{self, Fault},
    people::{self, Caller, Way},
    room::Guest,
    serve::App,
};
use crate::{
    config::{Scheme, Web},
    telemetry::Span,
};

/// Everything from here, no inline script or style, and nobody may frame the page.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'";

/// How soon a stream ends after the token that opened it was revoked.
const TOKEN_LOOK: Duration = Duration::from_secs(1);

/// Names under which a browser may ask for us. A page of somebody else whose name was made to
/// point here still asks under its own name, so its requests end at this list.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    port: u16,
    /// Whatever port stands after them: a tunnel may bring its own.
    named: Arc<Vec<String>>,
}

impl Hosts {
    pub(super) fn new(web: &Web, listening: SocketAddr) -> Self {
        let url = web.url.iter().map(|url| split(&url.authority).0.to_owned());
        let named = web.hosts.iter().cloned().chain(url).collect();
        Self { port: listening.port(), named: Arc::new(named) }
    }

    /// `authority` is what a `Host` header holds.
    fn allow(&self, authority: &str) -> bool {
        let (host, port) = split(authority);
        let host = host.to_ascii_lowercase();
        let loopback = matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]");
        let our_port = port.unwrap_or("80") == self.port.to_string();
        (loopback && our_port) || self.named.contains(&host)
    }
}

/// Host and port, of which the port may be missing and the host may be an IPv6 address in brackets.
fn split(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, Some(port)),
        _ => (authority, None),
    }
}

/// The first word of addresses, of the API's the one behind its version.
const AREAS: [&str; 25] = [
    "assets",
    "audit",
    "board",
    "daemon",
    "doctor",
    "down",
    "events",
    "healthz",
    "hooks",
    "ledger",
    "login",
    "logout",
    "mail",
    "mcp",
    "metrics",
    "phone",
    "prompts",
    "runs",
    "sessions",
    "status",
    "system",
    "undelivered",
    "usage",
    "waiting",
    "workflows",
];

/// Which part of us an address is of: a word of ours, whatever somebody typed.
fn area(path: &str) -> &'static str {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let word = match parts.next() {
        Some("api") => parts.nth(1),
        word => word,
    };
    AREAS.into_iter().find(|area| word == Some(*area)).unwrap_or("other")
}

fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// The outermost layer: hosts and headers.
pub(super) async fn outer(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut span = Span::begin("request")
        .with("method", method(request.method()))
        .with("area", area(request.uri().path()));
    let looks = looks_at_pages(request.headers());
    let checked = check_host(&app.hosts, request.headers()).and_then(|()| check_site(&request));
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(fault) => refused(fault),
    };
    if looks {
        response = fault::as_page(response);
    }
    span.say("status", i64::from(response.status().as_u16()));
    let headers = response.headers_mut();
    // These two are not for anybody to soften.
    headers
        .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    // With `no-referrer` a browser sends its forms with the origin `null`, and we refuse those.
    headers.entry(header::REFERRER_POLICY).or_insert(HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// A request that breaks a rule of ours has an answer that says so, and ends nothing but itself.
pub(super) async fn unbroken(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => {
            let words = panic.downcast_ref::<&str>().map(ToString::to_string);
            let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
            error!(area = area(&path), words = words.unwrap_or_default(), "a request panicked");
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Fault::new(status, "internal", "Vigie broke one of its own rules over this request")
                .hint("Nothing else is touched by it. This is a fault of Vigie; its log has the details.")
                .into_response()
        }
    }
}

/// What a browser says of itself where it follows an address and is no script.
fn looks_at_pages(headers: &HeaderMap) -> bool {
    let wants = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    wants.is_some_and(|wants| wants.contains("text/html"))
}

/// What pages ask for comes from our own.
pub(super) async fn own_pages(request: Request, next: Next) -> Response {
    // Browsers name the origin whenever a page writes; who does not is no page of ours.
    let absent = match *request.method() {
        Method::GET | Method::HEAD => AbsentOrigin::Fine,
        _ => AbsentOrigin::Refused,
    };
    match check_origin(request.headers(), absent) {
        Ok(()) => next.run(request).await,
        Err(fault) => refused(fault),
    }
}

/// What programs ask for names no origin, unless a page of somebody else is behind it.
pub(super) async fn no_foreign_page(request: Request, next: Next) -> Response {
    match check_origin(request.headers(), AbsentOrigin::Fine) {
        Ok(()) => next.run(request).await,
        Err(fault) => refused(fault),
    }
}

fn refused(fault: Fault) -> Response {
    warn!(why = fault.words(), "request refused");
    fault.into_response()
}

fn check_host(hosts: &Hosts, headers: &HeaderMap) -> Result<(), Fault> {
    let host = host(headers);
    if hosts.allow(host) {
        return Ok(());
    }
    let words = format!("Vigie does not answer under the name `{host}`");
    let hint = "If it should, put the name into `hosts` under [web] in the configuration.";
    Err(Fault::new(StatusCode::FORBIDDEN, "wrong_host", words).hint(hint))
}

/// Browsers say where a request comes from. From another site, or from another port of this machine, a
/// link may be followed to a page; what pages embed, and what scripts ask for, comes from our own pages.
/// Source: Fetch Metadata Request Headers, W3C.
fn check_site(request: &Request) -> Result<(), Fault> {
    let said = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    match said("sec-fetch-site") {
        None | Some("same-origin" | "none") => return Ok(()),
        Some(_) => {}
    }
    let path = request.uri().path();
    let follows = matches!(*request.method(), Method::GET | Method::HEAD)
        && said("sec-fetch-mode") == Some("navigate")
        && said("sec-fetch-dest") == Some("document");
    let is_page = !path.contains("/api/") && path != "/metrics" && !is_file(path);
    if follows && is_page {
        return Ok(());
    }
    let words = "this request does not come from a page of Vigie";
    Err(Fault::new(StatusCode::FORBIDDEN, "wrong_origin", words)
        .hint("Open the page itself; from elsewhere only links to pages are followed."))
}

/// Tables and files are had from our own pages.
fn is_file(path: &str) -> bool {
    let table = Path::new(path).extension().is_some_and(|it| it.eq_ignore_ascii_case("csv"));
    table || path.ends_with("/file") || path.starts_with("/assets/")
}

/// What a request without an `Origin` is.
#[derive(Clone, Copy)]
enum AbsentOrigin {
    Fine,
    Refused,
}

fn check_origin(headers: &HeaderMap, absent: AbsentOrigin) -> Result<(), Fault> {
    let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
    let host = host(headers);
    let ours = |origin: &str| {
        let bare = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        bare.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    };
    match (origin, absent) {
        (Some(origin), _) if ours(origin) => Ok(()),
        (None, AbsentOrigin::Fine) => Ok(()),
        (Some(_), _) | (None, AbsentOrigin::Refused) => {
            let words = "this request does not come from a page of Vigie";
            let hint = "Programs use the socket in the data folder: docs/api.md";
            Err(Fault::new(StatusCode::FORBIDDEN, "wrong_origin", words).hint(hint))
        }
    }
}

fn host(headers: &HeaderMap) -> &str {
    headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Lets in who is signed in, and hands the person on.
pub(super) async fn signed_in(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Response {
    let token = bearer(request.headers()).map(|token| TokenHash::of(token.trim()));
    let caller = match &token {
        Some(token) => match program(&app, token, reads(&request)).await {
            Ok(caller) => caller,
            Err(fault) => return refused(fault),
        },
        None => match caller(&app, request.headers()) {
            Some(caller) => caller,
            None => return refuse(request.uri().path()),
        },
    };
    if let Way::Login(id) = &caller.way
        && !matches!(*request.method(), Method::GET | Method::HEAD)
        && !app.logins.has_pass(id, pass(request.headers()))
    {
        let words = "this browser did not show that it signed in here";
        let fault = Fault::new(StatusCode::FORBIDDEN, "no_pass", words);
        return refused(fault.hint("Sign in on this device once more: vigie login"));
    }
    if let Way::Login(id) = &caller.way
        && let Err(error) = app.logins.seen(id, app.clock.now()).await
    {
        warn!(%error, "last use of a login is not kept");
    }
    if let Some(guest) = request.extensions().get::<Guest>() {
        guest.is_known();
    }
    if let Some(phone) = &app.outside.phone {
        (phone.person)(&caller, request.extensions_mut());
    }
    let way = caller.way.clone();
    request.extensions_mut().insert(caller);
    let response = next.run(request).await;
    match (way, token) {
        (Way::Login(id), _) => while_signed_in(app, id, response),
        (Way::Token(_), Some(token)) => while_good(app, token, response),
        (Way::Desk | Way::Token(_), _) => response,
    }
}

/// What our pages show with every change. A cookie goes to every port of the host it is of, and so to
/// whatever an agent serves there; this does not.
fn pass(headers: &HeaderMap) -> &str {
    headers.get("x-vigie-pass").and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// What a program sends along in place of a login; no page of anybody can.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// Whether a request only asks the API, or for figures.
fn reads(request: &Request) -> bool {
    let path = request.uri().path();
    matches!(*request.method(), Method::GET | Method::HEAD)
        && (path == "/metrics" || path.starts_with("/api/"))
}

/// The program that a token speaks for. It may read: what programs do, they do over `/mcp`, where each
/// step has its bounds.
async fn program(app: &App, token: &TokenHash, reads: bool) -> Result<Caller, Fault> {
    let known = app.outside.hub.known(token.clone()).await?;
    let client = known.filter(|known| matches!(known.principal, Principal::Client { .. }));
    let Some(known) = client else {
        let words = "this token is not known, or not good any more";
        let fault = Fault::new(StatusCode::UNAUTHORIZED, "no_token", words);
        return Err(fault.hint("Make one at the desk: vigie token create"));
    };
    if !reads || !known.scopes.contains(&TokenScope::Read) {
        let words = format!("the token {} does not let that through", known.name);
        let fault = Fault::new(StatusCode::FORBIDDEN, "scope", words);
        return Err(fault.hint(
            "With `read` a program may look at everything here; the rest is done over /mcp.",
        ));
    }
    Ok(people::program(&known.name))
}

/// What is still being told to a program ends when its token does.
fn while_good(app: App, token: TokenHash, response: Response) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        let over = Box::pin(async move {
            while matches!(app.outside.hub.known(token.clone()).await, Ok(Some(_))) {
                tokio::time::sleep(TOKEN_LOOK).await;
            }
        });
        Body::from_stream(body.into_data_stream().take_until(over))
    })
}

/// What is still being told to a device ends when its login does.
fn while_signed_in(app: App, id: String, response: Response) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response; // told in one go
    }
    response.map(|body| {
        let over = Box::pin(async move { app.logins.over(&id).await });
        Body::from_stream(body.into_data_stream().take_until(over))
    })
}

/// A page sends to the login; a program reads why.
fn refuse(path: &str) -> Response {
    if path.contains("/api/") {
        return Fault::not_signed_in().into_response();
    }
    (StatusCode::SEE_OTHER, [(header::LOCATION, "/login")]).into_response()
}

pub(super) fn caller(app: &App, headers: &HeaderMap) -> Option<Caller> {
    let secret = cookie(headers, &app.cookie)?;
    let (human, login) = app.logins.find(secret, app.clock.now())?;
    app.people.caller(&human, Way::Login(login))
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let pairs = headers.get_all(header::COOKIE).into_iter();
    pairs
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}

/// Cookies know no ports, so the port is in the name: two Vigies on one machine keep apart. Over TLS no
/// other host, and nothing that comes in the clear, can set one of that name.
pub(super) fn cookie_name(listening: SocketAddr, scheme: Scheme) -> String {
    let prefix = match scheme {
        Scheme::Https => "__Host-",
        Scheme::Http => "",
    };
    format!("{prefix}vigie_{}", listening.port())
}

/// `Secure` only where the pages are reached over TLS: browsers drop such cookies elsewhere.
pub(super) fn set_cookie(app: &App, secret: &str, seconds: u64) -> HeaderValue {
    let secure = match app.url.scheme {
        Scheme::Https => "; Secure",
        Scheme::Http => "",
    };
    let name = &app.cookie;
    let text =
        format!("{name}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).expect("a name of ours and hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        let named = vec!["harbour.example.org".into(), "[2001:db8::7]".into()];
        Hosts { port: 7285, named: Arc::new(named) }
    }

    #[test]
    fn from_elsewhere_only_links_to_pages_are_followed() {
        let refused = |path: &str, site: &str, mode: &str, dest: &str| {
            let request = Request::get(path)
                .header("sec-fetch-site", site)
                .header("sec-fetch-mode", mode)
                .header("sec-fetch-dest", dest);
            check_site(&request.body(Body::empty()).unwrap()).is_err()
        };
        for site in ["cross-site", "same-site"] {
            assert!(!refused("/sessions/PD-285", site, "navigate", "document"));
            assert!(!refused("/login?token=k7q2", site, "navigate", "document"));
            assert!(refused("/ledger", site, "no-cors", "image"));
            assert!(refused("/board", site, "navigate", "iframe"));
            assert!(refused("/assets/desk.js", site, "no-cors", "script"));
            assert!(refused("/api/v1/status", site, "navigate", "document"));
            assert!(refused("/phone/api/state", site, "cors", "empty"));
            assert!(refused("/audit.csv", site, "navigate", "document"));
        }
        for site in ["same-origin", "none"] {
            assert!(!refused("/api/v1/status", site, "cors", "empty"));
        }
        assert!(check_site(&Request::get("/board").body(Body::empty()).unwrap()).is_ok());
    }

    #[tokio::test]
    async fn a_request_that_panics_is_answered_with_words() {
        use axum::{Router, middleware, routing::get};
        use hyper::service::Service as _;
        use hyper_util::service::TowerToHyperService;
        let broken = async || -> Response { panic!("a rule of ours broke") };
        let router: Router =
            Router::new().route("/broken", get(broken)).layer(middleware::from_fn(unbroken));
        let request = Request::get("/broken").body(Body::empty()).unwrap();
        let response = TowerToHyperService::new(router).call(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(response.extensions().get::<Fault>().unwrap().words().contains("own rules"));
    }

    #[test]
    fn an_area_is_a_word_of_ours() {
        for (path, expected) in [
            ("/api/v1/sessions/PD-285/send", "sessions"),
            ("/sessions/PD-285", "sessions"),
            ("/hooks/release", "hooks"),
            ("/api/v1/salary-of-ines", "other"),
            ("/salary-of-ines", "other"),
            ("/", "other"),
        ] {
            assert_eq!(area(path), expected, "{path}");
        }
    }

    #[test]
    fn only_our_own_names_are_answered() {
        for good in [
            "127.0.0.1:7285",
            "LOCALHOST:7285",
            "[::1]:7285",
            "harbour.example.org",
            "Harbour.example.org:8443",
            "[2001:db8::7]:80",
        ] {
            assert!(hosts().allow(good), "{good}");
        }
        for bad in [
            "",
            "localhost",
            "localhost:80",
            "127.0.0.1:7286",
            "127.0.0.1:7285.example.org",
            "evil.example.org:7285",
            "[::2]:7285",
            "localhost:7285:7285",
        ] {
            assert!(!hosts().allow(bad), "{bad}");
        }
    }
}
