//! The pages at the desk, as a person at a browser has them.
#![allow(dead_code, reason = "each test file uses its part")]

use browser_lab::{Browser, Look};
use serde_json::{Value, json};
use std::{ops::Deref, process::Command};

use super::home::Home;

pub(crate) fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command
        .args(["up", "--no-link", "--home"])
        .arg(home.data())
        .arg("--config")
        .arg(home.settings());
    command.env("VIGIE_DEMO_PACE", "1");
    command
}

pub(crate) async fn demo_home() -> Home {
    let mut home = Home::new(vigie_up);
    home.configure("");
    home.up().await;
    home
}

pub(crate) async fn new(home: &Home, name: &str, title: &str) {
    let body = json!({ "name": name, "title": title, "agent": "demo" });
    let _: Value = home.desk().post("/sessions", &body).await.unwrap();
    home.session_is(name, "idle").await;
}

impl Home {
    pub(crate) async fn send(&self, name: &str, text: &str) {
        let path = format!("/sessions/{name}/send");
        let _: Value = self.desk().post(&path, &json!({ "text": text })).await.unwrap();
    }

    /// How many gates wait.
    pub(crate) async fn waiting(&self) -> usize {
        self.desk().get::<Vec<Value>>("/waiting").await.unwrap().len()
    }
}

/// A browser that is signed in.
pub(crate) struct Desk(Browser);

impl Deref for Desk {
    type Target = Browser;
    fn deref(&self) -> &Browser {
        &self.0
    }
}

impl Desk {
    /// Signs in with a link from the desk, then opens that page.
    pub(crate) async fn open(home: &Home, look: Look, path: &str) -> Option<Self> {
        Self::open_as(home, None, look, path).await
    }

    /// The same as somebody else than the first owner.
    pub(crate) async fn open_as(
        home: &Home,
        human: Option<&str>,
        look: Look,
        path: &str,
    ) -> Option<Self> {
        let link: Value = home.desk().post("/links", &json!({ "human": human })).await.unwrap();
        let browser = browser_lab::open(link["url"].as_str().unwrap(), look).await?;
        browser.tap("//form//button").await;
        browser.holds("location.pathname !== '/login'").await;
        browser.page.goto(&format!("http://{}{path}", home.address)).await.unwrap();
        Some(Self(browser))
    }

    /// A key of the page itself, wherever the focus is.
    pub(crate) async fn page_key(&self, key: &str) {
        self.run("document.activeElement.blur()").await;
        self.press(key).await;
    }

    /// No barriers, nothing wider than the screen; and a picture for whoever wants to look.
    pub(crate) async fn clean(&self, picture: &str) {
        self.picture(picture).await;
        assert_eq!(self.overflows().await, false, "{picture} is wider than its screen");
        let barriers = self.barriers().await;
        assert!(barriers.is_empty(), "{picture}:\n{}", barriers.join("\n"));
    }

    pub(crate) async fn close(self) {
        self.0.close().await;
    }
}
