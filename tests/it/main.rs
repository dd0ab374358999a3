//! The black-box suite: the real binary, real sockets, a scripted model. One binary, one link.
