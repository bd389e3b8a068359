//! Blocks of path records of a few sizes, cut from pages that all sizes share.
//!
//! A page holds blocks of one size; when its last block is given back it may serve any size again. So memory follows what
//! is live, also when a second and a third peer announce everything and every block grows. A page takes 32 KiB; a block
//! wastes nothing up to 8 records and a fifth at most above.

use super::paths::Path;

/// Which size a block has: an index into [`CAPACITIES`].
pub(super) type Class = u8;

/// Blocks of records.
#[derive(Debug)]
pub(super) struct Slab {
    records: Vec<Path>,
    pages: Vec<Page>,
    /// Pages without a block in use.
    empty: Vec<u32>,
    /// For each class the first page that has a free block; the pages form a list.
    open: [u32; CLASSES],
}

#[derive(Copy, Clone, Debug)]
struct Page {
    class: Class,
    used: u16,
    /// Blocks that were never in use begin here.
    fresh: u16,
    /// The first block that was given back, as its number in the page; the blocks form a list through their records.
    free: u16,
    previous: u32,
    next: u32,
}

impl Slab {
    /// Nothing.
    pub(super) const fn new() -> Self {
        Self {
            records: Vec::new(),
            pages: Vec::new(),
            empty: Vec::new(),
            open: [NO_PAGE; CLASSES],
        }
    }

    /// A block of a class; returns where it starts. What is in it is not defined.
    pub(super) fn allocate(&mut self, class: Class) -> u32 {
        let open = self.open[usize::from(class)];
        let number = if open == NO_PAGE {
            self.open_page(class)
        } else {
            open
        };
        let capacity = capacity(class);
        let page = &mut self.pages[number as usize];
        let block = if page.free == NO_BLOCK {
            page.fresh += 1;
            page.fresh - 1
        } else {
            page.free
        };
        let start = number as usize * PAGE + usize::from(block) * capacity;
        if block == page.free {
            page.free = next_free(&self.records[start]);
        }
        page.used += 1;
        if usize::from(page.used) == PAGE / capacity {
            self.unlink(number);
        }
        u32::try_from(start).expect("fewer than 2^32 paths fit in memory")
    }

    /// Gives a block back.
    pub(super) fn free(&mut self, class: Class, start: u32) {
        let start = start as usize;
        let number = u32::try_from(start / PAGE).expect("it was allocated");
        let capacity = capacity(class);
        let page = &mut self.pages[number as usize];
        let was_full = usize::from(page.used) == PAGE / capacity;
        page.used -= 1;
        let block = u16::try_from(start % PAGE / capacity).expect("a page has fewer blocks");
        self.records[start] = Path {
            path_id: page.free.into(),
            ..Path::EMPTY
        };
        page.free = block;
        let unused = page.used == 0;
        match (was_full, unused) {
            (true, false) => self.link(number),
            (false, true) => self.unlink(number),
            _ => {}
        }
        if unused {
            self.empty.push(number);
        }
    }

    /// The first `len` records of a block.
    pub(super) fn get(&self, start: u32, len: usize) -> &[Path] {
        &self.records[start as usize..start as usize + len]
    }

    /// The same, to change them.
    pub(super) fn get_mut(&mut self, start: u32, len: usize) -> &mut [Path] {
        &mut self.records[start as usize..start as usize + len]
    }

    /// Copies the first `len` records of one block into another.
    pub(super) fn copy(&mut self, from: u32, to: u32, len: usize) {
        let from = from as usize;
        self.records.copy_within(from..from + len, to as usize);
    }

    fn open_page(&mut self, class: Class) -> u32 {
        let page = Page {
            class,
            used: 0,
            fresh: 0,
            free: NO_BLOCK,
            previous: NO_PAGE,
            next: NO_PAGE,
        };
        let number = if let Some(number) = self.empty.pop() {
            self.pages[number as usize] = page;
            number
        } else {
            self.pages.push(page);
            self.records.resize(self.pages.len() * PAGE, Path::EMPTY);
            u32::try_from(self.pages.len() - 1).expect("fewer than 2^32 pages fit in memory")
        };
        self.link(number);
        number
    }

