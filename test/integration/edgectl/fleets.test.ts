import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { addSomeRelease } from "../../support/control-plane/served-release.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { imageOf, type RigDevice, startFleetRig } from "../../support/fleets/fleet-rig.ts";
import { waitFor } from "../../support/wait-for.ts";

/** A service with devices tagged `role=kiosk`, and edgectl with a key of its account. */
async function setUp(count: number) {
  await using owner = new AsyncDisposableStack();
  const rig = owner.use(await startFleetRig(count));
  const user = owner.use(await edgectlUser());
  const env = { EDGECTL_URL: rig.control.url, EDGECTL_API_KEY: rig.account.apiKey };
  const owned = owner.move();
  const path = join(user.configDirectory, "fleet.yaml");
  return {
    ...rig,
    run: (args: readonly string[], more: Readonly<Record<string, string>> = {}, input?: string) =>
      user.run(args, { env: { ...env, ...more }, ...(input !== undefined && { input }) }),
    /** Runs a command while another client does something: after what it reads, before its first request with this method. */
    runBeside: (args: readonly string[], method: string, other: () => Promise<unknown>) => {
      let isDone = false;
      const beside: typeof fetch = async (url, init) => {
        if (init?.method === method && !isDone) {
          isDone = true;
          await other();
        }
        return fetch(url, init);
      };
      return user.run(args, { env: { ...env, ...TOKEN }, fetch: beside });
    },
    /** Writes a file of a fleet and returns its path. */
    async file(text: string) {
      await writeFile(path, text);
      return path;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function fleetFile(version: string, more = ""): string {
  return `
fleet: kiosks
selector: role = kiosk
strategy:
  waves: [{limit: 1, soak_s: 0}]
  soak_s: 0
  stop_when: {failed: 1}
  attempts: 1
apps:
  web:
    image: ${imageOf(version)}
    environments: [{key: TOKEN, secret: true}, {key: LEVEL, value: debug}]
comment: ${version}
${more}`;
}

const TOKEN = { TOKEN: "planted-secret" };

test("a file becomes a fleet with a revision, which is rolled out and followed to its end", async () => {
  await using rig = await setUp(3);
  const file = await rig.file(fleetFile("one"));
  const dry = await rig.run(["fleets", "apply", "-f", file, "--dry-run"], TOKEN);
  expect(dry).toMatchObject({ code: 0, stderr: "" });
  expect(dry.stdout).toContain("fleet kiosks: new\n");
  expect(dry.stdout).toContain("The selector matches 3 assets.\nNothing was changed.\n");
  expect((await rig.run(["fleets", "list", "--json"])).stdout).toContain('"fleets": []');
  const applied = await rig.run(["fleets", "apply", "-f", file, "--yes", "--roll-out"], TOKEN);
  expect(applied).toMatchObject({ code: 0, stderr: "" });
  expect(applied.stdout).toContain("Fleet kiosks is created. Revision 1 is made.");
  expect(applied.stdout).toContain("Brings revision 1 to 3 assets, in 2 waves (1, 2).");
  expect(applied.stdout).toMatch(/succeeded, wave 2: 3 succeeded\)\n$/);
  for (const { device } of rig.devices) expect(device.apps.get("web")?.image).toBe(imageOf("one"));
  const again = await rig.run(["fleets", "apply", "-f", file, "--yes"], TOKEN);
  expect(again.stdout).toContain("The newest revision is 1 as before.\nIt is the stable one");
  expect(again.stdout).not.toContain("rollouts create");
  expect(again.stdout).toContain("? environments.TOKEN  (a secret; the service compares it)");
  expect(dry.stdout + applied.stdout + again.stdout).not.toMatch(/planted-secret|debug/);
  const shown = await rig.run(["rollouts", "show", "kiosks"]);
  expect(shown.stdout).toMatch(/Assets +3: 3 succeeded/);
  const members = await rig.run(["fleets", "members", "kiosks", "--json"]);
  const current = { revision: 1, state: "current" };
  expect(JSON.parse(members.stdout)).toMatchObject({ members: [current, current, current] });
});

test("a fleet that another client changes after the look is neither changed nor removed, and its revision is named", async () => {
  await using rig = await setUp(1);
  const api = apiClient(rig.control, rig.account);
  const apply = ["fleets", "apply", "-f", await rig.file(fleetFile("one")), "--yes"];
  expect(await rig.run(apply, TOKEN)).toMatchObject({ code: 0 });
  await rig.file(fleetFile("one").replace("attempts: 1", "attempts: 2"));
  const pause = (reason: string) => async () =>
    expect((await api.patch("/v1/fleets/kiosks", { paused_reason: reason })).status).toBe(200);
  const refused =
    "Another person or program has changed the fleet kiosks since: nothing was changed. (PreconditionFailed)";
  const late = await rig.runBeside(apply, "PATCH", pause("works"));
  expect([late.code, late.stderr]).toEqual([1, expect.stringContaining(refused)]);
  expect(await rig.run(["fleets", "show", "kiosks", "--json"])).toHaveProperty(
    "stdout",
    expect.stringContaining('"attempts": 1'),
  );
  const kept = await rig.runBeside(["fleets", "remove", "kiosks", "--yes"], "DELETE", pause("more works"));
  expect([kept.code, kept.stderr]).toEqual([1, expect.stringContaining(refused)]);
  expect(await rig.run(apply, TOKEN)).toMatchObject({ code: 0 });

  await rig.file(fleetFile("two").replace("attempts: 1", "attempts: 2"));
  const both = await rig.runBeside(apply, "POST", async () => {
    const apps = [{ app: { name: "web", image: imageOf("three") } }];
    expect((await api.post("/v1/fleets/kiosks/revisions", { apps })).status).toBe(201);
  });
  expect(both).toMatchObject({ code: 0, stdout: expect.stringContaining("Revision 3 is made.") as string });
  expect(both.stderr).toContain("edgectl fleets diff kiosks 2 3");
  expect(await rig.run(["fleets", "remove", "kiosks", "--yes"])).toMatchObject({ code: 0 });
});

test("a reapply takes members by their serial numbers, and says since when they are wrong and by whom", async () => {
  await using rig = await setUp(2);
  await rig.run(["fleets", "apply", "-f", await rig.file(fleetFile("one")), "--yes", "--roll-out"], TOKEN);
  for (const { device } of rig.devices) {
    device.apps.delete("web");
    device.report();
  }
  await waitFor("both to be missing", async () => {
    const { states } = (await rig.api.get("/v1/fleets/kiosks")).body;
    return JSON.stringify(states) === '{"missing":2}';
  });
  const [, { uuid, device }] = rig.devices as [RigDevice, RigDevice];
  const serial = String((await rig.api.get(`/v1/assets/${uuid}`)).body["serial_number"]);
  const dry = await rig.run(["fleets", "reapply", "kiosks", "--asset", serial, "--dry-run"]);
  expect(dry).toMatchObject({ code: 0, stderr: "" });
  expect(dry.stdout).toMatch(
    new RegExp(`\\n${serial} .* missing +20\\S+ \\S+ +web is not there\\. It is not known by whom`),
  );
  expect(dry.stdout.trim().split("\n")).toHaveLength(2);
  const unknown = await rig.run(["fleets", "reapply", "kiosks", "--asset", "SN-NONE", "--yes"]);
  expect(unknown).toMatchObject({ code: 4, stdout: "" });
  await rig.run(["fleets", "reapply", "kiosks", "--asset", serial, "--yes"]);
  await waitFor("the app to be back", () => device.apps.has("web"));
  expect(rig.devices[0]?.device.apps.has("web")).toBe(false);
});

test("a file asks for a version of the agent, without apps, and says so before and after", async () => {
  await using rig = await setUp(2);
  await addSomeRelease(rig.control.store, "1.5.0", 1_000);
  const text = "fleet: agents\nselector: role = kiosk\nstrategy: {waves: [{limit: 1, soak_s: 0}], soak_s: 0}\n";
  const file = await rig.file(`${text}agent: {version: 1.5.0}\n`);
  const applied = await rig.run(["fleets", "apply", "-f", file, "--yes", "--roll-out"]);
  expect(applied).toMatchObject({ code: 0, stderr: "" });
  expect(applied.stdout).toContain("agent: changes\n  + version  1.5.0\n");
  for (const { device } of rig.devices) expect([device.agentVersion, device.received]).toEqual(["1.5.0", []]);
  expect((await rig.run(["fleets", "revisions", "agents"])).stdout).toMatch(/AGENT.*\n.* 1\.5\.0 /);
  const again = await rig.run(["fleets", "apply", "-f", file, "--yes"]);
  expect(again.stdout).toContain("Nothing to change. The newest revision is 1.");
  // A release that the service does not have becomes no revision.
  await rig.file(`${text}agent: {version: 9.9.9}\n`);
  const refused = await rig.run(["fleets", "apply", "-f", file, "--yes"]);
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining("no release 9.9.9")]);
});

