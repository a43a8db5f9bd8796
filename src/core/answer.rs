//! Whether a message is an answer to a gate: only when the whole message is one. Words inside a
//! sentence never decide.

use crate::{id::GateCode, nearest::nearest};

/// What a message says to a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    Allow {
        code: Option<GateCode>,
    },
    Deny {
        code: Option<GateCode>,
        reason: Option<String>,
    },
    /// Everything that is open; to be confirmed before it counts.
    AllowAll,
    AllowForSession {
        code: Option<GateCode>,
    },
    /// Also for what is like it, for some hours.
    AllowForHours {
        code: Option<GateCode>,
    },
    /// A yes by its code, and what is said with it. Only workflows take that.
    AllowWith {
        code: GateCode,
        words: String,
    },
    /// What should change before it is asked again. Only workflows take that.
    Back {
        code: Option<GateCode>,
        words: String,
    },
    /// Options of a question, from 1, in the order written.
    Option {
        code: Option<GateCode>,
        numbers: Vec<usize>,
    },
    /// Nearly an answer: ask, and decide nothing.
    Unclear {
        did_you_mean: String,
    },
    NotAnAnswer,
}

/// An answer that names nothing: it is for whatever was asked there last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare<'a> {
    Yes,
    No,
    /// From 1, in the order written.
    Numbers(&'a [usize]),
}

impl Reading {
    /// `None`: it names something, says more, or is no answer.
    pub fn bare(&self) -> Option<Bare<'_>> {
        match self {
            Self::Allow { code: None } => Some(Bare::Yes),
            Self::Deny { code: None, reason: None } => Some(Bare::No),
            Self::Option { code: None, numbers } => Some(Bare::Numbers(numbers)),
            Self::Allow { .. }
            | Self::Deny { .. }
            | Self::Option { .. }
            | Self::AllowAll
            | Self::AllowForSession { .. }
            | Self::AllowForHours { .. }
            | Self::AllowWith { .. }
            | Self::Back { .. }
            | Self::Unclear { .. }
            | Self::NotAnAnswer => None,
        }
    }
}

/// What a reaction says to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reacted {
    Yes,
    No,
    /// That option, from 1.
    Option(usize),
}

/// Reactions that say yes or no in any language, without variation selectors and skin tones.
const YES: [&str; 3] = ["👍", "✅", "✔"];
const NO: [&str; 3] = ["👎", "❌", "✖"];

/// Reads a reaction; `None`: it is no answer.
pub fn reacted(emoji: &str) -> Option<Reacted> {
    let folded = fold(emoji.trim());
    let is = |all: &[&str]| all.contains(&folded.as_str());
    match folded.as_str() {
        _ if is(&YES) => Some(Reacted::Yes),
        _ if is(&NO) => Some(Reacted::No),
        "🔟" => Some(Reacted::Option(10)),
        digit if digit.len() == 1 => {
            digit.parse().ok().filter(|number| *number > 0).map(Reacted::Option)
        }
        _ => None,
    }
}

/// The answer words of the languages a person uses.
#[derive(Clone, Debug)]
pub struct Words {
    languages: Vec<&'static Language>,
}

#[derive(Debug)]
struct Language {
    tag: &'static str,
    allow: &'static [&'static str],
    deny: &'static [&'static str],
    all: &'static [&'static str],
    /// What follows an allow word to make it last.
    for_session: &'static [&'static str],
    /// The same for as long as grants last.
    for_hours: &'static [&'static str],
    /// Before what should change.
    back: &'static [&'static str],
}

