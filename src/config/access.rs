//! The checks of who may use Vigie and over which chat service: `[[human]]`, `[telegram]`, `[access]`.

use std::net::IpAddr;
use toml::Spanned;
use vigie_core::id::HumanId;

use super::{
    Access, Human, LongAnswers, OnOff, Role, Strangers, Telegram,
    check::{Check, Row, on_off},
    defaults,
    rows::{AccessRow, HumanRow, TelegramRow},
    values,
};

const ROLES: [(&str, Role); 4] = [
    ("owner", Role::Owner),
    ("approver", Role::Approver),
    ("talker", Role::Talker),
    ("viewer", Role::Viewer),
];

pub(super) const LONG_ANSWERS: [(&str, LongAnswers); 2] =
    [("parts", LongAnswers::Parts), ("document", LongAnswers::Document)];

const STRANGERS: [(&str, Strangers); 2] =
    [("answer", Strangers::Answered), ("ignore", Strangers::Ignored)];

impl Check<'_> {
    pub(super) fn humans(&mut self, rows: Vec<Row<HumanRow>>, humans: &mut Vec<Human>) {
        let first = rows.first().map(|(span, _)| span.clone());
        let (mut taken, mut numbers, mut users) = (Vec::new(), Vec::new(), Vec::new());
        let mut read = Vec::new();
        for (span, row) in rows {
            let Some(id) = self.needed(&span, "[[human]]", "id", row.id) else { continue };
            let id = self.name(&id, &mut taken);
            let role = row.role.map_or(Some(Role::Talker), |role| self.choice(&role, &ROLES));
            let hours = self.hours(row.timezone, row.quiet, row.digest);
            read.push(Human {
                name: row.name.unwrap_or_else(|| id.clone()),
                id: HumanId::new(id),
                role: role.unwrap_or(Role::Owner),
                phone: on_off(row.phone.unwrap_or(true)),
                telegram: row
                    .telegram
                    .and_then(|number| self.telegram_number(&number, &mut numbers)),
                matrix: row.matrix.and_then(|user| self.matrix_user(&user, &mut users)),
                hours,
            });
        }
        if read.iter().any(|human| human.role == Role::Owner) {
            *humans = read;
        } else if let Some(first) = first {
            let hint = "Give one of them `role = \"owner\"`.".to_owned();
            self.add(first, "no [[human]] is an owner".into(), Some(hint));
        }
    }

    pub(super) fn telegram(&mut self, row: TelegramRow, warnings: &mut Vec<String>) -> Telegram {
        let usual = defaults::telegram(self.around);
        let enabled = row.enabled.map_or(OnOff::Off, |enabled| {
            self.built_in(&enabled, cfg!(feature = "telegram"), ("Telegram", "telegram"))
        });
        let token_file = row.token_file.map_or(usual.token_file, |text| {
            self.around.expand(text.get_ref()).unwrap_or_else(|| {
                let hint = "Write an absolute path, or one that begins with `~/`.".to_owned();
                self.add(text.span(), format!("`{}` is not absolute", text.get_ref()), Some(hint));
                text.get_ref().into()
            })
        });
        let hint = "Write https:// and the host of your Bot API server, without `/bot` and the token: https://api.telegram.org.";
        let api = row
            .api
            .and_then(|text| self.read(&text, values::api_url, "no address of a Bot API", hint));
        let api = api.unwrap_or(usual.api);
        if enabled == OnOff::On && is_open(&api) {
            warnings.push(format!("[telegram] talks to {api} without encryption: whoever is on the way can read the bot's token and every message"));
        }
        let long_answers = row.long_answers.and_then(|word| self.choice(&word, &LONG_ANSWERS));
        let long_answers = long_answers.unwrap_or(usual.long_answers);
        Telegram { enabled, token_file, api, long_answers }
    }

    /// Whether a service is wanted, and this program can do it; it goes by a name and a feature.
    pub(super) fn built_in(
        &mut self,
        enabled: &Spanned<bool>,
        built: bool,
        (name, feature): (&str, &str),
    ) -> OnOff {
        let wanted = *enabled.get_ref();
        if wanted && !built {
            let hint = format!(
                "Build it with `cargo install --path . --features {feature}`, or set `enabled = false`."
            );
            self.add(enabled.span(), format!("this Vigie was built without {name}"), Some(hint));
        }
        on_off(wanted)
    }

    pub(super) fn access(&mut self, row: AccessRow) -> Access {
        let strangers = row.strangers.and_then(|word| self.choice(&word, &STRANGERS));
        Access { strangers: strangers.unwrap_or(Strangers::Answered) }
    }

    /// A person's own number, which nobody before them in the list has.
    pub(super) fn telegram_number(
        &mut self,
        number: &Spanned<i64>,
        taken: &mut Vec<u64>,
    ) -> Option<u64> {
        let Some(person) = u64::try_from(*number.get_ref()).ok().filter(|number| *number > 0)
        else {
            let hint =
                "It is a person's own number, above zero. `vigie pair` needs none.".to_owned();
            let words = format!("{} is nobody's number on Telegram", number.get_ref());
            self.add(number.span(), words, Some(hint));
            return None;
        };
        if taken.contains(&person) {
            self.add(number.span(), format!("{person} is there twice"), None);
        }
        taken.push(person);
        Some(person)
    }
}

/// Unencrypted, and not only within this machine.
fn is_open(api: &str) -> bool {
    let Some(rest) = api.strip_prefix("http://") else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        Some(_) | None => authority,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host != "localhost" && !host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_may_be_spoken_to_in_the_clear() {
        for fine in [
            "https://api.telegram.org",
            "http://127.0.0.1:8081",
            "http://[::1]:8081/bots",
            "http://localhost",
        ] {
            assert!(!is_open(fine), "{fine}");
        }
        for open in ["http://192.0.2.7:8081", "http://bots.example.org", "http://[2001:db8::1]:80"]
        {
            assert!(is_open(open), "{open}");
        }
    }
}
