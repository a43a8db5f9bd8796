//! Signing in with a one-time link. Opening it changes nothing, so that a link preview does not
//! use it up; the button on the page does.

use axum::{
    Form, Router,
    extract::{ConnectInfo, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use std::net::SocketAddr;
use tracing::{error, info, warn};

use super::{
    guard,
    links::NotIn,
    logins::{IDLE_LIFETIME, LoginsError, Secrets},
    people::Way,
    query::Query,
    serve::App,
    token,
};

const CONFIRM: &str = include_str!("pages/confirm.html");
const WELCOME: &str = include_str!("pages/welcome.html");

pub(super) fn router() -> Router<App> {
    Router::new().route("/login", get(show).post(sign_in)).route("/logout", post(sign_out))
}

#[derive(Deserialize)]
struct Link {
    token: Option<String>,
}

async fn show(State(app): State<App>, Query(link): Query<Link>) -> Response {
    match link.token.as_deref().map(token::normal) {
        // Only letters and digits are left of it, so it is safe inside an attribute.
        Some(code) if !code.is_empty() => page(CONFIRM.replace("<!--code-->", &code)),
        Some(_) | None => ask(&app, StatusCode::OK, None),
    }
}

#[derive(Deserialize)]
struct Typed {
    code: String,
}

async fn sign_in(
    State(app): State<App>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Form(typed): Form<Typed>,
) -> Response {
    let now = app.clock.now();
    let human = match app.links.burn(&typed.code, from.ip(), now) {
        Ok(human) => human,
        Err(why) => {
            warn!(%why, %from, "sign-in refused");
            let status = match why {
                NotIn::TooMany => StatusCode::TOO_MANY_REQUESTS,
                NotIn::Used(_) | NotIn::Unknown => StatusCode::FORBIDDEN,
            };
            return ask(&app, status, Some(&why.to_string()));
        }
    };
    let device = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    match app.logins.add(human.clone(), device.unwrap_or("unknown"), now).await {
        Ok(Secrets { cookie, pass }) => {
            info!(%human, %from, "signed in");
            let cookie = guard::set_cookie(&app, &cookie, IDLE_LIFETIME.as_secs());
            // A script of ours puts the pass where no other port can read it, and goes on to the pages.
            let welcome = page(WELCOME.replace("<!--pass-->", &pass));
            ([(header::SET_COOKIE, cookie)], welcome).into_response()
        }
        Err(error) => not_kept(&app, &error),
    }
}

async fn sign_out(State(app): State<App>, headers: HeaderMap) -> Response {
    let caller = guard::caller(&app, &headers);
    if let Some(Way::Login(id)) = caller.map(|caller| caller.way)
        && let Err(error) = app.logins.remove(&id).await
    {
        return not_kept(&app, &error);
    }
    let cookie = guard::set_cookie(&app, "", 0);
    let location = HeaderValue::from_static("/login");
    (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, location)])
        .into_response()
}

fn not_kept(app: &App, error: &LoginsError) -> Response {
    error!(%error, "logins are not written");
    let words = format!("Nothing was changed: {error}. Look at the disk: vigie doctor");
    ask(app, StatusCode::INSUFFICIENT_STORAGE, Some(&words))
}

/// The page that asks for a code.
fn ask(app: &App, status: StatusCode, message: Option<&str>) -> Response {
    match &app.outside.phone {
        Some(phone) => (status, page((phone.login_page)(message))).into_response(),
        None => (
            status,
            message.unwrap_or("The pages are off: see [phone] in the configuration.").to_owned(),
        )
            .into_response(),
    }
}

fn page(html: String) -> Response {
    Html(html).into_response()
}
