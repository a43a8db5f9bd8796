use super::Keeper;
use crate::runner::task::Left;
impl Keeper {
    pub(super) fn claude(&mut self) -> Option<Left> { None }
}
