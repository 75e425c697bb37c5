import { afterAll, beforeAll, expect, test } from "vitest";
import { configSchema } from "../../../../src/control-plane/config/config.ts";
import { RegistryImages } from "../../../../src/control-plane/images/registry-images.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { type ApiClient, apiClient } from "../../../support/api-client.ts";
import { type ControlPlane, startControlPlane } from "../../../support/control-plane.ts";
import { sleeperImage } from "../../../support/images.ts";
import { Registry } from "../../../support/registry.ts";

const USER = { name: "robot", password: "pa55-w0rd" };

let open: Registry;
let closed: Registry;
let control: ControlPlane;
let api: ApiClient;

beforeAll(async () => {
  open = await Registry.start();
  closed = await Registry.start({ user: USER });
  await open.push(await sleeperImage(), "team/ui:4");
  await closed.push(await sleeperImage(), "team/ui:4");
  const config = { image_resolution: { allow_private: [open.host, closed.host] } };
  const { image_resolution: settings } = configSchema.parse(config);
  const images = new RegistryImages({ clock: systemClock, allowPrivate: settings.allow_private });
  control = await startControlPlane({ config, images });
  api = apiClient(control, await control.account());
  const fleet = { name: "kiosks", selector: "role=kiosk", apps: ["ui", "db"] };
  expect((await api.post("/v1/fleets", fleet)).status).toBe(201);
});
afterAll(async () => {
  await control[Symbol.asyncDispose]();
  await open[Symbol.asyncDispose]();
  await closed[Symbol.asyncDispose]();
});

/** Posts a revision with these images, each as an app. */
function revise(images: readonly string[], fields: object = {}) {
  const apps = images.map((image, index) => ({ app: { name: ["ui", "db"][index], image } }));
  return api.post("/v1/fleets/kiosks/revisions", { apps, ...fields });
}

const credentials = { registry_auth: { username: USER.name, password: USER.password } };

test("a revision has the digest of the tag, and shows the tag", async () => {
  const image = `${open.host}/team/ui:4`;
  const digest = await open.digest("team/ui:4");
  const { status, body } = await revise([image]);
  expect(status, JSON.stringify(body)).toBe(201);
  const { number } = body as { readonly number: number };
  const shown = await api.get(`/v1/fleets/kiosks/revisions/${number}`);
  expect(JSON.stringify(shown.body)).toContain(`"${image}@${digest}"`);
  expect(JSON.stringify(shown.body)).toContain(`"${image}"`);
  // The same digest is the same content.
  expect(await revise([image])).toMatchObject({ status: 200, body: { number } });
});

test("a private registry needs credentials, which are for one registry", async () => {
  const image = `${closed.host}/team/ui:4`;
  expect((await revise([image])).body).toMatchObject({
    code: "ImageNotResolved",
    details: { image, reason: "denied" },
  });
  const wrong = await revise([image], { registry_auth: { username: USER.name, password: "wr0ng-one" } });
  expect(wrong.body).toMatchObject({ code: "ImageNotResolved", details: { reason: "denied" } });
  expect(JSON.stringify(wrong.body)).not.toContain("wr0ng-one");
  const made = await revise([image], credentials);
  expect(made.status).toBe(201);
  expect(JSON.stringify(made.body)).not.toContain(USER.password);
  expect((await revise([image, `${open.host}/team/ui:4`], credentials)).body).toMatchObject({
    code: "InvalidRequest",
    details: { issues: [{ path: "registry_auth" }] },
  });
});

test.each([
  ["a tag that is not there", () => `${open.host}/team/ui:5`, "not_found"],
  ["the service itself", () => `${new URL(control.url).host}/team/ui:4`, "private_address"],
  ["loopback by name", () => `localhost:${open.port}/team/ui:4`, "private_address"],
  ["loopback in another notation", () => `0x7f.1:${new URL(control.url).port}/team/ui:4`, "private_address"],
  ["loopback as a mapped address", () => `[::ffff:7f00:1]:${open.port}/team/ui:4`, "private_address"],
  ["the metadata of a cloud", () => "169.254.169.254/latest/meta-data:1", "private_address"],
])("refuse %s", async (_, image, reason) => {
  const { status, body } = await revise([image()]);
  expect(status, JSON.stringify(body)).toBe(502);
  expect(body).toMatchObject({ code: "ImageNotResolved", details: { image: image(), reason } });
});
