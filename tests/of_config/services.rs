//! Chat services in the configuration: what is read of them, and what is said where it is wrong.

use std::path::PathBuf;
use vigie::config::OnOff;

use crate::{explain, read};

#[cfg(feature = "telegram")]
#[test]
fn telegram_is_switched_on_and_told_its_ways() {
    use vigie::config::{LongAnswers, Strangers};
    let config = read(
        r#"
        [[human]]
        id = "ines"
        role = "owner"
        telegram = 1001

        [telegram]
        enabled = true
        token_file = "~/keys/bot"
        api = "http://127.0.0.1:8081/"
        long_answers = "document"

        [access]
        strangers = "ignore"
        "#,
    );
    assert_eq!(config.humans[0].telegram, Some(1001));
    assert_eq!(config.telegram.enabled, OnOff::On);
    assert_eq!(config.telegram.token_file, PathBuf::from("/home/ines/keys/bot"));
    assert_eq!(config.telegram.api, "http://127.0.0.1:8081");
    assert_eq!(config.telegram.long_answers, LongAnswers::Document);
    assert_eq!(config.access.strangers, Strangers::Ignored);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[cfg(feature = "telegram")]
#[test]
fn a_token_that_would_travel_in_the_clear_is_worth_a_word() {
    let config = read("[telegram]\nenabled = true\napi = \"http://bots.example.org\"\n");
    assert!(config.warnings[0].contains("without encryption"), "{:?}", config.warnings);
}

#[cfg(not(feature = "telegram"))]
#[test]
fn telegram_is_refused_by_a_program_that_was_built_without_it() {
    insta::assert_snapshot!(explain("[telegram]\nenabled = true\n"), @r"
    config.toml:2:11: this Vigie was built without Telegram
      | enabled = true
      |           ^^^^
      Build it with `cargo install --path . --features telegram`, or set `enabled = false`.
    ");
    read("[telegram]\nenabled = false\n");
}

#[cfg(feature = "matrix")]
#[test]
fn matrix_is_switched_on_and_told_its_ways() {
    use vigie::config::{Layout, LongAnswers, Matrix, Reactions, Unsafe};
    let config = read(
        r#"
        [[human]]
        id = "ines"
        role = "owner"
        matrix = "@Ines:Example.org"

        [matrix]
        enabled = true
        layout = "space"
        unsigned_devices = "accept"
        unencrypted = "accept"
        plain_rooms = "accept"
        reactions = "answer"
        new_identities = "accept"
        events_a_minute = 600
        polls = true
        quick_reactions = false
        long_answers = "document"
        "#,
    );
    assert_eq!(config.humans[0].matrix.as_deref(), Some("@Ines:example.org"));
    let expected = Matrix {
        enabled: OnOff::On,
        layout: Layout::Space,
        unsigned_devices: Unsafe::Accept,
        unencrypted: Unsafe::Accept,
        plain_rooms: Unsafe::Accept,
        reactions: Reactions::Answer,
        new_identities: Unsafe::Accept,
        events_a_minute: 600.try_into().unwrap(),
        polls: OnOff::On,
        quick_reactions: OnOff::Off,
        long_answers: LongAnswers::Document,
    };
    assert_eq!(config.matrix, expected);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[cfg(not(feature = "matrix"))]
#[test]
fn matrix_is_refused_by_a_program_that_was_built_without_it() {
    insta::assert_snapshot!(explain("[matrix]\nenabled = true\n"), @r"
    config.toml:2:11: this Vigie was built without Matrix
      | enabled = true
      |           ^^^^
      Build it with `cargo install --path . --features matrix`, or set `enabled = false`.
    ");
    read("[matrix]\nenabled = false\nlayout = \"space\"\n");
}

#[test]
fn what_is_set_wrong_for_matrix_is_said() {
    let text = r#"
[[human]]
id = "ines"
role = "owner"
matrix = "@ines:example.org"

[[human]]
id = "tomas"
matrix = "@ines:Example.org"

[[human]]
id = "lena"
matrix = "lena"

[matrix]
layout = "thread"
unsigned_devices = "allow"
reactions = "yes"
events_a_minute = 0
recovery_key = "none of this"
"#;
    insta::assert_snapshot!(explain(text), @r#"
    config.toml:9:10: @ines:example.org is there twice
      | matrix = "@ines:Example.org"
      |          ^^^^^^^^^^^^^^^^^^^

    config.toml:13:10: `lena` is no user id on Matrix
      | matrix = "lena"
      |          ^^^^^^
      Write the whole of it, as the person's own client shows it: @ines:example.org.

    config.toml:16:10: `thread` is not possible here
      | layout = "thread"
      |          ^^^^^^^^
      Did you mean `threads`? Possible: threads, direct, space.

    config.toml:17:20: `allow` is not possible here
      | unsigned_devices = "allow"
      |                    ^^^^^^^
      Possible: refuse, accept.

    config.toml:18:13: `yes` is not possible here
      | reactions = "yes"
      |             ^^^^^
      Possible: answer, deny, ignore.

    config.toml:19:19: 0 is not possible here
      | events_a_minute = 0
      |                   ^
      A whole number from 1 to 6000: what the homeserver lets this account send.

    config.toml:20:1: [matrix] has no key `recovery_key`
      | recovery_key = "none of this"
      | ^^^^^^^^^^^^
      Keys: enabled, layout, unsigned_devices, unencrypted, plain_rooms, reactions, new_identities, events_a_minute, polls, quick_reactions, long_answers.
    "#);
}

#[test]
fn what_is_set_wrong_for_telegram_is_said() {
    let text = r#"
[[human]]
id = "ines"
role = "owner"
telegram = 1001

[[human]]
id = "tomas"
telegram = 1001

[[human]]
id = "lena"
telegram = -1001234567890

[telegram]
token_file = "telegram.token"
api = "https://api.telegram.org/bot123456:TEST-TOKEN"
long_answers = "doc"
token = "123456:TEST-TOKEN"

[access]
strangers = "shout"
"#;
    insta::assert_snapshot!(explain(text), @r#"
    config.toml:9:12: 1001 is there twice
      | telegram = 1001
      |            ^^^^

    config.toml:13:12: -1001234567890 is nobody's number on Telegram
      | telegram = -1001234567890
      |            ^^^^^^^^^^^^^^
      It is a person's own number, above zero. `vigie pair` needs none.

    config.toml:16:14: `telegram.token` is not absolute
      | token_file = "telegram.token"
      |              ^^^^^^^^^^^^^^^^
      Write an absolute path, or one that begins with `~/`.

    config.toml:17:7: `https://api.telegram.org/bot123456:**********` is no address of a Bot API
      | api = "https://api.telegram.org/bot123456:**********"
      |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Write https:// and the host of your Bot API server, without `/bot` and the token: https://api.telegram.org.

    config.toml:18:16: `doc` is not possible here
      | long_answers = "doc"
      |                ^^^^^
      Possible: parts, document.

    config.toml:19:1: [telegram] has no key `token`
      | token = "123456:**********"
      | ^^^^^
      Keys: enabled, token_file, api, long_answers.

    config.toml:22:13: `shout` is not possible here
      | strangers = "shout"
      |             ^^^^^^^
      Possible: answer, ignore.
    "#);
}
