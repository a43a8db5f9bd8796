//! Pages and what they load go out compressed where a browser takes that: on a phone's network they are
//! there in a quarter of the time.

use axum::{
    body::{Body, Bytes, HttpBody as _, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, header},
    middleware::Next,
    response::Response,
};
use flate2::{Compression, write::GzEncoder};
use std::io::{self, Write as _};

/// What is shorter fits one packet of a network anyway.
const SHORT: u64 = 1_400;

/// What is longer is no page.
const LONG: usize = 8 << 20;

/// Of what pages are made. What programs read is left alone, and so is what is told on and on.
const KINDS: [&str; 4] = ["text/html", "text/css", "text/javascript", "image/svg+xml"];

/// The outermost layer.
pub(super) async fn pages(request: Request, next: Next) -> Response {
    let takes = takes_gzip(request.headers());
    let response = next.run(request).await;
    if takes && is_worth_it(&response) { squeezed(response).await } else { response }
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let said = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    said.is_some_and(|said| said.split(',').any(|one| one.trim() == "gzip"))
}

fn is_worth_it(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let size = response.body().size_hint().exact();
    KINDS.iter().any(|known| kind.starts_with(known))
        && !response.headers().contains_key(header::CONTENT_ENCODING)
        && size.is_some_and(|size| size >= SHORT)
}

async fn squeezed(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    // It lies in memory already: its length is known.
    let Ok(whole) = to_bytes(body, LONG).await else {
        head.status = axum::http::StatusCode::INTERNAL_SERVER_ERROR;
        return Response::from_parts(head, Body::empty());
    };
    let Ok(less) = gzip(&whole) else { return Response::from_parts(head, Body::from(whole)) };
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    Response::from_parts(head, Body::from(less))
}

fn gzip(whole: &Bytes) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(whole)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;
    use std::io::Read as _;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    fn response(kind: &'static str, body: Body) -> Response {
        let mut response = Response::new(body);
        *response.headers_mut() = headers(header::CONTENT_TYPE, kind);
        response
    }

    #[tokio::test]
    async fn a_page_comes_out_as_it_went_in() {
        let page = "<p>Retry refunds</p>".repeat(500);
        let response = response("text/html; charset=utf-8", page.clone().into());
        assert!(is_worth_it(&response));
        let less = squeezed(response).await;
        assert_eq!(less.headers()[header::CONTENT_ENCODING], "gzip");
        let less = to_bytes(less.into_body(), LONG).await.unwrap();
        assert!(less.len() * 10 < page.len(), "{}", less.len());
        let mut again = String::new();
        flate2::read::GzDecoder::new(&less[..]).read_to_string(&mut again).unwrap();
        assert_eq!(again, page);
    }

    #[test]
    fn streams_programs_and_what_is_short_are_left_alone() {
        let long = || "x".repeat(5_000);
        assert!(!is_worth_it(&response("application/json", long().into())));
        assert!(!is_worth_it(&response("text/html", "short".into())));
        let stream = futures_util::stream::iter([io::Result::Ok(Bytes::from(long()))]);
        assert!(!is_worth_it(&response("text/html", Body::from_stream(stream))));
        for (said, takes) in [("gzip, deflate, br", true), ("br, gzip;q=0", false), ("", false)] {
            assert_eq!(takes_gzip(&headers(header::ACCEPT_ENCODING, said)), takes, "{said}");
        }
    }
}
