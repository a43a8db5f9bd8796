//! The page for who is not signed in yet; the web part decides, this only looks like the rest.

const PAGE: &str = include_str!("../page/login.html");

/// The login page. Its form posts the field `code` to `/login`. `message` says why the last try
/// failed; whatever is in it shows as text.
pub fn login_page(message: Option<&str>) -> String {
    let message = message.map_or_else(String::new, |message| {
        format!("<p class=\"error\" role=\"alert\">{}</p>", escape(message))
    });
    PAGE.replace("<!--message-->", &message)
}

fn escape(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, c| {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::login_page;

    #[test]
    fn a_message_shows_as_text() {
        let page = login_page(Some("<img src=x onerror=\"alert('1')\">&"));
        assert!(page.contains("&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;</p>"));
        assert!(!login_page(None).contains("role=\"alert\""));
    }
}
