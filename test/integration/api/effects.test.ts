import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Role, ROLES } from "../../../src/control-plane/core/people/roles.ts";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { startHeldRollout } from "../../support/fleets/held-rollout.ts";
import {
  type Class,
  type Effect,
  FLOORS,
  type Names,
  type Raised,
  type Row,
  TABLE,
} from "../../support/openapi/effects-table.ts";
import { readDocument } from "../../support/openapi/read-document.ts";
import { requestFields } from "../../support/openapi/request-fields.ts";
import { type SampleRequest, sampleRequests } from "../../support/openapi/sample-requests.ts";

/* Which role each request takes, by what it can bring about: see the table. */

let control: ControlPlane;
let account: TestAccount;
let fields: ReadonlyMap<string, readonly string[]>;
let samples: readonly SampleRequest[];
const keys = new Map<Role, string>();

beforeAll(async () => {
  control = await startControlPlane({
    config: { legacy_removal_at: "2999-01-01T00:00:00Z", enrolment_rate_limit_per_minute: 100_000 },
  });
  account = await control.account();
  for (const role of ROLES) keys.set(role, (await control.key(account, [], { role })).apiKey);
  const document = await readDocument(control.url);
  fields = requestFields(document);
  samples = sampleRequests(document);
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

/** An asset whose device was connected, and a fleet that requires approval, for one operation: some change them. */
async function newTarget(): Promise<(template: string) => string> {
  const asset = await control.asset(account);
  const { uuid: asset_id } = asset;
  const session = { sessionId: "s", instanceId: "none", protocol: 4, agentVersion: "1", at: 1_790_000_000 };
  await control.store.sessions.open({ assetUuid: asset_id, ...session });
  const { fleet, rolloutId: rollout_id } = await startHeldRollout(control, account, asset);
  const strategy = { requires_approval: true };
  expect((await apiClient(control, account).patch(`/v1/fleets/${fleet}`, { strategy })).status).toBe(200);
  const values = { asset_id, fleet, rollout_id, number: "1", other: "1", name: "web", sim_type: "supersim" };
  // Of what does not exist, the permission is asked for too.
  return (template) =>
    template.replaceAll(/\{(\w+)\}/g, (_match, name: string) => values[name as keyof typeof values] ?? "none");
}

const split = (names: Names = ""): readonly string[] => names.split(" ").filter((name) => name !== "");

function isListed({ fields: byClass, raised }: Row, field: string): boolean {
  if (Object.hasOwn(raised, field)) return true;
  const names = Object.values(byClass).flatMap(split);
  return names.some((name) =>
    name.endsWith(".**") ? field === name.slice(0, -3) || field.startsWith(name.slice(0, -2)) : field === name,
  );
}

test("every endpoint and every field of the document is classified, and nothing else", () => {
  expect(Object.keys(TABLE).toSorted()).toEqual([...fields.keys()].toSorted());
  const missing = Object.entries(TABLE).flatMap(([name, entry]) =>
    (fields.get(name) ?? []).filter((field) => !isListed(entry, field)).map((field) => `${name} ${field}`),
  );
  expect(missing).toEqual([]);
  const unknown = Object.entries(TABLE).flatMap(([name, entry]) =>
    [...Object.values(entry.fields).flatMap(split), ...Object.keys(entry.raised)]
      .map((field) => field.replace(/\.\*\*$/, ""))
      .filter((field) => !(fields.get(name) ?? []).includes(field))
      .map((field) => `${name} ${field}`),
  );
  expect(unknown).toEqual([]);
});

/** Whether the role is below what one of the classes takes. */
const isBelow = (from: Row["from"], classes: readonly Class[]): boolean =>
  classes.some((each) => {
    const floor = Object.hasOwn(FLOORS, each) ? FLOORS[each as Effect] : undefined;
    return floor !== undefined && ROLES.indexOf(from as Role) < ROLES.indexOf(floor);
  });

test("nothing is below the role that its effects take", () => {
  const low = Object.entries(TABLE).flatMap(([name, { from, classes, fields: byClass, raised }]) => {
    const all = classes.concat(Object.keys(byClass) as Class[]);
    const wrong = Object.entries(raised).filter(([, each]) => isBelow(each.from, each.classes));
    return (isBelow(from, all) ? [name] : []).concat(wrong.map(([field]) => `${name} ${field}`));
  });
  expect(low).toEqual([]);
  // What stands for a whole subtree is not looked into: only where nothing in it could take more.
  const wide = Object.entries(TABLE).filter(([, { fields: byClass }]) =>
    Object.values(byClass).some((names) => names.includes("**")),
  );
  for (const [name, { classes }] of wide) expect(classes, name).toEqual(["runs", "delivers"]);
});

/** Bodies without the fields that take a higher role. */
const BODIES: Readonly<Record<string, () => object>> = {
  "POST /v1/bulk/assets": () => ({ assets: [{ serial_number: `SN-${randomUUID()}` }] }),
  "POST /v1/assets": () => ({ serial_number: `SN-${randomUUID()}` }),
  "PATCH /v1/assets/{asset_id}": () => ({ name: "Pump house" }),
  "POST /v1/fleets": () => ({ name: `fleet-${randomUUID()}`, selector: "role=none", apps: ["kiosk-ui"] }),
};

type Fill = Awaited<ReturnType<typeof newTarget>>;

/** Returns whether the request is refused for want of a permission. */
async function isRefused(name: string, fill: Fill, role: Role, raised: Partial<Raised> = {}): Promise<boolean> {
  const sample = samples.find(({ method, path }) => `${method} ${path}` === name)!;
  const base = BODIES[name]?.();
  const sent = raised.body ? { ...base, ...raised.body } : (base ?? sample.body);
  const query = raised.query === undefined ? "" : `?${raised.query}`;
  const abort = new AbortController();
  const response = await fetch(control.url + fill(sample.path) + query, {
    method: sample.method,
    headers: { "X-API-Key": keys.get(role)!, ...(sent !== undefined && { "Content-Type": "application/json" }) },
    ...(sent !== undefined && { body: JSON.stringify(sent) }),
    signal: abort.signal,
  });
  if (response.status !== 403) {
    abort.abort();
    return false;
  }
  return (await response.text()).includes('"code":"Forbidden"');
}

const rolesFor = (from: Role): readonly boolean[] => ROLES.map((role) => ROLES.indexOf(role) < ROLES.indexOf(from));

describe("the service refuses what the table says, and nothing more", () => {
  test.each(Object.entries(TABLE).filter(([, { from }]) => from !== "self" && from !== "public"))(
    "%s",
    async (name, entry) => {
      const fill = await newTarget();
      const refused: boolean[] = [];
      // Those who may come last: they change what the requests of others are about.
      for (const role of ROLES) refused.push(await isRefused(name, fill, role));
      expect(refused).toEqual(rolesFor(entry.from as Role));
      for (const [field, raised] of Object.entries(entry.raised)) {
        const ofField: boolean[] = [];
        for (const role of ROLES) ofField.push(await isRefused(name, fill, role, raised));
        expect(ofField, field).toEqual(rolesFor(raised.from));
      }
    },
  );
});
