-- Frameworks of a space as they stand now; `body` and `tally` are JSON.
create table frameworks (
    space   text    not null,
    id      text    not null,
    name    text    not null,
    purpose text    not null,
    kind    text    not null,
    body    text    not null,
    tally   text    not null,
    changed integer not null,
    updated integer not null,
    primary key (space, id)
) strict, without rowid;