/// In lower case, apostrophes straight, without final punctuation. The first word of each list is
/// the one that is suggested.
const LANGUAGES: &[Language] = &[
    Language {
        tag: "en",
        allow: &["approve", "yes", "y", "ok", "okay", "lgtm", "👍"],
        deny: &["deny", "no", "n", "👎"],
        all: &["approve all", "approve everything"],
        for_session: &["for this session", "for the session"],
        for_hours: &["for 8 h", "for 8h", "for 8 hours"],
        back: &["back"],
    },
    Language {
        tag: "fr",
        allow: &["approuver", "approuve", "oui", "ok", "d'accord"],
        deny: &["refuser", "refuse", "non"],
        all: &["tout approuver", "approuver tout", "approuve tout"],
        for_session: &["pour cette session", "pour la session"],
        for_hours: &["pour 8 h", "pour 8h", "pour 8 heures"],
        back: &["renvoyer", "renvoie"],
    },
    Language {
        tag: "de",
        allow: &["genehmigen", "ja", "ok", "okay"],
        deny: &["ablehnen", "nein"],
        all: &["alle genehmigen", "alles genehmigen"],
        for_session: &["für diese sitzung", "für diese session"],
        for_hours: &["für 8 h", "für 8h", "für 8 stunden"],
        back: &["zurück"],
    },
    Language {
        tag: "es",
        allow: &["aprobar", "sí", "si", "vale", "ok"],
        deny: &["denegar", "rechazar", "no"],
        all: &["aprobar todo"],
        for_session: &["para esta sesión", "para esta sesion"],
        for_hours: &["durante 8 h", "por 8 horas"],
        back: &["devolver"],
    },
    Language {
        tag: "it",
        allow: &["approvare", "approva", "sì", "si", "ok"],
        deny: &["negare", "rifiuta", "no"],
        all: &["approva tutto", "approvare tutto"],
        for_session: &["per questa sessione"],
        for_hours: &["per 8 h", "per 8 ore"],
        back: &["indietro"],
    },
    Language {
        tag: "pt",
        allow: &["aprovar", "sim", "ok"],
        deny: &["negar", "recusar", "não", "nao"],
        all: &["aprovar tudo"],
        for_session: &["para esta sessão", "para esta sessao"],
        for_hours: &["por 8 h", "por 8 horas"],
        back: &["devolver"],
    },
    Language {
        tag: "nl",
        allow: &["goedkeuren", "ja", "ok", "oké"],
        deny: &["weigeren", "nee"],
        all: &["alles goedkeuren"],
        for_session: &["voor deze sessie"],
        for_hours: &["voor 8 h", "voor 8 uur"],
        back: &["terug"],
    },
];

/// Most options of a question a message may choose, and the highest number of one.
const MOST_OPTIONS: usize = 20;

impl Words {
    /// Words of these languages (`en`, `fr-CA`). Unknown ones add nothing; with none left it is English.
    pub fn for_languages(tags: &[&str]) -> Self {
        let mut languages: Vec<&'static Language> = tags
            .iter()
            .filter_map(|tag| {
                let tag = tag.split(['-', '_']).next().unwrap_or_default();
                LANGUAGES.iter().find(|language| language.tag.eq_ignore_ascii_case(tag))
            })
            .collect();
        if languages.is_empty() {
            languages.push(&LANGUAGES[0]);
        }
        Self { languages }
    }

    /// Tags of the languages there are words for.
    pub fn known_languages() -> impl Iterator<Item = &'static str> {
        LANGUAGES.iter().map(|language| language.tag)
    }

    fn any(&self, list: impl Fn(&'static Language) -> &'static [&'static str], text: &str) -> bool {
        self.languages.iter().any(|language| list(language).contains(&text))
    }

    fn allows(&self, text: &str) -> bool {
        self.any(|language| language.allow, text)
    }

    fn denies(&self, text: &str) -> bool {
        self.any(|language| language.deny, text)
    }
}

/// Whether `code` can be typed as an answer's code: it holds a digit. Codes of letters alone spell
/// words (`DENY`, `THAT`, `NEXT`), so they are never read as codes, and whoever draws a code draws
/// again until this holds.
pub fn can_be_typed(code: &GateCode) -> bool {
    code.as_str().bytes().any(|b| b.is_ascii_digit())
}

/// Reads a whole message: trimmed, in any case, without `.`, `!` or `…` at its end. A question mark
/// makes it a question. Forwarded or quoted text must not come here.
pub fn read(text: &str, words: &Words) -> Reading {
    let said = Said::new(text);
    if said.tokens.is_empty() || said.tokens.len() > 400 {
        return Reading::NotAnAnswer;
    }
    let (code, rest) = said.without_code();
    options(&rest, code.as_ref())
        .or_else(|| whole(&rest, code.as_ref(), words))
        .or_else(|| denial(&said, words))
        .or_else(|| back(&said, words))
        .or_else(|| approval(&said, words))
        .or_else(|| nearly(&rest, words))
        .unwrap_or(Reading::NotAnAnswer)
}

/// `approve ZZZZ`: a word that answers, and something that is written as a code is and is none, since it
/// holds no digit. Those four letters.
pub fn unreadable_code(text: &str, words: &Words) -> Option<String> {
    let mut said = text.split_whitespace();
    let (word, code, more) = (said.next()?, said.next()?, said.next());
    let word = fold(word);
    let answers = word.chars().count() >= 4 && (words.allows(&word) || words.denies(&word));
    let written = code.len() == 4 && code.bytes().all(|b| b.is_ascii_uppercase());
    (answers && written && more.is_none()).then(|| code.to_owned())
}

/// A message in its tokens, folded, with what is left of the original behind each.
struct Said<'a> {
    tokens: Vec<(String, &'a str)>,
}

impl<'a> Said<'a> {
    fn new(text: &'a str) -> Self {
        let text = text.trim().trim_end_matches(['.', '!', '…', '。', '！']).trim_end();
        let mut tokens = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
            rest = after.trim_start();
            tokens.push((fold(word), rest));
        }
        Self { tokens }
    }

    /// A code as the last, the first, or the second word, and the message without it.
    fn without_code(&self) -> (Option<GateCode>, String) {
        let words: Vec<&str> = self.tokens.iter().map(|(word, _)| word.as_str()).collect();
        let places = [words.len() - 1, 0, 1.min(words.len() - 1)];
        let found = places
            .into_iter()
            .filter(|_| words.len() > 1)
            .find_map(|at| Some((at, code(words[at])?)));
        let Some((at, code)) = found else { return (None, words.join(" ")) };
        let mut rest: Vec<&str> = words[..at].iter().chain(&words[at + 1..]).copied().collect();
        if let Some(before) = at.checked_sub(1).and_then(|at| rest.get_mut(at)) {
            *before = before.trim_end_matches(','); // "yes, K7Q2"
        }
        (Some(code), rest.join(" "))
    }
}

