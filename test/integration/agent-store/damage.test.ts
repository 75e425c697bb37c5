import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newApp, newRecord } from "../../../src/agent/core/records.ts";
import { openStore, type StoreOnTrial } from "../../../src/agent/store/open-store.ts";
import { type AgentStore, StoreError } from "../../../src/agent/store/store.ts";
import { parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { succeed } from "../../support/command.ts";
import { smallDisk, smallDiskUnavailableReason } from "../../support/small-disk.ts";
import { tempDir } from "../../support/temp-dir.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:1" });
if (!parsed.ok) throw parsed.error;
const { spec } = parsed;

const noDisk = await smallDiskUnavailableReason();

describe("a damaged agent store", () => {
  let directory: Awaited<ReturnType<typeof tempDir>>;
  let log: string[];
  const path = () => join(directory.path, "agent.db");
  const open = (trial?: StoreOnTrial): AgentStore =>
    openStore({
      trial,
      directory: directory.path,
      clock: new FakeClock(),
      bootId: "boot",
      logger: pino({}, { write: (line) => void log.push(line) }),
    }).store;
  const fill = (): void => {
    using store = open();
    for (let order = 1; order <= 50; order++) store.save({ deployment: newRecord(`d${order}`, order, spec) });
    store.save({ app: newApp(spec, { deploymentId: "d1", imageId: "i", containerId: "c" }) });
  };

  beforeEach(async () => {
    directory = await tempDir();
    log = [];
  });
  afterEach(() => directory[Symbol.asyncDispose]());

  it.each([
    ["is overwritten from the start", (bytes: Buffer) => bytes.fill(0x5a, 0, 4096)],
    [
      "is no database at all",
      () => Buffer.from("hello, this is not a database file at all, whatever it may be\n".repeat(20)),
    ],
    ["has a page of noise in its middle", (bytes: Buffer) => bytes.fill(0xa5, 2048, 6144)],
  ])("that %s is set aside, and the agent starts with a fresh one", (_how, damage) => {
    fill();
    writeFileSync(path(), damage(readFileSync(path())));
    using store = open();
    expect(store.deployments()).toEqual([]);
    store.save({ deployment: newRecord("d99", 1, spec) });
    expect(existsSync(`${path()}.damaged`)).toBe(true);
    expect(log.join("")).toContain("set aside");
    expect(existsSync(join(directory.path, "rebuild"))).toBe(true);
  });

  it("that a power cut has left empty is filled again, and its apps are found again", () => {
    fill();
    rmSync(join(directory.path, "rebuild"));
    writeFileSync(path(), "");
    using store = open();
    expect(store.apps()).toEqual([]);
    expect(existsSync(join(directory.path, "rebuild"))).toBe(true);
  });

  it.skipIf(noDisk !== undefined)("on a disk that is read-only is left out, and its apps are found again", async () => {
    await using disk = await smallDisk(8);
    const options = {
      directory: disk.path,
      clock: new FakeClock(),
      bootId: "boot",
      logger: pino({}, { write: (line) => void log.push(line) }),
    };
    writeFileSync(join(disk.path, "agent.db"), "no database at all".repeat(500));
    await succeed("mount", ["-o", "remount,ro", disk.path]);
    const opened = openStore(options);
    using store = opened.store;
    expect([store.apps(), opened.rebuild.isSet]).toEqual([[], true]);
    expect(log.join("")).toContain("apps are found again by their containers");
    expect(() => store.save({ deployment: newRecord("d1", 1, spec) })).toThrow(StoreError);
    // The file is damaged, and not written to.
    await succeed("mount", ["-o", "remount,rw", disk.path]);
    expect(() => store.save({ deployment: newRecord("d1", 1, spec) })).toThrow(
      expect.objectContaining({ kind: "damaged" }),
    );
    expect(readFileSync(join(disk.path, "agent.db"), "utf8")).toContain("no database at all");
  });

  it("with some unreadable rows keeps the others, and reports which are left out", () => {
    fill();
    const database = new DatabaseSync(path());
    database.exec("UPDATE deployments SET record = '{\"half' WHERE id = 'd7'; UPDATE apps SET record = '[]'");
    database.close();
    using store = open();
    expect(store.deployments().map(({ id }) => id)).toHaveLength(49);
    expect(store.deployment("d7")).toBeUndefined();
    expect(store.apps()).toEqual([]);
    expect(log.join("")).toMatch(/deployment d7 .*cannot be read/);
    expect(log.join("")).toMatch(/app app .*cannot be read/);
  });

  const inDatabase = (statements: string): void => {
    const database = new DatabaseSync(path());
    database.exec(statements);
    database.close();
  };
  const UNUSABLE: readonly [string, () => void][] = [
    ["of a newer version", () => inDatabase("PRAGMA user_version = 99")],
    ["with tables and no version", () => inDatabase("PRAGMA user_version = 0")],
    ["without a table", () => inDatabase("DROP TABLE outbox")],
    ["that is a folder", () => (rmSync(path()), mkdirSync(path()))],
    ["that is a link to nowhere", () => (rmSync(path()), symlinkSync("/nowhere/agent.db", path()))],
  ];

  it.each(UNUSABLE)("%s is set aside: the device would not come back otherwise", (_what, change) => {
    // Twice: the copy makes room for the next one.
    for (const _time of [1, 2]) {
      fill();
      rmSync(join(directory.path, "rebuild"));
      change();
      using store = open();
      expect(store.apps()).toEqual([]);
      expect(lstatSync(`${path()}.damaged`)).toBeDefined();
      expect(log.join("")).toContain("set aside");
      expect(existsSync(join(directory.path, "rebuild"))).toBe(true);
      store.save({ deployment: newRecord("d99", 1, spec) });
    }
  });

  it.each([
    ...UNUSABLE,
    ["that is damaged", () => writeFileSync(path(), "no database at all".repeat(500))],
    ["that is gone", () => rmSync(path())],
    ["that is empty", () => writeFileSync(path(), "")],
  ])(
    "%s is left as it is by a version on trial, which ends: the version before may be able to use it",
    (_what, change) => {
      fill();
      change();
      rmSync(join(directory.path, "rebuild"), { force: true });
      const before = readdirSync(directory.path);
      expect(() => open({ hadStore: true })).toThrow(/on trial/);
      expect(readdirSync(directory.path)).toEqual(before);
    },
  );

  it("is begun by a version on trial on a device whose agent has never run", () => {
    using store = open({ hadStore: false });
    expect(store.apps()).toEqual([]);
  });
});
