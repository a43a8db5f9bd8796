//! The ends of domains that make a word a link.

/// The countries' domains (ISO 3166, as delegated by IANA), among them the ends of source files:
/// `rs`, `md`, `sh`, `py`, `pl`, `cc`.
const COUNTRIES: &str = "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj \
    bm bn bo br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm \
    do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw \
    gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la \
    lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na \
    nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa \
    sb sc sd se sg sh si sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr \
    tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw";

/// Some of the others, again with those that end files.
const OTHERS: &str = "app biz blog build chat cloud codes com dev edu email fun gov info int jobs link live \
    mil mobi mov museum name net one online org page pro run shop site store systems tech tools travel wiki \
    work xyz zip";

/// Whether a word that ends so, without `http://`, becomes a link. A capital first letter alone is the
/// start of a sentence and makes none.
pub(super) fn makes_a_link(end: &str) -> bool {
    let lower = end.to_lowercase();
    if end != lower && end.chars().skip(1).eq(lower.chars().skip(1)) {
        return false;
    }
    COUNTRIES.split_whitespace().chain(OTHERS.split_whitespace()).any(|tld| tld == lower)
}
