//! The files of the page, inside the binary: no build step, nothing from another origin.

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use std::hash::{DefaultHasher, Hash, Hasher};

use vigie_look::{CSS, File, ICONS, JAVASCRIPT};

use crate::Link;

const SHELL: &str = include_str!("../page/shell.html");
const OFFLINE: &str = include_str!("../page/offline.html");
const WORKER: &str = include_str!("../page/worker.js");

/// Served at `/assets` without a login, beside those that all pages share.
const ASSETS: [File; 14] = [
    File { name: "phone.css", mime: CSS, text: include_str!("../page/phone.css") },
    File { name: "main.js", mime: JAVASCRIPT, text: include_str!("../page/main.js") },
    File { name: "dom.js", mime: JAVASCRIPT, text: include_str!("../page/dom.js") },
    File { name: "rich.js", mime: JAVASCRIPT, text: include_str!("../page/rich.js") },
    File { name: "model.js", mime: JAVASCRIPT, text: include_str!("../page/model.js") },
    File { name: "live.js", mime: JAVASCRIPT, text: include_str!("../page/live.js") },
    File { name: "outbox.js", mime: JAVASCRIPT, text: include_str!("../page/outbox.js") },
    File { name: "message.js", mime: JAVASCRIPT, text: include_str!("../page/message.js") },
    File { name: "card.js", mime: JAVASCRIPT, text: include_str!("../page/card.js") },
    File { name: "chat.js", mime: JAVASCRIPT, text: include_str!("../page/chat.js") },
    File { name: "composer.js", mime: JAVASCRIPT, text: include_str!("../page/composer.js") },
    File { name: "commands.js", mime: JAVASCRIPT, text: include_str!("../page/commands.js") },
    File { name: "lists.js", mime: JAVASCRIPT, text: include_str!("../page/lists.js") },
    File {
        name: "manifest.webmanifest",
        mime: "application/manifest+json",
        text: include_str!("../page/manifest.webmanifest"),
    },
];

/// One file of the pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    pub mime: &'static str,
    pub bytes: &'static [u8],
    /// Quoted, as the header wants it; changes with the bytes.
    pub etag: String,
}

/// The file at `/assets/{path}`.
pub fn asset(path: &str) -> Option<Asset> {
    find(path, &[])
}

fn find(path: &str, more: &[File]) -> Option<Asset> {
    let all = ASSETS.iter().chain(&vigie_look::FILES).chain(more);
    let File { mime, text, .. } = all.copied().find(|file| file.name == path)?;
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let etag = format!("\"{:016x}\"", hasher.finish());
    Some(Asset { mime, bytes: text.as_bytes(), etag })
}

/// All of [`asset`] and `more` files of other pages, to be nested under `/assets`.
pub fn assets_router(more: &'static [File]) -> Router {
    let get_one = move |Path(name): Path<String>, asked: HeaderMap| async move {
        serve(find(&name, more), &asked)
    };
    Router::new().route("/{name}", get(get_one))
}

fn serve(asset: Option<Asset>, asked: &HeaderMap) -> Response {
    let Some(asset) = asset else {
        return (StatusCode::NOT_FOUND, "there is no such file").into_response();
    };
    // Asked for each time and sent only when it changed: an update of Vigie shows at once.
    let etag = HeaderValue::from_str(&asset.etag).expect("quoted hexadecimal digits");
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.mime)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::ETAG, etag.clone()),
    ];
    if asked.get(header::IF_NONE_MATCH) == Some(&etag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, asset.bytes).into_response()
}

/// The page's frame; its script fills it.
pub(crate) fn shell(links: &[Link]) -> String {
    let link = |Link { name, path, icon }: &Link| {
        let icon = format!("<svg class=\"i\" aria-hidden=\"true\"><use href=\"#{icon}\"/></svg>");
        format!("<a href=\"{path}\">{icon}{name}</a>")
    };
    let links = links.iter().map(link).collect::<Vec<_>>().join("\n    ");
    SHELL.replace("<!--icons-->", ICONS).replace("<!--links-->", &links)
}

pub(crate) async fn offline() -> Html<&'static str> {
    Html(OFFLINE)
}

pub(crate) async fn worker() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, JAVASCRIPT),
        (header::CACHE_CONTROL, "no-cache"),
        // The page is `/phone`, which lies outside of `/phone/`.
        (HeaderName::from_static("service-worker-allowed"), "/phone"),
    ];
    (headers, WORKER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a phone loads the first time, beside the style sheet that all of Vigie's pages share, and
    /// before it is squeezed: about a third of it goes over the wire.
    const BUDGET: usize = 118_000;

    #[test]
    fn the_page_is_small() {
        let total = ASSETS.iter().map(|file| file.text.len()).sum::<usize>() + shell(&[]).len();
        assert!(total < BUDGET, "{total} bytes");
    }

    #[test]
    fn no_page_carries_an_inline_script_or_style() {
        for page in [shell(&[]), OFFLINE.into(), crate::login_page(Some("x"))] {
            assert!(!page.contains("style=") && !page.contains("<style"), "{page}");
            let handler = |word: &str| word.starts_with("on") && word.contains("=\"");
            assert!(!page.contains("<script>") && !page.split_whitespace().any(handler), "{page}");
        }
    }

    #[test]
    fn no_script_of_ours_makes_markup_of_text() {
        for File { name, mime, text } in ASSETS {
            if mime == JAVASCRIPT {
                for way in
                    ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
                {
                    assert!(!text.contains(way), "{name} uses {way}");
                }
            }
        }
    }

    #[test]
    fn every_icon_that_is_used_is_drawn() {
        let used = ASSETS.iter().map(|file| file.text).chain([SHELL]);
        for text in used {
            for name in text.split(['"', '#', '`']).filter(|word| word.starts_with("i-")) {
                assert!(ICONS.contains(&format!("id=\"{name}\"")), "{name}");
            }
        }
    }
}
