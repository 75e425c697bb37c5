import { argon2, argon2Sync, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { FairQueue, type Place } from "../core/people/fair-queue.ts";
import { normalizePassword } from "../core/people/password.ts";
import {
  ARGON2ID,
  formatPasswordHash,
  needsRehash,
  parsePasswordHash,
  type PasswordAlgorithm,
  SCRYPT,
} from "../core/people/password-hash.ts";

/** Each takes a thread of libuv, of which files and name resolution need some, and tens of MiB. */
export const MAX_HASHES_AT_ONCE = 2;
export const QUEUE_LIMITS = { perSource: 4, total: 256 };
const RETRY_AFTER_S = 2;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Scrypt needs 128 * N * r bytes and some more. */
const SCRYPT_MEMORY_MARGIN = 2;

const argon2Async = promisify(argon2);
const scryptAsync = promisify<string, Uint8Array, number, object, Buffer>(scrypt);

/** The place of a request in the queue for hashes. */
export interface HashPlace extends Place {
  /** Gives the place up. */
  readonly signal?: AbortSignal | undefined;
}

export interface PasswordCheck {
  readonly matches: boolean;
  /** Whether it should be hashed again: its parameters are weaker than today's. Only if it matches. */
  readonly needsRehash: boolean;
}

interface QueuedHash {
  readonly start: () => void;
  readonly refuse: (error: EdgeError) => void;
}

export interface PasswordHasherOptions {
  /** By default Argon2id, or scrypt where OpenSSL lacks it. */
  readonly algorithm?: PasswordAlgorithm;
  /** Called for each hash that found no room in the queue. */
  readonly onRefused?: (() => void) | undefined;
}

/**
 * Hashes passwords, at most two at a time. Sources take turns, so that no flood from some of them keeps others waiting for
 * longer than one hash of each.
 */
export class PasswordHasher {
  readonly algorithm: PasswordAlgorithm;
  readonly #onRefused: (() => void) | undefined;
  readonly #queue = new FairQueue<QueuedHash>(QUEUE_LIMITS);
  #running = 0;
  #hashed = 0;

  constructor({ algorithm = preferredAlgorithm(), onRefused }: PasswordHasherOptions = {}) {
    this.algorithm = algorithm;
    this.#onRefused = onRefused;
  }

  /** How many hashes were computed. */
  get hashed(): number {
    return this.#hashed;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Hashes a password that is being set; returns a PHC string. Error: `TooManyRequests` if there is no room in the queue. */
  async hash(password: string, place: HashPlace): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const hash = await this.#compute(password, this.algorithm, salt, HASH_BYTES, place);
    return formatPasswordHash({ algorithm: this.algorithm, salt, hash });
  }

  /**
   * Compares a password with a stored hash. Without one, as for an unknown address, it does the same work and the
   * password does not match. Error: `TooManyRequests` if there is no room in the queue.
   */
  async check(password: string, stored: string | undefined, place: HashPlace): Promise<PasswordCheck> {
    const known = stored === undefined ? undefined : parsePasswordHash(stored);
    const {
      algorithm,
      salt,
      hash: expected,
    } = known ?? { algorithm: this.algorithm, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };
    const actual = await this.#compute(password, algorithm, salt, expected.length, place);
    const matches = timingSafeEqual(actual, expected) && known !== undefined;
    return { matches, needsRehash: matches && needsRehash(known, this.algorithm) };
  }

  async #compute(
    password: string,
    algorithm: PasswordAlgorithm,
    salt: Uint8Array,
    length: number,
    place: HashPlace,
  ): Promise<Uint8Array> {
    await this.#enter(place);
    try {
      this.#hashed++;
      return await derive(normalizePassword(password), algorithm, salt, length);
    } finally {
      this.#leave();
    }
  }

  async #enter({ signal, ...place }: HashPlace): Promise<void> {
    signal?.throwIfAborted();
    if (this.#running < MAX_HASHES_AT_ONCE) {
      this.#running++;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: QueuedHash = { start: resolve, refuse: reject };
    const giveUp = (): void => {
      this.#queue.remove(waiting, place);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    this.#refuse(this.#queue.push(waiting, place));
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  #leave(): void {
    const next = this.#queue.shift();
    if (next) next.start();
    else this.#running--;
  }

  #refuse(refused: QueuedHash | undefined): void {
    if (!refused) return;
    this.#onRefused?.();
    refused.refuse(
      new EdgeError("TooManyRequests", `Too many people are signing in; try again in ${RETRY_AFTER_S} s.`, {
        retry_after_s: RETRY_AFTER_S,
      }),
    );
  }
}

/** Argon2id, unless the OpenSSL of this Node.js has none: it came with OpenSSL 3.2. */
function preferredAlgorithm(): PasswordAlgorithm {
  try {
    const parameters = { message: "", nonce: Buffer.alloc(8), parallelism: 1, tagLength: 16, memory: 8, passes: 1 };
    argon2Sync("argon2id", parameters);
    return ARGON2ID;
  } catch {
    return SCRYPT;
  }
}

async function derive(
  message: string,
  algorithm: PasswordAlgorithm,
  salt: Uint8Array,
  length: number,
): Promise<Uint8Array> {
  if (algorithm.name === "argon2id") {
    const { memoryKib: memory, passes, lanes: parallelism } = algorithm;
    return argon2Async("argon2id", { message, nonce: salt, parallelism, tagLength: length, memory, passes });
  }
  const { costLog2, blockSize: r, lanes: p } = algorithm;
  const N = 2 ** costLog2;
  return scryptAsync(message, salt, length, { N, r, p, maxmem: SCRYPT_MEMORY_MARGIN * 128 * N * r });
}
