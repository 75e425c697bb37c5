import { createHash, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run } from "../support/command.ts";
import { webImage } from "../support/images.ts";
import { LossyLink } from "../support/link/lossy-link.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * A directory beside a compose file that no request takes, and no frame: edgectl, the service, a bad link, the agent and the engine
 * are the real ones.
 */

const MB = 1_000_000;
/** Faster than any cellular link. Limits the bytes in flight at a cut, or when the agent is killed. */
const FAST = { bytesPerSecond: 8 * MB, cutAfter: 5 * MB };
/** What a connection that breaks off, or an agent that is killed, may lose. */
const LOST_BYTES = 700_000;

let link: LossyLink;
const system = sharedSystem((owned) => ({
  agentConfig: { policy: { max_files_bytes: 64 * 1024 * 1024 } },
  linkTo: async (port) => (link = owned.use(await LossyLink.to(port, {}))).port,
}));

const docker = (...args: string[]) => run("docker", ["--host", `unix://${system().engineSocket}`, ...args]);

test("a directory of 18 MB arrives over cuts and a kill of the agent, is mounted read-only, and costs nothing once more", async () => {
  const { control, account, agent, asset } = system();
  const directory = join(system().directory, system().name("project"));
  await mkdir(join(directory, "tiles/deep"), { recursive: true });
  const files = new Map([
    ["one.bin", randomBytes(9 * MB)],
    ["deep/two.bin", randomBytes(9 * MB)],
    ["deep/text", Buffer.from("text\n".repeat(200_000))],
  ]);
  for (const [path, content] of files) await writeFile(join(directory, "tiles", path), content);
  const image = await system().load(await webImage());
  const name = system().name("map");
  const service = { image, pull_policy: "missing", container_name: name, volumes: ["./tiles:/tiles:ro"] };
  await writeFile(
    join(directory, "compose.yaml"),
    JSON.stringify({ name: system().name("gw"), services: { map: service } }),
  );
  const env = {
    EDGECTL_URL: control.url,
    EDGECTL_API_KEY: account.apiKey,
    XDG_CONFIG_HOME: join(system().directory, "operator"),
  };
  const apply = () =>
    run("dist/edgectl", ["apply", asset.serialNumber, "-f", join(directory, "compose.yaml"), "--yes"], { env });

  const before = link.received;
  link.conditions = { ...FAST, holdAt: before + 8 * MB };
  const applying = apply();
  await waitFor("8 MB to arrive", () => link.received >= before + 8 * MB);
  await agent.kill();
  link.conditions = FAST;
  await agent.start();
  const applied = await applying;
  expect(applied, applied.stderr).toMatchObject({ code: 0 });
  expect(applied.stderr).toContain("of files to the service");
  expect(link.cuts).toBeGreaterThan(1);
  const { uploads } = (await (
    await fetch(`${control.url}/v1/uploads`, { headers: { "X-API-Key": account.apiKey } })
  ).json()) as {
    readonly uploads: readonly { readonly bytes: number; readonly complete: boolean }[];
  };
  expect(uploads).toMatchObject([{ complete: true }]);
  expect(link.received - before).toBeLessThan((uploads[0]?.bytes ?? 0) + (link.cuts + 1) * LOST_BYTES);

  const container = (await docker("ps", "--quiet")).stdout.trim();
  const sums = await docker("exec", container, "sh", "-c", "cd /tiles && find . -type f | xargs sha256sum");
  const wanted = [...files].map(
    ([path, content]) => `${createHash("sha256").update(content).digest("hex")}  ./${path}`,
  );
  expect(sums.stdout.trim().split("\n").toSorted()).toEqual(wanted.toSorted());
  expect((await docker("exec", container, "touch", "/tiles/new")).stderr).toContain("Read-only file system");
  expect(readdirSync(join(agent.stateDir, "uploads"))).toHaveLength(1);
  expect(readdirSync(join(agent.stateDir, "downloads")).filter((entry) => entry.endsWith(".part"))).toEqual([]);

  const after = link.received;
  const again = await apply();
  expect(again).toMatchObject({ code: 0 });
  expect(again.stdout).toContain("Nothing to change.");
  expect(again.stderr).not.toContain("of files to the service");
  expect(link.received - after).toBeLessThan(50_000);
});
