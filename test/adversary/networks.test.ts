import { expect, onTestFinished, test } from "vitest";
import { engineRequest, sleeperImage } from "../support/images.ts";
import { enginePrefix } from "../../src/agent/engine/engine-prefix.ts";
import { expectFailure } from "../support/system/expect-failure.ts";
import { sharedSystem } from "../support/system/test-system.ts";

/* Networks of the engine that are not the agent's: apps neither get into them nor take them away. */

const system = sharedSystem();

async function foreignNetwork(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
  const socket = system().engineSocket;
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ Name: name, CheckDuplicate: true, Internal: true, Labels: labels });
  const response = await engineRequest(socket, "POST", "/networks/create", { headers, body });
  expect([response.status, response.body]).toEqual([201, expect.any(String)]);
  onTestFinished(async () => void (await engineRequest(socket, "DELETE", `/networks/${name}`)));
}

async function find(network: string): Promise<{ readonly Containers: object } | undefined> {
  const { status, body } = await engineRequest(system().engineSocket, "GET", `/networks/${network}`);
  return status === 200 ? (JSON.parse(body) as { readonly Containers: object }) : undefined;
}

const deploy = async (spec: { readonly name: string }, more: object = {}) => {
  const image = await system().load(await sleeperImage());
  return (await system().deploy({ image, ...spec, ...more })).final;
};
const remove = async (app: string) => (await system().finish(await system().change("DELETE", app))).final;

test("an app may be named as a foreign network is, and does not touch it", async () => {
  const name = system().name();
  await foreignNetwork(name);
  expect(await deploy({ name })).toMatchObject({ status: "Success" });
  expect((await find(name))?.Containers).toEqual({});
  expect(await remove(name)).toMatchObject({ status: "Success" });
  expect(await find(name)).toBeDefined();
});

test.each([
  ["without labels", () => ({})],
  ["of another agent", () => ({ "io.edge-agent.state-dir": "/var/lib/other", "io.edge-agent.network": "mine" })],
])("a network with the name of one that an app needs, %s, is not used and not removed", async (_whose, labels) => {
  const taken = `${enginePrefix(system().agent.stateDir)}.mine`;
  await foreignNetwork(taken, labels());
  const image = await system().load(await sleeperImage());
  const [name, beside] = [system().name(), system().name()];
  const app = { name, image, networks: ["own", "mine"] };
  const refused = await expectFailure(system(), app, "ErrorNameExists");
  expect(refused).toMatchObject({ details: { network: taken }, message: expect.stringContaining(taken) as string });
  expect((await find(taken))?.Containers).toEqual({});
  // What was made before that was seen is not left.
  expect(await find(`${enginePrefix(system().agent.stateDir)}.own`)).toBeUndefined();
  // Nor does the end of another app's use of networks remove it.
  expect(await deploy({ name: beside }, { networks: ["own"] })).toMatchObject({ status: "Success" });
  expect(await remove(beside)).toMatchObject({ status: "Success" });
  expect(await find(taken)).toBeDefined();
});
