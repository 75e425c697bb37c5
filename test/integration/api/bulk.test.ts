import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { RowError } from "../../../src/protocol/assets/bulk.ts";
import { MAX_TAGS } from "../../../src/protocol/fleets/tags.ts";
import { StoreUnavailableError } from "../../../src/control-plane/store/unavailable.ts";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";

/* Many assets are registered or tagged by one request, with a result for each row. */

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

beforeEach(async () => {
  account = await control.account();
});

async function post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${control.url}${path}`, {
    method: "POST",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const isReplayed = response.headers.get("idempotent-replayed") === "true";
  return { status: response.status, isReplayed, body: await response.json() };
}

/** A result with the fields of all statuses. */
interface BulkResult {
  readonly dry_run: boolean;
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly results: readonly {
    readonly index: number;
    readonly status: string;
    readonly error?: RowError;
    readonly asset_id?: string;
    readonly device_token?: string;
    readonly tags?: Readonly<Record<string, string>>;
    readonly etag?: string;
  }[];
}

const register = async (body: unknown, query = "", headers = {}) => {
  const response = await post(`/v1/bulk/assets${query}`, body, headers);
  return { ...response, body: response.body as BulkResult };
};
const tag = async (body: unknown, query = "") => {
  const response = await post(`/v1/bulk/tags${query}`, body);
  return { ...response, body: response.body as BulkResult };
};
const serialNumbers = async (): Promise<string[]> => {
  const { body } = await apiClient(control, account).get("/v1/assets?limit=200");
  return (body as { assets: { serial_number: string }[] }).assets.map((each) => each.serial_number);
};

const registered = ({ results }: BulkResult) =>
  results.map(({ index, status, error }) => [index, status, error?.code, error?.details?.["field"]]);
const tagged = ({ results }: BulkResult) => results.map(({ error, tags }) => [error?.code, tags]);

test("each row is registered or refused on its own, in its order", async () => {
  const prefix = `B-${crypto.randomUUID().slice(0, 8)}`;
  const sim = someSuperSim();
  const { iccid, sid } = sim;
  const stranger = await control.account();
  const foreign = `${prefix}-foreign`;
  const { body: theirs } = await apiClient(control, stranger).post("/v1/assets", { serial_number: foreign });
  const assets = [
    { serial_number: `${prefix}-0`, name: "Pump", supersim: { sid, iccid, network_group: "default_1gb" } },
    { serial_number: `${prefix}-0` },
    { serial_number: `${prefix}-1`, supersim: { sid: `${sid}x`, iccid, network_group: "default_1gb" } },
    { serial_number: foreign },
    { serial_number: `${prefix}-2`, supersim: { sid: `${sid}y`, iccid: `${iccid}9`, network_group: "none" } },
    { serial_number: `${prefix}-3` },
  ];
  const expected = [
    [0, "done", undefined, undefined],
    [1, "failed", "IdentifierTaken", "serial_number"],
    [2, "failed", "IdentifierTaken", "supersim.iccid"],
    [3, "failed", "IdentifierTaken", "serial_number"],
    [4, "failed", "UnknownNetworkGroup", undefined],
    [5, "done", undefined, undefined],
  ];

  const dry = await register({ assets }, "?dry_run=true");
  expect([dry.status, dry.body.dry_run, dry.body.done, dry.body.failed]).toEqual([200, true, 2, 4]);
  expect(registered(dry.body)).toEqual(expected);
  expect(dry.body.results.flatMap((row) => [row.asset_id ?? [], row.device_token ?? []]).flat()).toEqual([]);
  expect(await serialNumbers()).toEqual([]);

  const made = await register({ assets });
  expect([made.status, made.body.dry_run, made.body.done, made.body.failed]).toEqual([200, false, 2, 4]);
  expect(registered(made.body)).toEqual(expected);
  expect(await serialNumbers()).toEqual([`${prefix}-0`, `${prefix}-3`]);
  const { asset_id: uuid = "", device_token: token = "" } = made.body.results[0] ?? {};
  expect(token).toMatch(/^ed_/);
  expect((await apiClient(control, account).get(`/v1/assets/${uuid}`)).body).toMatchObject({ name: "Pump" });
  expect(JSON.stringify(made.body)).not.toContain(String(theirs["uuid"]));
});

test("a repetition gets the same results and registers nothing; one that is not valid registers nothing at all", async () => {
  const key = { "Idempotency-Key": crypto.randomUUID() };
  const assets = [1, 2, 3].map((number) => ({ serial_number: `R-${crypto.randomUUID()}-${number}` }));
  const first = await register({ assets }, "", key);
  const again = await register({ assets }, "", key);
  expect([first.body.done, first.isReplayed, again.isReplayed]).toEqual([3, false, true]);
  expect(again.body).toEqual(first.body);
  expect(await serialNumbers()).toHaveLength(3);
  const wrong = await register({ assets: [{ serial_number: "fine" }, { serial_number: "not fine" }] });
  expect([wrong.status, JSON.stringify(wrong.body)]).toEqual([422, expect.stringContaining("assets[1].serial_number")]);
  const many = { assets: Array.from({ length: 201 }, (_, index) => ({ serial_number: `M-${index}` })) };
  expect((await register(many)).status).toBe(422);
  expect((await register({ assets: [] })).status).toBe(422);
  expect(await serialNumbers()).toHaveLength(3);
});

test("a quota ends in the middle of a request, also of a dry run", async () => {
  await using small = await startControlPlane({ config: { max_assets_per_account: 2 } });
  const owner = await small.account();
  const api = apiClient(small, owner);
  const body = { assets: ["Q-1", "Q-2", "Q-3"].map((serial_number) => ({ serial_number })) };
  for (const query of ["?dry_run=true", ""]) {
    const result = (await api.post(`/v1/bulk/assets${query}`, body)).body as unknown as BulkResult;
    expect(result.results.map(({ status, error }) => error?.code ?? status)).toEqual(["done", "done", "QuotaExceeded"]);
  }
});

test("tags of each row are changed, as they are then, and only if they are as the row says", async () => {
  const [one, two, three] = await Promise.all([control.asset(account), control.asset(account), control.asset(account)]);
  const api = apiClient(control, account);
  await api.put(`/v1/assets/${one.uuid}/tags`, { region: "north", role: "kiosk" });
  const etag = (await tag({ assets: [{ asset_id: two.uuid, tags: {} }] }, "?dry_run=true")).body.results[0]?.etag;
  const many = Object.fromEntries(Array.from({ length: MAX_TAGS + 1 }, (_, index) => [`t${index}`, "x"]));
  const { t0, ...most } = many;
  const assets = [
    { asset_id: one.uuid, tags: { region: "south", role: null } },
    { asset_id: two.uuid, tags: { role: "van" }, if_match: etag },
    // Not any more as it was before this request.
    { asset_id: two.uuid, tags: { role: "bus" }, if_match: etag },
    { asset_id: "unknown", tags: { role: "bus" } },
    { asset_id: three.uuid, tags: most, replace: true },
    { asset_id: one.uuid, tags: most },
  ];
  const dry = await tag({ assets: assets.toSpliced(2, 1) }, "?dry_run=true");
  expect(dry.body).toMatchObject({ dry_run: true, done: 3, failed: 2 });
  expect((await api.get(`/v1/assets/${two.uuid}/tags`)).body).toEqual({});
  const { status, body } = await tag({ assets });
  expect([status, body.done, body.failed, body.skipped]).toEqual([200, 3, 3, 0]);
  expect(tagged(body)).toEqual([
    [undefined, { region: "south" }],
    [undefined, { role: "van" }],
    ["PreconditionFailed", { role: "van" }],
    ["AssetNotFound", undefined],
    [undefined, most],
    ["InvalidRequest", undefined],
  ]);
  expect((await tag({ assets: [{ asset_id: one.uuid, tags: many }] })).status).toBe(422);
  expect((await tag({ assets: [{ asset_id: one.uuid, tags: { a: "1" }, if_match: "stale" }] })).status).toBe(422);
  expect((await api.get(`/v1/assets/${one.uuid}/tags`)).body).toEqual({ region: "south" });
  expect(t0).toBe("x");
  const now = await fetch(`${control.url}/v1/assets/${two.uuid}/tags`, { headers: { "X-API-Key": account.apiKey } });
  expect(now.headers.get("etag")).toBe(body.results[1]?.etag);
});

test("rows after a failure of the service are skipped, and its own may have been carried out", async () => {
  const made = await Promise.all([1, 2, 3].map(() => control.asset(account)));
  const { assetSettings } = control.store;
  const change = assetSettings.changeTags.bind(assetSettings);
  assetSettings.changeTags = async (uuid, ...rest) => {
    if (uuid === made[1]?.uuid) throw new StoreUnavailableError("gone");
    return change(uuid, ...rest);
  };
  try {
    const { body } = await tag({ assets: made.map(({ uuid }) => ({ asset_id: uuid, tags: { a: "1" } })) });
    expect(body).toMatchObject({ done: 1, failed: 1, skipped: 1 });
    expect(body.results.map(({ status, error }) => error?.code ?? status)).toEqual([
      "done",
      "ServiceUnavailable",
      "skipped",
    ]);
    expect(body.results[1]?.error?.message).toContain("is not known");
  } finally {
    assetSettings.changeTags = change;
  }
});

test("rows for which there is no time are skipped, and are carried out when they are sent again", async () => {
  const clock = new FakeClock(Date.now());
  await using slow = await startControlPlane({ clock });
  const owner = await slow.account();
  const api = apiClient(slow, owner);
  const made = await Promise.all([1, 2, 3].map(() => slow.asset(owner)));
  const { assetSettings } = slow.store;
  const change = assetSettings.changeTags.bind(assetSettings);
  assetSettings.changeTags = async (...given) => {
    // The second row ends after the time.
    clock.pass(30_000);
    return change(...given);
  };
  const send = async (assets: readonly TestAsset[]) => {
    const body = { assets: assets.map(({ uuid }) => ({ asset_id: uuid, tags: { a: "1" } })) };
    return (await api.post("/v1/bulk/tags", body)).body as unknown as BulkResult;
  };
  const first = await send(made);
  expect(first).toMatchObject({ done: 2, failed: 0, skipped: 1 });
  expect(first.results.map(({ status }) => status)).toEqual(["done", "done", "skipped"]);
  const { body: untouched } = await api.get(`/v1/assets/${made[2]?.uuid}/tags`);
  expect(untouched).toEqual({});
  expect(await send(made.slice(2))).toMatchObject({ done: 1, skipped: 0 });
});
