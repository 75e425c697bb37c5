import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { engineRequest, sleeperImage } from "../support/images.ts";
import { CertificateAuthority } from "../support/link/certificates.ts";
import { expectFailure } from "../support/system/expect-failure.ts";
import { listVolumes } from "../support/system/engine-containers.ts";
import { sharedSystem } from "../support/system/test-system.ts";

/*
 * Volumes by name between paths of the device: none may take the place of a path that the mount policy judges, and none
 * may lead anywhere else.
 */

const system = sharedSystem();
let allowed: string;
let ca: string;
let image: string;

beforeAll(async () => {
  allowed = join(system().directory, "allowed");
  await CertificateAuthority.create(system().directory, "ca");
  ca = join(system().directory, "ca.crt");
  mkdirSync(allowed);
  image = await system().load(await sleeperImage());
  await system().agent.restart({
    extra_ca_file: ca,
    policy: { mounts: { allow: [system().directory], deny: ["/etc"] } },
  });
});

const named = (target: string, readonly = false) => ({ name: system().name("volume"), target, readonly });

test.each([
  ["behind a named one", () => [named("/a"), { local: "/etc", target: "/e" }]],
  ["between named ones", () => [named("/a"), { local: "/etc", target: "/e", readonly: true }, named("/b", true)]],
  ["behind an allowed one", () => [{ local: allowed, target: "/f" }, named("/a"), { local: "/etc", target: "/e" }]],
])("a denied path is denied %s", async (_where, volumes) => {
  const app = { name: system().name(), image, volumes: volumes() };
  const denied = await expectFailure(system(), app, "PolicyDenied");
  expect(denied.message).toContain("/etc");
  expect(await listVolumes(system().engineSocket, system().prefix)).toEqual([]);
});

test("a path that may only be read is not written to behind a named volume that is read-only", async () => {
  const volumes = [named("/a", true), { local: ca, target: "/ca.pem", readonly: false }];
  const denied = await expectFailure(system(), { name: system().name(), image, volumes }, "PolicyDenied");
  expect(denied.message).toContain("decides whom the agent trusts");
  const readable = [named("/a", false), { local: ca, target: "/ca.pem", readonly: true }];
  expect((await system().deploy({ name: system().name(), image, volumes: readable })).final.status).toBe("Success");
});

test.each(["../x", "/etc", "a/b", ".x", "a:b", "a\u0000b"])("%j is the name of no volume", async (name) => {
  const stream = await system().open({ name: system().name(), image, volumes: [{ name, target: "/data" }] });
  expect((await system().finish(stream)).final).toMatchObject({ status: "Fail", code: "InvalidRequest" });
});

test("the volume of another agent, or of nobody, is not given to an app and not deleted", async () => {
  const socket = system().engineSocket;
  const name = system().name("volume");
  // The engine's name for it, as of a volume that this agent makes.
  const own = named("/data");
  const app = { name: system().name(), image, volumes: [own] };
  expect((await system().deploy(app)).final.status).toBe("Success");
  const [made] = await listVolumes(socket, own.name);
  const foreign = made!.Name.replace(own.name, name);
  const headers = { "Content-Type": "application/json" };
  const labels = { ...made!.Labels, "io.edge-agent.state-dir": "/var/lib/other", "io.edge-agent.volume": name };
  const body = JSON.stringify({ Name: foreign, Labels: labels });
  expect((await engineRequest(socket, "POST", "/volumes/create", { headers, body })).status).toBe(201);
  const refused = await expectFailure(
    system(),
    { name: system().name(), image, volumes: [{ name, target: "/data" }] },
    "ErrorNameExists",
  );
  expect(refused.details).toMatchObject({ volume: name, engine_volume: foreign });
  const url = `${system().control.url}/v1/assets/${system().asset.uuid}/edge/volumes/${name}`;
  const response = await fetch(url, { method: "DELETE", headers: { "X-API-Key": system().account.apiKey } });
  expect(response.status).toBe(404);
  expect(await listVolumes(socket, name)).toHaveLength(1);
});
