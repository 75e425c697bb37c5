import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ERRORS } from "../../../src/protocol/errors/errors.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { arbitraryRequest, type ArbitraryRequest } from "../../support/openapi/arbitrary-request.ts";
import type { OpenApiDocument } from "../../support/openapi/conformance.ts";
import { readDocument } from "../../support/openapi/read-document.ts";

const RUNS = process.env["CHAOS"] === "full" ? 5_000 : 600;

let control: ControlPlane;
let account: TestAccount;
let bystander: TestAccount;
let document: OpenApiDocument;
let identifiers: readonly string[];

beforeAll(async () => {
  control = await startControlPlane({ config: { legacy_removal_at: "2999-01-01T00:00:00Z" } });
  account = await control.account();
  bystander = await control.account();
  const supersim = someSuperSim();
  const { uuid, asset } = await control.asset(bystander, { supersim, prosim: someProSim() });
  identifiers = [uuid, asset.serialNumber, supersim.iccid];
  document = await readDocument(control.url);
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

async function send({ method, url, headers, body }: ArbitraryRequest, signal: AbortSignal) {
  return fetch(control.url + url, {
    method,
    headers: { "X-API-Key": account.apiKey, ...headers },
    ...(body !== undefined && { body }),
    signal,
  });
}

async function bystandersAssets(): Promise<string> {
  const filter = { status: undefined, type: undefined, text: undefined };
  const time = { now: 0, notSeenBefore: 0, serviceNowMs: 0 };
  return JSON.stringify(await control.store.assets.listAssets(bystander.accountId, filter, 1000, undefined, time));
}

test("any request made up from the document gets an answer with a code of the table, never 500, and touches no other account", async () => {
  // One of the account's own, which some requests delete, and one of another account.
  const fields = { serialNumber: "GENERATED-1", supersim: someSuperSim(), prosim: someProSim() };
  const before = await bystandersAssets();
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(arbitraryRequest(document, [fields.serialNumber, ...identifiers]), async (request) => {
      if (!(await control.store.assets.findAsset(account.accountId, fields.serialNumber))) {
        await control.asset(account, fields);
      }
      const controller = new AbortController();
      const response = await send(request, controller.signal);
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      if (response.status >= 400) {
        const { code } = JSON.parse((await response.text()).replace(/^data: /, "")) as { code: string };
        expect(Object.keys(ERRORS)).toContain(code);
        // No device is connected here; that is the one thing an answer of the service's own may fail for.
        if (code !== "DeviceNotReachable") expect(response.status).toBeLessThan(500);
      } else {
        // A deployment's stream would go on for as long as the deployment does.
        controller.abort();
      }
    }),
    { numRuns: RUNS },
  );
  expect(await bystandersAssets()).toBe(before);
  // The generator reaches both what is done and what is refused.
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 201, 204, 400, 404, 415, 422]));
});
