import { onTestFinished, expect, test } from "vitest";
import { documented, fill, runPrinted } from "../../support/documentation.ts";
import { FastClock } from "../../support/fast-clock.ts";
import { startFleetRig } from "../../support/fleets/fleet-rig.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Members: more than the first wave of the page's strategy has. */
const MEMBERS = 7;
/** Members in that wave. */
const FIRST_WAVE = 5;

/** Splits a block before each of its commands. */
const commandsOf = (text: string): string[] => text.split(/\n(?=curl )/);

/** Fills the digest of an image in. */
const digest = (digit: string): Readonly<Record<string, string>> => ({ "sha256:…": `sha256:${digit.repeat(64)}` });

test("the page on fleets: tags, a fleet, its revisions and a rollout, as printed", async () => {
  const rig = await startFleetRig(MEMBERS, { clock: new FastClock(20) });
  onTestFinished(() => rig[Symbol.asyncDispose]());
  const { control, account, api, devices } = rig;
  const opening = `API=${control.url} KEY=${account.apiKey}`;
  const run = (text: string, replacements: Readonly<Record<string, string>> = {}): Promise<string> =>
    runPrinted(fill(text, replacements), opening);

  const uuid = devices[0]?.uuid ?? "";
  const tagged = await run(documented("docs/fleets.md", "Tags, variables and holds"), { "GW-000123": uuid });
  expect(tagged).toMatch(/"region":"north"[^]*"reason":"Pump test until Thursday"[^]*"assets":\[\{/);
  await api.delete(`/v1/assets/${uuid}/hold`);
  for (const device of devices) await api.put(`/v1/assets/${device.uuid}/variables`, { SITE_ID: { value: "pump-7" } });

  const [fleet = "", revision = "", difference = ""] = commandsOf(documented("docs/fleets.md", "Fleets and revisions"));
  expect(await run(fleet)).toContain('"name":"kiosks"');
  expect(await run(revision, digest("a"))).toContain('"number":1');
  expect(await run(revision, digest("b"))).toContain('"number":2');
  expect(await run(difference)).toContain("kiosk-ui");

  const [price = "", start = "", ...rest] = commandsOf(documented("docs/fleets.md", "Rollouts"));
  expect(await run(price)).toMatch(/"asked":7/);
  const id = /"id":"(rol_\w+)"/.exec(await run(start))?.[1] ?? "no id";
  await rig.reach("kiosks", id, "running");
  const [events = "", targets = "", advance = ""] = rest;
  expect(await run(targets, { "rol_…": id })).toContain('"targets":[');
  // The first wave has run, and waits for a person.
  await waitFor("the first wave", async () => {
    const { counts } = await rig.rollout("kiosks", id);
    return (counts as Readonly<Record<string, number>>)["succeeded"] === FIRST_WAVE;
  });
  expect(await run(advance, { "rol_…": id })).toContain(id);
  expect(await run(events, { "rol_…": id })).toContain('"status":"Running"');
});

test("the page on fleets: members that are not as they should be", async () => {
  const rig = await startFleetRig(1);
  onTestFinished(() => rig[Symbol.asyncDispose]());
  await rig.fleet("kiosks");
  await rig.revision("kiosks", "one");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  const opening = `API=${rig.control.url} KEY=${rig.account.apiKey}`;
  const output = await runPrinted(documented("docs/fleets.md", "How members are"), opening);
  expect(output).toMatch(/"members":\[\][^]*"assets":0/);
});
