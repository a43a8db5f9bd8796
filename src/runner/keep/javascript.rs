use super::Keeper;
use crate::runner::task::Left;
impl Keeper {
    pub(super) fn javascript(&mut self) -> Option<Left> { None }
}
