use super::Machine;
use crate::domain::workflow::Program;
impl Machine {
    pub fn upgrade(&mut self, _program: Program) -> Result<Vec<String>, Vec<String>> {
        Ok(Vec::new())
    }
}
