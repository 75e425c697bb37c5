import fc from "fast-check";
import { expect, test } from "vitest";
import {
  ARGON2ID,
  formatPasswordHash,
  needsRehash,
  parsePasswordHash,
  type PasswordAlgorithm,
  type PasswordHash,
  SCRYPT,
} from "../../../../../src/control-plane/core/people/password-hash.ts";

const algorithms: fc.Arbitrary<PasswordAlgorithm> = fc.oneof(
  fc.record({
    name: fc.constant("argon2id" as const),
    memoryKib: fc.integer({ min: 128, max: 262_144 }),
    passes: fc.integer({ min: 1, max: 64 }),
    lanes: fc.integer({ min: 1, max: 16 }),
  }),
  fc.record({
    name: fc.constant("scrypt" as const),
    costLog2: fc.integer({ min: 1, max: 18 }),
    blockSize: fc.integer({ min: 1, max: 16 }),
    lanes: fc.integer({ min: 1, max: 16 }),
  }),
);
const hashes: fc.Arbitrary<PasswordHash> = fc.record({
  algorithm: algorithms,
  salt: fc.uint8Array({ minLength: 8, maxLength: 32 }),
  hash: fc.uint8Array({ minLength: 16, maxLength: 64 }),
});

const hashOf = (algorithm: PasswordAlgorithm, saltBytes = 16): PasswordHash => ({
  algorithm,
  salt: new Uint8Array(saltBytes),
  hash: new Uint8Array(32),
});

test("a formatted hash is read back", () => {
  fc.assert(
    fc.property(hashes, (hash) => {
      const read = parsePasswordHash(formatPasswordHash(hash));
      expect(read?.algorithm).toEqual(hash.algorithm);
      expect([...(read?.salt ?? [])]).toEqual([...hash.salt]);
      expect([...(read?.hash ?? [])]).toEqual([...hash.hash]);
    }),
  );
});

test("is a PHC string", () => {
  expect(formatPasswordHash(hashOf(ARGON2ID))).toBe(
    `$argon2id$v=19$m=19456,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}`,
  );
  expect(formatPasswordHash(hashOf(SCRYPT))).toBe(`$scrypt$ln=15,r=8,p=1$${"A".repeat(22)}$${"A".repeat(43)}`);
});

const VALUES = `${"A".repeat(22)}$${"A".repeat(43)}`;
test.each([
  "",
  "plain text",
  `$argon2i$v=19$m=19456,t=2,p=1$${VALUES}`,
  `$argon2id$v=16$m=19456,t=2,p=1$${VALUES}`,
  `$argon2id$v=19$m=9999999,t=2,p=1$${VALUES}`,
  `$argon2id$v=19$m=19456,t=0,p=1$${VALUES}`,
  `$argon2id$v=19$m=19456,t=2,p=0$${VALUES}`,
  `$argon2id$v=19$m=4,t=2,p=1$${VALUES}`,
  `$scrypt$ln=40,r=8,p=1$${VALUES}`,
  `$scrypt$ln=15,r=99,p=1$${VALUES}`,
  `$scrypt$ln=15,r=8,p=1$AAAA$${"A".repeat(43)}`,
  `$scrypt$ln=15,r=8,p=1$${"A".repeat(22)}$AAAA`,
  `$scrypt$ln=15,r=8,p=1$${"A".repeat(21)}$${"A".repeat(43)}`,
  ` ${formatPasswordHash(hashOf(ARGON2ID))}`,
  `$argon2id$v=19$m=19456,t=2,p=1$${VALUES}${"A".repeat(600)}`,
])("a damaged hash, or one that takes too much, is not read: %j", (text) => {
  expect(parsePasswordHash(text)).toBeUndefined();
});

test("is made again only with a stronger algorithm", () => {
  expect(needsRehash(hashOf(ARGON2ID), ARGON2ID)).toBe(false);
  expect(needsRehash(hashOf({ ...ARGON2ID, passes: 1 } as PasswordAlgorithm), ARGON2ID)).toBe(true);
  expect(needsRehash(hashOf({ ...ARGON2ID, memoryKib: 65_536 } as PasswordAlgorithm), ARGON2ID)).toBe(false);
  expect(needsRehash(hashOf(SCRYPT), ARGON2ID)).toBe(true);
  expect(needsRehash(hashOf(ARGON2ID), SCRYPT)).toBe(false);
  expect(needsRehash(hashOf({ ...SCRYPT, costLog2: 14 } as PasswordAlgorithm), SCRYPT)).toBe(true);
  expect(needsRehash(hashOf(ARGON2ID, 8), ARGON2ID)).toBe(true);
});
