-- Statements of the world model as they stand now; names and texts are folded where they are compared, the text as its hash.
create table statements (
    space      text    not null,
    id         text    not null,
    number     integer not null,
    thread     text    not null,
    claim      text    not null,
    folded     text    not null,
    subject    text    not null,
    relation   text    not null,
    object     text    not null,
    triple     text    not null,
    valid_from integer,
    valid_to   integer,
    status     text    not null,
    judged     text    not null,
    due        integer,
    tested     integer,
    premises   text    not null,
    sources    text    not null,
    claimed    integer not null,
    changed    integer not null,
    primary key (space, id)
) strict, without rowid;
create index statements_by_number on statements (space, number);
create index statements_due on statements (space, due);
create index statements_saying on statements (space, folded);
create index statements_about on statements (space, subject, relation);
create index statements_of on statements (space, object);
-- What each was before: what was held as of an event.
create table standings (
    space      text    not null,
    id         text    not null,
    seq        integer not null,
    status     text    not null,
    valid_from integer,
    valid_to   integer,
    primary key (space, id, seq)
) strict, without rowid;
