//! A real browser for tests: headless Chromium, driven as a person drives it, by what is seen.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

pub use fantoccini::{elements::Element, key::Key};

use fantoccini::{
    Client, ClientBuilder, Locator,
    wd::{Capabilities, WebDriverCompatibleCommand},
};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;

/// Nothing a test waits for takes longer, unless it is broken.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// How often a driver is started anew that found its port taken.
const TRIES: usize = 5;

/// Tabs a keyboard needs at most until it has been everywhere on a page.
const EVERYWHERE: usize = 120;

/// A window of Chromium's is at least so wide.
const NARROWEST: u32 = 500;

/// What somebody looks with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub width: u32,
    pub height: u32,
    pub touch: bool,
    pub dark: bool,
}

impl Look {
    pub const PHONE: Self = Self { width: 390, height: 844, touch: true, dark: false };
    pub const DESK: Self = Self { width: 1280, height: 800, touch: false, dark: false };

    #[must_use]
    pub fn dark(self) -> Self {
        Self { dark: true, ..self }
    }
}

/// A command of Chromium's own protocol. Source of its way: chromedriver, `goog/cdp/execute`.
#[derive(Debug)]
struct Asked(Value);

impl WebDriverCompatibleCommand for Asked {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.0.to_string()))
    }
}

/// A browser of its own, with a profile that is gone afterwards.
pub struct Browser {
    pub page: Client,
    _driver: Driver,
    _profile: TempDir,
}

struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens `url`. `None` where no chromedriver is: said, and a failure where one must be.
pub async fn open(url: &str, look: Look) -> Option<Browser> {
    let mut tries = 0;
    let (driver, port) = loop {
        let spawned = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn();
        let Ok(mut driver) = spawned else {
            let missing = "no `chromedriver` on PATH: install chromium and chromedriver (Debian: \
                chromium-driver) to run the browser tests";
            assert!(env::var_os("CI").is_none(), "{missing}");
            say(missing);
            return None;
        };
        let told = port(BufReader::new(driver.stdout.take().unwrap()));
        let driver = Driver(driver);
        if let Some(port) = told {
            break (driver, port);
        }
        // It looks for a free port and takes it a moment later, when another may have it.
        tries += 1;
        assert!(tries < TRIES, "chromedriver does not start");
    };
    let profile = tempfile::tempdir().unwrap();
    let page = ClientBuilder::new(HttpConnector::new())
        .capabilities(capabilities(look, profile.path()))
        .connect(&format!("http://127.0.0.1:{port}"))
        .await
        .unwrap();
    page.goto(url).await.unwrap();
    Some(Browser { page, _driver: driver, _profile: profile })
}

/// On which port it listens; `None`: it ended instead.
fn port(said: impl BufRead) -> Option<u16> {
    said.lines().map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    })
}

fn capabilities(look: Look, profile: &Path) -> Capabilities {
    let Look { width, height, touch, dark } = look;
    let mut args = vec![
        "--headless".to_owned(),
        "--no-sandbox".into(),
        "--disable-gpu".into(),
        "--disable-quic".into(),
        "--no-first-run".into(),
        "--disable-background-networking".into(),
        "--disable-component-update".into(),
        "--disable-sync".into(),
        format!("--window-size={width},{height}"),
        format!("--user-data-dir={}", profile.display()),
    ];
    if dark {
        args.push("--blink-settings=preferredColorScheme=0".into());
    }
    let metrics = json!({ "width": width, "height": height, "pixelRatio": 1, "touch": touch });
    let mut options = json!({ "args": args });
    // A window of its own is never so narrow.
    if touch || width < NARROWEST {
        options["mobileEmulation"] = json!({ "deviceMetrics": metrics });
    }
    Capabilities::from_iter([("goog:chromeOptions".to_owned(), options)])
}

#[expect(clippy::print_stderr, reason = "a person should know why nothing was tested")]
fn say(text: &str) {
    eprintln!("{text}");
}

impl Browser {
    /// Waits until the page shows the words somewhere, and returns what holds them.
    pub async fn shows(&self, words: &str) -> Element {
        let inside = format!("contains(normalize-space(.), \"{words}\")");
        self.find(&format!("//body//*[{inside}][not(*[{inside}])]")).await
    }

