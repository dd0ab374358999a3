-- Vectors that a model made of texts, by the hash of what it was sent; of all spaces together. They can be made again: nothing is lost with them.
create table vectors (
    model      text   not null,
    dimensions bigint not null,
    sha256     bytea  not null,
    bytes      bytea  not null,
    primary key (model, dimensions, sha256)
);
