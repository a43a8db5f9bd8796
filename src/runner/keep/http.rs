use super::Keeper;
use crate::runner::task::Left;
impl Keeper {
    pub(super) fn http(&mut self) -> Option<Left> { None }
}