fn fold(word: &str) -> String {
    // Backticks are how apps write what should look as typed.
    let shown = |c: &char| !matches!(c, '`' | '\u{FE0F}' | '\u{20E3}' | '\u{1F3FB}'..='\u{1F3FF}');
    word.to_lowercase().chars().filter(shown).map(|c| if c == '’' { '\'' } else { c }).collect()
}

fn code(word: &str) -> Option<GateCode> {
    GateCode::parse(word.trim_matches('`').trim_end_matches([',', ':'])).filter(can_be_typed)
}

/// `2`, `1, 3`, `1 and 3` is not: numbers, commas and blanks only.
fn options(text: &str, code: Option<&GateCode>) -> Option<Reading> {
    let words: Vec<&str> = text.split([',', ' ']).filter(|word| !word.is_empty()).collect();
    let number = |word: &&str| {
        let digits = word.len() <= 2 && word.bytes().all(|b| b.is_ascii_digit());
        word.parse().ok().filter(|number| digits && (1..=MOST_OPTIONS).contains(number))
    };
    let mut numbers: Vec<usize> = words.iter().map(number).collect::<Option<_>>()?;
    let mut seen = Vec::new();
    numbers.retain(|number| {
        !seen.contains(number) && {
            seen.push(*number);
            true
        }
    });
    (!numbers.is_empty()).then(|| Reading::Option { code: code.cloned(), numbers })
}

fn whole(text: &str, code: Option<&GateCode>, words: &Words) -> Option<Reading> {
    let code = code.cloned();
    if words.allows(text) {
        return Some(Reading::Allow { code });
    }
    if words.denies(text) {
        return Some(Reading::Deny { code, reason: None });
    }
    if code.is_none() && words.any(|language| language.all, text) {
        return Some(Reading::AllowAll);
    }
    let lasting = words.languages.iter().any(|language| {
        language.for_session.iter().any(|ending| {
            text.strip_suffix(ending).is_some_and(|start| words.allows(start.trim_end()))
        })
    });
    if lasting {
        return Some(Reading::AllowForSession { code });
    }
    let for_hours = words.languages.iter().any(|language| {
        language.for_hours.iter().any(|ending| {
            text.strip_suffix(ending).is_some_and(|start| words.allows(start.trim_end()))
        })
    });
    for_hours.then_some(Reading::AllowForHours { code })
}

/// `deny: reason`, `deny K7Q2 reason`, `deny K7Q2: reason`, `K7Q2 deny: reason`.
fn denial(said: &Said<'_>, words: &Words) -> Option<Reading> {
    let mut found = code(&said.tokens.first()?.0);
    let at = usize::from(found.is_some());
    let (word, behind) = said.tokens.get(at)?;
    let mut reason: &str = behind;
    let mut announced = word.ends_with(':');
    if !words.denies(word.trim_end_matches([':', ','])) {
        return None;
    }
    if let (None, Some((next, behind))) = (&found, said.tokens.get(at + 1)) {
        if next == ":" {
            (announced, reason) = (true, behind);
        } else if !announced && let Some(code) = code(next) {
            (found, announced, reason) =
                (Some(code), true, behind.trim_start_matches([':', ',']).trim_start());
        }
    }
    (announced && (!reason.is_empty() || word.ends_with(':'))).then(|| Reading::Deny {
        code: found,
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
    })
}

/// `back: words`, `back K7Q2 words`, `back K7Q2: words`.
fn back(said: &Said<'_>, words: &Words) -> Option<Reading> {
    let (word, behind) = said.tokens.first()?;
    if !words.any(|language| language.back, word.trim_end_matches(':')) {
        return None;
    }
    let mut found = None;
    let mut rest: &str = behind;
    if let Some((next, behind)) = said.tokens.get(1)
        && !word.ends_with(':')
    {
        found = Some(code(next)?);
        rest = behind.trim_start_matches([':', ',']).trim_start();
    }
    (!rest.is_empty()).then(|| Reading::Back { code: found, words: rest.to_owned() })
}

