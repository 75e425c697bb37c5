import { describe, expect, test } from "vitest";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { json, startScriptedService } from "../../support/edgectl/scripted-service.ts";

const KEY = "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const VOLUMES = "/v1/assets/GW-1/edge/volumes";

async function setUp() {
  const service = await startScriptedService();
  const user = await edgectlUser();
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: KEY };
  return {
    service,
    run: (...args: string[]) => user.run(args, { env, input: "" }),
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

const volume = (name: string, more: object = {}) => ({ name, apps: [], size_bytes: null, created_at: null, ...more });

describe("edgectl volumes", () => {
  test("list shows the apps that have each volume, and sizes only if they were measured", async () => {
    await using rig = await setUp();
    const apps = [
      { app: "db", readonly: false },
      { app: "backup", readonly: true },
    ];
    const volumes = [volume("data", { apps, size_bytes: 5_000, created_at: 1_795_000_000 }), volume("old")];
    rig.service.on(`GET ${VOLUMES}`, json(200, { volumes, left_out: 3 }));
    const { code, stdout } = await rig.run("volumes", "list", "GW-1");
    expect([code, rig.service.requests[0]?.path]).toEqual([0, VOLUMES]);
    expect(stdout).toMatch(/data +db, backup \(read-only\) +2026-11-18/);
    expect(stdout).toMatch(/old +- +-/);
    expect(stdout).toContain("and 3 more");
    expect(stdout).not.toContain("SIZE");
    expect((await rig.run("volumes", "list", "GW-1", "--size")).stdout).toMatch(/SIZE[^]*5\.00 kB/);
    expect(rig.service.requests[1]?.path).toBe(`${VOLUMES}?size=true`);
    expect(JSON.parse((await rig.run("volumes", "list", "GW-1", "--json")).stdout)).toMatchObject({ left_out: 3 });
  });

  test("remove asks, and without a terminal sends nothing unless --yes is given", async () => {
    await using rig = await setUp();
    rig.service.on(`DELETE ${VOLUMES}/data`, (response) => void response.writeHead(204).end());
    const asked = await rig.run("volumes", "remove", "GW-1", "data");
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain("--yes");
    expect(rig.service.requests).toEqual([]);
    const { code, stdout } = await rig.run("volumes", "remove", "GW-1", "data", "--yes");
    expect([code, stdout]).toEqual([0, "Volume data is deleted.\n"]);
    const { stdout: document } = await rig.run("volumes", "remove", "GW-1", "data", "--yes", "--json");
    expect(JSON.parse(document)).toEqual({ removed: "data" });
  });

  test("remove says why a volume is not deleted", async () => {
    await using rig = await setUp();
    const body = { code: "VolumeInUse", message: "The app db has the volume data.", details: { app: "db" } };
    rig.service.on(`DELETE ${VOLUMES}/data`, json(409, body));
    const { code, stderr } = await rig.run("volumes", "remove", "GW-1", "data", "--yes");
    expect(code).toBe(1);
    expect(stderr).toContain("The app db has the volume data. (VolumeInUse)");
    rig.service.on(`DELETE ${VOLUMES}/data`, json(404, { code: "VolumeNotFound", message: "There is no volume." }));
    expect(await rig.run("volumes", "remove", "GW-1", "data", "-y")).toMatchObject({ code: 4 });
  });
});
