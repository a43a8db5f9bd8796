//! The pages at the desk, as a person at a browser has them.
#![allow(dead_code, reason = "each test file uses its part")]

use browser_lab::{Browser, Key, Look};
use serde_json::{Value, json};
use std::{ops::Deref, process::Command};

use super::home::Home;

/// More than a page of these stories has links, buttons and fields.
const MOST_STOPS: usize = 200;

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

    /// The same browser as somebody else has it, without a new start.
    pub(crate) async fn seen_as(&self, look: Look) {
        let Look { width, height, touch, dark } = look;
        let scheme = if dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch });
        self.ask("Emulation.setEmulatedMedia", json!({ "features": [feature] })).await;
        self.ask("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// What the page and all it loaded weigh, in bytes as they came; nothing of it is somebody else's.
    pub(crate) async fn weighs(&self) -> u64 {
        let all = "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]";
        let foreign = format!(
            "return {all}.filter((it) => new URL(it.name).origin !== location.origin).map((it) => it.name)"
        );
        assert_eq!(self.run(&foreign).await, json!([]));
        let sum = format!("return {all}.reduce((sum, it) => sum + it.encodedBodySize, 0)");
        self.run(&sum).await.as_u64().unwrap()
    }

    /// Goes through the whole page by Tab: nothing keeps the focus, and where it is can be seen.
    pub(crate) async fn walk(&self) {
        const SEEN: &str = "const it = document.activeElement;
            if (it === document.body) return 'over';
            const { outlineStyle, outlineWidth } = getComputedStyle(it);
            const seen = it.closest('svg') || (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0);
            return seen ? 'seen' : it.outerHTML.slice(0, 200)";
        self.run("document.activeElement.blur(); scrollTo(0, 0)").await;
        let mut stops = 0;
        loop {
            self.press(&char::from(Key::Tab).to_string()).await;
            let here = self.run(SEEN).await;
            if here == "over" {
                break;
            }
            assert_eq!(here, "seen", "the focus is not to be seen");
            stops += 1;
            assert!(stops < MOST_STOPS, "no way out by Tab");
        }
        assert!(stops > 5, "{stops} stops are not the navigation");
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
