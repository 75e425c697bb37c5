import { afterAll, beforeAll, expect, it } from "vitest";
import { lookAtAll } from "../../support/console/look-at.ts";
import { type ConsoleRig, startConsole } from "../../support/console/opened-console.ts";
import { FakeDevice } from "../../support/fake-device.ts";

let rig: ConsoleRig;
beforeAll(async () => {
  rig = await startConsole();
});
afterAll(() => rig[Symbol.asyncDispose]());

it("a device that waits for acceptance is seen, and accepted with one click", async () => {
  await using tab = await rig.openSignedIn();
  const { page, context } = tab;
  const { url } = rig.control;
  const registered = await context.request.post(`${url}/v1/assets`, {
    headers: { origin: url },
    data: { serial_number: "GW-0001", name: "Pump house 7", type: "gateway" },
  });
  const { uuid, device_token: token } = (await registered.json()) as Readonly<Record<string, string>>;
  await page.goto(`${url}/assets/${uuid}`);
  await page.getByText("This device is not accepted yet.").waitFor();
  // It comes to the pages that are open.
  await using device = await FakeDevice.connect(url.replace("http", "ws") + "/v1/agent", token ?? "");
  device.report({ hash: "1" });
  await page.getByText("waits for acceptance").waitFor();
  expect(await lookAtAll(page, "asset-waits-for-acceptance")).toEqual([]);
  await page.goto(`${url}/assets?attention=acceptance`);
  await page.getByRole("link", { name: "Pump house 7" }).click();
  await page.getByRole("button", { name: "Accept device" }).click();
  await page.getByText("This device is not accepted yet.").waitFor({ state: "detached" });
  const found = await context.request.get(`${url}/v1/assets/${uuid}`);
  expect(await found.json()).toMatchObject({ accepted_at: expect.any(Number), attention: [] });
  expect(tab.complaints).toEqual([]);
});

it("an admin has devices accepted automatically, and is told what that means", async () => {
  await using tab = await rig.openSignedIn();
  const { page, context } = tab;
  await page.goto(`${rig.control.url}/enrol`);
  const box = page.getByLabel("Accept devices automatically");
  await box.check();
  await page.getByText("with values that are secret").waitFor();
  expect(await lookAtAll(page, "enrol-acceptance")).toEqual([]);
  await page.getByRole("button", { name: "Save" }).click();
  await expect
    .poll(async () => (await context.request.get(`${rig.control.url}/v1/enrolment-settings`)).json())
    .toEqual({ auto_accept: true });
  expect(tab.complaints).toEqual([]);
});
