import { expect, test } from "vitest";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { apiClient } from "../../support/api-client.ts";
import { withProperty } from "../../support/control-plane/with-property.ts";
import { imageOf, startFleetRig } from "../../support/fleets/fleet-rig.ts";
import { SimulatedDevice } from "../../support/fleets/simulated-device.ts";
import { waitFor } from "../../support/wait-for.ts";

test("what happens to the assets of one account wakes no rollout of another one", async () => {
  const looks: { readonly rolloutId: string; readonly assets: readonly string[] }[] = [];
  const decorateStore = (store: Store): Store => {
    const readTargets: Store["rollouts"]["readTargets"] = (scope, assets) => {
      looks.push({ rolloutId: scope.rolloutId, assets });
      return store.rollouts.readTargets(scope, assets);
    };
    return withProperty(store, "rollouts", withProperty(store.rollouts, "readTargets", readTargets));
  };
  await using rig = await startFleetRig(1, { decorateStore });
  await rig.fleet("kiosks", {});
  await rig.revision("kiosks", "one");
  const first = await rig.rollOut("kiosks");
  await rig.reach("kiosks", first, "succeeded");

  const account = await rig.control.account();
  const api = apiClient(rig.control, account);
  const { uuid, deviceToken } = await rig.control.asset(account);
  await using device = new SimulatedDevice(rig.control.agentUrl, deviceToken);
  await device.connect();
  await api.post("/v1/fleets", { name: "vans", selector: "*", apps: ["web"], strategy: { soak_s: 0 } });
  await api.post("/v1/fleets/vans/revisions", { apps: [{ app: { name: "web", image: imageOf("two") } }] });
  const { id } = (await api.post("/v1/fleets/vans/rollouts", {})).body as { id: string };
  await waitFor("the rollout of the other account to have succeeded", async () => {
    const { state } = (await api.get(`/v1/fleets/vans/rollouts/${id}`)).body as { state: string };
    return state === "succeeded";
  });

  const rollouts = new Set(looks.filter(({ assets }) => assets.includes(uuid)).map(({ rolloutId }) => rolloutId));
  expect(rollouts).toContain(id);
  for (const rollout of rollouts) {
    expect(await rig.control.store.rollouts.findRollout(rollout)).toMatchObject({ accountId: account.accountId });
  }
});
