/** Parameters of a password hash. */
export type PasswordAlgorithm =
  | { readonly name: "argon2id"; readonly memoryKib: number; readonly passes: number; readonly lanes: number }
  | { readonly name: "scrypt"; readonly costLog2: number; readonly blockSize: number; readonly lanes: number };

export interface PasswordHash {
  readonly algorithm: PasswordAlgorithm;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
}

/** 19 MiB and about 31 ms. */
export const ARGON2ID: PasswordAlgorithm = { name: "argon2id", memoryKib: 19_456, passes: 2, lanes: 1 };
/** 32 MiB; used where OpenSSL has no Argon2. */
export const SCRYPT: PasswordAlgorithm = { name: "scrypt", costLog2: 15, blockSize: 8, lanes: 1 };

const SALT_BYTES = 16;
const PASSWORD_HASH_BYTES = 32;

/** Bounds of stored parameters: a damaged row must not take all memory. */
const MAX_MEMORY_KIB = 262_144;
const MAX_PASSES = 64;
const MAX_COST_LOG2 = 18;
const MAX_BLOCK_SIZE = 16;
const MAX_LANES = 16;
const MAX_TEXT_LENGTH = 512;

const ARGON2ID_TEXT = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
const SCRYPT_TEXT = /^\$scrypt\$ln=(\d{1,3}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Formats a hash as a PHC string, such as `$argon2id$v=19$m=19456,t=2,p=1$SALT$HASH`. */
export function formatPasswordHash({ algorithm, salt, hash }: PasswordHash): string {
  const values = `${salt.toBase64({ omitPadding: true })}$${hash.toBase64({ omitPadding: true })}`;
  if (algorithm.name === "scrypt") {
    const { costLog2, blockSize, lanes } = algorithm;
    return `$scrypt$ln=${costLog2},r=${blockSize},p=${lanes}$${values}`;
  }
  const { memoryKib, passes, lanes } = algorithm;
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${values}`;
}

/** Parses a PHC string; `undefined` if it is not one of an algorithm and parameters that are allowed. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  const argon2id = ARGON2ID_TEXT.exec(text);
  const [, first, second, third, saltText = "", hashText = ""] = argon2id ?? SCRYPT_TEXT.exec(text) ?? [];
  const [a, b, lanes] = [Number(first), Number(second), Number(third)];
  const algorithm: PasswordAlgorithm = argon2id
    ? { name: "argon2id", memoryKib: a, passes: b, lanes }
    : { name: "scrypt", costLog2: a, blockSize: b, lanes };
  const [salt, hash] = [decode(saltText), decode(hashText)];
  return isAllowed(algorithm) && salt && hash && salt.length >= 8 && hash.length >= 16
    ? { algorithm, salt, hash }
    : undefined;
}

/** Whether the password should be hashed again when it is known: with the algorithm that is preferred now. */
export function needsRehash({ algorithm, salt, hash }: PasswordHash, preferred: PasswordAlgorithm): boolean {
  if (salt.length < SALT_BYTES || hash.length < PASSWORD_HASH_BYTES) return true;
  // Scrypt is kept where Argon2 is missing; where it is there, it takes the place of scrypt.
  if (algorithm.name !== preferred.name) return preferred.name === "argon2id";
  if (algorithm.name === "argon2id" && preferred.name === "argon2id")
    return algorithm.memoryKib < preferred.memoryKib || algorithm.passes < preferred.passes;
  if (algorithm.name === "scrypt" && preferred.name === "scrypt")
    return algorithm.costLog2 < preferred.costLog2 || algorithm.blockSize < preferred.blockSize;
  return false;
}

function isAllowed(algorithm: PasswordAlgorithm): boolean {
  const { lanes } = algorithm;
  if (!isWithin(lanes, 1, MAX_LANES)) return false;
  if (algorithm.name === "scrypt")
    return isWithin(algorithm.costLog2, 1, MAX_COST_LOG2) && isWithin(algorithm.blockSize, 1, MAX_BLOCK_SIZE);
  return isWithin(algorithm.memoryKib, 8 * lanes, MAX_MEMORY_KIB) && isWithin(algorithm.passes, 1, MAX_PASSES);
}

/** False for NaN. */
function isWithin(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

function decode(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}
