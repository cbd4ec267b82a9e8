//! The role of a column as an answer writes it.

use super::words;
use schemars::JsonSchema;
use scumble::table::Role;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

words! {
    /// What a column is to an adversary.
    pub enum RoleName {
        /// Names a person; dropped from every release.
        Identifier = "identifier",
        /// Known to an adversary who looks for a person; generalized.
        QuasiIdentifier = "quasi-identifier",
        /// What an adversary wants to learn; published unchanged, protected by the models.
        Sensitive = "sensitive",
        /// Neither; published unchanged.
        Insensitive = "insensitive",
        /// Each of its values is observable or sensitive by itself; generalized.
        Freeform = "freeform",
        /// How a person wants a sensitive attribute guarded; not published.
        Guard = "guard",
    }
}

/// Writes a role.
pub fn serialize<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role.name())
}

/// Reads a role.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    Ok(match RoleName::deserialize(deserializer)? {
        RoleName::Identifier => Role::Identifier,
        RoleName::QuasiIdentifier => Role::QuasiIdentifier,
        RoleName::Sensitive => Role::Sensitive,
        RoleName::Insensitive => Role::Insensitive,
        RoleName::Freeform => Role::Freeform,
        RoleName::Guard => Role::Guard,
    })
}