    fn link(&mut self, number: u32) {
        let class = usize::from(self.pages[number as usize].class);
        let next = std::mem::replace(&mut self.open[class], number);
        let page = &mut self.pages[number as usize];
        page.previous = NO_PAGE;
        page.next = next;
        if let Some(next) = self.pages.get_mut(next as usize) {
            next.previous = number;
        }
    }

    fn unlink(&mut self, number: u32) {
        let Page {
            class,
            previous,
            next,
            ..
        } = self.pages[number as usize];
        if let Some(next) = self.pages.get_mut(next as usize) {
            next.previous = previous;
        }
        match self.pages.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => self.open[usize::from(class)] = next,
        }
    }

    /// Records that are cut into blocks, free or not.
    #[cfg(test)]
    fn taken(&self) -> usize {
        (self.pages.len() - self.empty.len()) * PAGE
    }
}

impl Default for Slab {
    fn default() -> Self {
        Self::new()
    }
}

/// The smallest class that holds so many records; `None` when there is none.
pub(super) fn class_for(len: usize) -> Option<Class> {
    let class = CAPACITIES.partition_point(|capacity| usize::from(*capacity) < len);
    Class::try_from(class)
        .ok()
        .filter(|class| usize::from(*class) < CLASSES)
}

/// Records in a block of a class.
pub(super) const fn capacity(class: Class) -> usize {
    CAPACITIES[class as usize] as usize
}

fn next_free(record: &Path) -> u16 {
    u16::try_from(record.path_id).unwrap_or(NO_BLOCK)
}

/// Each at most a quarter more than the one before, from 8 on.
const CAPACITIES: [u16; 33] = [
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160,
    186, 227, 256, 292, 341, 409, 512, 682,
];
const CLASSES: usize = CAPACITIES.len();
/// Records in a page.
const PAGE: usize = 2048;
const NO_PAGE: u32 = u32::MAX;
const NO_BLOCK: u16 = u16::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_say() {
        for len in 1..=682 {
            let class = class_for(len).expect("a class");
            assert!(capacity(class) >= len);
            assert!(class == 0 || capacity(class - 1) < len);
        }
        assert_eq!(class_for(683), None);
    }

    #[test]
    fn blocks_never_overlap() {
        let mut slab = Slab::new();
        let mut blocks = Vec::new();
        for round in 0..2000_u32 {
            let class = Class::try_from(round as usize * 7 % CLASSES).expect("few classes");
            let start = slab.allocate(class);
            let mark = Path {
                path_id: round,
                ..Path::EMPTY
            };
            slab.get_mut(start, capacity(class)).fill(mark);
            blocks.push((class, start, round));
            if round % 3 == 0 {
                let (class, start, _) = blocks.swap_remove(round as usize * 31 % blocks.len());
                slab.free(class, start);
            }
        }
        for (class, start, mark) in blocks {
            assert!(
                slab.get(start, capacity(class))
                    .iter()
                    .all(|path| path.path_id == mark)
            );
            slab.free(class, start);
        }
        assert_eq!(slab.taken(), 0);
    }

    #[test]
    fn memory_of_one_size_serves_another() {
        let mut slab = Slab::new();
        let mut blocks: Vec<_> = (0..100_000).map(|_| slab.allocate(0)).collect();
        for class in 1..8 {
            for block in &mut blocks {
                let larger = slab.allocate(class);
                slab.free(class - 1, *block);
                *block = larger;
            }
            let live = blocks.len() * capacity(class);
            assert!(
                slab.taken() < live + live / 4,
                "{} for {live}",
                slab.taken()
            );
            assert!(slab.records.len() < 2 * live + PAGE);
        }
    }
}
