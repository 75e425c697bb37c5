import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { MIGRATIONS } from "../../../../src/control-plane/store/sqlite/migrations.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const FIXTURES = join(import.meta.dirname, "../../../fixtures/control-plane");
const UUID = "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11";

const fixtureOf = (version: number): Promise<string> => readFile(join(FIXTURES, `schema-v${version}.sql`), "utf8");

/** What a database consists of, without the spaces somebody may have written it with. */
function schemaOf(database: DatabaseSync): string[] {
  const rows = database.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").all();
  return rows.map((row) => String(row["sql"]).replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " "));
}

test("every schema version there was has a fixture", async () => {
  const versions = MIGRATIONS.map((_, index) => `schema-v${index + 1}.sql`);
  expect((await readdir(FIXTURES)).toSorted()).toEqual(versions.toSorted());
});

test.each(MIGRATIONS.map((_, index) => index + 1))(
  "version %i is opened, brought up to date, and loses nothing",
  async (version) => {
    await using directory = await tempDir();
    const path = join(directory.path, "edge-control.sqlite");
    const old = new DatabaseSync(path);
    old.exec(await fixtureOf(version));
    old.close();
    {
      await using store = openStore(path);
      expect(await store.accounts.listAccounts()).toEqual([
        { id: "acc_fixture", name: "Waterworks", createdAt: 1_790_000_000 },
      ]);
      const keys = await store.keys.listKeys("acc_fixture");
      expect(keys.map(({ id, lastUsedAt, revokedAt }) => [id, lastUsedAt, revokedAt])).toEqual([
        ["key_live", 1_790_000_100, undefined],
        ["key_revoked", undefined, 1_790_000_050],
      ]);
      expect((await store.keys.findKeyByHash(new Uint8Array([1])))?.id).toBe("key_live");
      expect(await store.networkGroups.listNetworkGroups("acc_fixture")).toEqual(["own-group"]);
      const asset = {
        uuid: UUID,
        accountId: "acc_fixture",
        serialNumber: "GW-1",
        name: "Pump house",
        type: "gateway",
        createdAt: 1_790_000_003,
        supersim: {
          sid: "HS1",
          iccid: "8988307001000000001",
          networkGroup: "own-group",
          status: "inactive",
          ...(version >= 13 && { pending: { status: "inactive", since: 1_790_000_025 } }),
        },
        prosim: { imsi: "262011234567890", iccid: "8988307002000000002", serviceProfile: "gold", status: "active" },
      };
      for (const id of [UUID, "GW-1", "HS1", "8988307001000000001", "8988307002000000002"]) {
        expect(await store.assets.findAsset("acc_fixture", id)).toEqual(asset);
      }
      expect((await store.assets.findAssetByDeviceToken(new Uint8Array([3])))?.uuid).toBe(UUID);
      expect(await store.assets.findAsset("acc_fixture", "GW-2")).toMatchObject({ name: "Bare", supersim: undefined });
      expect(await store.usage.sumUsage("8988307001000000001", { start: 0, end: 2_000_000_000 }, "all")).toEqual([
        { bucket: "own-group", periodStart: undefined, bytes: 4711 },
      ]);
      const counted = { assetUuid: UUID, type: "supersim", period: "day" } as const;
      expect(await store.operatorUsage.listUsage(counted, { start: 0, end: 2_000_000_000 })).toEqual(
        version >= 13 ? [{ bucket: "default_1gb", start: 1_789_948_800, bytes: 4096 }] : [],
      );
      const credentials = await store.simCredentials.listCredentials();
      expect(credentials.map(({ accountId, type, keyId }) => [accountId, type, keyId])).toEqual(
        version >= 14 ? [["acc_fixture", "supersim", "key_fixture"]] : [],
      );
      expect(await store.dataPlans.findAllowance(UUID, "prosim")).toEqual(
        version >= 14 ? { bytes: 500_000_000, source: "manual" } : undefined,
      );
      expect(await store.dataPlans.readDeployments("acc_fixture")).toBe(version >= 14 ? "urgent" : "ignore");
      expect(await store.deployments.findDeployment("dep_failed")).toMatchObject({
        app: "web",
        status: "Fail",
        code: "DeviceNotReachable",
        lastSeq: 2,
      });
      const { events } = await store.deployments.readEvents("dep_failed", 0, 10);
      expect(events.map(({ seq }) => seq)).toEqual([1, 2]);
    }
    using migrated = new DatabaseSync(path);
    expect(migrated.prepare("PRAGMA user_version").get()).toEqual({ user_version: MIGRATIONS.length });
    expect(migrated.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    expect(migrated.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
  },
);

test.each(MIGRATIONS.map((_, index) => index + 1))(
  "the migrations up to version %i are as they were released",
  async (version) => {
    using released = new DatabaseSync(":memory:");
    released.exec(await fixtureOf(version));
    using now = new DatabaseSync(":memory:");
    for (const migration of MIGRATIONS.slice(0, version)) now.exec(migration);
    expect(schemaOf(now)).toEqual(schemaOf(released));
  },
);

test("a database of a newer version is refused and left alone", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "edge-control.sqlite");
  const newer = new DatabaseSync(path);
  newer.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
  newer.close();
  expect(() => openStore(path)).toThrow(`schema version ${MIGRATIONS.length + 1}`);
  using after = new DatabaseSync(path);
  expect(after.prepare("SELECT count(*) AS n FROM sqlite_schema").get()).toEqual({ n: 0 });
});
