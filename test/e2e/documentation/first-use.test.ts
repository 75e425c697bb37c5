import { expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { documented, fill, onTerminal, startOnTerminal } from "../../support/documentation.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { webImage } from "../../support/images.ts";
import { Registry } from "../../support/registry.ts";
import { addSim } from "../../support/system/add-sim.ts";
import type { System } from "../../support/system.ts";
import { startTestSystem } from "../../support/system/test-system.ts";

const PASSWORD = "Waterworks-by-the-lake-7";

test("the first use of edgectl: log in, deploy, a refusal, what has been deployed, usage", async (context) => {
  await using registry = await Registry.start();
  await registry.push(await webImage("1.2"), "team/web:1.2");
  const system = await startTestSystem(context);
  await addSim(system, "GW-SIM");
  const { url } = system.control;
  const block = fill(documented("docs/edgectl.md", "First use"), {
    "http://127.0.0.1:18080": url,
    "usage GW-2026-000123": "usage GW-SIM",
    "GW-2026-000123": system.asset.serialNumber,
    "127.0.0.1:37249": registry.host,
    "30980": String(await freeHostPort()),
  });
  const [login = "", list = "", deploy = "", page = "", refused = "", show = "", usage = "", ...more] =
    block.split("\n");
  expect(more).toEqual([]);

  const run = (command: string) => onTerminal(command, system.directory);
  await using loggingIn = startOnTerminal(login, system.directory);
  await loggingIn.waitForOutput(/Compare the code there with/);
  const [, code = ""] = /#\/login-request\?code=(\w{4}-\w{4})/.exec(loggingIn.stdout()) ?? [];
  await confirm(system, code);
  expect(await loggingIn.exited).toBe(0);
  expect(await run(list)).toContain(system.asset.serialNumber);
  expect(await run(deploy)).toContain("App web is running.");
  expect(await run(page)).toContain("edge-agent test app version 1.2 hello");
  expect(await run(refused)).toMatch(/ErrorPortInUse[^]*exit code 1/);
  const { deployments } = (
    await apiClient({ url }, system.account).get(`/v1/assets/${system.asset.uuid}/edge/deployments`)
  ).body as { deployments: readonly { deployment_id: string; status: string }[] };
  const done = deployments.find(({ status }) => status === "Success");
  expect(await run(show.replace("dep_53eb5245e96112d3154efae6", done?.deployment_id ?? ""))).toContain(
    "App web is running.",
  );
  expect(await run(usage)).toContain("UTC");
});

/** Sets up the account's first admin with the code of the command line, and confirms a log-in as that person. */
async function confirm({ control, account }: System, code: string): Promise<void> {
  const created = await control.administer("setup-code", "--account", account.accountId);
  const [, secret = ""] = /code=(\S+)/.exec(Object.values(created).join(" ")) ?? [];
  const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
    fetch(control.url + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin", ...headers },
      body: JSON.stringify(body),
    });
  const signedIn = await post("/v1/setup", { code: secret, email: "ada@example.com", name: "Ada", password: PASSWORD });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ");
  const decided = await post(`/v1/device-logins/${code}`, { decision: "approve", role: "operator" }, { cookie });
  expect([signedIn.status, decided.status]).toEqual([201, 200]);
}
