import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { apiClient } from "../support/api-client.ts";
import { sleeperImage } from "../support/images.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const system = sharedSystem(() => ({ agentConfig: { telemetry: { reports_max_per_hour: 1 } } }));

interface AppList {
  readonly apps: readonly { readonly name: string; readonly state: string; readonly restarts: number | null }[];
  readonly reachable: boolean;
  readonly age_s: number;
}

/** Reads the app from the list of the device's apps. */
async function read(name: string) {
  const path = `/v1/assets/${system().asset.serialNumber}/edge/apps`;
  const { apps, ...presence } = (await apiClient(system().control, system().account).get(path))
    .body as unknown as AppList;
  return { ...presence, app: apps.find((one) => one.name === name) };
}

test("the first crash is shown at once after many deployments; crashes that are held back count in the age", async () => {
  const name = system().name();
  const data = join(system().directory, name);
  await mkdir(data);
  const image = await system().load(await sleeperImage(), "crasher");
  // Each time somebody makes the file, the app crashes once.
  const script = "while [ ! -e /data/crash ]; do sleep 0.1; done; rm /data/crash; exit 3";
  const { final } = await system().deploy({
    name,
    image,
    command: ["/bin/sh", "-c", script],
    volumes: [{ local: data, target: "/data" }],
  });
  expect(final.status).toBe("Success");
  for (const action of ["stop", "start", "stop", "start", "stop", "start", "stop", "start"]) {
    const changed = await system().finish(await system().change("POST", name, action));
    expect(changed.final.status).toBe("Success");
  }
  const crash = () => writeFile(join(data, "crash"), "");
  await crash();
  await waitFor("the crash in the list", async () => (await read(name)).app?.state === "restarting");

  let shown = (await read(name)).app?.restarts ?? 0;
  for (let isHeld = false; !isHeld;) {
    await crash();
    isHeld = await waitFor("the next crash in the list, or an age", async () => {
      const { app, age_s: age } = await read(name);
      if (age > 0) return "held" as const;
      return (app?.restarts ?? 0) > shown && "shown";
    }).then((seen) => seen === "held");
    shown = (await read(name)).app?.restarts ?? 0;
  }
  expect(await read(name)).toMatchObject({ reachable: true, app: { restarts: shown } });
  // The result of a deployment is reported at once, with everything else.
  await system().finish(await system().change("POST", name, "stop"));
  await waitFor("a current list", async () => {
    const { app, age_s: age } = await read(name);
    return app?.state === "stopped" && age === 0;
  });
});
