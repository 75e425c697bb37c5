import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startControlPlane } from "../../support/control-plane.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { FakeDevice } from "../../support/fake-device.ts";

const SERIAL = "GW-2026-000123";
const HASH = "0123456789abcdef".repeat(4);

const COMPOSE = `
services:
  broker: {image: "mosquitto:2", restart: always, ports: ["1883:1883"]}
  web: {image: "web:1", restart: always, depends_on: [broker], environment: {LEVEL: info}}
`;

const PLAN = {
  dry_run: true,
  plan: [
    { app: "line-3.broker", change: "create", fields: [] },
    { app: "line-3.web", change: "update", fields: ["environments.LEVEL"] },
  ],
  plan_hash: HASH,
  download_bytes: 0,
};

test("edgectl applies a compose file through the service, as one deployment", async () => {
  await using plane = await startControlPlane();
  await using user = await edgectlUser();
  const account = await plane.account();
  const { deviceToken } = await plane.asset(account, { serialNumber: SERIAL });
  await using device = await FakeDevice.connect(plane.agentUrl, deviceToken);
  const directory = join(user.configDirectory, "line-3");
  await mkdir(directory);
  await writeFile(join(directory, "compose.yaml"), COMPOSE);
  const env = { EDGECTL_URL: `http://127.0.0.1:${plane.server.port}`, EDGECTL_API_KEY: account.apiKey };

  const args = ["apply", SERIAL, "-f", join(directory, "compose.yaml"), "--map-ports", "--prune", "--yes"];
  await using command = user.start(args, { env });
  const dryRun = await device.next("apply");
  const request = {
    project: "line-3",
    prune: true,
    apps: [
      {
        app: {
          name: "line-3.broker",
          aliases: ["broker"],
          ports: [{ host_port: expect.any(Number) as number, target_port: 1883 }],
        },
      },
      { app: { name: "line-3.web" }, depends_on: [{ app: "line-3.broker", condition: "started" }] },
    ],
  };
  expect(dryRun).toMatchObject({ options: { dry_run: true }, request });
  device.event(dryRun.deployment_id, {
    status: "Success",
    step: "done",
    message: "Nothing was changed.",
    details: PLAN,
  });

  const real = await device.next("apply");
  expect(real).toMatchObject({ request: { ...request, expect: HASH } });
  expect(real.options?.dry_run).toBeUndefined();
  device.event(real.deployment_id, { app: "line-3.broker", step: "starting", message: "Starting." });
  const details = { changed: ["line-3.broker", "line-3.web"], removed: [], unchanged: [] };
  device.event(real.deployment_id, { status: "Success", step: "done", message: "line-3 is applied.", details });
  expect({ code: await command.exited, stderr: command.stderr() }).toEqual({ code: 0, stderr: "" });
  expect(command.stdout()).toMatch(
    /^Ports on the device:\n {2}line-3\.broker .*\nreceived: .*Dry run.*\nline-3\.broker: new\nline-3\.web: changes\n {2}~ environments\.LEVEL\nreceived: .*\nline-3\.broker starting: Starting\.\nline-3 is applied\.\n$/,
  );

  const list = await user.run(["deployments", "list", SERIAL], { env });
  expect(list).toMatchObject({ code: 0, stdout: expect.stringContaining("line-3") as string });
  const shown = await user.run(["deployments", "show", SERIAL, real.deployment_id], { env });
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("apply") as string });
});
