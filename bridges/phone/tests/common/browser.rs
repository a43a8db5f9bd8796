//! The page in a real browser, at 390 px.

use fantoccini::{Client, ClientBuilder, Locator, elements::Element, key::Key, wd::Capabilities};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

use super::{DEADLINE, Home};

/// Tabs a keyboard needs at most until it has been everywhere on a small page.
const EVERYWHERE: usize = 80;

pub(crate) enum Pointer {
    Thumb,
    Mouse,
}

/// A browser of its own, with a profile that is gone afterwards.
pub(crate) struct Phone {
    pub(crate) page: Client,
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

/// `None` where no chromedriver is: said, and a failure where one must be.
pub(crate) async fn open(home: &Home, pointer: Pointer, view: &str) -> Option<Phone> {
    let spawned = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn();
    let Ok(mut driver) = spawned else {
        let missing = "no `chromedriver` on PATH: install chromium and chromedriver (Debian: \
            chromium-driver) to run the browser tests";
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        say(missing);
        return None;
    };
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let driver = Driver(driver);
    let port = lines
        .map_while(Result::ok)
        .find_map(|line| {
            Some(line.split_once("successfully on port ")?.1.trim_end_matches('.').to_owned())
        })
        .and_then(|port| port.parse::<u16>().ok())
        .expect("chromedriver tells its port");

    let profile = tempfile::tempdir().unwrap();
    let touch = matches!(pointer, Pointer::Thumb);
    let args = [
        "--headless".into(),
        "--no-sandbox".into(),
        "--disable-gpu".into(),
        "--disable-quic".into(),
        "--no-first-run".into(),
        "--disable-background-networking".into(),
        "--disable-component-update".into(),
        "--disable-sync".into(),
        format!("--user-data-dir={}", profile.path().display()),
    ];
    let metrics = json!({ "width": 390, "height": 844, "pixelRatio": 1, "touch": touch });
    let options = json!({ "args": args, "mobileEmulation": { "deviceMetrics": metrics } });
    let capabilities = Capabilities::from_iter([("goog:chromeOptions".to_owned(), options)]);
    let page = ClientBuilder::new(HttpConnector::new())
        .capabilities(capabilities)
        .connect(&format!("http://127.0.0.1:{port}"))
        .await
        .unwrap();
    page.goto(&format!("http://{}/phone{view}", home.address())).await.unwrap();
    let phone = Phone { page, _driver: driver, _profile: profile };
    Some(phone)
}

#[expect(clippy::print_stderr, reason = "a person should know why nothing was tested")]
fn say(text: &str) {
    eprintln!("{text}");
}

impl Phone {
    /// Waits until the page shows the words somewhere in the chat, and returns what holds them.
    pub(crate) async fn shows(&self, words: &str) -> Element {
        self.find(&format!("//*[contains(normalize-space(.), \"{words}\")][not(*[contains(normalize-space(.), \"{words}\")])]")).await
    }

    pub(crate) async fn find(&self, xpath: &str) -> Element {
        match self.page.wait().at_most(DEADLINE).for_element(Locator::XPath(xpath)).await {
            Ok(element) => element,
            Err(error) => {
                panic!(
                    "{xpath}: {error}; the page shows:\n{}",
                    self.run("return document.body.innerText").await
                )
            }
        }
    }

    pub(crate) async fn tap(&self, xpath: &str) {
        let element = self.find(xpath).await;
        // What lies under the bars cannot be tapped: as a person does, scroll first.
        let center = "arguments[0].scrollIntoView({ block: 'center' })";
        let it = serde_json::to_value(&element).unwrap();
        self.page.execute(center, vec![it]).await.unwrap();
        element.click().await.unwrap();
    }

    pub(crate) async fn write(&self, text: &str) {
        self.find("//textarea[@id='write']").await.send_keys(text).await.unwrap();
    }

    pub(crate) async fn press(&self, keys: &str) {
        self.page.active_element().await.unwrap().send_keys(keys).await.unwrap();
    }

    /// Tabs on until the focus is where `test` says; a person without a mouse must get there.
    pub(crate) async fn tab_to(&self, test: &str) {
        let script = format!("const it = document.activeElement; return Boolean({test})");
        for _ in 0..EVERYWHERE {
            if self.run(&script).await == json!(true) {
                return;
            }
            self.press(&char::from(Key::Tab).to_string()).await;
        }
        panic!("no way to {test} by Tab");
    }

    pub(crate) async fn run(&self, script: &str) -> Value {
        self.page.execute(script, Vec::new()).await.unwrap()
    }

    /// Runs a script that answers later, by `arguments[0](answer)`.
    pub(crate) async fn run_until_done(&self, script: &str) -> Value {
        self.page.execute_async(script, Vec::new()).await.unwrap()
    }

    /// What a thumb may miss: 44 px is the smallest it hits surely. A target may reach further than
    /// it looks, by an invisible frame around it.
    pub(crate) async fn small_targets(&self) -> Value {
        let small = "const reach = (it) => {
                const frame = getComputedStyle(it, '::after');
                const more = frame.content === 'none' ? 0 : -parseFloat(frame.top) - parseFloat(frame.bottom);
                return it.getBoundingClientRect().height + (more || 0);
            };
            return [...document.querySelectorAll('button, a, summary, input, textarea')]
                .filter((it) => it.checkVisibility() && !it.closest('.tools, .skip') && !it.matches('.box *:not(button), p.lines a'))
                .map((it) => [it.textContent || it.ariaLabel || it.name, reach(it)])
                .filter(([, height]) => height < 43.5)";
        self.run(small).await
    }

    pub(crate) async fn close(self) {
        self.page.close().await.unwrap();
    }
}
