-- Merges of names, those that stand (ended = 0) and those that were undone: by these a statement is found under every name of what it is about.
create table merges (
    space     text    not null,
    id        text    not null,
    seq       integer not null,
    names     text    not null,
    reason    text    not null,
    author    text    not null,
    statement text    not null,
    made      integer not null,
    ended     integer not null,
    cut       integer not null,
    changed   integer not null,
    primary key (space, id)
) strict, without rowid;
create index merges_standing on merges (space, ended, seq);
create index merges_changed on merges (space, changed);
create index merges_of_statement on merges (space, statement);
