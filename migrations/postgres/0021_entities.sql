-- Merges of names, those that stand (ended = 0) and those that were undone: by these a statement is found under every name of what it is about.
create table merges (
    space     text collate "C" not null,
    id        text collate "C" not null,
    seq       bigint not null,
    names     text not null,
    reason    text not null,
    author    text not null,
    statement text collate "C" not null,
    made      bigint not null,
    ended     bigint not null,
    cut       bigint not null,
    changed   bigint not null,
    primary key (space, id)
);
create index merges_standing on merges (space, ended, seq);
create index merges_changed on merges (space, changed);
create index merges_of_statement on merges (space, statement);
