//! Which HTML passes, and which does not.

use matrix_lab::html::{check, says_the_same};

const GOOD: &[&str] = &[
    "",
    "plain &amp; simple &lt;b&gt; &quot;x&quot; &#39;y&#39;",
    "<p>one<br>two<br/>three</p><hr>",
    "<b>PD-285</b> <i>is <s>not</s></i> <em>done</em> <strong>yet</strong>",
    "<pre><code class=\"language-rust\">let x = &amp;y;\n</code></pre>",
    "<ul><li>one<ol start=\"3\"><li><p>two</p></li></ol></li></ul>",
    "<blockquote><p>said</p><blockquote>before</blockquote></blockquote>",
    "<a href=\"https://example.org/?a=1&amp;b=2\">there &gt; here</a>",
    "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>",
    "<details><summary>more</summary><p>hidden</p></details>",
    "<span data-mx-color=\"#ff0000\" data-mx-spoiler=\"\">red</span>",
    "<img src=\"mxc://example.org/x\" alt=\"a > b\" width=\"10\">",
];

const BAD: &[(&str, &str)] = &[
    ("<b>never", "never closed"),
    ("<b><i>x</b></i>", "closes"),
    ("</b>", "closes"),
    ("<b", "does not end"),
    ("a < b", "does not end"),
    ("a < b > c", "no tag"),
    ("a & b", "bare &"),
    ("&nosuch;", "bare &"),
    ("<script>x</script>", "no tag that clients show"),
    ("<B>x</B>", "no tag"),
    ("<b class=\"x\">x</b>", "not shown"),
    ("<b onclick=\"x\">x</b>", "not shown"),
    ("<a href=\"javascript:alert(1)\">x</a>", "not shown"),
    ("<a href=\"/relative\">x</a>", "not shown"),
    ("<a href=https://example.org>x</a>", "no attribute"),
    ("<a href=\"https://example.org\" href=\"https://example.com\">x</a>", "no attribute"),
    (
        "<a href=\"https://a.example.org\"><b><a href=\"https://b.example.org\">x</a></b></a>",
        "cannot stand",
    ),
    ("<code class=\"rust\">x</code>", "not shown"),
    ("<img src=\"https://example.org/x.png\">", "not shown"),
    ("<p><ul><li>x</li></ul></p>", "cannot stand"),
    ("<b><p>x</p></b>", "cannot stand"),
    ("<li>x</li>", "cannot stand"),
    ("<ul>x</ul>", "holds text"),
    ("<ul><b>x</b></ul>", "cannot stand"),
    ("<tr><td>x</td></tr>", "cannot stand"),
    ("<b/>", "closes itself"),
    ("<!-- x -->", "no tag"),
    ("bell \u{7}", "no sign"),
    ("<span data-mx-color=\"red\">x</span>", "not shown"),
];

#[test]
fn what_clients_show_passes() {
    for html in GOOD {
        assert_eq!(check(html), Ok(()), "{html}");
    }
}

#[test]
fn what_some_client_would_mend_does_not() {
    for (html, why) in BAD {
        let said = check(html).expect_err(html);
        assert!(said.contains(why), "{html}: {said}");
    }
    assert!(
        check(&format!("{}{}", "<blockquote>".repeat(101), "</blockquote>".repeat(101))).is_err()
    );
}

#[test]
fn plain_text_and_html_say_the_same() {
    let same = [
        ("**PD-285** is done", "<b>PD-285</b> is done"),
        ("1. one\n2. two", "<ol><li>one</li><li>two</li></ol>"),
        ("here (https://example.org/x)", "<a href=\"https://example.org/x\">here</a>"),
        ("```rust\nlet x;\n```", "<pre><code class=\"language-rust\">let x;</code></pre>"),
        ("a < b && c", "a &lt; b &amp;&amp; c"),
        ("one\ntwo", "one<br>two"),
    ];
    for (plain, html) in same {
        assert_eq!(says_the_same(plain, html), Ok(()), "{plain}");
    }
    let others = [
        ("approved", "denied"),
        ("rm -rf /", "rm -rf / <b>build</b>"),
        ("run it now", "run it"),
        ("two one", "one two"),
        ("onetwo", "one<br>two"),
    ];
    for (plain, html) in others {
        assert!(says_the_same(plain, html).is_err(), "{plain}");
    }
}
