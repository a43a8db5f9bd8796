-- Whose identity is which: the master key that people are taken for, the first one seen or one that was
-- taken since.
create table identity (
    user  text primary key,
    known text not null
) strict;
