use std::{fmt, str::FromStr};

use super::TgUser;

/// Longest text that is looked at as a token. Today's have about 46 characters; Telegram promises
/// no length.
const LONGEST: usize = 200;

/// A bot's token: `123456:` and the secret. Whoever has it is the bot, so it prints as `***` and
/// leaves this package only in the address of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    text: String,
    bot: TgUser,
}

/// Why a text is no token. Says nothing of the text: it may be most of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no bot token: it reads like 123456:ABC-def, the number and the secret that @BotFather gave, and nothing around it"
)]
pub struct NoToken;

impl Token {
    /// The bot's own id, which is the number in front of the colon.
    pub fn bot(&self) -> TgUser {
        self.bot
    }

    /// The token itself, for the address of a request and for nothing else.
    pub(super) fn secret(&self) -> &str {
        &self.text
    }

    /// `text` with `***` wherever this token, or its secret part, stands in it. Answers can hold it:
    /// a proxy's error page likes to repeat the address it was asked for.
    #[must_use]
    pub fn hidden_in(&self, text: &str) -> String {
        let secret = self.text.split_once(':').map_or(self.text.as_str(), |(_, secret)| secret);
        text.replace(&self.text, "***").replace(secret, "***")
    }
}

impl FromStr for Token {
    type Err = NoToken;

    fn from_str(text: &str) -> Result<Self, NoToken> {
        if text.len() > LONGEST {
            return Err(NoToken);
        }
        let (number, secret) = text.split_once(':').ok_or(NoToken)?;
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        // Short ones are for test servers; an empty secret is a paste that was cut.
        if !digits || secret.len() < 5 || !secret.bytes().all(plain) {
            return Err(NoToken);
        }
        let bot = number.parse().map_err(|_| NoToken)?;
        Ok(Self { text: text.to_owned(), bot: TgUser(bot) })
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_botfather_gives_is_a_token() {
        for text in ["123456:TEST-TOKEN", "7012345678:AAExample_of-a_secret_that_is_none_0000"] {
            let token: Token = text.parse().unwrap();
            assert_eq!(token.secret(), text);
        }
        assert_eq!("42:abcde".parse::<Token>().unwrap().bot(), TgUser(42));
    }

    #[test]
    fn anything_around_it_or_missing_is_refused_without_repeating_it() {
        for text in [
            "",
            ":",
            "123456",
            "123456:",
            "123456:abc",
            ":TEST-TOKEN",
            "12a456:TEST-TOKEN",
            "123456:TEST TOKEN",
            "123456:TEST-TOKEN\n",
            " 123456:TEST-TOKEN",
            "bot123456:TEST-TOKEN",
            "123456:TEST/../TOKEN",
            "123456:TESTé-TOKEN",
            "99999999999999999999999:TEST-TOKEN",
        ] {
            let error = text.parse::<Token>().unwrap_err();
            assert!(!error.to_string().contains("TEST"), "{text}");
        }
        assert_eq!(format!("1:{}", "a".repeat(LONGEST)).parse::<Token>(), Err(NoToken));
    }

    #[test]
    fn it_prints_as_stars() {
        let token: Token = "123456:TEST-TOKEN".parse().unwrap();
        assert_eq!(
            format!("{token} {token:?} {:?}", Some(&token)),
            "*** Token(***) Some(Token(***))"
        );
        assert_eq!(
            token.hidden_in("Cannot POST /bot123456:TEST-TOKEN/getMe (TEST-TOKEN)"),
            "Cannot POST /bot***/getMe (***)"
        );
    }
}
