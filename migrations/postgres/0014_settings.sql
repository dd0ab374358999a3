-- Settings of a space that somebody has set; `value` is JSON, `set_by` empty where nobody said a name.
create table settings (
    space   text   not null,
    key     text   not null,
    value   text   not null,
    seq     bigint not null,
    set_by  text   not null,
    updated bigint not null,
    primary key (space, key)
);