test("a new fleet is not made for a version of the agent that the service does not have", async () => {
  await using rig = await setUp(1);
  const file = await rig.file("fleet: agents\nselector: role = kiosk\nagent: {version: 9.9.9}\n");
  for (const mode of ["--dry-run", "--yes"]) {
    const refused = await rig.run(["fleets", "apply", "-f", file, mode]);
    expect([refused.code, refused.stderr]).toEqual([
      4,
      expect.stringMatching(/no release 9\.9\.9.*AgentReleaseNotFound[^]*edgectl agent-releases list/),
    ]);
    expect(refused.stderr).not.toContain("--image");
  }
  expect(await rig.run(["fleets", "show", "agents"])).toMatchObject({ code: 4 });
});

test("a fleet whose revision is refused is named: it stays", async () => {
  await using rig = await setUp(1);
  const file = await rig.file(fleetFile("one").replace(imageOf("one"), "127.0.0.1:1/none:1"));
  const refused = await rig.run(["fleets", "apply", "-f", file, "--yes"], TOKEN);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(
      /Note: Fleet kiosks is created and stays so, although its revision failed\.\n[^]*ImageNotResolved/,
    ),
  ]);
  expect(await rig.run(["fleets", "show", "kiosks"])).toMatchObject({ code: 0 });
});

