import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { errorText } from "../error-text.ts";
import { Fields } from "./fields.ts";
import { ReleaseError } from "./release-error.ts";

/** What is signed about a release. */
export interface Statement {
  readonly version: string;
  /** Digest of the image index, over everything that the release consists of. */
  readonly index: string;
  /** The oldest version of the protocol that it speaks. */
  readonly oldestProtocol: number;
  /** The oldest version that it can follow, and that can follow it. */
  readonly floor: string;
  /** When it was signed, for people: nothing is decided by it, since a device may have any time. */
  readonly signedAt: string;
  /** Those who may sign what follows this version, once a device has confirmed it. Public keys, Ed25519. */
  readonly keys: readonly KeyObject[];
}

/** Signed together with the statement, so that a signature of this key over something else is none of a release. */
const PAYLOAD_TYPE = "application/vnd.edge-agent.release.v1+json";
const NAME = "edge-agent";
const MAX_SIGNATURES = 8;
const MAX_KEYS = 16;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Returns a DSSE envelope with the statement. @param key private key, Ed25519 */
export function signStatement(statement: Statement, key: KeyObject): Buffer {
  const { version, index, oldestProtocol, floor, signedAt } = statement;
  const keys = statement.keys.map((trusted) => trusted.export({ type: "spki", format: "der" }).toString("base64"));
  const fields = { name: NAME, version, index, oldest_protocol: oldestProtocol, floor, signed_at: signedAt, keys };
  const payload = Buffer.from(JSON.stringify(fields));
  const signature = { keyid: keyId(createPublicKey(key)), sig: sign(null, preAuthenticated(payload), key) };
  return Buffer.from(
    JSON.stringify({
      payloadType: PAYLOAD_TYPE,
      payload: payload.toString("base64"),
      signatures: [{ ...signature, sig: signature.sig.toString("base64") }],
    }),
  );
}

/**
 * Returns the statement of an envelope that one of the keys has signed.
 *
 * @param keys public keys, Ed25519
 * @throws {ReleaseError}
 */
export function verifiedStatement(envelope: Uint8Array, keys: readonly KeyObject[]): Statement {
  if (keys.length === 0) throw new ReleaseError("no_keys", "this device trusts no key, so it takes no release");
  const { payload, signatures } = openEnvelope(envelope);
  const signed = preAuthenticated(payload);
  // The id of a key is a hint that the envelope's author chose, so it is not looked at.
  const isTrusted = signatures.some((signature) => keys.some((key) => verify(null, signed, key, signature)));
  if (!isTrusted) throw new ReleaseError("untrusted_key", "no key that this device trusts has signed the release");
  return parseStatement(payload);
}

/** Returns what an envelope says, without verifying who signed it. @throws {ReleaseError} */
export function unverifiedStatement(envelope: Uint8Array): Statement {
  return parseStatement(openEnvelope(envelope).payload);
}

/** Returns a name for a public key: the first characters of its SHA-256. */
export function keyId(key: KeyObject): string {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("hex")
    .slice(0, 16);
}

function openEnvelope(bytes: Uint8Array): { readonly payload: Buffer; readonly signatures: readonly Buffer[] } {
  const envelope = Fields.parse("the signature", bytes);
  if (envelope.text("payloadType") !== PAYLOAD_TYPE)
    throw new ReleaseError("malformed", "the signature is of something other than a release");
  const signatures = envelope.list("signatures");
  if (signatures.length > MAX_SIGNATURES)
    throw new ReleaseError("malformed", `the release has more than ${MAX_SIGNATURES} signatures`);
  return {
    payload: Buffer.from(envelope.text("payload", BASE64), "base64"),
    signatures: signatures.map((signature) => Buffer.from(signature.text("sig", BASE64), "base64")),
  };
}

function parseStatement(payload: Buffer): Statement {
  const fields = Fields.parse("the signed statement", payload);
  if (fields.text("name") !== NAME) throw new ReleaseError("malformed", `the release is not one of ${NAME}`);
  return {
    version: fields.version("version"),
    index: fields.digest("index"),
    oldestProtocol: fields.count("oldest_protocol"),
    floor: fields.version("floor"),
    signedAt: fields.text("signed_at", /^[\dT:.Z-]{1,40}$/),
    keys: parseKeys(fields.texts("keys", BASE64)),
  };
}

/** A device that took a release without a key could never take another one. */
function parseKeys(keys: readonly string[]): KeyObject[] {
  if (keys.length === 0 || keys.length > MAX_KEYS)
    throw new ReleaseError("malformed", `the release does not bring 1 to ${MAX_KEYS} keys`);
  if (new Set(keys).size < keys.length) throw new ReleaseError("malformed", "the release brings a key twice");
  return keys.map((text) => {
    try {
      const key = createPublicKey({ key: Buffer.from(text, "base64"), type: "spki", format: "der" });
      if (key.asymmetricKeyType !== "ed25519") throw new Error("it is not an Ed25519 key");
      return key;
    } catch (error) {
      throw new ReleaseError("malformed", `a key that the release brings cannot be used: ${errorText(error)}`);
    }
  });
}

/** DSSE's encoding of what is signed: the lengths keep type and payload apart. */
function preAuthenticated(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `), payload]);
}
