import { groupAlert, openAlert, silence } from "../alerts/open-alert.ts";
import { startHeldRollout } from "../fleets/held-rollout.ts";
import type { ControlPlane, TestAccount } from "../control-plane.ts";
import { someProSim, someSuperSim } from "../control-plane/sims.ts";

/** Fills the path of an operation with what exists in an account. */
export type FillPath = (template: string) => string;

/** Makes one thing of every kind that paths of the document name. */
export async function accountTargets(control: ControlPlane, account: TestAccount): Promise<FillPath> {
  const asset = await control.asset(account, { supersim: someSuperSim(), prosim: someProSim() });
  const { fleet, rolloutId: rollout_id } = await startHeldRollout(control, account, asset);
  const alert_id = await openAlert(control, account);
  await setAllowance(control, account, asset.uuid);
  const values = {
    asset_id: asset.uuid,
    fleet,
    rollout_id,
    number: "1",
    other: "1",
    name: "web",
    sim_type: "supersim",
    user_code: "7K3M-XW9T",
    sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    deployment_id: await failedDeployment(control, account, asset.uuid),
    user_id: (await control.session(account, { role: "viewer" })).user.id,
    key_id: (await control.key(account, [])).keyId,
    alert_id,
    group_id: await groupAlert(control, account, alert_id),
    silence_id: await silence(control, account),
  };
  return (template) =>
    template.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
      if (!Object.hasOwn(values, name)) throw new Error(`there is nothing for {${name}}`);
      // Revisions count from 1, pieces of an upload from 0.
      if (name === "number" && template.includes("{sha256}")) return "0";
      return values[name as keyof typeof values];
    });
}

async function setAllowance({ url }: ControlPlane, { apiKey }: TestAccount, uuid: string): Promise<void> {
  const path = `/v1/assets/${uuid}/sims/supersim/allowance`;
  const headers = { "X-API-Key": apiKey, "Content-Type": "application/json" };
  const response = await fetch(`${url}${path}`, { method: "PUT", headers, body: '{"bytes":1000000000}' });
  if (!response.ok) throw new Error(`cannot set the allowance: ${await response.text()}`);
}

/** The device is not connected. */
async function failedDeployment(control: ControlPlane, account: TestAccount, uuid: string): Promise<string> {
  const response = await fetch(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    method: "POST",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "web", image: "registry.example.com/web:1" }),
  });
  await response.text();
  return response.headers.get("deployment-id") ?? "";
}
