//! The public keys of an issuer, as its JWKS document has them. The key alone says which signatures
//! it verifies, and how.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Most keys of a document.
const KEYS_MAX: usize = 100;
/// Most bytes of a key's name.
pub const KID_MAX: usize = 255;
/// Bytes of an RSA modulus: 2048 to 8192 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 256..=1024;

/// The keys in force at one time.
#[derive(Default)]
pub struct KeySet {
    keys: Vec<Arc<Key>>,
    /// The number of the next new key.
    next: u32,
}

/// A key that verifies signatures.
pub struct Key {
    /// Its number, which no other key of this process ever has.
    pub number: u32,
    /// Its name in the headers of tokens.
    kid: Option<String>,
    material: Material,
    /// The key itself.
    pub decoding: DecodingKey,
    /// The checks for a token that this key has signed.
    pub validation: Validation,
    /// Cancelled when the issuer does not have it any more.
    pub gone: CancellationToken,
}

/// The material of a key, to be compared.
#[derive(PartialEq, Eq, Clone)]
enum Material {
    Rsa(Algorithm, Vec<u8>, Vec<u8>),
    Ec(Algorithm, Vec<u8>, Vec<u8>),
    Ed(Vec<u8>),
}

/// A key as a document writes it; of the members that there may be, those that count here.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl KeySet {
    /// The keys of a document. One that was there keeps its number. Keys of other kinds and purposes are left out; a document without
    /// any that can be used is refused, in words for the operator.
    pub fn read(&self, document: &[u8], validation: &Validation) -> Result<Self, String> {
        // The error's own words would quote the document.
        let Document { keys } = serde_json::from_slice(document)
            .map_err(|error| format!("it is no JWKS document, from line {} on", error.line()))?;
        let count = keys.len();
        if count > KEYS_MAX {
            return Err(format!("it has {count} keys; {KEYS_MAX} is most"));
        }
        let mut set = Self {
            keys: Vec::new(),
            next: self.next,
        };
        let read = |key| serde_json::from_value::<Jwk>(key).ok();
        for jwk in keys.into_iter().filter_map(read) {
            let Some(material) = jwk.material() else {
                continue;
            };
            // Of two with one name the first one counts.
            if !set.keys.iter().any(|key| key.kid == jwk.kid) {
                set.add(self, jwk.kid, material, validation);
            }
        }
        if set.keys.is_empty() {
            let usable = "signatures by RSA (2048 to 8192 bits), P-256, P-384 or Ed25519";
            let why = format!("none of its {count} keys is a public one for {usable}");
            return Err(why);
        }
        Ok(set)
    }

    fn add(
        &mut self,
        before: &Self,
        kid: Option<String>,
        material: Material,
        validation: &Validation,
    ) {
        let is_it = |key: &&Arc<Key>| key.kid == kid && key.material == material;
        let kept = before.keys.iter().find(is_it);
        let key = kept.cloned().unwrap_or_else(|| {
            self.next += 1;
            Arc::new(Key::new(self.next - 1, kid, material, validation))
        });
        self.keys.push(key);
    }

    /// The key of this name. A token without one means the only key there is.
    pub fn find(&self, kid: Option<&str>) -> Option<&Arc<Key>> {
        match kid {
            Some(kid) => self.keys.iter().find(|key| key.kid.as_deref() == Some(kid)),
            None => self.keys.first().filter(|_| self.keys.len() == 1),
        }
    }

    /// The key of this number.
    pub fn numbered(&self, number: u32) -> Option<&Arc<Key>> {
        self.keys.iter().find(|key| key.number == number)
    }

    /// Tells the clients that came in by keys which the later set does not have.
    pub fn yields_to(&self, later: &Self) {
        let is_gone = |key: &&Arc<Key>| later.numbered(key.number).is_none();
        let gone = self.keys.iter().filter(is_gone);
        gone.for_each(|key| key.gone.cancel());
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }
}

impl Jwk {
    /// The key itself; none: of no use here.
    fn material(&self) -> Option<Material> {
        let signs = (self.purpose.as_deref()).is_none_or(|purpose| purpose == "sig");
        let verifies = |all: &Vec<String>| all.iter().any(|op| op == "verify");
        let verifies = self.key_ops.as_ref().is_none_or(verifies);
        let named = self.kid.as_ref().is_none_or(|kid| kid.len() <= KID_MAX);
        if !(signs && verifies && named) {
            return None;
        }
        let alg = self.alg.as_deref();
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", None) => {
                let algorithm = match alg.unwrap_or("RS256") {
                    "RS256" => Algorithm::RS256,
                    "RS384" => Algorithm::RS384,
                    "RS512" => Algorithm::RS512,
                    "PS256" => Algorithm::PS256,
                    "PS384" => Algorithm::PS384,
                    "PS512" => Algorithm::PS512,
                    _ => return None,
                };
                let n = unsigned(self.n.as_deref())?;
                let e = unsigned(self.e.as_deref())?;
                let fits = MODULUS.contains(&n.len());
                fits.then_some(Material::Rsa(algorithm, n, e))
            }
            ("EC", Some("P-256")) if alg.is_none_or(|alg| alg == "ES256") => {
                self.point(Algorithm::ES256, 32)
            }
            ("EC", Some("P-384")) if alg.is_none_or(|alg| alg == "ES384") => {
                self.point(Algorithm::ES384, 48)
            }
            ("OKP", Some("Ed25519"))
                if alg.is_none_or(|alg| matches!(alg, "EdDSA" | "Ed25519")) =>
            {
                let x = bytes(self.x.as_deref()).filter(|x| x.len() == 32);
                x.map(Material::Ed)
            }
            _ => None,
        }
    }

    fn point(&self, algorithm: Algorithm, size: usize) -> Option<Material> {
        let x = bytes(self.x.as_deref())?;
        let y = bytes(self.y.as_deref())?;
        (x.len() == size && y.len() == size).then_some(Material::Ec(algorithm, x, y))
    }
}

fn bytes(text: Option<&str>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text?).ok()
}

/// A number without the zeros before it, which ring does not take.
fn unsigned(text: Option<&str>) -> Option<Vec<u8>> {
    let bytes = bytes(text)?;
    let begin = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[begin..].to_vec())
}

impl Key {
    fn new(number: u32, kid: Option<String>, material: Material, validation: &Validation) -> Self {
        let (algorithm, decoding) = match &material {
            Material::Rsa(algorithm, n, e) => {
                (*algorithm, DecodingKey::from_rsa_raw_components(n, e))
            }
            Material::Ec(algorithm, x, y) => {
                let point = [&[4], x.as_slice(), y.as_slice()].concat();
                (*algorithm, DecodingKey::from_ec_der(&point))
            }
            Material::Ed(x) => (Algorithm::EdDSA, DecodingKey::from_ed_der(x)),
        };
        let validation = Validation {
            algorithms: vec![algorithm],
            ..validation.clone()
        };
        Self {
            number,
            kid,
            material,
            decoding,
            validation,
            gone: CancellationToken::new(),
        }
    }
}
