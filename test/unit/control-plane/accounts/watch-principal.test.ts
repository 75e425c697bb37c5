import { expect, test, vi } from "vitest";
import { AccessWatcher } from "../../../../src/control-plane/accounts/access-watcher.ts";
import { PrincipalReader } from "../../../../src/control-plane/accounts/principal-reader.ts";
import { principalSubject, watchPrincipal } from "../../../../src/control-plane/accounts/watch-principal.ts";
import { hashSecret } from "../../../../src/control-plane/accounts/secrets.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import { createAccount } from "../../../support/control-plane.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

/** A key that expires in 100 s, and what watches it. */
async function setUp() {
  const clock = new FakeClock();
  const store = openStore(":memory:");
  const { accountId } = await createAccount(store, clock);
  const start = Math.floor(clock.now() / 1000);
  const key = {
    id: "key_1",
    accountId,
    name: "x",
    createdAt: start,
    lastUsedAt: undefined,
    revokedAt: undefined,
    permissions: [],
    role: "viewer",
    expiresAt: start + 100,
    createdBy: undefined,
  } as const;
  await store.keys.createKey(key, hashSecret("secret"));
  const principals = new PrincipalReader(store, clock);
  const principal = await principals.ofKey("secret");
  if (!principal) throw new Error("the key is not found");
  const access = new AccessWatcher(store, clock, await createLogger({ name: "test", level: "fatal" }));
  const onEnd = vi.fn();
  const onUnknown = vi.fn();
  const watch = watchPrincipal({ access, principals, clock }, principal, onEnd, onUnknown);
  const services = { access, principals, clock };
  const setExpiry = async (afterS: number | null): Promise<void> => {
    await store.keys.changeKey(accountId, key.id, { expiresAt: afterS === null ? null : start + afterS });
    await access.recheck(principalSubject(principal));
  };
  return { clock, store, watch, onEnd, onUnknown, setExpiry, services, principal };
}

test("ends at the expiry, once", async () => {
  const { clock, onEnd } = await setUp();
  await clock.advance(99_999);
  expect(onEnd).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(onEnd).toHaveBeenCalledTimes(1);
  await clock.advance(100_000);
  expect(onEnd).toHaveBeenCalledTimes(1);
  expect(clock.pending).toBe(0);
});

test("ends sooner, later or never when the expiry is changed", async () => {
  const { clock, onEnd, setExpiry } = await setUp();
  await setExpiry(300);
  await clock.advance(200_000);
  expect(onEnd).not.toHaveBeenCalled();
  await setExpiry(null);
  await clock.advance(10_000_000);
  expect(onEnd).not.toHaveBeenCalled();
  await setExpiry(10_300);
  await clock.advance(100_000);
  expect(onEnd).toHaveBeenCalledTimes(1);
});

test("ends at the expiry also if the store cannot be read then, and not at all once it is disposed", async () => {
  const { clock, store, onEnd } = await setUp();
  vi.spyOn(store.keys, "findKey").mockRejectedValue(new Error("unavailable"));
  await clock.advance(100_000);
  expect(onEnd).toHaveBeenCalledTimes(1);
  const other = await setUp();
  other.watch[Symbol.dispose]();
  await other.clock.advance(100_000);
  expect(other.onEnd).not.toHaveBeenCalled();
  expect(other.clock.pending).toBe(0);
});

test("a first check that the store cannot answer is repeated until it is known, unless the caller wants to know", async () => {
  const { clock, store, watch, services, principal, onUnknown } = await setUp();
  watch[Symbol.dispose]();
  const find = vi.spyOn(store.keys, "findKey").mockRejectedValue(new Error("unavailable"));
  const onEnd = vi.fn();
  using _watch = watchPrincipal(services, principal, onEnd);
  using _other = watchPrincipal(services, principal, vi.fn(), onUnknown);
  await clock.advance(10_000);
  expect(onUnknown).toHaveBeenCalledTimes(1);
  expect(onEnd).not.toHaveBeenCalled();
  // Revoked meanwhile; the polls of the watcher have seen the change already.
  find.mockResolvedValue(undefined);
  await clock.advance(2_000);
  expect(onEnd).toHaveBeenCalledTimes(1);
  const calls = find.mock.calls.length;
  await clock.advance(60_000);
  expect(find.mock.calls.length).toBe(calls);
});
