//! Equal shares of a thing that several want more of than there is. Pure.

/// Returns the most that each may have for all to have so much together: one that wants less than
/// an equal share leaves the rest of it to the others. `usize::MAX`: there is enough.
pub fn level(most: usize, mut sizes: Vec<usize>) -> usize {
    sizes.sort_unstable();
    let mut left = most;
    for (at, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - at);
        if *size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_less_than_an_equal_share_leaves_the_rest_to_the_others() {
        assert_eq!(level(100, vec![]), usize::MAX);
        assert_eq!(level(100, vec![70, 30]), usize::MAX);
        assert_eq!(level(100, vec![101]), 100);
        assert_eq!(level(100, vec![90, 20]), 80);
        assert_eq!(level(100, vec![60, 10, 60]), 45);
        assert_eq!(level(55, vec![5, 100, 100]), 25);
        assert_eq!(level(3, vec![9; 4]), 0);
    }
}
