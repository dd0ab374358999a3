//! Signatures of tokens, verified by ring: `jsonwebtoken` brings no cryptography of its own here, and asks the process for some.

use ::signature::Verifier;
use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// Only verifies, and only with public keys.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes ring the verifier of tokens in this process. A second time changes nothing.
pub fn install() {
    let _ = PROVIDER.install_default();
}

/// The way in which a kind of key verifies.
enum Way {
    Rsa(&'static RsaParameters),
    Other(&'static dyn VerificationAlgorithm),
}

/// None: not with a public key, or not here.
fn way(algorithm: Algorithm) -> Option<Way> {
    Some(match algorithm {
        Algorithm::RS256 => Way::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Way::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Way::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Way::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Way::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Way::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => Way::Other(&signature::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Way::Other(&signature::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Way::Other(&signature::ED25519),
        _ => return None,
    })
}

/// A key, and how it verifies.
struct Verifying {
    algorithm: Algorithm,
    way: Way,
    key: DecodingKeyKind,
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let way = way(*algorithm)
        .filter(|_| key.family() == algorithm.family())
        .ok_or(ErrorKind::InvalidAlgorithm)?;
    Ok(Box::new(Verifying {
        algorithm: *algorithm,
        way,
        key: key.kind().clone(),
    }))
}

impl Verifier<Vec<u8>> for Verifying {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), ::signature::Error> {
        let verified = match (&self.way, &self.key) {
            (Way::Rsa(way), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(way, message, signature)
            }
            (Way::Other(way), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(*way, key).verify(message, signature)
            }
            _ => return Err(::signature::Error::new()),
        };
        verified.map_err(|_| ::signature::Error::new())
    }
}

impl JwtVerifier for Verifying {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
