//! The page in a real browser, at 390 px.

use browser_lab::{Browser, Look};
use serde_json::Value;
use std::ops::Deref;

use super::Home;

pub(crate) enum Pointer {
    Thumb,
    Mouse,
}

/// A browser that shows the page.
pub(crate) struct Phone(Browser);

impl Deref for Phone {
    type Target = Browser;
    fn deref(&self) -> &Browser {
        &self.0
    }
}

/// `None` where no chromedriver is: said, and a failure where one must be.
pub(crate) async fn open(home: &Home, pointer: Pointer, view: &str) -> Option<Phone> {
    let look = Look { touch: matches!(pointer, Pointer::Thumb), ..Look::PHONE };
    let url = format!("http://{}/phone{view}", home.address());
    browser_lab::open(&url, look).await.map(Phone)
}

impl Phone {
    pub(crate) async fn write(&self, text: &str) {
        self.find("//textarea[@id='write']").await.send_keys(text).await.unwrap();
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
        self.0.close().await;
    }
}
