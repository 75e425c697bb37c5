import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { WalTruncator } from "../../../../src/control-plane/data/wal-truncator.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { tempDir } from "../../../support/temp-dir.ts";

test("a log that is not empty is truncated every 30 seconds, until it is disposed", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "edge-control.sqlite");
  const clock = new FakeClock();
  await using store = openStore(path);
  {
    using _upkeep = new WalTruncator({ store, clock, logger: captureLogText().logger });
    await store.accounts.createAccount({ id: "acc_1", name: "planted-name", createdAt: 1 });
    expect(readFileSync(`${path}-wal`, "latin1")).toContain("planted-name");
    await clock.advance(30_000);
    expect(statSync(`${path}-wal`).size).toBe(0);
    expect(await store.accounts.listAccounts()).toHaveLength(1);
    await clock.advance(30_000);
  }
  expect(clock.pending).toBe(0);
});

test("a reader blocks nothing, and is logged after ten minutes", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "edge-control.sqlite");
  const clock = new FakeClock();
  const log = captureLogText();
  await using store = openStore(path);
  await store.accounts.createAccount({ id: "acc_1", name: "a", createdAt: 1 });
  using _upkeep = new WalTruncator({ store, clock, logger: log.logger });
  const reader = new DatabaseSync(path, { readOnly: true });
  reader.exec("BEGIN; SELECT * FROM accounts");
  // A round that waited for the reader would take the database's 5 s, and all of them longer than a test may.
  for (let count = 0; count < 19; count++) await clock.advance(30_000);
  expect(log.text()).toBe("");
  for (let count = 0; count < 10; count++) await clock.advance(30_000);
  expect(log.text().match(/another process is reading the database/g)).toHaveLength(1);
  reader.close();
  await clock.advance(30_000);
  expect(statSync(`${path}-wal`).size).toBe(0);
});
