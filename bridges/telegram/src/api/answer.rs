//! What an HTTP answer of the Bot API says.

use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::value::RawValue;
use std::time::Duration;

use super::{CallError, Refusal, TgChat, Token};

/// A 429 without a number, which the documentation rules out and front servers may still send.
const WAIT_WITHOUT_A_NUMBER: Duration = Duration::from_secs(5);

/// Enough of a page that is no answer to tell what it is.
const SHOWN_OF_A_PAGE: usize = 120;

/// An HTTP answer, read to its end.
pub(super) struct Answer {
    pub(super) status: u16,
    /// The `Retry-After` header, in seconds.
    pub(super) retry_after: Option<u64>,
    pub(super) body: Vec<u8>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    ok: bool,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error_code: Option<u16>,
    description: Option<String>,
    parameters: Option<Parameters>,
}

#[derive(Default, Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<TgChat>,
}

impl Answer {
    pub(super) fn read<Out: DeserializeOwned>(&self, token: &Token) -> Result<Out, CallError> {
        let text = String::from_utf8_lossy(&self.body);
        let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(&text) else {
            return Err(self.page(&text, token));
        };
        match (envelope.ok, envelope.result) {
            // It was done, but what came of it is not known: to the caller that is a doubt.
            (true, result) => serde_json::from_str(result.map_or("null", RawValue::get))
                .map_err(|error| CallError::in_doubt(format!("its answer is not clear: {error}"))),
            (false, _) => Err(self.refused(envelope, token)),
        }
    }

    /// What an answer says that is none of a method's: a file's, when it is not there.
    pub(super) fn failed(&self, token: &Token) -> CallError {
        match self.read::<IgnoredAny>(token) {
            Err(error) => error,
            Ok(IgnoredAny) => CallError::in_doubt("it answers something else"),
        }
    }

    fn refused(&self, envelope: Envelope<'_>, token: &Token) -> CallError {
        let code = envelope.error_code.unwrap_or(self.status);
        let parameters = envelope.parameters.unwrap_or_default();
        let said = token.hidden_in(&envelope.description.unwrap_or_default());
        match code {
            429 => self.too_many(parameters.retry_after),
            500..600 => CallError::InDoubt { why: format!("{code} {said}") },
            _ => {
                let refusal = Refusal::read(code, &said, parameters.migrate_to_chat_id);
                CallError::Refused { code, description: said, refusal }
            }
        }
    }

    fn too_many(&self, seconds: Option<u64>) -> CallError {
        let seconds = seconds.or(self.retry_after).map(Duration::from_secs);
        CallError::TooMany { after: seconds.unwrap_or(WAIT_WITHOUT_A_NUMBER) }
    }

    /// Not the Bot API spoke, but something in front of it, or the answer was cut.
    fn page(&self, text: &str, token: &Token) -> CallError {
        let status = self.status;
        match status {
            429 => self.too_many(None),
            400..500 => {
                let description = token.hidden_in(&format!("{status} {}", beginning(text)));
                let refusal = Refusal::read(status, &description, None);
                CallError::Refused { code: status, description, refusal }
            }
            _ => CallError::in_doubt(token.hidden_in(&format!("{status} {}", beginning(text)))),
        }
    }
}

/// The first words of a page, in one line, without its tags.
fn beginning(page: &str) -> String {
    let mut inside = false;
    let words: String = page
        .chars()
        .take(SHOWN_OF_A_PAGE * 4)
        .filter_map(|c| match c {
            '<' => {
                inside = true;
                Some(' ')
            }
            '>' => {
                inside = false;
                None
            }
            _ if inside => None,
            _ if c.is_control() => Some(' '),
            _ => Some(c),
        })
        .collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ").chars().take(SHOWN_OF_A_PAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn token() -> Token {
        "123456:TEST-TOKEN".parse().unwrap()
    }

    fn read(status: u16, body: &str) -> Result<Value, CallError> {
        Answer { status, retry_after: None, body: body.into() }.read(&token())
    }

    #[test]
    fn a_result_is_given_back() {
        assert_eq!(
            read(200, r#"{"ok":true,"result":[1,"é"]}"#).unwrap(),
            serde_json::json!([1, "é"])
        );
        assert_eq!(read(200, r#"{"ok":true,"result":true,"new":{}}"#).unwrap(), true);
    }

    #[test]
    fn a_wait_is_taken_from_wherever_it_stands() {
        let body = r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 7","parameters":{"retry_after":7}}"#;
        let after = Duration::from_secs(7);
        assert_eq!(read(429, body), Err(CallError::TooMany { after }));
        let page = Answer { status: 429, retry_after: Some(9), body: b"<html>".to_vec() };
        let after = Duration::from_secs(9);
        assert_eq!(page.read::<Value>(&token()), Err(CallError::TooMany { after }));
        let none = Err(CallError::TooMany { after: WAIT_WITHOUT_A_NUMBER });
        assert_eq!(read(429, r#"{"ok":false,"error_code":429}"#), none);
    }

    #[test]
    fn what_is_no_answer_is_a_doubt() {
        for (status, body) in [
            (502, "<html>\r\n<head><title>502 Bad Gateway</title></head>"),
            (500, r#"{"ok":false,"error_code":500,"description":"Internal Server Error"}"#),
            (200, r#"{"ok":true,"result":{"message_i"#),
            (200, ""),
            (200, "<html>please log in to this network"),
            (302, ""),
        ] {
            let error = read(status, body).unwrap_err();
            assert!(matches!(error, CallError::InDoubt { .. }), "{status} {body}: {error}");
        }
        let message = Answer { status: 200, retry_after: None, body: br#"{"ok":true}"#.to_vec() };
        assert!(matches!(
            message.read::<super::super::SentMessage>(&token()),
            Err(CallError::InDoubt { .. })
        ));
    }

    #[test]
    fn refusals_are_read_with_their_parameters() {
        let body = r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-100123}}"#;
        let to = TgChat(-100_123);
        assert_eq!(read(400, body).unwrap_err().refusal(), Some(Refusal::Migrated { to }));
        let page = "<html><head><title>413 Request Entity Too Large</title></head></html>";
        let error = read(413, page).unwrap_err();
        assert_eq!(error.refusal(), Some(Refusal::FileTooBig));
        assert_eq!(error.to_string(), "Telegram refuses: 413 413 Request Entity Too Large");
    }

    #[test]
    fn a_page_that_repeats_the_address_does_not_leak_it() {
        for status in [400, 502] {
            let error = read(status, "Cannot POST /bot123456:TEST-TOKEN/getMe").unwrap_err();
            assert!(!format!("{error} {error:?}").contains("TEST-TOKEN"), "{error:?}");
        }
    }
}