/// `approve K7Q2 looks good`, `approve K7Q2: looks good`.
fn approval(said: &Said<'_>, words: &Words) -> Option<Reading> {
    let (word, _) = said.tokens.first()?;
    let (next, behind) = said.tokens.get(1)?;
    let code = code(next).filter(|_| words.allows(word.trim_end_matches(',')))?;
    let rest = behind.trim_start_matches([':', ',']).trim_start();
    let all = fold(&format!("{word} {rest}")); // one code and everything: nobody knows which is meant
    let one = !rest.is_empty() && !words.any(|language| language.all, &all);
    one.then(|| Reading::AllowWith { code, words: rest.to_owned() })
}

/// One word that a slip of the finger keeps from being an answer. Short words have too many neighbours.
fn nearly(text: &str, words: &Words) -> Option<Reading> {
    if !text.chars().all(|c| c.is_alphabetic() || c == '\'') || text.chars().count() < 4 {
        return None;
    }
    let long = |word: &&&'static str| word.chars().count() >= 4;
    let lists =
        words.languages.iter().flat_map(|language| language.allow.iter().chain(language.deny));
    let found = nearest(text, lists.filter(long).copied(), 1);
    let word = found.first().filter(|word| one_slip(text, word))?;
    Some(Reading::Unclear { did_you_mean: (*word).to_owned() })
}

fn one_slip(text: &str, word: &str) -> bool {
    let swapped = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let slips = strsim::damerau_levenshtein(text, word);
    slips == 1 && (word.chars().count() > 4 || swapped(text) == swapped(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn english(text: &str) -> Reading {
        read(text, &Words::for_languages(&["en"]))
    }

    #[test]
    fn a_word_of_another_language_needs_that_language() {
        assert_eq!(english("oui"), Reading::NotAnAnswer);
        let both = Words::for_languages(&["en", "fr-CA", "tlh"]);
        assert_eq!(read("D’accord !", &both), Reading::Allow { code: None });
        assert_eq!(read("yes", &Words::for_languages(&["tlh"])), Reading::Allow { code: None });
    }

    #[test]
    fn what_is_written_as_code_answers_all_the_same() {
        let code = GateCode::parse("K7Q2");
        assert_eq!(english("`approve K7Q2` for this session"), Reading::AllowForSession { code });
        assert_eq!(english("`yes`"), Reading::Allow { code: None });
    }

    #[test]
    fn what_is_written_as_a_code_and_can_be_none_is_told_from_words() {
        let words = Words::for_languages(&["en"]);
        let of = |text: &str| unreadable_code(text, &words);
        assert_eq!(of("approve ZZZZ"), Some("ZZZZ".into()));
        for text in ["approve that", "no THAT", "deny DENY it", "approve", "approve K7Q2"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn codes_that_spell_words_are_none() {
        assert!(!can_be_typed(&GateCode::parse("DENY").unwrap()));
        assert_eq!(english("no that"), Reading::NotAnAnswer);
        assert_eq!(english("deny DENY"), Reading::NotAnAnswer);
    }

    #[test]
    fn every_table_is_folded_and_says_one_thing() {
        for language in LANGUAGES {
            for word in language
                .allow
                .iter()
                .chain(language.deny)
                .chain(language.all)
                .chain(language.for_session)
                .chain(language.back)
            {
                let folded: Vec<String> = word.split(' ').map(fold).collect();
                assert_eq!(folded.join(" "), *word, "{}", language.tag);
            }
            assert!(
                !language.allow.iter().any(|word| language.deny.contains(word)),
                "{}",
                language.tag
            );
        }
    }

    proptest! {
        #[test]
        fn a_sentence_never_allows(words in proptest::collection::vec("[a-z]{5,9}", 1..6), at in 0_usize..6) {
            let mut words = words;
            words.insert(at.min(words.len()), "ok".into());
            let read = english(&words.join(" "));
            prop_assert!(!matches!(read, Reading::Allow { .. } | Reading::AllowAll), "{:?}", read);
        }

        #[test]
        fn a_typed_code_comes_back(random in any::<u32>(), first in any::<bool>()) {
            let code = GateCode::from_random(random);
            prop_assert!(can_be_typed(&code));
            let text = if first { format!("{code} yes") } else { format!("Yes, {code}!") };
            prop_assert_eq!(english(&text), Reading::Allow { code: Some(code) });
        }

        #[test]
        fn nothing_panics(text in "(deny|yes|K7Q2|:|,|\\PC| |\n|2){0,12}") {
            let _ = english(&text);
        }
    }
}
