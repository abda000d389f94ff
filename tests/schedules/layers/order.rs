//! The order of rooms that ARCHITECTURE.md draws.

/// Rooms from left to right.
pub(super) struct Order {
    rooms: Vec<String>,
    /// The number of pure rooms.
    pure: usize,
}

/// The room of a file of `src/`: the first part of its path.
pub(super) fn room(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

impl Order {
    /// The block of code that is headed `text order`: rooms from left to right, those that are pure
    /// before the bar.
    pub(super) fn read(page: &str) -> Self {
        let (_, block) = page.split_once("```text order\n").expect("ARCHITECTURE.md has an order");
        let (block, _) = block.split_once("```").unwrap();
        let (pure, world) = block.split_once('|').expect("a bar between the pure rooms and the others");
        let rooms = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let pure = rooms(pure);
        Self { pure: pure.len(), rooms: [pure, rooms(world)].concat() }
    }

    pub(super) fn rooms(&self) -> &[String] {
        &self.rooms
    }

    /// From 1; `lib.rs` is of no room, and has 0.
    pub(super) fn place(&self, file: &str) -> usize {
        self.rooms.iter().position(|known| known == room(file)).map_or(0, |place| place + 1)
    }

    pub(super) fn is_pure(&self, file: &str) -> bool {
        (1..=self.pure).contains(&self.place(file))
    }
}
