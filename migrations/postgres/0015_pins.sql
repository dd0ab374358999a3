-- What models are told of the tools of other servers, by its hash; `approved_by` empty where it was the first time.
create table pins (
    space       text   not null,
    tool        text   not null,
    server      text   not null,
    sha256      text   not null,
    event       text   not null,
    seq         bigint not null,
    approved_by text   not null,
    updated     bigint not null,
    primary key (space, tool)
);
