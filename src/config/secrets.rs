//! `[[secret]]`: a name, one place where its value is, and who may use it.

use toml::Spanned;
use vigie_workflow::value::SecretName;

use super::{
    Secret, SecretFrom,
    check::{Check, Row},
    rows::SecretRow,
};

impl Check<'_> {
    pub(super) fn secrets(&mut self, rows: Vec<Row<SecretRow>>) -> Vec<Secret> {
        let mut secrets: Vec<Secret> = Vec::new();
        let mut taken: Vec<SecretName> = Vec::new();
        for (span, row) in rows {
            let Some(name) = self.needed(&span, "[[secret]]", "name", row.name) else { continue };
            let hint = "Use letters, digits, `_` and `-`, a letter first, such as DEPLOY_TOKEN.";
            let read = |text: &str| text.parse::<SecretName>().ok();
            let Some(parsed) = self.read(&name, read, "no name of a secret", hint) else {
                continue;
            };
            if taken.contains(&parsed) {
                self.add(name.span(), format!("`{parsed}` is there twice"), None);
            }
            taken.push(parsed.clone());
            let mut places: Vec<SecretFrom> = Vec::new();
            places.extend(row.env.map(|variable| SecretFrom::Env(variable.into_inner())));
            if let Some(file) = row.file {
                places.extend(self.path(&file).map(SecretFrom::File));
            }
            places.extend(row.command.map(SecretFrom::Command));
            places.extend(row.keyring.map(|keyring| SecretFrom::Keyring {
                service: keyring.service,
                account: keyring.account,
            }));
            let words = match (places.len(), places.first()) {
                (1, Some(SecretFrom::Command(words))) if words.is_empty() => "its command is empty",
                (1, _) => "",
                (0, _) => "nothing says where its value is",
                (_, _) => "its value is in more than one place",
            };
            if !words.is_empty() {
                let hint = "Write one of `env`, `file`, `command` and `keyring`.".to_owned();
                self.add(span.clone(), format!("[[secret]] {parsed}: {words}"), Some(hint));
            }
            let workflows = row.workflows.unwrap_or_default();
            let workflows = workflows.into_iter().map(Spanned::into_inner).collect();
            secrets.extend(places.pop().map(|from| Secret { name: parsed, from, workflows }));
        }
        secrets
    }
}
