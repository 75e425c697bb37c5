import { expect, test } from "vitest";
import type { PasswordAlgorithm } from "../../../../src/control-plane/core/people/password-hash.ts";
import type { User } from "../../../../src/control-plane/core/people/user.ts";
import { PasswordHasher } from "../../../../src/control-plane/accounts/password-hasher.ts";
import { type PasswordAttempt, SignInGate } from "../../../../src/control-plane/accounts/sign-in-gate.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../../src/control-plane/store/store.ts";
import { someAudit, someUser } from "../../../support/control-plane/people.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const QUICK: PasswordAlgorithm = { name: "argon2id", memoryKib: 64, passes: 1, lanes: 1 };
const PASSWORD = "correct horse battery";
const FREE = 5;

interface Rig extends AsyncDisposable {
  readonly store: Store;
  readonly hasher: PasswordHasher;
  readonly clock: FakeClock;
  readonly gate: SignInGate;
  readonly bounds: string[];
  user(fields?: Partial<User>): Promise<User>;
  attempt(user: Pick<User, "email">, fields?: Partial<PasswordAttempt>): PasswordAttempt;
}

async function startRig(algorithm = QUICK): Promise<Rig> {
  const store = openStore(":memory:");
  await store.accounts.createAccount({ id: "acc_1", name: "Acme", createdAt: 1 });
  const clock = new FakeClock();
  const hasher = new PasswordHasher({ algorithm });
  const bounds: string[] = [];
  const gate = new SignInGate({ store, hasher, clock, observer: { bounded: (bound) => bounds.push(bound) } });
  return {
    store,
    hasher,
    clock,
    gate,
    bounds,
    async user(fields) {
      const weak = new PasswordHasher({ algorithm: QUICK });
      const user = someUser({ passwordHash: await weak.hash(PASSWORD, { source: "", goesFirst: false }), ...fields });
      await store.users.createUser(user, undefined, someAudit("user.created"));
      return user;
    },
    attempt: ({ email }, fields) => ({
      email,
      password: PASSWORD,
      address: "198.51.100.7",
      browserToken: undefined,
      ...fields,
    }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

test("the right password proves the user; the browser is known from then on", async () => {
  await using rig = await startRig();
  const user = await rig.user();
  const proof = await rig.gate.signIn(rig.attempt({ email: user.email.toUpperCase() }));
  expect(proof?.user).toEqual(user);
  expect(proof?.browserToken).toMatch(/^eb_[\w-]{43}$/);
  const again = await rig.gate.signIn(rig.attempt(user, { browserToken: proof?.browserToken }));
  expect(again?.browserToken).toBe(proof?.browserToken);
});

test("a token that a stranger may have planted is replaced", async () => {
  await using rig = await startRig();
  const [jane, joe] = [await rig.user(), await rig.user()];
  const planted = (await rig.gate.signIn(rig.attempt(joe)))!.browserToken;
  for (const browserToken of [planted, "eb_made_up", "x".repeat(10_000)])
    expect((await rig.gate.signIn(rig.attempt(jane, { browserToken })))!.browserToken).not.toBe(browserToken);
});

test("an unknown address, a wrong password, and users who may not sign in take the same work and get the same answer", async () => {
  await using rig = await startRig();
  const refused = [
    rig.attempt({ email: "nobody@example.com" }),
    rig.attempt({ email: "not an address" }),
    rig.attempt(await rig.user(), { password: "wrong" }),
    rig.attempt(await rig.user({ isDisabled: true })),
    rig.attempt(await rig.user({ passwordHash: undefined })),
    rig.attempt(await rig.user({ passwordHash: "damaged" })),
  ];
  for (const [index, attempt] of refused.entries()) {
    const before = rig.hasher.hashed;
    const address = `192.0.2.${index}`;
    expect(await rig.gate.signIn({ ...attempt, address })).toBeUndefined();
    expect(rig.hasher.hashed - before).toBe(1);
    // Nor do the pauses tell them apart.
    const results: string[] = [];
    for (let count = 0; count < 7; count++)
      results.push(
        await rig.gate.signIn({ ...attempt, address, password: "wrong" }).then(
          () => "no",
          (error: Error) => error.message,
        ),
      );
    const pause = "Too many attempts to sign in have failed; try again in 1 s.";
    expect(results).toEqual(["no", "no", "no", "no", "no", pause, pause]);
  }
  expect(rig.bounds.every((bound) => bound === "sign_ins_per_source")).toBe(true);
});

test("a password with weak parameters is hashed again, also by two sign-ins at once; sessions stay", async () => {
  const today: PasswordAlgorithm = { ...QUICK, passes: 2 };
  await using rig = await startRig(today);
  const user = await rig.user();
  const proofs = await Promise.all([rig.gate.signIn(rig.attempt(user)), rig.gate.signIn(rig.attempt(user))]);
  const stored = await rig.store.users.findUser(user.id);
  expect(stored?.passwordHash).toContain("t=2");
  for (const proof of proofs) expect(proof?.user).toEqual(stored);
  const before = rig.hasher.hashed;
  await rig.gate.signIn(rig.attempt(user));
  expect(rig.hasher.hashed - before).toBe(1);
});

test("strangers at any source do not slow down a known browser, and failures in one count for it alone", async () => {
  await using rig = await startRig();
  const user = await rig.user();
  const { browserToken } = (await rig.gate.signIn(rig.attempt(user)))!;
  for (let count = 0; count <= FREE; count++) await rig.gate.signIn(rig.attempt(user, { password: "wrong" }));
  await expect(rig.gate.signIn(rig.attempt(user))).rejects.toMatchObject({ code: "TooManyRequests" });
  expect(await rig.gate.signIn(rig.attempt(user, { browserToken }))).toBeDefined();
  for (let count = 0; count <= FREE; count++)
    await rig.gate.signIn(rig.attempt(user, { browserToken, password: "wrong" }));
  await expect(rig.gate.signIn(rig.attempt(user, { browserToken }))).rejects.toMatchObject({
    code: "TooManyRequests",
    details: { retry_after_s: 1 },
  });
  expect(await rig.gate.signIn(rig.attempt(user, { address: "203.0.113.5" }))).toBeDefined();
  await rig.clock.advance(1_000);
  expect(await rig.gate.signIn(rig.attempt(user, { browserToken }))).toBeDefined();
});

test("an attempt whose client goes away while it waits is no failure", async () => {
  await using rig = await startRig();
  const user = await rig.user();
  for (let count = 0; count < 3 * FREE; count++)
    await expect(rig.gate.signIn(rig.attempt(user, { signal: AbortSignal.abort() }))).rejects.toThrow("aborted");
  expect(await rig.gate.signIn(rig.attempt(user))).toBeDefined();
});

test("who is signed in confirms the password, with pauses of its own", async () => {
  await using rig = await startRig();
  const user = await rig.user();
  expect(await rig.gate.confirm(user, PASSWORD, "198.51.100.7")).toEqual(user);
  for (let count = 0; count <= FREE; count++)
    expect(await rig.gate.confirm(user, "wrong", "198.51.100.7")).toBeUndefined();
  await expect(rig.gate.confirm(user, PASSWORD, "198.51.100.7")).rejects.toMatchObject({ code: "TooManyRequests" });
  expect(await rig.gate.signIn(rig.attempt(user))).toBeDefined();
});