test("an agent that would reach all members at once is told of", async () => {
  await using rig = await setUp(2);
  await addSomeRelease(rig.control.store, "1.5.0", 1_000);
  const text = "fleet: agents\nselector: role = kiosk\nagent: {version: 1.5.0}\n";
  const without = await rig.run(["fleets", "apply", "-f", await rig.file(text), "--dry-run"]);
  expect(without).toMatchObject({ code: 0, stderr: expect.stringContaining("strategy has no waves") as string });
  const waves = await rig.file(`${text}strategy: {waves: [{limit: 1}]}\n`);
  expect(await rig.run(["fleets", "apply", "-f", waves, "--dry-run"])).toMatchObject({ code: 0, stderr: "" });
});

test("a changed file shows what differs by field, and makes the next revision", async () => {
  await using rig = await setUp(1);
  await rig.run(["fleets", "apply", "-f", await rig.file(fleetFile("one")), "--yes"], TOKEN);
  const next = fleetFile("two", "absent: [old]").replace("debug", "info").replace("attempts: 1", "attempts: 3");
  const { code, stdout } = await rig.run(["fleets", "apply", "-f", await rig.file(next), "--yes"], TOKEN);
  expect(code).toBe(0);
  expect(stdout).toContain("~ strategy.attempts  1 -> 3");
  expect(stdout).toContain('~ apps               ["web"] -> ["old","web"]');
  expect(stdout).toContain(`${imageOf("one")} -> ${imageOf("two")}`);
  expect(stdout).toMatch(/~ environments.LEVEL +\(value not shown\)/);
  expect(stdout).toContain("old: changes\n  + absent  (removed from devices)");
  expect(stdout).toContain("Fleet kiosks is changed. Revision 2 is made.");
  const diff = await rig.run(["fleets", "diff", "kiosks", "1", "2"]);
  expect(diff.stdout).toContain("~ environments.LEVEL");
  expect(diff.stdout).toContain("removed from devices");
});

