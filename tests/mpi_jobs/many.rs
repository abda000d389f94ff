//! More ranks than cores, repeatedly.

use crate::job::Job;

#[test]
fn sixteen_ranks_start_and_end_ten_times() {
    for _ in 0..10 {
        let ended = Job::of(16, "connect").run().with(0);
        let places: Vec<String> = (0..16).map(|rank| format!("({rank}, 16)")).collect();
        assert_eq!(ended.all("is "), places);
    }
}
