import { expect, test } from "vitest";
import { updateAsset } from "../../../../src/edgectl/api/assets.ts";
import { ApiClient } from "../../../../src/edgectl/api/client.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const ASSET = {
  uuid: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11",
  serial_number: "GW-1",
  name: "Pump house 7",
  type: "gateway",
  created_at: 1,
  status: "inactive",
};

test("an update is waited for as long as the service may wait for the operators of both SIMs", async () => {
  const clock = new FakeClock();
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    await clock.sleep(35_000, init?.signal ?? undefined);
    return Response.json(ASSET);
  };
  const { signal } = new AbortController();
  const client = new ApiClient({ baseUrl: "http://service", apiKey: undefined, fetch, clock, signal });
  const update = updateAsset(client, "GW-1", { status: "inactive" });
  const outcome = expect(update).resolves.toMatchObject({ status: "inactive" });
  await clock.advance(35_000);
  await outcome;
});
