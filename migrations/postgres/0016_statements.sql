-- Statements of the world model as they stand now; names and texts are folded where they are compared, the text as its hash.
create table statements (
    space      text collate "C" not null,
    id         text collate "C" not null,
    number     bigint not null,
    thread     text collate "C" not null,
    claim      text not null,
    folded     text collate "C" not null,
    subject    text collate "C" not null,
    relation   text collate "C" not null,
    object     text collate "C" not null,
    triple     text not null,
    valid_from bigint,
    valid_to   bigint,
    status     text collate "C" not null,
    judged     text not null,
    due        bigint,
    tested     bigint,
    premises   text not null,
    sources    text not null,
    claimed    bigint not null,
    changed    bigint not null,
    primary key (space, id)
);
create index statements_by_number on statements (space, number);
create index statements_due on statements (space, due);
create index statements_saying on statements (space, folded);
create index statements_about on statements (space, subject, relation);
create index statements_of on statements (space, object);
-- What each was before: what was held as of an event.
create table standings (
    space      text collate "C" not null,
    id         text collate "C" not null,
    seq        bigint not null,
    status     text collate "C" not null,
    valid_from bigint,
    valid_to   bigint,
    primary key (space, id, seq)
);