test("a rollout that stops is followed to the end that somebody chooses, with numbers before it", async () => {
  await using rig = await setUp(3);
  await rig.run(["fleets", "apply", "-f", await rig.file(fleetFile("good")), "--yes", "--roll-out"], TOKEN);
  await rig.run(["fleets", "apply", "-f", await rig.file(fleetFile("bad")), "--yes"], TOKEN);
  for (const { device } of rig.devices)
    device.behave = ({ images }) => (images.includes(imageOf("bad")) ? { fail: "Unhealthy" } : "succeed");
  const made = await rig.run(["rollouts", "create", "kiosks", "--yes", "--json"]);
  const { id } = JSON.parse(made.stdout) as { id: string };
  await rig.reach("kiosks", id, "paused");
  const { deployment_id: deployment, asset_id: asset } = (await rig.targets("kiosks", id)).find(
    ({ state }) => state === "failed",
  ) as Readonly<Record<string, string>>;
  const shown = await rig.run(["deployments", "show", asset ?? "", deployment ?? ""]);
  expect(shown.stdout).toContain(
    `To see all that was said of it:\n  edgectl deployments watch ${asset} ${deployment}\n`,
  );
  const failed = await rig.run(["rollouts", "targets", "kiosks", "--state", "failed"]);
  expect(failed.stdout).toContain("Unhealthy");
  // The table, and below it what the only one that failed went through.
  const [, ...lines] = failed.stdout.trim().split("\n");
  expect(lines).toHaveLength(4);
  expect(lines.at(-1)).toMatch(/attempt 1 {2}failed {2}Unhealthy {2}dep_\w+ {2}It did not work\./);
  const refused = await rig.run(["rollouts", "rollback", "kiosks", id]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  const back = await rig.run(["rollouts", "rollback", "kiosks", id, "--yes"]);
  expect(back.stdout).toContain(`${id}: Goes back to revision 1 on 1 asset: 1 failed.`);
  const followed = await rig.run(["rollouts", "events", "kiosks", id, "--follow"]);
  expect(followed.code).toBe(1);
  expect(followed.stderr).toContain(`edgectl rollouts targets kiosks ${id} --failed`);
  for (const { device } of rig.devices) expect(device.apps.get("web")?.image).toBe(imageOf("good"));
  const past = await rig.run(["rollouts", "events", "kiosks", id]);
  expect(past.code).toBe(0);
  expect(past.stdout).toContain("rolled back, wave 1");
});

test("a dry run prints the waves, each asset's price and how many were not asked", async () => {
  await using rig = await setUp(3);
  await rig.devices[0]?.device.disconnect();
  await rig.run(["fleets", "apply", "-f", await rig.file(fleetFile("one")), "--yes"], TOKEN);
  const { code, stdout } = await rig.run(["rollouts", "create", "kiosks", "--dry-run"]);
  expect(code).toBe(0);
  expect(stdout).toContain("Wave 1 of 2: 1 asset\nWave 2 of 2: 2 assets\n");
  expect(stdout).toMatch(
    /To download: .* in all, on 2 of 3 assets\nNot asked: 1 asset\nWaiting as things are now: 1 offline since /,
  );
  expect((await rig.run(["rollouts", "list", "kiosks"])).stdout).toBe("No rollouts.\n");
});

test("what a dry run shows is what is started; a rollout that waits for people says so and ends following", async () => {
  await using rig = await setUp(3);
  const serial = async (index: number) =>
    String((await rig.api.get(`/v1/assets/${rig.devices[index]?.uuid}`)).body["serial_number"]);
  await rig.api.put(`/v1/assets/${rig.devices[0]?.uuid}/hold`, { reason: "Pump test" });
  const file = fleetFile("one").replace(
    "{limit: 1, soak_s: 0}",
    `{assets: [${await serial(2)}], soak_s: 0, advance: manual}`,
  );
  await rig.run(["fleets", "apply", "-f", await rig.file(file), "--yes"], TOKEN);
  const dry = await rig.run(["rollouts", "create", "kiosks", "--dry-run", "--no-prices"]);
  expect(dry).toMatchObject({ code: 0, stderr: "" });
  expect(dry.stdout).toMatch(new RegExp(`\\n${await serial(2)} .* 1 `));
  expect(dry.stdout).toContain("Waiting as things are now: 1 held.");
  const [, plan = ""] = /--plan (pln_\w+)/.exec(dry.stdout) ?? [];
  const twice = await rig.run(["rollouts", "create", "kiosks", "--plan", plan, "--revision", "1", "--yes"]);
  expect(twice).toMatchObject({ code: 2, stdout: "" });

  const args = ["rollouts", "create", "kiosks", "--plan", plan, "--yes", "--exit-when-waiting"];
  const waiting = await rig.run(args);
  expect(waiting.code).toBe(6);
  expect(waiting.stderr).toContain("Note: Waiting as things are now: 1 held.");
  expect(waiting.stderr).toContain("The rollout waits: for a person to let the next wave begin.");
  expect(waiting.stderr).toMatch(/To let it go on:\n +edgectl rollouts advance kiosks rol_/);
  expect((await rig.run(["rollouts", "list", "kiosks"])).stdout).toContain("for you: 2 advance");
  const advanced = await rig.run(["rollouts", "advance", "kiosks", "--yes"]);
  expect(advanced.stdout).toMatch(/> 2 /);
  const held = await rig.run(["rollouts", "events", "kiosks", "--follow", "--exit-when-waiting"]);
  expect(held).toMatchObject({ code: 6, stderr: expect.stringContaining("The rollout waits: 1 held (until ") });
  expect((await rig.run(["rollouts", "show", "kiosks"])).stdout).toMatch(
    /Waiting +1 held \(until .* UTC at the latest\)/,
  );
  await rig.run(["rollouts", "pause", "kiosks", "--yes"]);
  const paused = await rig.run(["rollouts", "events", "kiosks", "--exit-when-waiting"]);
  expect(paused).toMatchObject({
    code: 6,
    stderr: expect.stringContaining("waits: for a person to let it go on; 1 held (until "),
  });
  await rig.run(["rollouts", "resume", "kiosks", "--yes"]);
  await rig.api.delete(`/v1/assets/${rig.devices[0]?.uuid}/hold`);
  expect(await rig.run(["rollouts", "events", "kiosks", "--follow"])).toMatchObject({ code: 0 });
  // Nothing is announced that cannot be done.
  await rig.run(["fleets", "apply", "-f", await rig.file(fleetFile("two")), "--yes", "--roll-out"], TOKEN);
  const back = await rig.run(["rollouts", "rollback", "kiosks", "--yes"]);
  expect(back).toMatchObject({ code: 1, stdout: "" });
  expect(back.stderr).toContain("The rollout has succeeded and cannot be rolled back.");
  expect(back.stderr).toContain("edgectl rollouts create kiosks --revision 1");
  expect((await rig.run(["fleets", "remove", "kiosks", "--yes"])).stdout).toContain("stays on 3 assets");
});

test("a rollout that awaits approval says who may start it, and its maker may not", async () => {
  await using rig = await setUp(1);
  await rig.run(["fleets", "apply", "-f", await rig.file(fleetFile("one")), "--yes"], TOKEN);
  const made = await rig.run(["rollouts", "create", "kiosks", "--require-approval", "--yes"]);
  expect(made.stdout).toContain("It waits until another person starts it:\n  edgectl rollouts approve kiosks rol_");
  // The key is accepted: nobody has to log in.
  const approved = await rig.run(["rollouts", "approve", "kiosks", "--yes"]);
  expect(approved).toMatchObject({ code: 1, stderr: expect.stringContaining("ApprovalBySameUser") });
});

test("a draft waits to be resumed, and is cancelled", async () => {
  await using rig = await setUp(2);
  await rig.run(["fleets", "apply", "-f", await rig.file(fleetFile("one")), "--yes"], TOKEN);
  const draft = await rig.run(["rollouts", "create", "kiosks", "--no-start", "--yes", "--stop-at", "5%"]);
  expect(draft.stdout).toContain("To start it:\n  edgectl rollouts resume kiosks rol_");
  const shown = JSON.parse((await rig.run(["rollouts", "show", "kiosks", "--json"])).stdout) as object;
  expect(shown).toMatchObject({ state: "draft", strategy: { stop_when: { failed: "5%", min_attempted: 5 } } });
  const cancelled = await rig.run(["rollouts", "cancel", "kiosks", "--yes"]);
  expect(cancelled.stdout).toContain("2 assets not begun: skipped; nothing is under way");
  expect((await rig.run(["rollouts", "resume", "kiosks", "--yes"])).stderr).toContain("RolloutStateConflict");
  const removed = await rig.run(["fleets", "remove", "kiosks", "--yes"]);
  expect(removed.stdout).toContain("It has brought its apps to no asset.");
  expect(await rig.run(["fleets", "show", "kiosks"])).toMatchObject({ code: 4 });
});

test("tags select assets, holds keep fleets away, and secret values never leave standard input", async () => {
  await using rig = await setUp(2);
  const asset = rig.devices[0]?.uuid ?? "";
  const tagged = await rig.run(["assets", "tag", asset, "region=north", "role-"]);
  expect(tagged).toMatchObject({ code: 0, stdout: "region  north\n" });
  const selected = JSON.parse((await rig.run(["assets", "list", "--selector", "region", "--json"])).stdout) as object;
  expect(selected).toMatchObject({ assets: [{ uuid: asset }] });
  expect((await rig.run(["assets", "hold", asset, "--reason", "Pump test", "--for", "2h"])).stdout).toMatch(
    /is held until .* UTC\./,
  );
  expect((await rig.api.get(`/v1/assets/${asset}/hold`)).body).toMatchObject({ reason: "Pump test" });
  await rig.run(["assets", "release", asset]);
  expect((await rig.api.get(`/v1/assets/${asset}/hold`)).body).toMatchObject({ code: "HoldNotFound" });
  const { body: fresh } = await rig.api.post("/v1/assets", { serial_number: "SN-NEW" });
  const waiting = JSON.parse((await rig.run(["assets", "list", "--no-accepted", "--json"])).stdout) as object;
  expect(waiting).toMatchObject({ assets: [{ uuid: fresh["uuid"], accepted_at: null }] });
  expect((await rig.run(["assets", "show", "SN-NEW"])).stdout).toContain("until it is accepted");
  expect(await rig.run(["assets", "accept", "SN-NEW", asset])).toMatchObject({
    code: 0,
    stderr: `Note: The device of SN-NEW is accepted.\nNote: The device of ${asset} is accepted.\n`,
  });
  expect((await rig.api.get("/v1/assets/SN-NEW")).body).toMatchObject({ accepted_at: expect.any(Number) });
  const set = ["variables", "set", asset, "SITE_ID=pump-7", "--secret-stdin", "API_TOKEN"];
  expect(await rig.run(set, {}, "planted-secret\n")).toMatchObject({ code: 0, stdout: "Set: SITE_ID, API_TOKEN.\n" });
  const onArgv = await rig.run(["variables", "set", asset, "--secret", "API_TOKEN=planted-secret"]);
  expect(onArgv.code).toBe(2);
  expect(onArgv.stderr).not.toContain("planted-secret");
  const listed = await rig.run(["variables", "list", asset, "--reveal"]);
  expect(listed.stdout).toMatch(/API_TOKEN +yes +\*\*\*\n/);
  expect(listed.stdout).toMatch(/SITE_ID +no +pump-7\n/);
  await rig.run(["variables", "unset", asset, "API_TOKEN"]);
  expect((await rig.run(["variables", "list", asset])).stdout).not.toContain("API_TOKEN");
});

test("a file with nothing but absent apps takes them off the devices", async () => {
  await using rig = await setUp(2);
  await rig.run(["fleets", "apply", "-f", await rig.file(fleetFile("one")), "--yes", "--roll-out"], TOKEN);
  for (const { device } of rig.devices) expect(device.apps.has("web")).toBe(true);
  const file = await rig.file("fleet: kiosks\nselector: role=kiosk\nabsent: [web]\nstrategy: {soak_s: 0}\n");
  const applied = await rig.run(["fleets", "apply", "-f", file, "--yes", "--roll-out"]);
  expect(applied).toMatchObject({ code: 0, stderr: "" });
  expect(applied.stdout).toContain("+ absent  (removed from devices)");
  for (const { device } of rig.devices) expect(device.apps.has("web")).toBe(false);
});
