-- Frameworks of a space as they stand now; `body` and `tally` are JSON.
create table frameworks (
    space   text collate "C" not null,
    id      text collate "C" not null,
    name    text not null,
    purpose text not null,
    kind    text collate "C" not null,
    body    text not null,
    tally   text not null,
    changed bigint not null,
    updated bigint not null,
    primary key (space, id)
);
