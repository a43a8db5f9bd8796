use reqwest::Url;
use std::str::FromStr;

use super::{Token, files::FilePath};

/// Where the Bot API is served: Telegram's own, or a server somebody runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Why an address cannot be the Bot API's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address of a Bot API: {why}")]
pub struct NoBaseUrl {
    pub text: String,
    pub why: String,
}

impl BaseUrl {
    /// Telegram's own. Source: Bot API, "Making requests".
    pub const TELEGRAM: &'static str = "https://api.telegram.org";

    /// Encrypted, so certificates are needed.
    pub(super) fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// On this machine, where no proxy of the environment belongs in between.
    pub(super) fn is_local(&self) -> bool {
        match self.0.host_str() {
            Some(host) => {
                let host = host.trim_start_matches('[').trim_end_matches(']');
                let address = host.parse::<std::net::IpAddr>();
                host == "localhost" || address.is_ok_and(|address| address.is_loopback())
            }
            None => false,
        }
    }

    pub(super) fn method(&self, token: &Token, method: &str) -> Url {
        let bot = format!("bot{}", token.secret());
        self.with([bot.as_str(), method])
    }

    pub(super) fn file(&self, token: &Token, path: &FilePath) -> Url {
        let bot = format!("bot{}", token.secret());
        self.with(["file", bot.as_str()].into_iter().chain(path.as_str().split('/')))
    }

    fn with<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        url
    }
}

impl Default for BaseUrl {
    fn default() -> Self {
        Self::TELEGRAM.parse().expect("a constant that a test parses")
    }
}

impl FromStr for BaseUrl {
    type Err = NoBaseUrl;

    fn from_str(text: &str) -> Result<Self, NoBaseUrl> {
        let no = |why: &str| NoBaseUrl { text: text.into(), why: why.into() };
        let url = Url::parse(text).map_err(|error| no(&error.to_string()))?;
        if !matches!(url.scheme(), "https" | "http") || !url.has_host() {
            return Err(no("it starts with https:// or http:// and names a host"));
        }
        // It is logged and shown, so it must hold nothing secret.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(no("it holds no name and password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(no("it ends with the path: no `?` and no `#`"));
        }
        Ok(Self(url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        "123456:TEST-TOKEN".parse().unwrap()
    }

    #[test]
    fn methods_and_files_have_their_addresses() {
        for (base, start) in [
            ("http://127.0.0.1:8081", "http://127.0.0.1:8081/"),
            ("https://bots.example.org/tg/", "https://bots.example.org/tg/"),
        ] {
            let base: BaseUrl = base.parse().unwrap();
            let method = base.method(&token(), "getMe").to_string();
            assert_eq!(method, format!("{start}bot123456:TEST-TOKEN/getMe"));
            let path = FilePath::new("documents/file 1.pdf");
            let file = base.file(&token(), &path).to_string();
            assert_eq!(file, format!("{start}file/bot123456:TEST-TOKEN/documents/file%201.pdf"));
        }
        assert!(BaseUrl::default().is_encrypted() && !BaseUrl::default().is_local());
    }

    #[test]
    fn a_path_cannot_leave_its_place() {
        let base: BaseUrl = "http://localhost".parse().unwrap();
        let path = FilePath::new("../../x?y#z");
        let file = base.file(&token(), &path).to_string();
        assert!(file.starts_with("http://localhost/file/bot123456:TEST-TOKEN/"), "{file}");
        assert!(file.ends_with("x%3Fy%23z"), "{file}");
    }

    #[test]
    fn loopback_is_local() {
        for text in ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"] {
            assert!(text.parse::<BaseUrl>().unwrap().is_local(), "{text}");
        }
    }

    #[test]
    fn other_addresses_are_refused_with_the_reason() {
        for text in [
            "ftp://x.example.org",
            "x",
            "https://a:b@x.example.org",
            "https://x.example.org?y",
            "data:x",
        ] {
            assert!(text.parse::<BaseUrl>().is_err(), "{text}");
        }
    }
}