    pub async fn find(&self, xpath: &str) -> Element {
        match self.page.wait().at_most(DEADLINE).for_element(Locator::XPath(xpath)).await {
            Ok(element) => element,
            Err(error) => {
                let shown = self.run("return document.body.innerText").await;
                panic!("{xpath}: {error}; the page shows:\n{shown}")
            }
        }
    }

    /// Waits until a script's answer is `true`.
    pub async fn holds(&self, test: &str) {
        let script = format!("return Boolean({test})");
        let holds = async {
            while self.run(&script).await != json!(true) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(DEADLINE, holds).await.is_err() {
            let shown = self.run("return document.body.innerText").await;
            panic!("never: {test}; the page shows:\n{shown}");
        }
    }

    pub async fn tap(&self, xpath: &str) {
        let element = self.find(xpath).await;
        // What lies under the bars cannot be tapped: as a person does, scroll first.
        let center = "arguments[0].scrollIntoView({ block: 'center' })";
        let it = serde_json::to_value(&element).unwrap();
        self.page.execute(center, vec![it]).await.unwrap();
        // What has just moved takes no click, so a person waits until it lies still.
        self.holds("!document.querySelector('main[data-moving]')").await;
        element.click().await.unwrap();
    }

    pub async fn press(&self, keys: &str) {
        self.page.active_element().await.unwrap().send_keys(keys).await.unwrap();
    }

    /// Tabs on until the focus is where `test` says; a person without a mouse must get there.
    pub async fn tab_to(&self, test: &str) {
        let script = format!("const it = document.activeElement; return Boolean({test})");
        for _ in 0..EVERYWHERE {
            if self.run(&script).await == json!(true) {
                return;
            }
            self.press(&char::from(Key::Tab).to_string()).await;
        }
        panic!("no way to {test} by Tab");
    }

    pub async fn run(&self, script: &str) -> Value {
        self.page.execute(script, Vec::new()).await.unwrap()
    }

    /// Runs a script that answers later, by `arguments[0](answer)`.
    pub async fn run_until_done(&self, script: &str) -> Value {
        self.page.execute_async(script, Vec::new()).await.unwrap()
    }

    /// Asks Chromium itself, in its own protocol: `HeapProfiler.collectGarbage`, say.
    pub async fn ask(&self, command: &str, params: Value) -> Value {
        let asked = Asked(json!({ "cmd": command, "params": params }));
        self.page.issue_cmd(asked).await.unwrap()
    }

    /// What axe-core finds wrong for people who see, hear or move otherwise, a sentence each. Nothing is
    /// looked at where `VIGIE_TEST_AXE` does not name its script.
    pub async fn barriers(&self) -> Vec<String> {
        let Some(axe) = env::var_os("VIGIE_TEST_AXE") else {
            assert!(
                env::var_os("CI").is_none(),
                "VIGIE_TEST_AXE is not set: `cargo xtask test` does"
            );
            return Vec::new();
        };
        self.run(&fs::read_to_string(axe).unwrap()).await;
        let found = self
            .run_until_done(
                "const done = arguments[0];
                 axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => done(
                   violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.html} ${node.failureSummary}`))))",
            )
            .await;
        serde_json::from_value(found).unwrap()
    }

    /// Whether anything is wider than the screen, which then moves sideways under a thumb.
    pub async fn overflows(&self) -> Value {
        self.run("return document.documentElement.scrollWidth > innerWidth").await
    }

    /// Keeps what is seen, whole, as a PNG in the folder `VIGIE_TEST_PICTURES` names, if it does.
    pub async fn picture(&self, name: &str) {
        if let Some(folder) = env::var_os("VIGIE_TEST_PICTURES") {
            let png = self.page.screenshot().await.unwrap();
            fs::create_dir_all(&folder).unwrap();
            fs::write(Path::new(&folder).join(format!("{name}.png")), png).unwrap();
        }
    }

    pub async fn close(self) {
        self.page.close().await.unwrap();
    }
}
