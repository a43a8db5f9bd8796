-- What people allowed for longer than one request. (`grant` is a word of SQL elsewhere.)
CREATE TABLE permit (
    number INTEGER PRIMARY KEY,
    body   TEXT NOT NULL
) STRICT;
