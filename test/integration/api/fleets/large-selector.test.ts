import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AssetList } from "../../../../src/protocol/assets/asset.ts";
import { apiClient } from "../../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../../support/control-plane.ts";

const ASSETS = 100_000;
/** Every so many assets one has the tag. */
const TAGGED_EACH = 1_000;
const PAGE = 30;

let control: ControlPlane;
let account: TestAccount;
beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
  addAssets();
});
afterAll(() => control[Symbol.asyncDispose]());

test("a selector finds 100 of 100,000 assets page by page, and a fleet counts them", async () => {
  const api = apiClient(control, account);
  const found: string[] = [];
  for (let cursor = ""; ;) {
    const { status, body } = await api.get(`/v1/assets?selector=role%3Dkiosk,!beta&limit=${PAGE}${cursor}`);
    expect(status).toBe(200);
    const { assets, next_cursor } = body as AssetList;
    for (const { uuid, tags } of assets) {
      expect(tags).toEqual({ role: "kiosk" });
      found.push(uuid);
    }
    if (next_cursor === null) break;
    cursor = `&cursor=${next_cursor}`;
  }
  expect(found).toHaveLength(ASSETS / TAGGED_EACH);
  expect(new Set(found).size).toBe(found.length);
  const all = { name: "all", selector: "*", apps: ["ui"] };
  expect((await api.post("/v1/fleets", all)).body).toMatchObject({ members: ASSETS });
  const kiosks = { name: "kiosks", selector: "role=kiosk", apps: ["ui"] };
  expect((await api.post("/v1/fleets", kiosks)).body).toMatchObject({ members: ASSETS / TAGGED_EACH });
  const app = { name: "ui", image: `registry.example.com/ui@sha256:${"a".repeat(64)}` };
  await api.post("/v1/fleets/all/revisions", { apps: [{ app }] });
  const rollout = await api.post("/v1/fleets/all/rollouts", { strategy: { waves: [{ limit: "1%" }] }, start: false });
  expect(rollout.body).toMatchObject({
    targets: ASSETS,
    waves: [{ targets: ASSETS / 100 }, { targets: ASSETS - ASSETS / 100 }],
  });
});

function addAssets(): void {
  using database = new DatabaseSync(control.databasePath);
  database.exec("BEGIN; CREATE TEMP TABLE added (uuid TEXT, serial TEXT, number INTEGER)");
  database
    .prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO added SELECT printf('%08x-0000-4000-8000-%012x', i, i), printf('GW-%06d', i), i FROM n`,
    )
    .run(ASSETS);
  database
    .prepare(
      `INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at)
       SELECT uuid, ?, serial, 'Gateway ' || serial, 'gateway', 1790000000 + number FROM added`,
    )
    .run(account.accountId);
  database
    .prepare(
      `INSERT INTO asset_tags (asset_uuid, account_id, key, value)
       SELECT uuid, ?1, 'role', 'kiosk' FROM added WHERE number % ?2 = 0`,
    )
    .run(account.accountId, TAGGED_EACH);
  database.exec("DROP TABLE added; COMMIT");
}
