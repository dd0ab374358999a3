-- Settings of a space that somebody has set; `value` is JSON, `set_by` empty where nobody said a name.
create table settings (
    space   text    not null,
    key     text    not null,
    value   text    not null,
    seq     integer not null,
    set_by  text    not null,
    updated integer not null,
    primary key (space, key)
) strict, without rowid;
