import { expect, test } from "vitest";
import type { PasswordAlgorithm } from "../../../../src/control-plane/core/people/password-hash.ts";
import { type HashPlace, PasswordHasher } from "../../../../src/control-plane/accounts/password-hasher.ts";
import { EdgeError } from "../../../../src/protocol/errors/errors.ts";

const QUICK: PasswordAlgorithm = { name: "argon2id", memoryKib: 64, passes: 1, lanes: 1 };
const QUICK_SCRYPT: PasswordAlgorithm = { name: "scrypt", costLog2: 8, blockSize: 8, lanes: 1 };

const from = (source: string, fields: Partial<HashPlace> = {}): HashPlace => ({ source, goesFirst: false, ...fields });

test("the algorithm of this Node.js is Argon2id with 19 MiB and 2 passes", async () => {
  const hash = await new PasswordHasher().hash("correct horse battery", from("a"));
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]{22}\$[^$]{43}$/);
});

test.each([QUICK, QUICK_SCRYPT])("a password matches its own hash only: $name", async (algorithm) => {
  const hasher = new PasswordHasher({ algorithm });
  const stored = await hasher.hash("correct horse battery", from("a"));
  expect(await hasher.hash("correct horse battery", from("a"))).not.toBe(stored);
  expect(await hasher.check("correct horse battery", stored, from("a"))).toEqual({ matches: true, needsRehash: false });
  expect(await hasher.check("correct horse batterY", stored, from("a"))).toEqual({
    matches: false,
    needsRehash: false,
  });
});

test("characters that keyboards compose in other ways are the same, and a long password counts to its end", async () => {
  const hasher = new PasswordHasher({ algorithm: QUICK });
  const stored = await hasher.hash("schöne Grüße".normalize("NFC"), from("a"));
  expect(await hasher.check("schöne Grüße".normalize("NFD"), stored, from("a"))).toMatchObject({ matches: true });
  const long = "x".repeat(255);
  const storedLong = await hasher.hash(`${long}1`, from("a"));
  expect(await hasher.check(`${long}2`, storedLong, from("a"))).toMatchObject({ matches: false });
});

// Of the reference program: echo -n "password" | argon2 somesalt -id -t 2 -k 65536 -p 1
test("reads hashes of other programs", async () => {
  const stored = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
  const hasher = new PasswordHasher();
  expect(await hasher.check("password", stored, from("a"))).toEqual({ matches: true, needsRehash: true });
});

test("weaker parameters are noticed once the password is known", async () => {
  const stored = await new PasswordHasher({ algorithm: QUICK }).hash("correct horse battery", from("a"));
  const today = new PasswordHasher({ algorithm: { ...QUICK, passes: 2 } as PasswordAlgorithm });
  expect(await today.check("correct horse battery", stored, from("a"))).toEqual({ matches: true, needsRehash: true });
  expect(await today.check("wrong", stored, from("a"))).toEqual({ matches: false, needsRehash: false });
});

test.each([undefined, "", "$scrypt$fixture"])(
  "without a usable hash (%j) the same work is done and nothing matches",
  async (stored) => {
    const hasher = new PasswordHasher({ algorithm: QUICK });
    expect(await hasher.check("", stored, from("a"))).toEqual({ matches: false, needsRehash: false });
    expect(hasher.hashed).toBe(1);
  },
);

test("at most two are computed at once, sources take turns, and a known browser goes first", async () => {
  const hasher = new PasswordHasher({ algorithm: QUICK });
  // What begins first may end last. A password is normalized when its hash begins.
  const begun: string[] = [];
  const start = (name: string, place: HashPlace): Promise<string> =>
    hasher.hash({ normalize: () => (begun.push(name), name) } as unknown as string, place);
  const flood = ["1", "2", "3", "4", "5", "6"].map((number) => start(`flood ${number}`, from("flood")));
  expect(hasher.waiting).toBe(4);
  const honest = start("honest", from("honest"));
  const known = start("known", from("flood", { goesFirst: true }));
  expect(hasher.hashed).toBeLessThanOrEqual(2);
  await Promise.all([...flood, honest, known]);
  expect(begun.slice(0, 5)).toEqual(["flood 1", "flood 2", "known", "flood 3", "honest"]);
  expect(hasher.waiting).toBe(0);
});

test("a source with too many is refused and counted; who gives up leaves the queue", async () => {
  let refused = 0;
  const hasher = new PasswordHasher({ algorithm: QUICK, onRefused: () => refused++ });
  const leaving = new AbortController();
  const gone = hasher.hash("correct horse battery", from("z")).then(() => undefined);
  const attempts = Array.from({ length: 5 }, () => hasher.hash("correct horse battery", from("a")));
  const left = hasher.hash("correct horse battery", from("b", { signal: leaving.signal }));
  const surplus = hasher.hash("correct horse battery", from("a"));
  await expect(surplus).rejects.toThrow(EdgeError);
  await expect(surplus).rejects.toMatchObject({ code: "TooManyRequests", details: { retry_after_s: 2 } });
  expect(refused).toBe(1);
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  await Promise.all([gone, ...attempts]);
  expect(hasher.hashed).toBe(6);
  expect(hasher.waiting).toBe(0);
  // Both places are free again.
  await Promise.all([hasher.hash("correct horse battery", from("a")), hasher.hash("correct horse battery", from("a"))]);
});
