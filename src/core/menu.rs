//! Vigie's slash commands as a chat service's menu offers them. What `/help` says stands beside the
//! commands themselves, in `decide/slash.rs`.

/// A command and what it does, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MenuEntry {
    /// Without the slash: 1 to 32 of `a-z`, `0-9` and `_`, which is what Telegram's menu takes.
    pub word: &'static str,
    /// Whole words, at most 256 characters, for the same reason.
    pub english: &'static str,
    pub french: &'static str,
}

const fn entry(word: &'static str, english: &'static str, french: &'static str) -> MenuEntry {
    MenuEntry { word, english, french }
}

/// What people need most stands first: a menu shows a handful at a time.
pub const MENU: &[MenuEntry] = &[
    entry("sessions", "What runs", "Ce qui tourne"),
    entry("waiting", "What waits for you", "Ce qui attend votre réponse"),
    entry(
        "status",
        "Sessions, what waits, what did not arrive",
        "Sessions, attentes, messages non remis",
    ),
    entry(
        "new",
        "Start a session: /new NAME what to do",
        "Lancer une session : /new NOM que faire",
    ),
    entry("approve", "Allow what waits: /approve CODE", "Autoriser : /approve CODE"),
    entry("deny", "Refuse what waits: /deny CODE why", "Refuser : /deny CODE pourquoi"),
    entry(
        "back",
        "Send a workflow's question back: /back CODE what should change",
        "Renvoyer une question : /back CODE que changer",
    ),
    entry(
        "run",
        "Run a workflow: /run NAME name=value, or alone for a list",
        "Lancer un workflow : /run NOM nom=valeur, ou seul pour la liste",
    ),
    entry("runs", "What workflows do and did", "Ce que font et ont fait les workflows"),
    entry("cancel", "End a run: /cancel release-12", "Annuler : /cancel release-12"),
    entry(
        "retry",
        "Run again what failed: /retry release-12",
        "Relancer ce qui a échoué : /retry release-12",
    ),
    entry(
        "stop",
        "Interrupt a turn; the session keeps its context",
        "Interrompre ; la session garde son contexte",
    ),
    entry("screen", "What a session's terminal shows", "L'écran d'une session"),
    entry(
        "diff",
        "What changed in a session's folder",
        "Ce qui a changé dans le dossier d'une session",
    ),
    entry("file", "A file of a session's folder: /file PATH", "Un fichier : /file CHEMIN"),
    entry("transcript", "A session's conversation, as a document", "La conversation, en document"),
    entry(
        "focus",
        "Where words without an address go: /focus NAME or off",
        "Destinataire par défaut : /focus NOM ou off",
    ),
    entry(
        "digest",
        "What happened since the last digest",
        "Ce qui s'est passé depuis le dernier résumé",
    ),
    entry(
        "mute",
        "Keep a session from ringing: /mute NAME 2h",
        "Faire taire une session : /mute NOM 2h",
    ),
    entry("unmute", "Let a session ring again", "Laisser sonner une session"),
    entry("end", "End a session; it can be resumed", "Terminer une session ; elle peut reprendre"),
    entry("resume", "Go on with an ended session", "Reprendre une session terminée"),
    entry(
        "handover",
        "Another agent goes on with a story: /handover PD-285 AGENT",
        "Confier une story à un autre agent : /handover PD-285 AGENT",
    ),
    entry(
        "kill",
        "End a session at once, with all its processes",
        "Tuer une session et tous ses processus",
    ),
    entry(
        "cost",
        "What was spent: /cost NAME, or alone",
        "Ce qui a été dépensé : /cost NOM, ou seul",
    ),
    entry(
        "budget",
        "What a session or story may cost: /budget NAME 5, or more",
        "Ce qu'une session peut coûter : /budget NOM 5, ou more",
    ),
    entry("grants", "What was allowed for longer", "Ce qui reste autorisé"),
    entry(
        "revoke",
        "Take back what was allowed for longer: /revoke NUMBER",
        "Retirer une autorisation : /revoke NUMÉRO",
    ),
    entry("help", "How to write to sessions", "Comment écrire aux sessions"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_menu_of_telegram_takes_every_entry() {
        for MenuEntry { word, english, french } in MENU {
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            assert!((1..=32).contains(&word.len()) && word.bytes().all(plain), "{word}");
            for text in [english, french] {
                assert!((1..=256).contains(&text.chars().count()), "{word}");
            }
        }
    }
}
