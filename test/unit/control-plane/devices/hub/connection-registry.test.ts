import { expect, test } from "vitest";
import {
  MAX_CONNECTIONS_PER_ASSET,
  ConnectionRegistry,
} from "../../../../../src/control-plane/devices/hub/connection-registry.ts";

const session = (assetUuid: string) => ({ assetUuid });

test("a connection too many gives up the device's oldest one, each once", () => {
  const open = new ConnectionRegistry();
  const other = session("b");
  expect(open.add(other)).toBeUndefined();
  const sessions = Array.from({ length: MAX_CONNECTIONS_PER_ASSET + 2 }, () => session("a"));
  const surplus = sessions.map((added) => open.add(added));
  expect(surplus.filter(Boolean)).toEqual(sessions.slice(0, 2));
  expect(surplus.at(-1)).toBe(sessions[1]);
  // Those are open until they are closed.
  expect(open.size).toBe(MAX_CONNECTIONS_PER_ASSET + 3);
  for (const closed of sessions) open.delete(closed);
  expect([...open]).toEqual([other]);
  expect(open.add(session("a"))).toBeUndefined();
});

test("closed connections make room", () => {
  const open = new ConnectionRegistry();
  for (let count = 0; count < 100; count++) {
    const added = session("a");
    expect(open.add(added)).toBeUndefined();
    open.delete(added);
  }
  expect(open.size).toBe(0);
});
