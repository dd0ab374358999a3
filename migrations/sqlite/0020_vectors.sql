-- Vectors that a model made of texts, by the hash of what it was sent; of all spaces together. They can be made again: nothing is lost with them.
create table vectors (
    model      text    not null,
    dimensions integer not null,
    sha256     blob    not null,
    bytes      blob    not null,
    primary key (model, dimensions, sha256)
) strict, without rowid;
